"""Computer players for Bombenziehen, version 1; section 6 of the rules of record describes their characters.

Dangers are in thousandths. They come from counting: a seat knows the places that it has noted, and all others are as
dangerous as the bombs that are left for them. Numbers that are no counting were found by playing the levels against
each other.
"""

from typing import NamedTuple

from engine.bots.bot import Bot, Seen
from engine.chance import Chance
from engine.game import UNSET, Move
from engine.games.bombenziehen import SHOVED, Draw, Own, Place, PlaceRandom, Play, Table

SURE = 1000
"""The danger of a place where a bomb lies."""
ALARM = 250
"""The sheet's tip: from here on clever looks before it draws."""

RETURNED = 800
"""How sure ruthless is of a bomb on top when the last card on the discard pile is a cutter and one rival is left."""
LOOK = {False: 120, True: 400}
"""The danger from which ruthless spends a peek, without and with a cutter."""
FLEE = {False: 500, True: SURE}
"""The danger from which ruthless will not draw if it need not; a cutter in hand makes a bomb a weapon."""
MIX = {False: 300, True: SURE}
"""The danger from which ruthless shuffles."""
DEEPER = 100
"""By how much the bottom has to be safer than the top to be worth a card."""

_DRAW = Draw()
_PLACE_RANDOM = PlaceRandom()


class BombenziehenBot(Bot):
    """Reckless acts at random, clever looks after itself, ruthless hands the bomb to the next seat."""

    game = "bombenziehen"

    def decide(self, seen: Seen, level: str, chance: Chance) -> Move | None:
        """Return a move of the seat on turn."""
        table, own = seen.table, seen.own
        assert isinstance(table, Table)
        assert isinstance(own, Own)
        placing = table.phase == "place_bomb"
        match level:
            case "reckless":
                return _PLACE_RANDOM if placing else _whatever(seen, chance)
            case "clever":
                return _far_down(table, chance) if placing else _careful(seen, _outlook(table, own))
            case _:
                return _next_in_line(table, own) if placing else _merciless(seen, _outlook(table, own))


class _Outlook(NamedTuple):
    """What a seat knows before it acts."""

    table: Table
    top: int
    """The danger of the next card from the top."""
    bottom: int
    noted: bool
    """Whether the seat has noted what lies on top."""
    armed: bool
    """Whether it holds a cutter."""


def _outlook(table: Table, own: Own) -> _Outlook:
    noted = {entry.index: entry.card for entry in own.known}
    open_places = table.pile - len(noted)
    open_bombs = table.bombs - sum(card == "bomb" for card in noted.values())
    unknown = SURE * open_bombs // open_places if open_places else 0

    def danger(place: int) -> int:
        if place in noted:
            return SURE if noted[place] == "bomb" else 0
        return unknown

    return _Outlook(table, danger(0), danger(table.pile - 1), 0 in noted, "cutter" in own.hand)


class _Plays:
    """The cards that a seat may play now."""

    def __init__(self, seen: Seen) -> None:
        self._plays: dict[str, list[Play]] = {}
        for move in seen.legal:
            if isinstance(move, Play):
                self._plays.setdefault(move.card, []).append(move)

    def __contains__(self, kind: str) -> bool:
        return kind in self._plays

    def first(self, *kinds: str) -> Play | None:
        """Return the play of the first of these kinds that is at hand."""
        return next((self._plays[kind][0] for kind in kinds if kind in self._plays), None)

    def steal(self, table: Table) -> Play | None:
        """Return a steal from the seat with the most cards, one without a marker if there is any."""

        def booty(play: Play) -> tuple[bool, int]:
            assert play.target is not UNSET
            return (not table.shields[play.target], table.hand_sizes[play.target])

        return max(self._plays.get("steal", ()), key=booty, default=None)


def _whatever(seen: Seen, chance: Chance) -> Move:
    """Every other time whatever comes to hand, else a draw."""
    return seen.legal[chance.pick(len(seen.legal))] if chance.pick(2) else _DRAW


def _careful(seen: Seen, outlook: _Outlook) -> Move:
    plays = _Plays(seen)
    if outlook.top == SURE:
        away = plays.first("dodge", "shove", "shuffle") or (plays.first("bottom") if outlook.bottom < SURE else None)
        if away is not None:
            return away
    if not outlook.armed and (theft := plays.steal(outlook.table)) is not None:
        return theft
    ways: tuple[str, ...] = ()
    if outlook.top >= ALARM:
        ways = ("shield",) if outlook.noted else ("shield", "peek")
        if not outlook.armed:
            ways = (*ways, "shove", "dodge", "bottom")
    elif outlook.top and not outlook.armed:
        ways = ("peek", "dodge")
    return plays.first(*ways) or _DRAW


def _far_down(table: Table, chance: Chance) -> Move:
    """The lower half, where the bomb does not come back soon."""
    half = table.pile // 2
    return Place(half + chance.pick(table.pile - half + 1))


def _merciless(seen: Seen, outlook: _Outlook) -> Move:
    """A marker against the others' shoves, their cards, a look; then away from a bomb, best of all by a shove."""
    plays, table, armed = _Plays(seen), outlook.table, outlook.armed
    top = outlook.top if outlook.noted else max(outlook.top, _suspicion(table))
    first = plays.first("shield") or plays.steal(table)
    if first is not None:
        return first
    if not top:
        return _DRAW
    if not outlook.noted and top >= LOOK[armed] and "peek" in plays:
        return Play("peek")
    if top >= FLEE[armed]:
        open_shove = "shove" in plays and not table.shields[_follower(seen, table)]
        if not open_shove and not outlook.bottom and "bottom" in plays:
            return Play("bottom")
        away = ("shove", "dodge") if open_shove or table.owed == SHOVED else ("dodge", "shove")
        if (escape := plays.first(*away)) is not None:
            return escape
    if outlook.bottom + DEEPER < top and "bottom" in plays:
        return Play("bottom")
    if top >= MIX[armed] and (outlook.top < SURE // 2 or top == SURE) and "shuffle" in plays:
        return Play("shuffle")
    return _DRAW


def _suspicion(table: Table) -> int:
    """The sheet's tip: where somebody has just returned a bomb and no card was played since, it may lie on top.

    A cutter on top of the discard pile tells so; the more rivals, the less likely that it was the seat before.
    """
    return RETURNED // (sum(table.alive) - 1) if table.discard[-1:] == ("cutter",) else 0


def _follower(seen: Seen, table: Table) -> int:
    clockwise = ((seen.seat + step) % seen.seats for step in range(1, seen.seats))
    return next(seat for seat in clockwise if table.alive[seat])


def _next_in_line(table: Table, own: Own) -> Move:
    """On top; one deeper if this seat has to draw again itself and holds nothing to pass the bomb on."""
    again = table.owed > 1 and "shove" not in own.hand and "dodge" not in own.hand
    return Place(min(1, table.pile)) if again else Place(0)
