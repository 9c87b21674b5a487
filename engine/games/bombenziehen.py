"""Bombenziehen, rules version 1. BZ-n and section numbers are those of the rules of record.

Hidden (3.7): the whole pile, top first; what infos tell of it is in there again, so that it can be read by itself.
"""

from collections.abc import Hashable, Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from engine.chance import Chance
from engine.game import UNSET, Card, Event, Game, Move, Options, Result, Step, UnsetType
from engine.vocabulary import Transition, dealt, ordered, put, without

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
    cards: tuple[str, ...] = ()


class Stole(Event, frozen=True):
    """A card changed hands; `card` for thief and victim only."""

    seat: int
    target: int
    card: str | None = None


class Drew(Event, frozen=True):
    """A card that is no bomb was drawn; `card` for the drawer only."""

    seat: int
    source: Source
    card: str | None = None


class BombDrawn(Event, frozen=True):
    """A bomb was drawn; `defused`: a cutter was discarded for it."""

    seat: int
    source: Source
    defused: bool


class BombReturned(Event, frozen=True):
    """A defused bomb is back in the pile; `index` for the placer only."""

    seat: int
    index: int | None = None


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
        hands = tuple(ordered((*hand, "cutter"), ORDER) for hand in dealt(stock, seats, DEALT, start))
        cutters = ("cutter",) * spare_cutters(seats)
        bombs = ("bomb",) * copies("bomb", seats)
        state = State(
            turn=start,
            phase="act",
            owed=1,
            pile=chance.shuffle((*stock[DEALT * seats :], *late, *cutters, *bombs)),
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

    def out(self, state: State) -> tuple[int, ...]:
        """BZ-18."""
        return state.out

    def apply(self, state: State, seat: int, move: Move, chance: Chance) -> Step[State]:
        """3.3 to 3.6."""
        course = _Course(chance, state)
        match move:
            case Play(card=card, target=target):
                course.play(seat, card, target)
            case Place(index=index):
                course.return_bomb(seat, index)
            case PlaceRandom():
                course.return_bomb(seat, chance.pick(len(state.pile) + 1))
            case _:
                course.draw(seat, "top")
        return course.step()

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


def _next(state: State, seat: int) -> int:
    """Return the first living seat clockwise after `seat`."""
    seats = len(state.alive)
    return next(other for step in range(1, seats) if state.alive[other := (seat + step) % seats])


class _Course(Transition[State]):
    """What a move does."""

    def play(self, seat: int, card: str, target: int | UnsetType) -> None:
        """3.3, the card first discarded."""
        state = self.state
        aimed = _next(state, seat) if card == "shove" else None if target is UNSET else target  # BZ-8
        blocked = aimed is not None and state.shields[aimed]
        self.tell(Played(seat, card, aimed, blocked))
        self.state = replace(
            self.state, hands=put(state.hands, seat, without(state.hands[seat], card)), discard=(*state.discard, card)
        )
        if blocked and aimed is not None:
            self.state = replace(self.state, shields=put(state.shields, aimed, False))
        match card:
            case "peek":
                self.peek(seat)
            case "dodge":
                self.pay(seat)
            case "bottom":
                self.draw(seat, "bottom")
            case "shove" if aimed is not None:
                self.state = replace(self.state, turn=aimed, owed=1 if blocked else SHOVED)  # BZ-7, BZ-10
            case "steal" if aimed is not None and not blocked:
                self.steal(seat, aimed)
            case "shield":
                self.state = replace(self.state, shields=put(state.shields, seat, True))
            case "shuffle":
                self.state = replace(
                    self.state, pile=self.chance.shuffle(state.pile), infos=((),) * len(state.infos)
                )  # BZ-13
                self.tell(Shuffled(seat))

    def peek(self, seat: int) -> None:
        """3.6; BZ-12."""
        cards = self.state.pile[:PEEKED]
        self.whisper(Peeked(seat, cards), seat)
        deeper = (entry for entry in self.state.infos[seat] if entry.index >= PEEKED)
        info = (*(Known(index, card) for index, card in enumerate(cards)), *deeper)
        self.state = replace(self.state, infos=put(self.state.infos, seat, info))

    def steal(self, seat: int, target: int) -> None:
        hands = self.state.hands
        victim = hands[target]
        place = self.chance.pick(len(victim))
        card = victim[place]
        self.whisper(Stole(seat, target, card), seat, target)
        hands = put(hands, target, victim[:place] + victim[place + 1 :])
        self.state = replace(self.state, hands=put(hands, seat, ordered((*hands[seat], card), ORDER)))

    def draw(self, seat: int, source: Source) -> None:
        """3.4, with what it does to infos (3.6)."""
        state = self.state
        assert state.pile  # BZ-19
        if source == "top":
            card, pile = state.pile[0], state.pile[1:]
            infos = tuple(
                [
                    tuple([Known(entry.index - 1, entry.card) for entry in info if entry.index]) if info else info
                    for info in state.infos
                ]
            )
        else:
            card, pile = state.pile[-1], state.pile[:-1]
            infos = tuple(
                [
                    info[:-1] if info and info[-1].index == len(pile) else info  # the deepest entry is the last
                    for info in state.infos
                ]
            )
        hand = state.hands[seat]
        if card != "bomb":
            self.whisper(Drew(seat, source, card), seat)
            self.state = replace(
                self.state, pile=pile, infos=infos, hands=put(state.hands, seat, ordered((*hand, card), ORDER))
            )
            self.pay(seat)
            return
        defused = "cutter" in hand  # BZ-16
        self.tell(BombDrawn(seat, source, defused))
        self.state = replace(self.state, pile=pile, infos=infos)
        if defused:
            hands = put(state.hands, seat, without(hand, "cutter"))
            self.state = replace(self.state, phase="place_bomb", hands=hands, discard=(*state.discard, "cutter"))
        else:
            self.eliminate(seat)

    def return_bomb(self, seat: int, index: int) -> None:
        """3.4, 3.6: the placer is told the place (BZ-14), all others lose their infos. Pays for the draw (BZ-17)."""
        info, pile = self.state.infos[seat], self.state.pile
        above = (entry for entry in info if entry.index < index)
        below = (Known(entry.index + 1, entry.card) for entry in info if entry.index >= index)
        self.state = replace(
            self.state,
            phase="act",
            pile=(*pile[:index], "bomb", *pile[index:]),
            infos=put(((),) * len(self.state.infos), seat, (*above, Known(index, "bomb"), *below)),
        )
        self.whisper(BombReturned(seat, index), seat)
        self.pay(seat)

    def pay(self, seat: int) -> None:
        """One owed draw less; 3.5."""
        if self.state.owed > 1:
            self.state = replace(self.state, owed=self.state.owed - 1)
        else:
            self.state = replace(self.state, turn=_next(self.state, seat), owed=1)

    def eliminate(self, seat: int) -> None:
        """3.4, third case; BZ-18."""
        state = self.state
        left = (*state.hands[seat], "bomb")
        self.tell(Eliminated(seat, left))
        out, seats, follower = (*state.out, seat), len(state.alive), _next(state, seat)
        self.state = replace(
            self.state,
            alive=put(state.alive, seat, False),
            shields=put(state.shields, seat, False),
            hands=put(state.hands, seat, ()),
            infos=put(state.infos, seat, ()),
            discard=state.discard + left,
            out=out,
        )
        if len(out) < seats - 1:
            self.state = replace(self.state, turn=follower, owed=1)
            return
        self.tell(Won(follower))
        places = tuple(1 if other == follower else seats - out.index(other) for other in range(seats))
        self.state = replace(self.state, owed=0, result=Result(places, (follower,)))
