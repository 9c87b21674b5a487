from types import SimpleNamespace

import pytest

from croupier.v1 import match_service_pb2 as pb
from engine import codes
from engine.journal import SeatPlan
from engine.refusals import Refusal
from services.commands import client_seed_of, match_id
from services.match import checks
from services.match.pace import Pace
from services.match.past import rematch_id
from services.match.refused import Refused
from services.settings import load
from services.tokens import Operators
from tests.engine.hard import POLICY

ID = bytes(range(16))
CODE = codes.encode(codes.Dealt("timos_twist/1", ("open", "open"), {}, b"abcde"))
SETTINGS = load(partitions=4, default_clock_ms=None, operator_key=None)


def reason(call, *args) -> tuple[str, object]:
    with pytest.raises((Refused, Refusal)) as caught:
        call(*args)
    return caught.value.reason, caught.value.fields.get("field")


# --- single fields -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "Änne", "x" * 32, "李小龙", "two words", "🂡", "o'neill <b>"])
def test_names_of_people_pass(name: str):
    assert checks.name(name) == name


@pytest.mark.parametrize("name", ["", " ", " \u3000 ", "x" * 33, "A\u0308nne", "a\nb", "a\x00", "\x7f", "a\x9fb"])
def test_names_that_are_empty_long_decomposed_or_with_controls_do_not(name: str):
    assert reason(checks.name, name) == ("BAD_NAME", "name")


@pytest.mark.parametrize("length", [0, 15, 65, 1000])
def test_a_request_id_that_is_too_short_or_too_long_is_refused(length: int):
    assert reason(checks.request_id, bytes(length)) == ("MALFORMED_REQUEST", "request_id")


@pytest.mark.parametrize("length", [16, 64])
def test_a_request_id_of_sixteen_to_sixtyfour_bytes_is_not(length: int):
    assert len(checks.request_id(bytes(length))) == length


@pytest.mark.parametrize(
    "match",
    [
        "",
        "0" * 24,
        "0" * 26,
        "004" + "a" * 22,
        "999" + "a" * 22,
        "000" + "A" * 22,
        "000>" + "a" * 21,
        "\u0660" * 3 + "a" * 22,
    ],
)
def test_what_is_no_match_id_of_these_partitions_reaches_no_key(match: str):
    assert reason(checks.known_match, match, 4)[0] == "UNKNOWN_MATCH"


def test_a_client_seed_is_the_given_one_even_if_empty_or_follows_from_the_request_id():
    assert checks.client_seed(pb.JoinMatchRequest(client_seed=b""), ID) == b""
    assert checks.client_seed(pb.JoinMatchRequest(client_seed=bytes(64)), ID) == bytes(64)
    assert checks.client_seed(pb.JoinMatchRequest(), ID) == client_seed_of(ID)
    assert reason(checks.client_seed, pb.JoinMatchRequest(client_seed=bytes(65)), ID)[1] == "client_seed"


@pytest.mark.parametrize("given", ["", "  ", "x" * 201, "two\nlines"])
def test_a_reason_to_abort_that_cannot_be_read_is_refused(given: str):
    assert reason(checks.abort_reason, given) == ("MALFORMED_REQUEST", "reason")


# --- the operator ------------------------------------------------------------------------------------------------


def call_with(*headers: tuple[str, str | bytes]) -> SimpleNamespace:
    return SimpleNamespace(invocation_metadata=lambda: headers)


def test_the_operator_passes_with_his_key():
    operators = Operators("o" * 32)
    checks.operator(call_with(("authorization", "Bearer " + "o" * 32)), operators)
    checks.operator(call_with(("x", "y"), ("authorization", "bearer " + operators.token(60))), operators)


@pytest.mark.parametrize(
    "header", [None, "", "o" * 32, "Bearer", "Bearer " + "o" * 31, "Bearer " + "ö" * 32, "Basic " + "o" * 32]
)
def test_nobody_passes_without_it(header: str | None):
    context = call_with(*([] if header is None else [("authorization", header)]))
    assert reason(checks.operator, context, Operators("o" * 32))[0] == "NOT_OPERATOR"


def test_without_a_key_in_the_settings_nobody_is_the_operator():
    assert reason(checks.operator, call_with(("authorization", "Bearer None")), Operators(None))[0] == "NOT_OPERATOR"


# --- a new match -------------------------------------------------------------------------------------------------


def request(**changes) -> pb.CreateMatchRequest:
    fields = {"request_id": ID, "options": {"timos_twist": {"target": 100}}, "seats": [{"kind": "open"}, {}]}
    return pb.CreateMatchRequest(**(fields | changes))


def test_a_request_becomes_a_command_with_every_option_and_the_newest_rules():
    command = checks.create(request(clock_ms=5000), SETTINGS)
    assert command.match == match_id(ID, 4)
    assert command.rules == "timos_twist/1"
    assert command.options == {
        "target": 100, "stack_equal": True, "twist_skips_two": True, "must_play": True, "timo": "call",
    }  # fmt: skip
    assert [seat.kind for seat in command.seats] == ["open", "open"]
    assert (command.clock, command.private) == (5000, False)


def test_without_a_clock_the_settings_one_holds():
    assert checks.create(request(), SETTINGS).clock is None
    assert checks.create(request(), load(default_clock_ms=9000)).clock == 9000


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"request_id": b""}, ("MALFORMED_REQUEST", "request_id")),
        ({"options": {}}, ("MALFORMED_REQUEST", "options")),
        ({"options": {"timos_twist": {"target": 1}}}, ("BAD_OPTIONS", "target")),
        ({"options": {"timos_twist": {"timo": "at `$.target`"}}}, ("BAD_OPTIONS", "timo")),
        ({"options": {"generic": {"name": "chess"}}}, ("UNKNOWN_GAME", None)),
        ({"rules": "timos_twist/9"}, ("UNKNOWN_GAME", None)),
        ({"rules": "bombenziehen/1"}, ("MALFORMED_REQUEST", "rules")),
        ({"seats": []}, ("BAD_SEATS", None)),
        ({"seats": [{}] * 99}, ("BAD_SEATS", None)),
        ({"seats": [{}, {"kind": "grandmaster"}]}, ("BAD_SEATS", None)),
        ({"seats": [{}, {"kind": "human"}]}, ("BAD_SEATS", None)),
        ({"seats": [{}, {"thinking_ms": 1}]}, ("MALFORMED_REQUEST", "seats")),
        ({"clock_ms": 999}, ("MALFORMED_REQUEST", "clock_ms")),
        ({"clock_ms": 0}, ("MALFORMED_REQUEST", "clock_ms")),
        ({"clock_ms": -5}, ("MALFORMED_REQUEST", "clock_ms")),
        ({"clock_ms": 86_400_001}, ("MALFORMED_REQUEST", "clock_ms")),
        ({"absent_policy": "grandmaster"}, ("BAD_SEATS", None)),
        ({"code": "x"}, ("BAD_CODE", None)),
        ({"code": ""}, ("BAD_CODE", None)),
        ({"code": CODE[:-1] + ("0" if CODE[-1] != "0" else "1")}, ("BAD_CODE", None)),
        ({"code": CODE}, ("BAD_CODE", "options")),
        ({"code": CODE, "options": {"timos_twist": {}}, "seats": [{}, {}, {}]}, ("BAD_CODE", "seats")),
        ({"code": CODE, "options": {"bombenziehen": {}}}, ("BAD_CODE", "options")),
        ({"code": CODE, "rules": "bombenziehen/1", "options": {"bombenziehen": {}}}, ("BAD_CODE", "rules")),
        ({"code": CODE, "fresh_code": True}, ("MALFORMED_REQUEST", "fresh_code")),
        ({"seats": [{"kind": "hard"}, {}], "fresh_code": True}, ("NO_CODE", None)),
        ({"seats": [{"kind": "hard", "thinking_ms": 60_001}, {}]}, ("MALFORMED_REQUEST", "seats")),
    ],
)
def test_what_cannot_be_dealt_is_refused_before_anything_is_sent(changes, refusal):
    assert reason(checks.create, request(**changes), SETTINGS) == refusal


def test_a_game_code_is_enough_to_deal_its_match_again():
    command = checks.create(pb.CreateMatchRequest(request_id=ID, code=CODE.lower().replace("-", " ")), SETTINGS)
    assert (command.rules, command.code) == ("timos_twist/1", CODE)
    assert command.options["target"] == 300
    assert [plan.kind for plan in command.seats] == ["open", "open"]


def test_options_that_a_request_leaves_out_are_those_of_its_game_code():
    all_options = {**checks.create(request(), SETTINGS).options, "target": 75, "must_play": False}
    dealt = codes.Dealt("timos_twist/1", ("open", "open"), all_options, b"abcde")
    asked = pb.CreateMatchRequest(request_id=ID, code=codes.encode(dealt), options={"timos_twist": {"timo": "call"}})
    assert checks.create(asked, SETTINGS).options == dealt.options


def test_a_fresh_code_is_the_same_for_a_repeat_and_another_for_another_request():
    first, again = (checks.create(request(fresh_code=True), SETTINGS).code for _ in range(2))
    other = checks.create(request(fresh_code=True, request_id=b"x" * 16), SETTINGS).code
    assert first == again != other
    assert codes.decode(first).options["target"] == 100


def test_a_computer_gets_its_policy_and_thinks_as_long_as_asked_or_as_the_settings_say():
    seats = [{"kind": "hard"}, {"kind": "easy", "thinking_ms": 0}]
    command = checks.create(request(seats=seats, absent_policy="hard"), SETTINGS)
    plans = [SeatPlan("hard", SETTINGS.thinking_ms, POLICY), SeatPlan("easy", 0, POLICY)]
    assert (list(command.seats), command.absent) == (plans, plans[0])


def test_a_rematch_is_where_no_request_id_leads():
    """Otherwise anybody could take its place: ids of matches are no secrets."""
    from services.commands import rematch_request

    old = match_id(ID, 4)
    assert rematch_id(old, 4) != match_id(rematch_request(old), 4)
    assert checks.known_match(rematch_id(old, 4), 4)


# --- how fast a seat may send ------------------------------------------------------------------------------------


def test_a_seat_may_send_its_rate_at_once_and_then_at_its_rate():
    pace = Pace(10)
    assert [pace.take("seat", 5.0) for _ in range(11)] == [True] * 10 + [False]
    assert not pace.take("seat", 5.05)
    assert pace.take("seat", 5.1)
    assert not pace.take("seat", 5.1)
    assert sum(pace.take("seat", 5.1 + n / 100) for n in range(1, 101)) == 10


def test_seats_do_not_share_their_rate():
    pace = Pace(1)
    assert pace.take("one", 0.0)
    assert pace.take("other", 0.0)
    assert not pace.take("one", 0.5)


def test_seats_that_have_been_silent_are_forgotten():
    pace = Pace(1)
    for number in range(20_000):
        assert pace.take(number, number / 1000)
    assert len(pace) < 6000
