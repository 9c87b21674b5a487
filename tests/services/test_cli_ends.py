"""How commands end that cannot do what they were asked, or are stopped: a line that says why, and the exit code."""

import os
import re
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from services.cli import app

CLI = [sys.executable, "-m", "services"]
ROOT = Path(__file__).parents[2]
HISTORIES = ROOT / "tests" / "histories"
NOBODY = "nats://127.0.0.1:1"

# A module that the command line loads early, which says so and takes its time.
SLOW = """
import sys, time
if "services.cli" in sys.modules:
    sys.stdout.write("loading\\n")
    sys.stdout.flush()
    time.sleep(60)
"""


def asked(*args: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Return exit code and what stands on stderr, of which there is a line."""
    result = CliRunner(env=env).invoke(app, args)
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.exit_code, result.stderr


def test_it_says_which_version_it_is():
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"Croupier {metadata.version('croupier-server')}\n")


def test_ctrl_c_while_the_command_line_loads_ends_it_quietly(tmp_path):
    (tmp_path / "shlex.py").write_text(SLOW)
    loading = subprocess.Popen(
        [*CLI, "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}:{ROOT / 'proto'}"},
    )
    try:
        assert loading.stdout.readline() == b"loading\n"
        loading.send_signal(signal.SIGINT)
        said = loading.communicate(timeout=120)
    finally:
        loading.kill()
    assert (loading.returncode, *said) == (130, b"", b"")


@pytest.mark.parametrize(
    "command", [["up", "--port", "0"], ["arena", "bombenziehen", "--matches", "2"], ["audit", "x"]]
)
def test_a_current_folder_that_was_removed_is_named(command, tmp_path):
    gone = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    done = subprocess.run(
        ["sh", "-c", gone, "sh", *CLI, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'proto'}"},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "the current folder is not there any more; go to another one\n"


@pytest.mark.parametrize("under", ["", "deeper"])
def test_a_data_folder_that_cannot_be_one_is_named(under, tmp_path):
    file = tmp_path / "file"
    file.touch()
    code, said = asked("up", "--port", "0", "--data", str(file / under))
    assert code == 1
    assert re.fullmatch(rf"{file}\S*: (File exists|Not a directory)\n", said)


def test_the_data_folder_may_be_named_by_its_setting(tmp_path):
    """Told by what is wrong with it."""
    file = tmp_path / "file"
    file.touch()
    assert asked("up", env={"CROUPIER_DATA_DIR": str(file)}) == (1, f"{file}: File exists\n")


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("arena", "nosuch"), "there is no game called 'nosuch'; there are: timos_twist, "),
        (("demo", "--game", "nosuch"), "there is no game called 'nosuch'; there are: timos_twist, "),
        (("load", "--for", "1s", "--game", "nosuch"), "there is no game called 'nosuch'; there are: timos_twist, "),
        (("arena", "bombenziehen", "--seats", "7"), "--seats: bombenziehen has 2 to 5 seats, not 7"),
        (
            ("arena", "bombenziehen", "--rival", "nosuch"),
            "bombenziehen has no computer players of the level nosuch; it has: reckless, clever, ruthless",
        ),
        (("arena", "--rival", "nosuch"), "no game has computer players of the levels clever and nosuch"),
        (("load", "--for", "1s", "--html", "/nonexistent/page.html"), "/nonexistent/page.html: No such file"),
        (("load", "--for", "1s", "--pid", "match"), "--pid: 'match' is not of the form NAME=PID"),
        (("load", "--for", "1s", "--pid", "match=1.5"), "--pid: 'match=1.5' is not of the form NAME=PID"),
        (("listen", "view.>"), "no NATS answers at nats://127.0.0.1:1; CROUPIER_NATS_URL says where it is"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(args, why, monkeypatch):
    monkeypatch.setattr("services.bus.PRESENT_S", 0.3)
    code, said = asked(*args, env={"CROUPIER_NATS_URL": NOBODY})
    assert code == 2
    assert why in said


@pytest.mark.parametrize("command", [("play", "timos_twist"), ("load", "--for", "1s"), ("arena", "timos_twist")])
@pytest.mark.parametrize(
    ("option", "why"),
    [
        (
            "points=1",
            "Timo's Twist has no option points; it has: target, stack_equal, twist_skips_two, must_play, timo",
        ),
        ("target=0", "option target is a number from "),
        ("target", "option target is a number from "),
        ("must_play=perhaps", "option must_play is yes or no; “perhaps” is not"),
        ("timo=perhaps", "option timo is one of call, auto; “perhaps” is not"),
    ],
)
def test_an_option_of_a_game_is_read_and_refused_alike_by_all_commands(command, option, why):
    code, said = asked(*command, "--option", option, env={"LANG": "en"})
    assert code == 2
    assert why in said


def test_a_folder_without_scenarios_is_no_success(tmp_path):
    assert asked("scenario", str(tmp_path)) == (2, f"croupier: there is no scenario (*.json) under {tmp_path}\n")


@pytest.mark.parametrize("content", [b"zz", b"\xff", b"", b"00" * 31])
@pytest.mark.parametrize(
    ("suffix", "args", "why"),
    [
        (".hash", (), "the file with its last hash cannot be used: a last hash is 64 hex digits"),
        (
            ".sig",
            ("--key", "00" * 31 + "01"),
            "the file with its signature cannot be used: a signature is 128 hex digits",
        ),
    ],
)
def test_what_lies_beside_a_journal_and_is_none_is_told_as_that(suffix, args, why, content, tmp_path):
    (tmp_path / "one.jsonl").write_bytes((HISTORIES / "bombenziehen_1.jsonl").read_bytes())
    (tmp_path / f"one{suffix}").write_bytes(content)
    result = CliRunner().invoke(app, ["audit", str(tmp_path), *args])
    assert (result.exit_code, result.stderr) == (1, "")
    assert why in result.stdout


def test_a_report_that_cannot_be_written_is_told_before_the_audit(tmp_path):
    """Nothing of the audit is on stdout."""
    path = tmp_path / "no" / "report.json"
    code, said = asked("audit", str(HISTORIES), "--report", str(path))
    assert (code, said) == (2, f"croupier: {path} cannot be written: No such file or directory\n")


def test_a_hash_without_its_match_is_told_as_that():
    assert asked("audit", str(HISTORIES), "--hash", "00" * 32) == (
        2,
        f"croupier: --hash {'00' * 32}: it is MATCH=HEX\n",
    )


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no checkout")
def test_what_a_stack_keeps_in_a_checkout_is_not_for_git():
    """Its keys, above all."""
    ignored = subprocess.run(
        ["git", "check-ignore", ".croupier/token_key.secret", "journals/x.jsonl"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert ignored.stdout.splitlines() == [b".croupier/token_key.secret", b"journals/x.jsonl"]
