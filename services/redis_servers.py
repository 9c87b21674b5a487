"""The Redis servers that the settings name: how to connect to them, and what they must be like."""

from collections.abc import Mapping
from typing import Any

import redis.asyncio as aioredis
from redis.exceptions import RedisError

from services.cluster import ClusterExchange
from services.exchange import Command, Exchange
from services.settings import Durability, Settings

MIN_REDIS = (7, 0)
MIN_VALKEY = (8, 0)
MIN_REDIS_FSYNC = (7, 2)
CONNECT_TIMEOUT_S = 5.0
CONFIRM_MS = 5_000
"""How long a commit may take to become as durable as the settings ask."""


class StoreError(RuntimeError):
    """The server cannot be used; says which setting or which server is wrong and what to do."""


class NotDurable(RedisError, StoreError):
    """What was written, or read, is not as durable as the settings ask, and may not be by the time it is known."""


def exchange_for(settings: Settings) -> Exchange | ClusterExchange:
    """Return the exchange with the server, or the cluster, that the settings name; nothing is connected yet."""
    urls = settings.redis_url.split(",")
    tls = {"ssl_ca_certs": str(settings.redis_tls_ca)} if settings.redis_tls_ca and urls[0].startswith("rediss") else {}
    pool = aioredis.ConnectionPool.from_url(
        urls[0],
        username=settings.redis_user,
        password=None if settings.redis_password is None else settings.redis_password.get_secret_value(),
        protocol=2,
        socket_timeout=None,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        **tls,
    )
    if not settings.redis_cluster:
        return Exchange(pool.make_connection)
    named = [aioredis.ConnectionPool.from_url(url).connection_kwargs for url in urls]

    def connection(host: str, port: int) -> Any:
        return pool.connection_class(**{**pool.connection_kwargs, "host": host, "port": port})

    return ClusterExchange([(str(node["host"]), int(node.get("port", 6379))) for node in named], connection)


def confirmation(durability: Durability) -> Command | None:
    """Return the command that waits until what a connection has written is durable; None if that is so at once.

    Its reply is read by `is_confirmed`.
    """
    if durability.mode == "fsync":
        return ("WAITAOF", 1, 0, CONFIRM_MS)
    return ("WAIT", durability.replicas, CONFIRM_MS) if durability.mode == "replicas" else None


def is_confirmed(durability: Durability, reply: Any) -> bool:
    """Return whether a reply to `confirmation` says that it is as durable as asked. Raises one that is an error."""
    if isinstance(reply, Exception):
        raise reply
    reached = reply[0] if durability.mode == "fsync" else reply
    return bool(reached >= (durability.replicas or 1))


def check_server(info: Mapping[str, str], durability: Durability, *, cluster: bool) -> None:
    """Check what a server's INFO says. Raises StoreError for one that cannot be used as the settings want to."""
    if (info.get("redis_mode", info.get("server_mode")) == "cluster") != cluster:
        is_one = "is a node of a Redis Cluster" if not cluster else "is no node of a Redis Cluster"
        raise StoreError(f"CROUPIER_REDIS_CLUSTER: is {str(cluster).lower()}, but the server {is_one}")
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        raise StoreError(f"Redis may evict keys (maxmemory-policy {policy}); set it to noeviction")
    fsync = durability.mode == "fsync"
    name, floor = ("redis", MIN_REDIS_FSYNC if fsync else MIN_REDIS)
    version = info["redis_version"]
    if "valkey_version" in info:
        name, floor, version = "valkey", MIN_VALKEY, info["valkey_version"]
    if tuple(map(int, version.split(".")[:2])) < floor:
        raise StoreError(f"{name} {version} is too old; {'.'.join(map(str, floor))} or newer is needed")
    if fsync and info.get("aof_enabled") != "1":
        raise StoreError("CROUPIER_DURABILITY: fsync needs a server with an append-only file; set appendonly to yes")
