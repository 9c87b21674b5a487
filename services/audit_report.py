"""Audits of many journals: on all cores, in a stable order, and the report of them."""

import multiprocessing
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import chain, islice

from msgspec import Struct
from msgspec.structs import replace

from engine.audit import Audited, Difference, Source, Verdict, anchored, audit_source

BATCH = 8
"""Journals a task; small enough for progress, large enough to be worth a message to another process."""
WORTH_PROCESSES = 16
"""Fewer journals than that are audited before other processes have started."""


class Line(Struct, frozen=True):
    """One journal of the report."""

    source: str
    verdict: Verdict


class Report(Struct, frozen=True):
    """What the audit found: how many journals of each outcome, and every verdict in the order asked for."""

    verified: int
    consistent: int
    different: int
    journals: tuple[Line, ...]


def cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def audit_all(
    sources: Iterable[Source], anchors: Mapping[str, bytes] | None = None, workers: int | None = None
) -> Iterator[Audited]:
    """Yield the verdict on every source, in their order, and go on after a bad one.

    `anchors` are last hashes by match id; one of a match that no source held is a verdict of its own, at the end.
    Sources are read as they are needed, so that there may be more of them than memory holds.
    """
    anchors = anchors or {}
    found = set()
    for name, verdict in _on_all_cores(iter(sources), workers or cores()):
        if anchor := anchors.get(verdict.match):
            found.add(verdict.match)
            yield Audited(name, anchored(_unanchored(verdict), anchor))
        else:
            yield Audited(name, verdict)
    for match in anchors:
        if match not in found:
            detail = "a last hash was given for this match, but no journal of it"
            yield Audited(match, Verdict("different", match, "", "", 0, 0, "", Difference(0, "file", detail)))


def _unanchored(verdict: Verdict) -> Verdict:
    """Return the verdict before a hash beside the file spoke: one that was asked for by hand replaces it."""
    if verdict.outcome == "verified" or (verdict.difference and verdict.difference.field == "last hash"):
        return replace(verdict, outcome="consistent", difference=None)
    return verdict


def _on_all_cores(sources: Iterator[Source], workers: int) -> Iterator[Audited]:
    first = list(islice(sources, WORTH_PROCESSES))
    if workers == 1 or len(first) < WORTH_PROCESSES:
        yield from map(audit_source, chain(first, sources))
        return
    sources = chain(first, sources)
    waiting: deque[Future[list[Audited]]] = deque()
    # Spawned, not forked: the caller may hold threads and connections.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        try:
            while batch := list(islice(sources, BATCH)):
                waiting.append(pool.submit(_audit_batch, batch))
                if len(waiting) > 2 * workers:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _audit_batch(batch: list[Source]) -> list[Audited]:
    return [audit_source(source) for source in batch]


def report(audited: Iterable[Audited]) -> Report:
    """Return the report of all verdicts."""
    lines = tuple(Line(name, verdict) for name, verdict in audited)
    count = Counter(line.verdict.outcome for line in lines)
    return Report(count["verified"], count["consistent"], count["different"], lines)
