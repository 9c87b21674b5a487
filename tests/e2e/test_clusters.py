"""Whole stacks on a Redis Cluster and a NATS cluster that lose a node while matches are played.

Commits wait for a replica, so a receipt that a player got stays true when the primary is lost that had it first.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from services.client import Client
from services.settings import Durability
from services.stack import Stack
from services.store.keys import moves_key
from tests.clusters import NatsCluster, RedisCluster
from tests.e2e.conftest import environment
from tests.e2e.table import Played, assert_sound, awaited, begin, connected, until

MATCHES = 3
"""Of each game."""
MOVES_BEFORE = 60

pytestmark = pytest.mark.timeout(240)


class ClusteredStack(Stack):
    """A stack with clusters in the places of its servers."""

    redis: RedisCluster
    nats: NatsCluster

    def __init__(self, folder) -> None:
        env = environment() | {"CROUPIER_REDIS_CLUSTER": "true", "CROUPIER_PARTITIONS": "12"}
        super().__init__(folder, durability=Durability("everysec"), env=env | {"CROUPIER_DURABILITY": "replicas:1"})
        self.redis = RedisCluster(folder / "redis")
        self.nats = NatsCluster(folder / "nats", config_extra=self.access.config())


@pytest.fixture(scope="module")
def clustered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusteredStack]:
    with ClusteredStack(tmp_path_factory.mktemp("clustered")) as stack:
        yield stack


@pytest.fixture
def whole(clustered: ClusteredStack) -> Iterator[ClusteredStack]:
    """The stack with every node running and every replica up to date, before and after."""
    clustered.redis.wait_until_whole()
    yield clustered
    for node in (*clustered.redis.nodes, *clustered.nats.nodes):
        node.start()


async def begin_some(client: Client) -> list[Played]:
    return [
        played
        for _ in range(MATCHES)
        for played in (
            await begin(client, "timos_twist", 3, {"target": 150}),
            await begin(client, "bluffing_billionaires", 4, {"games": 4}),
            await begin(client, "bombenziehen", 3),
        )
    ]


async def through(stack: ClusteredStack, fault: Callable[[list[Played]], None]) -> list[Played]:
    """Play, let the fault happen in the middle, play on to the end; return the matches, all found sound."""
    async with connected(stack) as client:
        running = await begin_some(client)
        begun = sum(played.version for played in running)
        await until(lambda: sum(played.version for played in running) > begun + MOVES_BEFORE)
        playing = [played for played in running if not played.robots[0].over.done()]
        assert len(playing) >= MATCHES
        await asyncio.to_thread(fault, playing)
        await asyncio.gather(*(played.end() for played in running))
    for played in running:
        assert_sound(stack, played)
    return running


def busiest(stack: ClusteredStack, running: list[Played]):
    """The primary that holds most of the matches that are still played."""
    homes = Counter(id(stack.redis.primary_of(moves_key(int(played.match[:3])))) for played in running)
    return next(node for node in stack.redis.nodes if id(node) == homes.most_common(1)[0][0])


@awaited
async def test_a_redis_primary_dies_and_nothing_acknowledged_is_lost(whole: ClusteredStack) -> None:
    """Its replica goes on with the very entries that players have receipts for, as soon as it has a replica itself."""

    def fault(running: list[Played]) -> None:
        dead = busiest(whole, running)
        dead.kill()
        time.sleep(4)
        assert dead not in whole.redis.primaries()
        assert len(whole.redis.primaries()) == 3
        dead.start()

    await through(whole, fault)


@awaited
async def test_a_redis_primary_that_was_only_frozen_finds_itself_a_replica(whole: ClusteredStack) -> None:
    """What it takes before it hears of its successor no replica confirms, so nobody is told of it."""

    def fault(running: list[Played]) -> None:
        frozen = busiest(whole, running)
        frozen.pause()
        time.sleep(4)
        frozen.resume()
        whole.redis.wait_until_whole()
        assert frozen not in whole.redis.primaries()

    await through(whole, fault)


@awaited
async def test_nats_servers_die_one_after_the_other_and_the_rest_carries_on(whole: ClusteredStack) -> None:
    """Whoever was connected to a dead one goes to another; what was missed is asked for."""

    def fault(_running: list[Played]) -> None:
        for node in whole.nats.nodes:
            node.kill()
            time.sleep(0.5)
            node.start()

    await through(whole, fault)


@awaited
async def test_a_worker_dies_on_clusters_and_the_other_takes_over(whole: ClusteredStack) -> None:
    def fault(_running: list[Played]) -> None:
        whole.engines[0].kill()
        time.sleep(0.5)
        whole.engines[0].start()

    await through(whole, fault)
