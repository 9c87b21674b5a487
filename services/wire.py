"""The engine's values as protobuf, joined by their equal names.

The engine knows no protobuf; here is all that does. What a game's messages are called and hold is read from their
descriptors once, so a new game needs no line here. A game without messages in `croupier.v1` goes through the arm
`generic`, whose Struct knows only doubles: whole numbers become integers again, all others are refused.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import grpc
import msgspec
from google.protobuf import json_format, struct_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from croupier.v1 import match_service_pb2, view_pb2
from engine.game import MAX_MOVE_BYTES, MEMORABLE_BYTES, MEMORABLE_MOVES, Options, encode, short_enough
from engine.options import option_fields
from engine.refusals import BadOptions, MalformedMove, MalformedRequest
from engine.registry import AnyGame

GENERIC = "generic"
"""The arm of games that were registered from outside."""

DOMAIN = "croupier"
"""The domain of every ErrorInfo."""

_WHOLE = 2**53
"""Up to here every whole number has a double of its own."""

_TYPES: dict[int, type] = {
    FieldDescriptor.CPPTYPE_BOOL: bool,
    FieldDescriptor.CPPTYPE_INT32: int,
    FieldDescriptor.CPPTYPE_STRING: str,
}

_decode = msgspec.json.decode
M = TypeVar("M", bound=Message)


def arm(game: str) -> str:
    """Return the name under which a game's part stands in every oneof."""
    return game if game in _MOVES else GENERIC


# --- what descriptors say, read once ---------------------------------------------------------------------------------

Reader = Callable[[Any], dict[str, object]]
"""Gives the fields that a message was given, by name."""


def _arms(descriptor: Descriptor) -> dict[str, Descriptor]:
    """The messages of a message's only oneof, by the names of its arms."""
    (oneof,) = (oneof for oneof in descriptor.oneofs if not oneof.name.startswith("_"))
    return {field.name: field.message_type for field in oneof.fields}


def _reader(descriptor: Descriptor) -> Reader:
    """A reader for a message of scalars with presence, which is what options and moves are."""
    for field in descriptor.fields:
        if not field.has_presence or field.cpp_type not in _TYPES:
            raise TypeError(f"{field.full_name} is no optional int32, bool or string")
    names = tuple(field.name for field in descriptor.fields)
    if not names:
        return lambda _: {}

    def read(message: Any) -> dict[str, object]:
        given = message.HasField
        return {name: getattr(message, name) for name in names if given(name)}

    return read


_FILE = view_pb2.DESCRIPTOR.message_types_by_name
_GAME_MOVES = {game: _arms(kind) for game, kind in _arms(_FILE["GameMove"]).items() if game != GENERIC}
_MOVES = {game: {name: _reader(kind) for name, kind in moves.items()} for game, moves in _GAME_MOVES.items()}
_MOVE_TYPES = {
    game: {name: {field.name: _TYPES[field.cpp_type] for field in kind.fields} for name, kind in moves.items()}
    for game, moves in _GAME_MOVES.items()
}
_OPTIONS = {game: _reader(kind) for game, kind in _arms(_FILE["GameOptions"]).items() if game != GENERIC}


# --- what a Struct holds ---------------------------------------------------------------------------------------------


class _NotPlain(ValueError):
    """A value of a Struct that no game can have meant."""


def _plain(value: struct_pb2.Value) -> object:
    match value.WhichOneof("kind"):
        case "number_value":
            number = value.number_value
            if not (-_WHOLE <= number <= _WHOLE and number.is_integer()):  # also false for NaN
                raise _NotPlain(f"{number} is no whole number up to 2**53")
            return int(number)
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case "struct_value":
            return _plain_fields(value.struct_value)
        case "list_value":
            return [_plain(item) for item in value.list_value.values]
        case "null_value":
            return None
    raise _NotPlain("a value is missing")


def _plain_fields(struct: struct_pb2.Struct) -> dict[str, object]:
    return {name: _plain(value) for name, value in struct.fields.items()}


# --- moves -----------------------------------------------------------------------------------------------------------


def move_to_json(move: view_pb2.GameMove) -> tuple[str, bytes]:
    """Return the game's name and the engine's JSON of a move: what was given, zeros included, and nothing else.

    Raises MalformedMove for a message that names no game or no move, for a number that is not whole, and for what is
    longer than MAX_MOVE_BYTES. Whether the game has such a move is for the engine to say.
    """
    given = move.SerializePartialToString()
    return _remembered(given) if len(given) <= MEMORABLE_BYTES else _read_move(move)


@lru_cache(MEMORABLE_MOVES)
def _remembered(given: bytes) -> tuple[str, bytes]:
    return _read_move(view_pb2.GameMove.FromString(given))


def _read_move(move: view_pb2.GameMove) -> tuple[str, bytes]:
    game = move.WhichOneof("move")
    if game is None:
        raise MalformedMove("the move names no game")
    readers = _MOVES.get(game)
    if readers is None:
        return _generic_move(move.generic)
    arms = getattr(move, game)
    name = arms.WhichOneof("move")
    if name is None:
        raise MalformedMove("a move has exactly one name, this one has none")
    return game, short_enough(encode({name: readers[name](getattr(arms, name))}))


def _generic_move(move: view_pb2.GenericGame) -> tuple[str, bytes]:
    if not move.name or move.name in _MOVES:
        raise MalformedMove(f"the generic arm is not for {move.name!r}")
    if (size := move.ByteSize()) > 8 * MAX_MOVE_BYTES:  # a Struct takes more bytes than its JSON
        raise MalformedMove(f"a move has at most {MAX_MOVE_BYTES} bytes, a Struct of {size} is more")
    if len(move.data.fields) != 1:
        raise MalformedMove(f"a move has exactly one name, this one has {len(move.data.fields)}")
    try:
        return move.name, short_enough(encode(_plain_fields(move.data)))
    except _NotPlain as error:
        raise MalformedMove(f"the move has a wrong shape: {error}") from None


def move_from_json(game: str, data: bytes) -> view_pb2.GameMove:
    """Return the message for the engine's JSON of a move; `move_to_json` gives the same JSON back.

    Raises MalformedMove for what the message cannot say: an unknown name, a surplus, mistyped or null field.
    """
    short_enough(data)
    try:
        move = _decode(data, type=dict[str, dict[str, Any]])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedMove(f"the move has a wrong shape: {error}") from None
    if len(move) != 1:
        raise MalformedMove(f"a move has exactly one name, this one has {len(move)}")
    moves = _MOVE_TYPES.get(game)
    try:
        if moves is None:
            message = view_pb2.GameMove(generic=view_pb2.GenericGame(name=game, data=move))
            if _decode(_generic_move(message.generic)[1]) != move:
                raise MalformedMove("a number of the move is too great")
            return message
        ((name, fields),) = move.items()
        types = moves.get(name)
        if types is None:
            raise MalformedMove(f"{game} has no move {name!r}")
        for field, value in fields.items():
            if types.get(field) is not type(value):
                raise MalformedMove(f"the field {field!r} of {name!r} is unknown or of another type")
        return view_pb2.GameMove(**{game: move})
    except (ValueError, TypeError, OverflowError) as error:
        raise MalformedMove(f"the move has a wrong shape: {error}") from None


# --- options ---------------------------------------------------------------------------------------------------------


def options_from_proto(options: view_pb2.GameOptions) -> tuple[str, dict[str, Any]]:
    """Return the game's name and the options that were given.

    Raises MalformedRequest for a message that names no game, BadOptions for a number that is not whole. Whether the
    game has such options is for the engine to say.
    """
    game = options.WhichOneof("options")
    if game is None:
        raise MalformedRequest("the options name no game", field="options")
    if game != GENERIC:
        return game, _OPTIONS[game](getattr(options, game))
    generic = options.generic
    if not generic.name or generic.name in _OPTIONS:
        raise MalformedRequest(f"the generic arm is not for {generic.name!r}", field="options")
    try:
        return generic.name, _plain_fields(generic.data)
    except _NotPlain as error:
        raise BadOptions(f"bad option: {error}", field="options") from None


def options_to_proto(game: str, options: Options | Mapping[str, Any]) -> view_pb2.GameOptions:
    """Return the message for the options of a game; `options_from_proto` gives them back."""
    given = msgspec.to_builtins(options)
    if arm(game) == GENERIC:
        return view_pb2.GameOptions(generic=view_pb2.GenericGame(name=game, data=given))
    return view_pb2.GameOptions(**{game: given})


def options_to_json(game: str, options: Options | Mapping[str, Any]) -> bytes:
    """Return the JSON of GameOptions: the options under the game's arm."""
    if arm(game) == GENERIC:
        return encode({GENERIC: {"name": game, "data": options}})
    return encode({game: options})


# --- views -----------------------------------------------------------------------------------------------------------


def view_from_json(data: bytes) -> view_pb2.View:
    """Return the message for a view's JSON; unknown fields are ignored. Raises ParseError for other text."""
    try:
        fields = _decode(data, type=dict[str, Any])
        deadline = fields.pop("deadline", None)
        view = view_pb2.View(**fields)
        if deadline is not None:
            view.deadline.FromJsonString(deadline)
    except RecursionError:
        raise json_format.ParseError("the view is nested too deeply") from None
    except (ValueError, TypeError):
        return _newer(data, view_pb2.View())
    return view


def past_events_from_json(data: bytes) -> view_pb2.PastEvents:
    """As `view_from_json`, for the events of one past entry."""
    try:
        return view_pb2.PastEvents(**_decode(data, type=dict[str, Any]))
    except RecursionError:
        raise json_format.ParseError("the events are nested too deeply") from None
    except (ValueError, TypeError):
        return _newer(data, view_pb2.PastEvents())


def _newer(data: bytes, message: M) -> M:
    """Read what has a field that we do not know yet, say from a newer engine. Raises ParseError."""
    try:
        return json_format.Parse(data, message, ignore_unknown_fields=True)
    except (UnicodeDecodeError, RecursionError) as error:
        raise json_format.ParseError(f"this is no JSON: {type(error).__name__}") from None


# --- the catalogue ---------------------------------------------------------------------------------------------------


def catalogue(
    versions: Sequence[AnyGame], levels: Mapping[str, Mapping[str, str]] | None = None
) -> match_service_pb2.GameInfo:
    """Return what the newest of a game's versions says of itself, with the rules of them all.

    `levels` are titles (`de`, `en`) of its computer levels by name, weakest first.
    """
    versions = sorted(versions, key=lambda version: version.rules_version)
    game = versions[-1]
    return match_service_pb2.GameInfo(
        name=game.name,
        titles=_titles(game.titles),
        rules=[version.rules for version in versions],
        seats=match_service_pb2.Range(min=game.seats[0], max=game.seats[-1]),
        options=_option_infos(game),
        cards=[
            match_service_pb2.CardInfo(
                code=card.code,
                group=card.group,
                titles=match_service_pb2.Titles(de=card.de, en=card.en),
                counts=[
                    match_service_pb2.CardCount(seats=seats, count=game.count(card.code, seats)) for seats in game.seats
                ],
                extra=dict(card.extra) or None,
            )
            for card in game.cards
        ],
        levels=[
            match_service_pb2.LevelInfo(name=name, titles=_titles(titles)) for name, titles in (levels or {}).items()
        ],
    )


def _titles(titles: Mapping[str, str]) -> match_service_pb2.Titles:
    return match_service_pb2.Titles(de=titles.get("de", ""), en=titles.get("en", ""))


def _option_infos(game: AnyGame) -> list[match_service_pb2.OptionInfo]:
    defaults = [msgspec.to_builtins(game.options({}, seats)) for seats in game.seats]
    infos = []
    for field in option_fields(game.options_type):
        default = defaults[0][field.name]
        if any(others[field.name] != default for others in defaults):
            default = None
        info = match_service_pb2.OptionInfo(
            name=field.name, type=field.type, default=_value(default), titles=_titles(field.titles)
        )
        if isinstance(field.values, range):
            info.range.min, info.range.max = field.values[0], field.values[-1]
        elif field.type == "word":
            info.words.extend(str(word) for word in field.values)
        infos.append(info)
    return infos


def _value(value: bool | int | str | None) -> struct_pb2.Value:
    match value:
        case None:
            return struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
        case bool():
            return struct_pb2.Value(bool_value=value)
        case int():
            return struct_pb2.Value(number_value=value)
    return struct_pb2.Value(string_value=value)


# --- refusals --------------------------------------------------------------------------------------------------------

_CODES: Mapping[str, grpc.StatusCode] = {
    "MALFORMED_REQUEST": grpc.StatusCode.INVALID_ARGUMENT,
    "UNKNOWN_GAME": grpc.StatusCode.NOT_FOUND,
    "BAD_OPTIONS": grpc.StatusCode.INVALID_ARGUMENT,
    "BAD_SEATS": grpc.StatusCode.INVALID_ARGUMENT,
    "BAD_NAME": grpc.StatusCode.INVALID_ARGUMENT,
    "BAD_CODE": grpc.StatusCode.INVALID_ARGUMENT,
    "NO_CODE": grpc.StatusCode.FAILED_PRECONDITION,
    "REQUEST_REUSED": grpc.StatusCode.ALREADY_EXISTS,
    "UNKNOWN_MATCH": grpc.StatusCode.NOT_FOUND,
    "UNKNOWN_VERSION": grpc.StatusCode.OUT_OF_RANGE,
    "MATCH_FULL": grpc.StatusCode.FAILED_PRECONDITION,
    "SEAT_TAKEN": grpc.StatusCode.FAILED_PRECONDITION,
    "MATCH_STARTED": grpc.StatusCode.FAILED_PRECONDITION,
    "NOT_STARTED": grpc.StatusCode.FAILED_PRECONDITION,
    "NOT_ENOUGH_PLAYERS": grpc.StatusCode.FAILED_PRECONDITION,
    "MATCH_RUNNING": grpc.StatusCode.FAILED_PRECONDITION,
    "MATCH_OVER": grpc.StatusCode.FAILED_PRECONDITION,
    "BAD_TOKEN": grpc.StatusCode.UNAUTHENTICATED,
    "TOKEN_EXPIRED": grpc.StatusCode.UNAUTHENTICATED,
    "NOT_YOUR_SEAT": grpc.StatusCode.PERMISSION_DENIED,
    "TENURE_ENDED": grpc.StatusCode.PERMISSION_DENIED,
    "NOT_HOST": grpc.StatusCode.PERMISSION_DENIED,
    "BAD_INVITE": grpc.StatusCode.PERMISSION_DENIED,
    "NOT_OPERATOR": grpc.StatusCode.PERMISSION_DENIED,
    "STALE_PROMPT": grpc.StatusCode.ABORTED,
    "TIMED_OUT": grpc.StatusCode.ABORTED,
    "MALFORMED_MOVE": grpc.StatusCode.INVALID_ARGUMENT,
    "ILLEGAL_MOVE": grpc.StatusCode.FAILED_PRECONDITION,
    "UNKNOWN_HANDLE": grpc.StatusCode.INVALID_ARGUMENT,
    "OVERLOADED": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "RATE_LIMITED": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "TOO_MANY_MATCHES": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "NO_OWNER": grpc.StatusCode.UNAVAILABLE,
    "OUTCOME_UNKNOWN": grpc.StatusCode.DEADLINE_EXCEEDED,
    "INTERNAL": grpc.StatusCode.INTERNAL,
    "INTERRUPTED": grpc.StatusCode.UNAVAILABLE,
}

REFUSALS: Mapping[str, tuple[match_service_pb2.RefusalReason, grpc.StatusCode]] = {
    reason: (getattr(match_service_pb2, reason), code) for reason, code in _CODES.items()
}
"""Every reason with its value on the wire and its gRPC code, as match_service.proto documents it."""


def refusal(reason: str, detail: str, fields: Mapping[str, str | int]) -> match_service_pb2.Refusal:
    """Return the message for a refusal's reason, detail and fields; INTERNAL for a reason that the wire has not."""
    value, _ = REFUSALS.get(reason, REFUSALS["INTERNAL"])
    return match_service_pb2.Refusal(reason=value, message=detail, metadata=_metadata(fields))


def status(reason: str, detail: str, fields: Mapping[str, str | int]) -> status_pb2.Status:
    """Return the same as google.rpc.Status for the trailers of a call: an ErrorInfo, and a RetryInfo for `retry_ms`."""
    value, code = REFUSALS.get(reason, REFUSALS["INTERNAL"])
    info = error_details_pb2.ErrorInfo(
        reason=match_service_pb2.RefusalReason.Name(value), domain=DOMAIN, metadata=_metadata(fields)
    )
    answer = status_pb2.Status(code=code.value[0], message=detail)
    answer.details.add().Pack(info)
    if (wait := fields.get("retry_ms")) is not None:
        delay = error_details_pb2.RetryInfo()
        delay.retry_delay.FromMilliseconds(int(wait))
        answer.details.add().Pack(delay)
    return answer


def _metadata(fields: Mapping[str, str | int]) -> dict[str, str]:
    return {name: str(value) for name, value in fields.items()}
