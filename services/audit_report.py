"""Audits of many journals: on all cores or a cluster, in a stable order, to be gone on with; and the report of them."""

import multiprocessing
import os
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from engine import registry
from engine.audit import Audited, Difference, Source, Verdict, anchored
from services.audit_parts import BATCH, Part, audit_part, lasting, of_sources

__all__ = ["BATCH", "CLASSES", "Line", "Pool", "Report", "State", "audit_all", "cores", "processes", "report", "run"]

WORTH_PROCESSES = 16
"""Fewer journals than that are audited before other processes have started."""
AHEAD = 4
"""Parts that wait for each process."""

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
    done = run(of_sources(sources), processes(workers or cores()))
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
            yield Audited(match, Verdict("different", match, "", "", 0, 0, "", Difference(0, "file", detail)))


def _unanchored(verdict: Verdict) -> Verdict:
    """Return the verdict before a hash beside the file spoke: one that was asked for by hand replaces it."""
    if verdict.outcome == "verified" or (verdict.difference and verdict.difference.field == "last hash"):
        return replace(verdict, outcome="consistent", difference=None)
    return verdict


# --- who does it -----------------------------------------------------------------------------------------------------

Audits = list[Audited]
Submit = Callable[[Part], Callable[[], Audits]]
"""Hands a part to somebody; what it returns waits for the verdicts."""


class Pool(NamedTuple):
    """Who audits: how many at once, and how they are started, which is done only if there is enough to do."""

    workers: int
    start: Callable[[], AbstractContextManager[Submit]]


def processes(workers: int) -> Pool:
    """Return a pool of so many processes of this machine."""

    @contextmanager
    def start() -> Iterator[Submit]:
        # Spawned, not forked: the caller may hold threads and connections.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, context, initializer=_leave_interrupts_to_the_caller) as pool:

            def submit(part: Part) -> Callable[[], Audits]:
                # May start a process, which inherits the mask: Ctrl-C is the caller's, also while that process begins.
                before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                try:
                    return pool.submit(audit_part, part).result
                finally:
                    signal.pthread_sigmask(signal.SIG_SETMASK, before)

            try:
                yield submit
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    return Pool(workers, start)


def _leave_interrupts_to_the_caller() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run(parts: Iterable[Part], pool: Pool, state: "State | None" = None) -> Iterator[tuple[Part, Audits]]:
    """Yield every part with the verdicts on it, in their order.

    With `state` parts that it knows are not audited again, and the others are remembered there as they are done. A
    journal that lies in two segments is judged once.
    """
    seen: set[tuple[str, str]] = set()
    for part, audited in _audited(iter(parts), pool, state):
        if state is not None and part.key not in state.done and lasting(part, audited):
            state.keep(part.key, audited)
        yield part, [each for each in audited if not part.segment or _first(each.verdict, seen)]


def _first(verdict: Verdict, seen: set[tuple[str, str]]) -> bool:
    known = (verdict.match, verdict.head)
    if verdict.difference is None and known in seen:
        return False
    seen.add(known)
    return True


def _audited(parts: Iterator[Part], pool: Pool, state: "State | None") -> Iterator[tuple[Part, Audits]]:
    known = state.done if state is not None else {}
    first: list[Part] = []
    count = 0
    while pool.workers > 1 and (count < WORTH_PROCESSES or len(first) < pool.workers):
        part = next(parts, None)
        if part is None:
            break
        first.append(part)
        count += 0 if part.key in known else part.count
    if count < WORTH_PROCESSES or len(first) == 1:
        for part in chain(first, parts):
            yield part, known[part.key] if part.key in known else audit_part(part)
        return
    waiting: deque[tuple[Part, Callable[[], Audits]]] = deque()
    with pool.start() as submit:
        for part in chain(first, parts):
            waiting.append((part, _known(known[part.key]) if part.key in known else submit(part)))
            if len(waiting) > AHEAD * pool.workers:
                one, result = waiting.popleft()
                yield one, result()
        while waiting:
            one, result = waiting.popleft()
            yield one, result()


def _known(audited: Audits) -> Callable[[], Audits]:
    return lambda: audited


# --- what is done already --------------------------------------------------------------------------------------------


class _Head(Struct, frozen=True):
    croupier: str
    rules: tuple[str, ...]


class _Done(Struct, frozen=True):
    key: str
    journals: tuple[Line, ...]


class StateError(ValueError):
    """The file is no state of an audit."""


class State:
    """The verdicts on parts in a file, a line each: what was cut off goes on where it was.

    Verdicts of another version of Croupier, or with other rules installed, do not count: it starts anew.
    """

    def __init__(self, path: Path) -> None:
        """Read what is done. Raises OSError, StateError for a file that is something else."""
        self.done: dict[str, Audits] = {}
        head = _Head(version("croupier-server"), tuple(sorted(game.rules for game in registry.games())))
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        if lines and not lines[0].startswith(b'{"croupier":'):
            raise StateError(f"{path} is no state of an audit")
        if lines and lines[0] == msgspec.json.encode(head) + b"\n":
            for line in lines[1:]:
                try:
                    done = msgspec.json.decode(line, type=_Done)
                except msgspec.DecodeError:  # cut off while it was written
                    continue
                self.done[done.key] = [Audited(each.source, each.verdict) for each in done.journals]
            self._file = path.open("ab")
            if not lines[-1].endswith(b"\n"):
                self._file.write(b"\n")
        else:
            self._file = path.open("wb")
            self._file.write(msgspec.json.encode(head) + b"\n")
        self._file.flush()

    def keep(self, key: str, audited: Audits) -> None:
        """Remember the verdicts on a part."""
        lines = tuple(Line(*each) for each in audited)
        self._file.write(msgspec.json.encode(_Done(key, lines)) + b"\n")
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


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
