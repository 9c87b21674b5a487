"""Leases: which worker owns which partition, and which workers live. `services/engine/leases.py` spreads them."""

from collections.abc import Sequence
from typing import NamedTuple

from services.settings import Settings
from services.store.exchange import UNREACHABLE
from services.store.keys import WORKERS, owner_key
from services.store.servers import Servers, call, no_error


class Lease(NamedTuple):
    """A partition owned since the acquisition with this epoch."""

    partition: int
    epoch: int


class PartitionLeases:
    """A worker is the only writer of the journals of the partitions that it owns.

    The owner's epoch, raised at every acquisition, fences off a worker that has lost its lease without noticing.
    """

    def __init__(self, settings: Settings, servers: Servers) -> None:
        """Prepare; leases last `lease_ms`."""
        self._lease_ms = settings.lease_ms
        self._servers = servers

    async def heartbeat(self, worker: str) -> list[str]:
        """Say that this worker lives for one lease more; return all live workers, ascending."""
        [live] = await self._servers.ask([call("croupier_heartbeat", [WORKERS], worker, self._lease_ms)])
        return [name.decode() for name in live]

    async def retire(self, worker: str) -> None:
        """Take a worker off the list of live ones."""
        await self._servers.ask([("ZREM", WORKERS, worker)])

    async def acquire(self, worker: str, partitions: Sequence[int]) -> list[Lease]:
        """Try to own partitions; return the ones got, each with a raised epoch.

        Those that cannot be reached are not got.
        """
        calls = [call("croupier_acquire", [owner_key(p)], worker, self._lease_ms) for p in partitions]
        return [
            Lease(partition, int(epoch))
            for partition, epoch in zip(partitions, await self._servers.ask_any(calls), strict=True)
            if not isinstance(epoch, UNREACHABLE) and no_error([epoch]) != [0]
        ]

    async def free(self, partitions: int) -> list[int]:
        """Return which of the first `partitions` partitions no worker holds now, ascending; none that is away."""
        owners = await self._servers.ask_any([("HMGET", owner_key(p), "worker", "until") for p in range(partitions)])
        now = await self._servers.time()
        return [
            partition
            for partition, owner in enumerate(owners)
            if not isinstance(owner, UNREACHABLE) and _is_free(no_error([owner])[0], now)
        ]

    async def renew(self, worker: str, leases: Sequence[Lease]) -> list[Lease]:
        """Renew leases; return the ones that are lost. One that cannot be reached counts as lost."""
        calls = [call("croupier_renew", [owner_key(at)], worker, epoch, self._lease_ms) for at, epoch in leases]
        return [
            lease
            for lease, held in zip(leases, await self._servers.ask_any(calls), strict=True)
            if isinstance(held, UNREACHABLE) or no_error([held]) == [0]
        ]

    async def release(self, worker: str, leases: Sequence[Lease]) -> None:
        """Give leases back; ones that are lost or cannot be reached stay as they are."""
        await self._servers.ask_any([call("croupier_release", [owner_key(at)], worker, epoch) for at, epoch in leases])

    async def owns(self, worker: str, lease: Lease) -> bool:
        """Whether the lease is still this worker's."""
        [held] = await self._servers.ask([("HMGET", owner_key(lease.partition), "worker", "epoch")], [lease.partition])
        return is_held(held, worker, lease)


def is_held(owner: Sequence[bytes | None], worker: str, lease: Lease) -> bool:
    """Whether `worker` and `epoch` of an owner's key say that the lease is this worker's."""
    return list(owner) == [worker.encode(), str(lease.epoch).encode()]


def _is_free(owner: Sequence[bytes | None], now: int) -> bool:
    worker, until = owner
    return not worker or int(until or 0) <= now
