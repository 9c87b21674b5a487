"""Which servers the store takes, on a real server and on a real cluster."""

import gc
import re
from pathlib import Path

import pytest
import redis

from services import commands
from services.local import RedisServer
from services.store import Store
from services.store.leases import Lease
from services.store.servers import StoreError
from tests.services.front import in_loop, settings_for
from tests.services.store.opened import A, B, commit, lease_of, opened

pytestmark = pytest.mark.containers


KEY = re.compile(r"croupier:[^\s\"]")


@in_loop
async def test_functions_that_the_server_has_lost_are_loaded_again(url):
    async with opened(url) as store:

        async def lost():
            assert set(await store._servers.exchange.each(("FUNCTION", "FLUSH"))) == {b"OK"}

        await lost()
        assert await store.leases.heartbeat(A) == [A]
        await lost()
        lease = await lease_of(store)
        await lost()
        assert await store.leases.renew(A, [lease]) == []
        await lost()
        assert await store.commit(A, [commit(lease, 0), commit(lease, 1)]) == ["OK", "OK"]
        await lost()
        await store.leases.release(A, [lease])
        assert await store.leases.free(4) == [0, 1, 2, 3]


@in_loop
async def test_another_version_of_the_functions_is_replaced(url):
    async with opened(url) as store:
        other = "#!lua name=croupier\nredis.register_function('croupier_commit', function() return 'OK' end)"
        await store._servers.exchange.each(("FUNCTION", "LOAD", "REPLACE", other))
        async with opened(url) as newer:
            assert await newer.commit(B, [commit(Lease(2, 1), 0)]) == ["FENCED"]


@in_loop
async def test_a_server_that_may_evict_keys_is_refused(tmp_path):
    with RedisServer(tmp_path) as server, redis.Redis.from_url(server.url) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        with pytest.raises(StoreError, match="allkeys-lru"):
            async with opened(server.url):
                pass


@pytest.mark.parametrize(
    ("info", "durability", "says"),
    [
        ({"redis_version": "6.2.14"}, "memory", "redis 6.2.14 is too old; 7.0"),
        ({"redis_version": "7.2.4", "valkey_version": "7.2.9"}, "memory", "valkey 7.2.9 is too old; 8.0"),
        ({"redis_version": "7.0.15"}, "fsync", "redis 7.0.15 is too old; 7.2"),
        ({"redis_version": "7.0.15"}, "everysec", None),
        ({"redis_version": "10.0.0"}, "fsync", None),
        ({"redis_version": "7.2.4", "valkey_version": "8.0.0"}, "fsync", None),
    ],
)
def test_a_server_that_is_too_old_is_refused(url, monkeypatch, info, durability, says):
    @in_loop
    async def run():
        store = Store(settings_for(url, "nats://127.0.0.1:1", durability=durability))
        real = (await store._servers._infos())[0]
        real.pop("valkey_version", None)

        async def infos():
            return [real | info]

        monkeypatch.setattr(store._servers, "_infos", infos)
        if says is None:
            await store.open()
            await store.close()
        else:
            with pytest.raises(StoreError, match=says):
                await store.open()

    run()


@in_loop
async def test_fewer_partitions_than_there_are_matches_for_are_refused_and_more_are_remembered(url):
    async with opened(url, partitions=4):
        pass
    async with opened(url, partitions=8):
        pass
    with pytest.raises(StoreError, match="CROUPIER_PARTITIONS: is 4, but this Redis holds matches of 8"):
        async with opened(url, partitions=4):
            pass
    async with opened(url, partitions=8):
        pass


@in_loop
async def test_what_cannot_be_opened_leaves_no_connection_behind(url):
    """One that is collected while it is open fails the test."""
    async with opened(url, partitions=8):
        pass
    store = Store(settings_for(url, "nats://127.0.0.1:1", partitions=4))
    with pytest.raises(StoreError):
        await store.open()
    del store
    gc.collect()


def test_keys_are_spelled_in_one_module_only():
    """That nothing but the store talks to Redis is a rule of the linter: `services/ruff.toml`."""
    services = Path(commands.__file__).parent
    spelled = [
        path for path in services.rglob("*.*") if path.suffix in {".py", ".lua"} and KEY.search(path.read_text())
    ]
    assert spelled == [services / "store" / "keys.py"]
