"""Ending tasks for sure.

Before Python 3.12 `asyncio.wait_for` swallows a cancellation that comes while what it waits for completes, and redis-py
and nats-py wait with it: a task that was cancelled once may go on as if nothing had been.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

ASK_AGAIN_S = 0.1


async def end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks until they have ended; what they raise is dropped."""
    ended: set[asyncio.Task[Any]] = set()
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        done, pending = await asyncio.wait(pending, timeout=ASK_AGAIN_S)
        ended |= done
    for task in ended:
        if not task.cancelled():
            task.exception()


def asked_to_end() -> bool:
    """Whether the task that runs this was cancelled, even if it did not notice."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
