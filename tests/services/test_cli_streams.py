"""The command line where nobody reads its output, or where it has none."""

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from services.bus import Bus

HISTORIES = Path(__file__).parents[1] / "histories"
CLI = [sys.executable, "-m", "services.cli"]
COMMANDS = [["settings"], ["audit", HISTORIES], ["show", HISTORIES / "bombenziehen_1.jsonl"], ["--help"]]
commands = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])


@commands
def test_who_reads_no_further_hears_no_complaint(command):
    """As in `croupier show MATCH | head`."""
    process = subprocess.Popen([*CLI, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    _, said = process.communicate(timeout=120)
    assert (process.returncode, said) == (1, b"")


@commands
def test_without_a_standard_output_it_does_its_work(command):
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", *CLI, *command]
    done = subprocess.run(closed, stderr=subprocess.PIPE, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_listening_ends_when_nobody_reads(open_nats_url):
    environment = {**os.environ, "CROUPIER_NATS_URL": open_nats_url}
    listening = subprocess.Popen(
        [*CLI, "listen", "t.unread"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )

    async def publish_until(over: threading.Event) -> None:
        bus = await Bus.connect(open_nats_url, "test")
        while not over.is_set():
            await bus.publish([("t.unread", b"one")])
            await asyncio.sleep(0.05)
        await bus.close()

    over = threading.Event()
    publishing = threading.Thread(target=lambda: asyncio.run(publish_until(over)))
    publishing.start()
    try:
        assert listening.stdout.readline() == b"t.unread one\n"
        listening.stdout.close()
        _, said = listening.communicate(timeout=120)
        assert (listening.returncode, said) == (1, b"")
    finally:
        over.set()
        publishing.join()
        listening.kill()
        listening.wait()
