"""The report of a load as one HTML page."""

import math
from html import escape

from hdrh.histogram import HdrHistogram

from services.load import plot
from services.load.figures import Latency
from services.load.report import Report, remarks, settings, shape
from services.report_page import document, tiles, verdict

STYLE = """
.plots { display: grid; gap: 14px; grid-template-columns: repeat(auto-fit, minmax(min(460px, 100%), 1fr));
  margin-top: 14px; }
figure { margin: 0; padding: 12px 16px; background: var(--card); border: 1px solid var(--edge); border-radius: 8px; }
figcaption { color: var(--dim); } figcaption b { color: var(--ink); }
svg { display: block; width: 100%; height: auto; margin-top: 6px; overflow: visible; }
svg text { fill: var(--dim); font-size: 12px; font-variant-numeric: tabular-nums; }
svg rect { fill: var(--a); }
svg .grid { stroke: var(--edge); } svg polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
.legend { font-size: 13px; } .legend span { margin-right: 14px; white-space: nowrap; }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 5px; }
th, td { text-align: right; white-space: nowrap; } th:first-child, td:first-child { text-align: left; }
ul { padding-left: 20px; margin: 8px 0; } li { overflow-wrap: anywhere; white-space: pre-line; }
@media (max-width: 560px) { h1 { font-size: 20px; } svg text { font-size: 19px; } }
"""


def page(found: Report) -> str:
    """Return the page."""
    plan = found.plan
    first, over, server, *label = shape(found)
    body = f"""<h1>{escape(first)}</h1>
{"".join(f'<div class="dim">{escape(line)}</div>' for line in (f"server: {server}", *label, f"over {over}"))}
<div class="dim">{found.seconds:.1f} s measured after {plan.warm_up:g} s of warm-up, {escape(found.at)}</div>
{_verdict(found)}
{_notes(found)}
{_tiles(found)}
<div class="plots">{_plots(found)}</div>
<h2>Latency, ms</h2>
<div class="scroll">{_latency(found)}</div>
<h2>What else happened</h2>
<div class="scroll">{_counts(found)}</div>
<h2>Refusals</h2>
{_refusals(found)}
<h2>Who played</h2>
<div class="scroll">{_workers(found)}</div>
<h2>The plan</h2>
<div class="scroll">{_table([], [(name, str(value)) for name, value in settings(plan).items()])}</div>"""
    return document(f"Load test: {plan.game}, {plan.matches:,} matches", body, STYLE)


def _verdict(found: Report) -> str:
    checked = found.checked
    text = (
        f"{checked.matches:,} journals with {checked.moves:,} promised moves: {checked.lost} lost, "
        f"{checked.duplicated} duplicated, {checked.diverged} diverged, {checked.unchecked} unchecked; "
        f"{checked.verified:,} verified"
    )
    return verdict(text, good=found.good)


def _notes(found: Report) -> str:
    notes = [f"<li>{escape(note)}</li>" for note in remarks(found)]
    problems = [f'<li class="bad">{escape(note)}</li>' for note in (*found.problems, *found.checked.examples)]
    return f"<ul>{''.join(problems + notes)}</ul>" if problems or notes else ""


def _tiles(found: Report) -> str:
    return tiles(
        {
            "moves a second": f"{found.moves_per_s:,.0f}",
            "move to every view, p50": f"{found.view.p50:,.1f} ms",
            "move to every view, p99": f"{found.view.p99:,.1f} ms",
            "CPU of the server a move": f"{found.server_us:,.0f} µs" if found.cpu_us else "–",
            "CPU of this client a move": f"{found.client_us:,.0f} µs",
        }
    )


def _plots(found: Report) -> str:
    points = found.points
    seconds = plot.nice(points[-1].at if points else 0, 6)
    seconds = [tick for tick in seconds if not points or tick.value <= max(points[-1].at, 1)] or seconds
    rates = [(point.at, point.moves_per_s) for point in points]
    over_time = [
        plot.Line("p50", [(point.at, point.p50) for point in points if point.p50]),
        plot.Line("p99", [(point.at, point.p99) for point in points if point.p99]),
    ]
    curves = [plot.Line("every view", _percentiles(found.view)), plot.Line("receipt", _percentiles(found.receipt))]
    return "".join(
        (
            plot.lines(
                [plot.Line("moves/s", rates)],
                title="Throughput",
                unit="moves a second",
                along="seconds",
                x=seconds,
                y=plot.nice(max((rate for _, rate in rates), default=0)),
            ),
            plot.lines(
                over_time,
                title="Latency over time",
                unit="ms, move to every view",
                along="seconds",
                x=seconds,
                y=_decades(over_time),
                log=True,
            ),
            plot.lines(
                curves,
                title="Latency by percentile",
                unit="ms",
                along="share of moves that were faster",
                x=[plot.Tick(i, label) for i, label in enumerate(("0", "90 %", "99 %", "99.9 %", "99.99 %"))],
                y=_decades(curves),
                log=True,
            ),
            plot.bars(_cpu(found), title="CPU", unit="µs a move, by process"),
        )
    )


def _cpu(found: Report) -> list[tuple[str, float]]:
    return [*found.cpu_us.items(), ("this client", found.client_us)] if found.cpu_us else []


def _decades(drawn: list[plot.Line]) -> list[plot.Tick]:
    values = [value for line in drawn for _, value in line.points if value > 0]
    return plot.decades(min(values), max(values)) if values else []


def _percentiles(latency: Latency) -> list[tuple[float, float]]:
    """Return (number of nines, milliseconds), as far as there are values to say so."""
    if not latency.count:
        return []
    histogram = HdrHistogram.decode(latency.histogram)
    nines = min(4.0, math.log10(latency.count))
    steps = [i / 20 for i in range(int(nines * 20) + 1)]
    found = [(step, histogram.get_value_at_percentile(100 * (1 - 10**-step)) / 1000) for step in steps]
    return [(step, max(value, 0.001)) for step, value in found]


def _latency(found: Report) -> str:
    rows = [
        (
            name,
            f"{one.count:,}",
            *(f"{value:,.2f}" for value in (one.mean, one.p50, one.p90, one.p99, one.p99_9, one.max)),
        )
        for name, one in (
            ("move to every view received and decoded", found.view),
            ("move to receipt", found.receipt),
            ("opening a match with its joins", found.opening),
            ("client later than the schedule", found.late),
        )
        if one.count
    ]
    return _table(["", "count", "mean", "p50", "p90", "p99", "p99.9", "max"], rows)


def _counts(found: Report) -> str:
    counts = {
        "moves seen by every seat": found.moves,
        "matches opened": found.opened,
        "matches ended": found.ended,
        "seats left": found.left,
        "connections made again": found.reconnects,
        "present view asked for after a possible gap": found.gaps,
        "views replaced by a newer one (healed)": found.healed_views,
        "views lost": found.lost_views,
        "moves skipped while their match was being opened": found.skipped,
        "moves due at the end and not sent": found.behind,
        "moves in flight at the end and never settled": found.unanswered,
    }
    return _table([], [(name, f"{count:,}") for name, count in counts.items()])


def _refusals(found: Report) -> str:
    if not found.refused:
        return '<div class="dim">none</div>'
    return _table([], [(reason, f"{count:,}") for reason, count in found.refused.items()])


def _workers(found: Report) -> str:
    machine = "{cores} cores, {system}, Python {python}".format_map(found.machine)
    rows = [(line.name, f"{line.busy:.0%} of a core", line.failed) for line in found.workers]
    return _table([], [("coordinator", machine, ""), *rows])


def _table(head: list[str], rows: list[tuple[str, ...]]) -> str:
    top = f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>" if head else ""
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{top}{body}</table>"
