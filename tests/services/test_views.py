"""The JSON of views: complete, in the order of the messages, and no more than each seat may know."""

import json
from typing import Any

import pytest
from google.protobuf import json_format, timestamp_pb2
from google.protobuf.descriptor import Descriptor

from croupier.v1 import view_pb2
from engine.game import encode
from engine.games.timos_twist import TimosTwist
from engine.match import Match
from engine.registry import AnyGame
from services import wire
from services.views import ViewEncoder, timestamp
from tests.services.played import CLOCK, EVERY_GAME, SEED, START, STEP, create, join, journal, move, outside, replayed

__all__ = ["outside"]

pytestmark = pytest.mark.usefixtures("outside")

SEEDS = pytest.mark.parametrize("seed", [1, 2])
TWIST = TimosTwist()


def seats_of(match: Match) -> list[int | None]:
    """Whoever can have a view: all seats that are taken and the spectators."""
    return [*(number for number, seat in enumerate(match.seats) if seat.kind != "open"), None]


def plain(value: Any) -> Any:
    """A value of the engine as any reader of its JSON has it."""
    return json.loads(encode(value))


def without_nulls(tree: Any) -> Any:
    """The same JSON with nulls left out, which means the same."""
    if isinstance(tree, dict):
        return {name: without_nulls(value) for name, value in tree.items() if value is not None}
    return [without_nulls(value) for value in tree] if isinstance(tree, list) else tree


def misshapen(tree: dict[str, Any], descriptor: Descriptor, path: str = "") -> list[str]:
    """Where an object's keys are not a message's fields in order: all of them, but of a oneof the given arm alone."""
    if descriptor.full_name == "google.protobuf.Struct":
        return []
    arms = {field.name for oneof in descriptor.oneofs if len(oneof.fields) > 1 for field in oneof.fields}
    given = list(tree)
    optional = arms | ({field.name for field in descriptor.fields} if path.endswith("/legal/*") else set())
    expected = [field.name for field in descriptor.fields if field.name in tree or field.name not in optional]
    faults = [] if given == expected else [f"{path}: {given}, not {expected}"]
    if arms and len(arms & set(given)) != 1:
        faults.append(f"{path}: not one arm but {arms & set(given)}")
    for field in descriptor.fields:
        value = tree.get(field.name)
        below = field.message_type
        if value is None or below is None or below.full_name == "google.protobuf.Timestamp":
            continue
        inside = f"{path}/{field.name}"
        is_move = path.endswith("/legal/*")
        if field.is_repeated:
            faults += [fault for item in value for fault in misshapen(item, below, f"{inside}/*")]
        elif is_move:
            names = [field.name for field in below.fields if field.name in value]
            faults += [] if list(value) == names else [f"{inside}: {list(value)}, not {names}"]
        else:
            faults += misshapen(value, below, inside)
    return faults


@EVERY_GAME
@SEEDS
def test_a_view_is_the_json_of_its_message(game: AnyGame, seed: int):
    """Protobuf's strict parser takes it whole, and writes the same values again."""
    for match in replayed(journal(game, seed)):
        encoder = ViewEncoder(match)
        for seat in seats_of(match):
            tree = json.loads(encoder.view_json(seat))
            message = json_format.ParseDict(tree, view_pb2.View())
            again = json_format.MessageToDict(
                message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
            )
            if tree["deadline"] is not None:
                deadline = timestamp_pb2.Timestamp()
                deadline.FromJsonString(again["deadline"])
                again["deadline"] = timestamp(deadline.ToMilliseconds())
            assert without_nulls(again) == without_nulls(tree)


@EVERY_GAME
@SEEDS
def test_keys_stand_in_the_order_of_the_message_and_none_is_left_out(game: AnyGame, seed: int):
    for match in replayed(journal(game, seed)):
        encoder = ViewEncoder(match)
        for seat in seats_of(match):
            assert misshapen(json.loads(encoder.view_json(seat)), view_pb2.View.DESCRIPTOR) == []


@EVERY_GAME
@SEEDS
def test_a_view_is_compact_utf8(game: AnyGame, seed: int):
    for match in replayed(journal(game, seed, limit=30)):
        for seat in seats_of(match):
            data = ViewEncoder(match).view_json(seat)
            assert json.dumps(json.loads(data), ensure_ascii=False, separators=(",", ":")).encode() == data


@EVERY_GAME
@SEEDS
def test_a_view_tells_what_the_engine_lets_its_seat_know(game: AnyGame, seed: int):
    for match in replayed(journal(game, seed)):
        if match.state is None:
            continue
        for i, seat in enumerate(match.players):
            view = json.loads(ViewEncoder(match).view_json(seat))
            part = view[wire.arm(game.name)]
            legal = [] if match.over else game.legal(match.state, i)

            assert (view["seat"], view["version"], view["prompt"]) == (seat, match.version, match.prompts[seat])
            assert part["table"] == plain(game.table(match.state))
            assert part["own"] == plain(game.own(match.state, i))
            assert part["legal"] == json.loads(game.move_json.encode_list(legal))
            assert part["events"] == json.loads(game.event_json.encode_list(game.told(match.events, i)))
            assert view["to_act"] == ([] if match.over else list(game.to_act(match.state)))


@EVERY_GAME
@SEEDS
def test_spectators_see_no_seats_own_part(game: AnyGame, seed: int):
    whispered = False
    for match in replayed(journal(game, seed)):
        view = json.loads(ViewEncoder(match).view_json(None))
        assert (view["seat"], view["prompt"]) == (None, None)
        if match.state is not None:
            part = view[wire.arm(game.name)]
            assert (part["own"], part["legal"]) == (None, [])
            assert part["events"] == json.loads(game.event_json.encode_list(game.told(match.events, None)))
            for i in range(len(match.players)):
                whispered |= game.told(match.events, None) != game.told(match.events, i)
    assert whispered, "the match held no secret to keep"


@EVERY_GAME
@SEEDS
def test_an_encoder_kept_beside_the_match_gives_what_a_new_one_gives(game: AnyGame, seed: int):
    kept = None
    for match in replayed(journal(game, seed)):
        kept = kept or ViewEncoder(match)
        assert kept.all_views() == ViewEncoder(match).all_views()
        assert kept.view_json(None) == kept.all_views()[-1][1]


@EVERY_GAME
@SEEDS
def test_everybody_with_a_tenure_gets_a_view_and_spectators_one_last(game: AnyGame, seed: int):
    for match in replayed(journal(game, seed)):
        encoder = ViewEncoder(match)
        holders = [(i, seat) for i, seat in enumerate(match.seats) if seat.kind == "human" and not seat.left]
        assert encoder.all_views() == [
            *((f"view.{match.id}.{i}.{seat.tenure}", encoder.view_json(i)) for i, seat in holders),
            (f"view.{match.id}.table", encoder.view_json(None)),
        ]


@EVERY_GAME
@SEEDS
def test_events_missed_are_those_of_the_views_missed(game: AnyGame, seed: int):
    lines = journal(game, seed)
    arm = wire.arm(game.name)
    views: list[tuple[int | None, Any, dict[str, Any]]] = []
    match = Match(SEED)
    for line in lines:
        match.replay(line, verify=False)
        views += [
            (seat, match.events if match.state else None, json.loads(ViewEncoder(match).view_json(seat)))
            for seat in seats_of(match)
            if match.state is None or seat is None or seat in match.players
        ]
    encoder = ViewEncoder(match)
    for seat, events, view in views:
        tree = json.loads(encoder.past_events(view["version"], events, seat))
        expected = view[arm] and {name: view[arm][name] for name in ("name", "events") if name in view[arm]}
        assert tree == {"version": view["version"], arm: expected}
        assert misshapen(tree, view_pb2.PastEvents.DESCRIPTOR) == []
        json_format.ParseDict(tree, view_pb2.PastEvents())


def started(clock: int | None = CLOCK, plans: tuple[str, ...] = ("open", "open")) -> tuple[Match, ViewEncoder]:
    match, _ = create(TWIST, plans, {}, clock)
    for number, plan in enumerate(plans):
        if plan == "open":
            join(match, f"player {number}", number)
    return match, ViewEncoder(match)


def public(encoder: ViewEncoder) -> dict[str, Any]:
    view: dict[str, Any] = json.loads(encoder.view_json(None))
    return view


def test_in_the_lobby_there_is_neither_a_game_nor_a_decision():
    match, _ = create(TWIST, ["open", "open"], {})
    join(match, "Änne")
    view = json.loads(ViewEncoder(match).view_json(0))

    absent = ("prompt", "reason", "deadline", "result", "seed", "hash", "signature", "timos_twist")
    assert [view[name] for name in absent] == [None] * len(absent)
    assert (view["status"], view["to_act"], view["clock"]) == ("lobby", [], CLOCK)
    assert view["seats"] == [
        {"seat": 0, "name": "Änne", "kind": "human", "absent": False, "tenure": 1, "plays_as": None},
        {"seat": 1, "name": "", "kind": "open", "absent": False, "tenure": None, "plays_as": None},
    ]


def test_a_seat_behind_an_empty_one_plays_under_a_lower_number():
    match, _ = create(TWIST, ["open"] * 3, {})
    join(match, "first", 0)
    join(match, "last", 2)
    match.start(match.at + STEP)
    encoder = ViewEncoder(match)

    while match.to_act != (2,):
        move(match, 0, match.legal(0)[0])
    view = json.loads(encoder.view_json(2))
    assert [seat["plays_as"] for seat in view["seats"]] == [0, None, 1]
    assert view["timos_twist"]["own"] == plain(TWIST.own(match.state, 1))
    assert view["to_act"] == [1]
    assert view["deadline"] == timestamp(match.prompt_at[2] + CLOCK)
    with pytest.raises(ValueError, match="seat 1 does not play"):
        encoder.view_json(1)


def test_the_deadline_is_the_prompt_of_the_seat_that_owes_a_move_plus_the_clock():
    match, encoder = started()
    assert public(encoder)["deadline"] == timestamp(match.at + CLOCK)

    owing = match.to_act[0]
    move(match, owing, match.legal(owing)[0])
    assert public(encoder)["deadline"] == timestamp(match.prompt_at[match.to_act[0]] + CLOCK)


def test_an_absent_seat_is_due_at_once():
    match, encoder = started()
    while not any(match.seats[seat].absent for seat in match.to_act):
        owing = match.to_act[0]
        match.time_out(owing, match.prompts[owing], match.at + STEP)

    view = public(encoder)
    assert view["deadline"] == timestamp(match.prompt_at[match.to_act[0]])
    assert view["seats"][match.to_act[0]]["absent"] is True


def test_without_a_clock_nothing_is_due():
    _, encoder = started(clock=None)
    assert (public(encoder)["clock"], public(encoder)["deadline"]) == (None, None)


def test_the_clock_does_not_run_for_computers_nor_do_they_get_views():
    match, encoder = started(plans=("open", "hard"))
    while match.to_act != (1,):
        move(match, 0, match.legal(0)[0])

    assert public(encoder)["deadline"] is None
    assert [subject for subject, _ in encoder.all_views()] == [f"view.{match.id}.0.1", f"view.{match.id}.table"]
    assert json.loads(encoder.view_json(1))["timos_twist"]["legal"] != []  # what a computer decides on


def test_a_tenure_that_was_left_gets_no_view_of_what_comes_after():
    match, encoder = started(plans=("open",) * 3)
    match.leave(1, 2, match.at + STEP)

    subjects = [subject for subject, _ in encoder.all_views()]
    assert subjects == [f"view.{match.id}.0.1", f"view.{match.id}.2.3", f"view.{match.id}.table"]
    assert public(encoder)["seats"][1]["absent"] is True


def last_two(lines: list[bytes], *, sign: Any = None) -> list[dict[str, Any]]:
    """What spectators see at the last two entries."""
    views = [public(ViewEncoder(match, sign)) for match in replayed(lines)]
    return views[-2:]


@pytest.fixture(scope="module")
def played_out() -> list[bytes]:
    """A match of Timo's Twist played to its end."""
    match, first = create(TWIST, ["open", "open"], {"target": 50})
    lines = [first, *join(match, "a"), *join(match, "b")]
    while not match.over:
        owing = match.to_act[0]
        lines += match.time_out(owing, match.prompts[owing], match.at + STEP)
    return [line.data for line in lines]


def test_the_end_shows_the_result_the_seed_and_the_last_hash(played_out: list[bytes]):
    before, last = last_two(played_out)
    *_, match = replayed(played_out)

    assert (before["status"], last["status"]) == ("running", "finished")
    assert [before[name] for name in ("result", "seed", "hash", "signature")] == [None] * 4
    assert last["result"] == plain(match.result)
    assert (last["seed"], last["hash"], last["signature"]) == (SEED.hex(), match.head.hex(), None)


def test_the_move_that_ends_a_match_is_told_by_its_own_view(played_out: list[bytes]):
    before, last = last_two(played_out)

    assert "round_ended" in before["timos_twist"]["events"][-1]
    assert last["timos_twist"]["events"] == []
    assert last["timos_twist"]["table"] == before["timos_twist"]["table"]


def test_the_signature_is_over_the_bytes_of_the_hash(played_out: list[bytes]):
    signed = []

    def sign(data: bytes) -> bytes:
        signed.append(data)
        return b"\x0f" * 64

    _, last = last_two(played_out, sign=sign)
    assert last["signature"] == "0f" * 64
    assert signed == [bytes.fromhex(last["hash"])]


def test_an_aborted_match_tells_why_and_reveals_its_seed():
    match, encoder = started()
    match.abort("enough", match.at + STEP)

    view = public(encoder)
    assert (view["status"], view["reason"], view["seed"]) == ("aborted", "enough", SEED.hex())
    assert (view["result"], view["deadline"], view["to_act"]) == (None, None, [])
    assert view["hash"] == match.head.hex()


def test_a_match_aborted_in_its_lobby_has_no_game_part():
    match, _ = create(TWIST, ["open", "open"], {})
    join(match, "a")
    match.abort("nobody_came", match.at + STEP)
    view = json.loads(ViewEncoder(match).view_json(0))
    assert (view["status"], view["prompt"], view["timos_twist"]) == ("aborted", None, None)


def test_a_game_from_outside_stands_under_generic_with_its_name(outside: AnyGame):
    match, _ = create(outside, ["open", "open"], {"target": 100})
    join(match, "a")
    join(match, "b")
    view = public(ViewEncoder(match))

    assert view["options"]["generic"]["name"] == view["generic"]["name"] == "outside"
    assert view["options"]["generic"]["data"]["target"] == 100


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (START, "2026-11-30T02:32:54.123Z"),
        (951_782_399_999, "2000-02-28T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
    ],
)
def test_times_are_rfc_3339_in_utc_with_milliseconds(at: int, text: str):
    assert timestamp(at) == text
