import datetime

from croupier.v1 import view_pb2 as _view_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RefusalReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REFUSAL_REASON_UNSPECIFIED: _ClassVar[RefusalReason]
    MALFORMED_REQUEST: _ClassVar[RefusalReason]
    UNKNOWN_GAME: _ClassVar[RefusalReason]
    BAD_OPTIONS: _ClassVar[RefusalReason]
    BAD_SEATS: _ClassVar[RefusalReason]
    BAD_NAME: _ClassVar[RefusalReason]
    BAD_CODE: _ClassVar[RefusalReason]
    NO_CODE: _ClassVar[RefusalReason]
    REQUEST_REUSED: _ClassVar[RefusalReason]
    UNKNOWN_MATCH: _ClassVar[RefusalReason]
    UNKNOWN_VERSION: _ClassVar[RefusalReason]
    MATCH_FULL: _ClassVar[RefusalReason]
    SEAT_TAKEN: _ClassVar[RefusalReason]
    MATCH_STARTED: _ClassVar[RefusalReason]
    NOT_STARTED: _ClassVar[RefusalReason]
    NOT_ENOUGH_PLAYERS: _ClassVar[RefusalReason]
    MATCH_RUNNING: _ClassVar[RefusalReason]
    MATCH_OVER: _ClassVar[RefusalReason]
    BAD_TOKEN: _ClassVar[RefusalReason]
    NOT_YOUR_SEAT: _ClassVar[RefusalReason]
    TENURE_ENDED: _ClassVar[RefusalReason]
    NOT_HOST: _ClassVar[RefusalReason]
    BAD_INVITE: _ClassVar[RefusalReason]
    NOT_OPERATOR: _ClassVar[RefusalReason]
    TOKEN_EXPIRED: _ClassVar[RefusalReason]
    STALE_PROMPT: _ClassVar[RefusalReason]
    TIMED_OUT: _ClassVar[RefusalReason]
    MALFORMED_MOVE: _ClassVar[RefusalReason]
    ILLEGAL_MOVE: _ClassVar[RefusalReason]
    UNKNOWN_HANDLE: _ClassVar[RefusalReason]
    OVERLOADED: _ClassVar[RefusalReason]
    RATE_LIMITED: _ClassVar[RefusalReason]
    TOO_MANY_MATCHES: _ClassVar[RefusalReason]
    NO_OWNER: _ClassVar[RefusalReason]
    OUTCOME_UNKNOWN: _ClassVar[RefusalReason]
    INTERNAL: _ClassVar[RefusalReason]
    INTERRUPTED: _ClassVar[RefusalReason]
REFUSAL_REASON_UNSPECIFIED: RefusalReason
MALFORMED_REQUEST: RefusalReason
UNKNOWN_GAME: RefusalReason
BAD_OPTIONS: RefusalReason
BAD_SEATS: RefusalReason
BAD_NAME: RefusalReason
BAD_CODE: RefusalReason
NO_CODE: RefusalReason
REQUEST_REUSED: RefusalReason
UNKNOWN_MATCH: RefusalReason
UNKNOWN_VERSION: RefusalReason
MATCH_FULL: RefusalReason
SEAT_TAKEN: RefusalReason
MATCH_STARTED: RefusalReason
NOT_STARTED: RefusalReason
NOT_ENOUGH_PLAYERS: RefusalReason
MATCH_RUNNING: RefusalReason
MATCH_OVER: RefusalReason
BAD_TOKEN: RefusalReason
NOT_YOUR_SEAT: RefusalReason
TENURE_ENDED: RefusalReason
NOT_HOST: RefusalReason
BAD_INVITE: RefusalReason
NOT_OPERATOR: RefusalReason
TOKEN_EXPIRED: RefusalReason
STALE_PROMPT: RefusalReason
TIMED_OUT: RefusalReason
MALFORMED_MOVE: RefusalReason
ILLEGAL_MOVE: RefusalReason
UNKNOWN_HANDLE: RefusalReason
OVERLOADED: RefusalReason
RATE_LIMITED: RefusalReason
TOO_MANY_MATCHES: RefusalReason
NO_OWNER: RefusalReason
OUTCOME_UNKNOWN: RefusalReason
INTERNAL: RefusalReason
INTERRUPTED: RefusalReason

class Refusal(_message.Message):
    __slots__ = ("reason", "message", "metadata")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    reason: RefusalReason
    message: str
    metadata: _containers.ScalarMap[str, str]
    def __init__(self, reason: _Optional[_Union[RefusalReason, str]] = ..., message: _Optional[str] = ..., metadata: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Titles(_message.Message):
    __slots__ = ("de", "en")
    DE_FIELD_NUMBER: _ClassVar[int]
    EN_FIELD_NUMBER: _ClassVar[int]
    de: str
    en: str
    def __init__(self, de: _Optional[str] = ..., en: _Optional[str] = ...) -> None: ...

class Range(_message.Message):
    __slots__ = ("min", "max")
    MIN_FIELD_NUMBER: _ClassVar[int]
    MAX_FIELD_NUMBER: _ClassVar[int]
    min: int
    max: int
    def __init__(self, min: _Optional[int] = ..., max: _Optional[int] = ...) -> None: ...

class ListGamesRequest(_message.Message):
    __slots__ = ("game",)
    GAME_FIELD_NUMBER: _ClassVar[int]
    game: str
    def __init__(self, game: _Optional[str] = ...) -> None: ...

class ListGamesResponse(_message.Message):
    __slots__ = ("games",)
    GAMES_FIELD_NUMBER: _ClassVar[int]
    games: _containers.RepeatedCompositeFieldContainer[GameInfo]
    def __init__(self, games: _Optional[_Iterable[_Union[GameInfo, _Mapping]]] = ...) -> None: ...

class GameInfo(_message.Message):
    __slots__ = ("name", "titles", "rules", "seats", "options", "cards", "levels")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TITLES_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    SEATS_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    CARDS_FIELD_NUMBER: _ClassVar[int]
    LEVELS_FIELD_NUMBER: _ClassVar[int]
    name: str
    titles: Titles
    rules: _containers.RepeatedScalarFieldContainer[str]
    seats: Range
    options: _containers.RepeatedCompositeFieldContainer[OptionInfo]
    cards: _containers.RepeatedCompositeFieldContainer[CardInfo]
    levels: _containers.RepeatedCompositeFieldContainer[LevelInfo]
    def __init__(self, name: _Optional[str] = ..., titles: _Optional[_Union[Titles, _Mapping]] = ..., rules: _Optional[_Iterable[str]] = ..., seats: _Optional[_Union[Range, _Mapping]] = ..., options: _Optional[_Iterable[_Union[OptionInfo, _Mapping]]] = ..., cards: _Optional[_Iterable[_Union[CardInfo, _Mapping]]] = ..., levels: _Optional[_Iterable[_Union[LevelInfo, _Mapping]]] = ...) -> None: ...

class OptionInfo(_message.Message):
    __slots__ = ("name", "type", "default", "range", "words", "titles")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_FIELD_NUMBER: _ClassVar[int]
    RANGE_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    TITLES_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: str
    default: _struct_pb2.Value
    range: Range
    words: _containers.RepeatedScalarFieldContainer[str]
    titles: Titles
    def __init__(self, name: _Optional[str] = ..., type: _Optional[str] = ..., default: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., range: _Optional[_Union[Range, _Mapping]] = ..., words: _Optional[_Iterable[str]] = ..., titles: _Optional[_Union[Titles, _Mapping]] = ...) -> None: ...

class CardInfo(_message.Message):
    __slots__ = ("code", "group", "titles", "counts", "extra")
    CODE_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TITLES_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    EXTRA_FIELD_NUMBER: _ClassVar[int]
    code: str
    group: str
    titles: Titles
    counts: _containers.RepeatedCompositeFieldContainer[CardCount]
    extra: _struct_pb2.Struct
    def __init__(self, code: _Optional[str] = ..., group: _Optional[str] = ..., titles: _Optional[_Union[Titles, _Mapping]] = ..., counts: _Optional[_Iterable[_Union[CardCount, _Mapping]]] = ..., extra: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

class CardCount(_message.Message):
    __slots__ = ("seats", "count")
    SEATS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    seats: int
    count: int
    def __init__(self, seats: _Optional[int] = ..., count: _Optional[int] = ...) -> None: ...

class LevelInfo(_message.Message):
    __slots__ = ("name", "titles")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TITLES_FIELD_NUMBER: _ClassVar[int]
    name: str
    titles: Titles
    def __init__(self, name: _Optional[str] = ..., titles: _Optional[_Union[Titles, _Mapping]] = ...) -> None: ...

class CreateMatchRequest(_message.Message):
    __slots__ = ("request_id", "options", "rules", "seats", "clock_ms", "private", "absent_policy", "code", "fresh_code")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    SEATS_FIELD_NUMBER: _ClassVar[int]
    CLOCK_MS_FIELD_NUMBER: _ClassVar[int]
    PRIVATE_FIELD_NUMBER: _ClassVar[int]
    ABSENT_POLICY_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    FRESH_CODE_FIELD_NUMBER: _ClassVar[int]
    request_id: bytes
    options: _view_pb2.GameOptions
    rules: str
    seats: _containers.RepeatedCompositeFieldContainer[SeatSetup]
    clock_ms: int
    private: bool
    absent_policy: str
    code: str
    fresh_code: bool
    def __init__(self, request_id: _Optional[bytes] = ..., options: _Optional[_Union[_view_pb2.GameOptions, _Mapping]] = ..., rules: _Optional[str] = ..., seats: _Optional[_Iterable[_Union[SeatSetup, _Mapping]]] = ..., clock_ms: _Optional[int] = ..., private: bool = ..., absent_policy: _Optional[str] = ..., code: _Optional[str] = ..., fresh_code: bool = ...) -> None: ...

class SeatSetup(_message.Message):
    __slots__ = ("kind", "thinking_ms")
    KIND_FIELD_NUMBER: _ClassVar[int]
    THINKING_MS_FIELD_NUMBER: _ClassVar[int]
    kind: str
    thinking_ms: int
    def __init__(self, kind: _Optional[str] = ..., thinking_ms: _Optional[int] = ...) -> None: ...

class CreateMatchResponse(_message.Message):
    __slots__ = ("match", "host_token", "invite", "commitment", "code", "view")
    MATCH_FIELD_NUMBER: _ClassVar[int]
    HOST_TOKEN_FIELD_NUMBER: _ClassVar[int]
    INVITE_FIELD_NUMBER: _ClassVar[int]
    COMMITMENT_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    match: str
    host_token: str
    invite: str
    commitment: str
    code: str
    view: _view_pb2.View
    def __init__(self, match: _Optional[str] = ..., host_token: _Optional[str] = ..., invite: _Optional[str] = ..., commitment: _Optional[str] = ..., code: _Optional[str] = ..., view: _Optional[_Union[_view_pb2.View, _Mapping]] = ...) -> None: ...

class ListMatchesRequest(_message.Message):
    __slots__ = ("game", "rules", "min_open_seats", "min_clock_ms", "max_clock_ms", "match", "invite", "page_size", "page_token")
    GAME_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    MIN_OPEN_SEATS_FIELD_NUMBER: _ClassVar[int]
    MIN_CLOCK_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_CLOCK_MS_FIELD_NUMBER: _ClassVar[int]
    MATCH_FIELD_NUMBER: _ClassVar[int]
    INVITE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    game: str
    rules: str
    min_open_seats: int
    min_clock_ms: int
    max_clock_ms: int
    match: str
    invite: str
    page_size: int
    page_token: str
    def __init__(self, game: _Optional[str] = ..., rules: _Optional[str] = ..., min_open_seats: _Optional[int] = ..., min_clock_ms: _Optional[int] = ..., max_clock_ms: _Optional[int] = ..., match: _Optional[str] = ..., invite: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListMatchesResponse(_message.Message):
    __slots__ = ("matches", "next_page_token")
    MATCHES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    matches: _containers.RepeatedCompositeFieldContainer[MatchSummary]
    next_page_token: str
    def __init__(self, matches: _Optional[_Iterable[_Union[MatchSummary, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class MatchSummary(_message.Message):
    __slots__ = ("match", "rules", "options", "seats", "clock_ms", "commitment", "created", "private")
    MATCH_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    SEATS_FIELD_NUMBER: _ClassVar[int]
    CLOCK_MS_FIELD_NUMBER: _ClassVar[int]
    COMMITMENT_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    PRIVATE_FIELD_NUMBER: _ClassVar[int]
    match: str
    rules: str
    options: _view_pb2.GameOptions
    seats: _containers.RepeatedCompositeFieldContainer[_view_pb2.SeatInfo]
    clock_ms: int
    commitment: str
    created: _timestamp_pb2.Timestamp
    private: bool
    def __init__(self, match: _Optional[str] = ..., rules: _Optional[str] = ..., options: _Optional[_Union[_view_pb2.GameOptions, _Mapping]] = ..., seats: _Optional[_Iterable[_Union[_view_pb2.SeatInfo, _Mapping]]] = ..., clock_ms: _Optional[int] = ..., commitment: _Optional[str] = ..., created: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., private: bool = ...) -> None: ...

class JoinMatchRequest(_message.Message):
    __slots__ = ("match", "request_id", "name", "seat", "client_seed", "invite")
    MATCH_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SEAT_FIELD_NUMBER: _ClassVar[int]
    CLIENT_SEED_FIELD_NUMBER: _ClassVar[int]
    INVITE_FIELD_NUMBER: _ClassVar[int]
    match: str
    request_id: bytes
    name: str
    seat: int
    client_seed: bytes
    invite: str
    def __init__(self, match: _Optional[str] = ..., request_id: _Optional[bytes] = ..., name: _Optional[str] = ..., seat: _Optional[int] = ..., client_seed: _Optional[bytes] = ..., invite: _Optional[str] = ...) -> None: ...

class JoinMatchResponse(_message.Message):
    __slots__ = ("seat", "tenure", "token", "commitment", "subject", "view")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    TENURE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    COMMITMENT_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    seat: int
    tenure: int
    token: str
    commitment: str
    subject: str
    view: _view_pb2.View
    def __init__(self, seat: _Optional[int] = ..., tenure: _Optional[int] = ..., token: _Optional[str] = ..., commitment: _Optional[str] = ..., subject: _Optional[str] = ..., view: _Optional[_Union[_view_pb2.View, _Mapping]] = ...) -> None: ...

class LeaveMatchRequest(_message.Message):
    __slots__ = ("token",)
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    token: str
    def __init__(self, token: _Optional[str] = ...) -> None: ...

class LeaveMatchResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: int
    def __init__(self, version: _Optional[int] = ...) -> None: ...

class KickSeatRequest(_message.Message):
    __slots__ = ("host_token", "seat", "tenure")
    HOST_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SEAT_FIELD_NUMBER: _ClassVar[int]
    TENURE_FIELD_NUMBER: _ClassVar[int]
    host_token: str
    seat: int
    tenure: int
    def __init__(self, host_token: _Optional[str] = ..., seat: _Optional[int] = ..., tenure: _Optional[int] = ...) -> None: ...

class KickSeatResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: int
    def __init__(self, version: _Optional[int] = ...) -> None: ...

class StartMatchRequest(_message.Message):
    __slots__ = ("host_token",)
    HOST_TOKEN_FIELD_NUMBER: _ClassVar[int]
    host_token: str
    def __init__(self, host_token: _Optional[str] = ...) -> None: ...

class StartMatchResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: int
    def __init__(self, version: _Optional[int] = ...) -> None: ...

class SpectateRequest(_message.Message):
    __slots__ = ("match", "invite")
    MATCH_FIELD_NUMBER: _ClassVar[int]
    INVITE_FIELD_NUMBER: _ClassVar[int]
    match: str
    invite: str
    def __init__(self, match: _Optional[str] = ..., invite: _Optional[str] = ...) -> None: ...

class SpectateResponse(_message.Message):
    __slots__ = ("token", "subject", "view")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    token: str
    subject: str
    view: _view_pb2.View
    def __init__(self, token: _Optional[str] = ..., subject: _Optional[str] = ..., view: _Optional[_Union[_view_pb2.View, _Mapping]] = ...) -> None: ...

class SubmitMoveRequest(_message.Message):
    __slots__ = ("token", "prompt", "move")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    MOVE_FIELD_NUMBER: _ClassVar[int]
    token: str
    prompt: int
    move: _view_pb2.GameMove
    def __init__(self, token: _Optional[str] = ..., prompt: _Optional[int] = ..., move: _Optional[_Union[_view_pb2.GameMove, _Mapping]] = ...) -> None: ...

class SubmitMoveResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: int
    def __init__(self, version: _Optional[int] = ...) -> None: ...

class PlayRequest(_message.Message):
    __slots__ = ("attach", "commands")
    ATTACH_FIELD_NUMBER: _ClassVar[int]
    COMMANDS_FIELD_NUMBER: _ClassVar[int]
    attach: _containers.RepeatedCompositeFieldContainer[Attach]
    commands: _containers.RepeatedCompositeFieldContainer[Command]
    def __init__(self, attach: _Optional[_Iterable[_Union[Attach, _Mapping]]] = ..., commands: _Optional[_Iterable[_Union[Command, _Mapping]]] = ...) -> None: ...

class Attach(_message.Message):
    __slots__ = ("handle", "token")
    HANDLE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    handle: int
    token: str
    def __init__(self, handle: _Optional[int] = ..., token: _Optional[str] = ...) -> None: ...

class Command(_message.Message):
    __slots__ = ("id", "handle", "prompt", "move")
    ID_FIELD_NUMBER: _ClassVar[int]
    HANDLE_FIELD_NUMBER: _ClassVar[int]
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    MOVE_FIELD_NUMBER: _ClassVar[int]
    id: int
    handle: int
    prompt: int
    move: _view_pb2.GameMove
    def __init__(self, id: _Optional[int] = ..., handle: _Optional[int] = ..., prompt: _Optional[int] = ..., move: _Optional[_Union[_view_pb2.GameMove, _Mapping]] = ...) -> None: ...

class PlayResponse(_message.Message):
    __slots__ = ("receipts", "attached")
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    ATTACHED_FIELD_NUMBER: _ClassVar[int]
    receipts: _containers.RepeatedCompositeFieldContainer[Receipt]
    attached: _containers.RepeatedCompositeFieldContainer[Attached]
    def __init__(self, receipts: _Optional[_Iterable[_Union[Receipt, _Mapping]]] = ..., attached: _Optional[_Iterable[_Union[Attached, _Mapping]]] = ...) -> None: ...

class Receipt(_message.Message):
    __slots__ = ("id", "version", "refusal")
    ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    id: int
    version: int
    refusal: Refusal
    def __init__(self, id: _Optional[int] = ..., version: _Optional[int] = ..., refusal: _Optional[_Union[Refusal, _Mapping]] = ...) -> None: ...

class Attached(_message.Message):
    __slots__ = ("handle", "seat", "refusal")
    HANDLE_FIELD_NUMBER: _ClassVar[int]
    SEAT_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    handle: int
    seat: SeatReference
    refusal: Refusal
    def __init__(self, handle: _Optional[int] = ..., seat: _Optional[_Union[SeatReference, _Mapping]] = ..., refusal: _Optional[_Union[Refusal, _Mapping]] = ...) -> None: ...

class SeatReference(_message.Message):
    __slots__ = ("match", "seat", "tenure")
    MATCH_FIELD_NUMBER: _ClassVar[int]
    SEAT_FIELD_NUMBER: _ClassVar[int]
    TENURE_FIELD_NUMBER: _ClassVar[int]
    match: str
    seat: int
    tenure: int
    def __init__(self, match: _Optional[str] = ..., seat: _Optional[int] = ..., tenure: _Optional[int] = ...) -> None: ...

class GetViewRequest(_message.Message):
    __slots__ = ("token", "since", "version")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    token: str
    since: int
    version: int
    def __init__(self, token: _Optional[str] = ..., since: _Optional[int] = ..., version: _Optional[int] = ...) -> None: ...

class GetViewResponse(_message.Message):
    __slots__ = ("view", "missed", "truncated")
    VIEW_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    view: _view_pb2.View
    missed: _containers.RepeatedCompositeFieldContainer[_view_pb2.PastEvents]
    truncated: bool
    def __init__(self, view: _Optional[_Union[_view_pb2.View, _Mapping]] = ..., missed: _Optional[_Iterable[_Union[_view_pb2.PastEvents, _Mapping]]] = ..., truncated: bool = ...) -> None: ...

class WatchViewRequest(_message.Message):
    __slots__ = ("token", "since")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    token: str
    since: int
    def __init__(self, token: _Optional[str] = ..., since: _Optional[int] = ...) -> None: ...

class WatchViewResponse(_message.Message):
    __slots__ = ("view", "missed", "truncated")
    VIEW_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    view: _view_pb2.View
    missed: _containers.RepeatedCompositeFieldContainer[_view_pb2.PastEvents]
    truncated: bool
    def __init__(self, view: _Optional[_Union[_view_pb2.View, _Mapping]] = ..., missed: _Optional[_Iterable[_Union[_view_pb2.PastEvents, _Mapping]]] = ..., truncated: bool = ...) -> None: ...

class RematchRequest(_message.Message):
    __slots__ = ("token", "request_id", "client_seed")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    CLIENT_SEED_FIELD_NUMBER: _ClassVar[int]
    token: str
    request_id: bytes
    client_seed: bytes
    def __init__(self, token: _Optional[str] = ..., request_id: _Optional[bytes] = ..., client_seed: _Optional[bytes] = ...) -> None: ...

class RematchResponse(_message.Message):
    __slots__ = ("match", "seat", "tenure", "token", "commitment", "subject", "view", "host_token")
    MATCH_FIELD_NUMBER: _ClassVar[int]
    SEAT_FIELD_NUMBER: _ClassVar[int]
    TENURE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    COMMITMENT_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    HOST_TOKEN_FIELD_NUMBER: _ClassVar[int]
    match: str
    seat: int
    tenure: int
    token: str
    commitment: str
    subject: str
    view: _view_pb2.View
    host_token: str
    def __init__(self, match: _Optional[str] = ..., seat: _Optional[int] = ..., tenure: _Optional[int] = ..., token: _Optional[str] = ..., commitment: _Optional[str] = ..., subject: _Optional[str] = ..., view: _Optional[_Union[_view_pb2.View, _Mapping]] = ..., host_token: _Optional[str] = ...) -> None: ...

class AbortMatchRequest(_message.Message):
    __slots__ = ("match", "reason")
    MATCH_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    match: str
    reason: str
    def __init__(self, match: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class AbortMatchResponse(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: int
    def __init__(self, version: _Optional[int] = ...) -> None: ...

class GetJournalRequest(_message.Message):
    __slots__ = ("match", "invite", "from_version")
    MATCH_FIELD_NUMBER: _ClassVar[int]
    INVITE_FIELD_NUMBER: _ClassVar[int]
    FROM_VERSION_FIELD_NUMBER: _ClassVar[int]
    match: str
    invite: str
    from_version: int
    def __init__(self, match: _Optional[str] = ..., invite: _Optional[str] = ..., from_version: _Optional[int] = ...) -> None: ...

class GetJournalResponse(_message.Message):
    __slots__ = ("lines",)
    LINES_FIELD_NUMBER: _ClassVar[int]
    lines: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, lines: _Optional[_Iterable[bytes]] = ...) -> None: ...
