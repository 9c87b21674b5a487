"""How a match ends, and what a refusal leaves: nothing."""

import json

import pytest

from engine import journal
from engine.game import encode
from engine.journal import Aborted, Created, Finished, SeatPlan
from engine.match import Drift, Match
from engine.refusals import (
    BadOptions,
    BadSeats,
    IllegalMove,
    MalformedMove,
    MalformedRequest,
    MatchOver,
    MatchStarted,
    NotEnoughPlayers,
    NotStarted,
    NotYourSeat,
    RequestReused,
    SeatTaken,
    StalePrompt,
    UnknownGame,
)
from tests.engine.sent import TIMO, every_game, everything, request, send, tenure
from tests.histories.record import Table
from tests.laws.matches import attributes

# --- refusals leave no trace -----------------------------------------------------------------------------------------


RUNNING_REFUSALS = {
    "wrong tenure": (NotYourSeat, lambda m, s: m.move(s, 99, m.prompts[s], b'{"draw":{}}', 9)),
    "stale": (StalePrompt, lambda m, s: send(m, s, 0, b'{"draw":{}}')),
    "malformed": (MalformedMove, lambda m, s: send(m, s, m.prompts[s], b"[]")),
    "nested": (MalformedMove, lambda m, s: send(m, s, m.prompts[s], b'{"play":' * 9000)),
    "illegal": (IllegalMove, lambda m, s: send(m, s, m.prompts[s], b'{"keep":{}}')),
    "join": (MatchStarted, lambda m, s: m.join("Late", b"", "late", 9)),
    "reused request": (RequestReused, lambda m, s: m.join("Other", b"", request("Bob"), 9)),
    "kick": (MatchStarted, lambda m, s: m.kick(s, None, 9)),
    "host leave": (MatchStarted, lambda m, s: m.leave(s, tenure(m, s), 9, "host")),
    "foreign leave": (NotYourSeat, lambda m, s: m.leave(s, 99, 9)),
    "leave no seat": (NotYourSeat, lambda m, s: m.leave(9, 0, 9)),
    "move on no seat": (NotYourSeat, lambda m, s: m.move(-1, tenure(m, 1), m.prompts[1], b'{"draw":{}}', 9)),
}


@pytest.mark.parametrize(("refusal", "command"), RUNNING_REFUSALS.values(), ids=RUNNING_REFUSALS.keys())
def test_a_refused_command_names_its_reason_and_changes_nothing_in_a_running_match(table, refusal, command):
    match = table.match
    table.step()
    [seat] = match.to_act
    before = everything(match)
    with pytest.raises(refusal):
        command(match, seat)
    assert everything(match) == before


LOBBY_REFUSALS = {
    "too few": (NotEnoughPlayers, lambda m: m.start(9)),
    "taken seat": (SeatTaken, lambda m: m.join("Late", b"", "late", 9, 0)),
    "no such seat": (BadSeats, lambda m: m.join("Late", b"", "late", 9, 3)),
    "negative seat": (BadSeats, lambda m: m.join("Late", b"", "late", 9, -1)),
    "reused request": (RequestReused, lambda m: m.join("Kim", b"other seed", request("Kim"), 9)),
    "long name": (MalformedRequest, lambda m: m.join("x" * 33, b"", "late", 9)),
    "bell": (MalformedRequest, lambda m: m.join("\a", b"", "late", 9)),
    "long seed": (MalformedRequest, lambda m: m.join("Late", bytes(65), "late", 9)),
    "kick nobody": (NotYourSeat, lambda m: m.kick(1, None, 9)),
    "kick no seat": (BadSeats, lambda m: m.kick(-1, None, 9)),
    "kick beyond the seats": (BadSeats, lambda m: m.kick(3, None, 9)),
    "foreign leave": (NotYourSeat, lambda m: m.leave(0, 99, 9)),
    "move": (NotStarted, lambda m: m.move(0, 1, 1, b'{"draw":{}}', 9)),
}


@pytest.mark.parametrize(("refusal", "command"), LOBBY_REFUSALS.values(), ids=LOBBY_REFUSALS.keys())
def test_a_refused_command_names_its_reason_and_changes_nothing_in_the_lobby(lobby, refusal, command):
    lobby.join("Kim")
    before = everything(lobby.match)
    with pytest.raises(refusal):
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
