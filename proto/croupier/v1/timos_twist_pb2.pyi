from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TimosTwistOptions(_message.Message):
    __slots__ = ("target", "stack_equal", "twist_skips_two", "must_play", "timo")
    TARGET_FIELD_NUMBER: _ClassVar[int]
    STACK_EQUAL_FIELD_NUMBER: _ClassVar[int]
    TWIST_SKIPS_TWO_FIELD_NUMBER: _ClassVar[int]
    MUST_PLAY_FIELD_NUMBER: _ClassVar[int]
    TIMO_FIELD_NUMBER: _ClassVar[int]
    target: int
    stack_equal: bool
    twist_skips_two: bool
    must_play: bool
    timo: str
    def __init__(self, target: _Optional[int] = ..., stack_equal: bool = ..., twist_skips_two: bool = ..., must_play: bool = ..., timo: _Optional[str] = ...) -> None: ...

class TimosTwistMove(_message.Message):
    __slots__ = ("play", "play_drawn", "draw", "keep", "take", "call_timo", "catch")
    PLAY_FIELD_NUMBER: _ClassVar[int]
    PLAY_DRAWN_FIELD_NUMBER: _ClassVar[int]
    DRAW_FIELD_NUMBER: _ClassVar[int]
    KEEP_FIELD_NUMBER: _ClassVar[int]
    TAKE_FIELD_NUMBER: _ClassVar[int]
    CALL_TIMO_FIELD_NUMBER: _ClassVar[int]
    CATCH_FIELD_NUMBER: _ClassVar[int]
    play: TimosTwistPlay
    play_drawn: TimosTwistPlayDrawn
    draw: TimosTwistDraw
    keep: TimosTwistKeep
    take: TimosTwistTake
    call_timo: TimosTwistCallTimo
    catch: TimosTwistCatch
    def __init__(self, play: _Optional[_Union[TimosTwistPlay, _Mapping]] = ..., play_drawn: _Optional[_Union[TimosTwistPlayDrawn, _Mapping]] = ..., draw: _Optional[_Union[TimosTwistDraw, _Mapping]] = ..., keep: _Optional[_Union[TimosTwistKeep, _Mapping]] = ..., take: _Optional[_Union[TimosTwistTake, _Mapping]] = ..., call_timo: _Optional[_Union[TimosTwistCallTimo, _Mapping]] = ..., catch: _Optional[_Union[TimosTwistCatch, _Mapping]] = ...) -> None: ...

class TimosTwistPlay(_message.Message):
    __slots__ = ("card", "color", "timo")
    CARD_FIELD_NUMBER: _ClassVar[int]
    COLOR_FIELD_NUMBER: _ClassVar[int]
    TIMO_FIELD_NUMBER: _ClassVar[int]
    card: str
    color: str
    timo: bool
    def __init__(self, card: _Optional[str] = ..., color: _Optional[str] = ..., timo: bool = ...) -> None: ...

class TimosTwistPlayDrawn(_message.Message):
    __slots__ = ("color", "timo")
    COLOR_FIELD_NUMBER: _ClassVar[int]
    TIMO_FIELD_NUMBER: _ClassVar[int]
    color: str
    timo: bool
    def __init__(self, color: _Optional[str] = ..., timo: bool = ...) -> None: ...

class TimosTwistDraw(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TimosTwistKeep(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TimosTwistTake(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TimosTwistCallTimo(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TimosTwistCatch(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TimosTwistTable(_message.Message):
    __slots__ = ("round", "dealer", "turn", "phase", "direction", "top", "color", "pending", "draw_pile", "discard_pile", "hand_sizes", "totals", "timo_window", "last_round")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    DEALER_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    TOP_FIELD_NUMBER: _ClassVar[int]
    COLOR_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    DRAW_PILE_FIELD_NUMBER: _ClassVar[int]
    DISCARD_PILE_FIELD_NUMBER: _ClassVar[int]
    HAND_SIZES_FIELD_NUMBER: _ClassVar[int]
    TOTALS_FIELD_NUMBER: _ClassVar[int]
    TIMO_WINDOW_FIELD_NUMBER: _ClassVar[int]
    LAST_ROUND_FIELD_NUMBER: _ClassVar[int]
    round: int
    dealer: int
    turn: int
    phase: str
    direction: int
    top: str
    color: str
    pending: int
    draw_pile: int
    discard_pile: int
    hand_sizes: _containers.RepeatedScalarFieldContainer[int]
    totals: _containers.RepeatedScalarFieldContainer[int]
    timo_window: int
    last_round: TimosTwistLastRound
    def __init__(self, round: _Optional[int] = ..., dealer: _Optional[int] = ..., turn: _Optional[int] = ..., phase: _Optional[str] = ..., direction: _Optional[int] = ..., top: _Optional[str] = ..., color: _Optional[str] = ..., pending: _Optional[int] = ..., draw_pile: _Optional[int] = ..., discard_pile: _Optional[int] = ..., hand_sizes: _Optional[_Iterable[int]] = ..., totals: _Optional[_Iterable[int]] = ..., timo_window: _Optional[int] = ..., last_round: _Optional[_Union[TimosTwistLastRound, _Mapping]] = ...) -> None: ...

class TimosTwistLastRound(_message.Message):
    __slots__ = ("scores", "hands")
    SCORES_FIELD_NUMBER: _ClassVar[int]
    HANDS_FIELD_NUMBER: _ClassVar[int]
    scores: _containers.RepeatedScalarFieldContainer[int]
    hands: _containers.RepeatedCompositeFieldContainer[TimosTwistHand]
    def __init__(self, scores: _Optional[_Iterable[int]] = ..., hands: _Optional[_Iterable[_Union[TimosTwistHand, _Mapping]]] = ...) -> None: ...

class TimosTwistHand(_message.Message):
    __slots__ = ("cards",)
    CARDS_FIELD_NUMBER: _ClassVar[int]
    cards: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, cards: _Optional[_Iterable[str]] = ...) -> None: ...

class TimosTwistOwn(_message.Message):
    __slots__ = ("hand", "drawn")
    HAND_FIELD_NUMBER: _ClassVar[int]
    DRAWN_FIELD_NUMBER: _ClassVar[int]
    hand: _containers.RepeatedScalarFieldContainer[str]
    drawn: str
    def __init__(self, hand: _Optional[_Iterable[str]] = ..., drawn: _Optional[str] = ...) -> None: ...

class TimosTwistEvent(_message.Message):
    __slots__ = ("round_started", "played", "drew", "kept", "reshuffled", "timo_called", "caught", "round_ended")
    ROUND_STARTED_FIELD_NUMBER: _ClassVar[int]
    PLAYED_FIELD_NUMBER: _ClassVar[int]
    DREW_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    RESHUFFLED_FIELD_NUMBER: _ClassVar[int]
    TIMO_CALLED_FIELD_NUMBER: _ClassVar[int]
    CAUGHT_FIELD_NUMBER: _ClassVar[int]
    ROUND_ENDED_FIELD_NUMBER: _ClassVar[int]
    round_started: TimosTwistRoundStarted
    played: TimosTwistPlayed
    drew: TimosTwistDrew
    kept: TimosTwistKept
    reshuffled: TimosTwistReshuffled
    timo_called: TimosTwistTimoCalled
    caught: TimosTwistCaught
    round_ended: TimosTwistRoundEnded
    def __init__(self, round_started: _Optional[_Union[TimosTwistRoundStarted, _Mapping]] = ..., played: _Optional[_Union[TimosTwistPlayed, _Mapping]] = ..., drew: _Optional[_Union[TimosTwistDrew, _Mapping]] = ..., kept: _Optional[_Union[TimosTwistKept, _Mapping]] = ..., reshuffled: _Optional[_Union[TimosTwistReshuffled, _Mapping]] = ..., timo_called: _Optional[_Union[TimosTwistTimoCalled, _Mapping]] = ..., caught: _Optional[_Union[TimosTwistCaught, _Mapping]] = ..., round_ended: _Optional[_Union[TimosTwistRoundEnded, _Mapping]] = ...) -> None: ...

class TimosTwistRoundStarted(_message.Message):
    __slots__ = ("round", "dealer", "top")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    DEALER_FIELD_NUMBER: _ClassVar[int]
    TOP_FIELD_NUMBER: _ClassVar[int]
    round: int
    dealer: int
    top: str
    def __init__(self, round: _Optional[int] = ..., dealer: _Optional[int] = ..., top: _Optional[str] = ...) -> None: ...

class TimosTwistPlayed(_message.Message):
    __slots__ = ("seat", "card", "color", "timo", "drawn")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    COLOR_FIELD_NUMBER: _ClassVar[int]
    TIMO_FIELD_NUMBER: _ClassVar[int]
    DRAWN_FIELD_NUMBER: _ClassVar[int]
    seat: int
    card: str
    color: str
    timo: bool
    drawn: bool
    def __init__(self, seat: _Optional[int] = ..., card: _Optional[str] = ..., color: _Optional[str] = ..., timo: bool = ..., drawn: bool = ...) -> None: ...

class TimosTwistDrew(_message.Message):
    __slots__ = ("seat", "count", "reason", "cards")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CARDS_FIELD_NUMBER: _ClassVar[int]
    seat: int
    count: int
    reason: str
    cards: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, seat: _Optional[int] = ..., count: _Optional[int] = ..., reason: _Optional[str] = ..., cards: _Optional[_Iterable[str]] = ...) -> None: ...

class TimosTwistKept(_message.Message):
    __slots__ = ("seat",)
    SEAT_FIELD_NUMBER: _ClassVar[int]
    seat: int
    def __init__(self, seat: _Optional[int] = ...) -> None: ...

class TimosTwistReshuffled(_message.Message):
    __slots__ = ("count",)
    COUNT_FIELD_NUMBER: _ClassVar[int]
    count: int
    def __init__(self, count: _Optional[int] = ...) -> None: ...

class TimosTwistTimoCalled(_message.Message):
    __slots__ = ("seat",)
    SEAT_FIELD_NUMBER: _ClassVar[int]
    seat: int
    def __init__(self, seat: _Optional[int] = ...) -> None: ...

class TimosTwistCaught(_message.Message):
    __slots__ = ("seat", "by")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    seat: int
    by: int
    def __init__(self, seat: _Optional[int] = ..., by: _Optional[int] = ...) -> None: ...

class TimosTwistRoundEnded(_message.Message):
    __slots__ = ("winner", "scores")
    WINNER_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    winner: int
    scores: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, winner: _Optional[int] = ..., scores: _Optional[_Iterable[int]] = ...) -> None: ...

class TimosTwistEvents(_message.Message):
    __slots__ = ("events",)
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[TimosTwistEvent]
    def __init__(self, events: _Optional[_Iterable[_Union[TimosTwistEvent, _Mapping]]] = ...) -> None: ...

class TimosTwistView(_message.Message):
    __slots__ = ("table", "own", "legal", "events")
    TABLE_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    LEGAL_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    table: TimosTwistTable
    own: TimosTwistOwn
    legal: _containers.RepeatedCompositeFieldContainer[TimosTwistMove]
    events: _containers.RepeatedCompositeFieldContainer[TimosTwistEvent]
    def __init__(self, table: _Optional[_Union[TimosTwistTable, _Mapping]] = ..., own: _Optional[_Union[TimosTwistOwn, _Mapping]] = ..., legal: _Optional[_Iterable[_Union[TimosTwistMove, _Mapping]]] = ..., events: _Optional[_Iterable[_Union[TimosTwistEvent, _Mapping]]] = ...) -> None: ...
