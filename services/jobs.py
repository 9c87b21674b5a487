"""One function over many journals, in parts: on all cores or a cluster, in a stable order, to be gone on with."""

from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import msgspec
from msgspec import Struct

from engine import registry
from services.journal_parts import Part
from services.processes import Processes

R = TypeVar("R")

WORTH_PROCESSES = 16
"""Fewer journals than that are done before other processes have started."""
AHEAD = 4
"""Parts that wait for each process."""


class Job(NamedTuple, Generic[R]):
    """What is done with every part, and what of it may be kept.

    `do` is importable and gives results of the type `kind`, which msgspec writes. `same`: of results from segments that
    give the same, one counts; None: each does. `final`: whether a result on a match in Redis holds for good.
    """

    name: str
    do: Callable[[Part], list[R]]
    kind: type[R]
    same: Callable[[R], Hashable]
    final: Callable[[R], bool]

    def lasts(self, part: Part, results: Sequence[R]) -> bool:
        """Whether the results hold for good: a match in Redis may still be running, or may not be there yet."""
        return bool(part.key) and (not part.matches or all(map(self.final, results)))


class Submit(Protocol):
    """Hands a part to somebody; what it returns waits for the results."""

    def __call__(self, do: Callable[[Part], list[R]], part: Part, /) -> Callable[[], list[R]]:
        """Have `do` done with a part."""


class Pool(NamedTuple):
    """Who does it: how many at once, and how they are started, which is done only if there is enough to do."""

    workers: int
    start: Callable[[], AbstractContextManager[Submit]]


def on_processes(workers: int) -> Pool:
    """Return a pool of so many processes of this machine."""

    @contextmanager
    def start() -> Iterator[Submit]:
        with Processes(workers) as pool:

            def submit(do: Callable[[Part], list[R]], part: Part) -> Callable[[], list[R]]:
                return pool.submit(do, part).result

            yield submit

    return Pool(workers, start)


def run(
    parts: Iterable[Part], job: Job[R], pool: Pool, state: "State[R] | None" = None
) -> Generator[tuple[Part, list[R]], None, None]:
    """Yield every part with its results, in order.

    With `state` parts that it knows are not done again, and the others are remembered there as they are done. A journal
    that lies in two segments counts once.
    """
    seen: set[Hashable] = set()

    def is_first(result: R) -> bool:
        known = job.same(result)
        if known is None or known not in seen:
            seen.add(known)
            return True
        return False

    for part, results in _done(iter(parts), job, pool, {} if state is None else state.done):
        if state is not None and part.key not in state.done and job.lasts(part, results):
            state.keep(part.key, results)
        yield part, [each for each in results if not part.segment or is_first(each)]


def _done(parts: Iterator[Part], job: Job[R], pool: Pool, known: dict[str, list[R]]) -> Iterator[tuple[Part, list[R]]]:
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
            yield part, known[part.key] if part.key in known else job.do(part)
        return
    waiting: deque[tuple[Part, Callable[[], list[R]]]] = deque()
    with pool.start() as submit:
        for part in chain(first, parts):
            waiting.append((part, _already(known[part.key]) if part.key in known else submit(job.do, part)))
            if len(waiting) > AHEAD * pool.workers:
                one, result = waiting.popleft()
                yield one, result()
        while waiting:
            one, result = waiting.popleft()
            yield one, result()


def _already(results: list[R]) -> Callable[[], list[R]]:
    return lambda: results


# --- what is done already --------------------------------------------------------------------------------------------


class _Head(Struct, frozen=True):
    croupier: str
    job: str
    rules: tuple[str, ...]


class _Results(Struct, Generic[R], frozen=True):
    key: str
    journals: list[R]


class StateError(ValueError):
    """The file is no state of a job."""


class State(Generic[R]):
    """The results on parts in a file, a line each: what was cut off goes on where it was.

    Results of another job, of another version of Croupier, or with other rules installed, do not count: it starts anew.
    """

    def __init__(self, path: Path, job: Job[R]) -> None:
        """Read what is done. Raises OSError, StateError for a file that is something else."""
        self.done: dict[str, list[R]] = {}
        rules = tuple(sorted(game.rules for game in registry.games()))
        head = msgspec.json.encode(_Head(version("croupier-server"), job.name, rules)) + b"\n"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        if lines and not lines[0].startswith(b'{"croupier":'):
            raise StateError(f"{path} is no state of an audit, nor of what goes on like one")
        if lines and lines[0] == head:
            decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_Results[job.kind])  # type: ignore[name-defined]
            for line in lines[1:]:
                try:
                    done: _Results[R] = decoder.decode(line)
                except msgspec.DecodeError:  # cut off while it was written
                    continue
                self.done[done.key] = done.journals
            self._file = path.open("ab")
            if not lines[-1].endswith(b"\n"):
                self._file.write(b"\n")
        else:
            self._file = path.open("wb")
            self._file.write(head)
        self._file.flush()

    def keep(self, key: str, results: list[R]) -> None:
        """Remember the results on a part."""
        self._file.write(msgspec.json.encode(_Results(key, results)) + b"\n")
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
