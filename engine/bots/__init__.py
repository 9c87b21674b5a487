"""Computer players, one file a game: which policies exist, by game and version."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points

from engine.bots.bot import LEVELS, TITLES, Bot, Question, Seen, seen
from engine.chance import Stream
from engine.game import Move
from engine.refusals import BadSeats
from engine.registry import GameNotLoaded, games, is_built_in, is_name, made, package_of

__all__ = [
    "LEVELS",
    "TITLES",
    "Bot",
    "Question",
    "Seen",
    "answer",
    "find",
    "load",
    "newest",
    "register",
    "seen",
    "titles",
    "versions",
]


ENTRY_POINTS = "croupier.bots"
"""A package registers computer players of its own by an entry point in this group whose object is a `Bot` class."""
RESERVED = frozenset({"open", "human", "default"})
"""What stands for something else where a level could stand."""


@cache
def _registered() -> dict[tuple[str, int], Bot]:
    from engine.bots.registered import BOTS  # noqa: PLC0415 - bots import this package

    found = {(bot.game, bot.version): bot for bot in (kind() for kind in BOTS)}
    origins: dict[tuple[str, int], str] = {}
    for point in entry_points(group=ENTRY_POINTS):
        origin = f"the computer players {point.value} of the package {package_of(point)}"
        bot: Bot = made(point, Bot, origin)
        key = bot.game, bot.version
        if is_built_in(bot.game):
            raise GameNotLoaded(f"{origin}: {bot.game!r} is a built-in game")
        if key in found:
            raise GameNotLoaded(
                f"{origin}: version {bot.version} for {bot.game} is already registered by {origins[key]}"
            )
        if wrong := [level for level in bot.levels if not is_name(level) or level in RESERVED]:
            raise GameNotLoaded(f"{origin}: {wrong[0]!r} is no name for a level")
        if not bot.levels or bot.version < 1:
            raise GameNotLoaded(f"{origin}: they have no level, or a version below 1")
        if all(game.name != bot.game for game in games()):
            raise GameNotLoaded(f"{origin}: there is no game called {bot.game!r}")
        found[key], origins[key] = bot, origin
    return found


def load() -> None:
    """Load all computer players, and all games. Raises GameNotLoaded."""
    games()
    _registered()


def register(bot: Bot) -> None:
    """Add computer players for this process. Raises ValueError if that version is registered already."""
    if _registered().setdefault((bot.game, bot.version), bot) is not bot:
        raise ValueError(f"two computer players are registered for {bot.game} as version {bot.version}")


def versions(game: str) -> tuple[Bot, ...]:
    """Return all versions of a game's computer players, oldest first; none for a game without."""
    return tuple(bot for (name, _), bot in sorted(_registered().items(), key=lambda item: item[0]) if name == game)


def newest(game: str) -> Bot:
    """Return the newest computer players of a game. Raises BadSeats for a game without any."""
    known = versions(game)
    if not known:
        raise BadSeats(f"there are no computer players for {game}")
    return known[-1]


def titles(game: str) -> dict[str, Mapping[str, str]]:
    """Return the titles (`de`, `en`) of a game's levels by name, weakest first; nothing for a game without any."""
    known = versions(game)
    return {level: TITLES.get(level, {"de": level, "en": level}) for level in known[-1].levels} if known else {}


def find(game: str, version: int) -> Bot:
    """Return one version of a game's computer players. Raises BadSeats."""
    try:
        return _registered()[game, version]
    except KeyError:
        raise BadSeats(f"there is no version {version} of the computer players for {game}") from None


def answer(question: Question) -> Move | None:
    """Return what a computer player decides; None: nothing, which it may only if no move is owed. Raises BadSeats."""
    chance = Stream(question.key, f"bot/{question.seat}", question.version)
    return find(question.game, question.policy).decide(question.seen, question.level, chance)
