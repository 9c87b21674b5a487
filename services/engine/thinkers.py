"""Where computer players decide: a pool of processes, never the worker's loop.

A decision is a pure function of the question, so it does not matter which process makes it, how often, or whether it is
lost: the question stays due until its answer is in the journal.
"""

import asyncio
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass
from typing import NamedTuple

import structlog

from engine import bots
from engine.bots import Question
from engine.game import Move
from services.processes import Processes

log = structlog.get_logger()


class Decision(NamedTuple):
    """What a computer player decided; `member` is the member of `due` that asked for it."""

    match: str
    member: str
    question: Question
    move: Move | None


@dataclass(slots=True)
class _Asked:
    """A question on its way; the answer waits here until those asked before it in the same match are there."""

    pool: Processes
    decision: Decision | None = None


class Thinkers:
    """Asks questions of a pool that is started with the first of them; answers wait in `take`.

    The answers of one match come in the order of its questions, whichever process is done first: in which order
    computer players move may not depend on how busy a machine is.
    """

    def __init__(self, processes: int) -> None:
        """Start nothing yet."""
        self._processes = processes
        self._pool: Processes | None = None
        self._asked: dict[str, dict[str, _Asked]] = {}
        self._decided: list[Decision] = []

    @property
    def busy(self) -> bool:
        """Whether any answer is awaited or waits."""
        return bool(self._asked or self._decided)

    def ask(self, match: str, member: str, question: Question) -> None:
        """Have a question answered, unless it is being answered."""
        if member in self._asked.get(match, ()):
            return
        if self._pool is None:
            self._pool = Processes(self._processes)
        try:
            future = self._pool.submit(bots.answer, question)
        except BrokenExecutor:
            self._pool = None
            return
        asked = self._asked.setdefault(match, {})[member] = _Asked(self._pool)
        loop = asyncio.get_running_loop()

        def answered(done: "Future[Move | None]") -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._answered, asked, Decision(match, member, question, None), done)

        future.add_done_callback(answered)

    def _answered(self, asked: _Asked, decision: Decision, done: "Future[Move | None]") -> None:
        match, member = decision.match, decision.member
        waiting = self._asked.get(match, {})
        if done.cancelled() or waiting.get(member) is not asked:
            return
        if error := done.exception():
            log.error("computer_player_failed", match=match, seat=decision.question.seat, error=repr(error))
            if isinstance(error, BrokenExecutor):
                self._pool = None if self._pool is asked.pool else self._pool
                del self._asked[match]  # all of them are asked again, in the same order
                return
        asked.decision = decision._replace(move=None if error else done.result())
        for first, one in list(waiting.items()):
            if one.decision is None:
                return
            self._decided.append(one.decision)
            del waiting[first]
        del self._asked[match]

    def take(self) -> list[Decision]:
        """Return what was decided since the last call."""
        decided, self._decided = self._decided, []
        return decided

    def close(self) -> None:
        """End the pool; what it has not answered is asked by whoever owns the partition next."""
        self._asked.clear()  # nobody is told of what the end of the pool does to them
        if self._pool is not None:
            self._pool.stop()
