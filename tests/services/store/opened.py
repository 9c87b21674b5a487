"""An open store, and what its tests do with it again and again."""

import hashlib
from contextlib import asynccontextmanager

from engine.journal import Line
from services.commands import ENVELOPES, Abort, Envelope
from services.store import Store
from services.store.commits import Commit
from services.store.keys import owner_key
from services.store.leases import Lease
from tests.services.front import peek, settings_for

MATCH = "002" + "a" * 22
OTHER = "003" + "b" * 22
A, B = "worker a", "worker b"


@asynccontextmanager
async def opened(url: str, **changes):
    store = await Store(settings_for(url, "nats://127.0.0.1:1", **changes)).open()
    try:
        yield store
    finally:
        await store.close()


def line(version: int, text: str = "line") -> Line:
    data = b"%d %b" % (version, text.encode())
    return Line(version, data, hashlib.sha256(data).digest())


def commit(lease: Lease, start: int, count: int = 1, match: str = MATCH, **changes) -> Commit:
    """The next `count` lines of a journal that has `start`."""
    fields = {
        "lease": lease,
        "match": match,
        "expected": start,
        "head": line(start - 1).hash if start else bytes(32),
        "lines": [line(version) for version in range(start, start + count)],
        "seed": None,
        "lobby": None,
        "ended": False,
        "due": {},
    }
    return Commit(**(fields | changes))


async def lease_of(store: Store, worker: str = A, partition: int = 2) -> Lease:
    (lease,) = await store.leases.acquire(worker, [partition])
    return lease


async def expire(store: Store, *partitions: int) -> None:
    """Let leases run out, without waiting for it."""
    for partition in partitions:
        await peek(store, "HSET", owner_key(partition), "until", 1)


async def append(store: Store, partition: int, count: int) -> list[str]:
    """Append commands; return their reasons, by which they are told apart."""
    reasons = [f"{partition}/{number}" for number in range(count)]
    await store.intake.append(
        [(partition, Envelope("s", n, Abort(f"{partition:03}" + "a" * 22, r))) for n, r in enumerate(reasons)]
    )
    return reasons


def reasons(deliveries) -> list[str]:
    return [ENVELOPES.decode(delivery.data).command.reason for delivery in deliveries]
