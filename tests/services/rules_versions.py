"""A second and a third version of a game's rules, beside the first for the time of a test."""

from collections.abc import Iterator
from contextlib import contextmanager

from engine import registry
from engine.games.timos_twist import TimosTwist
from services.archive import Ended
from tests.services.ended import GAMES, ended


class Shorter(TimosTwist):
    """Timo's Twist, second version: nobody may make the last of his legal moves if he has more than one."""

    rules_version = 2

    def legal(self, state, seat):
        moves = super().legal(state, seat)
        return moves[:-1] if len(moves) > 1 else moves


class Same(TimosTwist):
    """A third version that changes nothing."""

    rules_version = 3


@contextmanager
def registered(*games: TimosTwist) -> Iterator[tuple[TimosTwist, ...]]:
    """Have versions in this process: these, or else both."""
    games = games or (Shorter(), Same())
    for game in games:
        registry.register(game)
    try:
        yield games
    finally:
        for game in games:
            registry._registered().pop(game.rules)


GAME = GAMES.index("timos_twist")
"""`ended(GAME)` is a match of it."""


def of_timo(count: int = 4, moves: int = 8) -> list[Ended]:
    """Matches of the first version."""
    rules = "timos_twist/1"
    return [ended(GAME + len(GAMES) * number, moves=moves, rules=rules) for number in range(count)]
