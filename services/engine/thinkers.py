"""Where computer players decide: a pool of processes, never the worker's loop.

A decision is a pure function of the question, so it does not matter which process makes it, how often, or whether it is
lost: the question stays due until its answer is in the journal.
"""

import asyncio
import ctypes
import os
import signal
import sys
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

import structlog

from engine import bots
from engine.bots import Question
from engine.game import Move

log = structlog.get_logger()
_PR_SET_PDEATHSIG = 1


class Decision(NamedTuple):
    """What a computer player decided; `member` is the member of `due` that asked for it."""

    match: str
    member: str
    question: Question
    move: Move | None


class Thinkers:
    """Asks questions of a pool that is started with the first of them; answers wait in `take`."""

    def __init__(self, processes: int) -> None:
        """Start nothing yet."""
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None
        self._asked: set[str] = set()
        self._decided: list[Decision] = []

    @property
    def busy(self) -> bool:
        """Whether any answer is awaited or waits."""
        return bool(self._asked or self._decided)

    def ask(self, match: str, member: str, question: Question) -> None:
        """Have a question answered, unless it is being answered."""
        if member in self._asked:
            return
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._processes, get_context("spawn"), _begin, (os.getpid(),))
        try:
            future = self._pool.submit(bots.answer, question)
        except BrokenExecutor:
            self._pool = None
            return
        self._asked.add(member)
        loop = asyncio.get_running_loop()
        future.add_done_callback(
            lambda done: loop.is_closed() or loop.call_soon_threadsafe(self._answered, match, member, question, done)
        )

    def _answered(self, match: str, member: str, question: Question, done: "Future[Move | None]") -> None:
        self._asked.discard(member)
        if done.cancelled():
            return
        if error := done.exception():
            log.error("computer_player_failed", match=match, seat=question.seat, error=repr(error))
            if isinstance(error, BrokenExecutor):
                self._pool = None
                return
        move = None if error else done.result()
        self._decided.append(Decision(match, member, question, move))

    def take(self) -> list[Decision]:
        """Return what was decided since the last call."""
        decided, self._decided = self._decided, []
        return decided

    def close(self) -> None:
        """End the pool; what it has not answered is asked by whoever owns the partition next."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            for process in list((self._pool._processes or {}).values()):  # noqa: SLF001 - there is no public way to end them
                process.terminate()


def _begin(parent: int) -> None:
    """Run first in each process of the pool: leave Ctrl-C to the parent, and end when it has died."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
