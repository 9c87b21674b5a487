"""Pools of processes, in all three places where there is one: whose Ctrl-C is, and who ends when."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from services.processes import Processes
from tests.services.test_cli_journal import HISTORIES, RECORDED

RULES = json.loads(RECORDED[0].read_bytes().split(b"\n", 1)[0])["rules"]
CROUPIER = ("-m", "services.cli")

SLOW_START = """
import os, sys, time
if any("spawn_main" in arg for arg in sys.orig_argv):
    open(os.path.join(os.environ["BEGUN"], str(os.getpid())), "w").close()
    time.sleep(1)
"""
"""Python imports it before anything else: a process of a pool says that it begins, and takes its time for it."""

THINKING = textwrap.dedent("""
    import asyncio, signal, sys
    from tests.services.test_thinkers import question, taken
    from services.engine.thinkers import Thinkers

    async def think():
        told = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, told.set)
        thinkers = Thinkers(2)
        for seat in range(2):
            thinkers.ask("m", f"m:{seat}:3", question("reckless", seat))
        await told.wait()
        decided = await taken(thinkers, 2)
        thinkers.close()
        sys.exit(0 if all(one.move for one in decided) else 1)

    if __name__ == "__main__":
        asyncio.run(think())
""")
"""A worker's pool: after Ctrl-C the worker finishes what it has in hand, and its players still answer."""


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        ((*CROUPIER, "audit", "-q", HISTORIES, "--workers", "2"), 130, "stopped\n"),
        (
            (*CROUPIER, "impact", "-q", "--from", RULES, "--to", RULES, HISTORIES, "--workers", "2"),
            130,
            "stopped\n",
        ),
        ((*CROUPIER, "arena", "bombenziehen", "--matches", "400", "--workers", "2"), 130, "stopped\n"),
        (("thinking.py",), 0, ""),
    ],
    ids=["audit", "impact", "arena", "thinkers"],
)
def test_ctrl_c_while_processes_begin_is_the_callers_alone(command, code, told, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(SLOW_START)
    (tmp_path / "thinking.py").write_text(THINKING)
    begun = tmp_path / "begun"
    begun.mkdir()
    path = [str(tmp_path), str(Path.cwd()), str(Path.cwd() / "proto")]
    env = os.environ | {"BEGUN": str(begun), "PYTHONPATH": os.pathsep.join(path)}
    called = [sys.executable, *(str(tmp_path / arg) if arg == "thinking.py" else str(arg) for arg in command)]
    with subprocess.Popen(called, stderr=subprocess.PIPE, env=env, text=True, start_new_session=True) as process:
        while not list(begun.iterdir()):
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        said = process.stderr.read()
        assert (process.wait(), said) == (code, told)
    assert not any(_runs(int(child.name)) for child in begun.iterdir())


def _runs(pid: int) -> bool:
    """Whether there is such a process, which is not only waiting to be buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_what_is_submitted_is_done_before_a_pool_is_left():
    with Processes(2) as pool:
        done = [pool.submit(pow, number, 2) for number in range(5)]
    assert [one.result() for one in done] == [0, 1, 4, 9, 16]


def test_a_pool_that_is_left_by_an_exception_waits_for_nothing():
    endless = []

    def fail():
        with Processes(1) as pool:
            assert pool.submit(os.getpid).result() != os.getpid()
            endless.extend(pool.submit(time.sleep, 100_000) for _ in range(5))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    for one in endless:
        with pytest.raises((CancelledError, BrokenProcessPool)):
            one.result()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends the children of a process that was killed")
def test_the_processes_end_with_the_one_that_started_them_however_it_dies(tmp_path):
    script = tmp_path / "pool.py"
    script.write_text(
        textwrap.dedent("""
        import os, time
        from services.processes import Processes
        if __name__ == "__main__":
            with Processes(1) as pool:
                print(pool.submit(os.getpid).result(), flush=True)
                pool.submit(time.sleep, 100_000)
                time.sleep(100_000)
    """)
    )
    env = os.environ | {"PYTHONPATH": str(Path.cwd())}
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True, env=env) as process:
        child = int(process.stdout.readline())
        assert _runs(child)
        process.kill()
    while _runs(child):
        time.sleep(0.01)
