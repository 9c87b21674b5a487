"""What rules of card games have in common: cards in tuples, the deal, and a transition while it goes on."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, Generic, TypeVar, cast

from msgspec import Struct

from engine.chance import Chance
from engine.game import Event, Step, Told, Whispered

T = TypeVar("T")
S_ = TypeVar("S_", bound=Struct)


def put(values: tuple[T, ...], index: int, value: T) -> tuple[T, ...]:
    """Return the values with the one at the index replaced."""
    changed = list(values)
    changed[index] = value
    return tuple(changed)


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


class Transition(Struct, Generic[S_]):
    """A move or a deal in progress: the chance it may ask, the state it has come to, and what it has told.

    Rules that need all three are methods of a subclass.
    """

    chance: Chance
    state: S_ = cast("Any", None)
    """There is none before the first deal has made one."""
    told: list[Told] = []

    def tell(self, event: Event) -> None:
        """Tell everybody what happened."""
        self.told.append(event)

    def whisper(self, event: Event, *seats: int) -> None:
        """Tell these seats what happened, and everybody else what is left without the event's private fields."""
        self.told.append(Whispered(_public(type(event))(event), seats, event))

    def step(self) -> Step[S_]:
        """Return the transition at its end."""
        return Step(self.state, tuple(self.told))


@cache
def _public(kind: type[Event]) -> Callable[[Event], Event]:
    """What leaves the private fields of one type of event at their defaults; found once, not at every move."""
    private = len(kind.__struct_defaults__)
    assert private, f"{kind.__name__} has no private field"
    names = kind.__struct_fields__[:-private]
    values = attrgetter(*names)
    return (lambda event: kind(*values(event))) if len(names) > 1 else (lambda event: kind(values(event)))
