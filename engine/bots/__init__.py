"""Computer players, one file a game: which policies exist, by game and version."""

from functools import cache

from engine.bots.bot import LEVELS, TITLES, Bot, Seen
from engine.refusals import BadSeats

__all__ = ["LEVELS", "TITLES", "Bot", "Seen", "find", "newest", "versions"]


@cache
def _registered() -> dict[tuple[str, int], Bot]:
    from engine.bots.registered import BOTS  # noqa: PLC0415 - bots import this package

    return {(bot.game, bot.version): bot for bot in (kind() for kind in BOTS)}


def versions(game: str) -> tuple[Bot, ...]:
    """Return all versions of a game's computer players, oldest first; none for a game without."""
    return tuple(bot for (name, _), bot in sorted(_registered().items(), key=lambda item: item[0]) if name == game)


def newest(game: str) -> Bot:
    """Return the newest computer players of a game. Raises BadSeats for a game without any."""
    known = versions(game)
    if not known:
        raise BadSeats(f"there are no computer players for {game}")
    return known[-1]


def find(game: str, version: int) -> Bot:
    """Return one version of a game's computer players. Raises BadSeats."""
    try:
        return _registered()[game, version]
    except KeyError:
        raise BadSeats(f"there is no version {version} of the computer players for {game}") from None
