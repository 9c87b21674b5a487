"""The Redis servers that the settings name: how to connect to them, what they must be like, and how they are asked."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import redis.asyncio as aioredis
from redis.exceptions import AuthenticationError, RedisError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError

from services.settings import Durability, Settings
from services.store.cluster import ClusterExchange
from services.store.exchange import IO_TIMEOUT_S, UNREACHABLE, Argument, Command, Exchange
from services.store.trouble import NO_ROOM, trouble

MIN_REDIS = (7, 0)
MIN_VALKEY = (8, 0)
MIN_REDIS_FSYNC = (7, 2)
CONNECT_TIMEOUT_S = 5.0
CONFIRM_MS = 5_000
"""How long a commit may take to become as durable as the settings ask."""
LOST_FUNCTIONS = "Function not found"
LIBRARY = "croupier"
_FUNCTIONS = files("services.store").joinpath("croupier.lua").read_text()


class StoreError(RuntimeError):
    """The server cannot be used; says which setting or which server is wrong and what to do."""


class NotDurable(RedisError, StoreError):
    """What was written, or read, is not as durable as the settings ask, and may not be by the time it is known."""


class Unreachable(RedisConnectionError):
    """The primary of some partitions is away; what was asked of the others may have been done."""

    def __init__(self, partitions: Collection[int], error: Exception) -> None:
        """Name the partitions and what came instead of an answer."""
        super().__init__(f"partitions {sorted(partitions)} cannot be reached: {error!r}")
        self.partitions = frozenset(partitions)


class Servers:
    """A server or a cluster, checked and with the functions loaded. Every method raises redis' errors when it is away.

    In a cluster some of whose primaries are there that is `Unreachable`, unless a method says otherwise.
    """

    def __init__(self, settings: Settings) -> None:
        """Prepare; nothing is connected before the first call."""
        self._cluster = settings.redis_cluster
        self._durability = settings.durability
        self.exchange = exchange_for(settings)
        self.confirmation = confirmation(settings.durability)

    async def check(self) -> None:
        """Raise StoreError if a primary cannot be used as the settings want to."""
        for info in await self._infos():
            check_server(info, self._durability, cluster=self._cluster)

    async def _infos(self) -> list[dict[str, str]]:
        """Return what each primary says of itself."""
        texts = no_error(await self.exchange.each(("INFO",)))
        return [dict(line.split(":", 1) for line in text.decode().splitlines() if ":" in line) for text in texts]

    async def load_functions(self) -> None:
        """Load the function library into every primary that has not just this one.

        A primary that takes no writes, being full, will do if it has it already.
        """
        replies = await self.exchange.each(("FUNCTION", "LOAD", "REPLACE", _FUNCTIONS))
        if any(isinstance(reply, Exception) and trouble(reply) in NO_ROOM for reply in replies):
            listed = await self.exchange.each(("FUNCTION", "LIST", "LIBRARYNAME", LIBRARY, "WITHCODE"))
            if all(not isinstance(one, Exception) and _FUNCTIONS.encode() in _flat(one) for one in listed):
                return
        no_error(replies)

    async def ask(self, commands: Sequence[Command], partitions: Iterable[int] = ()) -> list[Any]:
        """Return the replies to commands, each of the partition at its place in `partitions` if that is given.

        A server that has lost the functions (a new primary, FUNCTION FLUSH) gets them again. Raises Unreachable, or the
        first error among the replies.
        """
        return no_error(no_partition_away(partitions, await self.ask_any(commands)))

    async def ask_any(
        self, commands: Sequence[Command], timeout_s: float = IO_TIMEOUT_S, *, confirm: Command | None = None
    ) -> list[Any]:
        """As `ask`, with errors left among the replies; behind these stand the ones to `confirm`."""
        if not commands:
            return []
        replies = await self.exchange(commands, timeout_s, confirm=confirm)
        if any(isinstance(reply, ResponseError) and LOST_FUNCTIONS in str(reply) for reply in replies):
            await self.load_functions()
            return await self.ask_any(commands, timeout_s, confirm=confirm)
        return replies

    async def write(self, commands: Sequence[Command], partitions: Sequence[int], *, durably: bool = True) -> list[Any]:
        """Return the replies to commands of partitions, once they are as durable as the setting asks.

        `durably`: False does not wait for that. Raises Unreachable, NotDurable, or the first error among the replies.
        """
        confirm = self.confirmation if durably else None
        timeout_s = IO_TIMEOUT_S if confirm is None else IO_TIMEOUT_S + CONFIRM_MS / 1000
        answers = no_partition_away(partitions, await self.ask_any(commands, timeout_s, confirm=confirm))
        if not all(is_confirmed(self._durability, answer) for answer in answers[len(commands) :]):
            raise NotDurable(f"the commit is not as durable as {self._durability} asks")
        return no_error(answers[: len(commands)])

    async def time(self) -> int:
        """Return the server's time in Unix milliseconds; in a cluster that of the primary which is most behind."""
        replies = await self.exchange.each(("TIME",))
        times = [reply for reply in replies if not isinstance(reply, UNREACHABLE)] or replies
        return min(int(seconds) * 1000 + int(micros) // 1000 for seconds, micros in no_error(times))

    async def close(self) -> None:
        """Close all connections."""
        await self.exchange.close()


def unusable(error: Exception) -> StoreError:
    """Return what an error of Redis tells whoever has named this Redis in the settings: the setting, and why."""
    if isinstance(error, AuthenticationError):
        return StoreError(f"CROUPIER_REDIS_USER, CROUPIER_REDIS_PASSWORD: Redis lets nobody in by these: {error}")
    return StoreError(f"CROUPIER_REDIS_URL: this Redis cannot be used: {error}")


def call(function: str, keys: Sequence[str], *args: Argument) -> Command:
    """Return the call of a function of `croupier.lua`."""
    return ("FCALL", function, len(keys), *keys, *args)


def no_partition_away(partitions: Iterable[int], replies: list[Any]) -> list[Any]:
    """Return the replies, each of the partition at its place. Raises Unreachable."""
    away = {at: reply for at, reply in zip(partitions, replies, strict=False) if isinstance(reply, UNREACHABLE)}
    if away:
        raise Unreachable(away.keys(), next(iter(away.values())))
    return replies


def no_error(answers: list[Any]) -> list[Any]:
    """Return the answers. Raises the first of them that is an error."""
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return answers


def _flat(reply: Any) -> list[Any]:
    """Return what stands in a reply of lists in lists, in one."""
    return [one for part in reply for one in _flat(part)] if isinstance(reply, list) else [reply]


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
