"""Computer players of Timo's Twist.

Reckless lays any card that fits, says TIMO half the time and seldom watches the others. Clever says and catches TIMO
always and hurries: it lays what fits and is dearest, the black cards last, and names the colour of which it holds most.
Ruthless weighs what a card leaves in its hand, holds attacks back for a seat that is about to go out, and black cards
until they are needed. Against one seat it also deals out what it does not see again and again, plays every world on to
the end of the round, once for each of its moves, and adds up what it gained; against more that does not pay.
"""

from itertools import accumulate
from typing import NamedTuple

from engine.bots.bot import Bot, Seen
from engine.bots.worlds import deals
from engine.chance import Chance
from engine.game import Move
from engine.games.timos_twist import (
    BLACK,
    COLOR,
    COLORS,
    DECK,
    PENALTY,
    SYMBOL,
    SYMBOLS,
    VALUE,
    CallTimo,
    Catch,
    Keep,
    Own,
    Play,
    PlayDrawn,
    Table,
    Take,
    TimosTwistOptions,
)

ROLLOUTS = 320
"""Rounds that are played on, shared out among the moves; as many again each time the worse half is dropped."""
TURNS = 150
"""A round played on for longer counts for nobody."""
TASTE = 25
"""Points that a hundred of appeal are worth beside what a round played on brings."""

LADDER = (*BLACK, *(f"{color}-{symbol}" for symbol in SYMBOLS for color in COLORS))
"""The cards as a hurried player likes to keep them: a set of cards is an integer, bit i for card i of this ladder."""
BIT = {code: place for place, code in enumerate(LADDER)}
VALUES = tuple(VALUE[code] for code in LADDER)
NONE = len(COLORS)
"""Stands for no colour, beside the places of the four."""
OPEN = -1
"""Stands for a colour that the player who lays the card has yet to name."""
SHADE = tuple(COLORS.index(COLOR[code]) if code in COLOR else OPEN for code in LADDER)
DUE = tuple(PENALTY.get(SYMBOL[code], 0) for code in LADDER)
DRAW, KEEP = -1, -2
"""Stand for a card where none is laid: draw what is due, or go on with the card just drawn kept."""


def cards(*codes: str) -> int:
    """The cards as a set."""
    return sum(1 << BIT[code] for code in codes)


OF_COLOR = tuple(cards(*(code for code in COLOR if COLOR[code] == color)) for color in COLORS)
OF_SYMBOL = {symbol: cards(*(code for code in DECK if SYMBOL[code] == symbol)) for symbol in (*SYMBOLS, *BLACK)}
SKIP, TWIST = OF_SYMBOL["skip"], OF_SYMBOL["twist"]
FITS = (
    *(
        tuple(cards(*BLACK) | shade | (0 if top in BLACK else OF_SYMBOL[SYMBOL[top]]) for top in LADDER)
        for shade in OF_COLOR
    ),
    (cards(*DECK),) * len(LADDER),
)
"""3.4 without a pending draw, by colour and top card."""
STACKS = {
    True: tuple(cards("plus4") | (0 if top == "plus4" else OF_SYMBOL["plus2"]) for top in LADDER),
    False: tuple(0 if top == "plus4" else cards("plus4") for top in LADDER),
}
"""3.4 with a pending draw, by option and top card."""


class Weights(NamedTuple):
    """What a card's appeal is made of; compared only with each other."""

    plain: int
    black: int
    follow: int
    """For each card that stays in hand and can be laid on it."""
    hold: int
    """Against a black card while everybody, this seat included, holds more than `few`."""
    few: int
    near: int
    """So many cards in any other hand, and points become urgent."""
    urgent: int
    """For ten points while they are, `calm` while they are not."""
    calm: int
    stop: int
    """For an attack on the next seat while it has one or two cards, `waste` while it has more."""
    waste: int
    again: int
    """For a turn that comes back at once with a card to follow, `stuck` for one without."""
    stuck: int
    turn: int
    """For a twist, for each card that the seat before holds more than the one after."""
    keep: int
    """For not laying the card just drawn, or for drawing without need."""
    take: int
    """For not answering a pending draw."""


DUEL = Weights(48, 20, 1, 68, 1, 5, 27, 9, 60, -26, 25, -31, 0, -46, -79)
CROWD = Weights(39, 8, 11, 81, 2, 3, 20, 1, 75, -21, 0, 0, 10, -34, -79)


class World(NamedTuple):
    """One way in which the cards out of sight may lie; both piles are drawn from the end."""

    hands: tuple[int, ...]
    pile: tuple[int, ...]
    covered: tuple[int, ...]


class Line(NamedTuple):
    """How a round goes on: the seat on `turn` lays `card` and names a colour, or does what stands for no card."""

    top: int
    color: int
    pending: int
    turn: int
    card: int
    named: int


class TimosTwistBot(Bot):
    """All levels, version 1."""

    game = "timos_twist"

    def decide(self, seen: Seen, level: str, chance: Chance) -> Move | None:
        """An open window first, then the turn."""
        if level == "reckless":
            return _reckless(seen, chance)
        for move in seen.legal:
            if isinstance(move, Catch | CallTimo):
                return move
        silent = [move for move in seen.legal if not _says_timo(move)]
        spoken = [move for move in seen.legal if _says_timo(move)]
        moves = [*spoken, *(move for move in silent if not (spoken and _card(seen, move)))]
        if level == "clever":
            return max(moves, key=lambda move: _haste(seen, move))
        if seen.seats == 2 and len(moves) > 1:
            return _search(seen, moves, chance)
        return max(moves, key=lambda move: _appeal(seen, move))


def _reckless(seen: Seen, chance: Chance) -> Move | None:
    turn = [move for move in seen.legal if not isinstance(move, Catch | CallTimo)]
    if len(turn) < len(seen.legal) and chance.pick(4) == 0:
        return seen.legal[-1]
    return turn[chance.pick(len(turn))] if turn else None


def _card(seen: Seen, move: Move) -> str | None:
    """The card that a move lays."""
    own = seen.own
    assert isinstance(own, Own)
    if isinstance(move, Play):
        return move.card
    return own.drawn if isinstance(move, PlayDrawn) else None


def _rest(seen: Seen, card: str) -> list[str]:
    """The hand without a card."""
    own = seen.own
    assert isinstance(own, Own)
    return [other for other in own.hand if other != card]


def _says_timo(move: Move) -> bool:
    return isinstance(move, Play | PlayDrawn) and move.timo is True


def _named(move: Move) -> str | None:
    """The colour that a move names."""
    return move.color or None if isinstance(move, Play | PlayDrawn) else None


def _haste(seen: Seen, move: Move) -> tuple[int, int]:
    """What clever thinks of a move: its card's place on the ladder, then how much of the named colour it holds."""
    card, named = _card(seen, move), _named(move)
    if card is None:
        return -1, 0
    return BIT[card], sum(COLOR.get(other) == named for other in _rest(seen, card)) if named else 0


def _appeal(seen: Seen, move: Move) -> int:
    """What ruthless thinks of a move before it looks any further."""
    table, options = seen.table, seen.options
    assert isinstance(table, Table)
    assert isinstance(options, TimosTwistOptions)
    weights = DUEL if seen.seats == 2 else CROWD
    card = _card(seen, move)
    if card is None:
        return weights.take if isinstance(move, Take) else weights.keep
    rest, symbol, color = _rest(seen, card), SYMBOL[card], COLOR.get(card) or _named(move)
    least = min(size for seat, size in enumerate(table.hand_sizes) if seat != seen.seat)
    before, after = (table.hand_sizes[(seen.seat + step * table.direction) % seen.seats] for step in (-1, 1))
    if not rest:
        return 1000
    if card in BLACK:
        follow = sum(COLOR.get(other) == color for other in rest)
        appeal = weights.black - (weights.hold if least > weights.few and len(rest) > weights.few else 0)
    else:
        follow = sum(COLOR.get(other) == color or SYMBOL[other] == symbol for other in rest)
        appeal = weights.plain + (weights.urgent if least <= weights.near else weights.calm) * VALUE[card] // 10
    appeal += weights.follow * follow
    if seen.seats == 2 and (symbol == "skip" or (symbol == "twist" and options.twist_skips_two)):
        appeal += weights.again if follow else weights.stuck
    elif symbol == "skip" or symbol in PENALTY:
        appeal += weights.stop if after <= 2 else weights.waste
    elif symbol == "twist":
        appeal += weights.turn * (before - after)
    return appeal


def _search(seen: Seen, moves: list[Move], chance: Chance) -> Move:
    """The move that gains most over the worlds, the same worlds for all moves, and has appeal."""
    table, options = seen.table, seen.options
    assert isinstance(table, Table)
    assert isinstance(options, TimosTwistOptions)
    lines = [_line(seen, move) for move in moves]
    worth = [0] * len(moves)
    left = list(range(len(moves)))
    while len(left) > 1:
        count = ROLLOUTS // len(left)
        for place in left:
            worth[place] += count * TASTE * _appeal(seen, moves[place])
        for world in _worlds(seen, count, chance):
            for place in left:
                hands = list(world.hands)
                winner = play_on(hands, list(world.pile), list(world.covered), lines[place], options)
                if winner != OPEN:
                    need = options.target - table.totals[winner]
                    points = _points(hands[1 - winner])
                    felt = points if points < need else need + options.target // 3
                    worth[place] += 100 * felt if winner == seen.seat else -100 * felt
        left.sort(key=lambda place: (-worth[place], place))
        left = left[: len(left) // 2]
    return moves[left[0]]


def _worlds(seen: Seen, count: int, chance: Chance) -> list[World]:
    """Deal the unseen cards to the other hands, the draw pile and the covered discards."""
    table, own = seen.table, seen.own
    assert isinstance(table, Table)
    assert isinstance(own, Own)
    known = (*own.hand, table.top)
    unseen = [BIT[code] for code in DECK if code not in known]
    sizes = [0 if seat == seen.seat else size for seat, size in enumerate(table.hand_sizes)]
    ends = list(accumulate(sizes))
    covered = ends[-1] + table.draw_pile
    worlds = []
    for dealt in deals(chance, unseen, count):
        hands = [sum(1 << card for card in dealt[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
        hands[seen.seat] = cards(*own.hand)
        worlds.append(World(tuple(hands), tuple(dealt[ends[-1] : covered]), tuple(dealt[covered:])))
    return worlds


def _line(seen: Seen, move: Move) -> Line:
    table = seen.table
    assert isinstance(table, Table)
    named, card = _named(move), _card(seen, move)
    return Line(
        top=BIT[table.top],
        color=NONE if table.color is None else COLORS.index(table.color),
        pending=table.pending,
        turn=seen.seat,
        card=(KEEP if isinstance(move, Keep) else DRAW) if card is None else BIT[card],
        named=OPEN if named is None else COLORS.index(named),
    )


def play_on(hands: list[int], pile: list[int], covered: list[int], line: Line, options: TimosTwistOptions) -> int:
    """Play a round of two seats to its end as clever does; return the winner, or -1 if it takes too long.

    Changes the lists. Everybody says TIMO, and covered discards are drawn again in a fixed order.
    """
    top, color, pending, turn, card, named = line
    stacks = STACKS[options.stack_equal]
    again = SKIP | TWIST if options.twist_skips_two else SKIP
    for _ in range(TURNS):
        hand = hands[turn]
        if card == DRAW:
            for _ in range(pending or 1):
                if not pile:
                    pile, covered = covered[::-1], []
                    if not pile:
                        break
                drawn = pile.pop()
                hand |= 1 << drawn
                if not pending and FITS[color][top] >> drawn & 1:
                    card = drawn
            hands[turn] = hand
            pending = 0
        if card >= 0:
            hand ^= 1 << card
            hands[turn] = hand
            if not hand:
                return turn
            covered.append(top)
            top, color = card, SHADE[card]
            if color == OPEN:
                shades = [(hand & shade).bit_count() for shade in OF_COLOR]
                color = shades.index(max(shades)) if named == OPEN else named
            pending += DUE[card]
        if not (card >= 0 and again >> card & 1):
            turn = 1 - turn
        named = OPEN
        card = (hands[turn] & (stacks[top] if pending else FITS[color][top])).bit_length() - 1
    return OPEN


def _points(hand: int) -> int:
    total = 0
    while hand:
        low = hand & -hand
        total += VALUES[low.bit_length() - 1]
        hand ^= low
    return total
