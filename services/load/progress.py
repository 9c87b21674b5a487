"""The progress of a run: a line of figures that is kept up to date in a terminal, some lines to read elsewhere."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from services.load.coordinator import Coordinator
from services.load.figures import quantile

REFRESH_S = 0.3
SAY_S = 10.0
"""How often the figures are said where no line can be kept up to date."""


class Progress:
    """Shown on `console` if it is a terminal, else said on `lines`. Call `tick` often."""

    def __init__(self, run: Coordinator, console: Console, lines: Console) -> None:
        """Show nothing yet."""
        self._run = run
        self._lines = lines
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._shown = 0.0
        self._phase = ""

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def tick(self) -> None:
        """Show what is new, if it is time."""
        now = time.monotonic()
        if self._live is not None:
            if now - self._shown > REFRESH_S:
                self._shown = now
                self._live.update(row(self._run), refresh=True)
        elif self._run.phase != self._phase:
            self._shown, self._phase = now, self._run.phase
            self._lines.print(_told(self._run), soft_wrap=True)
        elif now - self._shown > SAY_S:
            self._shown = now
            figures = f": {_figures(self._run)}" if self._phase in ("warming up", "measuring") else ""
            self._lines.print(f"{doing(self._run)}, {self._run.open:,} matches open{figures}", soft_wrap=True)


def doing(run: Coordinator) -> str:
    """Return the phase, and how far it is."""
    passed = time.monotonic() - run.since
    match run.phase:
        case "waiting for workers":
            return f"workers {len(run.hands)} of {run.workers}"
        case "warming up":
            return f"warming up {min(passed, run.plan.warm_up):.0f}/{run.plan.warm_up:g} s"
        case "measuring":
            return f"measuring {min(passed, run.plan.seconds):.0f}/{run.plan.seconds:g} s"
        case "checking journals":
            checked, of = sum(hand.checked for hand in run.hands), sum(hand.to_check for hand in run.hands)
            return f"journals {checked:,}/{of:,}"
        case phase:
            return phase


def row(run: Coordinator) -> Table:
    """Return the figures of this moment, in two lines of at most 80 columns."""
    counts = run.total.counts
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("phase", min_width=22, no_wrap=True)
    for title, width in (("matches", 7), ("moves", 9), ("moves/s", 7), ("p50 ms", 7), ("p99 ms", 7), ("refused", 7)):
        table.add_column(title, justify="right", min_width=width, no_wrap=True)
    table.add_column("healed", justify="right", min_width=6, no_wrap=True)
    table.add_row(
        doing(run),
        f"{run.open:,}",
        f"{counts.moves:,}",
        f"{run.points[-1].moves_per_s:,.0f}" if run.points else "-",
        f"{quantile(run.last.view, 50):.1f}",
        f"{quantile(run.last.view, 99):.1f}",
        f"{sum(counts.refused.values()):,}",
        f"{counts.healed_views:,}",
    )
    return table


def _told(run: Coordinator) -> str:
    plan = run.plan
    match run.phase:
        case "opening":
            return f"opening {plan.matches:,} matches"
        case "warming up":
            return f"warming up for {plan.warm_up:g} s"
        case "measuring":
            return f"measuring for {plan.seconds:g} s"
        case "checking journals":
            count = sum(hand.to_check for hand in run.hands)
            return f"checking {count:,} journals" if count else "checking journals"
        case phase:
            return phase


def _figures(run: Coordinator) -> str:
    last = run.last
    rate = f"{run.points[-1].moves_per_s:,.0f} moves/s, " if run.points else ""
    return f"{rate}p50 {quantile(last.view, 50):.1f} ms, p99 {quantile(last.view, 99):.1f} ms"
