"""The codec between engine and protobuf: equal names, presence kept, nothing let through that a game cannot mean."""

import json
import math
import re
from pathlib import Path
from typing import Any

import grpc
import msgspec
import pytest
from google.protobuf import json_format, struct_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.rpc import error_details_pb2

from croupier.v1 import match_service_pb2, view_pb2
from engine import refusals
from engine.game import encode
from engine.games import BUILT_IN
from engine.refusals import BadOptions, MalformedMove, MalformedRequest, Refusal
from engine.registry import AnyGame
from services import wire
from services.views import ViewEncoder
from tests.services.played import EVERY_GAME, journal, option_values, outside, replayed

__all__ = ["outside"]

pytestmark = pytest.mark.usefixtures("outside")

ROOT = Path(__file__).parents[2]
MESSAGES = view_pb2.DESCRIPTOR.message_types_by_name
PLACES = {"GameOptions": "options", "GameMove": "move", "View": "game", "PastEvents": "game"}
BUILT_IN_GAMES = pytest.mark.parametrize("game", [kind() for kind in BUILT_IN], ids=lambda game: game.rules)


def arms(message: Descriptor, oneof: str) -> dict[str, Descriptor]:
    return {field.name: field.message_type for field in message.oneofs_by_name[oneof].fields}


def names(message: Descriptor) -> list[str]:
    return [field.name for field in message.fields]


# --- equal names -----------------------------------------------------------------------------------------------------


@BUILT_IN_GAMES
@pytest.mark.parametrize(("message", "oneof"), PLACES.items())
def test_every_built_in_game_has_an_arm_wherever_games_plug_in(game: AnyGame, message: str, oneof: str):
    assert game.name in arms(MESSAGES[message], oneof), f"{message} in view.proto has no arm {game.name}"


@pytest.mark.parametrize(("message", "oneof"), PLACES.items())
def test_the_generic_arm_is_the_last(message: str, oneof: str):
    assert list(arms(MESSAGES[message], oneof))[-1] == wire.GENERIC


@BUILT_IN_GAMES
def test_moves_and_their_fields_are_called_the_same_in_the_same_order(game: AnyGame):
    on_the_wire = arms(arms(MESSAGES["GameMove"], "move")[game.name], "move")
    in_the_engine = game.move_json.names
    assert list(on_the_wire) == list(in_the_engine.values())
    for kind, name in in_the_engine.items():
        assert names(on_the_wire[name]) == list(kind.__struct_fields__)


@BUILT_IN_GAMES
def test_events_and_their_fields_are_called_the_same_in_the_same_order(game: AnyGame):
    events = arms(MESSAGES["View"], "game")[game.name].fields_by_name["events"].message_type
    on_the_wire = arms(events, "event")
    assert list(on_the_wire) == list(game.event_json.names.values())
    for kind, name in game.event_json.names.items():
        assert names(on_the_wire[name]) == list(kind.__struct_fields__)


@BUILT_IN_GAMES
def test_options_are_called_the_same_in_the_same_order(game: AnyGame):
    on_the_wire = arms(MESSAGES["GameOptions"], "options")[game.name]
    assert names(on_the_wire) == list(game.options_type.__struct_fields__)


@BUILT_IN_GAMES
def test_options_and_all_scalars_of_moves_tell_given_from_zero(game: AnyGame):
    moves = arms(arms(MESSAGES["GameMove"], "move")[game.name], "move").values()
    for message in (arms(MESSAGES["GameOptions"], "options")[game.name], *moves):
        assert all(field.has_presence and field.type != FieldDescriptor.TYPE_MESSAGE for field in message.fields)


# --- moves -----------------------------------------------------------------------------------------------------------


def reading(message: Any) -> Any:
    """The message as it comes out of the network."""
    return type(message).FromString(message.SerializeToString())


@EVERY_GAME
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_legal_move_comes_back_as_it_was(game: AnyGame, seed: int):
    moves = {
        game.move_json.encode(move)
        for match in replayed(journal(game, seed))
        for seat in match.players
        for move in match.legal(seat)
    }
    assert moves
    for move in moves:
        name, data = wire.move_to_json(reading(wire.move_from_json(game.name, move)))
        assert name == game.name
        assert game.move_json.decode(data) == game.move_json.decode(move)
        assert json.loads(data) == json.loads(move)


@BUILT_IN_GAMES
def test_a_typed_move_is_the_bytes_that_the_engine_writes(game: AnyGame):
    for match in replayed(journal(game, 4)):
        for seat in match.players:
            for move in map(game.move_json.encode, match.legal(seat)):
                assert wire.move_to_json(wire.move_from_json(game.name, move)) == (game.name, move)


@BUILT_IN_GAMES
def test_a_moves_message_is_what_protobufs_own_parser_reads(game: AnyGame):
    for match in replayed(journal(game, 5, limit=30)):
        for seat in match.players:
            for move in map(game.move_json.encode, match.legal(seat)):
                parsed = json_format.ParseDict({game.name: json.loads(move)}, view_pb2.GameMove())
                assert wire.move_from_json(game.name, move) == parsed


@BUILT_IN_GAMES
def test_a_field_not_given_is_left_out_and_one_given_as_zero_is_not(game: AnyGame):
    zeros = {FieldDescriptor.CPPTYPE_INT32: 0, FieldDescriptor.CPPTYPE_BOOL: False, FieldDescriptor.CPPTYPE_STRING: ""}
    for name, kind in arms(arms(MESSAGES["GameMove"], "move")[game.name], "move").items():
        none = view_pb2.GameMove(**{game.name: {name: {}}})
        all_zero = {field.name: zeros[field.cpp_type] for field in kind.fields}
        zero = view_pb2.GameMove(**{game.name: {name: all_zero}})
        assert wire.move_to_json(reading(none)) == (game.name, encode({name: {}}))
        assert wire.move_to_json(reading(zero)) == (game.name, encode({name: all_zero}))


def generic(data: Any, name: str = "outside") -> view_pb2.GameMove:
    return view_pb2.GameMove(generic=view_pb2.GenericGame(name=name, data=data))


def test_whole_numbers_of_a_struct_are_integers_again():
    move = generic({"play": {"n": 3.0, "minus": -0.0, "deep": [{"big": 2**53}], "on": False, "word": "", "none": None}})
    _, data = wire.move_to_json(reading(move))
    assert json.loads(data) == {
        "play": {"n": 3, "minus": 0, "deep": [{"big": 2**53}], "on": False, "word": "", "none": None}
    }
    assert b"." not in data


@pytest.mark.parametrize("number", [0.5, math.nan, math.inf, -math.inf, 2.0**53 + 2, 1e300])
def test_a_number_that_is_not_whole_is_malformed(number: float):
    with pytest.raises(MalformedMove, match="is no whole number"):
        wire.move_to_json(generic({"play": {"deep": [{"n": number}]}}))


@pytest.mark.parametrize(
    "move",
    [
        view_pb2.GameMove(),
        view_pb2.GameMove(timos_twist={}),
        view_pb2.GameMove(generic={}),
        generic({"play": {}}, name=""),
        generic({}),
        generic({"play": {}, "draw": {}}),
        generic(struct_pb2.Struct(fields={"play": struct_pb2.Value()})),
    ],
    ids=["nothing", "no move", "no name or move", "no name", "empty", "two moves", "no value"],
)
def test_a_move_that_says_nothing_or_too_much_is_malformed(move: view_pb2.GameMove):
    with pytest.raises(MalformedMove):
        wire.move_to_json(move)


def test_a_game_with_messages_does_not_go_through_the_generic_arm():
    with pytest.raises(MalformedMove, match="not for 'timos_twist'"):
        wire.move_to_json(generic({"draw": {}}, name="timos_twist"))


@pytest.mark.parametrize("game", ["timos_twist", "outside"])
@pytest.mark.parametrize(
    "data",
    [b"", b"nonsense", b"\xff", b"[]", b"null", b"{}", b'{"draw":{},"keep":{}}', b'{"draw":null}', b'{"draw":[]}'],
)
def test_what_is_no_one_key_object_has_no_message(game: str, data: bytes):
    with pytest.raises(MalformedMove):
        wire.move_from_json(game, data)


@pytest.mark.parametrize(
    "data",
    [
        b'{"fly":{}}',
        b'{"draw":{"card":"blue-1"}}',
        b'{"play":{"card":null}}',
        b'{"play":{"card":7}}',
        b'{"play":{"card":["blue-1"]}}',
        b'{"play":{"card":"blue-1","timo":1}}',
    ],
)
def test_a_typed_message_takes_only_its_own_fields(data: bytes):
    with pytest.raises(MalformedMove):
        wire.move_from_json("timos_twist", data)


@pytest.mark.parametrize("index", [b"true", b"1.0", b'"1"', b"2147483648"])
def test_a_typed_number_is_an_integer_of_32_bits(index: bytes):
    with pytest.raises(MalformedMove):
        wire.move_from_json("bombenziehen", b'{"place":{"index":%b}}' % index)


@pytest.mark.parametrize("number", [b"0.5", b"9007199254740993", b"1e300"])
def test_a_struct_takes_no_number_that_it_cannot_give_back(number: bytes):
    with pytest.raises(MalformedMove):
        wire.move_from_json("outside", b'{"play":{"n":%b}}' % number)


# --- options ---------------------------------------------------------------------------------------------------------


@EVERY_GAME
def test_every_value_of_every_option_comes_back_alone(game: AnyGame):
    for name, values in option_values(game).items():
        assert len(values) > 1
        for value in values:
            message = wire.options_to_proto(game.name, {name: value})
            back, given = wire.options_from_proto(reading(message))
            assert (back, given) == (game.name, {name: value})
            assert type(given[name]) is type(value)


@EVERY_GAME
def test_all_options_filled_in_come_back_and_are_the_json_of_their_message(game: AnyGame):
    for seats in game.seats:
        options = game.options({}, seats)
        message = wire.options_to_proto(game.name, options)
        assert wire.options_from_proto(message) == (game.name, msgspec.to_builtins(options))
        parsed = json_format.Parse(wire.options_to_json(game.name, options), view_pb2.GameOptions())
        assert parsed == message


@EVERY_GAME
def test_naming_a_game_alone_means_all_defaults(game: AnyGame):
    assert wire.options_from_proto(reading(wire.options_to_proto(game.name, {}))) == (game.name, {})


@pytest.mark.parametrize(
    "options",
    [
        view_pb2.GameOptions(),
        view_pb2.GameOptions(generic={}),
        view_pb2.GameOptions(generic={"name": "timos_twist", "data": {"target": 100}}),
    ],
    ids=["nothing", "no name", "a game with messages"],
)
def test_options_that_name_no_game_are_malformed(options: view_pb2.GameOptions):
    with pytest.raises(MalformedRequest) as caught:
        wire.options_from_proto(options)
    assert caught.value.fields == {"field": "options"}


def test_an_option_that_is_not_whole_is_bad():
    with pytest.raises(BadOptions):
        wire.options_from_proto(view_pb2.GameOptions(generic={"name": "outside", "data": {"target": 99.5}}))


# --- views -----------------------------------------------------------------------------------------------------------


@EVERY_GAME
@pytest.mark.parametrize("seed", [1, 2])
def test_a_views_message_is_what_protobufs_own_parser_reads(game: AnyGame, seed: int):
    for match in replayed(journal(game, seed, limit=60)):
        encoder = ViewEncoder(match)
        for data in [encoder.view_json(None), *(data for _, data in encoder.all_views())]:
            assert wire.view_from_json(data) == json_format.Parse(data, view_pb2.View())
        past = encoder.past_events(match.version, match.events if match.state else None, None)
        assert wire.past_events_from_json(past) == json_format.Parse(past, view_pb2.PastEvents())


def test_fields_of_the_future_are_ignored():
    view = wire.view_from_json(b'{"version":3,"new":1,"timos_twist":{"table":{"turn":1,"newer":{}},"own":null}}')
    assert (view.version, view.timos_twist.table.turn) == (3, 1)
    past = wire.past_events_from_json(b'{"version":3,"new":[],"timos_twist":{"events":[{"flew":{"seat":1}}]}}')
    assert (past.version, len(past.timos_twist.events)) == (3, 1)


@pytest.mark.parametrize("data", [b"", b"nonsense", b"[1]", b'{"version":"x"}', b'{"deadline":"soon"}'])
def test_what_is_no_view_is_not_taken_for_one(data: bytes):
    with pytest.raises(json_format.ParseError):
        wire.view_from_json(data)


# --- the catalogue ---------------------------------------------------------------------------------------------------


@EVERY_GAME
def test_the_catalogue_names_the_game_its_seats_and_its_cards(game: AnyGame):
    info = wire.catalogue([game])
    assert (info.name, list(info.rules)) == (game.name, [game.rules])
    assert (info.titles.de, info.titles.en) == (game.titles["de"], game.titles["en"])
    assert range(info.seats.min, info.seats.max + 1) == game.seats
    assert [card.code for card in info.cards] == [card.code for card in game.cards]
    for told, card in zip(info.cards, game.cards, strict=True):
        assert (told.group, told.titles.de, told.titles.en) == (card.group, card.de, card.en)
        assert {count.seats: count.count for count in told.counts} == {n: game.count(card.code, n) for n in game.seats}
        assert told.HasField("extra") == bool(card.extra)
        assert dict(told.extra) == card.extra


def test_the_catalogue_lists_rules_oldest_first_and_describes_the_newest():
    class Second(BUILT_IN[0]):
        rules_version = 2
        titles = {"de": "Neu", "en": "New"}  # noqa: RUF012 - as every game's

    info = wire.catalogue([Second(), BUILT_IN[0]()], {"easy": {"de": "Leicht", "en": "Easy"}})
    assert list(info.rules) == ["timos_twist/1", "timos_twist/2"]
    assert info.titles.en == "New"
    assert [(level.name, level.titles.de) for level in info.levels] == [("easy", "Leicht")]


def default_of(option: match_service_pb2.OptionInfo) -> Any:
    return json_format.MessageToDict(option)["default"]


@EVERY_GAME
def test_options_of_the_catalogue_are_those_that_the_engine_takes(game: AnyGame):
    """Every value it offers is accepted, the next one beyond is refused, and a default is what not giving it means."""
    options = wire.catalogue([game]).options
    assert [option.name for option in options] == list(game.options_type.__struct_fields__)
    for option in options:
        assert option.titles.de
        assert option.titles.en
        offered, beyond = {
            "bool": ([False, True], [2, "true"]),
            "int": ([option.range.min, option.range.max], [option.range.min - 1, option.range.max + 1]),
            "word": (list(option.words), ["", "another"]),
        }[option.type]
        assert offered == option_values(game)[option.name]
        for seats in game.seats:
            for value in offered:
                assert getattr(game.options({option.name: value}, seats), option.name) == value
            for value in beyond:
                with pytest.raises(BadOptions):
                    game.options({option.name: value}, seats)
        taken = {getattr(game.options({}, seats), option.name) for seats in game.seats}
        assert default_of(option) in (taken if len(taken) == 1 else {None})


def test_a_default_that_follows_from_the_seats_is_null():
    clever = next(kind() for kind in BUILT_IN if kind.name == "clever_gedreht")
    (rounds, *_) = wire.catalogue([clever]).options
    assert (rounds.name, rounds.type, default_of(rounds)) == ("rounds", "int", None)
    assert rounds.default.WhichOneof("kind") == "null_value"


# --- refusals --------------------------------------------------------------------------------------------------------


def documented() -> dict[str, str]:
    """The gRPC code that match_service.proto documents for each reason: the first word of its comment."""
    text = (ROOT / "proto/croupier/v1/match_service.proto").read_text()
    (body,) = re.findall(r"^enum RefusalReason \{(.*?)^\}", text, re.DOTALL | re.MULTILINE)
    values = re.findall(r"((?:^  //.*\n)+)^  ([A-Z_]+) = (\d+);", body, re.MULTILINE)
    assert len(values) == len(match_service_pb2.RefusalReason.values())
    return {name: comment.split()[1].rstrip(":") for comment, name, number in values if number != "0"}


def test_every_reason_has_the_code_that_the_proto_documents():
    assert {reason: code.name for reason, (_, code) in wire.REFUSALS.items()} == documented()
    assert {reason: value for reason, (value, _) in wire.REFUSALS.items()} == {
        name: value for name, value in match_service_pb2.RefusalReason.items() if value
    }


def test_the_page_for_client_developers_lists_the_same_codes():
    page = (ROOT / "docs/wire.md").read_text()
    rows = re.findall(r"^\| ([A-Z_]+) \| ([A-Z_, ]+?) *[|:]", page, re.MULTILINE)
    assert {reason: code for code, reasons in rows for reason in reasons.split(", ")} == documented()


def every_refusal(kind: type[Refusal] = Refusal) -> list[type[Refusal]]:
    return [kind, *(below for child in kind.__subclasses__() for below in every_refusal(child))]


@pytest.mark.parametrize("kind", [kind for kind in every_refusal() if kind.__module__ == refusals.__name__])
def test_every_refusal_of_the_engine_has_a_reason_on_the_wire(kind: type[Refusal]):
    assert kind.reason in wire.REFUSALS
    assert kind is Refusal or kind.reason != Refusal.reason or kind is refusals.Internal


def test_a_refusal_carries_its_facts_as_text():
    error = refusals.StalePrompt("prompt 3 is not the seat's prompt 5", seat=0, prompt=5)
    message = wire.refusal(error.reason, error.detail, error.fields)
    assert message == match_service_pb2.Refusal(
        reason=match_service_pb2.STALE_PROMPT,
        message="prompt 3 is not the seat's prompt 5",
        metadata={"seat": "0", "prompt": "5"},
    )


@pytest.mark.parametrize("reason", wire.REFUSALS)
def test_a_status_holds_the_code_and_an_error_info(reason: str):
    status = wire.status(reason, "a sentence", {"match": "000a", "seat": 0})
    info = error_details_pb2.ErrorInfo()
    (detail,) = status.details
    assert detail.Unpack(info)
    assert (status.code, status.message) == (wire.REFUSALS[reason][1].value[0], "a sentence")
    assert (info.reason, info.domain, dict(info.metadata)) == (reason, "croupier", {"match": "000a", "seat": "0"})


def test_a_reason_from_elsewhere_is_told_as_internal():
    assert wire.refusal("NEVER_HEARD_OF", "a sentence", {}).reason == match_service_pb2.INTERNAL
    assert wire.status("NEVER_HEARD_OF", "a sentence", {}).code == grpc.StatusCode.INTERNAL.value[0]
