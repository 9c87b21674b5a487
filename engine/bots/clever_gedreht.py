"""Computer players of Clever gedreht.

Reckless does anything. Clever has a rule for each phase: take a high discard; lay a card turned in the place of the
lowest open one, or turn the highest open one if a drawn card gains too little; flip a card of the seat that has turned
most; swap the own lowest card for the highest in sight. Ruthless deals out what it does not see again and again, plays
every world on to the end of the round as if all seats were clever, once for each of its moves, and takes the move that
gained most.
"""

from collections.abc import Hashable, Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

from engine.bots.bot import Bot, Seen
from engine.bots.worlds import deals
from engine.chance import Chance
from engine.game import Move
from engine.games.clever_gedreht_words import (
    CODES,
    COPIES,
    VALUE,
    CleverGedrehtOptions,
    Draw,
    Flip,
    Own,
    Reject,
    Swap,
    Table,
    Take,
    Use,
)

HIGH = 6
"""From this value on a discard is worth taking."""
GAIN = 2
"""A drawn card takes a place if it gains more than this, or more than the number of open cards that are left then."""
ROLLOUTS = 520
"""Seats that ruthless plays on for, shared out among its moves; as many again each time the worse half is dropped."""
TRUST = 2
"""What the move that clever would make has in advance, in tenths of a point for each of the rollouts."""
TURNS = 300
"""A round that has more is broken off."""
FLIP, SWAP = -1, -2
DRAWN = {code: VALUE[code] for code in CODES} | {"flip": FLIP, "swap": SWAP}
"""Cards of the pile as integers; in a grid only values count."""


class World(NamedTuple):
    """One way in which the cards out of sight may lie: the others' turned cards, and the pile, drawn from its end."""

    turned: tuple[tuple[int, ...], ...]
    pile: tuple[int, ...]


class Line(NamedTuple):
    """How a round goes on after a move: values of all open cards, ascending, and of the mover's (`seat`) turned ones.

    `flipped` is the seat that has to open a card, `turn` the one that begins by taking the `top` or by drawing; -1 for
    none. If nobody is on turn the round is over.
    """

    opens: tuple[tuple[int, ...], ...]
    seat: int
    turned: tuple[int, ...]
    flipped: int
    top: int
    turn: int
    finisher: int
    take: bool


class CleverGedrehtBot(Bot):
    """All levels, version 1."""

    game = "clever_gedreht"

    def decide(self, seen: Seen, level: str, chance: Chance) -> Move | None:
        """Every decision of this game is owed."""
        if level == "reckless":
            return seen.legal[chance.pick(len(seen.legal))]
        if len(seen.legal) == 1:
            return seen.legal[0]
        rule = _rule(seen)
        return rule if level == "clever" else _search(seen, rule, chance)


def _values(seen: Seen, seat: int) -> dict[int, int]:
    """The values of a seat's open cards, by slot."""
    table = seen.table
    assert isinstance(table, Table)
    return {slot: VALUE[code] for slot, code in enumerate(table.grids[seat].cards) if code}


def _rule(seen: Seen) -> Move:
    """What clever does."""
    table, own = seen.table, seen.own
    assert isinstance(table, Table)
    assert isinstance(own, Own)
    mine = _values(seen, seen.seat)
    lowest, highest = min(mine, key=mine.__getitem__), max(mine, key=mine.__getitem__)
    match table.phase:
        case "source":
            top = VALUE[table.top or "flip"]
            return Take() if top >= HIGH and top > mine[lowest] else Draw()
        case "use":
            return Use(lowest, "turned")
        case "decide":
            gain = VALUE[own.drawn or "flip"] - mine[lowest]
            return Use(lowest, "turned") if gain > min(GAIN, len(mine) - 1) else Reject(highest)
    targets = [move for move in seen.legal if isinstance(move, Flip | Swap)]
    if table.phase == "flip":
        return max(targets, key=lambda move: (-len(_values(seen, move.seat)), -_distance(seen, move.seat)))
    swaps = [move for move in targets if isinstance(move, Swap) and move.slot == lowest]
    return max(swaps, key=lambda move: (_values(seen, move.seat)[move.other_slot], -_distance(seen, move.seat)))


def _distance(seen: Seen, seat: int) -> int:
    return (seat - seen.seat) % seen.seats


def _search(seen: Seen, rule: Move, chance: Chance) -> Move:
    """The move that gains most over the worlds, the same worlds for all moves; the rule's has some trust in advance."""
    table, options = seen.table, seen.options
    assert isinstance(table, Table)
    assert isinstance(options, CleverGedrehtOptions)
    moves = _candidates(seen, rule)
    lines = [_line(seen, move) for move in moves]
    rollouts = ROLLOUTS // seen.seats
    gains = [TRUST * rollouts if move == rule else 0 for move in moves]
    left = list(range(len(moves)))
    while len(left) > 1:
        for world in _worlds(seen, rollouts // len(left), chance):
            for place in left:
                scores = _scores(lines[place], world, protected=options.protect_finisher)
                totals = [total + score for total, score in zip(table.totals, scores, strict=True)]
                gains[place] += 10 * (totals.pop(seen.seat) - max(totals))
        left.sort(key=lambda place: (-gains[place], place))
        left = left[: len(left) // 2]
    return moves[left[0]]


def _candidates(seen: Seen, rule: Move) -> list[Move]:
    """The legal moves worth a thought, one of those that do the same: cards of equal value are the same to all."""
    grids = [_values(seen, seat) for seat in range(seen.seats)]
    mine = grids[seen.seat]
    ascending = sorted(mine.values())
    lowest, highest, low = ascending[0], ascending[-1], ascending[:2]

    def effect(move: Move) -> Hashable | None:
        match move:
            case Use(slot=slot, face=face):
                wanted = mine[slot] in low if face == "turned" else mine[slot] == lowest
                return ("use", face, mine[slot]) if wanted else None
            case Reject(slot=slot):
                return ("reject", mine[slot]) if mine[slot] in {*low, highest} else None
            case Flip(seat=seat):
                return ("flip", seat)
            case Swap(slot=slot, seat=seat, other_slot=other_slot):
                value, theirs = grids[seat][other_slot], grids[seat].values()
                wanted = (mine[slot] == lowest and value in {min(theirs), max(theirs)}) or (
                    mine[slot] == highest and value == min(theirs)
                )
                return ("swap", mine[slot], seat, value) if wanted else None
        return type(move).__name__

    found = {effect(rule): rule}
    for move in seen.legal:
        found.setdefault(effect(move), move)
    return [move for name, move in found.items() if name is not None]


def _line(seen: Seen, move: Move) -> Line:
    """What is known of the table after a move."""
    table, own, seat = seen.table, seen.own, seen.seat
    assert isinstance(table, Table)
    assert isinstance(own, Own)
    grids = [_values(seen, other) for other in range(seen.seats)]
    mine, turned = grids[seat], [VALUE[card.card] for card in own.turned]
    top = VALUE[table.top] if table.top else 0
    hand = VALUE[table.taken or own.drawn or "flip"]
    flipped = -1
    match move:
        case Use(slot=slot, face=face):
            top = mine.pop(slot)
            if face == "open":
                mine[slot] = hand
            else:
                turned.append(hand)
        case Reject(slot=slot):
            turned.append(mine.pop(slot))
            top = hand
        case Flip(seat=other):
            flipped = other
        case Swap(slot=slot, seat=other, other_slot=other_slot):
            mine[slot], grids[other][other_slot] = grids[other][other_slot], mine[slot]
    opens = tuple(tuple(sorted(grid.values())) for grid in grids)
    finisher = -1 if table.finisher is None else table.finisher
    turn, take = seat, isinstance(move, Take)
    if not isinstance(move, Draw | Take):
        turn = (seat + 1) % seen.seats
        if turn == finisher:
            turn = -1
        elif finisher < 0 and not mine:
            finisher = seat
        take = turn >= 0 and top >= HIGH and top > opens[turn][0]
    return Line(opens, seat, tuple(turned), flipped, top, turn, finisher, take)


def _worlds(seen: Seen, count: int, chance: Chance) -> Iterator[World]:
    """Deal the unseen cards to the others' turned cards, the draw pile and, below it, the covered discards."""
    table, own = seen.table, seen.own
    assert isinstance(table, Table)
    assert isinstance(own, Own)
    visible = [code for grid in table.grids for code in grid.cards]
    visible += [table.top or "", table.taken or "", own.drawn or "", *(card.card for card in own.turned)]
    unseen = [DRAWN[code] for code in CODES for _ in range(COPIES - visible.count(code))]
    sizes = [0 if seat == seen.seat else grid.cards.count("") for seat, grid in enumerate(table.grids)]
    places = list(pairwise((0, *accumulate(sizes))))
    for dealt in deals(chance, unseen, count):
        turned = tuple(tuple([max(card, 0) for card in dealt[start:end]]) for start, end in places)
        yield World(turned, tuple(dealt[: places[-1][1] - len(dealt) - 1 : -1]))


def _scores(line: Line, world: World, *, protected: bool) -> list[int]:
    """What all seats have turned at the end of the round."""
    opens = [list(cards) for cards in line.opens]
    turned = [list(cards) for cards in world.turned]
    turned[line.seat] = list(line.turned)
    if line.flipped >= 0:
        opens[line.flipped].append(turned[line.flipped].pop())
        opens[line.flipped].sort()
    if line.turn >= 0:
        play_on(opens, turned, list(world.pile), line, protected=protected)
    return [sum(cards) for cards in turned]


def play_on(
    opens: list[list[int]], turned: list[list[int]], pile: list[int], line: Line, *, protected: bool = False
) -> None:
    """Play the round to its end as clever does, beginning with the line's turn.

    Changes the lists: `opens` are the values of each seat's open cards, ascending, `turned` of its turned ones.
    """
    seats = len(opens)
    top, turn, finisher, take = line.top, line.turn, line.finisher, line.take
    for _ in range(TURNS):
        mine = opens[turn]
        if take:
            turned[turn].append(top)
            top = mine.pop(0)
        elif not pile:
            return
        elif (card := pile.pop()) > 0:
            left = len(mine) - 1
            if card - mine[0] > min(GAIN, left):
                top = mine.pop(0)
                turned[turn].append(card)
            else:
                turned[turn].append(mine.pop())
                top = card
        else:
            top = 0
            if card == FLIP:
                flip(opens, turned, turn, len(pile), finisher if protected else -1)
            else:
                swap(opens, turn)
        following = turn + 1 if turn + 1 < seats else 0
        if finisher < 0:
            if not mine:
                finisher = turn
        elif following == finisher:
            return
        turn = following
        take = top >= HIGH and top > opens[turn][0]


def flip(opens: list[list[int]], turned: list[list[int]], turn: int, lot: int, spared: int) -> None:
    """Open a card of the seat that has turned most, the next one clockwise among equals; `spared` is safe."""
    most = 0
    target = turn
    for seat in (*range(turn + 1, len(opens)), *range(turn)):
        if len(turned[seat]) > most and seat != spared:
            most, target = len(turned[seat]), seat
    if most:
        opens[target].append(turned[target].pop(lot % most))
        opens[target].sort()


def swap(opens: list[list[int]], turn: int) -> None:
    """Exchange the lowest open card for the highest one of the others, of the next seat clockwise among equals."""
    best = -1
    target = turn
    for seat in (*range(turn + 1, len(opens)), *range(turn)):
        if opens[seat] and opens[seat][-1] > best:
            best, target = opens[seat][-1], seat
    if best >= 0:
        mine, theirs = opens[turn], opens[target]
        mine[0], theirs[-1] = best, mine[0]
        mine.sort()
        theirs.sort()
