"""Heap: take one to three of what lies there; who takes the last wins. A game with no cards and nothing secret."""

from collections.abc import Hashable, Mapping
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from engine.chance import Chance
from engine.game import Event, Game, Move, Options, Result, Step


class HeapOptions(Options, frozen=True):
    size: Annotated[int, Meta(ge=5, le=50, extra={"de": "Größe", "en": "Size"})] = 21


class Take(Move, frozen=True):
    count: int


class Taken(Event, frozen=True):
    seat: int
    count: int


class State(Struct, frozen=True):
    """`turn` stays with who took the last."""

    left: int
    turn: int
    seats: int


class Table(Struct, frozen=True):
    left: int
    turn: int


class Nothing(Struct, frozen=True):
    """What a seat knows alone, and what nobody knows."""


class Heap(Game[HeapOptions, State]):
    name = "heap"
    seats = range(2, 4)
    titles: ClassVar[Mapping[str, str]] = {"de": "Haufen", "en": "Heap"}
    options_type = HeapOptions
    moves = (Take,)
    events = (Taken,)
    cards = ()

    def setup(self, options: HeapOptions, seats: int, chance: Chance) -> Step[State]:
        return Step(State(options.size, chance.pick(seats), seats), ())

    def to_act(self, state: State) -> tuple[int, ...]:
        return (state.turn,) if state.left else ()

    def legal(self, state: State, seat: int) -> list[Move]:
        return [Take(count + 1) for count in range(min(3, state.left))] if seat in self.to_act(state) else []

    def asked(self, state: State, seat: int) -> Hashable | None:
        return state.left if seat in self.to_act(state) else None

    def apply(self, state: State, seat: int, move: Take, chance: Chance) -> Step[State]:
        left = state.left - move.count
        turn = (seat + 1) % state.seats if left else seat
        return Step(State(left, turn, state.seats), (Taken(seat, move.count),))

    def default(self, state: State, seat: int) -> Move:
        return Take(1)

    def table(self, state: State) -> Table:
        return Table(state.left, state.turn)

    def own(self, state: State, seat: int) -> Nothing:
        return Nothing()

    def hidden(self, state: State) -> Nothing:
        return Nothing()

    def result(self, state: State) -> Result | None:
        if state.left:
            return None
        return Result(tuple(int(seat == state.turn) for seat in range(state.seats)), (state.turn,))
