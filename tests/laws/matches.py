"""The matches over which the laws are tested: every registered game, every number of seats, several sets of options.

Nothing here is left to luck: a case names its own seed, so a law that fails once fails always.
"""

import hashlib
import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest
from msgspec import Struct, inspect

from engine.chance import Stream
from engine.fold import Fold
from engine.game import Move, Step, encode
from engine.registry import AnyGame, games

GAMES = pytest.mark.parametrize("game", games(), ids=lambda game: game.rules)
ENTRIES = 20_000
"""A match that has more entries is aborted; random play has to end well before."""


def attributes(match: Fold) -> dict[str, Any]:
    """All attributes of a match that are set, by name, as `vars` has them of other objects."""
    return {name: getattr(match, name) for name in Fold.__slots__ if hasattr(match, name)} | vars(match)


class Case(NamedTuple):
    """A match to be played at random: its set-up, and the seed of its chance and of its players."""

    game: AnyGame
    seats: int
    options: dict[str, Any]
    seed: str

    def __str__(self) -> str:
        return self.seed

    def chance(self, version: int) -> Stream:
        """The chance of one entry, the deal's being version 0."""
        return Stream(hashlib.sha256(self.seed.encode()).digest(), "game", version)

    def start(self) -> Step[Any]:
        return self.game.setup(self.game.options(self.options, self.seats), self.seats, self.chance(0))


class Moment(NamedTuple):
    """One entry of a match: the state before, who moved how, and what that gave."""

    version: int
    state: Struct
    seat: int
    move: Move
    step: Step[Any]


def cases(count: int) -> Sequence[Any]:
    """`count` cases, each with other options, for every game and number of seats, as parameters for pytest."""
    return [
        pytest.param(case, id=str(case))
        for game in games()
        for seats in game.seats
        for case in (_case(game, seats, number) for number in range(count))
    ]


def _case(game: AnyGame, seats: int, number: int) -> Case:
    seed = f"{game.rules} {seats} seats #{number}"
    return Case(game, seats, options_of(game, random.Random(seed)) if number else {}, seed)


def options_of(game: AnyGame, rng: random.Random) -> dict[str, Any]:
    """Some of the game's options, each at one of its values, the ends of a range among them."""
    return {
        field.name: rng.choice(_values(field.type, rng))
        for field in inspect.type_info(game.options_type).fields
        if rng.random() < 2 / 3
    }


def _values(kind: inspect.Type, rng: random.Random) -> Sequence[Any]:
    match kind:
        case inspect.Metadata():
            return _values(kind.type, rng)
        case inspect.BoolType():
            return (False, True)
        case inspect.LiteralType():
            return kind.values
        case inspect.IntType():
            assert kind.ge is not None, "an integer option has a range"
            assert kind.le is not None, "an integer option has a range"
            return (kind.ge, kind.le, rng.randint(kind.ge, kind.le))
    raise AssertionError(f"an option is an integer, a truth or a word, not {kind}")


def play(case: Case, entries: int = ENTRIES) -> Iterator[Moment]:
    """Play at random, optional moves out of turn included, to the end of the match or to the last of the entries.

    One move in three is the clock's: chance alone may shun for ever what ends a round, as drawing without need does.
    """
    game, rng = case.game, random.Random(case.seed)
    state = case.start().state
    for version in range(1, entries + 1):
        owing = game.to_act(state)
        if not owing:
            return
        seat, style = rng.choice(owing), rng.randrange(3)
        if style == 0:
            seat = rng.choice([other for other in range(case.seats) if game.legal(state, other)])
        move = game.default(state, seat) if style == 1 else rng.choice(game.legal(state, seat))
        step = game.apply(state, seat, move, case.chance(version))
        yield Moment(version, state, seat, move, step)
        state = step.state


def sample(case: Case, count: int, entries: int = 600) -> Sequence[Moment]:
    """About `count` moments of a match, evenly over its first entries."""
    moments = list(play(case, entries))
    return moments[:: max(1, len(moments) // count)]


def known(game: AnyGame, state: Struct, seats: int) -> bytes:
    """What the digest is taken of: table, own parts and hidden, as JSON."""
    own = b",".join(encode(game.own(state, seat)) for seat in range(seats))
    return b"[%b,[%b],%b]" % (encode(game.table(state)), own, encode(game.hidden(state)))


def fingerprint(case: Case) -> str:
    """One digest over every state, event and choice of a match."""
    digest = hashlib.sha256()
    game = case.game
    for moment in play(case, 300):
        digest.update(known(game, moment.step.state, case.seats))
        digest.update(game.event_json.encode_list(game.told(moment.step.events, moment.seat)))
        for seat in range(case.seats):
            digest.update(game.move_json.encode_list(game.legal(moment.step.state, seat)))
            digest.update(repr(game.asked(moment.step.state, seat)).encode())
    return digest.hexdigest()


def fingerprints() -> list[str]:
    """The fingerprint of one match of every game and number of seats."""
    return [fingerprint(case) for parameter in cases(2) for case in parameter.values]
