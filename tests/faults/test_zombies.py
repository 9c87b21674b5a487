"""Workers that all believe they own a partition, in every order in which their steps can come: one journal.

Real workers on real servers. Each has taken the partition by force when it was its turn, and has the same move in hand,
some also another answer to the same prompt. A gate stands before each step; a schedule says whose gate opens next.
"""

import asyncio
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import msgspec
import pytest

from engine.journal import Moved, read
from engine.match import Match
from services.bus import Bus
from services.commands import RECEIPTS, Command, Envelope, Receipt, pack, partition_of
from services.engine.leases import Held
from services.engine.worker import Worker
from services.metrics import Metrics
from services.store import Store
from services.store.intake import Delivery
from services.store.keys import journal_key, owner_key, seed_key
from tests.services.front import Intake, encoded, in_loop, intake, peek
from tests.services.guard import AS_ENGINE

SERVICE = "service0"
ALL = frozenset({"acquire", "load", "commit", "publish", "acknowledge"})
DECISIVE = frozenset({"acquire", "load", "commit"})


class Turns:
    """Opens one gate at a time; a process that is not at a gate has ended."""

    def __init__(self) -> None:
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._arrived = asyncio.Event()

    async def gate(self, who: int) -> None:
        opened = self._waiting[who] = asyncio.get_running_loop().create_future()
        self._arrived.set()
        await opened

    async def run(self, processes: Sequence[Awaitable[None]], choose: Callable[[list[int]], int]) -> None:
        """Run to the end of all; `choose` picks one of those that wait, ascending."""
        tasks = [asyncio.ensure_future(process) for process in processes]
        for task in tasks:
            task.add_done_callback(lambda _: self._arrived.set())
        while True:
            while any(not task.done() and who not in self._waiting for who, task in enumerate(tasks)):
                await self._arrived.wait()
                self._arrived.clear()
            if not self._waiting:
                break
            self._waiting.pop(choose(sorted(self._waiting))).set_result(None)
        for task in tasks:
            task.result()


class Schedules:
    """Every way to choose, one after the other: a walk through the tree of choices."""

    def __init__(self) -> None:
        self._path: list[tuple[int, int]] = []
        """For each choice of the present schedule: which one was taken, of how many."""
        self._depth = 0

    def __iter__(self) -> Iterator[Callable[[list[int]], int]]:
        while True:
            self._depth = 0
            yield self._choose
            while self._path and self._path[-1][0] == self._path[-1][1] - 1:
                self._path.pop()
            if not self._path:
                return
            taken, of = self._path[-1]
            self._path[-1] = taken + 1, of

    def _choose(self, waiting: list[int]) -> int:
        if self._depth == len(self._path):
            self._path.append((0, len(waiting)))
        taken, of = self._path[self._depth]
        assert of == len(waiting), "the same choices led elsewhere"
        self._depth += 1
        return waiting[taken]


class Zombie:
    """A worker with commands in its hands and a gate before each of its steps."""

    def __init__(self, table: "Table", number: int, gates: frozenset[str]) -> None:
        self.table, self.number, self.gates = table, number, gates
        self.commands: list[tuple[int, Command]] = []
        self.worker: Worker

    async def open(self) -> None:
        settings = self.table.front.settings
        store = await Store(settings).open()
        bus = await Bus.connect(settings.nats_url, f"zombie-{self.number}", AS_ENGINE)
        self.worker = Worker(settings, store, bus, Metrics())
        publish = bus.publish
        acknowledge = store.intake.acknowledge

        async def published(messages: Sequence[tuple[str, bytes]]) -> None:
            await self._at("publish")
            await publish(messages)
            self.table.published += messages

        async def acknowledged(*args: Any, **kwargs: Any) -> None:
            await self._at("acknowledge")
            await acknowledge(*args, **kwargs)

        bus.publish, store.intake.acknowledge = published, acknowledged
        store.load = self._after_gate("load", store.load)
        store.commit = self._after_gate("commit", store.commit)

    def _after_gate(self, name: str, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any) -> Any:
            await self._at(name)
            return await method(*args)

        return call

    async def _at(self, name: str) -> None:
        if name in self.gates:
            await self.table.turns.gate(self.number)

    async def live(self) -> None:
        """Take the partition, then decide what is in hand as after any takeover."""
        worker, table = self.worker, self.table
        worker._matches.clear()
        worker.leases.held.clear()
        await self._at("acquire")
        await peek(worker._store, "HSET", owner_key(table.partition), "until", 0)
        (lease,) = await worker._store.leases.acquire(worker.name, [table.partition])
        worker.leases.held[table.partition] = held = Held(lease, 0)
        envelopes = [(number, Envelope(SERVICE, number, command)) for number, command in self.commands]
        deliveries = [
            Delivery(table.partition, f"{number}-1", table.at, pack(envelope)) for number, envelope in envelopes
        ]
        groups = worker._group({table.partition: held}, deliveries, redelivered=True)
        await worker._process(groups)
        await worker._published()
        await worker._store.intake.acknowledge()  # what it leaves to its next read

    async def close(self) -> None:
        await self.worker._bus.close()
        await self.worker._store.close()


class Table:
    """A match that stands before a move, again and again."""

    def __init__(self, front: Intake, match: Match, head: bytes, seed: bytes, commands: Sequence[Command]) -> None:
        self.front, self.match = front, match
        self.partition = partition_of(match.id)
        self.at = match.at + 1
        self.commands = list(enumerate(commands, 1))
        self._journal, self._seed = head, seed
        self.zombies: list[Zombie] = []
        self.published: list[tuple[str, bytes]] = []
        self.turns = Turns()

    @classmethod
    async def of(cls, front: Intake) -> "Table":
        running = await front.owner()
        seats = await front.match(rules="clever_gedreht/1")
        await front.play(seats)
        while len((folded := await front.folded(seats[0].match)).legal(folded.to_act[0])) < 2:
            await front.play(seats)
        await front.settled()
        await running.stop()
        front.workers.clear()
        number = folded.to_act[0]
        seat = next(one for one in seats if one.seat == number)
        moves = [seat.submit(folded.prompts[number], encoded(folded, move)) for move in folded.legal(number)[:2]]
        journal = await peek(front.store, "DUMP", journal_key(folded.id))
        return cls(front, folded, journal, await peek(front.store, "GET", seed_key(folded.id)), moves)

    async def seat_zombies(self, count: int, gates: frozenset[str]) -> None:
        """Give the first move to all, the other answer as well to every second: in front of it, or behind."""
        for number in range(count):
            zombie = Zombie(self, number, gates)
            zombie.commands = self.commands if number % 2 else self.commands[:1]
            if number % 4 == 3:
                zombie.commands = self.commands[::-1]
            self.zombies.append(zombie)
            await zombie.open()

    async def live(self, choose: Callable[[list[int]], int]) -> None:
        """Play one schedule from the same beginning, and look at what is left."""
        await peek(self.front.store, "RESTORE", journal_key(self.match.id), 0, self._journal, "REPLACE")
        await peek(self.front.store, "SET", seed_key(self.match.id), self._seed)
        self.published, self.turns = [], Turns()
        await self.turns.run([zombie.live() for zombie in self.zombies], choose)
        await self._check()

    async def _check(self) -> None:
        lines = (await self.front.recorded(self.match.id)).lines
        await self.front.folded(self.match.id)  # the chain, the digests and the legality of each
        before = self.match.version + 1
        new = [read(line) for line in lines[before:]]
        moved = [entry.body for entry in new if isinstance(entry.body, Moved)]
        prompt = self.commands[0][1].prompt
        answers = [body for body in moved if body.prompt == prompt]
        assert len(new) == len(answers) == 1, f"the prompt was answered {len(answers)} times"
        entry = lines[before]
        made = next(number for number, command in self.commands if bytes(answers[0].move) == command.move)
        receipts: dict[int, set[tuple[int | None, str | None]]] = defaultdict(set)
        for subject, data in self.published:
            if subject == f"receipts.{SERVICE}":
                for receipt in RECEIPTS.decode(data):
                    receipts[receipt.id].add(_outcome(receipt))
            elif subject.startswith("view.") and (view := msgspec.json.decode(data))["version"] >= before:
                assert view["version"] == before
        assert receipts[made] == {(before, None)}, f"told {receipts[made]} of what is entry {entry!r}"
        for number, outcomes in receipts.items():
            if number != made:
                assert all(version is None for version, _ in outcomes), "two moves have the receipt of one entry"
        views: dict[str, set[bytes]] = defaultdict(set)
        for subject, data in self.published:
            if subject.startswith("view.") and msgspec.json.decode(data)["version"] == before:
                views[subject].add(data)
        assert len(views) == len(self.match.seats) + 1, "somebody was not shown the entry"
        assert all(len(shown) == 1 for shown in views.values()), "one version was shown in two ways"

    async def close(self) -> None:
        for zombie in self.zombies:
            await zombie.close()


def _outcome(receipt: Receipt) -> tuple[int | None, str | None]:
    return receipt.version, receipt.reason


async def every_schedule(table: Table) -> int:
    count = 0
    for count, choose in enumerate(Schedules(), 1):  # noqa: B007 - the number is what is returned
        await table.live(choose)
    return count


@pytest.mark.timeout(900)  # a thousand orders and more; a busy machine may take long
@pytest.mark.parametrize(
    ("zombies", "gates", "least"), [(2, ALL, 100), (3, DECISIVE, 1000)], ids=["two at every step", "three"]
)
def test_in_every_order_of_steps_there_is_one_journal_and_everybody_is_told_of_it(
    redis_url, nats_url, zombies, gates, least
):
    @in_loop
    async def run() -> None:
        async with intake(redis_url, nats_url, partitions=1) as front:
            table = await Table.of(front)
            await table.seat_zombies(zombies, gates)
            try:
                assert await every_schedule(table) >= least
            finally:
                await table.close()

    run()


@in_loop
async def test_so_it_is_with_five_in_many_orders(redis_url, nats_url):
    async with intake(redis_url, nats_url, partitions=1) as front:
        table = await Table.of(front)
        await table.seat_zombies(5, ALL)
        try:
            for seed in range(100):
                await table.live(random.Random(seed).choice)
        finally:
            await table.close()
