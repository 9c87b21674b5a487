"""A match service stripped to what a worker sees of it: commands go into the intake, receipts and views come back.

Workers run in the test's own process, on real servers, with the store and the bus of `tests.services.hooked`.
"""

import asyncio
import contextlib
import functools
import hashlib
import itertools
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import structlog

from engine import registry
from engine.journal import Entry, SeatPlan, read
from engine.match import Match
from services.bus import Bus
from services.commands import (
    OUTCOME_ANSWERS,
    RECEIPTS,
    VIEW_ANSWERS,
    Command,
    Create,
    Envelope,
    Join,
    OutcomeQuestion,
    Receipt,
    Submit,
    ViewAnswer,
    ViewQuestion,
    match_id,
    pack,
    partition_of,
    request_hash,
)
from services.engine.worker import Worker
from services.metrics import Metrics
from services.sealing import Sealer
from services.settings import Settings
from services.store import Recorded, Store
from services.store.keys import due_key, owner_key
from services.store.leases import Lease
from tests.services.guard import AS_ENGINE, AS_MATCH
from tests.services.hooked import PATIENCE_S, Gate, HookedBus, HookedStore

SEED_KEY = "5eed" * 16
DAY_MS = 86_400_000
NEVER = 1 << 50
"""A time (Unix ms) that does not come."""
_numbers = itertools.count(1)


def settings_for(redis_url: str, nats_url: str, **changes: Any) -> Settings:
    quick: dict[str, Any] = {"partitions": 4, "lease_ms": 400, "block_ms": 20, "batch": 64, "seed_key": SEED_KEY}
    quick["redis_cluster"] = "," in redis_url
    return Settings(redis_url=redis_url, nats_url=nats_url, **(quick | changes))


async def peek(store: Store, *command: str | bytes | int) -> Any:
    """Ask Redis past the store's own operations; return its raw reply."""
    [reply] = await store._servers.ask([command])
    return reply


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Make a test of a coroutine: each runs in an event loop of its own."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


async def until(met: Callable[[], Any], what: str = "") -> Any:
    """Wait until `met` returns something true, also by way of an awaitable; return it."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = met()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return found
            await asyncio.sleep(0.005)


class Running:
    """A worker in this process, with its own connections."""

    def __init__(self, settings: Settings, store: HookedStore, bus: HookedBus) -> None:
        self.store, self.bus, self.metrics = store, bus, Metrics()
        self.worker = Worker(settings, store, bus, self.metrics)
        self._skipped = 0
        now, time = self.worker.leases.now, self.worker.leases.time

        async def later() -> int:
            return await time() + self._skipped

        self.worker.leases.time = later
        self.worker.leases.now = lambda: now() + self._skipped
        self.task: asyncio.Task[None]

    def count(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(f"croupier_{name}", labels) or 0

    def limit(self, **limits: int) -> None:
        """Set limits finer than the settings allow, in milliseconds."""
        for name, value in limits.items():
            setattr(self.worker._matches._limits, name, value)

    def skip(self, ms: int) -> None:
        """Let time pass for this worker: what is due within it happens now. Commands keep the server's time."""
        self._skipped += ms

    def stop_clocks(self) -> None:
        """Let nothing come due for this worker by itself, however long a test is held up."""
        self.skip(-DAY_MS)

    @property
    def owns(self) -> set[int]:
        return set(self.worker.leases.held)

    def freeze_leases(self) -> None:
        """From now on it neither renews nor takes anything, and does not notice."""

        async def nothing() -> None:
            pass

        self.worker.leases.once = nothing

    async def crash(self) -> None:
        """End it between two instructions: nothing is given back, nothing more is sent."""

        async def nothing() -> None:
            pass

        self.freeze_leases()
        self.worker.leases.close = self.worker._queries.close = self.store.intake.acknowledge = nothing
        while not self.task.done():
            self.task.cancel()
            await asyncio.sleep(0.001)
        await self._disconnect()

    async def stop(self) -> None:
        if not self.task.done():
            self.worker.stop()
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self.task
        finally:
            await self._disconnect()

    async def _disconnect(self) -> None:
        await self.bus.close()
        await self.store.close()


class Seat:
    """A player: he knows his match, seat and tenure."""

    def __init__(self, match: str, seat: int, tenure: int) -> None:
        self.match, self.seat, self.tenure = match, seat, tenure

    @property
    def subject(self) -> str:
        return f"view.{self.match}.{self.seat}.{self.tenure}"

    def submit(self, prompt: int, move: bytes) -> Submit:
        return Submit(self.match, self.seat, self.tenure, prompt, move)

    def question(self, since: int | None = None) -> ViewQuestion:
        return ViewQuestion(self.match, self.seat, self.tenure, since)


class Intake:
    """One match service, and everything that it and NATS' subscribers have heard."""

    def __init__(self, settings: Settings, store: Store, bus: Bus, service: str) -> None:
        self.settings, self.store, self.bus, self.service = settings, store, bus, service
        self.batches: list[list[Receipt]] = []
        self.receipts: dict[int, list[Receipt]] = {}
        self.views: list[tuple[str, dict[str, Any]]] = []
        self.heard: list[str] = []
        """Subjects in the order of their messages."""
        self.workers: list[Running] = []

    async def listen(self) -> None:
        async def receipts(message: Any) -> None:
            batch = RECEIPTS.decode(message.data)
            self.heard.append(message.subject)
            self.batches.append(batch)
            for receipt in batch:
                self.receipts.setdefault(receipt.id, []).append(receipt)

        async def views(message: Any) -> None:
            self.heard.append(message.subject)
            self.views.append((message.subject, json.loads(message.data)))

        await self.bus.subscribe("view.*.*.*", views)
        await self.bus.subscribe("view.*.table", views)
        await self.bus.subscribe(f"receipts.{self.service}", receipts)

    # --- workers -------------------------------------------------------------------------------------------------

    async def start(self, prepare: Callable[[Running], None] = lambda _: None, **changes: Any) -> Running:
        """Start a worker; `prepare` sees it before its first step."""
        settings = self.settings.model_copy(update=changes)
        store = await HookedStore(settings).hooked().open()
        bus = (await HookedBus.connect(settings.nats_url, "worker", AS_ENGINE)).hooked()
        running = Running(settings, store, bus)
        prepare(running)
        running.task = asyncio.create_task(running.worker.run())
        self.workers.append(running)
        return running

    async def owner(
        self, prepare: Callable[[Running], None] = lambda _: None, *, for_long: bool = True, **changes: Any
    ) -> Running:
        """Start a worker and wait until it owns every partition and can be asked.

        `for_long`: it is past the time after a takeover in which clocks wait.
        """
        running = await self.start(prepare, **changes)
        await until(lambda: len(running.worker._queries._listening) == self.settings.partitions)
        if for_long:
            for held in running.worker.leases.held.values():
                held.since = 0
        return running

    async def take_over(self, match: str, worker: str = "another") -> Lease:
        """Take a match's partition by force, until it is released, as the next owner does once a lease has run out.

        The name goes first: with it the owner before can neither renew nor take anew, however the two are interleaved.
        """
        partition = partition_of(match)
        await peek(self.store, "HSET", owner_key(partition), "worker", worker, "until", NEVER)
        return Lease(partition, await peek(self.store, "HINCRBY", owner_key(partition), "epoch", 1))

    # --- commands ------------------------------------------------------------------------------------------------

    async def send(self, *commands: Command, service: str | None = None) -> list[int]:
        """Append commands in one go; return their numbers."""
        numbers = [next(_numbers) for _ in commands]
        await self.store.intake.append(
            [
                (partition_of(command.match), Envelope(service or self.service, number, command))
                for number, command in zip(numbers, commands, strict=True)
            ]
        )
        return numbers

    async def send_together(self, running: Running, *commands: Command) -> list[int]:
        """As `send`, so that a worker reads them in one batch: a read that waits would take the first alone."""
        hook = running.store.before.get("read")
        gate = running.store.before["read"] = Gate()
        await gate.closed_on_somebody()
        numbers = await self.send(*commands)
        del running.store.before["read"]
        if hook is not None:
            running.store.before["read"] = hook
        gate.open()
        return numbers

    async def answers(self, numbers: Sequence[int]) -> list[Receipt]:
        await until(lambda: all(number in self.receipts for number in numbers))
        return [self.receipts[number][0] for number in numbers]

    async def ask(self, *commands: Command) -> list[Receipt]:
        """Append commands in one go; return their receipts."""
        return await self.answers(await self.send(*commands))

    async def tell(self, command: Command) -> Receipt:
        (receipt,) = await self.ask(command)
        return receipt

    async def done(self, command: Command) -> int:
        """As `tell`, for what must not be refused; return the version."""
        receipt = await self.tell(command)
        assert receipt.reason is None, receipt
        assert receipt.version is not None
        return receipt.version

    async def refused(self, command: Command) -> str:
        """As `tell`, for what must be refused; return the reason."""
        receipt = await self.tell(command)
        assert receipt.version is None, receipt
        assert receipt.reason is not None
        return receipt.reason

    # --- questions -----------------------------------------------------------------------------------------------

    async def view(self, question: ViewQuestion, within: float = 5) -> ViewAnswer:
        data = await self.bus.request(f"query.{partition_of(question.match)}", pack(question), within)
        return VIEW_ANSWERS.decode(data)

    async def outcome(self, command: Command) -> Receipt | None:
        subject = f"query.{partition_of(command.match)}"
        data = await self.bus.request(subject, pack(OutcomeQuestion(command)), 5)
        return OUTCOME_ANSWERS.decode(data).receipt

    # --- matches -------------------------------------------------------------------------------------------------

    async def lobby(
        self, *, seats: int = 2, clock: int | None = None, rules: str = "timos_twist/1", **options: Any
    ) -> str:
        """Create a match; return its id."""
        command = creation(
            seats=seats, clock=clock, rules=rules, partitions=self.settings.partitions, **options
        )  # fmt: skip
        assert await self.done(command) == 0
        return command.match

    async def seated(self, match: str, count: int) -> list[Seat]:
        """Let players join one after the other."""
        seats = []
        for _ in range(count):
            receipt = await self.tell(joining(match))
            assert receipt.seat is not None
            assert receipt.tenure is not None
            seats.append(Seat(match, receipt.seat, receipt.tenure))
        return seats

    async def match(self, *, seats: int = 2, **options: Any) -> list[Seat]:
        """A match that has just started, and its players."""
        return await self.seated(await self.lobby(seats=seats, **options), seats)

    async def recorded(self, match: str) -> Recorded:
        (recorded,) = await self.store.load([match])
        return recorded

    async def entries(self, match: str) -> list[Entry]:
        return [read(line) for line in (await self.recorded(match)).lines]

    async def kinds(self, match: str) -> list[str]:
        return [type(entry.body).__name__.lower() for entry in await self.entries(match)]

    async def folded(self, match: str) -> Match:
        """The match as its journal has it, every entry verified."""
        recorded = await self.recorded(match)
        sealer = Sealer(bytes.fromhex(SEED_KEY))
        folded = Match(recorded.seed and sealer.open(match, recorded.seed))
        if recorded.seed is None and recorded.lines:
            folded.seed = bytes.fromhex(read(recorded.lines[-1]).body.seed)
        for line in recorded.lines:
            folded.replay(line)
        return folded

    async def next_move(self, seats: Sequence[Seat]) -> tuple[Seat, Submit]:
        """Who owes a move, and his first legal one."""
        folded = await self.folded(seats[0].match)
        number = folded.to_act[0]
        seat = next(seat for seat in seats if seat.seat == number)
        return seat, seat.submit(folded.prompts[number], encoded(folded, folded.legal(number)[0]))

    async def play(self, seats: Sequence[Seat], moves: int = 1) -> Submit:
        """Make first legal moves; return the last."""
        for _ in range(moves):
            _, move = await self.next_move(seats)
            await self.done(move)
        return move

    async def pending(self, match: str) -> int:
        """How many commands of the match's partition are not acknowledged."""
        return (await self.store.intake.unacknowledged([partition_of(match)]))[partition_of(match)]

    async def settled(self) -> None:
        """Wait until no command is left to be acknowledged."""
        partitions = range(self.settings.partitions)

        async def nothing() -> bool:
            return not any((await self.store.intake.unacknowledged(partitions)).values())

        await until(nothing)

    async def due(self, match: str) -> dict[str, int]:
        """What is due for a match, whenever."""
        members = await peek(self.store, "ZRANGE", due_key(partition_of(match)), 0, -1, "WITHSCORES")
        return {
            member.decode().removeprefix(f"{match}:"): int(at)
            for member, at in zip(members[::2], members[1::2], strict=True)
            if match in member.decode()
        }

    async def comes_due(self, match: str, names: set[str]) -> None:
        """Wait until just this is due for a match: what is settled goes only after the receipts."""

        async def just_this() -> bool:
            return (await self.due(match)).keys() == names

        await until(just_this)

    def seen(self, subject: str) -> list[int]:
        """The versions of a subject's views, as they came."""
        return [view["version"] for name, view in self.views if name == subject]

    def last_view(self, subject: str) -> dict[str, Any]:
        return next(view for name, view in reversed(self.views) if name == subject)


def creation(
    *, seats: int = 2, clock: int | None = None, rules: str = "timos_twist/1", request: bytes | None = None,
    partitions: int = 4, **options: Any,
) -> Create:  # fmt: skip
    """A create with a request id of its own."""
    request = request or hashlib.sha256(b"create %d" % next(_numbers)).digest()
    every = registry.find(rules).options(options, seats)
    return Create(
        match=match_id(request, partitions),
        request=request_hash(request),
        rules=rules,
        options=msgspec.to_builtins(every),
        seats=(SeatPlan("open"),) * seats,
        clock=clock,
        private=False,
    )


def joining(match: str, seat: int | None = None) -> Join:
    """A join with a request id of its own."""
    number = next(_numbers)
    return Join(match, request_hash(b"join %d" % number), f"player {number}", b"seed %d" % number, seat)


def encoded(match: Match, move: Any) -> bytes:
    return match.game.move_json.encode(move)


@asynccontextmanager
async def intake(redis_url: str, nats_url: str, **changes: Any) -> AsyncIterator[Intake]:
    """A match service without a worker; workers started through it are stopped at the end.

    After a failure they crash instead: one that is held up at a gate could not stop, and would hide what failed.
    """
    structlog.configure(processors=[structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)])
    settings = settings_for(redis_url, nats_url, **changes)
    store = await Store(settings).open()
    bus = await Bus.connect(nats_url, "test", AS_MATCH)
    front = Intake(settings, store, bus, f"service{next(_numbers)}")
    await front.listen()
    try:
        yield front
    except BaseException:
        for running in front.workers:
            with contextlib.suppress(Exception):
                await running.crash()
        raise
    else:
        for running in front.workers:
            with contextlib.suppress(asyncio.CancelledError):
                await running.stop()
    finally:
        await bus.close()
        await store.close()
