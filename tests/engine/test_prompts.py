"""Prompts, the clock, and the order of the checks of a move."""

import json
from typing import Any

import pytest
from msgspec import Raw

from engine import journal
from engine.game import encode
from engine.journal import Bot, Moved
from engine.match import Answer
from engine.refusals import IllegalMove, MalformedMove, MatchOver, NotStarted, NotYourSeat, StalePrompt, TimedOut
from tests.engine.hard import POLICY
from tests.engine.sent import TIMO, VOTES, every_game, everything, send, some_move
from tests.histories.record import Table

# --- prompts ---------------------------------------------------------------------------------------------------------


def test_a_double_click_is_answered_with_the_first_one_and_applied_once(table):
    match = table.match
    [seat] = match.to_act
    prompt, move = match.prompts[seat], some_move(match, seat)
    version, lines = send(match, seat, prompt, move)
    before = everything(match)
    assert send(match, seat, prompt, move) == (version, [])
    assert everything(match) == before
    assert [line.version for line in lines] == [version]


@every_game
def test_a_repeat_is_answered_however_long_ago_it_was_also_after_the_end(game):
    table = Table(game, game.seats[0], label="repeats")
    table.fill()
    table.play()
    match = table.match
    moves = [entry for line in table.lines if isinstance((entry := journal.read(line.data)).body, Moved)]
    before = everything(match)
    for entry in moves:
        body = entry.body
        assert send(match, body.seat, body.prompt, bytes(body.move)) == (entry.version, [])
    assert everything(match) == before
    assert len(moves) > 10


def test_a_repeat_in_another_spelling_is_the_same_move(table):
    match = table.match
    [seat] = match.to_act
    prompt, move = match.prompts[seat], some_move(match, seat)
    version, _ = send(match, seat, prompt, move)
    spaced = json.dumps(json.loads(move), indent=1).encode()
    assert spaced != move
    assert send(match, seat, prompt, spaced) == (version, [])


def test_another_move_for_an_answered_prompt_is_stale(table):
    match = table.match
    [seat] = match.to_act
    prompt = match.prompts[seat]
    first, second = (TIMO.move_json.encode(move) for move in match.legal(seat)[:2])
    send(match, seat, prompt, first)
    with pytest.raises(StalePrompt) as refused:
        send(match, seat, prompt, second)
    assert refused.value.fields == {"seat": seat, "prompt": match.prompts[seat], "version": match.version}


def test_a_prompt_that_nobody_had_is_stale(table):
    match = table.match
    [seat] = match.to_act
    for prompt in (-1, 0, match.prompts[seat] - 1, match.version + 1, 1 << 70):
        with pytest.raises(StalePrompt):
            send(match, seat, prompt, some_move(match, seat))


def test_answers_that_several_seats_owe_at_once_do_not_disturb_each_other():
    """Every voter of Bluffing Billionaires answers the prompt that he was given, in whatever order they come."""
    table = Table(VOTES, 4, label="votes")
    table.fill()
    match = table.match
    while len(match.to_act) < 2:
        table.step()
    prompts = dict(match.prompts)
    voters = match.to_act
    assert len(voters) >= 2
    for seat in reversed(voters):
        version, _ = send(match, seat, prompts[seat], b'{"approve":{}}')
        assert match.answer(seat, prompts[seat]) == Answer(version, b'{"approve":{}}', "player")


def test_a_move_out_of_turn_leaves_the_pending_answer_of_the_seat_on_turn_valid():
    """Catching somebody without TIMO does not make the play stale that another seat was about to send."""
    table = Table(TIMO, 3, label="windows")
    table.fill()
    match = table.match
    catcher = None
    while catcher is None:
        table.step()
        turn = match.to_act[0]
        catcher = next(
            (s for s in match.players if s != turn and match.legal(s) == [TIMO.move_json.convert(CATCH)]), None
        )
    prompt, window = match.prompts[turn], match.prompts[catcher]
    send(match, catcher, window, encode(CATCH))
    assert match.prompts[turn] == prompt
    assert match.prompts[catcher] == match.version
    version, _ = send(match, turn, prompt, some_move(match, turn))
    assert version > window


CATCH: dict[str, Any] = {"catch": {}}


@every_game
@pytest.mark.parametrize("seats", [0, -1], ids=["fewest", "most"])
def test_a_prompt_moves_when_its_seat_has_moved_or_is_asked_something_else(game, seats):
    """Told independently of the fold, from `asked` alone, entry by entry."""
    table = Table(game, game.seats[seats], label="prompts")
    table.fill()
    match = table.match
    assert match.prompts == dict.fromkeys(match.players, match.version)
    for _ in range(150):
        if match.over:
            break
        prompts = dict(match.prompts)
        asked = [game.asked(match.state, i) for i in range(len(match.players))]
        lines = len(table.lines)
        table.step(timeouts=7)
        body = journal.read(table.lines[lines].data).body
        assert isinstance(body, Moved)
        for i, seat in enumerate(match.players):
            question = game.asked(match.state, i)
            moved_on = seat == body.seat or question not in (None, asked[i])
            assert match.prompts[seat] == (table.lines[lines].version if moved_on else prompts[seat])


@every_game
def test_every_seat_that_owes_a_move_is_asked_something(game):
    table = Table(game, game.seats[-1], label="owing")
    table.fill()
    match = table.match
    for _ in range(150):
        for seat in match.to_act:
            assert game.asked(match.state, match.players.index(seat)) is not None
            assert match.legal(seat)
        if not match.over:
            table.step()


# --- the clock -------------------------------------------------------------------------------------------------------


def test_a_timeout_is_the_default_move_made_by_the_clock(table):
    match = table.match
    [seat] = match.to_act
    expected = TIMO.move_json.encode(TIMO.default(match.state, match.players.index(seat)))
    prompt = match.prompts[seat]
    lines = match.time_out(seat, prompt, table.at)
    body = journal.read(lines[0].data).body
    assert (body.seat, body.prompt, bytes(body.move), body.by) == (seat, prompt, expected, "clock")


def test_an_answer_after_the_clocks_is_timed_out_even_if_it_is_the_same_move(table):
    match = table.match
    [seat] = match.to_act
    prompt = match.prompts[seat]
    move = TIMO.move_json.encode(TIMO.default(match.state, match.players.index(seat)))
    match.time_out(seat, prompt, table.at)
    before = everything(match)
    for late in (move, b'{"keep":{}}', b"garbage"):
        with pytest.raises(TimedOut):
            send(match, seat, prompt, late)
    assert everything(match) == before


def test_an_answer_of_a_computer_for_an_absent_human_counts_as_the_clocks(table):
    match = table.match
    [seat] = match.to_act
    prompt, move = match.prompts[seat], some_move(match, seat)
    match._append(Moved(seat, prompt, Raw(move), "bot", Bot("hard", POLICY, prompt)), table.at)
    assert match.seats[seat].timeouts == 1
    with pytest.raises(TimedOut):
        send(match, seat, prompt, move)


def test_the_clock_makes_no_move_for_a_seat_that_owes_none_or_has_answered(table):
    match = table.match
    [seat] = match.to_act
    prompt = match.prompts[seat]
    assert match.time_out(1 - seat, match.prompts[1 - seat], table.at) == []
    assert match.time_out(seat, prompt - 1, table.at) == []
    send(match, seat, prompt, some_move(match, seat))
    before = everything(match)
    assert match.time_out(seat, prompt, table.at) == []
    assert everything(match) == before


def test_two_timeouts_in_a_row_make_a_seat_absent_until_it_moves_itself(table):
    match = table.match
    timeouts = 0
    seat = match.to_act[0]
    while timeouts < 2:
        assert not match.seats[seat].absent
        timeouts += match.to_act == (seat,)
        table.time_out(match.to_act[0])
    assert match.seats[seat].absent
    while match.to_act != (seat,):
        table.time_out(match.to_act[0])
    table.move(seat, some_move(match, seat))
    assert match.seats[seat].timeouts == 0
    assert not match.seats[seat].absent


def test_a_match_in_which_every_human_is_absent_says_so(table):
    match = table.match
    assert not match.all_absent
    while not match.all_absent:
        assert not all(match.seats[seat].absent for seat in match.players)
        table.time_out(match.to_act[0])
    assert all(match.seats[seat].absent for seat in match.players)


# --- the order of the checks -----------------------------------------------------------------------------------------


def test_the_first_check_that_fails_is_the_refusal(table):
    """Tenure, repeat, match over, stale, malformed, illegal: each of these moves fails in all that come after, too."""
    match = table.match
    [seat] = match.to_act
    prompt = match.prompts[seat]
    other = 1 - seat
    with pytest.raises(NotYourSeat):
        match.move(seat, 99, -1, b"garbage", 0)
    with pytest.raises(NotYourSeat):
        match.move(7, 1, -1, b"garbage", 0)
    with pytest.raises(StalePrompt):
        send(match, seat, -1, b"garbage")
    with pytest.raises(MalformedMove):
        send(match, seat, prompt, b"garbage")
    with pytest.raises(MalformedMove):
        send(match, other, match.prompts[other], b'{"draw":{"surplus":1}}')
    with pytest.raises(IllegalMove):
        send(match, other, match.prompts[other], some_move(match, seat))
    with pytest.raises(IllegalMove):
        send(match, seat, prompt, b'{"keep":{}}')


def test_after_the_end_a_repeat_is_answered_before_the_match_is_over_and_all_else_is_over(table):
    match = table.match
    [seat] = match.to_act
    prompt, move = match.prompts[seat], some_move(match, seat)
    version, _ = send(match, seat, prompt, move)
    match.abort("operator", table.at)
    assert send(match, seat, prompt, move) == (version, [])
    for late in (move, b"garbage"):
        with pytest.raises(MatchOver):
            send(match, seat, match.prompts[seat], late)
    with pytest.raises(MatchOver):
        send(match, seat, -1, move)
    with pytest.raises(NotYourSeat):
        match.move(seat, 99, -1, b"garbage", 0)


def test_a_move_in_the_lobby_is_refused_as_not_started_and_after_its_abort_as_over(lobby):
    seat, held = lobby.join("Kim")
    with pytest.raises(NotStarted):
        lobby.match.move(seat, held, 0, b'{"draw":{}}', 0)
    lobby.add(lobby.match.abort("lobby_time", lobby.at))
    with pytest.raises(MatchOver):
        lobby.match.move(seat, held, 0, b'{"draw":{}}', 0)
