"""`python -m tests.faults.trapped engine|match`: a service of Croupier that dies, or freezes, at a named point.

It is the service itself: only the calls by which it reaches Redis and NATS are wrapped. A trap is a file named after a
point in the folder `traps` of its data folder, which holds a signal's number. Whichever process passes that point first
takes the file away and sends itself the signal there and then.

Points of a worker, in the order in which it comes by: `read` (commands are in its hands), `committing` (the commit has
left, its answer has not come), `commit` (it has come), `refused` (refusals are acknowledged, nothing is published),
`publishing` (half of the messages have left), `publish` (NATS has them all), `acknowledge` (all is done). Of a match
service: `appending` and `append`.
"""

import asyncio
import os
import random
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from services import cli
from services.bus import Bus
from services.store import Store
from services.store.commits import Commit
from services.store.intake import Along, Intake

WORKER_POINTS = ("read", "committing", "commit", "refused", "publishing", "publish", "acknowledge")
FRONT_POINTS = ("appending", "append")
SHUFFLE = "CROUPIER_TEST_SHUFFLE"
"""Set to let a match service append its commands out of order, and some of them twice."""

Method = Callable[..., Awaitable[Any]]
traps = Path(os.environ.get("CROUPIER_DATA_DIR", ".")) / "traps"


def pass_by(point: str) -> None:
    """Fall into the trap at this point, if there is one and nobody was faster."""
    trap = traps / point
    try:
        taken = trap.rename(traps / f"{point}.{os.getpid()}")
    except FileNotFoundError:
        return
    number = int(taken.read_text())
    os.kill(os.getpid(), number)


def after(point: str, method: Method, *, only: Callable[[Any], bool] = lambda _: True) -> Method:
    async def call(*args: Any, **kwargs: Any) -> Any:
        result = await method(*args, **kwargs)
        if only(result):
            pass_by(point)
        return result

    return call


def within(point: str, method: Method, *, what: int) -> Method:
    """The trap is passed once what the method sends has left, before its answer is there. `what`: which argument."""

    async def call(*args: Any, **kwargs: Any) -> Any:
        if not args[what]:
            return await method(*args, **kwargs)
        running = asyncio.ensure_future(method(*args, **kwargs))
        for _ in range(3):
            await asyncio.sleep(0)
        pass_by(point)
        return await running

    return call


def acknowledging(method: Method) -> Method:
    """Acknowledging is left to the next read, but for refusals."""

    async def call(self: Intake, deliveries: Sequence[Any] = (), *args: Any, **kwargs: Any) -> None:
        left = self.acknowledging
        await method(self, deliveries, *args, **kwargs)
        if deliveries:
            pass_by("refused")
        elif left:
            pass_by("acknowledge")

    return call


def reading(method: Method) -> Method:
    async def call(self: Intake, *args: Any) -> Any:
        left = self.acknowledging
        deliveries = await method(self, *args)
        if left:
            pass_by("acknowledge")
        if deliveries:
            pass_by("read")
        return deliveries

    return call


def committing(method: Method) -> Method:
    """What was left to acknowledge, and a read, go along with a commit."""

    async def call(self: Store, worker: str, commits: Sequence[Commit], along: Along | None = None) -> Any:
        left = self.intake.acknowledging
        results = await method(self, worker, commits, along)
        if left and not self.intake.acknowledging:
            pass_by("acknowledge")
        if along is not None and along.found:
            pass_by("read")
        if results:
            pass_by("commit")
        return results

    return call


def publishing(method: Method) -> Method:
    async def call(self: Bus, messages: Sequence[Any]) -> None:
        if (traps / "publishing").exists() and len(messages) > 1:
            await method(self, messages[: len(messages) // 2])
            pass_by("publishing")
        await method(self, messages)

    return call


def shuffling(method: Method) -> Method:
    async def call(self: Intake, envelopes: Sequence[Any], *args: Any) -> Any:
        chance = random.SystemRandom()
        doubled = [*envelopes, *(one for one in envelopes if chance.random() < 0.5)]
        chance.shuffle(doubled)
        await asyncio.sleep(chance.random() * 0.05)
        return await method(self, doubled, *args)

    return call


def main() -> None:
    Intake.read = reading(Intake.read)
    Store.commit = committing(within("committing", Store.commit, what=2))
    Intake.acknowledge = acknowledging(Intake.acknowledge)
    Bus.publish = after("publish", publishing(Bus.publish))
    append = shuffling(Intake.append) if os.environ.get(SHUFFLE) else Intake.append
    Intake.append = after("append", within("appending", append, what=1))
    sys.exit(cli.main())


if __name__ == "__main__":
    main()


def set_trap(folder: Path, point: str, number: signal.Signals) -> Path:
    """Set a trap for the services of a stack in this folder; return what is gone once somebody has fallen into it."""
    place = folder / "traps"
    place.mkdir(exist_ok=True)
    new = place / ".new"
    new.write_text(str(int(number)))
    return new.rename(place / point)
