"""The report of an audit as one HTML page."""

from collections import Counter
from html import escape

from services.audit_report import CLASSES, Line, Report
from services.report_page import document, tiles, verdict

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
td { vertical-align: top; } td.number { text-align: right; } td.wrap { overflow-wrap: anywhere; min-width: 12em; }
"""


def page(found: Report) -> str:
    """Return the page: counts, findings by class, journals by rules, and every finding (at most `SHOWN`)."""
    bad = [line for line in found.journals if line.finding]
    total = len(found.journals)
    text = f"{found.different:,} of {total:,} journals differ" if bad else f"no fault in {total:,} journals"
    figures = {
        "journals": total,
        "entries": found.entries,
        "verified": found.verified,
        "consistent": found.consistent,
        "different": found.different,
    }
    title = f"Audit of {total:,} journals"
    body = f"""<h1>{title}</h1>
<div class="dim">verified: the last hash is the one that was given. consistent: without fault, but without a last hash
from elsewhere a journal made anew cannot be told from the played one.</div>
{verdict(text, good=not bad)}{tiles({name: f"{value:,}" for name, value in figures.items()})}
{_classes(found)}{_rules(found)}{_findings(bad)}"""
    return document(title, body, STYLE)


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
