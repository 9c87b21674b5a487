"""What is said of a load, while it runs and after."""

import io
import re
from typing import get_args

import msgspec
import pytest
from rich.console import Console

from services.load.coordinator import Coordinator, PhaseName
from services.load.cpu import Processes
from services.load.figures import Counts
from services.load.page import page
from services.load.progress import Progress, row
from services.load.report import OwnStack, report, settings, summary
from tests.services.load.planned import PLAN, SECRET, conducted, plan


def test_the_page_needs_nothing_else_and_escapes_what_others_wrote():
    coordinator, _ = conducted({}, {})
    coordinator.problems.append("<script>alert(1)</script>")
    text = page(report(coordinator))
    assert "&lt;script&gt;" in text
    for outside_resource in ("<script", "src=", "href=", "@import", "url(", "http://", "https://"):
        assert outside_resource not in text
    assert text.count("<svg") == 3  # the CPU was not measured
    assert "not measured" in text


def test_the_report_says_what_was_measured_and_repeats_what_others_wrote_as_it_is():
    coordinator, _ = conducted({})
    coordinator.problems.append("[/red] it said [bold]")
    found = report(coordinator, OwnStack(engines=2, durability="fsync"), "on [dim]glass")
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(summary(found))
    shown = console.export_text()
    for said in (
        "timos_twist, 4 matches of 2 seats, closed loop",
        "Play streams (one a process), NATS connections (one a seat)",
        "own stack: 2 workers, durability fsync",
        "on [dim]glass",
    ):
        assert said in shown
        assert said in page(found)
    assert "[/red] it said [bold]" in shown
    assert "server: at 127.0.0.1:1;" in page(report(coordinator))


def test_the_page_does_not_carry_the_text_of_the_ca():
    coordinator, _ = conducted({})
    found = msgspec.structs.replace(report(coordinator), plan=plan(ca="-----BEGIN CERTIFICATE-----"))
    assert "CERTIFICATE" not in page(found)
    assert settings(found.plan)["ca"] == "given"


def test_a_group_of_processes_that_has_ended_leaves_no_sum_without_it():
    class Ending(Processes):
        def read(self) -> dict[str, float]:
            self.reads = getattr(self, "reads", 0) + 1
            return {"match": 1.0} if self.reads > 1 else {"match": 0.0, "engine": 0.0}

    coordinator, _ = conducted({}, processes=Ending({}))
    assert report(coordinator).cpu_us == {}


@pytest.mark.parametrize("phase", get_args(PhaseName))
def test_progress_is_two_lines_of_80_columns_in_every_phase(phase):
    coordinator = Coordinator(plan(seconds=3600, warm_up=300), SECRET, Processes({}))
    coordinator.phase = phase
    coordinator.since -= 1800
    coordinator.total.counts = Counts(moves=1_234_567, healed_views=123, refused={"OVERLOADED": 12_345})
    coordinator.last.view = {1_234_567: 1}
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(row(coordinator))
    lines = console.export_text().splitlines()
    assert len(lines) == 2
    assert "…" not in "".join(lines)
    assert lines[1].split()[-4:] == ["1234.6", "1234.6", "12,345", "123"]


def test_progress_is_said_where_there_is_no_terminal(monkeypatch):
    coordinator = Coordinator(PLAN, SECRET, Processes({}))
    lines = Console(width=80, record=True, file=io.StringIO())
    with Progress(coordinator, Console(quiet=True), lines) as progress:
        phases: tuple[PhaseName, ...] = ("opening", "measuring", "measuring", "ending")
        for phase in phases:
            coordinator.phase = phase
            progress.tick()
        monkeypatch.setattr("services.load.progress.SAY_S", 0.0)
        progress.tick()
        coordinator.phase = "measuring"
        progress.tick()
        progress.tick()
    first = ["opening 4 matches", "measuring for 5 s", "ending", "ending, 0 matches open", "measuring for 5 s"]
    *said, last = lines.export_text().splitlines()
    assert said == first
    assert re.fullmatch(r"measuring \d+/5 s, 0 matches open: p50 0.0 ms, p99 0.0 ms", last)


def test_a_report_of_nothing_is_still_a_page_and_json():
    found = report(Coordinator(PLAN, SECRET, Processes({})))
    assert not found.good
    assert "nothing to draw" in page(found)
    assert msgspec.json.decode(found.json())["moves"] == 0
