"""The engine worker: takes commands from the intake, decides, commits, publishes, acknowledges. In this order.

A crash between any two of these steps is healed by redelivery: a command that is in the journal already is answered,
not applied. One loop does everything that writes. Two batches overlap in one place: while one is on its way to NATS the
next is decided, but it is committed only after the first has arrived. A commit also reads what comes next.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Iterable, Sequence

import msgspec
import structlog
from redis.exceptions import RedisError

from services import collector
from services.bus import Bus, BusDown
from services.commands import ENVELOPES, is_match_id, partition_of
from services.engine.batch import Group, Item, Outcome
from services.engine.leases import Held, Leases
from services.engine.live import Live
from services.engine.matches import Matches
from services.engine.queries import Queries
from services.engine.thinkers import Decision, Thinkers
from services.lifecycle import Lifecycle, Ready
from services.metrics import Metrics
from services.settings import Settings
from services.store import Store
from services.store.intake import Along, Delivery
from services.store.servers import StoreError

log = structlog.get_logger()

RETRY_S = 0.2
TICK_S = 1.0
DUE_BATCH = 256
ATTEMPTS = 5
THINKING_MS = 5
"""How long a read waits while computer players decide. No read is left behind for later: it would be one more that is
under way when the clock is looked at."""
PART = 48
"""So many commands are decided and committed together, if there are more: while clients, NATS and Redis have to do with
one part, the next is decided."""


class Worker:
    """Owns some partitions and is the only writer of their journals."""

    def __init__(self, settings: Settings, store: Store, bus: Bus, metrics: Metrics) -> None:
        """Prepare; `run` does the work. Raises SettingsError without a key for seeds."""
        self.name = secrets.token_hex(8)
        self._settings = settings
        self._store = store
        self._intake = store.intake
        self._bus = bus
        self._metrics = metrics
        self._deciding = asyncio.Lock()
        self._stopping = asyncio.Event()
        self._generation = bus.generation
        self._next_tick = 0.0
        self._ahead: list[Delivery] = []
        """Commands that are in hand and not decided. Nothing else is looked at before they are."""
        self._publishing: asyncio.Task[None] | None = None
        """The batch before this one, on its way to NATS."""
        self._several = False
        """Whether the last commands came several at once: then the one that ends a wait is not the only one."""
        self.leases = Leases(store, settings, metrics, self.name)
        self.leases.lost = self._forget
        self._queries = Queries(self, bus)
        self._thinkers = Thinkers(settings.bot_processes)
        self._matches = Matches(settings, store, metrics, self.leases, self._thinkers)

    def stop(self) -> None:
        """End the run after the batch in hand."""
        self._stopping.set()

    async def run(self) -> None:
        """Work until `stop`, then give everything back."""
        tending = asyncio.create_task(self.leases.tend())
        try:
            while self._ahead or not self._stopping.is_set():
                try:
                    await self._turn()
                except (RedisError, StoreError, BusDown) as error:
                    log.warning("batch_interrupted", error=error)
                    self._metrics.store_failed(error)
                    self.leases.drop_partitions(getattr(error, "partitions", ()))
                    await self._suspect()
                    await asyncio.sleep(RETRY_S)
                except Exception:
                    self._metrics.internal_errors.inc()
                    log.exception("batch_failed")
                    await self._suspect()
                    await asyncio.sleep(RETRY_S)
        finally:
            self.leases.stopping.set()
            await asyncio.gather(tending, return_exceptions=True)
            self._thinkers.close()
            await self._queries.close()
            with contextlib.suppress(RedisError, StoreError, BusDown):
                await self._published()
                await self._intake.acknowledge()
            with contextlib.suppress(RedisError):
                await self.leases.close()

    # --- one turn of the loop ------------------------------------------------------------------------------------

    async def _turn(self) -> None:
        if not self._bus.connected:
            await self._suspect()
            await self._intake.acknowledge()
            await self.leases.step_back()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._bus.wait_connected(), self._settings.block_ms / 1000)
            return
        self.leases.come_back()
        if self._bus.generation != self._generation:
            self._generation = self._bus.generation
            await self._suspect()
        if self._ahead:
            deliveries, self._ahead = self._ahead[:PART], self._ahead[PART:]
            await self._process(self._group(self.leases.held, deliveries, redelivered=False))
            return
        await self._published()
        await self._give_back()
        await self._tick()
        held = list(self.leases.held.values())
        await self._queries.listen(held)
        if not held:
            await self._intake.acknowledge()
            await asyncio.sleep(min(0.05, self._settings.block_ms / 1000))
            return
        if suspects := [one for one in held if one.reread]:
            await self._intake.acknowledge()
            await self._recover(suspects)
        elif decisions := self._thinkers.take():
            await self._intake.acknowledge()
            await self._conclude(decisions)
        else:
            await self._read(held)

    def _to_read_along(self) -> list[int]:
        """Return the partitions to be read with a commit: none while there is enough in hand, or other things wait."""
        loop, now = asyncio.get_running_loop(), self.leases.now()
        others = self._stopping.is_set() or self._thinkers.busy or loop.time() >= self._next_tick
        if others or len(self._ahead) >= PART:
            return []
        held = self.leases.held
        for one in held.values():
            if one.reread or one.release or (one.next_due is not None and one.next_due <= now):
                return []
        return list(held)

    async def _give_back(self) -> None:
        release = [held.lease for held in self.leases.held.values() if held.release]
        if release:
            await self._intake.acknowledge()
            await self.leases.give_back(release)

    async def _tick(self) -> None:
        """Once a second: is anything delivered that nobody holds? What waits? Nothing is in hand now."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._next_tick or not self.leases.held:
            return
        self._next_tick = loop.time() + TICK_S
        await self.leases.time()  # Redis' clock may have jumped
        held = self.leases.held
        await self._intake.acknowledge()
        for partition in await self._intake.forgotten(list(held)):
            if partition in held:
                held[partition].reread = True
        waiting = await self._intake.unacknowledged(list(held))
        self._metrics.intake_lag.set(sum(waiting.values()))
        self._metrics.intake_lag_max.set(max(waiting.values(), default=0))
        self._metrics.cached_matches.set(len(self._matches))

    async def _recover(self, suspects: list[Held]) -> None:
        """Process what was delivered and not acknowledged, by this worker or the one before."""
        by_partition = {held.partition: held for held in suspects}
        deliveries = await self._intake.read_pending(list(by_partition))
        for held in suspects:
            held.reread = False
        groups = self._group(by_partition, deliveries, redelivered=True)
        await self._process(groups)

    async def _conclude(self, decisions: Sequence[Decision]) -> None:
        """Process what computer players have decided."""
        groups: dict[str, Group] = {}
        for decision in decisions:
            held = self.leases.held.get(partition_of(decision.match))
            if held is not None:
                group = groups.setdefault(decision.match, Group(decision.match, held))
                group.items.append(Item(None, None, decision.member, decision=decision))
        await self._process(groups)

    async def _read(self, held: list[Held]) -> None:
        """Process new commands, and for partitions whose intake was read past them, what is due."""
        now = self.leases.now()
        wait = min((one.next_due - now for one in held if one.next_due is not None), default=self._settings.block_ms)
        clock_at = await self.leases.time() if wait <= 0 else None
        longest = THINKING_MS if self._thinkers.busy else self._settings.block_ms
        by_partition = {one.partition: one for one in held}
        deliveries = await self._intake.read(list(by_partition), max(0, min(wait, longest)))
        if len(deliveries) == 1 and self._several:
            deliveries += await self._intake.read(list(by_partition), 0)
        if deliveries:
            self._several = len(deliveries) > 1
            self._metrics.batch_size.observe(len(deliveries))
        if clock_at is None:
            self._ahead, deliveries = deliveries[PART:], deliveries[:PART]
        groups = self._group(by_partition, deliveries, redelivered=False)
        if clock_at is not None:
            await self._add_due(held, groups, deliveries, clock_at)
        if not groups:
            return
        await self._process(groups, clock_at)

    async def _add_due(
        self, held: Sequence[Held], groups: dict[str, Group], deliveries: Sequence[Delivery], now: int
    ) -> None:
        """Add what was due by `now`, which was asked before the read.

        A partition has to wait while it has a backlog, or commands that an earlier owner took and nobody has decided.
        """
        read: dict[int, int] = {}
        for delivery in deliveries:
            read[delivery.partition] = read.get(delivery.partition, 0) + 1
        drained = {
            one.partition: one
            for one in held
            if read.get(one.partition, 0) < self._settings.batch and one.next_due is not None and one.next_due <= now
        }
        for partition in await self._intake.forgotten(list(drained), deliveries):
            drained.pop(partition).reread = True
        if not drained:
            return
        following = await self._store.next_due(list(drained), now + 1)
        for partition, one in drained.items():
            one.next_due = following.get(partition)
        for partition, members in (await self._store.due(list(drained), now, DUE_BATCH)).items():
            if len(members) == DUE_BATCH:
                drained[partition].next_due = now
            for member in members:
                match = member.split(":")[0]
                group = groups.setdefault(match, Group(match, drained[partition]))
                group.items.append(Item(None, None, member))

    def _group(self, held: dict[int, Held], deliveries: Iterable[Delivery], *, redelivered: bool) -> dict[str, Group]:
        groups: dict[str, Group] = {}
        for delivery in deliveries:
            try:
                envelope = ENVELOPES.decode(delivery.data)
                match = envelope.command.match
                if not is_match_id(match) or partition_of(match) != delivery.partition:
                    raise msgspec.ValidationError("the match is of another partition")
                if not (envelope.service.isascii() and envelope.service.isalnum()):
                    raise msgspec.ValidationError("no receipt can go to a service of such a name")
            except msgspec.DecodeError as error:
                self._metrics.internal_errors.inc()
                log.warning("command_unreadable", partition=delivery.partition, id=delivery.id, error=str(error))
                match, envelope = f"unreadable:{delivery.partition}", None
            group = groups.setdefault(match, Group(match, held[delivery.partition]))
            group.items.append(Item(delivery, envelope, redelivered=redelivered or delivery.again))
        return groups

    # --- decide, commit, publish, acknowledge ------------------------------------------------------------------------

    async def _process(self, groups: dict[str, Group], now: int | None = None) -> None:
        if now is None and any(item.member for group in groups.values() for item in group.items):
            now = await self.leases.time()
        unreadable = [group for group in groups.values() if group.match.startswith("unreadable:")]
        undecided = [group for group in groups.values() if group not in unreadable]
        done: list[Group] = []
        async with self._deciding:
            for _ in range(ATTEMPTS):
                if not undecided:
                    break
                await self._matches.load(undecided)
                for group in undecided:
                    await self._matches.decide(group, now or 0)
                await self._published()
                undecided = await self._commit(undecided, done)
            for group in undecided:
                log.error("commit_always_conflicts", match=group.match)
                group.held.reread = True
            await self._published()  # also if there was nothing to commit
            outcome = self._matches.take_over(done, await self._owned(unreadable), self._bus.largest)
            self._publishing = asyncio.create_task(self._publish(outcome))
        await asyncio.sleep(0)  # so that it is sent before the next batch is decided

    async def _published(self) -> None:
        """Wait until the batch before has arrived at NATS. Raises what went wrong."""
        if self._publishing is not None:
            publishing, self._publishing = self._publishing, None
            await publishing

    async def _owned(self, groups: Sequence[Group]) -> list[Group]:
        """Return the groups of partitions that are still this worker's: what has no commit must not escape the fence.

        The leases of the others are dropped.
        """
        leases = {group.held.lease for group in groups}
        lost = [lease for lease in leases if not await self._store.leases.owns(self.name, lease)]
        for lease in lost:
            self.leases.drop(lease, "lost")
        return [group for group in groups if group.held.lease not in lost]

    async def _commit(self, groups: Sequence[Group], done: list[Group]) -> list[Group]:
        """Commit every group, also one without entries: a refusal, too, counts only from the owner, on the last state.

        Return the groups that lost a race. Groups of partitions that are another worker's now are dropped.
        """
        deciding = [group for group in groups if group.commit is not None]
        with self._metrics.commit_seconds.time():
            along = Along(self._to_read_along())
            commits = [group.commit for group in deciding if group.commit]
            results = await self._store.commit(self.name, commits, along)
            self._ahead += [one for one in along.found if one.partition in self.leases.held]
        done += await self._owned([group for group in groups if group.commit is None])
        conflicts: list[Group] = []
        for group, result in zip(deciding, results, strict=True):
            if result == "OK":
                done.append(group)
            elif result == "CONFLICT":
                self._metrics.conflicts.inc()
                self._matches.drop(group.match)
                for item in group.items:
                    item.redelivered = True
                conflicts.append(group)
            else:
                self._matches.drop(group.match)
                self.leases.drop(group.held.lease, "lost")
        return conflicts

    async def _publish(self, outcome: Outcome) -> None:
        """Publish, then leave to be acknowledged; refusals the other way round, so that they stay refused."""
        if outcome.refused:
            await self._intake.acknowledge(outcome.refused, durably=True)
        if outcome.messages:
            await self._bus.publish(outcome.messages)
        for group in outcome.done:
            if group.live is not None:
                for version in [version for version in group.live.outbox if version < group.sent]:
                    del group.live.outbox[version]
        self._intake.acknowledge_later(outcome.accepted, outcome.settled)
        await self._postpone(outcome.done)
        self._measure(outcome)
        self._matches.evict()

    async def _postpone(self, done: Sequence[Group]) -> None:
        for group in done:
            if group.postponed:
                await self._store.postpone(group.held.partition, group.postponed)
                soon = min(group.postponed.values())
                group.held.next_due = soon if group.held.next_due is None else min(group.held.next_due, soon)

    def _measure(self, outcome: Outcome) -> None:
        now = self.leases.now()
        observe = self._metrics.end_to_end_seconds.observe
        for delivery in outcome.accepted:
            observe(max(0, now - delivery.at) / 1000)
        self._metrics.views_published.inc(outcome.views)
        for (kind, game, result), number in outcome.counts.items():
            self._metrics.commands.labels(kind, result).inc(number)
            if game is not None:
                self._metrics.moves.labels(game, result).inc(number)

    # --- memory --------------------------------------------------------------------------------------------------

    async def _suspect(self) -> None:
        """After an outage nothing in memory is trusted to be published, and clocks get their grace."""
        self._ahead = []
        self._matches.clear()  # before anything is awaited: a question must not be answered from what is undecided
        if self._publishing is not None:
            publishing, self._publishing = self._publishing, None
            publishing.cancel()
            await asyncio.gather(publishing, return_exceptions=True)
        now = self.leases.now()
        for held in self.leases.held.values():
            held.reread, held.since, held.next_due = True, now, 0

    def _forget(self, held: Held) -> None:
        self._ahead = [delivery for delivery in self._ahead if delivery.partition != held.partition]
        self._matches.forget(held.partition)

    async def present(self, match: str) -> Live | None:
        """Return a match as the journal has it now, for a question; None if this worker does not own it.

        Only while `deciding` is held, so that nothing undecided shows.
        """
        held = self.leases.held.get(partition_of(match))
        if held is None:
            return None
        group = Group(match, held)
        for _ in range(ATTEMPTS):
            await self._matches.load([group])
            if group.live is None:
                return None
            holds = await self._store.holds(self.name, held.lease, match, group.live.committed, group.live.head)
            if holds is None:
                self.leases.drop(held.lease, "lost")
                return None
            if holds:
                self._matches.evict()
                return group.live
            self._matches.drop(match)
        return None

    @property
    def deciding(self) -> asyncio.Lock:
        """Held while matches in memory may be ahead of their journals."""
        return self._deciding


async def serve(settings: Settings, ready: Ready) -> None:
    """Run a worker until SIGTERM or SIGINT; `ready` is told once it takes commands.

    Raises SettingsError without a key for seeds, StoreError for a server that cannot be used.
    """
    async with Lifecycle("engine", settings, ready) as life:
        worker = Worker(settings, await life.store(), await life.bus(), life.metrics)
        collector.calm()
        life.end_by(worker.stop)
        life.show_metrics()
        life.ready(worker=worker.name)
        await worker.run()
