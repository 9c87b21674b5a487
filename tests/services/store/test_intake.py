"""The intake, on a real server and on a real cluster."""

import asyncio

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from services.commands import Abort, Envelope
from services.store.intake import Along
from services.store.keys import moves_key
from tests.services.front import in_loop, peek
from tests.services.store.losing import Losing
from tests.services.store.opened import MATCH, A, append, commit, lease_of, opened, reasons

pytestmark = pytest.mark.containers


@in_loop
async def test_commands_of_several_partitions_are_read_each_in_order(url):
    async with opened(url) as store:
        await store.leases.acquire(A, [0, 1, 2])
        sent = {partition: await append(store, partition, 3) for partition in (0, 1, 2)}
        found = await store.intake.read([0, 2], 1000)
        assert reasons(d for d in found if d.partition == 0) == sent[0]
        assert reasons(d for d in found if d.partition == 2) == sent[2]
        assert len(found) == 6
        assert await store.intake.read([0, 2], 1) == []
        assert reasons(await store.intake.read([0, 1, 2], 0)) == sent[1]
        assert await store.intake.read([], 1000) == []


@in_loop
async def test_commands_of_several_partitions_are_read_in_the_order_in_which_they_came(url):
    async with opened(url) as store:
        sent = []
        for partition in (2, 0, 1, 0, 2):
            sent += await append(store, partition, 1)
            await asyncio.sleep(0.003)  # the order is that of Redis' milliseconds
        found = await store.intake.read([0, 1, 2], 0)
        assert reasons(found) == sent
        assert [delivery.at for delivery in found] == sorted({delivery.at for delivery in found})
        assert await store.intake.read([0, 1, 2], 0) == []  # each partition was read to its own end


@in_loop
async def test_appending_tells_how_long_each_intake_is(url):
    async with opened(url) as store:
        envelope = Envelope("s", 1, Abort(MATCH, ""))
        assert await store.intake.append([(2, envelope), (3, envelope), (2, envelope)], [2, 3]) == {2: 2, 3: 1}
        assert await store.intake.append([(3, envelope)]) == {}
        assert await store.intake.append([(2, envelope)], [2]) == {2: 3}


@in_loop
async def test_a_delivery_carries_the_milliseconds_of_its_id(url):
    async with opened(url) as store:
        await lease_of(store)
        before = await store.time()
        await append(store, 2, 1)
        (delivery,) = await store.intake.read([2], 0)
        assert before <= delivery.at <= await store.time()
        assert delivery.id.startswith(f"{delivery.at}-")


@in_loop
async def test_one_read_takes_at_most_a_batch_of_each_partition(url):
    async with opened(url, batch=2) as store:
        await store.leases.acquire(A, [0, 1])
        await append(store, 0, 3)
        await append(store, 1, 3)
        assert reasons(await store.intake.read([0, 1], 0)) == ["0/0", "0/1", "1/0", "1/1"]
        assert reasons(await store.intake.read([0, 1], 0)) == ["0/2", "1/2"]


@in_loop
async def test_a_blocked_read_wakes_for_a_command(url):
    async with opened(url) as store:
        await store.leases.acquire(A, [0, 1])
        reading = asyncio.create_task(store.intake.read([0, 1], 2000))
        await asyncio.sleep(0.05)
        assert not reading.done()
        await append(store, 1, 1)
        assert reasons(await reading) == ["1/0"]


@in_loop
async def test_what_is_not_acknowledged_is_found_whoever_read_it_however_much_it_is(url):
    async with opened(url, batch=2) as old, opened(url, batch=2) as new:
        await old.leases.acquire(A, [0, 1])
        sent = await append(old, 0, 5) + await append(old, 1, 1)
        taken = [delivery for _ in range(3) for delivery in await old.intake.read([0, 1], 0)]
        await old.intake.acknowledge([taken[0]])
        assert await new.intake.unacknowledged([0, 1]) == {0: 4, 1: 1}
        found = await new.intake.read_pending([0, 1])
        assert reasons(found) == ["0/1", "0/2", "1/0"]
        found += await new.intake.read([0, 1], 0)
        assert sorted(reasons(found)) == sent[1:]
        await new.intake.acknowledge(found)
        assert await new.intake.read_pending([0, 1]) == []
        assert await new.intake.unacknowledged([0, 1]) == {0: 0, 1: 0}
        assert await new.intake.read_pending([]) == []


@in_loop
async def test_a_commit_takes_along_what_was_left_to_acknowledge_and_a_read(url):
    async with opened(url) as store:
        lease = await lease_of(store)
        sent = await append(store, 2, 1)
        taken = await store.intake.read([2], 0)
        store.intake.acknowledge_later(taken, {2: ["a"]})
        await store.postpone(2, {"a": 1, "b": 2})
        sent += await append(store, 2, 2)
        nothing = Along([])
        assert await store.commit(A, [commit(lease, 0)], nothing) == ["OK"]
        assert (nothing.found, store.intake.acknowledging, await store.intake.unacknowledged([2])) == (
            [],
            True,
            {2: 3},
        )
        along = Along([2])
        results = await store.commit(A, [commit(lease, 1), commit(lease, 1), commit(lease, 2)], along)
        assert results == ["OK", "CONFLICT", "OK"]
        if store._settings.redis_cluster:
            assert (along.found, store.intake.acknowledging) == ([], True)
        else:
            assert not store.intake.acknowledging
            assert reasons(along.found) == sent[1:]
            assert reasons(await store.intake.read_pending([2])) == sent[1:]
            assert await store.due([2], 9, 9) == {2: ["b"]}


@in_loop
async def test_reading_takes_nothing_from_others(url):
    async with opened(url) as old, opened(url) as new:
        await old.leases.acquire(A, [2])
        sent = await append(old, 2, 3)
        assert reasons(await old.intake.read([2], 0)) == reasons(await new.intake.read([2], 0)) == sent
        assert await old.intake.read([2], 0) == await new.intake.read([2], 0) == []


@in_loop
async def test_what_was_there_when_reading_began_anew_counts_as_read_before(url):
    """However much it is, until the first command that came after."""
    async with opened(url, batch=2) as store:
        await lease_of(store)
        await append(store, 2, 1)
        assert [delivery.again for delivery in await store.intake.read([2], 0)] == [False]
        await append(store, 2, 4)
        again = [delivery.again for delivery in await store.intake.read_pending([2])]
        await append(store, 2, 3)
        for _ in range(3):
            again += [delivery.again for delivery in await store.intake.read([2], 0)]
        assert again[:5] == [True] * 5
        assert again[6:] == [False] * 2
        await append(store, 2, 1)
        assert [delivery.again for delivery in await store.intake.read([2], 0)] == [False]


@in_loop
async def test_a_command_that_was_read_and_is_neither_acknowledged_nor_in_hand_is_told_of(url):
    async with opened(url, batch=2) as store:
        await store.leases.acquire(A, [0, 1])
        await append(store, 0, 5)
        await append(store, 1, 1)
        both = range(2)
        assert await store.intake.forgotten(both) == set()
        first = await store.intake.read(both, 0)
        assert await store.intake.forgotten(both, first) == set()
        assert await store.intake.forgotten(both) == {0, 1}
        assert await store.intake.forgotten(both, first[1:]) == {0}
        await store.intake.acknowledge(first[:1])
        assert await store.intake.forgotten(both) == {0, 1}
        assert await store.intake.forgotten(both, first[1:]) == set()
        await store.intake.acknowledge(first[1:])
        assert await store.intake.forgotten(both) == set()
        second = await store.intake.read(both, 0)
        third = await store.intake.read(both, 0)
        assert await store.intake.forgotten(both, third) == {0}
        assert await store.intake.forgotten(both, second + third) == set()
        assert await store.intake.forgotten([]) == set()


@in_loop
async def test_acknowledged_commands_are_gone_and_all_others_are_there(url):
    async with opened(url, batch=3) as store:
        await store.leases.acquire(A, [0, 1])
        await append(store, 0, 5)
        assert await store.intake.unacknowledged([0, 1]) == {0: 5, 1: 0}
        taken = await store.intake.read([0], 0)
        await store.intake.acknowledge([taken[0], taken[2]])
        assert await store.intake.unacknowledged([0, 1]) == {0: 3, 1: 0}
        assert reasons(await store.intake.read([0], 0)) == ["0/3", "0/4"]
        assert reasons(await store.intake.read_pending([0])) == ["0/1", "0/3", "0/4"]
        await store.intake.acknowledge([taken[1], taken[1]])
        assert await store.intake.unacknowledged([0]) == {0: 2}


@in_loop
async def test_ids_go_on_when_an_intake_is_empty(url):
    async with opened(url) as store:
        await lease_of(store)
        await peek(store, "XADD", moves_key(2), "99999999999999-0", "c", b"x")
        await store.intake.acknowledge(await store.intake.read([2], 0))
        assert await store.intake.unacknowledged([2]) == {2: 0}
        await append(store, 2, 1)
        assert reasons(await store.intake.read([2], 0)) == ["2/0"]


@in_loop
async def test_an_entry_without_a_command_is_delivered_too(url):
    async with opened(url) as store:
        await lease_of(store)
        await peek(store, "XADD", moves_key(2), "*", "x", "y")
        (delivery,) = await store.intake.read([2], 0)
        assert delivery.data == b""


@in_loop
async def test_acknowledging_also_removes_what_is_settled_of_due(url):
    async with opened(url) as store:
        await lease_of(store)
        await store.postpone(2, {"a": 1, "b": 2, "c": 3})
        await append(store, 2, 1)
        await store.intake.acknowledge(await store.intake.read([2], 0), {2: ["a", "c", "unknown"], 3: []})
        assert await store.due([2], 10, 10) == {2: ["b"]}
        assert await store.intake.unacknowledged([2]) == {2: 0}
        await store.intake.acknowledge([])


@in_loop
async def test_what_comes_due_anew_is_not_removed_by_what_was_settled_before(url):
    """A limit may end with one batch and begin anew with the next, while the first is still to be acknowledged."""
    async with opened(url) as store:
        lease = await lease_of(store)
        await store.commit(A, [commit(lease, 0, due={"a": 1, "b": 2})])
        store.intake.acknowledge_later([], {2: ["b"], 3: ["other"]})
        store.intake.acknowledge_later([], {2: ["a", "b"]})
        assert await store.commit(A, [commit(lease, 1, due={"b": 7})], Along([2])) == ["OK"]
        await store.intake.acknowledge()
        assert await store.next_due([2]) == {2: 7}
        assert await store.due([2], 10, 10) == {2: ["b"]}


@in_loop
async def test_a_command_whose_confirmation_is_lost_is_not_appended_once_more(one_redis_url):
    """Of two copies one could be refused, be told of, and the other be accepted after all."""
    head, _, port = one_redis_url.removesuffix("/0").rpartition(":")
    async with Losing(int(port)).listening() as network, opened(f"{head}:{network.port}/0") as store:
        sent = await append(store, 2, 1)
        network.lose(b"XADD")
        with pytest.raises(RedisConnectionError):
            await append(store, 2, 1)
        sent += await append(store, 2, 1)
        assert network.broken == 1
        assert reasons(await store.intake.read([2], 0)) == [sent[0], sent[0], sent[1]]


@in_loop
async def test_a_connection_that_has_ended_before_costs_no_command(one_redis_url):
    async with opened(one_redis_url) as store:
        sent = await append(store, 2, 1)
        async with opened(one_redis_url) as other:
            await peek(other, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        await asyncio.sleep(0.05)  # the end of the connection is here
        sent += await append(store, 2, 1)
        assert reasons(await store.intake.read([2], 0)) == sent
