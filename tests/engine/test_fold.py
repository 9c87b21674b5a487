"""The fold: a replay knows what the live match knew."""

import hashlib
import json
from typing import Any

import pytest
from msgspec import UNSET

from engine import journal
from engine.game import encode
from engine.journal import Created, Finished
from engine.match import Match, load
from engine.refusals import MalformedRequest
from tests.engine.sent import TIMO, every_game, everything, send, some_move
from tests.histories.record import RECORDINGS, Table


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
