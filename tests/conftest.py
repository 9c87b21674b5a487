"""Real servers for the tests: one Redis and one NATS for each test process, on free ports and in a temporary folder.

`CROUPIER_TEST_CLUSTERS=1` puts a Redis Cluster and a NATS cluster in their places, `CROUPIER_TEST_CONTAINERS=1`
containers of the official images.
"""

import os
import sys
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import pytest_timeout
import redis

from services.local import NatsServer, RedisServer
from tests import containers
from tests.clusters import NatsCluster, RedisCluster, ask
from tests.containers import ContainedServer
from tests.object_store import ObjectStore, object_store
from tests.services.guard import GUARD

CLUSTERS = os.environ.get("CROUPIER_TEST_CLUSTERS") == "1"


def pytest_configure(config: pytest.Config) -> None:
    """Where a test hangs stands on stderr, also from a worker of xdist, to whose stdout nobody listens."""
    if hasattr(config, "workerinput"):
        dump_stacks = pytest_timeout.dump_stacks

        def dump_aloud(terminal: Any) -> None:
            terminal._file = sys.__stderr__
            dump_stacks(terminal)

        pytest_timeout.dump_stacks = dump_aloud


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A running server shared by all tests of this process. A test that harms it starts one of its own."""
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """A running server without accounts, shared by all tests of this process."""
    with NatsServer(tmp_path_factory.mktemp("nats"), websocket_port=0) as server:
        yield server


@pytest.fixture(scope="session")
def redis_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisCluster]:
    """A running cluster of three primaries with a replica each, shared as `redis_server` is."""
    with RedisCluster(tmp_path_factory.mktemp("redis-cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def nats_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsCluster]:
    """A running cluster of three servers, guarded and shared as `guarded_nats_server` is."""
    with NatsCluster(tmp_path_factory.mktemp("nats-cluster"), config_extra=GUARD.config()) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def redis_container() -> Iterator[ContainedServer]:
    """A container of the Redis or Valkey image, shared as `redis_server` is."""
    if reason := containers.missing(containers.REDIS):
        pytest.skip(reason)
    with containers.redis_in_container(containers.REDIS) as server:
        yield server


@pytest.fixture(scope="session")
def nats_container() -> Iterator[ContainedServer]:
    """A container of the NATS image that lets everybody in, shared as `nats_server` is."""
    if reason := containers.missing("nats"):
        pytest.skip(reason)
    with containers.nats_in_container() as server:
        yield server


@pytest.fixture(scope="session")
def guarded_nats_container() -> Iterator[ContainedServer]:
    """A container of the NATS image, guarded and shared as `guarded_nats_server` is."""
    if reason := containers.missing("nats"):
        pytest.skip(reason)
    with containers.nats_in_container(GUARD.config()) as server:
        yield server


@pytest.fixture
def redis_cluster_url(redis_cluster: RedisCluster) -> str:
    """The URLs of a cluster as empty as a new one."""
    for node in redis_cluster.primaries():
        ask(node, "FLUSHALL")
        ask(node, "FUNCTION", "FLUSH")
    return redis_cluster.url


@pytest.fixture
def redis_url(request: pytest.FixtureRequest) -> str:
    """The URL of a server as empty as a new one: no keys and no function libraries."""
    return str(request.getfixturevalue("redis_cluster_url" if CLUSTERS else "one_redis_url"))


@pytest.fixture
def one_redis_url(request: pytest.FixtureRequest) -> str:
    """As `redis_url`, and never a cluster: for what only one server does."""
    server: RedisServer | ContainedServer = request.getfixturevalue(
        "redis_container" if containers.WANTED else "redis_server"
    )
    with redis.Redis.from_url(server.url) as client:
        client.flushall()
        client.function_flush()
    return server.url


@pytest.fixture(scope="session")
def guarded_nats_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """A running server that lets services do what they must and nothing else, and nobody else in."""
    with NatsServer(tmp_path_factory.mktemp("nats"), config_extra=GUARD.config()) as server:
        yield server


@pytest.fixture
def nats_url(request: pytest.FixtureRequest) -> str:
    """The URL of a guarded server. It keeps nothing: core NATS forgets a message once it is delivered."""
    contained = "guarded_nats_container" if containers.WANTED else "guarded_nats_server"
    return str(request.getfixturevalue("nats_cluster" if CLUSTERS else contained).url)


@pytest.fixture
def open_nats_url(request: pytest.FixtureRequest) -> str:
    """The URL of a server that lets everybody do everything."""
    return str(request.getfixturevalue("nats_container" if containers.WANTED else "nats_server").url)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[ObjectStore]:
    """A running object store, shared by all tests of this process."""
    for package in ("s3fs", "moto"):
        pytest.importorskip(package, reason=f"{package} is not installed: make setup does that")
    with object_store() as server:
        yield server


@pytest.fixture
def bucket(s3_server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an empty bucket in it, which this process and those it starts may use."""
    import fsspec

    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    name = f"test-{uuid.uuid4()}"
    fsspec.filesystem("s3").mkdir(name)
    return f"s3://{name}"
