"""Which partitions a worker owns: leases, spread evenly over the live workers, renewed, and given back.

The epoch of a lease fences off whoever has lost it without noticing, so nothing here needs to be exact in time.
"""

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import structlog
from redis.exceptions import RedisError

from services.metrics import Metrics
from services.settings import Settings
from services.store import Store
from services.store.leases import Lease

log = structlog.get_logger()
RENEWALS_PER_LEASE = 4


@dataclass(slots=True)
class Held:
    """A partition that this worker owns. Times are Unix milliseconds of Redis."""

    lease: Lease
    since: int
    """From when on clocks count: the acquisition, or the end of the last outage of Redis or NATS."""
    reread: bool = True
    """Whether commands may be delivered and not acknowledged."""
    release: bool = False
    """Whether another worker should have it."""
    next_due: int | None = 0
    """When the earliest decision is due; 0: not known."""

    @property
    def partition(self) -> int:
        """The partition's number."""
        return self.lease.partition


def share(partitions: int, worker: str, live: list[str]) -> int:
    """Return how many partitions a worker should own: even shares, the first workers by name one more."""
    if worker not in live:
        return 0
    each, rest = divmod(partitions, len(live))
    return each + (live.index(worker) < rest)


class Leases:
    """Acquires, renews and loses partitions; the worker's loop gives back what `release` marks, between two batches."""

    def __init__(self, store: Store, settings: Settings, metrics: Metrics, worker: str) -> None:
        """Start with nothing; `lost` is told of every lease that is gone."""
        self._store = store
        self._settings = settings
        self._metrics = metrics
        self._worker = worker
        self.held: dict[int, Held] = {}
        self.lost: Callable[[Held], None] = lambda _held: None
        self.stopping = asyncio.Event()
        self._renewed = -math.inf
        """When all leases held were renewed, or about to be, by the monotonic clock in seconds."""
        metrics.partitions_owned.set_function(self._owned)
        self._idle_since: float | None = None
        """Since when this worker can do nothing with what it owns (time of the running loop)."""
        self._aside = False
        self.clock_offset = 0
        """Redis' Unix milliseconds minus the monotonic clock's, as last seen."""

    def now(self) -> int:
        """Return about what Redis' clock says (Unix ms)."""
        return self.clock_offset + int(asyncio.get_running_loop().time() * 1000)

    async def time(self) -> int:
        """Ask Redis for its time (Unix ms)."""
        now = await self._store.time()
        self.clock_offset = now - int(asyncio.get_running_loop().time() * 1000)
        return now

    async def tend(self) -> None:
        """Renew and balance until `stopping` is set. Survives outages of Redis: the leases may be lost by then.

        Not to be cancelled: redis-py may swallow that.
        """
        while not self.stopping.is_set():
            try:
                await self.once()
            except RedisError as error:
                log.warning("leases_not_renewed", error=error)
                self._metrics.store_failed(error)
            except Exception:
                log.exception("leases_not_tended")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), self._settings.lease_ms / 1000 / RENEWALS_PER_LEASE)

    async def once(self) -> None:
        """Renew all leases and move one step towards an even share."""
        if self._aside:
            return
        began = time.monotonic()
        for lease in await self._store.leases.renew(self._worker, [held.lease for held in self.held.values()]):
            self.drop(lease, "lost")
        self._renewed = began
        live = await self._store.leases.heartbeat(self._worker)
        wanted = share(self._settings.partitions, self._worker, live)
        keep = sorted(self.held)[:wanted]
        for partition, held in self.held.items():
            held.release = partition not in keep
        if len(self.held) < wanted:
            free = [p for p in await self._store.leases.free(self._settings.partitions) if p not in self.held]
            await self._acquire(free[: wanted - len(self.held)])

    def _owned(self) -> int:
        """Return how many partitions are owned for certain; called by the thread that shows metrics.

        None once a lease has gone by without a renewal: Redis is away, or this worker hangs, and others may own them.
        """
        return len(self.held) if time.monotonic() - self._renewed < self._settings.lease_ms / 1000 else 0

    async def _acquire(self, partitions: list[int]) -> None:
        leases = await self._store.leases.acquire(self._worker, partitions)
        if not leases:
            return
        now = await self.time()
        for lease in leases:
            self.held[lease.partition] = Held(lease, now)
            self._metrics.lease_changes.labels("taken").inc()
        log.info("partitions_taken", partitions=len(leases), owned=len(self.held))

    def drop(self, lease: Lease, change: str) -> None:
        """Forget a lease that is another worker's now, or nobody's."""
        held = self.held.get(lease.partition)
        if held is None or held.lease != lease:
            return
        del self.held[lease.partition]
        self._metrics.lease_changes.labels(change).inc()
        log.info("partition_dropped", change=change, partition=lease.partition)
        self.lost(held)

    def drop_partitions(self, partitions: Iterable[int]) -> None:
        """Forget the leases of partitions that cannot be reached; they are acquired anew once they can."""
        for held in [self.held[partition] for partition in partitions if partition in self.held]:
            self.drop(held.lease, "lost")

    async def give_back(self, leases: list[Lease]) -> None:
        """Give leases back, so that another worker need not wait for them to run out."""
        for lease in leases:
            self.drop(lease, "given_back")
        await self._store.leases.release(self._worker, leases)

    async def step_back(self) -> None:
        """Leave the partitions to others once this has been called for a lease without a `come_back` in between.

        For a worker that cannot publish although Redis can be reached: others may be better off. With nothing in hand.
        """
        now = asyncio.get_running_loop().time()
        if self._idle_since is None:
            self._idle_since = now
        if now - self._idle_since >= self._settings.lease_ms / 1000 and (self.held or not self._aside):
            self._aside = True
            log.warning("stepped_back", partitions=len(self.held))
            await self.close()

    def come_back(self) -> None:
        """Take part again, from the next round on."""
        self._idle_since, self._aside = None, False

    async def close(self) -> None:
        """Give everything back and leave the list of live workers."""
        await self._store.leases.retire(self._worker)
        await self.give_back([held.lease for held in self.held.values()])
