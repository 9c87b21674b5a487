"""Processes of this machine that compute beside the one that people see: one pool for audits, arenas and players.

They know nothing of Ctrl-C, which a terminal sends to them too: it is the caller's, who ends them. They end with him,
however he dies.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from types import TracebackType
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_PR_SET_PDEATHSIG = 1


def cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


class Processes(ProcessPoolExecutor):
    """A pool whose processes are started as they are needed; left by an exception it loses what was not done.

    Spawned, not forked: the caller may hold threads and connections. What is submitted must be importable.
    """

    def __init__(self, workers: int) -> None:
        """Start nothing yet."""
        super().__init__(workers, get_context("spawn"), _begin, (os.getpid(),))

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Have something done. Raises BrokenProcessPool once a process has died: the pool is beyond use then."""
        # May start a process, which inherits the mask: Ctrl-C is the caller's, also while that process begins.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return super().submit(fn, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def stop(self) -> None:
        """End the processes at once, whatever they are doing; on return they are gone, and nothing is done any more."""
        for process in list((self._processes or {}).values()):
            process.kill()
        self.shutdown(cancel_futures=True)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.shutdown()
        else:
            self.stop()


def _begin(parent: int) -> None:
    """Run first in each process: leave Ctrl-C to the parent, and end when it has died."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def until_interrupted(done: Iterable[T]) -> Iterator[T]:
    """Yield what there is until Ctrl-C, also if Python had to ignore it where it came: in a callback, say.

    Raises KeyboardInterrupt then. For the main thread.
    """
    interrupted = False

    def interrupt(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        for one in done:
            if interrupted:
                raise KeyboardInterrupt
            yield one
    finally:
        signal.signal(signal.SIGINT, before)
