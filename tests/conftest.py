"""Real servers for the tests: one Redis and one NATS for each test process, on free ports and in a temporary folder."""

from collections.abc import Iterator

import pytest
import redis

from services.local import NatsServer, RedisServer
from tests.services.guard import GUARD


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


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """The URL of a server as empty as a new one: no keys and no function libraries."""
    with redis.Redis.from_url(redis_server.url) as client:
        client.flushall()
        client.function_flush()
    return redis_server.url


@pytest.fixture(scope="session")
def guarded_nats_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """A running server that lets services do what they must and nothing else, and nobody else in."""
    with NatsServer(tmp_path_factory.mktemp("nats"), config_extra=GUARD.config()) as server:
        yield server


@pytest.fixture
def nats_url(guarded_nats_server: NatsServer) -> str:
    """The URL of a guarded server. It keeps nothing: core NATS forgets a message once it is delivered."""
    return guarded_nats_server.url
