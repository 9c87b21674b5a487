"""Audits of many journals, and the report of them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from engine.audit import Audited, Difference, Source, Verdict, anchored, audit, unreadable
from services.jobs import Job, on_processes, run
from services.journal_parts import Held, Part, of_sources, read
from services.processes import cores

CLASSES: Mapping[str, frozenset[str]] = {
    "tampered_chain": frozenset({"chain", "line", "spelling", "order", "time"}),
    "broken_commitment": frozenset({"commitment"}),
    "wrong_deal": frozenset({"deal", "client seeds", "code"}),
    "illegal_move": frozenset({"legality", "prompt", "by", "clock", "computer move"}),
    "digest_drift": frozenset({"digest", "result"}),
    "missing_reveal": frozenset({"reveal"}),
    "truncated": frozenset({"tail"}),
    "unknown_rules_version": frozenset({"rules"}),
    "invalid_lobby": frozenset({"options", "seats", "seat", "name", "request", "tenure"}),
    "other_journal": frozenset({"last hash", "signature"}),
    "unreadable": frozenset({"file"}),
    "rules_failed": frozenset({"rules failed"}),
}
"""Every class of findings, with the fields of a `Difference` that belong to it."""
_CLASS_OF = {field: name for name, fields in CLASSES.items() for field in fields}


class Line(Struct, frozen=True):
    """One journal of the report; `finding` is one of `CLASSES`, or null for a journal without fault."""

    source: str
    verdict: Verdict
    finding: str | None = None


class Report(Struct, frozen=True):
    """What the audit found: how many journals of each outcome, how many findings of each class that occurs, how many
    entries were looked at, and every verdict in the order asked for.
    """

    verified: int
    consistent: int
    different: int
    findings: dict[str, int]
    entries: int
    journals: tuple[Line, ...]


def audit_part(part: Part) -> list[Audited]:
    """Return the verdicts on a part's journals, in order. Raises JournalsError if Redis cannot be read."""
    return [Audited(held.source.name, _verdict(held)) for held in read(part)]


def _verdict(held: Held) -> Verdict:
    if held.error:
        return unreadable(held.error, held.match)
    verdict = audit(held.source.lines, held.source.anchor, held.source.seed)
    if held.head and verdict.difference is None and (verdict.match, verdict.head) != (held.match, held.head):
        detail = "the table of the segment names another match or another last hash"
        return replace(
            verdict, outcome="different", difference=Difference(verdict.entries - 1, "last hash", detail)
        )  # fmt: skip
    return verdict


AUDIT = Job(
    "audit",
    audit_part,
    Audited,
    same=lambda one: None if one.verdict.difference else (one.verdict.match, one.verdict.head),
    final=lambda one: one.verdict.status in ("finished", "aborted"),
)


def audit_all(
    sources: Iterable[Source], anchors: Mapping[str, bytes] | None = None, workers: int | None = None
) -> Iterator[Audited]:
    """Yield the verdict on every source, in their order, and go on after a bad one.

    `anchors` are last hashes by match id; one of a match that no source held is a verdict of its own, at the end.
    Sources are read as they are needed, so that there may be more of them than memory holds.
    """
    done = run(of_sources(sources), AUDIT, on_processes(workers or cores()))
    return with_anchors((each for _, audited in done for each in audited), anchors or {})


def with_anchors(audited: Iterable[Audited], anchors: Mapping[str, bytes]) -> Iterator[Audited]:
    """Yield the verdicts as the last hashes that were given make them, and one for each hash that found no journal."""
    found = set()
    for name, verdict in audited:
        if anchor := anchors.get(verdict.match):
            found.add(verdict.match)
            yield Audited(name, anchored(_unanchored(verdict), anchor))
        else:
            yield Audited(name, verdict)
    for match in anchors:
        if match not in found:
            detail = "a last hash was given for this match, but no journal of it"
            yield Audited(match, unreadable(detail, match))


def _unanchored(verdict: Verdict) -> Verdict:
    """Return the verdict before a hash beside the file spoke: one that was asked for by hand replaces it."""
    if verdict.outcome == "verified" or (verdict.difference and verdict.difference.field == "last hash"):
        return replace(verdict, outcome="consistent", difference=None)
    return verdict


def _class_of(verdict: Verdict) -> str | None:
    return None if verdict.difference is None else _CLASS_OF[verdict.difference.field]


def report(audited: Iterable[Audited]) -> Report:
    """Return the report of all verdicts."""
    lines = tuple(Line(name, verdict, _class_of(verdict)) for name, verdict in audited)
    count = Counter(line.verdict.outcome for line in lines)
    findings = Counter(line.finding for line in lines)
    return Report(
        count["verified"],
        count["consistent"],
        count["different"],
        {name: findings[name] for name in CLASSES if findings[name]},
        sum(line.verdict.entries for line in lines),
        lines,
    )
