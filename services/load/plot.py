"""Plots as inline SVG: lines over a linear or logarithmic axis, and bars. No script, no outside resource."""

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 58, 26, 14, 40
COLOURS = ("var(--a)", "var(--b)")

Points = Sequence[tuple[float, float]]


class Line(NamedTuple):
    """A named line."""

    name: str
    points: Points


class Tick(NamedTuple):
    """A labelled place on an axis."""

    value: float
    label: str


def number(value: float) -> str:
    """Return a number short enough for an axis."""
    if value >= 10_000:
        return f"{value / 1000:,.0f}k"
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"


def nice(top: float, count: int = 5) -> list[Tick]:
    """Return round values from 0 to at least `top`."""
    if top <= 0:
        return [Tick(0, "0"), Tick(1, "1")]
    raw = top / count
    power = 10 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw)
    return [Tick(i * step, number(i * step)) for i in range(math.ceil(top / step) + 1)]


def decades(low: float, high: float) -> list[Tick]:
    """Return values of a logarithmic axis around positive ones: 1, 2, 5 and 10 times each power."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    first = max((value for value in values if value <= low), default=values[0])
    last = min((value for value in values if value >= high), default=values[-1])
    kept = [value for value in values if first <= value <= last]
    if len(kept) > 9:
        kept = [value for value in kept if math.log10(value).is_integer()] or kept
    return [Tick(value, number(value)) for value in kept]


def lines(
    drawn: Sequence[Line], *, title: str, unit: str, along: str, x: Sequence[Tick], y: Sequence[Tick], log: bool = False
) -> str:
    """Return a figure of lines; `along` names the horizontal axis, `log` makes the vertical one logarithmic."""
    drawn = [line for line in drawn if line.points]
    if not drawn or len(x) < 2 or len(y) < 2:
        return _figure(title, unit, '<p class="dim">nothing to draw</p>', [])
    furthest = max(place for line in drawn for place, _ in line.points)
    across = _scale(x[0].value, max(x[-1].value, furthest), LEFT, WIDTH - RIGHT, log=False)
    up = _scale(y[0].value, y[-1].value, HEIGHT - BOTTOM, TOP, log=log)
    parts = []
    for tick in y:
        at = up(tick.value)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{escape(tick.label)}</text>')
    for tick in x:
        at = across(tick.value)
        parts.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{escape(tick.label)}</text>')
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 2}">{escape(along)}</text>')
    for colour, line in zip(COLOURS, drawn, strict=False):
        path = " ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in line.points)
        parts.append(f'<polyline style="stroke:{colour}" points="{path}"><title>{escape(line.name)}</title></polyline>')
    svg = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'
    return _figure(title, unit, svg, [line.name for line in drawn] if len(drawn) > 1 else [])


def bars(shares: Sequence[tuple[str, float]], *, title: str, unit: str) -> str:
    """Return a figure of named bars, the longest over its whole width."""
    longest = max((value for _, value in shares), default=0.0)
    if not longest:
        return _figure(
            title,
            unit,
            '<p class="dim">not measured: the processes of the server are not known here, or one has ended</p>',
            [],
        )
    left, right, step = 110, 70, 40
    parts = []
    for row, (name, value) in enumerate(shares):
        at, width = row * step, value / longest * (WIDTH - left - right)
        parts.append(f'<text x="{left - 10}" y="{at + 26}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<rect x="{left}" y="{at + 9}" width="{max(width, 1):.1f}" height="24" rx="2"/>')
        parts.append(f'<text x="{left + width + 8:.1f}" y="{at + 26}">{value:,.0f}</text>')
    height = len(shares) * step + 8
    svg = f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'
    return _figure(title, unit, svg, [])


def _scale(low: float, high: float, start: float, end: float, *, log: bool) -> Callable[[float], float]:
    if log:
        below, above = math.log10(low), math.log10(high)
        return lambda value: start + (math.log10(max(value, low)) - below) / ((above - below) or 1) * (end - start)
    return lambda value: start + (value - low) / ((high - low) or 1) * (end - start)


def _figure(title: str, unit: str, body: str, names: Sequence[str]) -> str:
    keys = "".join(
        f'<span><i style="background:{colour}"></i>{escape(name)}</span>'
        for colour, name in zip(COLOURS, names, strict=False)
    )
    legend = f'<div class="legend">{keys}</div>' if keys else ""
    return f"<figure><figcaption><b>{escape(title)}</b> {escape(unit)}</figcaption>{legend}{body}</figure>"
