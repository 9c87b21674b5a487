"""What a person asks `croupier play` for, and what it means for a game."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from croupier.v1 import match_service_pb2 as pb
from engine import codes
from engine.match import OPEN
from engine.refusals import Refusal
from services.game_options import OptionError, parsed_options
from services.words import Language, printable
from services.words.screen import SAY

LOCAL_SEATS = 3
LEVEL = "clever"
"""Who plays against a person that names no level."""


@dataclass(frozen=True)
class Wish:
    """What was asked for on the command line."""

    game: str | None = None
    join: str | None = None
    code: str | None = None
    seats: int | None = None
    name: str | None = None
    server: str | None = None
    nats: str | None = None
    ca: bytes | None = None
    """The certificate (PEM) that has to have signed the server's; None: gRPC without TLS."""
    options: Sequence[str] = ()
    clock_s: float | None = None
    bots: Sequence[str] = ()
    """Levels of computer players, one a seat."""
    others: int | None = None
    think_s: float = 0.8
    journal: Path | None = None
    lang: Language = "en"
    private: bool = False
    invite: str | None = None

    @property
    def clock_ms(self) -> int | None:
        """The clock in milliseconds."""
        return None if self.clock_s is None else round(self.clock_s * 1000)


class CannotPlayError(Exception):
    """It cannot begin; says why in the person's language."""


class Plan(NamedTuple):
    """A match that can be created."""

    seats: int
    others: int
    """Random players that this command brings along."""
    options: dict[str, Any]
    levels: tuple[str, ...] = ()
    """Levels of the computer players, on the last seats."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """What sits on each seat."""
        return (OPEN,) * (self.seats - len(self.levels)) + self.levels

    @property
    def solitary(self) -> bool:
        """Whether a person plays against computer players only."""
        return self.seats == 1 + len(self.levels)


def setups(kinds: Sequence[str], think_s: float) -> list[pb.SeatSetup]:
    """Return the seats of a request; computer players take so many seconds for a move."""
    thinking = round(think_s * 1000)
    return [pb.SeatSetup(kind=kind, thinking_ms=None if kind == OPEN else thinking) for kind in kinds]


def default_language(env: Mapping[str, str] = os.environ) -> Language:
    """Return the language that the environment asks for; English if it asks for none that we have."""
    wanted = next((env[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if env.get(name)), "")
    return "de" if wanted.lower().startswith("de") else "en"


def planned(wish: Wish, info: pb.GameInfo) -> Plan:
    """Return what a wish means for this game. On a server of its own every seat gets a player, if not told otherwise.

    Raises CannotPlayError if the game has no such seats, levels or options.
    """
    words, local = SAY[wish.lang], wish.server is None
    least, most = info.seats.min, info.seats.max
    known = [level.name for level in info.levels]
    levels, others = tuple(wish.bots), wish.others or 0
    for level in levels:
        if level not in known:
            raise CannotPlayError(words["bad level"].format(printable(level), ", ".join(known) or "–"))
    company = len(levels) + others
    if wish.seats is not None:
        seats = wish.seats
    elif levels or wish.others is not None:
        seats = max(company + 1, least)
    else:
        seats = min(LOCAL_SEATS if local else least, most)
    if not least <= seats <= most:
        raise CannotPlayError(words["bad seats"].format(getattr(info.titles, wish.lang) or info.name, least, most))
    if company >= seats:
        raise CannotPlayError(words["too many others"].format(company, company + 1))
    free = seats - 1 - company if local and wish.others is None else 0
    if known:
        levels += (levels[-1] if levels else LEVEL if LEVEL in known else known[0],) * free
    else:
        others += free
    try:
        options = parsed_options(info, wish.options, wish.lang)
    except OptionError as error:
        raise CannotPlayError(str(error)) from None
    return Plan(seats, others, options, levels)


def dealt_by(wish: Wish) -> codes.Dealt | None:
    """Return what the wish's game code says; None if only the server can read it, as it deals other games.

    Raises CannotPlayError for a code that cannot be played.
    """
    words = SAY[wish.lang]
    try:
        dealt = codes.decode(wish.code or "")
    except Refusal as refusal:
        if wish.server is None:
            raise CannotPlayError(f"{words['BAD_CODE']} ({refusal.detail})") from None
        return None
    game = dealt.rules.split("/")[0]
    if wish.game not in (None, game):
        raise CannotPlayError(words["other game"].format(game))
    if OPEN not in dealt.kinds:
        raise CannotPlayError(words["no seat"])
    if (wish.others or 0) >= dealt.kinds.count(OPEN):
        company = len(dealt.kinds) - dealt.kinds.count(OPEN) + (wish.others or 0)
        raise CannotPlayError(words["too many others"].format(company, company + 1))
    return dealt
