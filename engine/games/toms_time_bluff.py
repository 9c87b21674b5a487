"""Tom's Time Bluff, rules version 1. TB-n and section numbers are those of the rules of record.

Hidden: the draw pile, top first, and the play of the current turn: where its hidden card lies, what was laid directly
on it (o of 3.4; R and t are read off the card below), whether it is protected, and once challenged by whom and with
what outcome, which names the director of its vortex and the winner of the placement. Face-down cards are in the `own`
of the seats that laid them, sealed answers in that of the seats that gave them.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Annotated, ClassVar, Literal, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from engine.chance import Chance
from engine.game import UNSET, Card, Cards, Event, Game, Move, Options, Result, Step, Told, UnsetType, Whispered

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
    """Say where a vortex carries the hands."""

    to: Literal["left", "right"]


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
    card: str | None


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
    reason: Literal["turn", "kaputt", "snooze", "forgot", "instead"]
    cards: tuple[str, ...]


class Beamed(Event, frozen=True):
    """A card changed hands; `card` for giver and receiver only."""

    seat: int
    target: int
    card: str | None


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
    to: Literal["left", "right"]


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
    cards: tuple[str, ...]


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
    answers: tuple[Literal["challenge", "accept"] | None, ...]
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


class _RoundEnds(Exception):
    """Cuts a move short: the round is over, won by nobody when a draw was impossible (TB-14)."""

    def __init__(self, state: State, winner: int | None = None) -> None:
        super().__init__()
        self.state = state
        self.winner = winner


def _ways(kind: Callable[..., T], card: str) -> tuple[T, ...]:
    return tuple(kind(card, hour) for hour in HOURS) if card == "joker" else (kind(card),)  # TB-7


_HIDE = [{card: Hide(place, card) for card in CODES} for place in PLACES]
_OPEN = {card: _ways(Open, card) for card in CODES if card in OPENABLE}
_PLACE = {card: _ways(Place, card) for card in (*HOUR, "joker")}  # TB-17
_PARTNER = {  # TB-2, TB-4
    "kind": {
        partner: {clock: Partner(partner, clock) for clock in HOUR if clock[0] == kind}
        for partner, kind in KIND_OF_PARTNER.items()
    },
    "hour": {
        partner: {clock: Partner(partner, clock) for clock, shown in HOUR.items() if shown == hour}
        for partner, hour in HOUR_OF_PARTNER.items()
    },
}


class TomsTimeBluff(Game[TomsTimeBluffOptions, State]):
    """The rules of Tom's Time Bluff."""

    name = "toms_time_bluff"
    seats = range(2, 7)
    titles: ClassVar[Mapping[str, str]] = {"de": "Toms Time Bluff", "en": "Tom's Time Bluff"}
    options_type = TomsTimeBluffOptions
    moves = (
        *(Hide, DrawInstead, Open, Partner, Beam, Direction, NameHour, Draw, EndTurn),
        *(Challenge, Accept, Place, Decline),
    )
    events = (
        *(RoundStarted, Turned, Skipped, Hid, Opened, Partnered, Drew, Beamed, Answered, Challenged, Accepted),
        *(HandsMoved, Replaced, HourNamed, TookPile, Placed, Declined, RoundEnded),
    )
    cards = tuple(_card(code) for code in CODES)

    def count(self, code: str, seats: int) -> int:
        """3.2; partner cards are there unless the option leaves them out."""
        del seats
        return COPIES.get(code, 1)

    def setup(self, options: TomsTimeBluffOptions, seats: int, chance: Chance) -> Step[State]:
        """3.3; chance: pick(n), shuffle(deck), and one more shuffle if start cards were set aside."""
        events: list[Told] = []
        state = _deal(options, 1, chance.pick(seats), (0,) * seats, None, chance, events)
        return Step(state, tuple(events))

    def legal(self, state: State, seat: int) -> list[Move]:
        """3.4 to 3.7 for the seats in `to_act`."""
        if state.result is not None or not _owes(state, seat):
            return []
        hand = tuple(dict.fromkeys(state.hands[seat]))
        match state.phase:
            case "hide":
                cards = _hideable(state, seat)
                if not cards:
                    return [DrawInstead()]
                return [_HIDE[place][card] for place in PLACES if state.piles[place].cards for card in cards]
            case "open":
                moves: list[Move] = [way for card in hand for way in _OPEN.get(card, ())]
                fitting = _PARTNER[state.options.partner_match]
                partners = [fitting[card] for card in hand if card in fitting]
                return moves + [clocks[card] for clocks in partners for card in hand if card in clocks]
            case "beam":
                return [Beam(card, target) for card in hand for target in range(len(state.hands)) if target != seat]
            case "vortex":
                return [Direction("left"), Direction("right")]
            case "joker_hour":
                return [NameHour(hour) for hour in HOURS]
            case "draw":
                return [Draw(), EndTurn()] if len(state.hands[seat]) < HAND else [EndTurn()]
            case "challenge":
                return [Challenge(), Accept()]
            case "place":
                return [*(way for card in hand for way in _PLACE.get(card, ())), Decline()]

    def to_act(self, state: State) -> tuple[int, ...]:
        """Everybody else who has not answered while a window is open; otherwise one seat."""
        if state.result is not None:
            return ()
        if state.phase == "challenge":
            return tuple([seat for seat in range(len(state.hands)) if _owes(state, seat)])
        return (_actor(state),)

    def asked(self, state: State, seat: int) -> Hashable | None:
        """Section 5, `asked`; a seat that has answered is still asked the window."""
        if state.result is not None:
            return None
        if seat == state.turn or seat == _actor(state):
            return (state.phase, state.round, state.turn)
        return ("window", state.round, state.turn) if state.phase == "challenge" else None

    def apply(self, state: State, seat: int, move: Move, chance: Chance) -> Step[State]:
        """3.4 to 3.8."""
        events: list[Told] = []
        try:
            state = _made(state, seat, move, chance, events)
        except _RoundEnds as end:
            state = _end_round(end.state, end.winner, chance, events)
        return Step(state, tuple(events))

    def default(self, state: State, seat: int) -> Move:
        """3.9."""
        match state.phase:
            case "beam":
                return Beam(state.hands[seat][0], _left(state, seat))
            case "joker_hour":
                return NameHour(12)
            case "challenge":
                return Accept()
            case "place":
                return Decline()
        return self.legal(state, seat)[0]

    def table(self, state: State) -> Table:
        """3.10, public."""
        return Table(
            state.round,
            state.dealer,
            state.turn,
            state.phase,
            state.piles,
            len(state.draw_pile),
            tuple(map(len, state.hands)),
            state.totals,
            state.skips,
            state.removed,
            tuple(seat for seat, answer in enumerate(state.answers) if answer is not None),
            state.revealed,
            state.last_round,
        )

    def own(self, state: State, seat: int) -> Own:
        """3.10, the seat's hand, face-down cards (TB-33) and sealed answer."""
        return Own(state.hands[seat], state.laid[seat], state.answers[seat])

    def hidden(self, state: State) -> Hidden:
        """Draw pile and the play of the turn."""
        return Hidden(state.draw_pile, state.play)

    def result(self, state: State) -> Result | None:
        """3.8."""
        return state.result


def _left(state: State, seat: int) -> int:
    return (seat + 1) % len(state.hands)


def _play(state: State) -> Play:
    """The play of the turn, which begins with `hide`."""
    assert state.play is not None
    return state.play


def _actor(state: State) -> int:
    """The layer; the challenger as director of a vortex he revealed (TB-19) and as winner of his challenge."""
    play = state.play
    if play is None or play.challenger is None or (play.right and state.phase == "place"):
        return state.turn
    return play.challenger


def _owes(state: State, seat: int) -> bool:
    """Whether the seat's move is awaited; everybody else's answer while a window is open."""
    if state.phase == "challenge":
        return seat != state.turn and state.answers[seat] is None
    return seat == _actor(state)


def _hideable(state: State, seat: int) -> tuple[str, ...]:
    """TB-11, TB-12: the cards that may go face down so that another one can lie open."""
    hand = state.hands[seat]
    if len(hand) == 1:
        return hand
    openable = [card for card in hand if card in OPENABLE]
    if not openable:
        return ()
    cards = tuple(dict.fromkeys(hand))
    return cards if len(openable) > 1 else tuple(card for card in cards if card != openable[0])


def _with(items: tuple[T, ...], index: int, item: T) -> tuple[T, ...]:
    return (*items[:index], item, *items[index + 1 :])


def _without(hand: tuple[str, ...], card: str) -> tuple[str, ...]:
    index = hand.index(card)
    return hand[:index] + hand[index + 1 :]


def _canonical(cards: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(cards, key=ORDER.__getitem__))


def _turn_up(
    pile: tuple[str, ...], wanted: Callable[[str], bool]
) -> tuple[str | None, tuple[str, ...], tuple[str, ...]]:
    """The first wanted card, those set aside before it and the rest; None if the pile runs out."""
    for index, card in enumerate(pile):
        if wanted(card):
            return card, pile[:index], pile[index + 1 :]
    return None, pile, ()


def _shuffled_in(pile: tuple[str, ...], aside: tuple[str, ...], chance: Chance) -> tuple[str, ...]:
    return chance.shuffle((*pile, *aside)) if aside else pile


def _deal(
    options: TomsTimeBluffOptions,
    number: int,
    dealer: int,
    totals: tuple[int, ...],
    last_round: LastRound | None,
    chance: Chance,
    events: list[Told],
) -> State:
    """3.3, steps 2 to 6; the longest run of other cards cannot empty the pile."""
    n = len(totals)
    deck = chance.shuffle(DECKS[options.partner_cards])
    first = (dealer + 1) % n
    events.append(RoundStarted(number, dealer))
    pile = deck[HAND * n :]
    piles: tuple[Pile, ...] = ()
    all_aside: tuple[str, ...] = ()
    for place in PLACES:
        card, aside, pile = _turn_up(pile, HOUR.__contains__)  # TB-6
        assert card is not None
        events.append(Turned(place, card, aside))
        piles, all_aside = (*piles, Pile((Entry(card),))), all_aside + aside
    return State(
        options=options,
        round=number,
        dealer=dealer,
        turn=first,
        phase="hide",
        piles=piles,
        draw_pile=_shuffled_in(pile, all_aside, chance),
        hands=tuple(_canonical(deck[(seat - first) % n : HAND * n : n]) for seat in range(n)),
        laid=((),) * n,
        answers=(None,) * n,
        totals=totals,
        skips=(False,) * n,
        last_round=last_round,
    )


def _made(state: State, seat: int, move: Move, chance: Chance, events: list[Told]) -> State:
    """The state after a move, up to the next decision. Raises _RoundEnds."""
    match move:
        case Challenge():
            return _answer(state, seat, "challenge", chance, events)
        case Accept():
            return _answer(state, seat, "accept", chance, events)
        case Hide(place=place, card=card):
            state = _hide(state, seat, place, card, events)
            return state if state.hands[seat] else _draw_step(state, chance, events)
        case Open(card=card, hour=hour):
            named = None if hour is UNSET else hour
            events.append(Opened(seat, _play(state).place, card, named))
            state = _lay(state, seat, Entry(card, named, seat))
            return replace(state, phase="vortex") if card == "vortex" else _draw_step(state, chance, events)
        case Partner(partner=partner, clock=clock):
            events.append(Partnered(seat, _play(state).place, partner, clock))
            state = _lay(state, seat, Entry(partner, None, seat), Entry(clock, None, seat))
            state = _effect(state, seat, partner, events)
            return state if state.phase == "beam" else _draw_step(state, chance, events)
        case Beam(card=card, target=target):
            events.append(Whispered(Beamed(seat, target, None), (seat, target), Beamed(seat, target, card)))
            hands = _with(state.hands, seat, _without(state.hands[seat], card))
            hands = _with(hands, target, _canonical((*hands[target], card)))
            return _draw_step(replace(state, hands=hands), chance, events)
        case Direction(to=to):
            return _move_hands(state, seat, to, chance, events)
        case NameHour(hour=hour):
            place = _play(state).place
            events.append(HourNamed(seat, place, hour))
            pile = state.piles[place].cards
            pile = (*pile[:-1], replace(pile[-1], hour=hour))
            return _draw_step(replace(state, piles=_with(state.piles, place, Pile(pile))), chance, events)
        case DrawInstead():
            state = _draw(state, seat, 1, "instead", events)  # TB-12
            return state if _hideable(state, seat) else _begin(state, _left(state, seat), chance, events)
        case Draw():
            return _played(_draw(state, seat, 1, "turn", events), chance, events)
        case EndTurn():
            if len(state.hands[seat]) < HAND:
                state = _draw(state, seat, 2, "forgot", events)
            return _played(state, chance, events)
        case Place(card=card, hour=hour):
            place, named = _play(state).place, None if hour is UNSET else hour
            events.append(Placed(seat, place, card, named))
            state = _lay(state, seat, Entry(card, named, seat))
            if not state.hands[seat]:  # TB-18
                raise _RoundEnds(state, seat)
            return _begin(state, _left(state, state.turn), chance, events)
    events.append(Declined(seat))
    return _begin(state, _left(state, state.turn), chance, events)  # TB-32


def _begin(state: State, seat: int, chance: Chance, events: list[Told]) -> State:
    """3.4, Begin."""
    skips = state.skips
    while skips[seat]:  # TB-22
        events.append(Skipped(seat))
        skips, seat = _with(skips, seat, False), _left(state, seat)
    state = replace(state, turn=seat, phase="hide", skips=skips, play=None, revealed=None)
    if any(pile.cards for pile in state.piles):
        return state
    card, aside, rest = _turn_up(state.draw_pile, HOUR.__contains__)  # TB-17
    if card is None:
        raise _RoundEnds(state)
    events.append(Turned(0, card, aside))
    piles = _with(state.piles, 0, Pile((Entry(card),)))
    return replace(state, piles=piles, draw_pile=_shuffled_in(rest, aside, chance))


def _hide(state: State, seat: int, place: int, card: str, events: list[Told]) -> State:
    """3.4, HIDE; phase OPEN after it, unless the hand is empty."""
    events.append(Whispered(Hid(seat, place, None), (seat,), Hid(seat, place, card)))
    pile = state.piles[place].cards
    return replace(
        state,
        phase="open",
        piles=_with(state.piles, place, Pile((*pile, Entry(None, None, seat)))),
        hands=_with(state.hands, seat, _without(state.hands[seat], card)),
        laid=_with(state.laid, seat, tuple(sorted((*state.laid[seat], Laid(place, len(pile), card))))),
        play=Play(place, len(pile)),
    )


def _lay(state: State, seat: int, *entries: Entry) -> State:
    """Hand cards openly onto the place of the play; the first one is o of 3.4."""
    play, hand = _play(state), state.hands[seat]
    for entry in entries:
        hand = _without(hand, entry.card or "")
    pile = Pile((*state.piles[play.place].cards, *entries))
    return replace(
        state,
        piles=_with(state.piles, play.place, pile),
        hands=_with(state.hands, seat, hand),
        play=replace(play, over=entries[0].card),
    )


def _effect(state: State, seat: int, partner: str, events: list[Told]) -> State:
    """3.4, step 1 (TB-16)."""
    left, holds = _left(state, seat), bool(state.hands[seat])
    match partner:
        case "kaputt" if holds:  # TB-23
            for step in range(1, len(state.hands)):
                state = _draw(state, (seat + step) % len(state.hands), 1, "kaputt", events)
        case "snooze":
            state = replace(state, skips=_with(state.skips, left, True))
            if holds:
                state = _draw(state, left, 1, "snooze", events)
        case "beam" if holds:  # TB-24
            state = replace(state, phase="beam")
        case "jungle":  # TB-25
            state = replace(state, play=replace(_play(state), protected=True))
    return state


def _draw(
    state: State,
    seat: int,
    count: int,
    reason: Literal["turn", "kaputt", "snooze", "forgot", "instead"],
    events: list[Told],
) -> State:
    """So many cards into the seat's hand; the round ends if the pile has fewer (TB-14)."""
    cards = state.draw_pile[:count]
    if cards:
        events.append(Whispered(Drew(seat, len(cards), reason, ()), (seat,), Drew(seat, len(cards), reason, cards)))
        hands = _with(state.hands, seat, _canonical((*state.hands[seat], *cards)))
        state = replace(state, draw_pile=state.draw_pile[count:], hands=hands)
    if len(cards) < count:
        raise _RoundEnds(state)
    return state


def _draw_step(state: State, chance: Chance, events: list[Told]) -> State:
    """3.5 (TB-13)."""
    size = len(state.hands[state.turn])
    if 0 < size < HAND and not state.draw_pile:
        raise _RoundEnds(state)
    if size and state.options.manual_draw:
        return replace(state, phase="draw")
    if 0 < size < HAND:
        state = _draw(state, state.turn, 1, "turn", events)
    return _played(state, chance, events)


def _played(state: State, chance: Chance, events: list[Told]) -> State:
    """3.4, step 4."""
    if _play(state).protected:
        return _pass_on(state, chance, events)
    return replace(state, phase="challenge")


def _pass_on(state: State, chance: Chance, events: list[Told]) -> State:
    """The play stands: the layer has won or the turn passes."""
    if not state.hands[state.turn]:
        raise _RoundEnds(state, state.turn)
    return _begin(state, _left(state, state.turn), chance, events)


def _answer(state: State, seat: int, word: Literal["challenge", "accept"], chance: Chance, events: list[Told]) -> State:
    """3.6: one sealed answer; the window closes as soon as the outcome is certain (TB-15)."""
    events.append(Answered(seat))
    n, answers = len(state.hands), _with(state.answers, seat, word)
    state = replace(state, answers=(None,) * n)
    for step in range(1, n):
        other = (state.turn + step) % n
        if answers[other] is None:
            return replace(state, answers=answers)
        if answers[other] == "challenge":
            return _challenge(state, other, events)
    events.append(Accepted(_play(state).place))
    return _pass_on(state, chance, events)


def _challenge(state: State, challenger: int, events: list[Told]) -> State:
    """3.6, with a challenger."""
    layer, play = state.turn, _play(state)
    pile = state.piles[play.place].cards
    hidden = next(laid for laid in state.laid[layer] if (laid.place, laid.index) == (play.place, play.index))
    card = hidden.card
    right = _right(card, pile[play.index - 1], play.over)
    events.append(Challenged(challenger, play.place, card, right))
    shown = Pile(_with(pile, play.index, Entry(card, None, layer)))
    state = replace(
        state,
        piles=_with(state.piles, play.place, shown),
        laid=_with(state.laid, layer, tuple(laid for laid in state.laid[layer] if laid is not hidden)),
        revealed=card,
        play=replace(play, challenger=challenger, right=right),
    )
    if right and not state.hands[layer]:  # TB-26, TB-28
        raise _RoundEnds(_take_pile(state, challenger, events), layer)
    return replace(state, phase="vortex") if card == "vortex" else _lose(state, events)


def _right(card: str, below: Entry, over: str | None) -> bool:
    """3.6: whether the hidden card is right between the card below (t) and the one laid on it (o); TB-8, TB-9."""
    if card == "joker":
        return "joker" not in (below.card, over)
    if card == "vortex":
        return over != "joker"
    due = (below.hour or HOUR[below.card or ""]) % 12 + 1
    return HOUR.get(card) == due


def _lose(state: State, events: list[Told]) -> State:
    """3.6, steps 3 and 4: the loser takes the pile, the other may place a card."""
    play = _play(state)
    assert play.challenger is not None
    return replace(_take_pile(state, play.challenger if play.right else state.turn, events), phase="place")


def _take_pile(state: State, seat: int, events: list[Told]) -> State:
    """The pile of the play into a hand: open cards and everybody's face-down ones."""
    place = _play(state).place
    down = [laid.card for own in state.laid for laid in own if laid.place == place]
    cards = _canonical([*down, *(entry.card for entry in state.piles[place].cards if entry.card is not None)])
    events.append(Whispered(TookPile(seat, place, len(cards), ()), (seat,), TookPile(seat, place, len(cards), cards)))
    return replace(
        state,
        piles=_with(state.piles, place, Pile()),
        hands=_with(state.hands, seat, _canonical((*state.hands[seat], *cards))),
        laid=tuple(tuple(laid for laid in own if laid.place != place) for own in state.laid),
    )


def _move_hands(state: State, director: int, to: Literal["left", "right"], chance: Chance, events: list[Told]) -> State:
    """3.7 (TB-20): the hands move, then the vortex is replaced."""
    events.append(HandsMoved(director, to))
    hands, play = state.hands, _play(state)
    state = replace(state, hands=hands[-1:] + hands[:-1] if to == "left" else hands[1:] + hands[:1])
    if () in state.hands:  # TB-27, TB-29
        raise _RoundEnds(state, state.hands.index(()))
    hidden = play.challenger is not None
    pile = state.piles[play.place].cards
    index = play.index if hidden else len(pile) - 1
    wanted = CODES.__contains__ if hidden else OPENABLE.__contains__  # TB-21
    card, aside, rest = _turn_up(state.draw_pile, wanted)
    if card is None:
        raise _RoundEnds(state)
    events.append(Replaced(play.place, index, card, aside))
    state = replace(
        state,
        piles=_with(state.piles, play.place, Pile(_with(pile, index, Entry(card)))),
        draw_pile=_shuffled_in(rest, aside, chance),
        removed=state.removed + 1,
    )
    if card == "vortex":
        return state
    if hidden:
        return _lose(state, events)
    return replace(state, phase="joker_hour") if card == "joker" else _draw_step(state, chance, events)


def _end_round(state: State, winner: int | None, chance: Chance, events: list[Told]) -> State:
    """3.8 (TB-31)."""
    scores = tuple(sum(VALUE[card] for card in hand) for hand in state.hands)
    totals = tuple(total + score for total, score in zip(state.totals, scores, strict=True))
    last_round = LastRound(scores, tuple(Cards(hand) for hand in state.hands), state.revealed)
    events.append(RoundEnded(winner, scores))
    if max(totals) >= state.options.target:
        winners = tuple(seat for seat, total in enumerate(totals) if total == min(totals))
        return replace(state, totals=totals, last_round=last_round, result=Result(totals, winners))
    dealer = _left(state, state.dealer)  # TB-5
    return _deal(state.options, state.round + 1, dealer, totals, last_round, chance, events)
