"""Claims about `croupier load` against real servers: what it reports is what was played, whichever road moves take."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from rich.console import Console

from services.load.plan import Plan
from services.load.report import Report
from services.load.run import Wish, measure_stack
from services.load.talk import OPERATOR_KEY, SECRET
from services.local import free_port
from services.stack import Stack

SECONDS = 2.0


def loaded(stack: Stack, processes: int = 1, **plan: Any) -> Report:
    given = {"game": "timos_twist", "matches": 6, "seats": 3, "seconds": SECONDS, "warm_up": 0.5, **plan}
    wish = Wish(plan=Plan(server="", nats="", **given), processes=processes)
    return measure_stack(wish, stack, Console(quiet=True))


def command(stack: Stack, *arguments: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "services.cli", "load", *arguments],
        env={**os.environ, OPERATOR_KEY: stack.environment[OPERATOR_KEY], **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def test_a_closed_loop_of_two_processes_is_measured_and_every_journal_verified(stack):
    found = loaded(stack, processes=2)
    assert found.good, (found.problems, found.checked)
    assert found.moves > 50
    assert found.checked.verified == found.checked.matches >= 6
    assert found.checked.moves >= found.moves
    assert {"match", "engine", "redis", "nats"} == set(found.cpu_us)
    assert found.view.count == found.moves
    assert 0 < found.view.p50 <= found.view.p99 <= found.view.max
    assert not found.lost_views
    assert len(found.workers) == 2


@pytest.mark.parametrize(
    "plan",
    [
        {"views": "grpc"},
        {"transport": "unary", "connections": "process"},
        {"game": "bluffing_billionaires", "streams": "match"},
        {"game": "bombenziehen", "think_ms": 5.0},
    ],
    ids=lambda plan: " ".join(map(str, plan.values())),
)
def test_every_road_of_moves_and_views_is_played_without_loss(stack, plan):
    found = loaded(stack, **plan)
    assert found.good, (found.problems, found.checked)
    assert found.checked.verified == found.checked.matches


def test_with_a_rate_the_moves_of_the_schedule_are_made(stack):
    found = loaded(stack, rate=40.0)
    assert found.good, (found.problems, found.checked)
    assert found.moves + found.behind + found.skipped == pytest.approx(40 * SECONDS, abs=15)


@pytest.mark.parametrize("views", ["nats", "grpc"])
def test_players_who_leave_reconnect_and_read_slowly_lose_nothing(stack, views):
    found = loaded(stack, views=views, leave=0.05, reconnect_s=0.8, slow=0.5, seconds=4.0)
    assert found.good, (found.problems, found.checked)
    assert found.left > 0
    assert found.reconnects > 0


def test_ctrl_c_ends_early_with_a_report_and_no_open_match(stack, tmp_path):
    report = tmp_path / "report.json"
    page = tmp_path / "report.html"
    arguments = ["--server", stack.grpc, "--nats", stack.nats.url, "--for", "10m", "--warm-up", "0.2s"]
    running = command(stack, *arguments, "--matches", "3", "--json", str(report), "--html", str(page))
    try:
        wait_for_moves(stack)
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate(timeout=60)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 0, output
    found = json.loads(report.read_text())
    assert found["interrupted"]
    assert found["checked"]["verified"] == found["checked"]["matches"] >= 3
    assert "stopped before its time" in output
    assert page.read_text().startswith("<!doctype html>")


def test_a_second_ctrl_c_gives_up_at_once_whatever_the_server_does(stack):
    arguments = ["--server", stack.grpc, "--nats", stack.nats.url, "--for", "10m", "--matches", "3"]
    running = command(stack, *arguments)
    try:
        wait_for_moves(stack)
        for engine in stack.engines:
            engine.pause()  # so that the end has to wait for it
        running.send_signal(signal.SIGINT)
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate(timeout=60)
    finally:
        for engine in stack.engines:
            engine.resume()
        running.kill()
        running.wait()
    assert running.returncode == 130, output
    assert "Traceback" not in output


def test_a_stack_of_its_own_that_breaks_ends_the_run_and_is_named(tmp_path):
    with Stack(tmp_path, engines=1) as own:
        breaking = threading.Timer(3, own.engines[0].kill)
        breaking.start()
        found = loaded(own, seconds=600)
        breaking.join()
    assert found.interrupted
    assert "engine-0 has ended by itself" in found.problems[0]
    assert found.checked.unchecked > 0
    assert not found.good


def wait_for_moves(stack: Stack) -> None:
    """Give a run time to start its worker and to measure a little."""
    before = len(intake(stack))
    for _ in range(600):
        if len(intake(stack)) != before:
            break
        time.sleep(0.05)
    time.sleep(2)


def intake(stack: Stack) -> list[str]:
    import redis

    with redis.Redis.from_url(stack.redis.url, decode_responses=True) as client:
        return client.keys("*:journal:*")


def test_workers_of_other_machines_join_with_the_secret_and_are_merged(stack, tmp_path):
    where = f"127.0.0.1:{free_port()}"
    report = tmp_path / "report.json"
    arguments = ["--server", stack.grpc, "--nats", stack.nats.url, "--for", "1s", "--warm-up", "0s", "--matches", "4"]
    joining = [command(stack, "--join", where, **{SECRET: "a secret"}) for _ in range(2)]
    wrong = command(stack, "--join", where, **{SECRET: "another"})
    running = command(
        stack,
        *[*arguments, "--listen", where, "--workers", "2", "--processes", "0", "--json", str(report)],
        **{SECRET: "a secret"},
    )
    output, _ = running.communicate(timeout=120)
    outputs = [process.communicate(timeout=60)[0] for process in (*joining, wrong)]
    assert [process.returncode for process in (*joining, wrong)] == [0, 0, 1], outputs
    assert f"wrong {SECRET}" in outputs[2]
    found = json.loads(report.read_text())
    assert len(found["workers"]) == 2
    assert found["moves"] > 0
    assert found["checked"]["matches"] >= 4
    assert not found["checked"]["lost"]
    assert (found["strangers"], running.returncode) == (1, 0), output
