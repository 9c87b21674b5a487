"""Which rules exist: `timos_twist/1` and its like, the built-in ones and those registered from outside.

A package registers a game of its own by an entry point in the group `croupier.games` whose object is a `Game` class.
"""

from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from engine.game import Game
from engine.refusals import UnknownGame

AnyGame = Game[Any, Any]

ENTRY_POINTS = "croupier.games"


@cache
def _registered() -> dict[str, AnyGame]:
    games: dict[str, AnyGame] = {}
    for game in (*_built_in(), *(point.load()() for point in entry_points(group=ENTRY_POINTS))):
        if games.setdefault(game.rules, game) is not game:
            raise ValueError(f"two games are registered as {game.rules}")
    return games


def _built_in() -> Iterator[AnyGame]:
    from engine.games import BUILT_IN  # noqa: PLC0415 - games import the engine, so the engine finds them late

    for kind in BUILT_IN:
        yield kind()


def register(game: AnyGame) -> None:
    """Add a game for this process. Raises ValueError if its rules are registered already."""
    if _registered().setdefault(game.rules, game) is not game:
        raise ValueError(f"two games are registered as {game.rules}")


def games() -> tuple[AnyGame, ...]:
    """Return every version of every game, built-in ones first, in the order of registration."""
    return tuple(_registered().values())


def find(rules: str) -> AnyGame:
    """Return the game of `timos_twist/1`. Raises UnknownGame."""
    try:
        return _registered()[rules]
    except KeyError:
        raise UnknownGame(f"no rules are registered as {rules!r}", rules=rules) from None


def newest(name: str) -> AnyGame:
    """Return the newest version of a game by its name alone. Raises UnknownGame."""
    versions = [game for game in games() if game.name == name]
    if not versions:
        raise UnknownGame(f"there is no game called {name!r}", game=name)
    return max(versions, key=lambda game: game.rules_version)
