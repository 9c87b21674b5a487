"""Matches for the tests of what the services show: played at random through the engine, from seeds that tests name."""

import random
from collections.abc import Iterator, Sequence
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import pytest
from msgspec import UNSET

from engine import registry
from engine.chance import commitment
from engine.games.timos_twist import TimosTwist
from engine.journal import Created, Line, SeatPlan
from engine.match import OPEN, Match
from engine.registry import AnyGame
from tests.engine.hard import POLICY

SEED = bytes(range(32))
START = 1_796_005_974_123
STEP = 1_357
CLOCK = 30_000


class Outside(TimosTwist):
    """A game for which the package has no messages: it has to get along with the arm `generic`."""

    name = "outside"


OUTSIDE = Outside()
GAMES = (*registry.games(), OUTSIDE)
EVERY_GAME = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.rules)


@pytest.fixture
def outside() -> Iterator[AnyGame]:
    """The game from outside, registered while a test runs."""
    registry.register(OUTSIDE)
    yield OUTSIDE
    registry._registered().pop(OUTSIDE.rules)


def option_values(game: AnyGame) -> dict[str, list[Any]]:
    """The ends of each option's range, both truths, or all words."""
    hints = get_type_hints(game.options_type, include_extras=True)
    return {name: _values(hint) for name, hint in hints.items() if name in game.options_type.__struct_fields__}


def _values(hint: Any) -> list[Any]:
    if get_origin(hint) is None:
        return [False, True] if hint is bool else []
    if metadata := getattr(hint, "__metadata__", ()):
        if hint.__origin__ is int:
            return [metadata[0].ge, metadata[0].le]
        return _values(hint.__origin__)
    if all(isinstance(part, str) for part in get_args(hint)):
        return list(get_args(hint))
    return [value for part in get_args(hint) for value in _values(part)]


def create(
    game: AnyGame, plans: Sequence[str], options: dict[str, Any], clock: int | None = CLOCK, policy: int = POLICY
) -> tuple[Match, Line]:
    """A match in its lobby, and its first line."""
    match = Match(SEED)
    (line,) = match.create(
        Created(
            match="000abcdefghijklmnopqrstuv",
            rules=game.rules,
            options=msgspec.to_builtins(game.options(options, len(plans))),
            seats=tuple(SeatPlan(plan) if plan == OPEN else SeatPlan(plan, 0, policy) for plan in plans),
            private=False,
            commitment=commitment(SEED, "000abcdefghijklmnopqrstuv", game.rules).hex(),
            request="aa",
            clock=UNSET if clock is None else clock,
        ),
        START,
    )
    return match, line


def join(match: Match, name: str, seat: int | None = None) -> list[Line]:
    """The lines that one join appends."""
    return match.join(name, name.encode(), name.encode().hex(), match.at + STEP, seat)[1]


def move(match: Match, seat: int, chosen: Any) -> list[Line]:
    """The lines that a move of a human appends."""
    data = match.game.move_json.encode(chosen)
    return match.move(seat, match.seats[seat].tenure or 0, match.prompts[seat], data, match.at + STEP)[1]


def journal(game: AnyGame, seed: int, limit: int = 120) -> list[bytes]:
    """The lines of a match with random options, a seat left empty, one left, some slept away; aborted after `limit`."""
    rng = random.Random(f"{game.rules} {seed}")
    values = option_values(game)
    options = {name: rng.choice(values[name]) for name in values if rng.random() < 0.5}
    seats = rng.choice(game.seats[1:])
    match, first = create(game, ["open"] * seats, options, rng.choice([None, CLOCK]))
    lines = [first.data]

    def keep(more: Sequence[Line]) -> None:
        lines.extend(line.data for line in more)

    keep(join(match, "Änne"))
    keep(match.leave(0, match.version, match.at + STEP)[1])
    empty = rng.randrange(seats)
    for seat in range(seats):
        if seat != empty:
            keep(join(match, f'"{seat}"\\', seat))
    keep(match.start(match.at + STEP)[1])
    while not match.over:
        if match.version == limit:
            keep(match.abort("enough", match.at + STEP))
            break
        if match.version == limit // 2:
            left = rng.choice(match.players)
            if not match.seats[left].left:
                keep(match.leave(left, match.seats[left].tenure or 0, match.at + STEP)[1])
                continue
        movable = [seat for seat in match.players if match.legal(seat) and not match.seats[seat].left]
        if not movable or (rng.random() < 0.2 and match.to_act):
            slept = rng.choice(match.to_act)
            keep(match.time_out(slept, match.prompts[slept], match.at + STEP))
        else:
            seat = rng.choice(movable)
            keep(move(match, seat, rng.choice(match.legal(seat))))
    return lines


def replayed(lines: Sequence[bytes]) -> Iterator[Match]:
    """The match right after each entry."""
    match = Match(SEED)
    for line in lines:
        match.replay(line, verify=False)
        yield match
