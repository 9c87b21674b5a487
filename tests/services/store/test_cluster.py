"""What is particular to a Redis Cluster: slots that move, primaries that die, reads that wait on many of them."""

import asyncio
import time

import pytest
import redis

from services.commands import Abort, Envelope
from services.store import Store
from services.store.keys import moves_key
from services.store.servers import StoreError, Unreachable
from tests.clusters import RedisCluster, ask
from tests.services.front import in_loop, intake, peek, settings_for, until
from tests.services.store.losing import Losing
from tests.services.store.opened import A, append, commit, lease_of, opened, reasons

PARTITIONS = 12
"""Enough that every primary has some."""


def match_of(partition: int) -> str:
    return f"{partition:03}" + "a" * 22


def homes(cluster: RedisCluster) -> dict[int, int]:
    """The port of the primary of each partition."""
    return {partition: cluster.primary_of(moves_key(partition)).port for partition in range(PARTITIONS)}


@pytest.fixture
def own_cluster(tmp_path):
    """A cluster that a test may harm."""
    with RedisCluster(tmp_path) as cluster:
        yield cluster


def migrate(cluster: RedisCluster, partition: int, *, leave_open: bool = False):
    """Move a partition's slot to the next primary; with `leave_open` stop half-way, its first keys moved."""
    source = cluster.primary_of(moves_key(partition))
    target = next(node for node in cluster.primaries() if node is not source)
    slot = ask(source, "CLUSTER", "KEYSLOT", moves_key(partition))
    ask(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", ask(source, "CLUSTER", "MYID"))
    ask(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", ask(target, "CLUSTER", "MYID"))
    keys = ask(source, "CLUSTER", "GETKEYSINSLOT", slot, 1000)
    if keys:
        ask(source, "MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)

    def end():
        for node in (target, source):
            ask(node, "CLUSTER", "SETSLOT", slot, "NODE", ask(target, "CLUSTER", "MYID"))

    if not leave_open:
        end()
    return end


class TestSlots:
    @in_loop
    async def test_partitions_lie_on_every_primary_and_one_call_reaches_them_all(
        self, redis_cluster, redis_cluster_url
    ):
        assert len(set(homes(redis_cluster).values())) == 3
        async with opened(redis_cluster_url, partitions=PARTITIONS) as store:
            leases = await store.leases.acquire(A, range(PARTITIONS))
            commits = [commit(lease, 0, match=match_of(lease.partition)) for lease in leases]
            assert await store.commit(A, commits) == ["OK"] * PARTITIONS
            assert await store.matches() == [match_of(partition) for partition in range(PARTITIONS)]
            found = await store.load([match_of(partition) for partition in range(PARTITIONS)])
            assert [len(recorded.lines) for recorded in found] == [1] * PARTITIONS

    @in_loop
    async def test_a_slot_that_has_moved_is_followed(self, own_cluster):
        async with opened(own_cluster.url) as store:
            lease = await lease_of(store)
            assert await store.commit(A, [commit(lease, 0)]) == ["OK"]
            sent = await append(store, 2, 2)
            before = own_cluster.primary_of(moves_key(2))
            migrate(own_cluster, 2)
            assert own_cluster.primary_of(moves_key(2)) is not before
            assert await store.commit(A, [commit(lease, 1)]) == ["OK"]
            sent += await append(store, 2, 2)
            assert reasons(await store.intake.read([2], 1000)) == sent

    @in_loop
    async def test_a_slot_that_is_just_moving_is_asked_for_where_its_keys_are_already(self, own_cluster):
        async with opened(own_cluster.url) as store:
            lease = await lease_of(store)
            sent = await append(store, 2, 2)
            end = migrate(own_cluster, 2, leave_open=True)
            sent += await append(store, 2, 2)
            assert await store.leases.renew(A, [lease]) == []
            assert reasons(await store.intake.read([2], 0)) == sent
            end()
            assert reasons(await store.intake.read_pending([2])) == sent

    @in_loop
    async def test_a_command_whose_confirmation_is_lost_is_not_appended_to_the_next_primary(self, own_cluster):
        """The slot goes there with what was appended; only what cannot have been carried out is sent there."""
        primary = own_cluster.primary_of(moves_key(2))
        async with Losing(primary.port).listening() as network, opened(own_cluster.url) as store:
            cluster = store._servers.exchange
            connection = cluster._connection
            cluster._connection = lambda host, port: connection(host, network.port if port == primary.port else port)
            await cluster.close()
            cluster._exchanges.clear()
            sent = await append(store, 2, 1)
            network.lose(b"XADD", lambda: migrate(own_cluster, 2))
            envelope = Envelope("s", 1, Abort(match_of(2), "lost"))
            assert await store.intake.append([(2, envelope)]) == {2: None}
            assert own_cluster.primary_of(moves_key(2)) is not primary
            sent += ["lost", *await append(store, 2, 1)]
            assert network.broken == 1
            assert reasons(await store.intake.read([2], 0)) == sent

    @in_loop
    async def test_functions_that_one_primary_has_lost_are_loaded_there_again(self, redis_cluster, redis_cluster_url):
        async with opened(redis_cluster_url, partitions=PARTITIONS) as store:
            ask(redis_cluster.primary_of(moves_key(3)), "FUNCTION", "FLUSH")
            assert len(await store.leases.acquire(A, range(PARTITIONS))) == PARTITIONS

    @in_loop
    async def test_a_server_alone_and_a_node_of_a_cluster_are_not_taken_for_each_other(self, redis_cluster, redis_url):
        node = redis_cluster.nodes[0].url
        for url, cluster, says in [(node, False, "is a node"), (redis_url, True, "cluster support disabled")]:
            store = Store(settings_for(url, "nats://127.0.0.1:1", redis_cluster=cluster))
            with pytest.raises((StoreError, redis.exceptions.ConnectionError), match=says):
                await store.open()

    @in_loop
    async def test_one_url_that_answers_is_enough(self, redis_cluster, redis_cluster_url):
        dead = "redis://127.0.0.1:1/0,"
        async with opened(dead + redis_cluster.nodes[4].url) as store:
            assert store._settings.redis_cluster
            assert len(await store.leases.acquire(A, range(4))) == 4


class TestReading:
    @in_loop
    async def test_a_read_wakes_up_for_a_command_on_any_primary(self, redis_cluster_url):
        """Long before its time is over, again and again."""
        async with (
            opened(redis_cluster_url, partitions=PARTITIONS) as store,
            opened(redis_cluster_url, partitions=PARTITIONS) as front,
        ):
            await store.leases.acquire(A, range(PARTITIONS))
            for partition in [*range(PARTITIONS), 5, 5]:
                reading = asyncio.create_task(store.intake.read(range(PARTITIONS), 60_000))
                await asyncio.sleep(0.02)
                assert not reading.done()
                sent = await append(front, partition, 1)
                found = await asyncio.wait_for(reading, 20)
                assert reasons(found) == sent
                await store.intake.acknowledge(found)

    @in_loop
    async def test_a_read_that_was_given_up_has_taken_nothing(self, redis_cluster_url):
        async with opened(redis_cluster_url, partitions=PARTITIONS) as store:
            await store.leases.acquire(A, range(PARTITIONS))
            assert await store.intake.read(range(PARTITIONS), 30) == []
            await append(store, 7, 3)
            await asyncio.sleep(0.1)  # what waits for entries has seen them
            assert len(await store.intake.read([7], 0)) == 3


class TestPrimaryAway:
    @in_loop
    async def test_the_partitions_of_the_other_primaries_go_on(self, own_cluster):
        async with opened(own_cluster.url, partitions=PARTITIONS) as store:
            where = homes(own_cluster)
            dead = own_cluster.primary_of(moves_key(0))
            lost = {partition for partition, port in where.items() if port == dead.port}
            kept = [partition for partition in where if partition not in lost]
            leases = await store.leases.acquire(A, range(PARTITIONS))
            for node in own_cluster.nodes[3:]:
                node.kill()  # nobody is left to take over
            dead.kill()
            lengths = await store.intake.append(
                [(p, Envelope("s", p, Abort(match_of(p), "it ends"))) for p in range(PARTITIONS)]
            )
            assert {p for p, length in lengths.items() if length is None} == lost
            with pytest.raises(Unreachable) as failed:
                await store.intake.read(range(PARTITIONS), 0)
            assert failed.value.partitions == lost
            assert {lease.partition for lease in await store.leases.renew(A, leases)} == lost
            assert [lease.partition for lease in await store.leases.acquire(A, range(PARTITIONS))] == kept
            assert len(await store.intake.read_pending(kept)) == len(kept)
            assert abs(await store.time() - time.time() * 1000) < 60_000

    @in_loop
    async def test_a_worker_drops_what_it_cannot_reach_and_has_it_again_once_a_replica_took_over(
        self, own_cluster, nats_url
    ):
        async with intake(own_cluster.url, nats_url, partitions=PARTITIONS, durability="replicas:1") as front:
            running = await front.owner()
            matches = [await front.match() for _ in range(PARTITIONS)]
            dead = own_cluster.primary_of(moves_key(int(matches[0][0].match[:3])))
            dead.kill()

            async def moved(seats) -> bool:
                _, move = await front.next_move(seats)
                return (await front.tell(move)).version is not None

            await asyncio.to_thread(own_cluster.wait_until_whole)
            assert own_cluster.primary_of(moves_key(int(matches[0][0].match[:3]))) is not dead
            await asyncio.to_thread(dead.start)
            await asyncio.to_thread(own_cluster.wait_until_whole)
            await until(lambda: running.owns == set(range(PARTITIONS)))
            for seats in matches:
                await until(lambda seats=seats: moved(seats))
                folded = await front.folded(seats[0].match)
                assert await peek(front.store, "XLEN", f"croupier:{{{int(folded.id[:3])}}}:journal:{folded.id}") == (
                    folded.version + 1
                )
