from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BombenziehenOptions(_message.Message):
    __slots__ = ("duds_in_start_hand",)
    DUDS_IN_START_HAND_FIELD_NUMBER: _ClassVar[int]
    duds_in_start_hand: bool
    def __init__(self, duds_in_start_hand: bool = ...) -> None: ...

class BombenziehenMove(_message.Message):
    __slots__ = ("play", "draw", "place", "place_random")
    PLAY_FIELD_NUMBER: _ClassVar[int]
    DRAW_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    PLACE_RANDOM_FIELD_NUMBER: _ClassVar[int]
    play: BombenziehenPlay
    draw: BombenziehenDraw
    place: BombenziehenPlace
    place_random: BombenziehenPlaceRandom
    def __init__(self, play: _Optional[_Union[BombenziehenPlay, _Mapping]] = ..., draw: _Optional[_Union[BombenziehenDraw, _Mapping]] = ..., place: _Optional[_Union[BombenziehenPlace, _Mapping]] = ..., place_random: _Optional[_Union[BombenziehenPlaceRandom, _Mapping]] = ...) -> None: ...

class BombenziehenPlay(_message.Message):
    __slots__ = ("card", "target")
    CARD_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    card: str
    target: int
    def __init__(self, card: _Optional[str] = ..., target: _Optional[int] = ...) -> None: ...

class BombenziehenDraw(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class BombenziehenPlace(_message.Message):
    __slots__ = ("index",)
    INDEX_FIELD_NUMBER: _ClassVar[int]
    index: int
    def __init__(self, index: _Optional[int] = ...) -> None: ...

class BombenziehenPlaceRandom(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class BombenziehenTable(_message.Message):
    __slots__ = ("turn", "phase", "owed", "pile", "bombs", "alive", "shields", "hand_sizes", "discard", "out")
    TURN_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    OWED_FIELD_NUMBER: _ClassVar[int]
    PILE_FIELD_NUMBER: _ClassVar[int]
    BOMBS_FIELD_NUMBER: _ClassVar[int]
    ALIVE_FIELD_NUMBER: _ClassVar[int]
    SHIELDS_FIELD_NUMBER: _ClassVar[int]
    HAND_SIZES_FIELD_NUMBER: _ClassVar[int]
    DISCARD_FIELD_NUMBER: _ClassVar[int]
    OUT_FIELD_NUMBER: _ClassVar[int]
    turn: int
    phase: str
    owed: int
    pile: int
    bombs: int
    alive: _containers.RepeatedScalarFieldContainer[bool]
    shields: _containers.RepeatedScalarFieldContainer[bool]
    hand_sizes: _containers.RepeatedScalarFieldContainer[int]
    discard: _containers.RepeatedScalarFieldContainer[str]
    out: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, turn: _Optional[int] = ..., phase: _Optional[str] = ..., owed: _Optional[int] = ..., pile: _Optional[int] = ..., bombs: _Optional[int] = ..., alive: _Optional[_Iterable[bool]] = ..., shields: _Optional[_Iterable[bool]] = ..., hand_sizes: _Optional[_Iterable[int]] = ..., discard: _Optional[_Iterable[str]] = ..., out: _Optional[_Iterable[int]] = ...) -> None: ...

class BombenziehenKnown(_message.Message):
    __slots__ = ("index", "card")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    index: int
    card: str
    def __init__(self, index: _Optional[int] = ..., card: _Optional[str] = ...) -> None: ...

class BombenziehenOwn(_message.Message):
    __slots__ = ("hand", "known")
    HAND_FIELD_NUMBER: _ClassVar[int]
    KNOWN_FIELD_NUMBER: _ClassVar[int]
    hand: _containers.RepeatedScalarFieldContainer[str]
    known: _containers.RepeatedCompositeFieldContainer[BombenziehenKnown]
    def __init__(self, hand: _Optional[_Iterable[str]] = ..., known: _Optional[_Iterable[_Union[BombenziehenKnown, _Mapping]]] = ...) -> None: ...

class BombenziehenEvent(_message.Message):
    __slots__ = ("started", "played", "peeked", "stole", "drew", "bomb_drawn", "bomb_returned", "shuffled", "eliminated", "won")
    STARTED_FIELD_NUMBER: _ClassVar[int]
    PLAYED_FIELD_NUMBER: _ClassVar[int]
    PEEKED_FIELD_NUMBER: _ClassVar[int]
    STOLE_FIELD_NUMBER: _ClassVar[int]
    DREW_FIELD_NUMBER: _ClassVar[int]
    BOMB_DRAWN_FIELD_NUMBER: _ClassVar[int]
    BOMB_RETURNED_FIELD_NUMBER: _ClassVar[int]
    SHUFFLED_FIELD_NUMBER: _ClassVar[int]
    ELIMINATED_FIELD_NUMBER: _ClassVar[int]
    WON_FIELD_NUMBER: _ClassVar[int]
    started: BombenziehenStarted
    played: BombenziehenPlayed
    peeked: BombenziehenPeeked
    stole: BombenziehenStole
    drew: BombenziehenDrew
    bomb_drawn: BombenziehenBombDrawn
    bomb_returned: BombenziehenBombReturned
    shuffled: BombenziehenShuffled
    eliminated: BombenziehenEliminated
    won: BombenziehenWon
    def __init__(self, started: _Optional[_Union[BombenziehenStarted, _Mapping]] = ..., played: _Optional[_Union[BombenziehenPlayed, _Mapping]] = ..., peeked: _Optional[_Union[BombenziehenPeeked, _Mapping]] = ..., stole: _Optional[_Union[BombenziehenStole, _Mapping]] = ..., drew: _Optional[_Union[BombenziehenDrew, _Mapping]] = ..., bomb_drawn: _Optional[_Union[BombenziehenBombDrawn, _Mapping]] = ..., bomb_returned: _Optional[_Union[BombenziehenBombReturned, _Mapping]] = ..., shuffled: _Optional[_Union[BombenziehenShuffled, _Mapping]] = ..., eliminated: _Optional[_Union[BombenziehenEliminated, _Mapping]] = ..., won: _Optional[_Union[BombenziehenWon, _Mapping]] = ...) -> None: ...

class BombenziehenStarted(_message.Message):
    __slots__ = ("seat",)
    SEAT_FIELD_NUMBER: _ClassVar[int]
    seat: int
    def __init__(self, seat: _Optional[int] = ...) -> None: ...

class BombenziehenPlayed(_message.Message):
    __slots__ = ("seat", "card", "target", "blocked")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    BLOCKED_FIELD_NUMBER: _ClassVar[int]
    seat: int
    card: str
    target: int
    blocked: bool
    def __init__(self, seat: _Optional[int] = ..., card: _Optional[str] = ..., target: _Optional[int] = ..., blocked: bool = ...) -> None: ...

class BombenziehenPeeked(_message.Message):
    __slots__ = ("seat", "cards")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    CARDS_FIELD_NUMBER: _ClassVar[int]
    seat: int
    cards: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, seat: _Optional[int] = ..., cards: _Optional[_Iterable[str]] = ...) -> None: ...

class BombenziehenStole(_message.Message):
    __slots__ = ("seat", "target", "card")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    seat: int
    target: int
    card: str
    def __init__(self, seat: _Optional[int] = ..., target: _Optional[int] = ..., card: _Optional[str] = ...) -> None: ...

class BombenziehenDrew(_message.Message):
    __slots__ = ("seat", "source", "card")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    seat: int
    source: str
    card: str
    def __init__(self, seat: _Optional[int] = ..., source: _Optional[str] = ..., card: _Optional[str] = ...) -> None: ...

class BombenziehenBombDrawn(_message.Message):
    __slots__ = ("seat", "source", "defused")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    DEFUSED_FIELD_NUMBER: _ClassVar[int]
    seat: int
    source: str
    defused: bool
    def __init__(self, seat: _Optional[int] = ..., source: _Optional[str] = ..., defused: bool = ...) -> None: ...

class BombenziehenBombReturned(_message.Message):
    __slots__ = ("seat", "index")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    seat: int
    index: int
    def __init__(self, seat: _Optional[int] = ..., index: _Optional[int] = ...) -> None: ...

class BombenziehenShuffled(_message.Message):
    __slots__ = ("seat",)
    SEAT_FIELD_NUMBER: _ClassVar[int]
    seat: int
    def __init__(self, seat: _Optional[int] = ...) -> None: ...

class BombenziehenEliminated(_message.Message):
    __slots__ = ("seat", "cards")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    CARDS_FIELD_NUMBER: _ClassVar[int]
    seat: int
    cards: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, seat: _Optional[int] = ..., cards: _Optional[_Iterable[str]] = ...) -> None: ...

class BombenziehenWon(_message.Message):
    __slots__ = ("seat",)
    SEAT_FIELD_NUMBER: _ClassVar[int]
    seat: int
    def __init__(self, seat: _Optional[int] = ...) -> None: ...

class BombenziehenEvents(_message.Message):
    __slots__ = ("events",)
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[BombenziehenEvent]
    def __init__(self, events: _Optional[_Iterable[_Union[BombenziehenEvent, _Mapping]]] = ...) -> None: ...

class BombenziehenView(_message.Message):
    __slots__ = ("table", "own", "legal", "events")
    TABLE_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    LEGAL_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    table: BombenziehenTable
    own: BombenziehenOwn
    legal: _containers.RepeatedCompositeFieldContainer[BombenziehenMove]
    events: _containers.RepeatedCompositeFieldContainer[BombenziehenEvent]
    def __init__(self, table: _Optional[_Union[BombenziehenTable, _Mapping]] = ..., own: _Optional[_Union[BombenziehenOwn, _Mapping]] = ..., legal: _Optional[_Iterable[_Union[BombenziehenMove, _Mapping]]] = ..., events: _Optional[_Iterable[_Union[BombenziehenEvent, _Mapping]]] = ...) -> None: ...
