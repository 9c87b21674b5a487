"""`croupier play` as a command, on real servers."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from typer.testing import CliRunner

from services.cli import app
from services.stack import Stack
from services.words.screen import SAY
from tests.services.play.house import PATIENCE_S, Screen


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "services.cli", "play", *args]


def ran(*args: str, script: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "LANG": "C.UTF-8", **env}
    return subprocess.run(
        command(*args), check=False, input=script, capture_output=True, text=True, timeout=120, env=variables
    )


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("stack"), engines=1) as stack:
        yield stack


def test_play_just_works(tmp_path: Path):
    """Without a server it starts its own, plays a scripted match against computer players to the end, checks the
    journal and stops it all. The code that it tells deals the same match again, to players who decide as they did.
    """
    journals = [tmp_path / "first.jsonl", tmp_path / "again.jsonl"]
    common = ["--think", "0", "--lang", "de", "--name", "Anna"]
    bots = ["bombenziehen", "--bots", "clever,ruthless"]
    done = ran(*bots, *common, "--journal", str(journals[0]), script="1\n" * 200)
    assert done.returncode == 0, done.stderr
    assert "Nachgerechnet: Deal, jeder Zug und das Ergebnis stimmen" in done.stdout
    assert "Server-Seed" in done.stdout
    [code] = re.findall(r"Dieselbe Partie noch einmal: croupier play --code (\S+)$", done.stdout, re.MULTILINE)
    assert f"· Code {code}" in done.stdout
    again = ran("--code", code, *common, "--journal", str(journals[1]), script="1\n" * 200)
    assert again.returncode == 0, again.stderr
    first, second = [
        [
            (entry.get("move"), entry.get("bot"), entry["state"])
            for entry in map(json.loads, path.read_text().splitlines())
        ]
        for path in journals
    ]
    assert first == second
    assert {move[1]["policy"] for move in first if move[1]} == {"clever", "ruthless"}
    assert [line for line in done.stdout.splitlines() if line.startswith("· ")] == [
        line for line in again.stdout.splitlines() if line.startswith("· ")
    ]
    checked = [sys.executable, "-m", "services.cli", "audit", str(tmp_path)]
    assert subprocess.run(checked, check=False, capture_output=True, timeout=60).returncode == 0


def test_on_a_server_computer_players_keep_seats_open_for_friends_and_codes_name_it(stack: Stack):
    """A match against computer players alone gets a code, and the command to play it again says where; one that
    others may join gets none.
    """
    addresses = "--server", stack.grpc, "--nats", stack.nats.url
    env = {"CROUPIER_OPERATOR_KEY": stack.environment["CROUPIER_OPERATOR_KEY"]}
    alone = ran("timos_twist", "--bots", "reckless", "--lang", "en", *addresses, script="1\nq\ny\n", **env)
    [words] = re.findall(r"play this match again: croupier play (.*)", alone.stdout)
    assert words.endswith(" ".join(addresses))
    assert "Reckless (computer)" in alone.stdout
    again = ran(*words.split(), "--lang", "de", script="?\nq\nj\n", **env)
    assert again.returncode == 0, again.stderr
    assert f"Ausgeteilt nach dem Spielcode {words.split()[1]}" in again.stdout
    wrong = ran("--code", words.split()[1][:-1] + "?", *addresses, "--lang", "en", **env)
    assert wrong.returncode == 2
    assert "that game code will not do ('?' is no letter of a game code)" in " ".join(wrong.stderr.split())
    friends = ran("timos_twist", "--bots", "clever", "--seats", "3", "--lang", "en", *addresses, script="q\ny\n", **env)
    assert "2 of 3 seats are taken" in friends.stdout
    assert "croupier play --join" in friends.stdout
    assert "again" not in friends.stdout


@pytest.mark.parametrize("private", [False, True])
def test_friends_join_with_the_command_that_is_printed(stack: Stack, private: bool):
    """One creates a match on a server and prints the command; another joins with it, and both play to the end.

    A private match is joined with the invite that is in the command, and not without.
    """
    addresses = "--server", stack.grpc, "--nats", stack.nats.url
    env = {**os.environ, "CROUPIER_OPERATOR_KEY": stack.environment["CROUPIER_OPERATOR_KEY"], "PYTHONUNBUFFERED": "1"}
    host = subprocess.Popen(
        command("bluffing_billionaires", *["--private"] * private, "--name", "Anna", "--lang", "en", *addresses),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=env,
    )
    with host:
        assert host.stdin is not None
        assert host.stdout is not None
        host.stdin.write("1\n" * 80)
        host.stdin.flush()
        printed = ""
        while "croupier play --join" not in printed:
            line = host.stdout.readline()
            assert line, printed
            printed += line
        [words] = re.findall(r"croupier play (--join .*)", printed)
        assert ("--invite" in words) == private
        if private:
            stranger = ran(*re.sub(r"--invite \S+", "", words).split(), "--lang", "en")
            assert (stranger.returncode, "is private" in stranger.stderr) == (2, True)
        friend = ran(*words.split(), "--name", "Änne", "--lang", "de", script="1\n" * 80)
        rest = host.stdout.read()
    assert host.returncode == 0
    assert friend.returncode == 0, friend.stderr
    assert re.search(r"wins!|share the win", rest)
    assert "Nachgerechnet" in friend.stdout
    assert "Änne lays" in rest
    assert "Anna legt" in friend.stdout


def test_ctrl_c_ends_everything():
    """Ctrl-C at a terminal leaves the match and stops every server that was started; no traceback."""
    screen = Screen()
    env = {**os.environ, "LANG": "de_DE.UTF-8", "TERM": "xterm"}
    process = subprocess.Popen(
        command("timos_twist", "--seats", "2"),
        stdin=screen.theirs,
        stdout=screen.theirs,
        stderr=screen.theirs,
        env=env,
        start_new_session=True,
    )
    until = time.monotonic() + PATIENCE_S
    while "dran" not in screen.shown and time.monotonic() < until:
        time.sleep(0.05)
    assert "dran" in screen.shown
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(60) == 0
    screen.close()
    assert "Traceback" not in screen.raw
    assert SAY["de"]["left"] in screen.raw
    assert "\x1b[?1049l" in screen.raw


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("nonesuch",), "there is no game called nonesuch"),
        (("timos_twist", "--option", "target=1"), "a number from 50 to 1000"),
        (("timos_twist", "--seats", "9"), "is for 2 to 6"),
        (("--join", "abc"), "--join needs --server"),
        (("--join", "abc", "--server", "h:1", "--private"), "--private is for a new match"),
        (("timos_twist", "--bots", "nobody"), "no computer players of the level nobody"),
        (("--code", "K9S-1F08-3CHD-DA4M"), "that game code will not do (the game code is mistyped"),
        (("--code", "K9S-1F08-3CHD-DA4N", "--seats", "3"), "--code tells seats, levels and options"),
        (("timos_twist", "--server", "127.0.0.1:9", "--nats", "nats://127.0.0.1:9"), "no NATS answers"),
    ],
)
def test_what_cannot_be_played_is_told(args: tuple[str, ...], told: str, monkeypatch: pytest.MonkeyPatch):
    """A wish that cannot be met is explained on stderr before any server is started, with exit code 2."""
    monkeypatch.setattr("services.play.CONNECT_S", 0.5)
    try:
        done = CliRunner().invoke(app, ["play", *args, "--lang", "en"])
    finally:
        structlog.reset_defaults()
    assert done.exit_code == 2
    assert told in done.stderr.replace("\n", " ")


def test_a_match_that_is_not_there_is_told(stack: Stack):
    """Joining a match that does not exist is refused in words."""
    done = ran("--join", "000" + "a" * 22, "--server", stack.grpc, "--nats", stack.nats.url, "--lang", "de")
    assert done.returncode == 2
    assert "diese Partie gibt es nicht" in done.stderr.replace("\n", " ")
