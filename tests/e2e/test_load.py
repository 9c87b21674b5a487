"""Claims about `croupier load` against real servers: what it reports is what was played, whichever road moves take."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from services.load.coordinator import Coordinator, PhaseName
from services.load.crowd import GONE_S
from services.load.plan import Plan
from services.load.report import Report
from services.load.run import Wish, measure, measure_stack
from services.load.talk import OPERATOR_KEY, SECRET
from services.local import free_port
from services.play_stream import BROKEN, TRY_AGAIN
from services.stack import Stack
from tests.faults.nats_proxy import NatsProxy

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
    for seconds in (4.0, 20.0):  # the longer one for a machine that is busy with other things
        found = loaded(stack, views=views, leave=0.05, reconnect_s=0.8, slow=0.5, seconds=seconds)
        assert found.good, (found.problems, found.checked)
        assert not found.lost_views, "those that were missed were healed"
        if found.left > 0 and found.reconnects > 0:
            break
    else:
        pytest.fail(f"{found.left} seats left, {found.reconnects} connections were made again")


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

        def break_down() -> None:
            wait_for_moves(own)
            own.engines[0].kill()

        breaking = threading.Thread(target=break_down)
        breaking.start()
        found = loaded(own, seconds=600)
        breaking.join()
    assert found.interrupted
    assert "engine-0 has ended by itself" in found.problems[0]
    assert found.checked.unchecked > 0
    assert not found.good


@pytest.fixture(scope="module")
def remote(tmp_path_factory):
    """A stack as somebody else's: the load knows nothing of its processes."""
    with Stack(tmp_path_factory.mktemp("remote"), engines=1) as own:
        yield own
        for process in (own.nats, own.match):
            process.start()


def loaded_from_afar(
    remote: Stack,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    at_the_end: Callable[[], object],
    *,
    once_open: Callable[[], object] = lambda: None,
    **plan: Any,
) -> Report:
    """Run a load; things happen once its matches are open, and when its time is over, before the players are told."""
    given = {"game": "timos_twist", "matches": 4, "seats": 3, "seconds": 1.0, "warm_up": 0.5, "think_ms": 20.0}
    enter = Coordinator._enter

    def entered(self: Coordinator, phase: PhaseName) -> None:
        if phase == "warming up":
            once_open()
        elif phase == "ending":
            at_the_end()
        enter(self, phase)

    monkeypatch.setattr(Coordinator, "_enter", entered)
    env = {OPERATOR_KEY: remote.environment[OPERATOR_KEY], **remote.access.environment("observer")}
    wish = Wish(plan=Plan(**{"server": remote.grpc, "nats": remote.nats.url, **given, **plan}))
    return measure(wish, folder, env, Console(quiet=True), on_signal=False)


@contextmanager
def proxied(remote: Stack) -> Iterator[Any]:
    """A network in front of NATS, in a thread of its own; `loop` is the one in which it runs."""
    proxy: Any = NatsProxy(int(remote.nats.url.rpartition(":")[2]))
    proxy.loop = asyncio.new_event_loop()
    running = threading.Thread(target=proxy.loop.run_forever)
    running.start()
    asyncio.run_coroutine_threadsafe(proxy.__aenter__(), proxy.loop).result()
    try:
        yield proxy
    finally:
        asyncio.run_coroutine_threadsafe(proxy.__aexit__(), proxy.loop).result()
        proxy.loop.call_soon_threadsafe(proxy.loop.stop)
        running.join()
        proxy.loop.close()


@pytest.mark.parametrize(
    ("how", "plan"),
    [("kill", {}), ("kill", {"transport": "unary"}), ("pause", {"views": "grpc"})],
    ids=["killed", "killed between calls", "silent"],
)
def test_a_match_service_that_is_gone_for_good_is_named_and_its_journals_count_as_unchecked(
    remote, tmp_path, monkeypatch, how, plan
):
    try:
        found = loaded_from_afar(remote, tmp_path, monkeypatch, getattr(remote.match, how), **plan)
    finally:
        (remote.match.start if how == "kill" else remote.match.resume)()
    assert found.problems == [
        f"the match service at {found.plan.server} is gone: it gave no answer for {GONE_S:g} s after the last move"
    ]
    assert found.moves > 0, "what was measured is reported"
    assert found.checked.unchecked == found.checked.matches >= 4
    assert found.checked.unchecked_moves >= found.moves
    assert "journals were not looked at: the match service at" in found.checked.examples[0]
    assert not found.good


@pytest.mark.parametrize("how", ["kill", "pause"])
def test_nats_that_is_gone_for_good_is_named(remote, tmp_path, monkeypatch, how):
    try:
        found = loaded_from_afar(remote, tmp_path, monkeypatch, getattr(remote.nats, how))
    finally:
        (remote.nats.start if how == "kill" else remote.nats.resume)()
    assert found.problems[0].startswith(f"NATS at {found.plan.nats} is gone: ")
    assert "4 matches could not be ended" in found.problems[1], "since nobody else reaches NATS either"
    # A worker that has not noticed yet commits the end of a match; then there is a journal. But no player hears of it.
    assert found.checked.matches == 4
    assert found.checked.verified == 0
    assert not found.good


def test_nats_that_cannot_be_reached_from_here_alone_is_named_and_every_journal_is_verified(
    remote, tmp_path, monkeypatch
):
    with proxied(remote) as proxy:

        def cut() -> None:
            proxy.closed = True
            proxy.loop.call_soon_threadsafe(proxy.cut)

        found = loaded_from_afar(remote, tmp_path, monkeypatch, cut, nats=proxy.url)
    [problem] = found.problems
    assert problem.startswith(f"NATS at {found.plan.nats} is gone: ")
    assert found.checked.verified == found.checked.matches >= 4, "the last views were asked for"
    assert not found.lost_views


def test_a_match_that_cannot_be_opened_is_ended_and_who_is_not_there_named_with_the_reason(
    remote, tmp_path, monkeypatch
):
    before = set(intake(remote))
    found = loaded_from_afar(remote, tmp_path, monkeypatch, lambda: None, nats="nats://127.0.0.1:1")
    assert "NATS cannot be listened to at nats://127.0.0.1:1" in found.problems[0]
    opened = set(intake(remote)) - before
    assert opened
    assert {last_kind(remote, journal) for journal in opened} == {"aborted"}


def test_a_match_service_that_is_not_there_is_named_with_what_grpc_says_of_it(remote, tmp_path, monkeypatch):
    found = loaded_from_afar(remote, tmp_path, monkeypatch, lambda: None, server=f"127.0.0.1:{free_port()}")
    assert re.search(r"no match service answers at 127.0.0.1:\d+ without TLS .*Connection refused", found.problems[0])


def test_views_that_nats_drops_are_healed_and_none_is_lost(remote, tmp_path, monkeypatch):
    over = threading.Event()
    with proxied(remote) as proxy:

        def drop_some() -> None:
            while not over.wait(0.3):
                proxy.loss = 1.0
                time.sleep(0.1)
                proxy.loss = 0.0
                proxy.loop.call_soon_threadsafe(proxy.cut)  # who reconnects asks at once

        dropping = threading.Thread(target=drop_some)
        try:
            found = loaded_from_afar(
                remote, tmp_path, monkeypatch, over.set, once_open=dropping.start, nats=proxy.url, seconds=3.0
            )
        finally:
            over.set()
            if dropping.ident:
                dropping.join()
    assert found.good, (found.problems, found.checked)
    assert found.healed_views > 0
    assert found.gaps > 0
    assert not found.lost_views


@pytest.mark.parametrize("transport", ["play", "unary"])
def test_a_match_service_that_is_restarted_again_and_again_refuses_nothing_as_its_own_fault(
    remote, tmp_path, monkeypatch, transport
):
    over = threading.Event()
    server = remote.grpc

    def restart() -> None:
        while not over.wait(0.7):
            remote.match.restart()

    restarting = threading.Thread(target=restart)
    restarting.start()
    try:
        plan = {"server": server, "transport": transport, "views": "grpc", "seconds": 5.0, "think_ms": 0.0}
        found = loaded_from_afar(remote, tmp_path, monkeypatch, over.set, **plan)
    finally:
        over.set()
        restarting.join()
    assert found.good, (found.problems, found.checked)
    assert found.reconnects > 0
    assert found.refused.keys() <= TRY_AGAIN | BROKEN - {"INTERNAL", "UNKNOWN"}
    assert not found.lost_views


def test_workers_of_the_server_that_are_gone_for_good_are_guessed_at(remote, tmp_path, monkeypatch):
    [engine] = remote.engines
    try:
        found = loaded_from_afar(remote, tmp_path, monkeypatch, engine.kill)
    finally:
        engine.start()
    assert found.problems == [
        "4 matches could not be ended: nobody decided in time: are engine workers and Redis there?"
    ]
    assert found.checked.unchecked >= 4


@pytest.mark.parametrize("name", ["match", "nats"])
def test_who_is_away_for_a_moment_when_the_time_is_over_is_waited_for(remote, tmp_path, monkeypatch, name):
    process = getattr(remote, name)

    back = threading.Timer(0.2, process.start)

    def blink() -> None:
        process.kill()
        back.start()

    try:
        found = loaded_from_afar(remote, tmp_path, monkeypatch, blink)
    finally:
        back.join()
    assert found.good, (found.problems, found.checked)
    assert found.checked.verified == found.checked.matches >= 4


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


def last_kind(stack: Stack, journal: str) -> str:
    import redis

    with redis.Redis.from_url(stack.redis.url) as client:
        [(_, fields)] = client.xrevrange(journal, count=1)
    return str(json.loads(fields[b"line"])["kind"])


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
