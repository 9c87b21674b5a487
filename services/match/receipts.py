"""The way of a command to the owner of its partition, and of the receipt back.

Commands that gather during one round trip to Redis leave together in the next. A receipt that does not come in time is
asked for; the command itself is never appended again, since by then a late copy could mean something else. Shortly
before its deadline a command that is still open is told to be so.
"""

import asyncio
import contextlib
import heapq
import itertools
import secrets
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec
import structlog
from msgspec import Struct
from nats.aio.msg import Msg
from prometheus_client import Counter as Metric
from redis.exceptions import RedisError

from services import tasks
from services.bus import Bus, NoAnswer, Subscription
from services.commands import (
    OUTCOME_ANSWERS,
    RECEIPTS,
    Command,
    Envelope,
    OutcomeQuestion,
    Receipt,
    pack,
    partition_of,
)
from services.match.refused import NO_ROOM_RETRY_MS
from services.metrics import Metrics
from services.settings import Settings
from services.store import Store
from services.store.trouble import trouble

SWEEP_S = 0.05
ASK_AGAIN_S = 1.0
ASK_TIMEOUT_S = 1.0
ASKED_TOGETHER = 32
APPENDED_TOGETHER = 2048
MAX_OPEN = 100_000
"""Commands without a receipt, of all callers together."""
RETRY_MS = 200
"""After how long one who was refused for too much load should try again."""
FULL_FOR_S = 0.2
"""How long an intake that was too long counts as full."""
MEASURED_EACH_S = 0.05
"""How long the length of an intake that was not too long is trusted."""

log = structlog.get_logger()


class Sink(Protocol):
    """Whoever waits for receipts."""

    def settle(self, tag: int, receipt: Receipt) -> None:
        """Take the receipt of the command that was sent with this tag; called once a command, and must not raise."""


class _Open(Struct, eq=False, gc=False):  # made once a move: a struct takes a third of the time of a class
    """A command without a receipt."""

    id: int
    partition: int
    command: Command
    sink: Sink
    tag: int
    sent: float
    deadline: float
    appended: bool = False


class _Single:
    """Waits for one receipt."""

    def __init__(self) -> None:
        self.receipt: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()

    def settle(self, _tag: int, receipt: Receipt) -> None:
        if not self.receipt.done():
            self.receipt.set_result(receipt)


class Courier:
    """Sends commands and settles their receipts; one a process. Deadlines are times of the running loop."""

    def __init__(self, settings: Settings, store: Store, bus: Bus, metrics: Metrics) -> None:
        """Prepare; nothing runs before `open`."""
        self.service = secrets.token_hex(8)
        """The name under which owners answer; random, so that no receipt for a predecessor is taken for ours."""
        self._store = store
        self._bus = bus
        self._metrics = metrics
        self._counters: dict[str, Metric] = {}
        self._intake_limit = settings.intake_limit
        self._query_s = settings.receipt_query_ms / 1000
        self._ids = itertools.count(1)
        self._open: dict[int, _Open] = {}
        self._outgoing: list[_Open] = []
        self._fresh: deque[_Open] = deque()
        """In the order of sending, settled ones included: the first may soon be late."""
        self._late: list[tuple[float, int]] = []
        """A heap of when to ask for a command again, or to give it up."""
        self._full: dict[int, float] = {}
        """Until when a partition's intake counts as full."""
        self._measured: dict[int, float] = {}
        """When a partition's intake was last found not to be full."""
        self._asking: dict[int, asyncio.Task[None]] = {}
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._subscription: Subscription | None = None

    async def open(self) -> None:
        """Listen for receipts and start to work."""
        self._subscription = await self._bus.subscribe(f"receipts.{self.service}", self._receive)
        self._tasks = [asyncio.create_task(self._pump()), asyncio.create_task(self._sweep())]

    async def close(self) -> None:
        """Stop; the outcome of what is still open stays unknown."""
        await tasks.end([*self._tasks, *self._asking.values()])
        if self._subscription is not None:
            await self._bus.unsubscribe(self._subscription)
            self._subscription = None
        for waiting in list(self._open.values()):
            self._settle(waiting, _interrupted(waiting.id, "the service stops"))

    def __len__(self) -> int:
        return len(self._open)

    def send(self, command: Command, deadline: float, sink: Sink, tag: int = 0) -> Receipt | None:
        """Send a command whose receipt `sink` will get, or return the refusal of one that is not sent."""
        partition = partition_of(command.match)
        now = asyncio.get_running_loop().time()
        if self._full and self._full.get(partition, 0.0) > now:
            return _overloaded("too many commands wait to be decided")
        if len(self._open) >= MAX_OPEN:
            return _overloaded("too many commands wait for their receipts")
        if not self._bus.connected:
            return Receipt(0, reason="NO_OWNER", detail="no receipts can be heard at the moment")
        number = next(self._ids)
        waiting = _Open(number, partition, command, sink, tag, now, deadline)
        self._open[number] = waiting
        self._outgoing.append(waiting)
        if deadline > now + self._query_s:
            self._fresh.append(waiting)
        else:
            heapq.heappush(self._late, (deadline, number))
        self._wake.set()
        return None

    async def call(self, command: Command, deadline: float) -> Receipt:
        """Send a command and return its receipt, which may be a refusal. To be cancelled does not take it back."""
        single = _Single()
        return self.send(command, deadline, single) or await single.receipt

    # --- out -----------------------------------------------------------------------------------------------------

    async def _pump(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._outgoing:
                batch = self._outgoing[:APPENDED_TOGETHER]
                del self._outgoing[:APPENDED_TOGETHER]
                # What was given up while Redis was slow must not be decided after all.
                batch = [waiting for waiting in batch if waiting.id in self._open]
                if batch:
                    await self._append(batch)

    async def _append(self, batch: Sequence[_Open]) -> None:
        envelopes = [
            (waiting.partition, Envelope(self.service, waiting.id, waiting.command)) for waiting in batch
        ]  # fmt: skip
        now = asyncio.get_running_loop().time()
        measured = {
            waiting.partition
            for waiting in batch
            if self._measured.get(waiting.partition, 0.0) + MEASURED_EACH_S <= now
        }
        refused: dict[int, Exception] = {}
        try:
            lengths = await self._store.intake.append(envelopes, measured, refused)
        except Exception as error:  # the pump has to go on, whatever happened to this batch
            if isinstance(error, RedisError | OSError):
                log.warning("append_failed", commands=len(batch), error=error)
                self._metrics.store_failed(error)
            else:
                log.exception("append_failed", commands=len(batch))
            for waiting in batch:
                self._settle(waiting, _interrupted(waiting.id, "the intake did not confirm the command"))
            return
        if refused:
            first = next(iter(refused.values()))
            log.warning("append_refused", commands=len(refused), error=first)
            self._metrics.store_failed(first)
            for number, why in refused.items():
                self._settle(batch[number], _no_room(why, batch[number].id))
        away = {partition for partition, length in lengths.items() if length is None}
        for waiting in batch:
            if waiting.partition in away:
                self._settle(waiting, _interrupted(waiting.id, "the intake of its partition is away"))
            waiting.appended = True
        now = asyncio.get_running_loop().time()
        for partition, length in lengths.items():
            if length is None:
                continue
            if length > self._intake_limit:
                self._full[partition] = now + FULL_FOR_S
            else:
                self._full.pop(partition, None)
                self._measured[partition] = now

    # --- back ----------------------------------------------------------------------------------------------------

    async def _receive(self, message: Msg) -> None:
        try:
            receipts = RECEIPTS.decode(message.data)
        except msgspec.DecodeError:
            log.exception("receipts_unreadable")
            return
        self._settle_all((receipt.id, receipt) for receipt in receipts)

    def _settle(self, waiting: _Open, receipt: Receipt) -> None:
        self._settle_all([(waiting.id, receipt)])

    def _settle_all(self, settled: Iterable[tuple[int, Receipt]]) -> None:
        """Give receipts, by the numbers of their commands, to whoever still waits for them, and count them."""
        results: Counter[str] = Counter()
        for number, receipt in settled:
            if waiting := self._open.pop(number, None):
                results[receipt.reason or "accepted"] += 1
                waiting.sink.settle(waiting.tag, receipt)
        for result, count in results.items():
            counter = self._counters.get(result)
            if counter is None:  # looking up a label takes longer than counting
                counter = self._counters[result] = self._metrics.receipts.labels(result=result)
            counter.inc(count)

    # --- late ----------------------------------------------------------------------------------------------------

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            for partition, late in self._find_late(asyncio.get_running_loop().time()).items():
                running = self._asking.get(partition)
                if running is None or running.done():
                    self._asking[partition] = asyncio.create_task(self._ask(partition, late))

    def _find_late(self, now: float) -> dict[int, list[_Open]]:
        """Give up what has no time left; return by partition what is to be asked for, which comes again in a second."""
        while self._fresh and self._fresh[0].sent + self._query_s <= now:
            heapq.heappush(self._late, (now, self._fresh.popleft().id))
        late: dict[int, list[_Open]] = {}
        while self._late and self._late[0][0] <= now:
            waiting = self._open.get(heapq.heappop(self._late)[1])
            if waiting is None:
                continue
            if waiting.deadline <= now:
                self._settle(waiting, _unknown(waiting.id))
                continue
            heapq.heappush(self._late, (min(now + ASK_AGAIN_S, waiting.deadline), waiting.id))
            if waiting.appended:
                late.setdefault(waiting.partition, []).append(waiting)
        return late

    async def _ask(self, partition: int, late: Sequence[_Open]) -> None:
        for start in range(0, len(late), ASKED_TOGETHER):
            asked = [waiting for waiting in late[start : start + ASKED_TOGETHER] if waiting.id in self._open]
            answered = await asyncio.gather(*(self._ask_for(partition, waiting) for waiting in asked))
            if asked and not any(answered):
                return  # nobody is there; the rest is asked for in a second

    async def _ask_for(self, partition: int, waiting: _Open) -> bool:
        """Ask what became of a command; whether there was an answer."""
        self._metrics.receipt_queries.inc()
        question = pack(OutcomeQuestion(waiting.command))
        with contextlib.suppress(NoAnswer):
            data = await self._bus.request(f"query.{partition}", question, ASK_TIMEOUT_S)
            try:
                answer = OUTCOME_ANSWERS.decode(data)
            except msgspec.DecodeError:
                log.exception("outcome_unreadable")
                return True
            if answer.receipt is not None:
                self._settle(waiting, answer.receipt)
            return True
        return False


def _no_room(error: Exception, number: int) -> Receipt:
    """Return the refusal of a command that Redis did not take, for want of memory or of room on its disk."""
    place = "memory" if trouble(error) == "full" else "disk"
    detail = f"the store has no room left ({place}); the command had no effect"
    return Receipt(number, reason="OVERLOADED", detail=detail, fields={"retry_ms": NO_ROOM_RETRY_MS})


def _overloaded(detail: str) -> Receipt:
    return Receipt(0, reason="OVERLOADED", detail=detail, fields={"retry_ms": RETRY_MS})


def _interrupted(number: int, detail: str) -> Receipt:
    return Receipt(number, reason="INTERRUPTED", detail=f"{detail}; it may have taken effect")


def _unknown(number: int) -> Receipt:
    detail = "no receipt came in time; it may have taken effect"
    return Receipt(number, reason="OUTCOME_UNKNOWN", detail=detail)
