"""What a run found: a struct that is the JSON report, and the same for a terminal."""

import os
import platform
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

import msgspec
from msgspec import Struct, to_builtins
from rich.markup import escape
from rich.table import Table

from services.load.checks import Checked
from services.load.coordinator import Coordinator, Hand, Point
from services.load.figures import Latency
from services.load.plan import Plan

FORMAT = 1
BUSY = 0.9
"""Part of a core above which a worker may be what limits the load."""


class OwnStack(Struct, frozen=True):
    """The stack that was started for the run."""

    engines: int
    durability: str


class WorkerLine(Struct, frozen=True):
    """One worker: how much of a core it used, and for how much CPU time of its own a move."""

    name: str
    busy: float
    failed: str


class Report(Struct, frozen=True, kw_only=True):
    """Everything that a run found. Latency in milliseconds, CPU in microseconds a move."""

    format: int = FORMAT
    croupier: str
    at: str
    machine: dict[str, Any]
    """Where the coordinator ran."""
    plan: Plan
    stack: OwnStack | None = None
    """None: a server that ran before. Nobody can see from outside how it is set, so `label` may say it."""
    label: str = ""
    seconds: float
    """The measured time."""
    interrupted: bool
    moves: int
    moves_per_s: float
    view: Latency
    """From sending a move (with a rate: from when it was due) until every seat has received and decoded its view."""
    receipt: Latency
    late: Latency
    """With a rate: by how much the load client itself was late."""
    opening: Latency
    """Opening a match, with all its joins, while others are played."""
    refused: dict[str, int]
    gaps: int
    """How often a seat asked for the present view, since it may have missed some."""
    healed_views: int
    """Views that did not come as they were published: they were asked for, or a newer one came in their place."""
    lost_views: int
    """Views that were there at the end, and that a seat did not hold, nor a newer one."""
    opened: int
    ended: int
    left: int
    reconnects: int
    skipped: int
    behind: int
    """Moves that were due at the end and had not been sent."""
    unanswered: int
    """Moves in flight at the end that got no receipt, or that some seat never saw."""
    cpu_us: dict[str, float]
    """Of each group of server processes, where they run on this machine."""
    client_us: float
    points: list[Point]
    checked: Checked
    workers: list[WorkerLine]
    problems: list[str]
    strangers: int
    """Connections to the coordinator that did not know the secret."""

    @property
    def good(self) -> bool:
        """Whether moves were made, the journals hold all that was promised, and nobody broke down."""
        return self.moves > 0 and self.checked.good and not self.problems

    @property
    def server_us(self) -> float:
        """CPU of the whole server a move."""
        return sum(self.cpu_us.values())

    def json(self) -> bytes:
        """Return the report as indented JSON."""
        return msgspec.json.format(msgspec.json.encode(self)) + b"\n"


def report(run: Coordinator, stack: OwnStack | None = None, label: str = "") -> Report:
    """Sum a run up."""
    counts, seconds = run.total.counts, run.measured
    moves = counts.moves or 1
    return Report(
        croupier=metadata.version("croupier-server"),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        machine={"cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()},
        plan=run.plan,
        stack=stack,
        label=label,
        seconds=round(seconds, 3),
        interrupted=run.interrupted,
        moves=counts.moves,
        moves_per_s=round(counts.moves / seconds, 1) if seconds else 0.0,
        view=Latency.of(run.total.view),
        receipt=Latency.of(run.total.receipt),
        late=Latency.of(run.total.late),
        opening=Latency.of(run.total.opening),
        refused=dict(sorted(counts.refused.items())),
        gaps=counts.gaps,
        healed_views=counts.healed_views,
        lost_views=run.lost_views,
        opened=counts.opened,
        ended=counts.ended,
        left=counts.left,
        reconnects=counts.reconnects,
        skipped=counts.skipped,
        behind=run.behind,
        unanswered=run.unanswered,
        cpu_us={name: round(used / moves * 1e6, 1) for name, used in run.cpu.items()} if counts.moves else {},
        client_us=round(counts.cpu / moves * 1e6, 1),
        points=run.points,
        checked=run.checked,
        workers=[_worker(hand) for hand in run.hands],
        problems=run.problems,
        strangers=run.strangers,
    )


def _worker(hand: Hand) -> WorkerLine:
    return WorkerLine(hand.name, round(hand.cpu / hand.seconds, 3) if hand.seconds else 0.0, hand.failed)


def shape(found: Report) -> list[str]:
    """Return what was measured: the load, how it travelled, and the server."""
    plan = found.plan
    load = "closed loop" if plan.rate is None else f"{plan.rate:,.10g} moves/s on a schedule"
    think = f", {plan.think_ms:g} ms of thinking" if plan.think_ms else ""
    moves = "unary calls" if plan.transport == "unary" else f"Play streams (one a {plan.streams})"
    views = "WatchView streams (one a seat)" if plan.views == "grpc" else f"NATS connections (one a {plan.connections})"
    server = f"at {plan.server}; load from Croupier {found.croupier}"
    if found.stack is not None:
        workers = f"{found.stack.engines} worker{'s' if found.stack.engines > 1 else ''}"
        server = f"Croupier {found.croupier}, own stack: {workers}, durability {found.stack.durability}"
    return [
        f"{plan.game}, {plan.matches:,} matches of {plan.seats} seats, {load}{think}",
        f"{moves}, {views}",
        server,
        *filter(None, [found.label]),
    ]


def remarks(found: Report) -> list[str]:
    """Return what has to be known to read the figures, a sentence each."""
    said = [
        f"Worker {worker.name} used {worker.busy:.0%} of a core: the load client may have been the limit. "
        "Give it more processes, or machines of its own."
        for worker in found.workers
        if worker.busy > BUSY
    ]
    if found.interrupted:
        said.append("The run was stopped before its time; the figures are those up to then.")
    if found.behind and found.plan.rate:
        said.append(
            f"At the end {found.behind:,} moves were due and not sent: the server does not keep up with "
            f"{found.plan.rate:g} moves/s, and the longer the run, the higher the latency."
        )
    if found.late.count and found.late.p99 > max(1.0, found.view.p50 / 2):
        said.append(f"The client itself was up to {found.late.p99:.1f} ms late (p99); its own delay is in the latency.")
    if found.unanswered:
        said.append(f"{found.unanswered} moves in flight at the end were never answered or never seen by all seats.")
    if found.strangers:
        said.append(f"{found.strangers} connections to the coordinator did not know the secret and were turned away.")
    return said


def summary(found: Report) -> Table:
    """Return the report for a terminal."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    if not found.moves:
        for line in found.problems or ["stopped before anything was measured"]:
            table.add_row("[red]problem[/]", escape(line))
        return table
    for name, line in zip(("load", "over", "server", ""), shape(found), strict=False):
        table.add_row(name, escape(line))
    table.add_row("moves", f"{found.moves:,} in {found.seconds:.1f} s: {found.moves_per_s:,.0f} moves/s")
    latencies = {"every view": found.view, "receipt": found.receipt, "opening": found.opening, "late": found.late}
    for name, latency in latencies.items():
        if latency.count:
            table.add_row(f"{name}, ms", _percentiles(latency))
    if found.plan.rate is not None:
        table.add_row("schedule", f"{found.behind:,} due and not sent, {found.skipped:,} skipped while matches opened")
    if found.cpu_us:
        parts = ", ".join(f"{name} {used:.0f}" for name, used in found.cpu_us.items())
        table.add_row("server CPU a move", f"{found.server_us:.0f} µs: {parts}")
    table.add_row("client CPU a move", f"{found.client_us:.0f} µs")
    refused = ", ".join(f"{count:,} {reason}" for reason, count in found.refused.items())
    table.add_row("refused", refused or "none")
    table.add_row(
        "views",
        f"{found.lost_views:,} lost, {found.healed_views:,} healed; the present one asked for {found.gaps:,} times",
    )
    if found.reconnects:
        table.add_row("connections", f"{found.reconnects:,} made again")
    table.add_row("matches", f"{found.opened:,} opened and {found.ended:,} ended meanwhile, {found.left:,} seats left")
    checked = found.checked
    table.add_row(
        "journals",
        f"{checked.matches:,} with {checked.moves:,} promised moves, {checked.verified:,} verified:\n"
        f"{checked.lost} lost, {checked.duplicated} duplicated, {checked.diverged} diverged, "
        f"{checked.unchecked} unchecked" + (f", with {checked.unchecked_moves:,} more" if checked.unchecked else ""),
    )
    for line in remarks(found):
        table.add_row("note", escape(line))
    for line in (*found.problems, *checked.examples[:5]):
        table.add_row("[red]problem[/]", escape(line))
    return table


def _percentiles(latency: Latency) -> str:
    names = {"p50": latency.p50, "p90": latency.p90, "p99": latency.p99, "p99.9": latency.p99_9, "max": latency.max}
    return "  ".join(f"{name} {value:.1f}" for name, value in names.items())


def settings(plan: Plan) -> dict[str, Any]:
    """Return what a plan says, without what it leaves out and without the text of the CA."""
    said = {name: value for name, value in to_builtins(plan).items() if value not in (None, {}, 0.0, "")}
    return said | {"ca": "given"} if plan.ca else said
