"""Who sits on the seats that nobody else takes: a client like any other, which moves at random."""

import asyncio
import contextlib
import random
from typing import Any

from services.client import RefusedError, Seat

OPTIONAL_MOVE = 0.3
"""How often a player who owes nothing, but may do something, does it (catches, calls TIMO)."""
THINKING = (0.5, 1.5)
"""How long a move may take, as parts of the time given."""
TOO_LATE = frozenset({"STALE_PROMPT", "ILLEGAL_MOVE", "MATCH_OVER", "TIMED_OUT"})
"""Refusals of a move that was legal in the view that it was chosen from."""


class RandomPlayer:
    """Plays a seat by its views alone, which `see` takes: it answers each prompt once, with a legal move.

    What comes too late is chosen anew. Any other refusal, too, if the player is `stubborn`; otherwise it ends the
    player: `over` raises it.
    """

    def __init__(self, seed: str | None = None, think_s: float = 0.0, *, stubborn: bool = False) -> None:
        """Prepare, in a running loop. A move takes `think_s` seconds on average."""
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when there are no more views."""
        self.chance = random.Random(seed)  # noqa: S311 - no secrets
        self._think_s = think_s
        self._stubborn = stubborn
        self._answered = -1
        """The last prompt that there is, or will be, an answer to."""
        self._moves: set[asyncio.Task[None]] = set()

    def see(self, seat: Seat) -> None:
        """Answer a new view, if there is something to answer."""
        if seat.over:
            if not self.over.done():
                self.over.set_result(None)
            return
        prompt = seat.view["prompt"]
        if not seat.legal or prompt == self._answered:
            return
        if not seat.owes and self.chance.random() > OPTIONAL_MOVE:
            return
        self._answered = prompt
        task = asyncio.create_task(self._answer(seat, prompt))
        self._moves.add(task)
        task.add_done_callback(self._moved)

    def choose(self, seat: Seat) -> dict[str, Any]:
        """Return one of the seat's legal moves."""
        return self.chance.choice(seat.legal)

    async def send(self, seat: Seat, move: dict[str, Any], prompt: int) -> int:
        """Send a move; return the version of its entry. Raises RefusedError."""
        return await seat.move(move, prompt)

    async def end(self) -> None:
        """Return when the match is over and every move has its receipt. Raises RefusedError."""
        await self.over
        await asyncio.gather(*self._moves)

    def stop(self) -> None:
        """Make no more moves."""
        for task in self._moves:
            task.cancel()

    async def _answer(self, seat: Seat, prompt: int) -> None:
        if self._think_s:
            await asyncio.sleep(self._think_s * self.chance.uniform(*THINKING))
        if seat.over or seat.view["prompt"] != prompt or not seat.legal:
            return
        try:
            await self.send(seat, self.choose(seat), prompt)
        except RefusedError as refusal:
            if not self._stubborn and refusal.reason not in TOO_LATE:
                raise
            if self._answered == prompt:
                self._answered = -1
                with contextlib.suppress(RefusedError):  # asked for again in a second, or the end
                    await seat.heal()
                self.see(seat)

    def _moved(self, task: asyncio.Task[None]) -> None:
        self._moves.discard(task)
        if not task.cancelled() and (error := task.exception()) and not self.over.done():
            self.over.set_exception(error)
