"""Which rules exist: `timos_twist/1` and its like, the built-in ones and those registered from outside.

A package registers a game of its own by an entry point in the group `croupier.games` whose object is a `Game` class.
One package with a broken game stops everything, on purpose: who went on without it could not serve its matches, and
would call its journals false (docs/decisions/0007).
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from engine.game import Game
from engine.refusals import UnknownGame

AnyGame = Game[Any, Any]

ENTRY_POINTS = "croupier.games"


_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


class GameNotLoaded(Exception):
    """A game from outside, or its computer players, cannot be had; the message names the package and says why."""


@cache
def _registered() -> dict[str, AnyGame]:
    games = {game.rules: game for game in _built_in()}
    ours = {game.name for game in games.values()}
    origins: dict[str, str] = {}
    for point in entry_points(group=ENTRY_POINTS):
        game, origin = _load(point), _origin(point)
        if game.name in ours:
            raise GameNotLoaded(f"{origin}: {game.name!r} is the name of a built-in game")
        if game.rules in games:
            raise GameNotLoaded(f"{origin}: {game.rules} is already registered by {origins[game.rules]}")
        games[game.rules], origins[game.rules] = game, origin
    return games


def _load(point: EntryPoint) -> AnyGame:
    game: AnyGame = made(point, Game, _origin(point))
    if not is_name(game.name):
        raise GameNotLoaded(f"{_origin(point)}: {game.name!r} is not a name in snake case")
    return game


def made(point: EntryPoint, kind: type, origin: str) -> Any:
    """Return the `kind` that the class behind an entry point makes. Raises GameNotLoaded if it makes no such thing."""
    try:
        thing = point.load()()
    except Exception as error:
        raise GameNotLoaded(f"{origin} does not load: {type(error).__name__}: {error}") from error
    if not isinstance(thing, kind):
        raise GameNotLoaded(f"{origin} makes no {kind.__name__} but a {type(thing).__name__}")
    return thing


def is_name(text: str) -> bool:
    """Return whether a text is in snake case, as games and levels are called."""
    return _NAME.fullmatch(text) is not None


def package_of(point: EntryPoint) -> str:
    """Return name and version of the package that has an entry point."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unnamed package"


def _origin(point: EntryPoint) -> str:
    return f"the game {point.value} of the package {package_of(point)}"


def _built_in() -> Iterator[AnyGame]:
    from engine.games import BUILT_IN  # noqa: PLC0415 - games import the engine, so the engine finds them late

    for kind in BUILT_IN:
        yield kind()


def is_built_in(name: str) -> bool:
    """Return whether a game is one of Croupier's own."""
    return any(game.name == name for game in _built_in())


def register(game: AnyGame) -> None:
    """Add a game for this process. Raises ValueError if its rules are registered already."""
    if _registered().setdefault(game.rules, game) is not game:
        raise ValueError(f"two games are registered as {game.rules}")


def games() -> tuple[AnyGame, ...]:
    """Return every version of every game, built-in ones first, in the order of registration.

    The first call of a process loads them, whichever function here it is. Raises GameNotLoaded.
    """
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
        known = ", ".join(dict.fromkeys(game.name for game in games()))
        raise UnknownGame(f"there is no game called {name!r}; there are: {known}", game=name)
    return max(versions, key=lambda game: game.rules_version)
