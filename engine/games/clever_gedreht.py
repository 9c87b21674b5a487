"""Clever gedreht, rules version 1. CG-n and section numbers are those of the rules of record.

Hidden (3.6): the draw pile, top first, the discards, bottom to top, without the top card, and whether the match is
over, since the table keeps its last phase then. How far the last lap has come follows from the finisher and the turn.
"""

from collections.abc import Hashable, Mapping
from functools import lru_cache
from itertools import product
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from engine.chance import Chance
from engine.game import UNSET, Card, Cards, Event, Game, Move, Options, Result, Step, UnsetType
from engine.vocabulary import Transition, added, dealt, put

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


_SEATS = range(2, 7)  # CG-1
_PLACES = tuple(product(range(_SEATS[-1]), range(SLOTS)))
"""Every seat with each of its slots."""
_DRAW, _TAKE = Draw(), Take()
_USE = tuple([tuple([Use(slot, face) for face in FACES]) for slot in range(SLOTS)])  # CG-8
_REJECT = tuple([Reject(slot) for slot in range(SLOTS)])
_FLIP = {place: Flip(*place) for place in _PLACES}
_SWAP = tuple([{place: Swap(slot, *place) for place in _PLACES} for slot in range(SLOTS)])


class CleverGedreht(Game[CleverGedrehtOptions, State]):
    """The rules of Clever gedreht."""

    name = "clever_gedreht"
    seats = _SEATS
    titles: ClassVar[Mapping[str, str]] = {"de": "Clever gedreht", "en": "Cleverly Turned"}
    options_type = CleverGedrehtOptions
    moves = (Draw, Take, Use, Reject, Flip, Swap)
    events = (RoundStarted, Drew, Took, Used, Rejected, Flipped, Swapped, Fizzled, Reshuffled, LastLap, RoundEnded)
    cards = tuple(
        Card(
            code,
            "action" if code in ACTIONS else "number",
            _GERMAN.get(code, code),
            _ENGLISH.get(code, code),
            {"value": VALUE[code]},
        )
        for code in CODES
    )

    def settle(self, options: CleverGedrehtOptions, seats: int) -> CleverGedrehtOptions:
        """CG-19: as many rounds as seats."""
        return options if options.rounds is not UNSET else replace(options, rounds=seats)

    def count(self, code: str, seats: int) -> int:
        """CG-2."""
        del code, seats
        return COPIES

    def setup(self, options: CleverGedrehtOptions, seats: int, chance: Chance) -> Step[State]:
        """3.2; chance: pick(n), shuffle(deck)."""
        course = _Course(chance)
        course.deal(options, 1, chance.pick(seats), (0,) * seats, None)  # CG-20
        return course.step()

    def legal(self, state: State, seat: int) -> list[Move]:
        """3.3, for the seat on turn."""
        if not _is_on_turn(state, seat):
            return []
        match state.phase:
            case "source":
                return [_DRAW, _TAKE] if state.discards[-1] in NUMBERS else [_DRAW]  # CG-5
            case "flip":
                return [_FLIP[other, slot] for other in _targets(state, "flip") for slot in _slots(state.turned[other])]
            case "swap":
                targets = [(other, slot) for other in _targets(state, "swap") for slot in _slots(state.open[other])]
                return [_SWAP[slot][target] for slot in _slots(state.open[seat]) for target in targets]
        slots = _slots(state.open[seat])  # CG-7
        moves: list[Move] = [way for slot in slots for way in _USE[slot]]
        if state.phase == "decide" or state.options.reject_taken:  # CG-6
            moves += [_REJECT[slot] for slot in slots]
        return moves

    def allows(self, state: State, seat: int, move: Move) -> bool:
        """As `legal`, whose lists are longest for these two."""
        if not _is_on_turn(state, seat):
            return False
        match move:
            case Use(slot=slot, face=face):
                return state.phase in ("use", "decide") and slot in _slots(state.open[seat]) and face in FACES
            case Swap(slot=slot, seat=other, other_slot=its):
                theirs = state.phase == "swap" and slot in _slots(state.open[seat]) and other in _targets(state, "swap")
                return theirs and its in _slots(state.open[other])
        return move in self.legal(state, seat)

    def to_act(self, state: State) -> tuple[int, ...]:
        """The seat on turn."""
        return () if state.result is not None else (state.turn,)

    def asked(self, state: State, seat: int) -> Hashable | None:
        """The seat on turn: its turn and phase."""
        return (state.round, state.phase) if _is_on_turn(state, seat) else None

    def apply(self, state: State, seat: int, move: Move, chance: Chance) -> Step[State]:
        """3.3."""
        course = _Course(chance, state)
        match move:
            case Draw():
                course.draw()
            case Take():
                card = state.discards[-1]
                course.tell(Took(seat, card))
                course.state = replace(course.state, phase="use", taken=card, discards=state.discards[:-1])
            case Use(slot=slot, face=face):
                course.use(slot, face)
                course.end_turn()
            case Reject(slot=slot):  # CG-9
                card = _in_hand(state)
                course.tell(Rejected(seat, slot, card))
                course.turn(seat, slot, state.open[seat][slot], "turned")
                course.state = replace(course.state, discards=(*state.discards, card), taken=None, drawn=None)
                course.end_turn()
            case Flip(seat=target, slot=slot):
                card = state.turned[target][slot]
                course.tell(Flipped(seat, target, slot, card))
                course.turn(target, slot, card, "open")
                course.end_turn()
            case Swap(slot=slot, seat=target, other_slot=other_slot):  # CG-13
                card, other_card = state.open[seat][slot], state.open[target][other_slot]
                course.tell(Swapped(seat, slot, target, other_slot, card, other_card))
                course.turn(seat, slot, other_card, "open")
                course.turn(target, other_slot, card, "open")
                course.end_turn()
        return course.step()

    def default(self, state: State, seat: int) -> Move:
        """3.5."""
        if state.phase == "source":
            return Draw()
        if state.phase == "flip":
            target = _nearest(state, _targets(state, "flip"))
            return Flip(target, _slots(state.turned[target])[0])
        own = state.open[seat]
        if state.phase == "decide":
            return Reject(_highest(own))
        if state.phase == "use":
            return Use(_lowest(own), "turned")
        target = _nearest(state, _targets(state, "swap"))
        return Swap(_lowest(own), target, _highest(state.open[target]))

    def table(self, state: State) -> Table:
        """3.6, public."""
        return Table(
            state.round,
            state.dealer,
            state.turn,
            state.phase,
            tuple(map(Cards, state.open)),
            state.discards[-1] if state.discards else None,
            state.taken,
            len(state.draw_pile),
            len(state.discards),
            state.finisher,
            state.totals,
            state.last_round,
        )

    def own(self, state: State, seat: int) -> Own:
        """3.6, the owner's (CG-21)."""
        return Own(_turned(state.turned[seat]), state.drawn if seat == state.turn else None)

    def hidden(self, state: State) -> Hidden:
        """Draw pile, covered discards, and the end."""
        return Hidden(state.draw_pile, state.discards[:-1], state.result is not None)

    def result(self, state: State) -> Result | None:
        """3.4."""
        return state.result


@lru_cache(1024)
def _slots(grid: tuple[str, ...]) -> tuple[int, ...]:
    """The slots that hold a card in one of a seat's two grids, ascending."""
    return tuple([slot for slot, card in enumerate(grid) if card])


def _is_on_turn(state: State, seat: int) -> bool:
    return seat == state.turn and state.result is None


@lru_cache(1024)
def _turned(grid: tuple[str, ...]) -> tuple[Turned, ...]:
    """The turned cards of a seat, whose grid is the same from one of its turns to the next."""
    return tuple([Turned(slot, grid[slot]) for slot in _slots(grid)])


def _lowest(grid: tuple[str, ...]) -> int:
    return min(_slots(grid), key=lambda slot: VALUE[grid[slot]])


def _highest(grid: tuple[str, ...]) -> int:
    return max(_slots(grid), key=lambda slot: VALUE[grid[slot]])


def _targets(state: State, action: str) -> list[int]:
    """The seats that have a target for an action card, ascending (CG-12, CG-13, CG-17)."""
    grids = state.turned if action == "flip" else state.open
    spared = state.finisher if action == "flip" and state.options.protect_finisher else None
    return [seat for seat, grid in enumerate(grids) if any(grid) and seat not in (state.turn, spared)]


def _nearest(state: State, seats: list[int]) -> int:
    """The one of the seats that comes first after the one on turn."""
    return min(seats, key=lambda seat: (seat - state.turn) % len(state.open))


def _in_hand(state: State) -> str:
    """The card that was drawn or taken, in phases `use` and `decide`."""
    card = state.taken or state.drawn
    assert card is not None
    return card


class _Course(Transition[State]):
    """A deal, or what a move does."""

    def deal(
        self, options: CleverGedrehtOptions, number: int, dealer: int, totals: tuple[int, ...], last: LastRound | None
    ) -> None:
        """3.2, steps 2 to 5."""
        n = len(totals)
        slots = 7 if n >= MANY else SLOTS  # CG-3
        deck = self.chance.shuffle(DECK)
        first = (dealer + 1) % n
        top = deck[slots * n]
        self.tell(RoundStarted(number, dealer, top))
        self.state = State(
            options=options,
            round=number,
            dealer=dealer,
            turn=first,
            phase="source",
            open=dealt(deck, n, slots, first),
            turned=((("",) * slots),) * n,
            draw_pile=deck[slots * n + 1 :],
            discards=(top,),
            totals=totals,
            last_round=last,
        )

    def draw(self) -> None:
        """3.3, `draw`."""
        seat, pile, discards = self.state.turn, self.state.draw_pile, self.state.discards
        if not pile:  # CG-18
            pile, discards = self.chance.shuffle(discards[:-1]), discards[-1:]
            self.tell(Reshuffled(len(pile)))
        card, pile = pile[0], pile[1:]
        if card in NUMBERS:
            self.whisper(Drew(seat, card), seat)
            self.state = replace(self.state, phase="decide", draw_pile=pile, discards=discards, drawn=card)
            return
        self.tell(Drew(seat, card))
        self.state = replace(self.state, draw_pile=pile, discards=(*discards, card))  # CG-10
        if _targets(self.state, card):
            self.state = replace(self.state, phase="flip" if card == "flip" else "swap")
        else:
            self.tell(Fizzled(seat, card))  # CG-11, CG-14
            self.end_turn()

    def use(self, slot: int, face: str) -> None:
        """3.3, `use`."""
        state = self.state
        seat, card, replaced = state.turn, _in_hand(state), state.open[state.turn][slot]
        used = Used(seat, slot, face, replaced, card)
        if face == "turned" and state.taken is None:
            self.whisper(used, seat)
        else:
            self.tell(used)
        self.turn(seat, slot, card, face)
        self.state = replace(self.state, discards=(*state.discards, replaced), taken=None, drawn=None)

    def turn(self, seat: int, slot: int, card: str, face: str) -> None:
        """A card into a slot, that face up."""
        up, down = self.state.open, self.state.turned
        self.state = replace(
            self.state,
            open=put(up, seat, put(up[seat], slot, card if face == "open" else "")),
            turned=put(down, seat, put(down[seat], slot, card if face == "turned" else "")),
        )

    def end_turn(self) -> None:
        """3.3, end of turn."""
        seat, finisher = self.state.turn, self.state.finisher
        following = (seat + 1) % len(self.state.open)
        if finisher is None and not any(self.state.open[seat]):  # CG-16
            finisher = seat
            self.tell(LastLap(seat))
        elif following == finisher:
            self.end_round()
            return
        self.state = replace(self.state, turn=following, phase="source", finisher=finisher)

    def end_round(self) -> None:
        """3.4."""
        state = self.state
        scores = tuple(sum(VALUE[card] for card in grid if card) for grid in state.turned)
        totals = added(state.totals, scores)
        hands = tuple(
            Cards(tuple(up or down for up, down in zip(*grids, strict=True)))
            for grids in zip(state.open, state.turned, strict=True)
        )
        last_round = LastRound(scores, hands)
        self.tell(RoundEnded(state.round, scores))
        if state.round == state.options.rounds:
            best = max(totals)  # CG-4
            result = Result(totals, tuple(seat for seat, total in enumerate(totals) if total == best))
            self.state = replace(self.state, totals=totals, last_round=last_round, result=result)
        else:
            self.deal(state.options, state.round + 1, (state.dealer + 1) % len(totals), totals, last_round)
