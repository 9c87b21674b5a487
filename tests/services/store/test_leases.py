"""Leases of partitions, on a real server and on a real cluster."""

import pytest

from services.store.keys import owner_key
from services.store.leases import Lease
from tests.services.front import in_loop, peek, until
from tests.services.store.opened import A, B, append, expire, lease_of, opened, reasons

pytestmark = pytest.mark.containers


@in_loop
async def test_a_partition_has_one_owner(url):
    async with opened(url) as store:
        assert [lease.partition for lease in await store.leases.acquire(A, [0, 1])] == [0, 1]
        assert [lease.partition for lease in await store.leases.acquire(B, [1, 2])] == [2]


@in_loop
async def test_an_epoch_is_raised_at_each_acquisition_and_never_restarts(url):
    async with opened(url) as store:
        epochs = [(await lease_of(store)).epoch]
        epochs.append((await lease_of(store)).epoch)
        await store.leases.release(A, [Lease(2, epochs[-1])])
        epochs.append((await lease_of(store, B)).epoch)
        await expire(store, 2)
        epochs.append((await lease_of(store, A)).epoch)
        assert epochs == [1, 2, 3, 4]
        assert await peek(store, "TTL", owner_key(2)) == -1


@in_loop
async def test_a_lease_that_has_run_out_can_be_had_by_another_and_only_then(url):
    async with opened(url, lease_ms=200, block_ms=20) as store:
        await lease_of(store, A)
        assert await store.leases.acquire(B, [2]) == []
        await until(lambda: store.leases.acquire(B, [2]))
        assert await store.leases.acquire(A, [2]) == []


@in_loop
async def test_renewing_keeps_a_lease_and_names_the_lost_ones(url):
    async with opened(url) as store:
        kept, lost = await store.leases.acquire(A, [2, 3])
        await expire(store, 2, 3)
        await lease_of(store, B, 3)
        assert await store.leases.renew(A, [kept, lost]) == [lost]
        assert await store.leases.acquire(B, [2]) == []
        assert await store.leases.renew(A, []) == []


@in_loop
async def test_the_lease_of_an_earlier_acquisition_is_lost_also_for_its_own_worker(url):
    async with opened(url) as store:
        old, new = await lease_of(store), await lease_of(store)
        assert await store.leases.renew(A, [old, new]) == [old]
        assert not await store.leases.owns(A, old)
        assert await store.leases.owns(A, new)
        assert not await store.leases.owns(B, new)


@in_loop
async def test_releasing_frees_at_once_and_never_takes_from_another(url):
    async with opened(url) as store:
        mine = await lease_of(store, A)
        await store.leases.release(A, [mine])
        theirs = await lease_of(store, B)
        await store.leases.release(A, [mine])
        await store.leases.release(A, [])
        assert await store.leases.owns(B, theirs)


@in_loop
async def test_free_are_the_partitions_never_held_released_or_run_out(url):
    async with opened(url) as store:
        assert await store.leases.free(4) == [0, 1, 2, 3]
        leases = await store.leases.acquire(A, [0, 1, 3])
        assert await store.leases.free(4) == [2]
        await store.leases.release(A, leases[:1])
        await expire(store, 3)
        assert await store.leases.free(4) == [0, 2, 3]


@in_loop
async def test_live_workers_are_the_ones_heard_of_within_a_lease(url):
    async with opened(url, lease_ms=200, block_ms=20) as store:
        assert await store.leases.heartbeat("b") == ["b"]
        assert await store.leases.heartbeat("a") == ["a", "b"]
        await store.leases.retire("b")
        assert await store.leases.heartbeat("c") == ["a", "c"]

        async def is_alone():
            return await store.leases.heartbeat("c") == ["c"]

        await until(is_alone)


@in_loop
async def test_what_was_appended_before_there_was_any_owner_is_read_by_the_first(url):
    async with opened(url) as store:
        sent = await append(store, 2, 2)
        await lease_of(store)
        assert reasons(await store.intake.read([2], 0)) == sent
