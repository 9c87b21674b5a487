from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CleverGedrehtOptions(_message.Message):
    __slots__ = ("rounds", "protect_finisher", "reject_taken")
    ROUNDS_FIELD_NUMBER: _ClassVar[int]
    PROTECT_FINISHER_FIELD_NUMBER: _ClassVar[int]
    REJECT_TAKEN_FIELD_NUMBER: _ClassVar[int]
    rounds: int
    protect_finisher: bool
    reject_taken: bool
    def __init__(self, rounds: _Optional[int] = ..., protect_finisher: bool = ..., reject_taken: bool = ...) -> None: ...

class CleverGedrehtMove(_message.Message):
    __slots__ = ("draw", "take", "use", "reject", "flip", "swap")
    DRAW_FIELD_NUMBER: _ClassVar[int]
    TAKE_FIELD_NUMBER: _ClassVar[int]
    USE_FIELD_NUMBER: _ClassVar[int]
    REJECT_FIELD_NUMBER: _ClassVar[int]
    FLIP_FIELD_NUMBER: _ClassVar[int]
    SWAP_FIELD_NUMBER: _ClassVar[int]
    draw: CleverGedrehtDraw
    take: CleverGedrehtTake
    use: CleverGedrehtUse
    reject: CleverGedrehtReject
    flip: CleverGedrehtFlip
    swap: CleverGedrehtSwap
    def __init__(self, draw: _Optional[_Union[CleverGedrehtDraw, _Mapping]] = ..., take: _Optional[_Union[CleverGedrehtTake, _Mapping]] = ..., use: _Optional[_Union[CleverGedrehtUse, _Mapping]] = ..., reject: _Optional[_Union[CleverGedrehtReject, _Mapping]] = ..., flip: _Optional[_Union[CleverGedrehtFlip, _Mapping]] = ..., swap: _Optional[_Union[CleverGedrehtSwap, _Mapping]] = ...) -> None: ...

class CleverGedrehtDraw(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CleverGedrehtTake(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CleverGedrehtUse(_message.Message):
    __slots__ = ("slot", "face")
    SLOT_FIELD_NUMBER: _ClassVar[int]
    FACE_FIELD_NUMBER: _ClassVar[int]
    slot: int
    face: str
    def __init__(self, slot: _Optional[int] = ..., face: _Optional[str] = ...) -> None: ...

class CleverGedrehtReject(_message.Message):
    __slots__ = ("slot",)
    SLOT_FIELD_NUMBER: _ClassVar[int]
    slot: int
    def __init__(self, slot: _Optional[int] = ...) -> None: ...

class CleverGedrehtFlip(_message.Message):
    __slots__ = ("seat", "slot")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    SLOT_FIELD_NUMBER: _ClassVar[int]
    seat: int
    slot: int
    def __init__(self, seat: _Optional[int] = ..., slot: _Optional[int] = ...) -> None: ...

class CleverGedrehtSwap(_message.Message):
    __slots__ = ("slot", "seat", "other_slot")
    SLOT_FIELD_NUMBER: _ClassVar[int]
    SEAT_FIELD_NUMBER: _ClassVar[int]
    OTHER_SLOT_FIELD_NUMBER: _ClassVar[int]
    slot: int
    seat: int
    other_slot: int
    def __init__(self, slot: _Optional[int] = ..., seat: _Optional[int] = ..., other_slot: _Optional[int] = ...) -> None: ...

class CleverGedrehtTable(_message.Message):
    __slots__ = ("round", "dealer", "turn", "phase", "grids", "top", "taken", "draw_pile", "discard_pile", "finisher", "totals", "last_round")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    DEALER_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    GRIDS_FIELD_NUMBER: _ClassVar[int]
    TOP_FIELD_NUMBER: _ClassVar[int]
    TAKEN_FIELD_NUMBER: _ClassVar[int]
    DRAW_PILE_FIELD_NUMBER: _ClassVar[int]
    DISCARD_PILE_FIELD_NUMBER: _ClassVar[int]
    FINISHER_FIELD_NUMBER: _ClassVar[int]
    TOTALS_FIELD_NUMBER: _ClassVar[int]
    LAST_ROUND_FIELD_NUMBER: _ClassVar[int]
    round: int
    dealer: int
    turn: int
    phase: str
    grids: _containers.RepeatedCompositeFieldContainer[CleverGedrehtGrid]
    top: str
    taken: str
    draw_pile: int
    discard_pile: int
    finisher: int
    totals: _containers.RepeatedScalarFieldContainer[int]
    last_round: CleverGedrehtLastRound
    def __init__(self, round: _Optional[int] = ..., dealer: _Optional[int] = ..., turn: _Optional[int] = ..., phase: _Optional[str] = ..., grids: _Optional[_Iterable[_Union[CleverGedrehtGrid, _Mapping]]] = ..., top: _Optional[str] = ..., taken: _Optional[str] = ..., draw_pile: _Optional[int] = ..., discard_pile: _Optional[int] = ..., finisher: _Optional[int] = ..., totals: _Optional[_Iterable[int]] = ..., last_round: _Optional[_Union[CleverGedrehtLastRound, _Mapping]] = ...) -> None: ...

class CleverGedrehtGrid(_message.Message):
    __slots__ = ("cards",)
    CARDS_FIELD_NUMBER: _ClassVar[int]
    cards: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, cards: _Optional[_Iterable[str]] = ...) -> None: ...

class CleverGedrehtLastRound(_message.Message):
    __slots__ = ("scores", "hands")
    SCORES_FIELD_NUMBER: _ClassVar[int]
    HANDS_FIELD_NUMBER: _ClassVar[int]
    scores: _containers.RepeatedScalarFieldContainer[int]
    hands: _containers.RepeatedCompositeFieldContainer[CleverGedrehtGrid]
    def __init__(self, scores: _Optional[_Iterable[int]] = ..., hands: _Optional[_Iterable[_Union[CleverGedrehtGrid, _Mapping]]] = ...) -> None: ...

class CleverGedrehtOwn(_message.Message):
    __slots__ = ("turned", "drawn")
    TURNED_FIELD_NUMBER: _ClassVar[int]
    DRAWN_FIELD_NUMBER: _ClassVar[int]
    turned: _containers.RepeatedCompositeFieldContainer[CleverGedrehtTurned]
    drawn: str
    def __init__(self, turned: _Optional[_Iterable[_Union[CleverGedrehtTurned, _Mapping]]] = ..., drawn: _Optional[str] = ...) -> None: ...

class CleverGedrehtTurned(_message.Message):
    __slots__ = ("slot", "card")
    SLOT_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    slot: int
    card: str
    def __init__(self, slot: _Optional[int] = ..., card: _Optional[str] = ...) -> None: ...

class CleverGedrehtEvent(_message.Message):
    __slots__ = ("round_started", "drew", "took", "used", "rejected", "flipped", "swapped", "fizzled", "reshuffled", "last_lap", "round_ended")
    ROUND_STARTED_FIELD_NUMBER: _ClassVar[int]
    DREW_FIELD_NUMBER: _ClassVar[int]
    TOOK_FIELD_NUMBER: _ClassVar[int]
    USED_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    FLIPPED_FIELD_NUMBER: _ClassVar[int]
    SWAPPED_FIELD_NUMBER: _ClassVar[int]
    FIZZLED_FIELD_NUMBER: _ClassVar[int]
    RESHUFFLED_FIELD_NUMBER: _ClassVar[int]
    LAST_LAP_FIELD_NUMBER: _ClassVar[int]
    ROUND_ENDED_FIELD_NUMBER: _ClassVar[int]
    round_started: CleverGedrehtRoundStarted
    drew: CleverGedrehtDrew
    took: CleverGedrehtTook
    used: CleverGedrehtUsed
    rejected: CleverGedrehtRejected
    flipped: CleverGedrehtFlipped
    swapped: CleverGedrehtSwapped
    fizzled: CleverGedrehtFizzled
    reshuffled: CleverGedrehtReshuffled
    last_lap: CleverGedrehtLastLap
    round_ended: CleverGedrehtRoundEnded
    def __init__(self, round_started: _Optional[_Union[CleverGedrehtRoundStarted, _Mapping]] = ..., drew: _Optional[_Union[CleverGedrehtDrew, _Mapping]] = ..., took: _Optional[_Union[CleverGedrehtTook, _Mapping]] = ..., used: _Optional[_Union[CleverGedrehtUsed, _Mapping]] = ..., rejected: _Optional[_Union[CleverGedrehtRejected, _Mapping]] = ..., flipped: _Optional[_Union[CleverGedrehtFlipped, _Mapping]] = ..., swapped: _Optional[_Union[CleverGedrehtSwapped, _Mapping]] = ..., fizzled: _Optional[_Union[CleverGedrehtFizzled, _Mapping]] = ..., reshuffled: _Optional[_Union[CleverGedrehtReshuffled, _Mapping]] = ..., last_lap: _Optional[_Union[CleverGedrehtLastLap, _Mapping]] = ..., round_ended: _Optional[_Union[CleverGedrehtRoundEnded, _Mapping]] = ...) -> None: ...

class CleverGedrehtRoundStarted(_message.Message):
    __slots__ = ("round", "dealer", "top")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    DEALER_FIELD_NUMBER: _ClassVar[int]
    TOP_FIELD_NUMBER: _ClassVar[int]
    round: int
    dealer: int
    top: str
    def __init__(self, round: _Optional[int] = ..., dealer: _Optional[int] = ..., top: _Optional[str] = ...) -> None: ...

class CleverGedrehtDrew(_message.Message):
    __slots__ = ("seat", "card")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    seat: int
    card: str
    def __init__(self, seat: _Optional[int] = ..., card: _Optional[str] = ...) -> None: ...

class CleverGedrehtTook(_message.Message):
    __slots__ = ("seat", "card")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    seat: int
    card: str
    def __init__(self, seat: _Optional[int] = ..., card: _Optional[str] = ...) -> None: ...

class CleverGedrehtUsed(_message.Message):
    __slots__ = ("seat", "slot", "face", "replaced", "card")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    SLOT_FIELD_NUMBER: _ClassVar[int]
    FACE_FIELD_NUMBER: _ClassVar[int]
    REPLACED_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    seat: int
    slot: int
    face: str
    replaced: str
    card: str
    def __init__(self, seat: _Optional[int] = ..., slot: _Optional[int] = ..., face: _Optional[str] = ..., replaced: _Optional[str] = ..., card: _Optional[str] = ...) -> None: ...

class CleverGedrehtRejected(_message.Message):
    __slots__ = ("seat", "slot", "card")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    SLOT_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    seat: int
    slot: int
    card: str
    def __init__(self, seat: _Optional[int] = ..., slot: _Optional[int] = ..., card: _Optional[str] = ...) -> None: ...

class CleverGedrehtFlipped(_message.Message):
    __slots__ = ("seat", "target", "slot", "card")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    SLOT_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    seat: int
    target: int
    slot: int
    card: str
    def __init__(self, seat: _Optional[int] = ..., target: _Optional[int] = ..., slot: _Optional[int] = ..., card: _Optional[str] = ...) -> None: ...

class CleverGedrehtSwapped(_message.Message):
    __slots__ = ("seat", "slot", "target", "other_slot", "card", "other_card")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    SLOT_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    OTHER_SLOT_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    OTHER_CARD_FIELD_NUMBER: _ClassVar[int]
    seat: int
    slot: int
    target: int
    other_slot: int
    card: str
    other_card: str
    def __init__(self, seat: _Optional[int] = ..., slot: _Optional[int] = ..., target: _Optional[int] = ..., other_slot: _Optional[int] = ..., card: _Optional[str] = ..., other_card: _Optional[str] = ...) -> None: ...

class CleverGedrehtFizzled(_message.Message):
    __slots__ = ("seat", "card")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    seat: int
    card: str
    def __init__(self, seat: _Optional[int] = ..., card: _Optional[str] = ...) -> None: ...

class CleverGedrehtReshuffled(_message.Message):
    __slots__ = ("count",)
    COUNT_FIELD_NUMBER: _ClassVar[int]
    count: int
    def __init__(self, count: _Optional[int] = ...) -> None: ...

class CleverGedrehtLastLap(_message.Message):
    __slots__ = ("seat",)
    SEAT_FIELD_NUMBER: _ClassVar[int]
    seat: int
    def __init__(self, seat: _Optional[int] = ...) -> None: ...

class CleverGedrehtRoundEnded(_message.Message):
    __slots__ = ("round", "scores")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    round: int
    scores: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, round: _Optional[int] = ..., scores: _Optional[_Iterable[int]] = ...) -> None: ...

class CleverGedrehtEvents(_message.Message):
    __slots__ = ("events",)
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[CleverGedrehtEvent]
    def __init__(self, events: _Optional[_Iterable[_Union[CleverGedrehtEvent, _Mapping]]] = ...) -> None: ...

class CleverGedrehtView(_message.Message):
    __slots__ = ("table", "own", "legal", "events")
    TABLE_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    LEGAL_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    table: CleverGedrehtTable
    own: CleverGedrehtOwn
    legal: _containers.RepeatedCompositeFieldContainer[CleverGedrehtMove]
    events: _containers.RepeatedCompositeFieldContainer[CleverGedrehtEvent]
    def __init__(self, table: _Optional[_Union[CleverGedrehtTable, _Mapping]] = ..., own: _Optional[_Union[CleverGedrehtOwn, _Mapping]] = ..., legal: _Optional[_Iterable[_Union[CleverGedrehtMove, _Mapping]]] = ..., events: _Optional[_Iterable[_Union[CleverGedrehtEvent, _Mapping]]] = ...) -> None: ...
