"""What a load is asked to do: times, shares, options, and what is refused."""

import re
from pathlib import Path
from typing import NoReturn

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from services.cli import app
from services.load.plan import PlanError, Share, seconds
from services.load.run import Wish
from services.settings import Durability
from tests.services.load.planned import PLAN, SECRET, plan


@pytest.mark.parametrize(
    ("text", "expected"), [("60s", 60), ("1.5m", 90), ("500ms", 0.5), ("2h", 7200), ("7", 7), (" 3s ", 3)]
)
def test_times_are_read_with_their_unit(text, expected):
    assert expected == seconds(text)


@pytest.mark.parametrize("text", ["", "s", "-1s", "1 hour", "1e9", "inf", "nan"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(PlanError, match="no time such as 60s"):
        seconds(text)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"matches": 0}, "--matches"),
        ({"matches": 100_001}, "--matches"),
        ({"seconds": 0}, "--for"),
        ({"seconds": 90_000}, "--for"),
        ({"seats": 9}, "2 to 6 seats"),
        ({"game": "poker"}, "poker"),
        ({"options": {"target": -1}}, "target"),
        ({"rate": 0}, "--rate"),
        ({"rate": 5, "think_ms": 5}, "--think"),
        ({"leave": 1.1}, "--leave"),
        ({"reconnect_s": 0.01}, "--reconnect-every"),
        ({"server": "match.example.com"}, "--server: 'match.example.com' is no HOST:PORT"),
        ({"nats": "wss://127.0.0.1"}, "no nats:// or tls:// URL"),
        ({"nats": "nats://127.0.0.1,ws://127.0.0.1"}, "ws://127.0.0.1"),
    ],
)
def test_a_plan_without_bounds_or_sense_is_refused_by_name(changes, said):
    with pytest.raises(PlanError, match=re.escape(said)):
        plan(**changes).check()


def test_shares_are_the_whole_plan_and_do_not_overlap():
    slots = [slot for index in range(3) for slot in Share(plan(matches=10), index, 3).slots]
    assert list(range(10)) == sorted(slots)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--for 60s"),
        (["--for", "soon"], "'soon'"),
        (["--for", "1s", "--rate", "5", "--closed"], "one of them"),
        (["--for", "1s", "--matches", "1", "--processes", "2"], "--processes"),
        (["--for", "1s", "--workers", "1"], "CROUPIER_LOAD_SECRET"),
        (["--for", "1s", "--pid", "redis=0"], "no process 0"),
        (["--for", "1s", "--option", "target"], "option target is a number"),
        (["--for", "1s", "--nats", "nats://127.0.0.1"], "--nats is of a --server"),
        (["--for", "1s", "--server", "127.0.0.1:1", "--durability", "fsync"], "of a stack of its own"),
        (["--for", "1s", "--server", "127.0.0.1:1", "--engines", "2"], "of a stack of its own"),
        (["--join", "nowhere"], "HOST:PORT"),
    ],
)
def test_the_command_refuses_nonsense_before_it_starts_anything(arguments, said, monkeypatch):
    monkeypatch.delenv("CROUPIER_LOAD_SECRET", raising=False)
    if "--join" in arguments:
        monkeypatch.setenv("CROUPIER_LOAD_SECRET", SECRET)
    result = CliRunner().invoke(app, ["load", *arguments])
    assert (result.exit_code, said in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "engines", "durability"),
    [
        ([], Wish(plan=PLAN).engines, Wish(plan=PLAN).durability),
        (["--engines", "3", "--durability", "fsync"], 3, Durability("fsync")),
    ],
)
def test_a_stack_of_its_own_is_as_the_command_says_or_else_as_wished_for_by_default(
    arguments, engines, durability, monkeypatch
):
    wishes: list[Wish] = []

    def run(wish: Wish, _console: Console) -> NoReturn:
        wishes.append(wish)
        raise PlanError("enough")

    monkeypatch.setattr("services.load.run.run", run)
    assert CliRunner().invoke(app, ["load", "--for", "1s", *arguments]).exit_code == 2
    assert [(wish.engines, wish.durability) for wish in wishes] == [(engines, durability)]


def test_the_help_says_the_defaults_of_a_stack_of_its_own():
    options = {name: one for one in typer.main.get_command(app).commands["load"].params for name in one.opts}
    wish = Wish(plan=PLAN)
    assert f"by default {wish.durability}." in options["--durability"].help
    assert (wish.engines, "by default one" in options["--engines"].help) == (1, True)


def test_the_guide_speaks_only_of_options_that_the_command_has_and_the_command_has_all_that_a_load_needs():
    command = typer.main.get_command(app).commands["load"]
    known = {name for parameter in command.params for name in parameter.opts}
    guide = (Path(__file__).parents[3] / "docs" / "load_testing.md").read_text("utf-8")
    assert set(re.findall(r"--[a-z][a-z-]*", guide)) - known == set()
    needed = (
        "game matches seats rate closed for processes transport views think leave reconnect-every slow join html json"
    )
    assert {f"--{name}" for name in needed.split()} <= known


def test_a_url_with_a_password_is_refused_without_repeating_it():
    with pytest.raises(PlanError, match="CROUPIER_NATS_PASSWORD") as raised:
        plan(nats="nats://h1:1,nats://me:geheim@h2:2").check()
    assert "geheim" not in str(raised.value)
