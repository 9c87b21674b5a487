"""What is fuzzed without a server: each target takes bytes from outside and may raise nothing but its own refusals."""

import asyncio
import base64
import contextlib
import functools
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
from google.protobuf.json_format import ParseError
from google.protobuf.message import DecodeError

from croupier.v1 import match_service_pb2 as pb
from engine import codes, journal, registry, scenario
from engine.audit import audit, parse_hash
from engine.refusals import Refusal
from services import logs, wire
from services.auth import nats_jwt
from services.auth.callout import Callout
from services.auth.nats_jwt import CurveKey, Issuer
from services.commands import (
    ENVELOPES,
    OUTCOME_ANSWERS,
    QUESTIONS,
    RECEIPTS,
    VIEW_ANSWERS,
    Envelope,
    Join,
    OutcomeAnswer,
    OutcomeQuestion,
    Receipt,
    Submit,
    ViewAnswer,
    ViewQuestion,
    invite_hash,
    is_match_id,
    pack,
)
from services.match import checks
from services.match.pace import Pace
from services.match.play import PlayStream
from services.match.refused import Refused
from services.match.watch import NotAView, head_of
from services.metrics import Metrics
from services.settings import load
from services.signatures import read_signature
from services.tokens import Operators, SeatClaim, Tokens

ROOT = Path(__file__).parents[1]
KEY = "f" * 32
TOKENS = Tokens(KEY, 600, 4)
MATCH = "000" + "f" * 22
SETTINGS = load(partitions=4)
SERVER = Issuer(nats_jwt.new_account_seed())
"""Stands for a NATS server: what matters is that it has signed what it asks."""
CURVE = CurveKey(nats_jwt.new_curve_seed())
CALLOUTS = [Callout(TOKENS, SERVER, curve, "CROUPIER", Metrics()) for curve in (None, CURVE)]
HEAD = base64.urlsafe_b64encode(b'{"typ":"JWT","alg":"ed25519-nkey"}').rstrip(b"=")


def token(data: bytes) -> None:
    text = data.decode(errors="surrogateescape")
    for read in (TOKENS.seat, TOKENS.view, TOKENS.host, Operators(KEY).admit):
        with contextlib.suppress(Refusal):
            read(text)


def code(data: bytes) -> None:
    with contextlib.suppress(Refusal):
        codes.decode(data.decode(errors="surrogateescape"))


def scenario_file(data: bytes) -> None:
    with contextlib.suppress(scenario.Failure):
        scenario.run(data)


def journal_line(data: bytes) -> None:
    with contextlib.suppress(journal.NotAnEntry):
        journal.read(data)


def journal_file(data: bytes) -> None:
    """An audit has a verdict on anything, and it is never a good one on what was damaged."""
    verdict = audit(journal.split(data))
    assert verdict.difference is not None or data.strip() in _good_journals()


@functools.cache
def _good_journals() -> frozenset[bytes]:
    return frozenset(path.read_bytes().strip() for path in (ROOT / "histories").glob("*.jsonl"))


def move(data: bytes) -> None:
    """The JSON of a move, as the intake carries it, for every game."""
    for game in registry.games():
        with contextlib.suppress(Refusal):
            game.move_json.decode(data)
        with contextlib.suppress(Refusal):
            wire.move_from_json(game.name, data)


def payload(data: bytes) -> None:
    """What comes over NATS or lies in the intake."""
    for decoder in (ENVELOPES, RECEIPTS, QUESTIONS, VIEW_ANSWERS, OUTCOME_ANSWERS):
        with contextlib.suppress(msgspec.DecodeError):
            decoder.decode(data)


def callout(data: bytes) -> None:
    """What a NATS server asks the auth service: the bytes, and the bytes as claims that a server has signed."""
    claims = base64.urlsafe_b64encode(data).rstrip(b"=")
    signature = base64.urlsafe_b64encode(SERVER._key.sign(HEAD + b"." + claims).signature).rstrip(b"=")
    signed = HEAD + b"." + claims + b"." + signature
    open_, sealed = CALLOUTS
    for question in (data, signed):
        open_.answer(question, None)
        sealed.answer(question, CURVE.public)
    sealed.answer(signed, data.decode(errors="replace"))
    sealed.answer(CURVE.seal(signed, CURVE.public), CURVE.public)


def text(data: bytes) -> None:
    """Whatever is a text of its own: names, ids, pages, invites, reasons, a last hash, a signature, a line to log."""
    given = data.decode(errors="replace")
    for check in (checks.name, checks.abort_reason, lambda text: checks.known_match(text, 4)):
        with contextlib.suppress(Refused):
            check(given)
    for read in (parse_hash, read_signature):
        with contextlib.suppress(ValueError):
            read(given)
    with contextlib.suppress(Refused):
        checks.request_id(data)
    invite_hash(given)
    is_match_id(given)
    logs.redact(None, "", {"event": given})


def create(data: bytes) -> None:
    """A CreateMatchRequest, up to the command that it means."""
    with contextlib.suppress(DecodeError, Refusal, Refused):
        checks.create(pb.CreateMatchRequest.FromString(data), SETTINGS)


def join(data: bytes) -> None:
    """A JoinMatchRequest; a request to see matches."""
    with contextlib.suppress(DecodeError, Refused):
        request = pb.JoinMatchRequest.FromString(data)
        checks.name(request.name)
        checks.client_seed(request, checks.request_id(request.request_id))
        checks.invite(request)
    with contextlib.suppress(DecodeError, Refused):
        checks.known_match(pb.ListMatchesRequest.FromString(data).page_token, 4)


class Nobody:
    """Stands where a move leaves for the intake: all is refused."""

    def send(self, command: Any, deadline: float, sink: Any, tag: int) -> Receipt:
        return Receipt(0, reason="OVERLOADED", detail="nobody decides here")


def play(data: bytes) -> None:
    """One message on Play, up to the intake; every part of it is answered."""
    with contextlib.suppress(DecodeError):
        request = pb.PlayRequest.FromString(data)

        async def requests() -> AsyncIterator[pb.PlayRequest]:
            yield request

        async def run() -> None:
            stream = PlayStream(TOKENS, Nobody(), Pace(1_000_000), lambda: 0.0)  # type: ignore[arg-type]  # no courier
            answers: list[pb.PlayResponse] = []

            async def write(answer: pb.PlayResponse) -> None:
                answers.append(answer)

            await stream.run(requests(), write)
            assert sum(len(answer.attached) for answer in answers) == len(request.attach)
            assert sum(len(answer.receipts) for answer in answers) == len(request.commands)

        asyncio.run(run())


def view(data: bytes) -> None:
    """What a client, or a match service, takes for a view."""
    for read in (wire.view_from_json, wire.past_events_from_json):
        with contextlib.suppress(ParseError):
            read(data)
    with contextlib.suppress(NotAView):
        head_of(data)


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        token, code, scenario_file, journal_line, journal_file, move, payload, callout, text, create, join, play, view
    )
}  # fmt: skip


@functools.cache
def examples(name: str) -> tuple[bytes, ...]:
    """Good inputs, to be damaged."""
    match name:
        case "token":
            claim = SeatClaim(MATCH, 1, 2, "timos_twist")
            given = (TOKENS.for_seat(claim), TOKENS.for_host(MATCH), TOKENS.for_table(MATCH), Operators(KEY).token(60))
            return tuple(text.encode() for text in given)
        case "code":
            return tuple(
                codes.encode(codes.Dealt(game.rules, ("open",) * game.seats[0], {}, b"abcde")).encode()
                for game in registry.games()
            )
        case "scenario_file":
            return tuple(path.read_bytes() for path in sorted((ROOT / "scenarios").rglob("*.json"))[::5])
        case "journal_line" | "journal_file":
            found = [path.read_bytes() for path in sorted((ROOT / "histories").glob("*_1.jsonl"))]
            return tuple(
                found if name == "journal_file" else [line for file in found for line in file.split(b"\n")[:9]]
            )
        case "move":
            return (b'{"play":{"card":"blue-7"}}', b'{"draw":{}}', b'{"hide":{"card":"A1","place":0}}')
        case "callout":
            asked = {
                "server_id": {"id": SERVER.public},
                "user_nkey": "U" + "A" * 55,
                "connect_opts": {"auth_token": "x"},
            }
            return (msgspec.json.encode({"iat": int(time.time()), "iss": SERVER.public, "sub": "a", "nats": asked}),)
        case "text":
            return (b"Ada", MATCH.encode(), b"0f" * 32, b"0f" * 64, b"nats://user:password@host", b"eyJh.eyJi.c")
        case "create":
            return tuple(request.SerializeToString() for request in _creates())
        case "join":
            joining = pb.JoinMatchRequest(match=MATCH, request_id=b"r" * 16, name="Ada", client_seed=b"s", invite="i")
            return (joining.SerializeToString(), pb.ListMatchesRequest(page_token=MATCH).SerializeToString())
        case "play":
            return (_play().SerializeToString(),)
        case "view":
            return (VIEW, msgspec.json.encode({"version": 3, "timos_twist": []}))
    submit = Submit(MATCH, 1, 2, 3, b'{"draw":{}}')
    join = Join(MATCH, "r", "Ada", b"seed", None)
    return (
        pack(Envelope("s", 1, submit)),
        pack(Envelope("s", 1, join)),
        pack([Receipt(1, 2), Receipt(3, reason="STALE_PROMPT", fields={"seat": 1})]),
        pack(ViewQuestion(MATCH, 1, 2, 3)),
        pack(OutcomeQuestion(submit)),
        pack(ViewAnswer(b"{}", [b"{}"])),
        pack(OutcomeAnswer(Receipt(1, 2))),
    )


def _creates() -> list[pb.CreateMatchRequest]:
    plain = pb.CreateMatchRequest(
        request_id=b"r" * 16, options={"timos_twist": {"target": 50}}, seats=[{"kind": "open"}, {"kind": "clever"}],
        clock_ms=5000, absent_policy="reckless",
    )  # fmt: skip
    coded = pb.CreateMatchRequest(request_id=b"r" * 16, code=examples("code")[0].decode())
    generic = pb.CreateMatchRequest(request_id=b"r" * 16, seats=[{}, {}])
    generic.options.generic.name = "somewhere_else"
    generic.options.generic.data.update({"rounds": 3, "list": [1, [2]], "more": {"a": True}})
    return [plain, coded, generic]


def _play() -> pb.PlayRequest:
    request = pb.PlayRequest(attach=[pb.Attach(handle=1, token=TOKENS.for_seat(SeatClaim(MATCH, 1, 2, "timos_twist")))])
    request.commands.add(id=1, handle=1, prompt=3).move.timos_twist.play.card = "blue-7"
    request.commands.add(id=2, handle=1, prompt=3).move.generic.name = "somewhere_else"
    request.commands[1].move.generic.data.update({"play": {"card": "7"}})
    request.commands.add(id=3, handle=2)
    return request


VIEW = msgspec.json.encode({
    "match": MATCH, "seat": 0, "version": 3, "prompt": 2, "status": "running", "reason": None, "to_act": [0],
    "deadline": "2026-01-01T00:00:00Z", "seats": [{"seat": 0, "name": "Ada", "kind": "human"}],
    "rules": "timos_twist/1", "options": {"timos_twist": {"target": 50}}, "commitment": "00",
})  # fmt: skip
