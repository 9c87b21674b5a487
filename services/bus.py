"""NATS: the connection that services publish and ask over.

NATS is a hint, the journal the truth. So nothing is ever kept for later: while there is no connection a publish fails,
and what was not confirmed is published again from the journal. A batch counts only if one connection was up from before
its first message to after the flush (nats-py's own flush can return while it reconnects, with the messages lost).
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Self

import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError

FLUSH_TIMEOUT_S = 5
RECONNECT_WAIT_S = 0.1

Handler = Callable[[Msg], Awaitable[None]]
log = structlog.get_logger()


class BusDown(ConnectionError):
    """There is no connection to NATS, or it broke before what was published was confirmed."""


class NoAnswer(ConnectionError):
    """Nobody answered a question in time."""


class Bus:
    """One connection, which reconnects by itself for ever."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._generation = 0
        self._up = asyncio.Event()
        self._up.set()

    @classmethod
    async def connect(cls, url: str, name: str) -> Self:
        """Connect, trying for ever; `name` shows in NATS' monitoring. Raises NatsError only for a bad URL or login."""
        client = Client()
        bus = cls(client)

        async def lost() -> None:
            bus._generation += 1
            bus._up.clear()
            if not client.is_closed:
                log.warning("nats_disconnected")

        async def back() -> None:
            bus._generation += 1
            bus._up.set()
            log.info("nats_reconnected")

        async def failed(error: Exception) -> None:
            log.debug("nats_error", error=repr(error))

        await client.connect(
            servers=url.split(","),
            name=name,
            allow_reconnect=True,
            max_reconnect_attempts=-1,
            reconnect_time_wait=RECONNECT_WAIT_S,  # type: ignore[arg-type]  # nats-py sleeps for it, a float will do
            pending_size=0,
            disconnected_cb=lost,
            reconnected_cb=back,
            error_cb=failed,
        )
        return bus

    @property
    def generation(self) -> int:
        """Grows with every loss of the connection and every reconnect."""
        return self._generation

    @property
    def connected(self) -> bool:
        """Whether there is a connection now."""
        return self._up.is_set() and self._client.is_connected

    async def wait_connected(self) -> None:
        """Return when there is a connection."""
        await self._up.wait()

    async def publish(self, messages: Sequence[tuple[str, bytes]]) -> None:
        """Publish messages in order and wait until the server has them all. Raises BusDown; some may have been sent."""
        generation = self._generation
        if not self.connected:
            raise BusDown("no connection to NATS")
        publish = self._client.publish
        try:
            for subject, data in messages:
                await publish(subject, data)
            await self._client.flush(FLUSH_TIMEOUT_S)
        except (NatsError, OSError) as error:
            raise BusDown(f"publishing failed: {error!r}") from error
        if generation != self._generation or not self.connected:
            raise BusDown("the connection to NATS broke while publishing")

    async def send(self, subject: str, data: bytes) -> None:
        """Publish one message without waiting; lost if there is no connection."""
        with contextlib.suppress(NatsError, OSError):
            await self._client.publish(subject, data)

    async def subscribe(self, subject: str, handler: Handler) -> Subscription:
        """Call `handler` for each message, in order; the server knows of it on return."""
        subscription = await self._client.subscribe(subject, cb=handler)
        with contextlib.suppress(NatsError, OSError):
            await self._client.flush(FLUSH_TIMEOUT_S)
        return subscription

    async def unsubscribe(self, subscription: Subscription) -> None:
        """Stop a subscription; harmless without a connection."""
        with contextlib.suppress(NatsError, OSError):
            await subscription.unsubscribe()

    async def request(self, subject: str, data: bytes, timeout: float) -> bytes:  # noqa: ASYNC109 - nats-py's parameter
        """Return the first answer within `timeout` seconds. Raises NoAnswer if none comes or NATS is away."""
        try:
            answer = await self._client.request(subject, data, timeout=timeout)
        except (NoRespondersError, NatsError, TimeoutError, OSError) as error:
            raise NoAnswer(f"nobody answered on {subject}") from error
        return answer.data

    async def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(NatsError, OSError):
            await self._client.close()
