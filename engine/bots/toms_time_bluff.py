"""Computer players for Tom's Time Bluff.

A view does not say on which of three piles the latest play lies if the layer's earlier ones are still on top; then all
of them are weighed alike. Amounts are hundredths of a penalty point, chances are in thousandths.
"""

from collections.abc import Sequence
from typing import NamedTuple

from engine.bots.bot import Bot, Seen
from engine.chance import Chance
from engine.game import UNSET, Move
from engine.games.toms_time_bluff_words import (
    COPIES,
    DECKS,
    HAND,
    HOUR,
    HOUR_OF_PARTNER,
    KIND_OF_PARTNER,
    OPENABLE,
    VALUE,
    Accept,
    Beam,
    Challenge,
    Decline,
    Direction,
    Draw,
    EndTurn,
    Hide,
    NameHour,
    Open,
    Own,
    Partner,
    Pile,
    Place,
    Table,
    TomsTimeBluffOptions,
)

SURE = 1000
KINDS_AN_HOUR = 4
WILD = ("joker", "vortex")

HOLD = dict.fromkeys(HOUR, 240) | {"joker": 250, "vortex": 400, "cuckoo": 700} | dict.fromkeys(KIND_OF_PARTNER, 480)
"""What it costs to hold a card at the end of one's turn: its points, as far as they count, and the time it takes."""
UNKNOWN = 300
"""The same for a card one does not know."""
SHOWN = 200
"""What an unknown card counts on average when the round ends."""
TAKEN = 180
"""What a card of a pile costs that one has to take."""
PLACED = 150
"""What it is worth to place a card after a challenge."""
WON = 300
"""What going out is worth beside the others' hands."""
SKIP = 250
"""What it is worth that a seat misses its turn."""
MATCH = 200
"""What it is worth to hold the clock due on a pile; counts twice at most."""
FEINT = 60
"""The chance that a layer bluffs though it has a right card."""
DOUBT = (50, 100, 250, 500, 900)
"""The chance of being challenged, by how many of the four clocks due are on the table."""
DOUBT_OUT = (300, 500, 700, 850, 950)
"""The same for a play that goes out."""
DOUBT_LATE = 150
"""So much more for a play that leaves two cards or fewer."""


class _Spot(NamedTuple):
    """A pile to be played on, or that has been: its cards, the hour due above t of 3.4, whether t is a joker, and o."""

    size: int
    due: int
    joker: bool
    over: str | None = None

    def suits(self, card: str, over: str | None) -> bool:
        """Whether a card hidden here, below `over`, is right (3.6)."""
        if card == "joker":
            return not self.joker and over != "joker"
        if card == "vortex":
            return over != "joker"
        return HOUR.get(card) == self.due


class _Sight:
    """What a seat works out of its view."""

    def __init__(self, seen: Seen) -> None:
        table, own, options = seen.table, seen.own, seen.options
        assert isinstance(table, Table)
        assert isinstance(own, Own)
        assert isinstance(options, TomsTimeBluffOptions)
        self.options, self.seats, self.seat = options, seen.seats, seen.seat
        self.table, self.own, self.hand, self.sizes = table, own, own.hand, table.hand_sizes
        self.others = [(seen.seat + step) % seen.seats for step in range(1, seen.seats)]
        shown = [entry.card for pile in table.piles for entry in pile.cards if entry.card is not None]
        known = [*shown, *own.hand, *(laid.card for laid in own.laid)]
        self.clocks = _unseen(known)
        """Unseen clocks by hour."""
        self.public = _unseen(shown)
        """The same for a spectator."""
        self.jokers = COPIES["joker"] - known.count("joker")
        self.vortexes = COPIES["vortex"] - table.removed - known.count("vortex")
        self.pool = len(DECKS[options.partner_cards]) - table.removed - len(known)

    def spot(self, pile: Pile) -> _Spot | None:
        """The pile as a place to play on, below a card that lies face down on top; None if it is empty."""
        cards = pile.cards
        while cards and cards[-1].card is None:
            cards = cards[:-1]
        return _spot(pile, len(cards), None) if cards else None

    def plays(self) -> list[_Spot]:
        """Where the play that may be challenged can lie."""
        found = []
        for pile in self.table.piles:
            down = [index for index, entry in enumerate(pile.cards) if entry.card is None]
            if not down or pile.cards[down[-1]].seat != self.table.turn:
                continue
            above = pile.cards[down[-1] + 1 :]
            if len(above) == (2 if above and above[0].card in KIND_OF_PARTNER else 1):
                over = "vortex" if above[0].seat is None else above[0].card
                found.append(_spot(pile, down[-1], over))
            elif not above:
                return [_spot(pile, down[-1], None)]
        return found

    def right_cards(self, spot: _Spot) -> int:
        """How many unseen cards would be right, had they been hidden there."""
        jokers = 0 if spot.joker or spot.over == "joker" else self.jokers
        return self.clocks[spot.due] + jokers + (0 if spot.over == "joker" else self.vortexes)

    def none_of(self, wanted: int, cards: int) -> int:
        """The chance that so many unseen cards have none of the wanted among them."""
        chance, rest = SURE, self.pool - wanted
        for drawn in range(cards):
            if rest - drawn <= 0:
                return 0
            chance = chance * (rest - drawn) // (self.pool - drawn)
        return chance


def _unseen(cards: Sequence[str]) -> list[int]:
    """How many clocks of each hour are not among the cards; none of hour 0."""
    clocks = [0] + [KINDS_AN_HOUR] * 12
    for card in cards:
        if card in HOUR:
            clocks[HOUR[card]] -= 1
    return clocks


def _spot(pile: Pile, index: int, over: str | None) -> _Spot:
    below = pile.cards[index - 1]
    shown = below.hour or HOUR.get(below.card or "", 0)
    return _Spot(len(pile.cards), shown % 12 + 1 if shown else 0, below.card == "joker", over)


def _fits(partner: str, clock: str, options: TomsTimeBluffOptions) -> bool:
    if clock not in HOUR:
        return False
    if options.partner_match == "kind":
        return clock[0] == KIND_OF_PARTNER[partner]
    return HOUR[clock] == HOUR_OF_PARTNER[partner]


def _minus(hand: Sequence[str], *cards: str) -> tuple[str, ...]:
    rest = list(hand)
    for card in cards:
        rest.remove(card)
    return tuple(rest)


class TomsTimeBluffBot(Bot):
    """Three ways to bluff."""

    game = "toms_time_bluff"

    def decide(self, seen: Seen, level: str, chance: Chance) -> Move | None:
        """Return one of the legal moves; every decision of this game is owed."""
        if len(seen.legal) == 1:
            return seen.legal[0]
        if level == "reckless":
            return _reckless(seen.legal, chance)
        return (_Clever if level == "clever" else _Ruthless)(seen).decide(seen.legal, chance)


def _reckless(legal: Sequence[Move], chance: Chance) -> Move:
    """Anything; a challenge and a forgotten card once in four times, a joker no more often than another card."""
    match legal[0]:
        case Challenge():
            return Accept() if chance.pick(4) else Challenge()
        case Draw():
            return Draw() if chance.pick(4) else EndTurn()
        case Open():
            cards = tuple(dict.fromkeys(move.card for move in legal if isinstance(move, Open)))
            card = cards[chance.pick(len(cards))]
            legal = [move for move in legal if not isinstance(move, Open) or move.card == card]
    return legal[chance.pick(len(legal))]


class _Clever(_Sight):
    """Rules of thumb."""

    def decide(self, legal: Sequence[Move], chance: Chance) -> Move:
        match legal[0]:
            case Hide():
                return self.hide([move for move in legal if isinstance(move, Hide)], chance)
            case Open() | Partner():
                return self.open(legal)
            case Beam():
                return self.beam([move for move in legal if isinstance(move, Beam)])
            case Direction():
                right, left = self.sizes[self.seat - 1], self.sizes[(self.seat + 1) % self.seats]
                return Direction("left" if right <= left else "right")
            case NameHour():
                return NameHour(self.hour_before_own(self.hand))
            case Draw() | EndTurn():
                return legal[0]
            case Challenge() | Accept():
                return Challenge() if self.doubts(chance) else Accept()
        return self.place(legal, chance)

    def hide(self, moves: Sequence[Hide], chance: Chance) -> Move:
        """A right card where it costs a challenger most, clocks before wild cards; else the worst card, cheaply."""
        spots = {move.place: spot for move in moves if (spot := self.spot(self.table.piles[move.place]))}
        bluff = max(moves, key=lambda move: (_trash(move.card, self.hand, self.options), -spots[move.place].size))
        small = spots[bluff.place].size <= 3 and len(self.hand) >= 4
        if bluff.card in ("cuckoo", *KIND_OF_PARTNER) and small and chance.pick(3) == 0:
            return bluff
        right = [move for move in moves if spots[move.place].suits(move.card, None)]
        if not right:
            return bluff
        return max(right, key=lambda move: (move.card not in WILD, move.card == "vortex", spots[move.place].size))

    def open(self, legal: Sequence[Move]) -> Move:
        """A partner if one fits; the hour before one's own; a vortex if it brings the smaller hand; a joker last."""
        partners = [move for move in legal if isinstance(move, Partner)]
        if partners:
            return partners[0]
        best, most = legal[0], -1
        nearest = min(self.sizes[self.seat - 1], self.sizes[(self.seat + 1) % self.seats])
        for move in legal:
            assert isinstance(move, Open)
            rest = _minus(self.hand, move.card)
            hours = {HOUR[card] for card in rest if card in HOUR}
            if move.card == "vortex":
                worth = 9 if nearest + 1 < len(rest) else 1
            elif move.card == "joker":
                worth = 2 if move.hour == self.hour_before_own(rest) else 0
            else:
                worth = 4 + (HOUR[move.card] % 12 + 1 in hours) - 2 * (HOUR[move.card] in self.dues())
            if worth > most:
                best, most = move, worth
        return best

    def dues(self) -> list[int]:
        """The hours due on the piles."""
        return [spot.due for pile in self.table.piles if (spot := self.spot(pile)) and spot.due]

    def hour_before_own(self, hand: Sequence[str]) -> int:
        """An hour after which a card of the hand is due."""
        hours = [HOUR[card] for card in hand if card in HOUR]
        return (hours[0] + 10) % 12 + 1 if hours else 12

    def beam(self, moves: Sequence[Beam]) -> Move:
        """The worst card to the seat nearest to going out."""
        return max(moves, key=lambda move: (_trash(move.card, self.hand, self.options), -self.sizes[move.target]))

    def doubts(self, chance: Chance) -> bool:
        """By how many of the four clocks due are accounted for, what a pick-up would cost, and who is going out."""
        plays = self.plays()
        spot = plays[chance.pick(len(plays))]
        if not self.right_cards(spot):
            return True
        gone = KINDS_AN_HOUR - self.clocks[spot.due]
        if not self.sizes[self.table.turn]:
            return gone >= 2 or spot.size <= 4
        return gone >= 3 + (spot.size > 5) or (gone >= 2 and self.sizes[self.table.turn] <= 2)

    def place(self, legal: Sequence[Move], chance: Chance) -> Move:
        """A clock, the last card whatever it is; else nothing, and now and then at random, or a round might not end."""
        if len(self.hand) > 1 and chance.pick(4) == 0:
            return Decline()
        clocks = [move for move in legal if isinstance(move, Place) and (move.card in HOUR or len(self.hand) == 1)]
        return clocks[0] if clocks else Decline()


def _trash(card: str, hand: Sequence[str], options: TomsTimeBluffOptions) -> int:
    """How gladly a card is given away: cuckoo, partners without their clock, clocks, partners, vortex, joker."""
    if card == "cuckoo":
        return 5
    if card in KIND_OF_PARTNER:
        return 1 if any(_fits(card, other, options) for other in hand) else 4
    return 3 if card in HOUR else 0


class _Ruthless(_Sight):
    """What each choice is expected to be worth, by the chances of the unseen cards.

    A position is worth what the others' hands are expected to cost them, on average, less what the own hand will cost.
    """

    def __init__(self, seen: Seen) -> None:
        super().__init__(seen)
        self.spots = [self.spot(pile) for pile in self.table.piles]
        self.rivals = len(self.others)
        self.theirs = sum(self.sizes[other] for other in self.others)

    def decide(self, legal: Sequence[Move], chance: Chance) -> Move:
        """Return the move that is worth most, the first of equals; now and then it places nothing (see `_Clever`)."""
        match legal[0]:
            case Challenge() | Accept():
                return Challenge() if sum(map(self.gain, self.plays())) > 0 else Accept()
            case Draw() | EndTurn():
                return legal[0]
            case Place() if len(self.hand) > 1 and chance.pick(4) == 0:
                return Decline()
        return max(legal, key=self.worth)

    def worth(self, move: Move) -> int:
        """The worth of a move that is no answer, compared with that of others of its phase."""
        match move:
            case Hide(place=place, card=card):
                rest = _minus(self.hand, card)
                if not rest:
                    return self.played(place, card, (), 0, rest)
                return max(self.laid(place, card, way, rest) for way in _ways(rest, self.options))
            case Open() | Partner():
                down = next(laid for laid in self.own.laid if laid.index + 1 == len(self.table.piles[laid.place].cards))
                return self.laid(down.place, down.card, move, self.hand)
            case Beam(card=card, target=target):
                return -SURE * self.hold(_minus(self.hand, card)) - self.sizes[target]
            case Direction(to=to):
                return -self.sizes[(self.seat + (-1 if to == "left" else 1)) % self.seats]
            case NameHour(hour=hour):
                return -self.hold(self.hand, hour)
            case Place(card=card, hour=hour):
                rest = _minus(self.hand, card)
                return -self.hold(rest, HOUR[card] if hour is UNSET else hour) if rest else WON
        return -self.hold(self.hand)

    def hold(self, hand: Sequence[str], shown: int = 0, over: int | None = None) -> int:
        """What a known hand will cost after an hour was shown, on the place `over` if not on an empty one."""
        dues = {spot.due for place, spot in enumerate(self.spots) if spot and place != over}
        dues.add(shown % 12 + 1 if shown else 0)
        ready = len({HOUR[card] for card in hand if card in HOUR} & dues)
        return sum(HOLD[card] for card in hand) - MATCH * min(2, ready)

    def laid(self, place: int, hidden: str, move: Move, hand: tuple[str, ...]) -> int:
        """The worth of a hidden card and the move that lays open cards of the hand on it."""
        if isinstance(move, Partner):
            rest = _minus(hand, move.partner, move.clock)
            return self.played(place, hidden, (move.partner, move.clock), HOUR[move.clock], rest)
        assert isinstance(move, Open)
        shown = HOUR.get(move.card, 0) if move.hour is UNSET else move.hour
        return self.played(place, hidden, (move.card,), shown, _minus(hand, move.card))

    def played(self, place: int, hidden: str, cards: tuple[str, ...], shown: int, rest: tuple[str, ...]) -> int:
        """The worth of a whole play that shows an hour: with its effects, the card drawn and a challenge."""
        spot, n, theirs, extra = self.spots[place], self.rivals, self.theirs, 0
        assert spot is not None
        over = cards[0] if cards else None
        match over:
            case "kaputt" if rest:
                theirs += n
            case "snooze":
                theirs, extra = theirs + bool(rest), SKIP // n
            case "beam" if rest:
                theirs, rest = theirs + 1, _minus(rest, max(rest, key=HOLD.__getitem__))
            case "vortex" if not rest:
                return -WON
        mine = self.hold(rest, shown, place)
        if over == "vortex":
            given = min(self.sizes[self.seat - 1], self.sizes[(self.seat + 1) % self.seats])
            mine, theirs = given * UNKNOWN, theirs + len(rest) - given
        elif 0 < len(rest) < HAND:
            if not self.table.draw_pile:
                return theirs * SHOWN // n - 100 * sum(VALUE[card] for card in rest)
            mine += UNKNOWN
        believed = extra + theirs * UNKNOWN // n - mine if rest else WON + theirs * SHOWN // n
        taken = (spot.size + 1 + len(cards)) * TAKEN
        if spot.suits(hidden, over):
            doubted = believed + taken // n + (PLACED if rest else 0)
        else:
            doubted = extra + theirs * UNKNOWN // n - mine - taken - PLACED // n
        doubt = 0 if over == "jungle" else self.doubt(spot, rest)
        return (believed * (SURE - doubt) + doubted * doubt) // SURE

    def doubt(self, spot: _Spot, rest: Sequence[str]) -> int:
        """The chance that somebody will challenge a play, by what everybody sees."""
        gone = KINDS_AN_HOUR - self.public[spot.due]
        if not rest:
            return DOUBT_OUT[gone]
        return min(SURE, DOUBT[gone] + (DOUBT_LATE if len(rest) <= 2 else 0))

    def gain(self, spot: _Spot) -> int:
        """What a challenge is worth more than to accept, if the play lies there."""
        layer, taken = self.sizes[self.table.turn], spot.size * TAKEN
        wrong = self.wrong(spot, max(1, layer) + 1)
        gain = taken // self.rivals
        if any(card in HOUR or card == "joker" for card in self.hand):
            gain += PLACED if len(self.hand) > 1 else WON
        if layer:
            return wrong * gain - (SURE - wrong) * (taken + PLACED // self.rivals)
        gain += 100 * sum(VALUE[card] for card in self.hand) + WON // self.rivals
        return wrong * gain - (SURE - wrong) * spot.size * SHOWN

    def wrong(self, spot: _Spot, cards: int) -> int:
        """The chance that the card hidden there is wrong, if its layer chose it from so many cards.

        A layer that holds right cards plays one of them where it fits; one that bluffs does so on any pile.
        """
        here = self.right_cards(spot)
        if not here:
            return SURE
        dues = {other.due for other in self.spots if other} - {spot.due}
        every = here + sum(self.clocks[due] for due in dues)
        honest = (SURE - self.none_of(every, cards)) * (SURE - FEINT) // SURE
        bluff, right = (SURE - honest) // len(self.spots), honest * here // every
        return SURE * bluff // max(1, bluff + right)


def _ways(hand: tuple[str, ...], options: TomsTimeBluffOptions) -> list[Move]:
    """What may be laid openly from a hand; a joker only as the hour before one of the hand."""
    ways: list[Move] = []
    for card in dict.fromkeys(hand):
        if card == "joker":
            hours = {(HOUR[other] + 10) % 12 + 1 for other in hand if other in HOUR}
            ways += [Open(card, hour) for hour in sorted(hours or {12})]
        elif card in OPENABLE:
            ways.append(Open(card))
        elif card in KIND_OF_PARTNER:
            ways += [Partner(card, clock) for clock in dict.fromkeys(hand) if _fits(card, clock, options)]
    return ways
