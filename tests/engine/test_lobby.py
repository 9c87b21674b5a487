"""Who sits down, who goes, and how a match begins."""

import json

import pytest

from engine import bots, codes, journal
from engine.audit import audit
from engine.chance import Stream, code_key, match_key
from engine.game import encode
from engine.journal import Aborted, Bot, Created, Joined, SeatPlan, Started
from engine.match import Drift, Match
from engine.refusals import BadCode, MatchStarted, NotYourSeat, RequestReused, SeatTaken, TenureEnded
from tests.engine.hard import POLICY, computers, let_computers_move
from tests.engine.sent import TIMO, everything, request, send, some_move, tenure
from tests.histories.record import Table

# --- lobby -----------------------------------------------------------------------------------------------------------


def test_a_join_takes_the_lowest_open_seat_or_the_one_asked_for(lobby):
    assert lobby.join("Kim", 1) == (1, 1)
    assert lobby.join("Lou") == (0, 2)
    assert [seat.name for seat in lobby.match.seats] == ["Lou", "Kim", ""]


def test_a_repeated_join_returns_its_seat_and_appends_nothing(lobby):
    first = lobby.join("Kim", 1)
    lobby.join("Lou")
    before = everything(lobby.match)
    for seat in (None, 1):
        assert lobby.match.join("Kim", b"Kim", request("Kim"), 99, seat) == (first, [])
    assert everything(lobby.match) == before
    lobby.fill()
    assert lobby.match.join("Kim", b"Kim", request("Kim"), 99) == (first, [])
    lobby.match.abort("operator", 99)
    assert lobby.match.join("Kim", b"Kim", request("Kim"), 99) == (first, [])
    assert lobby.match.tenure_of(request("Kim")) == first
    assert lobby.match.tenure_of("unknown") is None


@pytest.mark.parametrize(("name", "seed", "seat"), [("Lou", b"Kim", None), ("Kim", b"Lou", None), ("Kim", b"Kim", 1)])
def test_a_request_that_joined_with_other_parameters_is_reused(lobby, name, seed, seat):
    lobby.join("Kim")
    with pytest.raises(RequestReused):
        lobby.match.join(name, seed, request("Kim"), 99, seat)


def test_a_repeated_join_whose_tenure_is_over_is_refused_and_a_new_one_gets_a_new_tenure(lobby):
    seat, held = lobby.join("Kim")
    lobby.leave(seat)
    with pytest.raises(TenureEnded):
        lobby.join("Kim")
    again = lobby.join("Kim again", seat)
    assert again == (seat, lobby.match.version)
    assert again.tenure != held
    with pytest.raises(TenureEnded):
        lobby.join("Kim")
    with pytest.raises(NotYourSeat):
        lobby.match.kick(seat, 77, 9)


def test_a_tenure_that_has_ended_opens_nothing(lobby):
    """An old token is worth nothing to whoever sat there before, not even if the seat has a new holder."""
    seat, held = lobby.join("Kim")
    lobby.add(lobby.match.kick(seat, None, lobby.at)[1])
    lobby.join("Lou", seat)
    lobby.fill()
    match = lobby.match
    with pytest.raises(NotYourSeat):
        match.move(seat, held, match.prompts[seat], some_move(match, match.to_act[0]), 9)


def test_a_repeated_leave_returns_the_first_ones_version(lobby):
    seat, held = lobby.join("Kim")
    lobby.leave(seat)
    left = lobby.match.version
    lobby.join("Lou", seat)
    before = everything(lobby.match)
    assert lobby.match.leave(seat, held, 99) == (left, [])
    assert lobby.match.kick(seat, held, 99) == (left, [])
    assert everything(lobby.match) == before


def test_the_last_join_starts_the_match_in_the_same_commit(lobby):
    lobby.join("Kim")
    lobby.join("Lou")
    _, lines = lobby.match.join("Max", b"", "max", lobby.at)
    assert [type(journal.read(line.data).body) for line in lines] == [Joined, Started]
    assert lobby.match.status == "running"
    with pytest.raises(MatchStarted):
        lobby.match.join("Late", b"", "late", lobby.at)


def test_a_seat_for_a_computer_is_taken_from_the_beginning():
    match = Match(bytes(32))
    match.create(
        Created(
            match="m",
            rules="timos_twist/1",
            options=json.loads(encode(TIMO.options({}, 3))),
            seats=(SeatPlan("hard", 0, POLICY), SeatPlan("open"), SeatPlan("easy", 500, POLICY)),
            private=False,
            commitment="",
            request="",
        ),
        5,
    )
    with pytest.raises(SeatTaken):
        match.join("Kim", b"", "kim", 6, 0)
    tenure, lines = match.join("Kim", b"", "kim", 6)
    assert tenure.seat == 1
    assert len(lines) == 2
    assert match.players == (0, 1, 2)


def test_computers_alone_start_at_once_and_play_to_the_end():
    match = computers("hard", "easy")
    assert match.status == "running"
    with pytest.raises(MatchStarted):
        match.join("Kim", b"", "kim", 6)
    assert not match.all_absent
    let_computers_move(match)
    assert match.status == "finished"
    assert audit(match.lines).outcome == "consistent"


def test_the_same_game_code_deals_the_same_match_and_meets_the_same_computers():
    dealt = codes.Dealt(TIMO.rules, ("open", "open"), {"target": 50}, b"abcde")
    first, second = (computers("open", "open", code=codes.encode(dealt)) for _ in range(2))
    for match, seed in ((first, b"1"), (second, b"2")):
        match.join("Kim", seed, "kim", 6)
        match.join("Lou", seed, "lou", 7)
    assert first.digest == second.digest
    assert first.state == TIMO.setup(first.options, 2, Stream(code_key(b"abcde", TIMO.rules), "game", 3)).state


@pytest.mark.parametrize(
    ("kinds", "options", "code"),
    [
        (("open", "open", "open"), {"target": 50}, None),
        (("open", "open"), {"target": 60}, None),
        (("open", "open"), {"target": 50}, "HVD-A9G8-9J5N-8Q"),
        (("open", "open"), {"target": 50}, "hello"),
    ],
)
def test_a_game_code_that_says_another_match_or_is_mistyped_creates_none(kinds, options, code):
    wrong = code or codes.encode(codes.Dealt(TIMO.rules, kinds, options, b"abcde"))
    with pytest.raises((Drift, BadCode)):
        computers("open", "open", code=wrong)


def test_a_computer_stands_in_for_an_absent_human_until_he_moves_himself():
    match = computers("open", "open", absent="hard")
    for name in ("Kim", "Lou"):
        match.join(name, b"", name, 6)
    [seat] = match.to_act
    assert match.question(seat) is None
    while not match.seats[seat].absent:
        for owing in match.to_act:
            if owing == seat:
                match.time_out(seat, match.prompts[seat], match.at)
            else:
                send(match, owing, match.prompts[owing], some_move(match, owing))
    while match.to_act != (seat,):
        [other] = match.to_act
        send(match, other, match.prompts[other], some_move(match, other))
    question = match.question(seat)
    assert (question.level, question.policy, question.version) == ("hard", POLICY, match.prompts[seat])
    [line] = match.bot_move(question, bots.answer(question), match.at)
    assert journal.read(line.data).body.bot == Bot("hard", POLICY, question.version)
    assert match.seats[seat].absent
    while match.to_act != (seat,):
        [other] = match.to_act
        send(match, other, match.prompts[other], some_move(match, other))
    send(match, seat, match.prompts[seat], some_move(match, seat))
    assert not match.seats[seat].absent
    assert audit(match.lines, seed=bytes(32)).difference is None


def test_a_decision_that_comes_too_late_changes_nothing():
    match = computers("open", "hard")
    match.join("Kim", b"", "kim", 6)
    while match.to_act != (1,):
        send(match, 0, match.prompts[0], some_move(match, 0))
    question = match.question(1)
    assert len(match.bot_move(question, bots.answer(question), match.at)) >= 1
    before = everything(match)
    assert match.bot_move(question, bots.answer(question), match.at) == []
    assert everything(match) == before


def test_a_decision_for_one_turn_does_not_answer_the_next():
    match = computers("open", "hard")
    match.join("Kim", b"", "kim", 6)

    def until_asked() -> None:
        while match.to_act != (1,):
            send(match, 0, match.prompts[0], some_move(match, 0))

    until_asked()
    question = match.question(1)
    decided = bots.answer(question)
    while match.prompts[1] == question.version or match.to_act != (1,):
        let_computers_move(match)
        until_asked()
    before = everything(match)
    assert match.bot_move(question, decided, match.at) == []
    assert everything(match) == before


def test_a_computer_that_owes_no_move_may_do_nothing():
    """Here it may catch somebody who has one card left and has not said TIMO."""
    match = computers("open", "open", "hard")
    for name in ("Kim", "Lou"):
        match.join(name, b"", name, 6)
    while not match.is_asked(2) or 2 in match.to_act:
        [seat] = match.to_act
        if seat == 2:
            match.bot_move(match.question(2), TIMO.default(match.state, 2), match.at)
            continue
        moves = [TIMO.move_json.encode(move) for move in match.legal(seat)]
        silent = [move for move in moves if b'"play"' in move and b"timo" not in move]
        send(match, seat, match.prompts[seat], (silent or moves)[0])
    before = everything(match)
    assert match.bot_move(match.question(2), None, match.at) == []
    assert everything(match) == before


def test_a_decision_that_has_become_illegal_is_replaced_by_the_default_if_a_move_is_owed():
    match = computers("open", "hard")
    match.join("Kim", b"", "kim", 6)
    while match.to_act != (1,):
        send(match, 0, match.prompts[0], some_move(match, 0))
    [line, *_] = match.bot_move(match.question(1), TIMO.move_json.decode(b'{"play":{"card":"ace"}}'), match.at)
    default = json.loads(line.data)["move"]
    assert default != {"play": {"card": "ace"}}


def test_with_fewer_seats_than_planned_tokens_keep_their_numbers():
    table = Table(TIMO, 6, label="fewer")
    kim, lou = table.join("Kim", 4), table.join("Lou", 1)
    match = table.match
    version, lines = match.start(table.at)
    table.add(lines)
    assert journal.read(lines[0].data).body == Started((1, 4))
    assert match.players == (1, 4)
    assert [match.plays_as(seat) for seat in range(6)] == [None, 0, None, None, 1, None]
    assert match.prompts == {1: version, 4: version}
    key = match_key(table.seed, match.id, TIMO.rules, [b"Lou", b"Kim"])
    assert match.state == TIMO.setup(match.options, 2, Stream(key, "game", version)).state
    for seat, held in (kim, lou):
        while match.to_act != (seat,):
            table.step()
        assert match.move(seat, held, match.prompts[seat], some_move(match, seat), table.at)[1]
    assert match.legal(0) == []
    assert match.start(table.at) == (version, [])


# --- leaving a running match -----------------------------------------------------------------------------------------


def test_who_leaves_a_running_match_is_absent_for_good(table):
    match = table.match
    seat = match.to_act[0]
    held = tenure(match, seat)
    table.leave(seat)
    assert match.seats[seat].absent
    assert match.status == "running"
    assert match.to_act == (seat,)
    with pytest.raises(NotYourSeat):
        match.move(seat, held, match.prompts[seat], some_move(match, seat), 9)
    with pytest.raises(TenureEnded):
        match.join("Änne" if seat == 0 else "Bob", ("Änne" if seat == 0 else "Bob").encode(), request_of(seat), 9)
    table.time_out(seat)
    assert match.seats[seat].absent


def test_the_host_kicks_nobody_from_a_running_match_not_even_who_has_left_it(table):
    """Who asks to kick whoever sits there is not told of the leaving as if it had been his doing."""
    match = table.match
    seat = match.to_act[0]
    table.leave(seat)
    before = everything(match)
    with pytest.raises(MatchStarted):
        match.kick(seat, None, 9)
    assert everything(match) == before


def request_of(seat: int) -> str:
    return request("Änne" if seat == 0 else "Bob")


def test_when_every_human_has_left_the_match_aborts_in_the_same_commit(table):
    match = table.match
    table.leave(0)
    version, lines = match.leave(1, tenure(match, 1), table.at)
    assert version == lines[0].version
    assert journal.read(lines[1].data).body == Aborted("all_left", table.seed.hex())
    assert (match.status, match.reason, match.to_act) == ("aborted", "all_left", ())
