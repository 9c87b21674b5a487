"""`croupier show --step`: a recorded match, forwards and backwards, at a terminal and by what is piped in."""

import os
import pty
import re
import select
import subprocess
import sys
import termios

from tests.services.test_cli_journal import LINES, REFERENCE, croupier

COMMAND = [sys.executable, "-m", "services.cli", "show", "--step", str(REFERENCE)]
LAST = len(LINES) - 1


def piped(keys: str, *args: str) -> str:
    result = croupier("show", "--step", REFERENCE, *args, keys=keys)
    assert result.exit_code == 0
    return result.stdout


def versions(text: str) -> list[int]:
    return [int(found) for found in re.findall(rf"\[(\d+)/{LAST}\]", text)]


def test_piped_keys_go_forwards_and_backwards_and_stop_at_the_ends():
    assert versions(piped("p\nn\nn\np\nl\nn\np\nf\n")) == [0, 1, 2, 1, LAST, LAST - 1, 0]
    assert versions(piped("nqn")) == [0, 1]
    assert versions(piped("", "--at", "7")) == [7]


def test_a_step_back_shows_what_was_shown_before_and_a_seat_sees_only_its_own():
    at = [piped("", "--at", str(version), "--seat", "0") for version in (5, 6, 5)]
    told = piped("np", "--at", "5", "--seat", "0")
    assert told == "".join(at)
    assert piped("", "--at", "5", "--seat", "1") != at[0]


def test_at_a_terminal_single_keys_do_and_it_is_left_as_it_was():
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    process = subprocess.Popen(COMMAND, stdin=theirs, stdout=theirs, stderr=theirs, env=os.environ | {"TERM": "xterm"})
    told = b""

    def until(mark: str) -> None:
        nonlocal told
        while mark.encode() not in told:
            assert select.select([ours], [], [], 60)[0], told
            told += os.read(ours, 65536)

    try:
        for keys, version in (("", 0), ("n", 1), ("n", 2), ("l", LAST), ("p", LAST - 1)):
            told = b""
            os.write(ours, keys.encode())
            until(f"[{version}/{LAST}]")
        os.write(ours, b"q")
        assert process.wait(60) == 0
        assert termios.tcgetattr(theirs) == before
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)
