"""What a request must be before it costs anybody anything: forms, bounds, keys. Each check raises its Refused."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins

from croupier.v1 import match_service_pb2
from engine import bots, codes, registry
from engine.journal import SeatPlan
from engine.match import MAX_CLIENT_SEED, MAX_NAME, OPEN
from services import wire
from services.commands import (
    Create,
    client_seed_of,
    code_seed_of,
    invite_hash,
    invite_of,
    is_match_id,
    match_id,
    partition_of,
    request_hash,
)
from services.match.refused import Context, Refused
from services.settings import Settings
from services.tokens import NotOperator, Operators

MIN_REQUEST_ID = 16
MAX_REQUEST_ID = 64
MAX_REASON = 200
MAX_THINKING_MS = 60_000
_BEARER = re.compile(r"[Bb]earer +(\S+)")


def known_match(match: str, partitions: int) -> str:
    """Return a match id that may reach a key or a subject; anything else is UNKNOWN_MATCH."""
    if not is_match_id(match) or partition_of(match) >= partitions:
        raise Refused("UNKNOWN_MATCH", "there is no such match")
    return match


def request_id(given: bytes) -> bytes:
    """Return a request id of a safe length."""
    if not MIN_REQUEST_ID <= len(given) <= MAX_REQUEST_ID:
        raise malformed("request_id", f"a request id has {MIN_REQUEST_ID} to {MAX_REQUEST_ID} random bytes")
    return given


def name(given: str) -> str:
    """Return a name that may be shown."""
    if not given.strip():
        raise Refused("BAD_NAME", "a name is not empty", field="name")
    if len(given) > MAX_NAME:
        raise Refused("BAD_NAME", f"a name has at most {MAX_NAME} characters", field="name")
    if any(unicodedata.category(letter) == "Cc" for letter in given):
        raise Refused("BAD_NAME", "a name has no control characters", field="name")
    if not unicodedata.is_normalized("NFC", given):
        raise Refused("BAD_NAME", "a name is in Unicode's normal form NFC", field="name")
    return given


def client_seed(request: Any, request_id: bytes) -> bytes:
    """Return the client seed of a join: the given one, else one that a repeat gets too."""
    if not request.HasField("client_seed"):
        return client_seed_of(request_id)
    seed: bytes = request.client_seed
    if len(seed) > MAX_CLIENT_SEED:
        raise malformed("client_seed", f"a client seed has at most {MAX_CLIENT_SEED} bytes")
    return seed


def invite(request: Any) -> str:
    """Return the hash of the invite that a request brings; empty if it brings none."""
    return invite_hash(request.invite) if request.HasField("invite") else ""


def since(request: Any) -> int | None:
    """Return the version that a client has seen, None if it has seen none."""
    if not request.HasField("since"):
        return None
    if request.since < 0:
        raise malformed("since", "versions count from 0")
    return int(request.since)


def abort_reason(given: str) -> str:
    """Return a reason that everybody may read."""
    if not given.strip() or len(given) > MAX_REASON or not given.isprintable():
        raise malformed("reason", f"a reason has 1 to {MAX_REASON} printable characters")
    return given


def operator(context: Context, operators: Operators) -> None:
    """Let an operator pass: one whose key or token is in the call's metadata. Raises NotOperator, TokenExpired."""
    given = None
    for header, value in context.invocation_metadata() or ():
        if header == "authorization" and isinstance(value, str):
            given = _BEARER.fullmatch(value)
    if given is None:
        raise NotOperator("only the operator may do this")
    operators.admit(given[1])


def create(request: match_service_pb2.CreateMatchRequest, settings: Settings) -> Create:
    """Return the command that a request for a match means, its options filled in.

    Raises the engine's refusals, too: UnknownGame, BadOptions, BadSeats.
    """
    identity = request_id(request.request_id)
    if request.fresh_code and request.HasField("code"):
        raise malformed("fresh_code", "a match is dealt from the code given or from a new one, not both")
    dealt = codes.decode(request.code) if request.HasField("code") else None
    game = _game(request, dealt)
    seats = _plans(request.seats, game, settings, dealt)
    given = wire.options_from_proto(request.options)[1] if request.HasField("options") else {}
    coded = dealt.options if dealt and dealt.rules == game.rules else {}
    options = game.options({**coded, **given}, len(seats))
    complete = to_builtins(options)
    if request.fresh_code:
        seed = code_seed_of(identity, codes.SEED_BYTES)
        dealt = codes.Dealt(game.rules, tuple(plan.kind for plan in seats), complete, seed, _policy(seats))
    if dealt and (wrong := codes.contradiction(dealt, game.rules, [plan.kind for plan in seats], complete)):
        raise Refused("BAD_CODE", f"the game code says other {wrong} than the request", field=wrong)
    if dealt and any(plan.policy != dealt.policy for plan in seats if plan.kind != OPEN):
        raise Refused("BAD_CODE", f"the computer players of version {dealt.policy} are not here any more")
    return Create(
        match=match_id(identity, settings.partitions),
        request=invite_hash(invite_of(identity)) if request.private else request_hash(identity),
        rules=game.rules,
        options=complete,
        seats=seats,
        clock=_clock(request, settings),
        private=request.private,
        code=codes.encode(dealt) if dealt else None,
        absent=_stand_in(request, game, settings),
    )


def _game(request: match_service_pb2.CreateMatchRequest, dealt: codes.Dealt | None) -> registry.AnyGame:
    """Return the rules that the request, or else its code, names."""
    name = wire.options_from_proto(request.options)[0] if request.HasField("options") else None
    if name is None and dealt is None:
        raise malformed("options", "a match needs a game: options, or a game code")
    if request.HasField("rules"):
        game = registry.find(request.rules)
    elif dealt is not None:
        game = registry.find(dealt.rules)
    else:
        game = registry.newest(name or "")
    if name not in (None, game.name):
        if dealt is not None and dealt.rules == game.rules:
            raise Refused("BAD_CODE", f"the game code is one of {game.name}, not of {name}", field="options")
        raise malformed("rules", f"these are no rules of {name}")
    return game


def _plans(
    seats: Sequence[match_service_pb2.SeatSetup],
    game: registry.AnyGame,
    settings: Settings,
    dealt: codes.Dealt | None,
) -> tuple[SeatPlan, ...]:
    """Return who is to sit where: as asked, or as the game code says; with the code's version of computer players."""
    if dealt is not None and not seats:
        seats = [match_service_pb2.SeatSetup(kind=kind) for kind in dealt.kinds]
    game.check_seats(len(seats))
    plans = []
    for number, seat in enumerate(seats):
        if seat.kind in ("", OPEN):
            if seat.HasField("thinking_ms"):
                raise malformed("seats", "only computer players have a thinking time")
            plans.append(SeatPlan(OPEN))
        else:
            plans.append(_computer(seat, game, settings, number, dealt.policy if dealt else 0))
    return tuple(plans)


def _computer(
    seat: match_service_pb2.SeatSetup, game: registry.AnyGame, settings: Settings, number: int | None, policy: int
) -> SeatPlan:
    known = bots.versions(game.name)
    bot = next((bot for bot in known if bot.version == policy), known[-1] if known else None)
    if bot is None or seat.kind not in bot.levels:
        facts: dict[str, int] = {} if number is None else {"seat": number}
        raise Refused("BAD_SEATS", f"{game.name} has no computer players of the level {seat.kind!r}", **facts)
    thinking = seat.thinking_ms if seat.HasField("thinking_ms") else settings.thinking_ms
    if not 0 <= thinking <= MAX_THINKING_MS:
        raise malformed("seats", f"a computer player thinks for 0 to {MAX_THINKING_MS} milliseconds")
    return SeatPlan(seat.kind, thinking, bot.version)


def _policy(seats: Sequence[SeatPlan]) -> int:
    return max((plan.policy or 0 for plan in seats), default=0)


def _stand_in(
    request: match_service_pb2.CreateMatchRequest, game: registry.AnyGame, settings: Settings
) -> SeatPlan | None:
    """Return the computer player that decides for absent humans, None for the game's default moves."""
    if not request.HasField("absent_policy") or request.absent_policy == "default":
        return None
    return _computer(match_service_pb2.SeatSetup(kind=request.absent_policy), game, settings, None, 0)


def _clock(request: match_service_pb2.CreateMatchRequest, settings: Settings) -> int | None:
    if not request.HasField("clock_ms"):
        return settings.default_clock_ms
    if not settings.min_clock_ms <= request.clock_ms <= settings.max_clock_ms:
        allowed = f"from {settings.min_clock_ms} to {settings.max_clock_ms} milliseconds"
        raise malformed("clock_ms", f"a clock runs {allowed}")
    return request.clock_ms


def malformed(field: str, detail: str) -> Refused:
    """Return the refusal of a field that has not its form."""
    return Refused("MALFORMED_REQUEST", detail, field=field)
