"""Timo's Twist, rules version 1. TT-n and section numbers are those of the rules of record.

Hidden (3.11): the draw pile, top first, and the discards, bottom to top, without the top card.
"""

from collections.abc import Hashable
from functools import cache
from itertools import product
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from engine.chance import Chance
from engine.game import UNSET, Card, Cards, Event, Game, Move, Options, Result, Step, UnsetType
from engine.vocabulary import Transition, added, dealt, ordered, put, without

COLORS = ("blue", "green", "orange", "pink")
SYMBOLS = (*"0123456789", "skip", "twist", "plus2")
BLACK = ("wild", "plus4")
DECK = (*(f"{color}-{symbol}" for color in COLORS for symbol in SYMBOLS), *BLACK)  # TT-1, 3.2
ORDER = {code: place for place, code in enumerate(DECK)}
COLOR = {code: code.split("-")[0] for code in DECK if code not in BLACK}
SYMBOL = {code: code.split("-")[-1] for code in DECK}
VALUE = {code: 50 if code in BLACK else int(symbol) if symbol.isdigit() else 20 for code, symbol in SYMBOL.items()}
PENALTY = {"plus2": 2, "plus4": 4}
HAND = 7

_GERMAN = {"blue": "Blau", "green": "Grün", "orange": "Orange", "pink": "Rosa", "skip": "Aussetzen", "twist": "Twist"}
_GERMAN |= {"plus2": "+2", "plus4": "+4", "wild": "Farbwahl"}
_ENGLISH = {"blue": "Blue", "green": "Green", "orange": "Orange", "pink": "Pink", "skip": "Skip", "twist": "Twist"}
_ENGLISH |= {"plus2": "+2", "plus4": "+4", "wild": "Wild"}


def _title(code: str, words: dict[str, str]) -> str:
    return " ".join(words.get(word, word) for word in code.split("-"))


class TimosTwistOptions(Options, frozen=True):
    """3.1."""

    target: Annotated[int, Meta(ge=50, le=1000, extra={"de": "Zielpunkte", "en": "Target score"})] = 300
    stack_equal: Annotated[bool, Meta(extra={"de": "+2 auf +2 erlaubt", "en": "+2 on +2 allowed"})] = True
    twist_skips_two: Annotated[
        bool, Meta(extra={"de": "Twist setzt zu zweit aus", "en": "Twist skips with two seats"})
    ] = True
    must_play: Annotated[bool, Meta(extra={"de": "Legezwang", "en": "Must play if possible"})] = True
    timo: Annotated[Literal["call", "auto"], Meta(extra={"de": "TIMO sagen", "en": "Calling TIMO"})] = "call"


class Play(Move, frozen=True):
    """Lay a hand card; `color` exactly for a black card that is not the last, `timo` only as true."""

    card: str
    color: str | UnsetType = UNSET
    timo: bool | UnsetType = UNSET


class PlayDrawn(Move, frozen=True):
    """Lay the card just drawn."""

    color: str | UnsetType = UNSET
    timo: bool | UnsetType = UNSET


class Draw(Move, frozen=True):
    """Draw one card instead of playing."""


class Keep(Move, frozen=True):
    """Keep the card just drawn; the turn ends."""


class Take(Move, frozen=True):
    """Draw all pending cards; the turn ends."""


class CallTimo(Move, frozen=True):
    """Say TIMO while the own window is open."""


class Catch(Move, frozen=True):
    """Catch the seat that forgot to say TIMO."""


class RoundStarted(Event, frozen=True):
    """A round was dealt and its first card turned."""

    round: int
    dealer: int
    top: str


class Played(Event, frozen=True):
    """A card was laid. `color` is the named one; `drawn`: it was the card just drawn."""

    seat: int
    card: str
    color: str | None
    timo: bool
    drawn: bool


class Drew(Event, frozen=True):
    """Cards were drawn; `cards` (in the order drawn) for the drawer only."""

    seat: int
    count: int
    reason: Literal["turn", "penalty", "caught"]
    cards: tuple[str, ...] = ()


class Kept(Event, frozen=True):
    """The drawn card was kept."""

    seat: int


class Reshuffled(Event, frozen=True):
    """The discards became the draw pile."""

    count: int


class TimoCalled(Event, frozen=True):
    """TIMO was said after the play."""

    seat: int


class Caught(Event, frozen=True):
    """A seat was caught without TIMO."""

    seat: int
    by: int


class RoundEnded(Event, frozen=True):
    """A round was won; points gained per seat."""

    winner: int
    scores: tuple[int, ...]


class LastRound(Struct, frozen=True):
    """The round that ended last: points gained and the hands left over, per seat."""

    scores: tuple[int, ...]
    hands: tuple[Cards, ...]


class State(Struct, frozen=True):
    """All there is to know. Piles as in section 1: draw pile top first, discards top last; hands in canonical order."""

    options: TimosTwistOptions
    round: int
    dealer: int
    turn: int
    phase: Literal["play", "drawn", "pending"]
    direction: int
    color: str | None
    pending: int
    draw_pile: tuple[str, ...]
    discards: tuple[str, ...]
    hands: tuple[tuple[str, ...], ...]
    totals: tuple[int, ...]
    drawn: str | None = None
    window: int | None = None
    last_round: LastRound | None = None
    result: Result | None = None


class Table(Struct, frozen=True):
    """Section 5, `table`."""

    round: int
    dealer: int
    turn: int
    phase: str
    direction: int
    top: str
    color: str | None
    pending: int
    draw_pile: int
    discard_pile: int
    hand_sizes: tuple[int, ...]
    totals: tuple[int, ...]
    timo_window: int | None
    last_round: LastRound | None


class Own(Struct, frozen=True):
    """Section 5, `own`."""

    hand: tuple[str, ...]
    drawn: str | None


class Hidden(Struct, frozen=True):
    """What nobody sees."""

    draw_pile: tuple[str, ...]
    discards: tuple[str, ...]


_CALLS: dict[bool, tuple[bool | UnsetType, ...]] = {False: (UNSET,), True: (UNSET, True)}
"""What may be said with a play, by whether TIMO is due."""
_NAMED: dict[bool, tuple[str | UnsetType, ...]] = {False: (UNSET,), True: COLORS}
"""The colours that a play may name, by whether it has to."""
_PLAYS = {
    (last, due): {
        card: [Play(card, *way) for way in product(_NAMED[card in BLACK and not last], _CALLS[due])] for card in DECK
    }
    for last, due in product((False, True), repeat=2)
}
"""The ways to play each card in contract order, by whether it is the last of a hand (TT-13) and whether TIMO is due."""
_PLAYS_DRAWN = {
    way: {card: [PlayDrawn(play.color, play.timo) for play in plays] for card, plays in ways.items()}
    for way, ways in _PLAYS.items()
}
_DRAW, _KEEP, _TAKE, _CALL_TIMO, _CATCH = Draw(), Keep(), Take(), CallTimo(), Catch()


class TimosTwist(Game[TimosTwistOptions, State]):
    """The rules of Timo's Twist."""

    name = "timos_twist"
    seats = range(2, 7)  # TT-23
    titles: ClassVar = {"de": "Timo's Twist", "en": "Timo's Twist"}
    options_type = TimosTwistOptions
    moves = (Play, PlayDrawn, Draw, Keep, Take, CallTimo, Catch)
    events = (RoundStarted, Played, Drew, Kept, Reshuffled, TimoCalled, Caught, RoundEnded)
    cards = tuple(
        Card(
            code,
            COLOR.get(code, "black"),
            _title(code, _GERMAN),
            _title(code, _ENGLISH),
            {"symbol": SYMBOL[code], "value": VALUE[code]},
        )
        for code in DECK
    )

    def setup(self, options: TimosTwistOptions, seats: int, chance: Chance) -> Step[State]:
        """3.3; chance: pick(n), shuffle(deck)."""
        course = _Course(chance)
        course.deal(options, 1, chance.pick(seats), (0,) * seats, None)
        return course.step()

    def legal(self, state: State, seat: int) -> list[Move]:
        """3.6 for the seat on turn, 3.8 for everybody while a window is open."""
        if state.result is not None:
            return []
        moves: list[Move] = []
        if seat == state.turn:
            hand, fitting = state.hands[seat], _fitting(state)
            way = len(hand) == 1, _timo_due(state, seat)
            if state.phase == "drawn":
                if state.drawn in fitting:
                    moves += _PLAYS_DRAWN[way][state.drawn]
                moves.append(_KEEP)
            else:
                plays = _PLAYS[way]
                for card in hand:
                    if card in fitting:
                        moves += plays[card]
                if state.phase == "pending":
                    moves.append(_TAKE)
                elif not moves or (not state.options.must_play and _can_draw(state)):  # TT-4
                    moves.append(_DRAW)
        if state.window is not None:
            moves.append(_CALL_TIMO if seat == state.window else _CATCH)
        return moves

    def allows(self, state: State, seat: int, move: Move) -> bool:
        """As `legal`; cards of the hand that are not laid are not looked at."""
        if not isinstance(move, Play):
            return move in self.legal(state, seat)
        card, hand = move.card, state.hands[seat]
        if seat != state.turn or state.phase == "drawn" or state.result is not None or card not in hand:
            return False
        return card in _fitting(state) and move in _PLAYS[len(hand) == 1, _timo_due(state, seat)][card]

    def to_act(self, state: State) -> tuple[int, ...]:
        """The seat on turn; a window is nobody's duty."""
        return () if state.result is not None else (state.turn,)

    def asked(self, state: State, seat: int) -> Hashable | None:
        """The seat on turn its turn, also while a window is open; the others that window."""
        if state.result is not None:
            return None
        if seat == state.turn:
            return ("turn", state.round, state.phase)
        return None if state.window is None else ("window", state.round, state.window)

    def apply(self, state: State, seat: int, move: Move, chance: Chance) -> Step[State]:
        """3.6 to 3.9."""
        course = _Course(chance, state)
        match move:
            case Play(card=card, color=color, timo=timo):
                course.play(seat, card, color or None, timo=timo is True)
            case PlayDrawn(color=color, timo=timo):
                assert state.drawn is not None
                course.play(seat, state.drawn, color or None, timo=timo is True)
            case CallTimo():
                course.state = replace(course.state, window=None)
                course.tell(TimoCalled(seat))
            case Catch():
                assert state.window is not None
                course.state = replace(course.state, window=None)
                course.tell(Caught(state.window, seat))
                course.draw(state.window, 2, "caught")  # TT-18
            case Keep():
                course.tell(Kept(seat))
                course.state = replace(course.state, turn=_next(state), phase="play", drawn=None, window=None)
            case Take():
                course.draw(seat, state.pending, "penalty")
                course.state = replace(course.state, turn=_next(state), phase="play", pending=0, window=None)  # TT-9
            case Draw():
                if drawn := course.draw(seat, 1, "turn"):  # TT-5
                    course.state = replace(course.state, phase="drawn", drawn=drawn[0], window=None)
                else:  # TT-20
                    course.state = replace(course.state, turn=_next(state), window=None)
        return course.step()

    def default(self, state: State, seat: int) -> Move:
        """3.10."""
        if state.phase == "drawn":
            return _KEEP
        if state.phase == "pending":
            return _TAKE
        hand = state.hands[seat]
        card = next((card for card in hand if playable(state, card)), None)
        if card is None:
            return _DRAW
        rest = [COLOR[other] for other in hand if other != card and other in COLOR]
        color = max(COLORS, key=rest.count) if card in BLACK and len(hand) > 1 else UNSET
        return Play(card, color, True if _timo_due(state, seat) else UNSET)

    def table(self, state: State) -> Table:
        """3.11, public."""
        return Table(
            state.round,
            state.dealer,
            state.turn,
            state.phase,
            state.direction,
            state.discards[-1],
            state.color,
            state.pending,
            len(state.draw_pile),
            len(state.discards),
            tuple(map(len, state.hands)),
            state.totals,
            state.window,
            state.last_round,
        )

    def own(self, state: State, seat: int) -> Own:
        """3.11, the owner's."""
        return Own(state.hands[seat], state.drawn if seat == state.turn else None)

    def hidden(self, state: State) -> Hidden:
        """Draw pile and covered discards."""
        return Hidden(state.draw_pile, state.discards[:-1])

    def result(self, state: State) -> Result | None:
        """3.9."""
        return state.result


def playable(state: State, card: str) -> bool:
    """3.4, for a card of the seat on turn."""
    return card in _fitting(state)


def _fitting(state: State) -> frozenset[str]:
    """The cards that may be laid."""
    return _fitting_on(state.discards[-1], state.color, state.pending > 0, state.options.stack_equal)


@cache
def _fitting_on(top: str, color: str | None, pending: bool, stack_equal: bool) -> frozenset[str]:
    """3.4; there are few cards and colours to lie on top, and they come again and again."""

    def fits(card: str) -> bool:
        if pending:  # TT-7, TT-9
            if card == "plus4":
                return top != "plus4" or stack_equal
            return SYMBOL[card] == "plus2" and top != "plus4" and stack_equal
        if card in BLACK or color is None:  # TT-6, TT-3
            return True
        return COLOR[card] == color or (top not in BLACK and SYMBOL[card] == SYMBOL[top])  # TT-14

    return frozenset(filter(fits, DECK))


def _can_draw(state: State) -> bool:
    return bool(state.draw_pile) or len(state.discards) > 1


def _timo_due(state: State, seat: int) -> bool:
    """Whether a play now leaves one card and TIMO is to be said (TT-15)."""
    return state.options.timo == "call" and len(state.hands[seat]) == 2


def _next(state: State, steps: int = 1) -> int:
    return (state.turn + steps * state.direction) % len(state.hands)


class _Course(Transition[State]):
    """A deal, or what a move does."""

    def deal(
        self, options: TimosTwistOptions, number: int, dealer: int, totals: tuple[int, ...], last: LastRound | None
    ) -> None:
        """3.3, steps 2 to 5."""
        n = len(totals)
        deck = self.chance.shuffle(DECK)
        first = (dealer + 1) % n
        top = deck[HAND * n]
        self.tell(RoundStarted(number, dealer, top))
        self.state = State(
            options=options,
            round=number,
            dealer=dealer,
            turn=first,
            phase="play",
            direction=1,  # TT-22
            color=COLOR.get(top),  # TT-3
            pending=0,
            draw_pile=deck[HAND * n + 1 :],
            discards=(top,),
            hands=tuple(ordered(hand, ORDER) for hand in dealt(deck, n, HAND, first)),
            totals=totals,
            last_round=last,
        )

    def draw(self, seat: int, count: int, reason: Literal["turn", "penalty", "caught"]) -> tuple[str, ...]:
        """3.5: up to `count` cards into the seat's hand. Return what was drawn, in order."""
        state = self.state
        pile, discards = state.draw_pile, state.discards
        drawn: tuple[str, ...] = ()
        for _ in range(count):
            if not pile:  # TT-20
                pile, discards = self.chance.shuffle(discards[:-1]), discards[-1:]
                if not pile:
                    break
                self.tell(Reshuffled(len(pile)))
            drawn, pile = (*drawn, pile[0]), pile[1:]
        self.whisper(Drew(seat, len(drawn), reason, drawn), seat)
        hand = ordered((*state.hands[seat], *drawn), ORDER)
        self.state = replace(self.state, draw_pile=pile, discards=discards, hands=put(state.hands, seat, hand))
        return drawn

    def play(self, seat: int, card: str, named: str | None, *, timo: bool) -> None:
        """3.7."""
        state = self.state
        hand = without(state.hands[seat], card)
        self.tell(Played(seat, card, named, timo, state.phase == "drawn"))
        hands, discards = put(state.hands, seat, hand), (*state.discards, card)
        if not hand:
            self.state = replace(state, hands=hands, discards=discards, drawn=None, window=None)
            self.end_round(seat)
            return
        symbol = SYMBOL[card]
        direction, pending, steps = state.direction, state.pending, 1
        if symbol == "skip":  # TT-12
            steps = 2
        elif symbol == "twist":
            direction = -direction
            steps = 0 if len(state.hands) == 2 and state.options.twist_skips_two else 1
        else:
            pending += PENALTY.get(symbol, 0)
        late = len(hand) == 1 and state.options.timo == "call" and not timo
        self.state = replace(
            state,
            hands=hands,
            discards=discards,
            drawn=None,
            color=named or COLOR.get(card),
            direction=direction,
            turn=(seat + steps * direction) % len(state.hands),
            pending=pending,
            phase="pending" if pending else "play",
            window=seat if late else None,  # TT-15
        )

    def end_round(self, winner: int) -> None:
        """3.9; TT-19: what was pending lapses."""
        state = self.state
        gain = sum(VALUE[card] for hand in state.hands for card in hand)
        scores = put((0,) * len(state.hands), winner, gain)
        totals = added(state.totals, scores)
        last_round = LastRound(scores, tuple(map(Cards, state.hands)))
        self.tell(RoundEnded(winner, scores))
        if totals[winner] >= state.options.target:
            self.state = replace(self.state, totals=totals, last_round=last_round, result=Result(totals, (winner,)))
        else:
            self.deal(state.options, state.round + 1, (state.dealer + 1) % len(totals), totals, last_round)
