"""The benchmarks measure what they say they measure; how fast it was, nobody asks here."""

import asyncio
import shutil
import signal
import subprocess

import pytest

from benchmarks import floors, parts, preloaded, profiled
from benchmarks.peers import __main__ as competition
from engine import registry
from engine.audit import audit
from engine.match import Match


def test_a_match_that_is_dealt_beforehand_goes_on_with_its_commands():
    dealt = preloaded.deal(1, entries=40, moves=12, at=1)
    assert len(dealt.lines) >= 40
    match = Match(dealt.seed)
    for line in dealt.lines:
        match.replay(line.data)
    for command in dealt.commands:
        match.move(command.seat, command.tenure, command.prompt, command.move, match.at)
    assert match.version + 1 == len(dealt.lines) + 12
    assert match.to_act


def test_a_worker_goes_through_a_full_intake_beside_idle_matches_and_every_view_comes():
    found = preloaded.run(preloaded.Wish(matches=20, moves=3, entries=30, idle=25))
    assert found.views == preloaded.SEATS + 1
    assert found.rate > 0


@pytest.mark.parametrize("name", ["road", "sockets"])
def test_a_floor_with_a_connection_for_each_seat_moves_and_its_processes_are_measured(name):
    found = floors.floor(name, 3, 0.5)
    assert found["rate"] > 0
    assert found["p99_ms"] >= found["p50_ms"] > 0
    assert found["server_us"] > 0


def test_a_floor_that_never_ends_fails_in_time_and_ends_its_server(monkeypatch):
    async def never(*_):
        await asyncio.sleep(3600)

    monkeypatch.setattr(floors, "LIMIT_S", 0.1)
    monkeypatch.setitem(floors.GRPC, "stream", never)
    serving: list[subprocess.Popen] = []
    start = subprocess.Popen

    def started(*args, **kwargs):
        serving.append(start(*args, **kwargs))
        return serving[-1]

    monkeypatch.setattr(subprocess, "Popen", started)
    with pytest.raises(TimeoutError):
        floors.one("stream", 1, 0.1)
    assert [process.poll() for process in serving] == [-signal.SIGKILL]


@pytest.mark.parametrize("name", list(parts.PARTS))
def test_each_single_step_is_measured(name, capsys):
    parts.PARTS[name](0.02)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == {"views": len(list(registry.games())), "commit": 3, "audit": 2}[name]


def test_a_journal_that_is_audited_for_its_speed_holds():
    from benchmarks.engine import recorded

    game = registry.newest(parts.GAME)
    assert audit(recorded(game, parts.SEATS, 3)).outcome == "consistent"


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("engine/games/timos_twist.py", "rules"),
        ("engine/game.py", None),
        ("engine/fold.py", "prompts, digests, journal lines"),
        ("services/views.py", "views"),
        ("services/store/exchange.py", "Redis"),
        ("services/engine/worker.py", "worker"),
        (".venv/lib/python3/site-packages/nats/aio/client.py", "NATS"),
        (".venv/lib/python3/site-packages/redis/client.py", "Redis"),
        ("benchmarks/profiled.py", None),
    ],
)
def test_a_profile_names_the_part_that_a_file_belongs_to(file, part):
    assert profiled.part_of(profiled.ROOT + file) == part


def test_where_there_is_no_peer_to_measure_that_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(competition.PeerError, match="npm is not there"):
        competition.install(tmp_path)


GAME_JS = """
const { deal, play, draw, choose } = require(process.argv[1]);
const fail = (why) => { throw new Error(why); };
for (let round = 0; round < 200; round++) {
  const table = deal(4);
  for (let turns = 0; table.winner === null && turns < 2000; turns++) {
    const seat = table.turn, chosen = choose(table.players[seat].hand, table);
    if (play(table, (seat + 1) % 4, 0, 0) !== null) fail("out of turn");
    if ((chosen ? play(table, seat, ...chosen) : draw(table, seat)) === null) fail("a legal move was refused");
    const hands = Object.values(table.players).map((player) => player.hand);
    const cards = [...hands.flat(), ...table.secret.deck, ...table.secret.played, table.top];
    if (new Set(cards).size !== 54 || cards.length !== 54) fail("a card was lost or made");
    if (hands.some((hand, seat) => hand.length !== table.counts[seat])) fail("a count is wrong");
  }
  if (table.winner !== null && table.counts[table.winner] !== 0) fail("a winner holds cards");
}
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="the game for the peers is JavaScript, and there is no node")
def test_the_game_that_peers_play_keeps_its_cards_together():
    game = str(competition.HERE / "cards.js")
    done = subprocess.run(["node", "-e", GAME_JS, game], capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
