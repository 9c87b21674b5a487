"""What a game is: the protocol that rules implement and the vocabulary they share.

Rules are pure. A state is a frozen value, a transition returns a new one, chance comes in from outside, and nothing is
ever masked to make a view: what is secret has no field in the public types, and what only some seats may know of an
event is told to them in a `Whispered` pair of events.

Names that cross the engine's border (moves, fields, words) are those of section 5 of a game's rules. A class names its
move or event by its own name in snake case: `PlayDrawn` is `play_drawn`.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from engine.chance import Chance
from engine.refusals import BadOptions, BadSeats, IllegalMove, MalformedMove

__all__ = [
    "UNSET",
    "Card",
    "Cards",
    "Event",
    "Game",
    "Move",
    "Options",
    "Result",
    "Step",
    "Told",
    "UnsetType",
    "Vocabulary",
    "Whispered",
    "encode",
]


class Options(Struct, frozen=True, forbid_unknown_fields=True):
    """Base of a game's options: every field has a default, its range in `msgspec.Meta(ge=, le=)` or a `Literal`.

    Titles for the catalogue stand in `msgspec.Meta(extra={"de": ..., "en": ...})`.
    """


class Move(Struct, frozen=True, forbid_unknown_fields=True):
    """Base of a game's moves, which are hashable: a list in one is a tuple.

    A field that may be absent has the type `X | UnsetType` and the default `UNSET`.
    """


class Event(Struct, frozen=True):
    """Base of a game's events.

    A field that only some seats may know stands last and has a default, null or empty: what the others are told.
    """


class Whispered(Struct, frozen=True):
    """One event in two tellings: `private` for `seats`, `public` for everybody else, spectators included."""

    public: Event
    seats: tuple[int, ...]
    private: Event


Told = Event | Whispered


class Cards(Struct, frozen=True):
    """A list of cards inside a list (`piles`, `grids`, `hands`): protobuf has no list of lists."""

    cards: tuple[str, ...] = ()


class Result(Struct, frozen=True):
    """How a match ended: final totals per seat as the game counts them, and the winning seats, ascending."""

    scores: tuple[int, ...]
    winners: tuple[int, ...]


class Card(Struct, frozen=True):
    """A card of the catalogue. `extra` is what else the game says of it, e.g. `{"coins": 2}`."""

    code: str
    group: str
    de: str
    en: str
    extra: Mapping[str, int | str] = {}


O_ = TypeVar("O_", bound=Options)
S_ = TypeVar("S_", bound=Struct)


class Step(NamedTuple, Generic[S_]):
    """What a transition gives: the state after it and what happened, in order."""

    state: S_
    events: tuple[Told, ...]


encode = msgspec.json.Encoder().encode
"""Returns compact UTF-8 JSON with keys in declared order; fields that are `UNSET` are left out."""

MAX_MOVE_BYTES = 4096
"""A move's JSON is not longer; what is longer is refused unread."""

MEMORABLE_BYTES = 128
MEMORABLE_MOVES = 4096
"""What says a move in up to so many bytes is decoded once, for the last so many, and spelled once: a match has few
different moves, and makes them again and again."""

_OPTION = re.compile(r"(?:at `\$\.|unknown field `)(\w+)[^`]*`$")
"""Where msgspec's complaint ends with the name of an option."""


def short_enough(move: bytes) -> bytes:
    """Return a move's JSON that may be read. Raises MalformedMove for one of more than MAX_MOVE_BYTES."""
    if len(move) > MAX_MOVE_BYTES:
        raise MalformedMove(f"a move has at most {MAX_MOVE_BYTES} bytes, this one has {len(move)}")
    return move


def _named(error: str) -> dict[str, str]:
    """Return the option that msgspec complains of as `field`, nothing if its words name none."""
    found = _OPTION.search(error)
    return {"field": found[1]} if found else {}


def snake(name: str) -> str:
    """Return a class name in snake case: `PlayDrawn` -> `play_drawn`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class Vocabulary:
    """The JSON of one-key objects, `{"play": {"card": "blue-7"}}`, for a fixed list of struct types."""

    def __init__(self, types: Sequence[type[Struct]]) -> None:
        """Build the codec; `types` are in the order in which section 5 lists their names."""
        self.names: dict[type[Struct], str] = {kind: snake(kind.__name__) for kind in types}
        fields = [(name, kind | UnsetType, UNSET) for kind, name in self.names.items()]
        self._object = msgspec.defstruct("OneOf", fields, forbid_unknown_fields=True, frozen=True)
        self._decoder = msgspec.json.Decoder(self._object)

    def encode(self, value: Struct) -> bytes:
        """Return the one-key object of a value as JSON."""
        return encode({self.names[type(value)]: value})

    def encode_list(self, values: Sequence[Struct]) -> bytes:
        """Return a JSON list of one-key objects."""
        names = self.names
        return encode([{names[type(value)]: value} for value in values])

    def decode(self, data: bytes) -> Any:
        """Return the value in a one-key object.

        Raises MalformedMove for anything else: unknown name, two names, missing, surplus, mistyped or null field, and
        unread for what is longer than MAX_MOVE_BYTES.
        """
        return self._decode(short_enough(data))

    def _decode(self, data: bytes) -> Any:
        try:
            return self._only(self._decoder.decode(data))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise MalformedMove(f"the move has a wrong shape: {error}") from None

    def convert(self, value: object) -> Any:
        """As `decode`, from parsed JSON."""
        try:
            return self._only(msgspec.convert(value, self._object))
        except (msgspec.ValidationError, RecursionError) as error:
            raise MalformedMove(f"the move has a wrong shape: {error}") from None

    def _only(self, parsed: Struct) -> Struct:
        given = [value for name in parsed.__struct_fields__ if (value := getattr(parsed, name)) is not UNSET]
        if len(given) != 1:
            raise MalformedMove(f"a move has exactly one name, this one has {len(given)}")
        found: Struct = given[0]
        return found


class _Spelled(dict[Struct, bytes]):
    """The JSON of moves, remembered for MEMORABLE_MOVES short ones."""

    def __init__(self, spell: Callable[[Struct], bytes]) -> None:
        super().__init__()
        self._spell = spell

    def __missing__(self, move: Struct) -> bytes:
        spelled = self._spell(move)
        if len(spelled) <= MEMORABLE_BYTES:
            if len(self) >= MEMORABLE_MOVES:
                self.clear()
            self[move] = spelled
        return spelled


class MoveVocabulary(Vocabulary):
    """The JSON of a game's moves: there are so few different ones that it pays to remember how they are spelled."""

    def __init__(self, types: Sequence[type[Struct]]) -> None:
        """Build the codec, as for any vocabulary."""
        super().__init__(types)
        self._spelled = _Spelled(super().encode)
        self._read = lru_cache(MEMORABLE_MOVES)(self._decode_and_spell)

    def decode(self, data: bytes) -> Any:
        """Return the move in a one-key object. Raises MalformedMove."""
        return self.read(data)[0]

    def read(self, data: bytes) -> tuple[Any, bytes]:
        """Return the move in a one-key object, and the right spelling of it. Raises MalformedMove as any `decode`."""
        return self._read(data) if len(data) <= MEMORABLE_BYTES else self._decode_and_spell(short_enough(data))

    def _decode_and_spell(self, data: bytes) -> tuple[Any, bytes]:
        move = self._decode(data)
        return move, self._spelled[move]

    def encode(self, value: Struct) -> bytes:
        """Return the one-key object of a move as JSON."""
        return self._spelled[value]

    def encode_list(self, values: Sequence[Struct]) -> bytes:
        """Return a JSON list of one-key objects."""
        return b"[%b]" % b",".join(map(self._spelled.__getitem__, values))


class Game(ABC, Generic[O_, S_]):
    """The rules of one game in one version.

    Implementations are stateless; one instance serves every match. In all methods seats are 0..n-1 in playing order.
    A new version that alters any replay is a new class under a new `rules_version`, registered beside the old one.
    """

    name: ClassVar[str]
    rules_version: ClassVar[int] = 1
    seats: ClassVar[range]
    titles: ClassVar[Mapping[str, str]]
    """Display names by language: `de`, `en`."""
    options_type: type[O_]
    moves: ClassVar[tuple[type[Move], ...]]
    """In the order of section 5, which is the order of `legal`."""
    events: ClassVar[tuple[type[Event], ...]]
    cards: ClassVar[tuple[Card, ...]]
    """Every code once, in canonical order."""

    move_json: MoveVocabulary
    event_json: Vocabulary

    def __init__(self) -> None:
        """Build the codecs of the game's moves and events."""
        self.move_json = MoveVocabulary(self.moves)
        self.event_json = Vocabulary(self.events)
        self._options_decoder = msgspec.json.Decoder(self.options_type)

    @property
    def rules(self) -> str:
        """Return the key of these rules in the registry: `timos_twist/1`."""
        return f"{self.name}/{self.rules_version}"

    def options(self, given: Mapping[str, Any], seats: int) -> O_:
        """Return all options, the ones not given at their defaults.

        Raises BadSeats for a number of seats the game has not, BadOptions (`field`: the option's name) for an unknown,
        mistyped or out-of-range one.
        """
        self.check_seats(seats)
        try:
            options = msgspec.convert(dict(given), self.options_type)
        except msgspec.ValidationError as error:
            raise BadOptions(f"bad option: {error}", **_named(str(error))) from None
        return self.settle(options, seats)

    def check_seats(self, seats: int) -> None:
        """Return if the game can have so many seats. Raises BadSeats."""
        if seats not in self.seats:
            raise BadSeats(f"{self.name} is for {self.seats[0]} to {self.seats[-1]} seats, not {seats}", seats=seats)

    def settle(self, options: O_, seats: int) -> O_:
        """Return the options with every default filled in that depends on the number of seats."""
        del seats
        return options

    def count(self, code: str, seats: int) -> int:
        """Return how many copies of a card are in play with so many seats."""
        del code, seats
        return 1

    def allows(self, state: S_, seat: int, move: Move) -> bool:
        """Return whether a move is among `legal(state, seat)`. Override only to be faster."""
        return move in self.legal(state, seat)

    def check(self, state: S_, seat: int, move: Move) -> None:
        """Raise IllegalMove unless `allows` does."""
        if not self.allows(state, seat, move):
            raise IllegalMove(f"{self.move_json.encode(move).decode()} is not legal now", seat=seat)

    def told(self, events: Sequence[Told], seat: int | None) -> list[Event]:
        """Return the events as `seat` may see them; None is a spectator."""
        return [
            (event.private if seat in event.seats else event.public) if isinstance(event, Whispered) else event
            for event in events
        ]

    def tellings(self, events: Sequence[Told]) -> tuple[bytes, dict[int, bytes]]:
        """Return the JSON of the events as everybody may see them, and by seat for those that are told more."""
        spell = self.event_json.encode_list
        seats = [seat for event in events if isinstance(event, Whispered) for seat in event.seats]
        if not seats:
            return spell(events), {}
        return spell(self.told(events, None)), {seat: spell(self.told(events, seat)) for seat in set(seats)}

    def out(self, state: S_) -> tuple[int, ...]:
        """Return the seats that will not be asked anything again before the match ends; none in most games."""
        del state
        return ()

    @abstractmethod
    def setup(self, options: O_, seats: int, chance: Chance) -> Step[S_]:
        """Return the state after the first deal. Draws chance in the order of the rules' section on random calls."""

    @abstractmethod
    def legal(self, state: S_, seat: int) -> list[Move]:
        """Return the seat's legal moves, ordered: by name as in `moves`, then by field (rules/README, Order)."""

    @abstractmethod
    def to_act(self, state: S_) -> tuple[int, ...]:
        """Return the seats that owe a move, ascending; empty exactly when the match is over."""

    @abstractmethod
    def asked(self, state: S_, seat: int) -> Hashable | None:
        """Return a name of the decision that the seat faces, or None if it has no legal move.

        Equal names: still the same decision.
        """

    @abstractmethod
    def apply(self, state: S_, seat: int, move: Move, chance: Chance) -> Step[S_]:
        """Return what a move does that `check` has let pass."""

    @abstractmethod
    def default(self, state: S_, seat: int) -> Move:
        """Return the legal move that the clock makes for a seat in `to_act` (the rules' section on timed-out seats)."""

    @abstractmethod
    def table(self, state: S_) -> Struct:
        """Return what everybody may know."""

    @abstractmethod
    def own(self, state: S_, seat: int) -> Struct:
        """Return what only this seat may know."""

    @abstractmethod
    def hidden(self, state: S_) -> Struct:
        """Return what nobody sees and the game needs to go on: together with every view it determines the state."""

    @abstractmethod
    def result(self, state: S_) -> Result | None:
        """Return the result once the match is over, else None."""
