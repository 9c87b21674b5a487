"""Computer players, one file a game: which policies exist, by game and version."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points

from engine.bots.bot import LEVELS, TITLES, Bot, Question, Seen, seen
from engine.chance import Stream
from engine.game import Move
from engine.refusals import BadSeats

__all__ = [
    "LEVELS",
    "TITLES",
    "Bot",
    "Question",
    "Seen",
    "answer",
    "find",
    "newest",
    "register",
    "seen",
    "titles",
    "versions",
]


ENTRY_POINTS = "croupier.bots"
"""A package registers computer players of its own by an entry point in this group whose object is a `Bot` class."""


@cache
def _registered() -> dict[tuple[str, int], Bot]:
    from engine.bots.registered import BOTS  # noqa: PLC0415 - bots import this package

    kinds = (*BOTS, *(point.load() for point in entry_points(group=ENTRY_POINTS)))
    return {(bot.game, bot.version): bot for bot in (kind() for kind in kinds)}


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
