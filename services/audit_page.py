"""The report of an audit as one HTML page that needs nothing else: it can be mailed, kept, and opened years later."""

from collections import Counter
from html import escape

from services.audit_report import CLASSES, Line, Report

SHOWN = 1000
"""Findings that are listed; all are in the JSON report."""

TITLES = {
    "tampered_chain": "tampered chain",
    "broken_commitment": "broken commitment",
    "wrong_deal": "wrong deal",
    "illegal_move": "illegal move",
    "digest_drift": "digest drift",
    "missing_reveal": "missing reveal",
    "truncated": "truncated",
    "unknown_rules_version": "unknown rules version",
    "invalid_lobby": "invalid lobby",
    "other_journal": "another journal than the anchored one",
    "unreadable": "unreadable",
    "rules_failed": "the rules broke down",
}

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #5c6670; --paper: #fbfbf9; --card: #fff; --edge: #e3e4e0;
  --good: #2f7d4f; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e9eb; --dim: #9aa3ad; --paper: #15181c; --card: #1d2126;
  --edge: #31373e; --good: #6fc398; --bad: #f28b82; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 24px; margin: 0; } h2 { font-size: 16px; margin: 32px 0 8px; } .dim, th { color: var(--dim); }
.verdict { margin: 18px 0; padding: 10px 14px; border: 1px solid; border-radius: 6px; font-weight: 600; }
.good { color: var(--good); } .bad { color: var(--bad); }
.tiles { display: grid; gap: 14px; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); }
.tile { padding: 12px 16px; background: var(--card); border: 1px solid var(--edge); border-radius: 8px; }
.tile b { display: block; font-size: 25px; font-variant-numeric: tabular-nums; } .tile span { color: var(--dim); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: 4px 14px 4px 0; border-bottom: 1px solid var(--edge); }
th { font-weight: 500; } td.number { text-align: right; } td.wrap { overflow-wrap: anywhere; min-width: 12em; }
"""


def page(found: Report) -> str:
    """Return the page: counts, findings by class, journals by rules, and every finding (at most `SHOWN`)."""
    bad = [line for line in found.journals if line.finding]
    total = len(found.journals)
    verdict = (
        f'<div class="verdict bad">{found.different:,} of {total:,} journals differ</div>'
        if bad
        else f'<div class="verdict good">no fault in {total:,} journals</div>'
    )
    tiles = {
        "journals": total,
        "entries": found.entries,
        "verified": found.verified,
        "consistent": found.consistent,
        "different": found.different,
    }
    shown = "".join(f'<div class="tile"><b>{value:,}</b><span>{name}</span></div>' for name, value in tiles.items())
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Audit of {total:,} journals</title><style>{STYLE}</style></head><body><main>
<h1>Audit of {total:,} journals</h1>
<div class="dim">verified: the last hash is the one that was given. consistent: without fault, but without a last hash
from elsewhere a journal made anew cannot be told from the played one.</div>
{verdict}<div class="tiles">{shown}</div>
{_classes(found)}{_rules(found)}{_findings(bad)}
</main></body></html>
"""


def _classes(found: Report) -> str:
    rows = "".join(
        f'<tr><td>{TITLES[name]}</td><td class="number">{found.findings[name]:,}</td>'
        f'<td class="dim">{", ".join(sorted(CLASSES[name]))}</td></tr>'
        for name in CLASSES
        if name in found.findings
    )
    return f"<h2>Findings by class</h2>{_table(('class', 'journals', 'what may differ'), rows)}" if rows else ""


def _rules(found: Report) -> str:
    total = Counter(line.verdict.rules for line in found.journals)
    different = Counter(line.verdict.rules for line in found.journals if line.finding)
    rows = "".join(
        f'<tr><td class="wrap">{escape(rules) or "unknown"}</td><td class="number">{total[rules]:,}</td>'
        f'<td class="number">{different[rules]:,}</td></tr>'
        for rules in sorted(total)
    )
    return f"<h2>Journals by rules</h2>{_table(('rules', 'journals', 'different'), rows)}"


def _findings(bad: list[Line]) -> str:
    if not bad:
        return ""
    rows = ""
    for line in bad[:SHOWN]:
        difference = line.verdict.difference
        if difference is not None and line.finding is not None:
            rows += (
                f'<tr><td>{TITLES[line.finding]}</td><td class="wrap">{escape(line.source)}</td>'
                f'<td class="number">{difference.version}</td><td>{escape(difference.field)}</td>'
                f'<td class="wrap">{escape(difference.detail)}</td></tr>'
            )
    more = f'<p class="dim">and {len(bad) - SHOWN:,} more: see the JSON report</p>' if len(bad) > SHOWN else ""
    return f"<h2>Every finding</h2>{_table(('class', 'journal', 'entry', 'field', 'what'), rows)}{more}"


def _table(heads: tuple[str, ...], rows: str) -> str:
    head = "".join(f"<th>{name}</th>" for name in heads)
    return f'<div class="scroll"><table><tr>{head}</tr>{rows}</table></div>'
