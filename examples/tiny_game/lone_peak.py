"""Lone Peak, rules version 1. LP-n are the clauses of README.md.

Hidden: the cards that were not dealt, in the order of the shuffle. They never come into play, but a state has them.
"""

from collections.abc import Hashable, Mapping
from typing import Annotated, ClassVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from engine.chance import Chance
from engine.game import Card, Cards, Event, Game, Move, Options, Result, Step, Told, Whispered

PEAKS = tuple("123456")
COPIES = 2
DECK = tuple(code for code in PEAKS for _ in range(COPIES))  # LP-1


class LonePeakOptions(Options, frozen=True):
    """LP-2."""

    rounds: Annotated[int, Meta(ge=1, le=3, extra={"de": "Runden", "en": "Rounds"})] = 3


class Lay(Move, frozen=True):
    """Lay a card of the hand, covered."""

    card: str


class Laid(Event, frozen=True):
    """A seat has laid a card; which one, only itself is told."""

    seat: int
    card: str | None


class Uncovered(Event, frozen=True):
    """All cards of a round were turned over, listed by seat, and `winner` has scored, if anybody has."""

    cards: tuple[str, ...]
    winner: int | None


class State(Struct, frozen=True):
    """All there is to know. Hands are in canonical order; `trails` has the uncovered cards, a round each."""

    options: LonePeakOptions
    hands: tuple[tuple[str, ...], ...]
    laid: tuple[str | None, ...]
    trails: tuple[Cards, ...]
    points: tuple[int, ...]
    rest: tuple[str, ...]


class Table(Struct, frozen=True):
    """What everybody knows: the seats that have answered, but not with what."""

    round: int
    answered: tuple[int, ...]
    trails: tuple[Cards, ...]
    points: tuple[int, ...]


class Own(Struct, frozen=True):
    hand: tuple[str, ...]
    laid: str | None


class Hidden(Struct, frozen=True):
    rest: tuple[str, ...]


class LonePeak(Game[LonePeakOptions, State]):
    name = "lone_peak"
    seats = range(2, 5)
    titles: ClassVar[Mapping[str, str]] = {"de": "Einsame Spitze", "en": "Lone Peak"}
    options_type = LonePeakOptions
    moves = (Lay,)
    events = (Laid, Uncovered)
    cards = tuple(Card(code, "peak", f"Gipfel {code}", f"Peak {code}") for code in PEAKS)

    def count(self, code: str, seats: int) -> int:  # LP-1
        del code, seats
        return COPIES

    def setup(self, options: LonePeakOptions, seats: int, chance: Chance) -> Step[State]:
        """LP-2; chance: shuffle(deck)."""
        deck, size = chance.shuffle(DECK), options.rounds
        hands = tuple(tuple(sorted(deck[seat * size : (seat + 1) * size])) for seat in range(seats))
        return Step(State(options, hands, (None,) * seats, (), (0,) * seats, deck[seats * size :]), ())

    def to_act(self, state: State) -> tuple[int, ...]:
        """LP-3: everybody who has not laid, all at once."""
        return tuple(seat for seat, hand in enumerate(state.hands) if hand and state.laid[seat] is None)

    def legal(self, state: State, seat: int) -> list[Move]:
        """LP-3; equal cards are one move."""
        return [Lay(card) for card in dict.fromkeys(state.hands[seat])] if seat in self.to_act(state) else []

    def asked(self, state: State, seat: int) -> Hashable | None:
        """The round, until the seat has laid."""
        return len(state.trails) if seat in self.to_act(state) else None

    def apply(self, state: State, seat: int, move: Move, chance: Chance) -> Step[State]:
        """LP-3; the last card of a round uncovers them all (LP-4)."""
        del chance
        assert isinstance(move, Lay)
        place = state.hands[seat].index(move.card)
        hand = state.hands[seat][:place] + state.hands[seat][place + 1 :]
        state = replace(
            state,
            hands=(*state.hands[:seat], hand, *state.hands[seat + 1 :]),
            laid=(*state.laid[:seat], move.card, *state.laid[seat + 1 :]),
        )
        events: list[Told] = [Whispered(Laid(seat, None), (seat,), Laid(seat, move.card))]
        cards = tuple(card for card in state.laid if card is not None)
        if len(cards) == len(state.laid):
            lone = [card for card in cards if cards.count(card) == 1]
            winner = cards.index(max(lone)) if lone else None  # LP-4
            points = tuple(had + (other == winner) for other, had in enumerate(state.points))
            trails = (*state.trails, Cards(cards))  # LP-5
            state = replace(state, laid=(None,) * len(cards), trails=trails, points=points)
            events.append(Uncovered(cards, winner))
        return Step(state, tuple(events))

    def default(self, state: State, seat: int) -> Move:
        """LP-7."""
        return Lay(state.hands[seat][0])

    def table(self, state: State) -> Table:
        number = min(len(state.trails) + 1, state.options.rounds)
        answered = tuple(seat for seat, card in enumerate(state.laid) if card is not None)
        return Table(number, answered, state.trails, state.points)

    def own(self, state: State, seat: int) -> Own:
        return Own(state.hands[seat], state.laid[seat])

    def hidden(self, state: State) -> Hidden:
        return Hidden(state.rest)

    def result(self, state: State) -> Result | None:
        """LP-6."""
        if len(state.trails) < state.options.rounds:
            return None
        best = max(state.points)
        return Result(state.points, tuple(seat for seat, points in enumerate(state.points) if points == best))
