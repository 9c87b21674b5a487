"""A report as one HTML page that needs nothing else: it can be mailed, kept, and opened years later."""

from collections.abc import Mapping
from html import escape

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #5c6670; --paper: #fbfbf9; --card: #fff; --edge: #e3e4e0;
  --a: #2563a8; --b: #c2571a; --good: #2f7d4f; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e9eb; --dim: #9aa3ad; --paper: #15181c; --card: #1d2126;
  --edge: #31373e; --a: #6aa7e8; --b: #f0935a; --good: #6fc398; --bad: #f28b82; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 24px; margin: 0 0 2px; } h2 { font-size: 16px; margin: 32px 0 8px; }
.dim, th, .tile span { color: var(--dim); }
.verdict { margin: 18px 0; padding: 10px 14px; border: 1px solid; border-radius: 6px; font-weight: 600; }
.good { color: var(--good); } .bad { color: var(--bad); }
.tiles { display: grid; gap: 14px; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); }
.tile { padding: 12px 16px; background: var(--card); border: 1px solid var(--edge); border-radius: 8px; }
.tile b { display: block; font-size: 25px; font-weight: 650; font-variant-numeric: tabular-nums; }
.tile span { font-size: 13px; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 4px 14px 4px 0; border-bottom: 1px solid var(--edge); } th { font-weight: 500; }
"""


def document(title: str, body: str, style: str = "") -> str:
    """Return the page with this body; `style` is what it needs beyond verdicts, tiles and tables."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title><style>{_STYLE}{style}</style></head><body><main>
{body}
</main></body></html>
"""


def verdict(text: str, *, good: bool) -> str:
    """Return what the page says before all else."""
    return f'<div class="verdict {"good" if good else "bad"}">{escape(text)}</div>'


def tiles(figures: Mapping[str, str]) -> str:
    """Return the figures that are to be seen first, by their names."""
    shown = "".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(name)}</span></div>' for name, value in figures.items()
    )
    return f'<div class="tiles">{shown}</div>'
