"""Clever gedreht, rules version 1. CG-n and section numbers are those of the rules of record.

Hidden (3.6): the draw pile, top first, the discards, bottom to top, without the top card, and whether the match is
over, since the table keeps its last phase then. How far the last lap has come follows from the finisher and the turn.
"""

from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import ClassVar

from msgspec.structs import replace

from engine.chance import Chance
from engine.game import UNSET, Cards, Game, Move, Result, Step
from engine.games.clever_gedreht_words import (
    CARDS,
    COPIES,
    DECK,
    FACES,
    FLIP,
    MANY,
    NUMBERS,
    REJECT,
    SEATS,
    SLOTS,
    SWAP,
    USE,
    VALUE,
    CleverGedrehtOptions,
    Draw,
    Drew,
    Fizzled,
    Flip,
    Flipped,
    Hidden,
    LastLap,
    LastRound,
    Own,
    Reject,
    Rejected,
    Reshuffled,
    RoundEnded,
    RoundStarted,
    State,
    Swap,
    Swapped,
    Table,
    Take,
    Took,
    Turned,
    Use,
    Used,
)
from engine.vocabulary import Transition, added, dealt, put

_DRAW, _TAKE = Draw(), Take()


class CleverGedreht(Game[CleverGedrehtOptions, State]):
    """The rules of Clever gedreht."""

    name = "clever_gedreht"
    seats = SEATS
    titles: ClassVar[Mapping[str, str]] = {"de": "Clever gedreht", "en": "Cleverly Turned"}
    options_type = CleverGedrehtOptions
    moves = (Draw, Take, Use, Reject, Flip, Swap)
    events = (RoundStarted, Drew, Took, Used, Rejected, Flipped, Swapped, Fizzled, Reshuffled, LastLap, RoundEnded)
    cards = CARDS

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
                return [FLIP[other, slot] for other in _targets(state, "flip") for slot in _slots(state.turned[other])]
            case "swap":
                targets = [(other, slot) for other in _targets(state, "swap") for slot in _slots(state.open[other])]
                return [SWAP[slot][target] for slot in _slots(state.open[seat]) for target in targets]
        slots = _slots(state.open[seat])  # CG-7
        moves: list[Move] = [way for slot in slots for way in USE[slot]]
        if state.phase == "decide" or state.options.reject_taken:  # CG-6
            moves += [REJECT[slot] for slot in slots]
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
