"""What rules of card games have in common: cards in tuples, the deal, and a transition while it goes on."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from engine.chance import Chance
from engine.game import Event, Step, Told, Whispered

T = TypeVar("T")
E_ = TypeVar("E_", bound=Event)
S_ = TypeVar("S_", bound=Struct)


def put(values: tuple[T, ...], index: int, value: T) -> tuple[T, ...]:
    """Return the values with the one at the index replaced."""
    return (*values[:index], value, *values[index + 1 :])


def without(cards: tuple[str, ...], card: str) -> tuple[str, ...]:
    """Return the cards with one copy of `card` less; the others keep their order."""
    index = cards.index(card)
    return cards[:index] + cards[index + 1 :]


def ordered(cards: Iterable[str], order: Mapping[str, int]) -> tuple[str, ...]:
    """Return the cards in canonical order."""
    return tuple(sorted(cards, key=order.__getitem__))


def dealt(deck: Sequence[str], seats: int, count: int, first: int) -> tuple[tuple[str, ...], ...]:
    """Return per seat the cards it gets from the top of the deck, one at a time, `count` times around from `first`."""
    return tuple(tuple(deck[(seat - first) % seats : count * seats : seats]) for seat in range(seats))


def added(totals: tuple[int, ...], scores: tuple[int, ...]) -> tuple[int, ...]:
    """Return the totals per seat with the scores of a round."""
    return tuple(map(int.__add__, totals, scores))


class Transition(Generic[S_]):
    """A move or a deal in progress: the state it has come to, the chance it may ask, and what it has told.

    Rules that need all three are methods of a subclass; there is no state before the first deal has made one.
    """

    __slots__ = ("chance", "state", "told")
    state: S_

    def __init__(self, chance: Chance, state: S_ | None = None) -> None:
        self.chance = chance
        self.told: list[Told] = []
        if state is not None:
            self.state = state

    def change(self, **fields: Any) -> None:
        """Go on from the state with these fields replaced."""
        self.state = replace(self.state, **fields)

    def tell(self, event: Event) -> None:
        """Tell everybody what happened."""
        self.told.append(event)

    def whisper(self, event: Event, *seats: int) -> None:
        """Tell these seats what happened, and everybody else what is left without the event's private fields."""
        self.told.append(Whispered(public(event), seats, event))

    def step(self) -> Step[S_]:
        """Return the transition at its end."""
        return Step(self.state, tuple(self.told))


def public(event: E_) -> E_:
    """Return the event with its private fields at their defaults."""
    kind = type(event)
    return kind(*[getattr(event, name) for name in _told_to_all(kind)])


@cache
def _told_to_all(kind: type[Event]) -> tuple[str, ...]:
    """The fields of a type of event without defaults."""
    private = len(kind.__struct_defaults__)
    assert private, f"{kind.__name__} has no private field"
    return kind.__struct_fields__[:-private]
