"""Clever gedreht: its cards, options, moves, events, state and views; what they do is in clever_gedreht.py.

Names that cross the engine's border are those of section 5 of the rules of record.
"""

from itertools import product
from typing import Annotated, Literal

from msgspec import Meta, Struct

from engine.game import UNSET, Card, Cards, Event, Move, Options, Result, UnsetType

NUMBERS = tuple("123456789")
ACTIONS = ("flip", "swap")
CODES = (*NUMBERS, *ACTIONS)
COPIES = 10
DECK = tuple(code for code in CODES for _ in range(COPIES))  # CG-2, 3.1
VALUE = {code: int(code) if code in NUMBERS else 0 for code in CODES}  # CG-15
SLOTS = 9
MANY = 5
"""From so many seats on grids are small."""

_GERMAN = {"flip": "Umdrehen", "swap": "Tauschen"}
_ENGLISH = {"flip": "Flip", "swap": "Swap"}

CARDS = tuple(
    Card(
        code,
        "action" if code in ACTIONS else "number",
        _GERMAN.get(code, code),
        _ENGLISH.get(code, code),
        {"value": VALUE[code]},
    )
    for code in CODES
)

FACES = ("open", "turned")
Phase = Literal["source", "use", "decide", "flip", "swap"]


class CleverGedrehtOptions(Options, frozen=True):
    """3.1; `rounds` not given is the number of seats (CG-19)."""

    rounds: Annotated[int, Meta(ge=1, le=12, extra={"de": "Runden", "en": "Rounds"})] | UnsetType = UNSET
    protect_finisher: Annotated[
        bool, Meta(extra={"de": "Karten des Ersten sind sicher", "en": "The finisher's cards are safe"})
    ] = False
    reject_taken: Annotated[
        bool, Meta(extra={"de": "Genommene Karte darf zurück", "en": "A taken card may be put back"})
    ] = False


class Draw(Move, frozen=True):
    """Draw the top card of the draw pile."""


class Take(Move, frozen=True):
    """Take the top card of the discard pile."""


class Use(Move, frozen=True):
    """Lay the drawn or taken card in the place of an own open card, with this face up: one of FACES."""

    slot: int
    face: str


class Reject(Move, frozen=True):
    """Put the drawn or taken card on the discard pile and turn an own open card."""

    slot: int


class Flip(Move, frozen=True):
    """Make a turned card of another seat open again."""

    seat: int
    slot: int


class Swap(Move, frozen=True):
    """Exchange the own open card in `slot` for an open card of another seat."""

    slot: int
    seat: int
    other_slot: int


class RoundStarted(Event, frozen=True):
    """A round was dealt and its first discard laid."""

    round: int
    dealer: int
    top: str


class Drew(Event, frozen=True):
    """A card was drawn; a number for the drawer only, an action card for everybody (CG-10)."""

    seat: int
    card: str | None = None


class Took(Event, frozen=True):
    """The top discard was taken."""

    seat: int
    card: str


class Used(Event, frozen=True):
    """A card came into the grid in the place of `replaced`; a drawn one that lies turned is for its owner only."""

    seat: int
    slot: int
    face: str
    replaced: str
    card: str | None = None


class Rejected(Event, frozen=True):
    """`card` went to the discard pile, and the card in `slot` was turned."""

    seat: int
    slot: int
    card: str


class Flipped(Event, frozen=True):
    """A card of `target` is open again."""

    seat: int
    target: int
    slot: int
    card: str


class Swapped(Event, frozen=True):
    """`card`, from the seat's `slot`, and `other_card`, from the target's `other_slot`, changed places."""

    seat: int
    slot: int
    target: int
    other_slot: int
    card: str
    other_card: str


class Fizzled(Event, frozen=True):
    """An action card had no target."""

    seat: int
    card: str


class Reshuffled(Event, frozen=True):
    """The covered discards became the draw pile."""

    count: int


class LastLap(Event, frozen=True):
    """A seat has no open card left; every other seat has one more turn."""

    seat: int


class RoundEnded(Event, frozen=True):
    """A round is over; points per seat."""

    round: int
    scores: tuple[int, ...]


class LastRound(Struct, frozen=True):
    """The round that ended last: points and whole grids, uncovered, per seat."""

    scores: tuple[int, ...]
    hands: tuple[Cards, ...]


class State(Struct, frozen=True):
    """All there is to know.

    Every slot of a seat has its card in one of two grids, `open` or `turned`, and "" in the other. Piles as in
    section 1: draw pile top first, discards top last.
    """

    options: CleverGedrehtOptions
    round: int
    dealer: int
    turn: int
    phase: Phase
    open: tuple[tuple[str, ...], ...]
    turned: tuple[tuple[str, ...], ...]
    draw_pile: tuple[str, ...]
    discards: tuple[str, ...]
    totals: tuple[int, ...]
    taken: str | None = None
    drawn: str | None = None
    finisher: int | None = None
    last_round: LastRound | None = None
    result: Result | None = None


class Table(Struct, frozen=True):
    """Section 5, `table`."""

    round: int
    dealer: int
    turn: int
    phase: str
    grids: tuple[Cards, ...]
    top: str | None
    taken: str | None
    draw_pile: int
    discard_pile: int
    finisher: int | None
    totals: tuple[int, ...]
    last_round: LastRound | None


class Turned(Struct, frozen=True):
    """A turned card and where it lies."""

    slot: int
    card: str


class Own(Struct, frozen=True):
    """Section 5, `own`."""

    turned: tuple[Turned, ...]
    drawn: str | None


class Hidden(Struct, frozen=True):
    """What no view says card by card."""

    draw_pile: tuple[str, ...]
    discards: tuple[str, ...]
    over: bool


SEATS = range(2, 7)  # CG-1
PLACES = tuple(product(range(SEATS[-1]), range(SLOTS)))
"""Every seat with each of its slots."""
USE = tuple([tuple([Use(slot, face) for face in FACES]) for slot in range(SLOTS)])  # CG-8
REJECT = tuple([Reject(slot) for slot in range(SLOTS)])
FLIP = {place: Flip(*place) for place in PLACES}
SWAP = tuple([{place: Swap(slot, *place) for place in PLACES} for slot in range(SLOTS)])
