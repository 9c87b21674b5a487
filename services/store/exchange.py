"""Many Redis commands in one write, their replies in order: the fast road for everything that is asked of Redis.

It stands on redis-py's connections and hiredis' packing, without what redis-py does for each single reply (a timeout, a
retry, a parser of its own), which at one reply a move costs more than Redis itself. `cluster` has the same
for a Redis Cluster.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import hiredis
from redis.exceptions import AskError, AuthenticationError, ClusterError, RedisError, ResponseError, TryAgainError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

READ_BYTES = 1 << 18
Argument = str | bytes | int
Command = Sequence[Argument]
IO_TIMEOUT_S = 10.0
"""How long a server may take to answer what it need not wait for."""

UNREACHABLE = (RedisConnectionError, RedisTimeoutError, ClusterError, AskError, TryAgainError)
"""What the server that has a key answers, or does not, while it or its place in a cluster is away."""


class NotSent(RedisConnectionError):
    """There was no connection to send by, so Redis has done nothing of it."""


def may_be_done(error: Exception) -> bool:
    """Whether commands that ended in this error, one of UNREACHABLE, may have been carried out for all that."""
    return isinstance(error, RedisConnectionError | RedisTimeoutError) and not isinstance(error, NotSent)


def reading(after: Mapping[str, str], count: int, block_ms: int = 0) -> Command:
    """Return the read of streams, each after the given id, at most `count` entries of each.

    It waits up to `block_ms` for the first one; 0: not at all.
    """
    block: tuple[Argument, ...] = ("BLOCK", block_ms) if block_ms else ()
    return ("XREAD", "COUNT", count, *block, "STREAMS", *after, *after.values())


class _Link:
    """A connection and what has come of its replies."""

    __slots__ = ("_connection", "_replies")

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._replies: hiredis.Reader | None = None

    async def ask(self, packed: bytes, count: int) -> list[Any]:
        """Return the replies to commands: all that came with one read in one go, without redis-py's way for each."""
        connection, reader = self._connection, self._replies
        if reader is None:
            reader = await self._connected()
        stream: asyncio.StreamReader = connection._reader  # noqa: SLF001 - what the connection reads from
        if stream.at_eof() or stream.exception() is not None:
            raise NotSent("Redis has closed the connection")
        await connection.send_packed_command(packed, check_health=False)
        replies: list[Any] = []
        while len(replies) < count:
            reply = reader.gets()
            if reply is not False:  # RESP2 has no reply that is False: it stands for "not enough data"
                if isinstance(reply, RedisError) and not isinstance(reply, ResponseError):
                    raise reply
                replies.append(reply)
                continue
            data = await stream.read(READ_BYTES)
            if not data:
                raise RedisConnectionError("Redis closed the connection")
            reader.feed(data)
        return replies

    async def _connected(self) -> hiredis.Reader:
        """Connect. Raises NotSent, or AuthenticationError for one whom Redis does not let in."""
        try:
            await self._connection.connect()
        except AuthenticationError:
            raise
        except (RedisConnectionError, RedisTimeoutError) as error:
            raise NotSent(str(error)) from error
        self._replies = hiredis.Reader(
            protocolError=RedisConnectionError,
            replyError=self._connection._parser.parse_error,  # noqa: SLF001 - names the kind of error
        )
        return self._replies

    async def close(self) -> None:
        await self._connection.disconnect(nowait=True)


class Exchange:
    """Connections to one server: callers in turn share one, callers at the same time have one each."""

    def __init__(self, connection: Callable[[], Any]) -> None:
        """Connect with the first call; `connection` makes a redis-py connection that is not connected yet."""
        self._connection = connection
        self._idle: list[_Link] = []

    async def __call__(
        self,
        commands: Sequence[Command],
        timeout_s: float = IO_TIMEOUT_S,
        *,
        confirm: Command | None = None,
        repeat: bool = True,
    ) -> list[Any]:
        """Return the replies as Redis gave them, errors of single commands among them as `ResponseError`.

        `confirm` is sent behind the commands, on every connection that carried some: its replies stand behind theirs. A
        connection that turns out to be dead is replaced once and everything sent again, so commands must bear to be
        repeated; with `repeat` False that is done only if nothing of it can have reached Redis. Raises redis'
        ConnectionError and TimeoutError, after which the commands may have been carried out.
        """
        if confirm is not None:
            commands = [*commands, confirm]
        packed = b"".join([hiredis.pack_command(tuple(command)) for command in commands])  # type: ignore[arg-type]  # of any length
        if self._idle:
            try:
                return await self._once(self._idle.pop(), packed, len(commands), timeout_s)
            except RedisConnectionError as error:
                await self.close()  # the others that lie idle will be as dead
                if not repeat and may_be_done(error):
                    raise
        return await self._once(_Link(self._connection()), packed, len(commands), timeout_s)

    async def _once(self, link: _Link, packed: bytes, count: int, timeout_s: float) -> list[Any]:
        try:
            async with asyncio.timeout(timeout_s):
                replies = await link.ask(packed, count)
        except TimeoutError:
            await link.close()
            raise RedisTimeoutError(f"Redis did not answer within {timeout_s:g} s") from None
        except OSError as error:
            await link.close()
            raise RedisConnectionError(f"the connection to Redis broke: {error!r}") from error
        except BaseException:
            await link.close()
            raise
        self._idle.append(link)
        return replies

    async def each(self, command: Command, timeout_s: float = IO_TIMEOUT_S) -> list[Any]:
        """Return the reply of every server that holds keys to one command."""
        return await self([command], timeout_s)

    async def read(
        self, after: Mapping[str, str], count: int, block_ms: int, before: Sequence[Command] = ()
    ) -> list[Any]:
        """Read at most `count` entries of each stream behind an id; `block_ms` as in `reading`.

        `before` goes before the read, in the same round trip. Return what XREAD does: pairs of a stream and its
        entries. Raises as a call does, and any error among the replies.
        """
        replies = await self([*before, reading(after, count, block_ms)], block_ms / 1000 + IO_TIMEOUT_S)
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        return replies[-1] or []

    async def keys(self, pattern: str) -> list[bytes]:
        """Return all keys that match a pattern, in no order; each once. Raises as a call does, and ResponseError."""
        found: set[bytes] = set()
        cursor: Argument = 0
        while True:
            [answer] = await self([("SCAN", cursor, "MATCH", pattern, "COUNT", 1000)])
            if isinstance(answer, Exception):
                raise answer
            cursor, some = answer
            found.update(some)
            if cursor == b"0":
                return list(found)

    async def close(self) -> None:
        """Close the connections that nobody uses."""
        idle, self._idle = self._idle, []
        for link in idle:
            await link.close()
