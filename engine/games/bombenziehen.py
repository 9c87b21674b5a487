"""Bombenziehen, rules version 1. BZ-n and section numbers are those of the rules of record.

Hidden (3.7): the whole pile, top first; what infos tell of it is in there again, so that it can be read by itself.
"""

from collections.abc import Hashable, Mapping
from typing import Annotated, ClassVar, Literal, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from engine.chance import Chance
from engine.game import UNSET, Card, Event, Game, Move, Options, Result, Step, Told, UnsetType, Whispered

T = TypeVar("T")
Source = Literal["top", "bottom"]

ACTIONS = ("peek", "dodge", "bottom", "shove", "steal", "shield", "shuffle")
KINDS = (*ACTIONS, "dud", "cutter", "bomb")
ORDER = {kind: place for place, kind in enumerate(KINDS)}
DEALT = 4
PEEKED = 3
SHOVED = 2

_GERMAN = ("Spähen", "Ausweichen", "Von unten", "Abwälzen", "Klauen", "Schild", "Mischen", "Niete", "Drahtschere")
_ENGLISH = ("Peek", "Dodge", "From below", "Shove", "Steal", "Shield", "Shuffle", "Dud", "Wire cutter")


def copies(kind: str, seats: int) -> int:
    """BZ-2, BZ-3: how many cards of a kind so many seats play with."""
    match kind:
        case "dud":
            return 2 * seats
        case "cutter":
            return seats + spare_cutters(seats)
        case "bomb":
            return seats - 1
        case _:
            return seats + 1


def spare_cutters(seats: int) -> int:
    """BZ-3: wire cutters that start in the pile."""
    return 1 if seats <= 3 else 2  # BZ-3


class BombenziehenOptions(Options, frozen=True):
    """3.1."""

    duds_in_start_hand: Annotated[
        bool, Meta(extra={"de": "Nieten auch auf der Starthand", "en": "Duds in the starting hands"})
    ] = False


class Play(Move, frozen=True):
    """Play an action card; `target` exactly for `steal`."""

    card: str
    target: int | UnsetType = UNSET


class Draw(Move, frozen=True):
    """Draw the top card."""


class Place(Move, frozen=True):
    """Return the drawn bomb so that its index in the pile is `index`; 0 is the top."""

    index: int


class PlaceRandom(Move, frozen=True):
    """Return the drawn bomb to where chance says."""


class Started(Event, frozen=True):
    """The cards were dealt; `seat` begins."""

    seat: int


class Played(Event, frozen=True):
    """An action card was played. `target`: whom a steal or a shove is for; `blocked`: a marker stopped it."""

    seat: int
    card: str
    target: int | None
    blocked: bool


class Peeked(Event, frozen=True):
    """The top of the pile was looked at; `cards` (top first) for the peeker only."""

    seat: int
    cards: tuple[str, ...]


class Stole(Event, frozen=True):
    """A card changed hands; `card` for thief and victim only."""

    seat: int
    target: int
    card: str | None


class Drew(Event, frozen=True):
    """A card that is no bomb was drawn; `card` for the drawer only."""

    seat: int
    source: Source
    card: str | None


class BombDrawn(Event, frozen=True):
    """A bomb was drawn; `defused`: a cutter was discarded for it."""

    seat: int
    source: Source
    defused: bool


class BombReturned(Event, frozen=True):
    """A defused bomb is back in the pile; `index` for the placer only."""

    seat: int
    index: int | None


class Shuffled(Event, frozen=True):
    """The pile was shuffled."""

    seat: int


class Eliminated(Event, frozen=True):
    """A seat is out; `cards` are what it leaves on the discard pile, the bomb last."""

    seat: int
    cards: tuple[str, ...]


class Won(Event, frozen=True):
    """Only `seat` is left."""

    seat: int


class Known(Struct, frozen=True):
    """One entry of a seat's info map: the kind at a place in the pile, 0 being the top."""

    index: int
    card: str


Info = tuple[Known, ...]


class State(Struct, frozen=True):
    """All there is to know. Pile top first, discards oldest first, hands in canonical order, infos by rising index."""

    turn: int
    phase: Literal["act", "place_bomb"]
    owed: int
    pile: tuple[str, ...]
    alive: tuple[bool, ...]
    shields: tuple[bool, ...]
    hands: tuple[tuple[str, ...], ...]
    infos: tuple[Info, ...]
    discard: tuple[str, ...] = ()
    out: tuple[int, ...] = ()
    result: Result | None = None


class Table(Struct, frozen=True):
    """Section 5, `table`."""

    turn: int
    phase: str
    owed: int
    pile: int
    bombs: int
    alive: tuple[bool, ...]
    shields: tuple[bool, ...]
    hand_sizes: tuple[int, ...]
    discard: tuple[str, ...]
    out: tuple[int, ...]


class Own(Struct, frozen=True):
    """Section 5, `own`."""

    hand: tuple[str, ...]
    known: Info


class Hidden(Struct, frozen=True):
    """What nobody sees."""

    pile: tuple[str, ...]


_SEATS = range(2, 6)  # BZ-1
_PLAY = {kind: Play(kind) for kind in ACTIONS}
_STEAL = tuple(Play("steal", target) for target in range(_SEATS[-1]))
_DRAW = Draw()
_PLACES = tuple(Place(index) for index in range(sum(copies(kind, _SEATS[-1]) for kind in KINDS)))
_PLACE_RANDOM = PlaceRandom()


class Bombenziehen(Game[BombenziehenOptions, State]):
    """The rules of Bombenziehen."""

    name = "bombenziehen"
    seats = _SEATS
    titles: ClassVar[Mapping[str, str]] = {"de": "Bombenziehen", "en": "Bomb Draw"}
    options_type = BombenziehenOptions
    moves = (Play, Draw, Place, PlaceRandom)
    events = (Started, Played, Peeked, Stole, Drew, BombDrawn, BombReturned, Shuffled, Eliminated, Won)
    cards = tuple(
        Card(kind, "action" if kind in ACTIONS else kind, german, english)
        for kind, german, english in zip(KINDS, (*_GERMAN, "Bombe"), (*_ENGLISH, "Bomb"), strict=True)
    )

    def count(self, code: str, seats: int) -> int:
        """BZ-2."""
        return copies(code, seats)

    def setup(self, options: BombenziehenOptions, seats: int, chance: Chance) -> Step[State]:
        """3.2; chance: pick(n), shuffle(action cards), shuffle(pile)."""
        start = chance.pick(seats)
        duds = ("dud",) * copies("dud", seats)
        early, late = (duds, ()) if options.duds_in_start_hand else ((), duds)  # BZ-4
        stock = chance.shuffle((*(kind for kind in ACTIONS for _ in range(copies(kind, seats))), *early))
        dealt = DEALT * seats
        hands = tuple(_sorted((*stock[(seat - start) % seats : dealt : seats], "cutter")) for seat in range(seats))
        cutters = ("cutter",) * spare_cutters(seats)
        bombs = ("bomb",) * copies("bomb", seats)
        state = State(
            turn=start,
            phase="act",
            owed=1,
            pile=chance.shuffle((*stock[dealt:], *late, *cutters, *bombs)),
            alive=(True,) * seats,
            shields=(False,) * seats,
            hands=hands,
            infos=((),) * seats,
        )
        return Step(state, (Started(start),))

    def legal(self, state: State, seat: int) -> list[Move]:
        """3.3 in phase ACT, 3.4 in PLACE_BOMB; nothing for seats that are not on turn."""
        if seat != state.turn or state.result is not None:
            return []
        if state.phase == "place_bomb":
            return [*_PLACES[: len(state.pile) + 1], _PLACE_RANDOM]  # BZ-15
        hand = state.hands[seat]
        moves: list[Move] = []
        for kind in ACTIONS:
            if kind not in hand:
                continue
            if kind == "steal":  # BZ-11
                moves += [_STEAL[target] for target, cards in enumerate(state.hands) if cards and target != seat]
            elif kind != "shield" or not state.shields[seat]:  # BZ-9
                moves.append(_PLAY[kind])
        moves.append(_DRAW)
        return moves

    def to_act(self, state: State) -> tuple[int, ...]:
        """The seat on turn."""
        return () if state.result is not None else (state.turn,)

    def asked(self, state: State, seat: int) -> Hashable | None:
        """The seat on turn, told by its phase and the cards that moves have so far drawn and discarded.

        Every move draws or discards, or returns a bomb and changes the phase: no two decisions have the same name.
        """
        if seat != state.turn or state.result is not None:
            return None
        return (state.phase, len(state.discard), len(state.pile))

    def apply(self, state: State, seat: int, move: Move, chance: Chance) -> Step[State]:
        """3.3 to 3.6."""
        match move:
            case Play(card=card, target=target):
                return _play(state, seat, card, target, chance)
            case Place(index=index):
                return _return_bomb(state, seat, index)
            case PlaceRandom():
                return _return_bomb(state, seat, chance.pick(len(state.pile) + 1))
            case _:
                return _draw(state, seat, "top", [])

    def default(self, state: State, seat: int) -> Move:
        """3.8."""
        del seat
        return _DRAW if state.phase == "act" else _PLACE_RANDOM

    def table(self, state: State) -> Table:
        """3.7, public; BZ-22."""
        return Table(
            state.turn,
            state.phase,
            state.owed,
            len(state.pile),
            state.pile.count("bomb"),
            state.alive,
            state.shields,
            tuple(map(len, state.hands)),
            state.discard,
            state.out,
        )

    def own(self, state: State, seat: int) -> Own:
        """3.7, the owner's."""
        return Own(state.hands[seat], state.infos[seat])

    def hidden(self, state: State) -> Hidden:
        """The pile."""
        return Hidden(state.pile)

    def result(self, state: State) -> Result | None:
        """BZ-18."""
        return state.result


def _sorted(hand: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(hand, key=ORDER.__getitem__))


def _without(hand: tuple[str, ...], kind: str) -> tuple[str, ...]:
    place = hand.index(kind)
    return hand[:place] + hand[place + 1 :]


def _with(values: tuple[T, ...], seat: int, value: T) -> tuple[T, ...]:
    return (*values[:seat], value, *values[seat + 1 :])


def _next(state: State, seat: int) -> int:
    """Return the first living seat clockwise after `seat`."""
    seats = len(state.alive)
    return next(other for step in range(1, seats) if state.alive[other := (seat + step) % seats])


def _play(state: State, seat: int, card: str, target: int | UnsetType, chance: Chance) -> Step[State]:
    """3.3, the card first discarded."""
    aimed = _next(state, seat) if card == "shove" else None if target is UNSET else target  # BZ-8
    blocked = aimed is not None and state.shields[aimed]
    events: list[Told] = [Played(seat, card, aimed, blocked)]
    state = replace(
        state,
        hands=_with(state.hands, seat, _without(state.hands[seat], card)),
        discard=(*state.discard, card),
    )
    if blocked and aimed is not None:
        state = replace(state, shields=_with(state.shields, aimed, False))
    match card:
        case "peek":
            state = _peek(state, seat, events)
        case "dodge":
            state = _pay(state, seat)
        case "bottom":
            return _draw(state, seat, "bottom", events)
        case "shove" if aimed is not None:
            state = replace(state, turn=aimed, owed=1 if blocked else SHOVED)  # BZ-7, BZ-10
        case "steal" if aimed is not None and not blocked:
            state = _steal(state, seat, aimed, chance, events)
        case "shield":
            state = replace(state, shields=_with(state.shields, seat, True))
        case "shuffle":
            state = replace(state, pile=chance.shuffle(state.pile), infos=((),) * len(state.infos))  # BZ-13
            events.append(Shuffled(seat))
    return Step(state, tuple(events))


def _peek(state: State, seat: int, events: list[Told]) -> State:
    """3.6; BZ-12."""
    cards = state.pile[:PEEKED]
    events.append(Whispered(Peeked(seat, ()), (seat,), Peeked(seat, cards)))
    deeper = (entry for entry in state.infos[seat] if entry.index >= PEEKED)
    info = (*(Known(index, card) for index, card in enumerate(cards)), *deeper)
    return replace(state, infos=_with(state.infos, seat, info))


def _steal(state: State, seat: int, target: int, chance: Chance, events: list[Told]) -> State:
    victim = state.hands[target]
    place = chance.pick(len(victim))
    card = victim[place]
    events.append(Whispered(Stole(seat, target, None), (seat, target), Stole(seat, target, card)))
    hands = _with(state.hands, target, victim[:place] + victim[place + 1 :])
    return replace(state, hands=_with(hands, seat, _sorted((*hands[seat], card))))


def _draw(state: State, seat: int, source: Source, events: list[Told]) -> Step[State]:
    """3.4, with what it does to infos (3.6)."""
    assert state.pile  # BZ-19
    if source == "top":
        card, pile = state.pile[0], state.pile[1:]
        infos = tuple(
            tuple(Known(entry.index - 1, entry.card) for entry in info if entry.index) if info else info
            for info in state.infos
        )
    else:
        card, pile = state.pile[-1], state.pile[:-1]
        infos = tuple(
            info[:-1] if info and info[-1].index == len(pile) else info  # the deepest entry is the last
            for info in state.infos
        )
    hand = state.hands[seat]
    if card != "bomb":
        events.append(Whispered(Drew(seat, source, None), (seat,), Drew(seat, source, card)))
        hands = _with(state.hands, seat, _sorted((*hand, card)))
        return Step(_pay(replace(state, pile=pile, infos=infos, hands=hands), seat), tuple(events))
    defused = "cutter" in hand  # BZ-16
    events.append(BombDrawn(seat, source, defused))
    if not defused:
        return _eliminate(replace(state, pile=pile, infos=infos), seat, events)
    state = replace(
        state,
        phase="place_bomb",
        pile=pile,
        infos=infos,
        hands=_with(state.hands, seat, _without(hand, "cutter")),
        discard=(*state.discard, "cutter"),
    )
    return Step(state, tuple(events))


def _return_bomb(state: State, seat: int, index: int) -> Step[State]:
    """3.4, 3.6: the placer is told the place (BZ-14), all others lose their infos. Pays for the draw (BZ-17)."""
    info = state.infos[seat]
    above = (entry for entry in info if entry.index < index)
    below = (Known(entry.index + 1, entry.card) for entry in info if entry.index >= index)
    state = replace(
        state,
        phase="act",
        pile=(*state.pile[:index], "bomb", *state.pile[index:]),
        infos=_with(((),) * len(state.infos), seat, (*above, Known(index, "bomb"), *below)),
    )
    return Step(_pay(state, seat), (Whispered(BombReturned(seat, None), (seat,), BombReturned(seat, index)),))


def _pay(state: State, seat: int) -> State:
    """One owed draw less; 3.5."""
    if state.owed > 1:
        return replace(state, owed=state.owed - 1)
    return replace(state, turn=_next(state, seat), owed=1)


def _eliminate(state: State, seat: int, events: list[Told]) -> Step[State]:
    """3.4, third case; BZ-18."""
    left = (*state.hands[seat], "bomb")
    events.append(Eliminated(seat, left))
    state = replace(
        state,
        alive=_with(state.alive, seat, False),
        shields=_with(state.shields, seat, False),
        hands=_with(state.hands, seat, ()),
        infos=_with(state.infos, seat, ()),
        discard=state.discard + left,
        out=(*state.out, seat),
    )
    follower = _next(state, seat)
    seats = len(state.alive)
    if len(state.out) < seats - 1:
        return Step(replace(state, turn=follower, owed=1), tuple(events))
    events.append(Won(follower))
    places = tuple(1 if other == follower else seats - state.out.index(other) for other in range(seats))
    return Step(replace(state, owed=0, result=Result(places, (follower,))), tuple(events))
