"""Many Redis commands in one write, their replies in order: the fast road for the few calls that every move takes.

It stands on redis-py's connections and hiredis' packing, without what redis-py does for each single reply (a timeout, a
retry, a parser of its own), which at one reply a move costs more than Redis itself.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import hiredis
import redis.asyncio as aioredis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

READ_BYTES = 1 << 18
Argument = str | bytes | int
Command = Sequence[Argument]


class Exchange:
    """One connection, for one caller at a time."""

    def __init__(self, client: aioredis.Redis) -> None:
        """Connect as `client` does, with the first call."""
        self._pool = client.connection_pool
        self._connection: Any = None
        self._replies: hiredis.Reader
        self._lock = asyncio.Lock()

    async def __call__(self, commands: Sequence[Command], timeout_s: float) -> list[Any]:
        """Return the replies as Redis gave them, errors of single commands among them as `ResponseError`.

        A connection that turns out to be dead is replaced once and everything sent again, so commands must bear to be
        repeated. Raises redis' ConnectionError and TimeoutError.
        """
        packed = b"".join([hiredis.pack_command(tuple(command)) for command in commands])  # type: ignore[arg-type]  # of any length
        async with self._lock:
            fresh = self._connection is None
            try:
                return await self._once(packed, len(commands), timeout_s)
            except RedisConnectionError:
                if fresh:
                    raise
            return await self._once(packed, len(commands), timeout_s)

    async def _once(self, packed: bytes, count: int, timeout_s: float) -> list[Any]:
        try:
            async with asyncio.timeout(timeout_s):
                if self._connection is None:
                    self._connection = self._pool.make_connection()
                    await self._connection.connect()
                    self._replies = hiredis.Reader(
                        protocolError=RedisConnectionError,
                        replyError=self._connection._parser.parse_error,  # noqa: SLF001 - names the kind of error
                    )
                await self._connection.send_packed_command(packed, check_health=False)
                return await self._take(count)
        except TimeoutError:
            await self._drop()
            raise RedisTimeoutError(f"Redis did not answer within {timeout_s:g} s") from None
        except OSError as error:
            await self._drop()
            raise RedisConnectionError(f"the connection to Redis broke: {error!r}") from error
        except BaseException:
            await self._drop()
            raise

    async def _take(self, count: int) -> list[Any]:
        """Return the next replies: all that came with one read in one go, without redis-py's way for each."""
        stream: asyncio.StreamReader = self._connection._reader  # noqa: SLF001 - what the connection reads from
        replies: list[Any] = []
        while len(replies) < count:
            reply = self._replies.gets()
            if reply is not False:  # RESP2 has no reply that is False: it stands for "not enough data"
                if isinstance(reply, RedisError) and not isinstance(reply, ResponseError):
                    raise reply
                replies.append(reply)
                continue
            data = await stream.read(READ_BYTES)
            if not data:
                raise RedisConnectionError("Redis closed the connection")
            self._replies.feed(data)
        return replies

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.disconnect(nowait=True)

    async def close(self) -> None:
        """Close the connection."""
        await self._drop()
