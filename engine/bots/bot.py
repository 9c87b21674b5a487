"""What a computer player is: a pure function of one seat's view, a level and a stream of chance.

It is given nothing else, so it can see nothing else. It uses integers only and fixed numbers of iterations, so that it
decides the same on every machine, and an audit can compute each of its moves again. A policy that would ever decide
otherwise gets a new version; the old one stays registered and runnable.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from msgspec import Struct

from engine.chance import Chance
from engine.game import Game, Move, Options

LEVELS = ("reckless", "clever", "ruthless")
"""The levels that every game has, weakest first."""
TITLES = {
    "reckless": {"de": "Leichtsinnig", "en": "Reckless"},
    "clever": {"de": "Clever", "en": "Clever"},
    "ruthless": {"de": "Gnadenlos", "en": "Ruthless"},
}


class Seen(NamedTuple):
    """All that a seat knows at one version; seats are numbered as in the game.

    `table` and `own` are the game's public types, `legal` is in contract order and not empty, `owes` tells whether the
    match waits for this seat (else a move is optional).
    """

    options: Options
    seats: int
    seat: int
    table: Struct
    own: Struct
    legal: tuple[Move, ...]
    owes: bool


def seen(game: Game[Any, Any], options: Options, seats: int, state: object, seat: int) -> Seen | None:
    """Return what a seat knows in a state, None if it has nothing to decide. Seats are numbered as in the game."""
    legal = tuple(game.legal(state, seat))
    if not legal:
        return None
    return Seen(options, seats, seat, game.table(state), game.own(state, seat), legal, seat in game.to_act(state))


class Question(NamedTuple):
    """A decision to be made: everything that it depends on, so that any process can make it, and make it again.

    `seat` is the number that names the stream (`bot/<seat>`), `version` that of the view, `key` the match's bot key.
    """

    game: str
    policy: int
    level: str
    seen: Seen
    key: bytes
    seat: int
    version: int


class Bot(ABC):
    """The computer players of one game, all levels, in one version."""

    game: ClassVar[str]
    """The game's engine name."""
    version: ClassVar[int] = 1
    levels: ClassVar[tuple[str, ...]] = LEVELS

    @abstractmethod
    def decide(self, seen: Seen, level: str, chance: Chance) -> Move | None:
        """Return one of `seen.legal`; None, to do nothing, only if no move is owed."""
