"""The match: commands either append entries or change nothing, and every prompt is answered once."""

import copy
import hashlib
import json
from typing import Any

import pytest
from msgspec import UNSET, Raw

from engine import bots, codes, journal, registry
from engine.audit import audit
from engine.chance import Stream, code_key, match_key
from engine.game import encode
from engine.journal import Aborted, Bot, Created, Finished, Joined, Moved, SeatPlan, Started
from engine.match import Answer, Drift, Match, load
from engine.refusals import (
    BadCode,
    BadOptions,
    BadSeats,
    IllegalMove,
    MalformedMove,
    MalformedRequest,
    MatchOver,
    MatchStarted,
    NotStarted,
    NotYourSeat,
    Refusal,
    RequestReused,
    SeatTaken,
    StalePrompt,
    TenureEnded,
    TimedOut,
    UnknownGame,
)
from tests.engine.hard import POLICY, computers, let_computers_move
from tests.histories.record import RECORDINGS, Table
from tests.laws.matches import attributes

TIMO = registry.find("timos_twist/1")
VOTES = registry.find("bluffing_billionaires/1")
GAMES = registry.games()
every_game = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.rules)

CACHES = {"game", "appended", "_projection", "_legal", "_to_act", "max_entries"}


def everything(match: Match) -> dict[str, Any]:
    """All that a match knows, copied, without what it only keeps to be faster."""
    known = {name: copy.deepcopy(value) for name, value in attributes(match).items() if name not in CACHES}
    return {**known, "digest": match.digest, "legal": [match.legal(seat) for seat in match.players]}


@pytest.fixture
def table() -> Table:
    """Timo's Twist for two, just dealt."""
    table = Table(TIMO, 2, label="match tests")
    table.fill()
    return table


@pytest.fixture
def lobby() -> Table:
    """Timo's Twist for three, nobody there yet."""
    return Table(TIMO, 3, label="lobby tests")


def tenure(match: Match, seat: int) -> int:
    held = match.seats[seat].tenure
    assert held is not None
    return held


def send(match: Match, seat: int, prompt: int, move: bytes, at: int = 0) -> tuple[int, list[journal.Line]]:
    return match.move(seat, tenure(match, seat), prompt, move, at)


def some_move(match: Match, seat: int) -> bytes:
    return match.game.move_json.encode(match.legal(seat)[0])


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


# --- refusals leave no trace -----------------------------------------------------------------------------------------

RUNNING_REFUSALS = {
    "wrong tenure": lambda m, s: m.move(s, 99, m.prompts[s], b'{"draw":{}}', 9),
    "stale": lambda m, s: send(m, s, 0, b'{"draw":{}}'),
    "malformed": lambda m, s: send(m, s, m.prompts[s], b"[]"),
    "nested": lambda m, s: send(m, s, m.prompts[s], b'{"play":' * 9000),
    "illegal": lambda m, s: send(m, s, m.prompts[s], b'{"keep":{}}'),
    "join": lambda m, s: m.join("Late", b"", "late", 9),
    "reused request": lambda m, s: m.join("Other", b"", request("Bob"), 9),
    "kick": lambda m, s: m.kick(s, None, 9),
    "host leave": lambda m, s: m.leave(s, tenure(m, s), 9, "host"),
    "foreign leave": lambda m, s: m.leave(s, 99, 9),
}


def request(name: str) -> str:
    return hashlib.sha256(f"join {name}".encode()).hexdigest()


@pytest.mark.parametrize("command", RUNNING_REFUSALS.values(), ids=RUNNING_REFUSALS.keys())
def test_a_refused_command_changes_nothing_in_a_running_match(table, command):
    match = table.match
    table.step()
    [seat] = match.to_act
    before = everything(match)
    with pytest.raises(Refusal):
        command(match, seat)
    assert everything(match) == before


LOBBY_REFUSALS = {
    "too few": lambda m: m.start(9),
    "taken seat": lambda m: m.join("Late", b"", "late", 9, 0),
    "no such seat": lambda m: m.join("Late", b"", "late", 9, 3),
    "negative seat": lambda m: m.join("Late", b"", "late", 9, -1),
    "reused request": lambda m: m.join("Kim", b"other seed", request("Kim"), 9),
    "long name": lambda m: m.join("x" * 33, b"", "late", 9),
    "bell": lambda m: m.join("\a", b"", "late", 9),
    "long seed": lambda m: m.join("Late", bytes(65), "late", 9),
    "kick nobody": lambda m: m.kick(1, None, 9),
    "kick no seat": lambda m: m.kick(-1, None, 9),
    "foreign leave": lambda m: m.leave(0, 99, 9),
    "move": lambda m: m.move(0, 1, 1, b'{"draw":{}}', 9),
}


@pytest.mark.parametrize("command", LOBBY_REFUSALS.values(), ids=LOBBY_REFUSALS.keys())
def test_a_refused_command_changes_nothing_in_the_lobby(lobby, command):
    lobby.join("Kim")
    before = everything(lobby.match)
    with pytest.raises(Refusal):
        command(lobby.match)
    assert everything(lobby.match) == before


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"rules": "nothing/1"}, UnknownGame),
        ({"options": {"target": 1}}, BadOptions),
        ({"options": {"unknown": 1}}, BadOptions),
        ({"seats": (SeatPlan("open"),)}, BadSeats),
        ({"seats": (SeatPlan("open"),) * 7}, BadSeats),
    ],
)
def test_a_match_that_the_rules_do_not_have_is_not_created(changes, refusal):
    fields = {
        "match": "m",
        "rules": "timos_twist/1",
        "options": json.loads(encode(TIMO.options({}, 2))),
        "seats": (SeatPlan("open"),) * 2,
        "private": False,
        "commitment": "",
        "request": "",
    }
    match = Match(bytes(32))
    with pytest.raises(refusal):
        match.create(Created(**(fields | changes)), 5)
    assert attributes(match).keys() == attributes(Match()).keys()
    assert match.version == -1


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


def request_of(seat: int) -> str:
    return request("Änne" if seat == 0 else "Bob")


def test_when_every_human_has_left_the_match_aborts_in_the_same_commit(table):
    match = table.match
    table.leave(0)
    version, lines = match.leave(1, tenure(match, 1), table.at)
    assert version == lines[0].version
    assert journal.read(lines[1].data).body == Aborted("all_left", table.seed.hex())
    assert (match.status, match.reason, match.to_act) == ("aborted", "all_left", ())


# --- the end ---------------------------------------------------------------------------------------------------------


@every_game
def test_the_move_that_ends_the_match_and_its_result_are_one_commit(game):
    table = Table(game, game.seats[0], label="the end")
    table.fill()
    table.play()
    match = table.match
    last = journal.read(table.lines[-1].data)
    assert last.body == Finished(match.result, table.seed.hex())
    assert last.at == journal.read(table.lines[-2].data).at
    assert match.result == game.result(match.state)
    assert (match.status, match.to_act, [match.legal(seat) for seat in match.players]) == (
        "finished",
        (),
        [[]] * len(match.players),
    )


def test_after_the_end_nothing_changes_any_more(table):
    table.play()
    match = table.match
    before = everything(match)
    commands = [
        lambda: match.abort("again", 9),
        lambda: match.leave(0, tenure(match, 0), 9),
        lambda: match.kick(0, None, 9),
        lambda: match.join("Late", b"", "late", 9),
        lambda: send(match, 0, match.prompts[0], b'{"draw":{}}'),
    ]
    for command in commands:
        with pytest.raises(MatchOver):
            command()
    for seat in match.players:
        assert match.time_out(seat, match.prompts[seat], 9) == []
    assert everything(match) == before


def test_a_match_that_fills_its_journal_is_aborted():
    table = Table(TIMO, 2, label="long", max_entries=20)
    table.fill()
    table.play()
    assert (table.match.status, table.match.reason) == ("aborted", "too_many_entries")
    assert len(table.lines) == 21


def test_a_lobby_that_fills_its_journal_with_comings_and_goings_is_aborted():
    table = Table(TIMO, 2, label="revolving door", max_entries=20)
    for visit in range(10):
        table.join(f"visitor {visit}")
        table.leave(0)
        if table.match.over:
            break
    assert (table.match.status, table.match.reason) == ("aborted", "too_many_entries")
    assert len(table.lines) <= 22


def test_the_clock_and_the_entry_limit_end_a_match_of_absent_players_too():
    table = Table(TIMO, 2, label="asleep", max_entries=30)
    table.fill()
    while not table.match.over:
        table.time_out(table.match.to_act[0])
    assert table.match.reason == "too_many_entries"


def test_an_end_with_the_wrong_seed_is_no_end(table):
    match = table.match
    before = everything(match)
    with pytest.raises(Drift):
        match._append(Aborted("operator", "00" * 32), 9)
    assert everything(match) == before


# --- the fold --------------------------------------------------------------------------------------------------------


@every_game
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.__name__)
def test_a_replay_knows_at_every_version_what_the_live_match_knew(game, recording, monkeypatch):
    def known(match: Match) -> tuple[Any, ...]:
        legal = [match.legal(seat) for seat in match.players]
        return match.version, dict(match.prompts), match.seats, match.status, match.to_act, legal, match.events

    live = []
    create = Match.create

    def observed(match: Match, body: Created, at: int) -> list[journal.Line]:
        match.appended = lambda _line: live.append(known(match))
        return create(match, body, at)

    monkeypatch.setattr(Match, "create", observed)
    table = recording(game)
    for verify in (True, False):
        replayed = Match(table.seed)
        for line, expected in zip(table.lines, live, strict=True):
            assert replayed.replay(line.data, verify=verify) == line
            assert known(replayed) == expected
        assert everything(replayed) == everything(table.match)


def test_a_loaded_match_goes_on_as_the_one_it_was_loaded_from(table):
    for _ in range(5):
        table.step()
    live = table.match
    loaded = load(table.data, table.seed)
    [seat] = live.to_act
    prompt, move = live.prompts[seat], some_move(live, seat)
    assert send(loaded, seat, prompt, move, table.at) == send(live, seat, prompt, move, table.at)
    assert loaded.head == live.head


def test_time_never_goes_back(table):
    match = table.match
    before = match.at
    [seat] = match.to_act
    _, lines = send(match, seat, match.prompts[seat], some_move(match, seat), before - 1000)
    assert journal.read(lines[0].data).at == before
    assert match.prompt_at[seat] == before


def test_rules_never_read_the_time(table):
    """The same moves at other times deal and end the same."""
    table.play()
    match = Match(table.seed)
    for line in table.lines:
        body = journal.read(line.data).body
        if not isinstance(body, Finished):
            match._append(body, 1 << 40)
    assert match.digest == table.match.digest


def test_the_digest_is_that_of_table_own_parts_and_hidden_part_in_one_list(table):
    match = table.match

    def digest(value: object) -> str:
        data = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        return hashlib.blake2b(data, digest_size=32).hexdigest()

    table.step()
    state = match.state
    parts = [
        json.loads(encode(TIMO.table(state))),
        [json.loads(encode(TIMO.own(state, seat))) for seat in (0, 1)],
        json.loads(encode(TIMO.hidden(state))),
    ]
    assert match.digest == digest(parts)
    assert journal.read(table.lines[0].data).state == digest([None, [], None])


def test_a_player_without_a_client_seed_is_dealt_to_all_the_same(lobby):
    for name in ("Kim", "Lou", "Max"):
        lobby.add(lobby.match.join(name, b"", name, lobby.at)[1])
    assert lobby.match.status == "running"


@pytest.mark.parametrize("name", ["", "x" * 32, "Ω" * 32, "نورا", "👩‍🚀"])
def test_names_of_every_script_up_to_32_characters_are_taken(lobby, name):
    lobby.join(name)
    assert lobby.match.seats[0].name == name


@pytest.mark.parametrize("name", ["x" * 33, "a\nb", "\0", "\x7f", "\x85"])
def test_longer_names_and_control_characters_are_refused(lobby, name):
    with pytest.raises(MalformedRequest):
        lobby.join(name)


def test_the_clock_may_be_absent():
    table = Table(TIMO, 2, label="no clock", clock=None)
    assert table.match.created.clock is UNSET
    assert b'"clock"' not in table.lines[0].data
