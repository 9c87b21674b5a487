import datetime

from croupier.v1 import bluffing_billionaires_pb2 as _bluffing_billionaires_pb2
from croupier.v1 import bombenziehen_pb2 as _bombenziehen_pb2
from croupier.v1 import clever_gedreht_pb2 as _clever_gedreht_pb2
from croupier.v1 import timos_twist_pb2 as _timos_twist_pb2
from croupier.v1 import toms_time_bluff_pb2 as _toms_time_bluff_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GameOptions(_message.Message):
    __slots__ = ("timos_twist", "toms_time_bluff", "bombenziehen", "bluffing_billionaires", "clever_gedreht", "generic")
    TIMOS_TWIST_FIELD_NUMBER: _ClassVar[int]
    TOMS_TIME_BLUFF_FIELD_NUMBER: _ClassVar[int]
    BOMBENZIEHEN_FIELD_NUMBER: _ClassVar[int]
    BLUFFING_BILLIONAIRES_FIELD_NUMBER: _ClassVar[int]
    CLEVER_GEDREHT_FIELD_NUMBER: _ClassVar[int]
    GENERIC_FIELD_NUMBER: _ClassVar[int]
    timos_twist: _timos_twist_pb2.TimosTwistOptions
    toms_time_bluff: _toms_time_bluff_pb2.TomsTimeBluffOptions
    bombenziehen: _bombenziehen_pb2.BombenziehenOptions
    bluffing_billionaires: _bluffing_billionaires_pb2.BluffingBillionairesOptions
    clever_gedreht: _clever_gedreht_pb2.CleverGedrehtOptions
    generic: GenericGame
    def __init__(self, timos_twist: _Optional[_Union[_timos_twist_pb2.TimosTwistOptions, _Mapping]] = ..., toms_time_bluff: _Optional[_Union[_toms_time_bluff_pb2.TomsTimeBluffOptions, _Mapping]] = ..., bombenziehen: _Optional[_Union[_bombenziehen_pb2.BombenziehenOptions, _Mapping]] = ..., bluffing_billionaires: _Optional[_Union[_bluffing_billionaires_pb2.BluffingBillionairesOptions, _Mapping]] = ..., clever_gedreht: _Optional[_Union[_clever_gedreht_pb2.CleverGedrehtOptions, _Mapping]] = ..., generic: _Optional[_Union[GenericGame, _Mapping]] = ...) -> None: ...

class GameMove(_message.Message):
    __slots__ = ("timos_twist", "toms_time_bluff", "bombenziehen", "bluffing_billionaires", "clever_gedreht", "generic")
    TIMOS_TWIST_FIELD_NUMBER: _ClassVar[int]
    TOMS_TIME_BLUFF_FIELD_NUMBER: _ClassVar[int]
    BOMBENZIEHEN_FIELD_NUMBER: _ClassVar[int]
    BLUFFING_BILLIONAIRES_FIELD_NUMBER: _ClassVar[int]
    CLEVER_GEDREHT_FIELD_NUMBER: _ClassVar[int]
    GENERIC_FIELD_NUMBER: _ClassVar[int]
    timos_twist: _timos_twist_pb2.TimosTwistMove
    toms_time_bluff: _toms_time_bluff_pb2.TomsTimeBluffMove
    bombenziehen: _bombenziehen_pb2.BombenziehenMove
    bluffing_billionaires: _bluffing_billionaires_pb2.BluffingBillionairesMove
    clever_gedreht: _clever_gedreht_pb2.CleverGedrehtMove
    generic: GenericGame
    def __init__(self, timos_twist: _Optional[_Union[_timos_twist_pb2.TimosTwistMove, _Mapping]] = ..., toms_time_bluff: _Optional[_Union[_toms_time_bluff_pb2.TomsTimeBluffMove, _Mapping]] = ..., bombenziehen: _Optional[_Union[_bombenziehen_pb2.BombenziehenMove, _Mapping]] = ..., bluffing_billionaires: _Optional[_Union[_bluffing_billionaires_pb2.BluffingBillionairesMove, _Mapping]] = ..., clever_gedreht: _Optional[_Union[_clever_gedreht_pb2.CleverGedrehtMove, _Mapping]] = ..., generic: _Optional[_Union[GenericGame, _Mapping]] = ...) -> None: ...

class GenericGame(_message.Message):
    __slots__ = ("name", "data")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    name: str
    data: _struct_pb2.Struct
    def __init__(self, name: _Optional[str] = ..., data: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class GenericView(_message.Message):
    __slots__ = ("name", "table", "own", "legal", "events")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    LEGAL_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    table: _struct_pb2.Struct
    own: _struct_pb2.Struct
    legal: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Struct]
    events: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Struct]
    def __init__(self, name: _Optional[str] = ..., table: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., own: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., legal: _Optional[_Iterable[_Union[_struct_pb2.Struct, _Mapping]]] = ..., events: _Optional[_Iterable[_Union[_struct_pb2.Struct, _Mapping]]] = ...) -> None: ...

class GenericEvents(_message.Message):
    __slots__ = ("name", "events")
    NAME_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    events: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Struct]
    def __init__(self, name: _Optional[str] = ..., events: _Optional[_Iterable[_Union[_struct_pb2.Struct, _Mapping]]] = ...) -> None: ...

class SeatInfo(_message.Message):
    __slots__ = ("seat", "name", "kind", "absent", "tenure", "plays_as")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    ABSENT_FIELD_NUMBER: _ClassVar[int]
    TENURE_FIELD_NUMBER: _ClassVar[int]
    PLAYS_AS_FIELD_NUMBER: _ClassVar[int]
    seat: int
    name: str
    kind: str
    absent: bool
    tenure: int
    plays_as: int
    def __init__(self, seat: _Optional[int] = ..., name: _Optional[str] = ..., kind: _Optional[str] = ..., absent: bool = ..., tenure: _Optional[int] = ..., plays_as: _Optional[int] = ...) -> None: ...

class MatchResult(_message.Message):
    __slots__ = ("scores", "winners")
    SCORES_FIELD_NUMBER: _ClassVar[int]
    WINNERS_FIELD_NUMBER: _ClassVar[int]
    scores: _containers.RepeatedScalarFieldContainer[int]
    winners: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, scores: _Optional[_Iterable[int]] = ..., winners: _Optional[_Iterable[int]] = ...) -> None: ...

class View(_message.Message):
    __slots__ = ("match", "seat", "version", "prompt", "status", "reason", "to_act", "deadline", "seats", "rules", "options", "clock", "commitment", "code", "result", "seed", "hash", "signature", "timos_twist", "toms_time_bluff", "bombenziehen", "bluffing_billionaires", "clever_gedreht", "generic")
    MATCH_FIELD_NUMBER: _ClassVar[int]
    SEAT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TO_ACT_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    SEATS_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    COMMITMENT_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    TIMOS_TWIST_FIELD_NUMBER: _ClassVar[int]
    TOMS_TIME_BLUFF_FIELD_NUMBER: _ClassVar[int]
    BOMBENZIEHEN_FIELD_NUMBER: _ClassVar[int]
    BLUFFING_BILLIONAIRES_FIELD_NUMBER: _ClassVar[int]
    CLEVER_GEDREHT_FIELD_NUMBER: _ClassVar[int]
    GENERIC_FIELD_NUMBER: _ClassVar[int]
    match: str
    seat: int
    version: int
    prompt: int
    status: str
    reason: str
    to_act: _containers.RepeatedScalarFieldContainer[int]
    deadline: _timestamp_pb2.Timestamp
    seats: _containers.RepeatedCompositeFieldContainer[SeatInfo]
    rules: str
    options: GameOptions
    clock: int
    commitment: str
    code: str
    result: MatchResult
    seed: str
    hash: str
    signature: str
    timos_twist: _timos_twist_pb2.TimosTwistView
    toms_time_bluff: _toms_time_bluff_pb2.TomsTimeBluffView
    bombenziehen: _bombenziehen_pb2.BombenziehenView
    bluffing_billionaires: _bluffing_billionaires_pb2.BluffingBillionairesView
    clever_gedreht: _clever_gedreht_pb2.CleverGedrehtView
    generic: GenericView
    def __init__(self, match: _Optional[str] = ..., seat: _Optional[int] = ..., version: _Optional[int] = ..., prompt: _Optional[int] = ..., status: _Optional[str] = ..., reason: _Optional[str] = ..., to_act: _Optional[_Iterable[int]] = ..., deadline: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., seats: _Optional[_Iterable[_Union[SeatInfo, _Mapping]]] = ..., rules: _Optional[str] = ..., options: _Optional[_Union[GameOptions, _Mapping]] = ..., clock: _Optional[int] = ..., commitment: _Optional[str] = ..., code: _Optional[str] = ..., result: _Optional[_Union[MatchResult, _Mapping]] = ..., seed: _Optional[str] = ..., hash: _Optional[str] = ..., signature: _Optional[str] = ..., timos_twist: _Optional[_Union[_timos_twist_pb2.TimosTwistView, _Mapping]] = ..., toms_time_bluff: _Optional[_Union[_toms_time_bluff_pb2.TomsTimeBluffView, _Mapping]] = ..., bombenziehen: _Optional[_Union[_bombenziehen_pb2.BombenziehenView, _Mapping]] = ..., bluffing_billionaires: _Optional[_Union[_bluffing_billionaires_pb2.BluffingBillionairesView, _Mapping]] = ..., clever_gedreht: _Optional[_Union[_clever_gedreht_pb2.CleverGedrehtView, _Mapping]] = ..., generic: _Optional[_Union[GenericView, _Mapping]] = ...) -> None: ...

class PastEvents(_message.Message):
    __slots__ = ("version", "timos_twist", "toms_time_bluff", "bombenziehen", "bluffing_billionaires", "clever_gedreht", "generic")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TIMOS_TWIST_FIELD_NUMBER: _ClassVar[int]
    TOMS_TIME_BLUFF_FIELD_NUMBER: _ClassVar[int]
    BOMBENZIEHEN_FIELD_NUMBER: _ClassVar[int]
    BLUFFING_BILLIONAIRES_FIELD_NUMBER: _ClassVar[int]
    CLEVER_GEDREHT_FIELD_NUMBER: _ClassVar[int]
    GENERIC_FIELD_NUMBER: _ClassVar[int]
    version: int
    timos_twist: _timos_twist_pb2.TimosTwistEvents
    toms_time_bluff: _toms_time_bluff_pb2.TomsTimeBluffEvents
    bombenziehen: _bombenziehen_pb2.BombenziehenEvents
    bluffing_billionaires: _bluffing_billionaires_pb2.BluffingBillionairesEvents
    clever_gedreht: _clever_gedreht_pb2.CleverGedrehtEvents
    generic: GenericEvents
    def __init__(self, version: _Optional[int] = ..., timos_twist: _Optional[_Union[_timos_twist_pb2.TimosTwistEvents, _Mapping]] = ..., toms_time_bluff: _Optional[_Union[_toms_time_bluff_pb2.TomsTimeBluffEvents, _Mapping]] = ..., bombenziehen: _Optional[_Union[_bombenziehen_pb2.BombenziehenEvents, _Mapping]] = ..., bluffing_billionaires: _Optional[_Union[_bluffing_billionaires_pb2.BluffingBillionairesEvents, _Mapping]] = ..., clever_gedreht: _Optional[_Union[_clever_gedreht_pb2.CleverGedrehtEvents, _Mapping]] = ..., generic: _Optional[_Union[GenericEvents, _Mapping]] = ...) -> None: ...
