"""Tom's Time Bluff: its cards, options, moves, events, state and views; what they do is in toms_time_bluff.py.

Names that cross the engine's border are those of section 5 of the rules of record.
"""

from collections.abc import Callable
from typing import Annotated, Literal, TypeVar

from msgspec import Meta, Struct

from engine.game import UNSET, Card, Cards, Event, Move, Options, Result, UnsetType

T = TypeVar("T")

KINDS = {"A": "alarm", "R": "radio", "S": "smartwatch", "G": "grandfather"}
HOUR = {f"{kind}{hour}": hour for kind in KINDS for hour in range(1, 13)}  # TB-1
KIND_OF_PARTNER = {"kaputt": "A", "snooze": "R", "beam": "S", "jungle": "G"}
HOUR_OF_PARTNER = {"kaputt": 3, "snooze": 6, "beam": 9, "jungle": 12}
COPIES = {"joker": 3, "vortex": 3}
CODES = (*HOUR, *COPIES, *KIND_OF_PARTNER, "cuckoo")  # 3.2
ORDER = {code: place for place, code in enumerate(CODES)}
OPENABLE = frozenset((*HOUR, "joker", "vortex"))  # TB-10
VALUE = {code: 1 if code in HOUR else 10 if code == "vortex" else 5 for code in CODES}  # TB-31
DECKS = {
    partners: tuple(
        code for code in CODES for _ in range(COPIES.get(code, 1)) if partners or code not in KIND_OF_PARTNER
    )
    for partners in (True, False)  # TB-3
}
PLACES = range(3)
HOURS = range(1, 13)
HAND = 6

SIDES = ("left", "right")
Answer = Literal["challenge", "accept"]
Reason = Literal["turn", "kaputt", "snooze", "forgot", "instead"]

_GERMAN = {"A": "Wecker", "R": "Radiowecker", "S": "Smartwatch", "G": "Standuhr", "joker": "Joker"}
_GERMAN |= {"vortex": "Zeitstrudel", "cuckoo": "Kuckucksuhr"}
_ENGLISH = {"A": "Alarm clock", "R": "Clock radio", "S": "Smartwatch", "G": "Grandfather clock", "joker": "Joker"}
_ENGLISH |= {"vortex": "Time vortex", "cuckoo": "Cuckoo clock"}


def _card(code: str) -> Card:
    extra: dict[str, int | str] = {"value": VALUE[code]}
    if code in HOUR:
        extra["hour"] = HOUR[code]
        return Card(code, KINDS[code[0]], f"{_GERMAN[code[0]]} {code[1:]}", f"{_ENGLISH[code[0]]} {code[1:]}", extra)
    group = "partner" if code in KIND_OF_PARTNER else code
    return Card(code, group, _GERMAN.get(code, code.title()), _ENGLISH.get(code, code.title()), extra)


CARDS = tuple(_card(code) for code in CODES)


class TomsTimeBluffOptions(Options, frozen=True):
    """3.1."""

    partner_cards: Annotated[bool, Meta(extra={"de": "Mit Partnerkarten", "en": "With partner cards"})] = True
    partner_match: Annotated[
        Literal["kind", "hour"], Meta(extra={"de": "Passende Uhr nach", "en": "Clock fits partner by"})
    ] = "kind"
    target: Annotated[int, Meta(ge=10, le=200, extra={"de": "Strafpunkte bis zum Ende", "en": "Penalty limit"})] = 50
    manual_draw: Annotated[bool, Meta(extra={"de": "Nachziehen von Hand", "en": "Draw by hand"})] = False


class Hide(Move, frozen=True):
    """Lay a hand card face down on a pile: the first card of a play."""

    place: int
    card: str


class DrawInstead(Move, frozen=True):
    """Draw because no hand card may lie open."""


class Open(Move, frozen=True):
    """Lay a clock, joker or vortex openly on the hidden card; `hour` exactly for a joker."""

    card: str
    hour: int | UnsetType = UNSET


class Partner(Move, frozen=True):
    """Lay a partner card openly on the hidden card, and a clock that fits on top."""

    partner: str
    clock: str


class Beam(Move, frozen=True):
    """Give a hand card secretly to another seat."""

    card: str
    target: int


class Direction(Move, frozen=True):
    """Say where a vortex carries the hands: one of SIDES."""

    to: str


class NameHour(Move, frozen=True):
    """Name the hour of a joker that has replaced a vortex."""

    hour: int


class Draw(Move, frozen=True):
    """Draw the card due (option `manual_draw`)."""


class EndTurn(Move, frozen=True):
    """End the turn without drawing (option `manual_draw`)."""


class Challenge(Move, frozen=True):
    """Doubt the hidden card."""


class Accept(Move, frozen=True):
    """Let the hidden card pass."""


class Place(Move, frozen=True):
    """Lay a clock or joker on the place that a challenge has emptied; `hour` exactly for a joker."""

    card: str
    hour: int | UnsetType = UNSET


class Decline(Move, frozen=True):
    """Leave the place empty."""


class RoundStarted(Event, frozen=True):
    """A round was dealt."""

    round: int
    dealer: int


class Turned(Event, frozen=True):
    """A clock card from the draw pile started a pile; `aside`: what was turned before it and set aside."""

    place: int
    card: str
    aside: tuple[str, ...]


class Skipped(Event, frozen=True):
    """A snoozing seat missed its turn."""

    seat: int


class Hid(Event, frozen=True):
    """A card was laid face down; `card` for the layer only."""

    seat: int
    place: int
    card: str | None = None


class Opened(Event, frozen=True):
    """A card was laid openly on the hidden one; `hour` is a joker's."""

    seat: int
    place: int
    card: str
    hour: int | None


class Partnered(Event, frozen=True):
    """A partner card and its clock were laid on the hidden card."""

    seat: int
    place: int
    partner: str
    clock: str


class Drew(Event, frozen=True):
    """Cards were drawn; `cards` (in the order drawn) for the drawer only."""

    seat: int
    count: int
    reason: Reason
    cards: tuple[str, ...] = ()


class Beamed(Event, frozen=True):
    """A card changed hands; `card` for giver and receiver only."""

    seat: int
    target: int
    card: str | None = None


class Answered(Event, frozen=True):
    """A seat gave its sealed answer."""

    seat: int


class Challenged(Event, frozen=True):
    """A challenge prevailed and the hidden card was shown."""

    seat: int
    place: int
    card: str
    right: bool


class Accepted(Event, frozen=True):
    """Nobody challenged."""

    place: int


class HandsMoved(Event, frozen=True):
    """A vortex carried all hands to a neighbour; `by` chose the direction."""

    by: int
    to: str


class Replaced(Event, frozen=True):
    """A card took the vortex's position in its pile; `aside`: what was turned before it and set aside."""

    place: int
    index: int
    card: str
    aside: tuple[str, ...]


class HourNamed(Event, frozen=True):
    """The joker that replaced a vortex got its hour."""

    seat: int
    place: int
    hour: int


class TookPile(Event, frozen=True):
    """A pile went into a hand; `cards` (in canonical order) for the taker only."""

    seat: int
    place: int
    count: int
    cards: tuple[str, ...] = ()


class Placed(Event, frozen=True):
    """A card was laid on the emptied place; `hour` is a joker's."""

    seat: int
    place: int
    card: str
    hour: int | None


class Declined(Event, frozen=True):
    """The place stayed empty."""

    seat: int


class RoundEnded(Event, frozen=True):
    """A round ended; points against each seat. Nobody wins when a draw was impossible."""

    winner: int | None
    scores: tuple[int, ...]


class Entry(Struct, frozen=True):
    """A card in a pile as everybody sees it: `card` only if face up, `hour` if it is a named joker, `seat` if laid."""

    card: str | None
    hour: int | None = None
    seat: int | None = None


class Pile(Struct, frozen=True):
    """Entries from bottom to top."""

    cards: tuple[Entry, ...] = ()


class Laid(Struct, frozen=True, order=True):
    """A face-down card: its place and its index from the bottom."""

    place: int
    index: int
    card: str


class Play(Struct, frozen=True):
    """The play of the current turn (3.4) and what has become of it (3.6)."""

    place: int
    index: int
    over: str | None = None
    protected: bool = False
    challenger: int | None = None
    right: bool | None = None


class LastRound(Struct, frozen=True):
    """The round that ended last: points per seat, all hands, and what its last challenge had shown."""

    scores: tuple[int, ...]
    hands: tuple[Cards, ...]
    revealed: str | None


class State(Struct, frozen=True):
    """All there is to know. Draw pile top first, hands in canonical order; `laid` and `answers` per seat."""

    options: TomsTimeBluffOptions
    round: int
    dealer: int
    turn: int
    phase: Literal["hide", "open", "beam", "vortex", "joker_hour", "draw", "challenge", "place"]
    piles: tuple[Pile, ...]
    draw_pile: tuple[str, ...]
    hands: tuple[tuple[str, ...], ...]
    laid: tuple[tuple[Laid, ...], ...]
    answers: tuple[Answer | None, ...]
    totals: tuple[int, ...]
    skips: tuple[bool, ...]
    removed: int = 0
    revealed: str | None = None
    play: Play | None = None
    last_round: LastRound | None = None
    result: Result | None = None


class Table(Struct, frozen=True):
    """Section 5, `table`."""

    round: int
    dealer: int
    turn: int
    phase: str
    piles: tuple[Pile, ...]
    draw_pile: int
    hand_sizes: tuple[int, ...]
    totals: tuple[int, ...]
    skips: tuple[bool, ...]
    removed: int
    answered: tuple[int, ...]
    revealed: str | None
    last_round: LastRound | None


class Own(Struct, frozen=True):
    """Section 5, `own`."""

    hand: tuple[str, ...]
    laid: tuple[Laid, ...]
    answer: str | None


class Hidden(Struct, frozen=True):
    """What nobody sees."""

    draw_pile: tuple[str, ...]
    play: Play | None


def _ways(kind: Callable[..., T], card: str) -> tuple[T, ...]:
    return tuple(kind(card, hour) for hour in HOURS) if card == "joker" else (kind(card),)  # TB-7


HIDE = [{card: Hide(place, card) for card in CODES} for place in PLACES]
OPEN = {card: _ways(Open, card) for card in CODES if card in OPENABLE}
PLACE = {card: _ways(Place, card) for card in (*HOUR, "joker")}  # TB-17
PARTNER = {  # TB-2, TB-4
    "kind": {
        partner: {clock: Partner(partner, clock) for clock in HOUR if clock[0] == kind}
        for partner, kind in KIND_OF_PARTNER.items()
    },
    "hour": {
        partner: {clock: Partner(partner, clock) for clock, shown in HOUR.items() if shown == hour}
        for partner, hour in HOUR_OF_PARTNER.items()
    },
}
