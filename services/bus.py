"""NATS: the connection that services publish and ask over.

NATS is a hint, the journal the truth. So nothing is ever kept for later: while there is no connection a publish fails,
and what was not confirmed is published again from the journal. A batch counts only if one connection was up from before
its first message to after the flush (nats-py's own flush can return while it reconnects, with the messages lost).
"""

import asyncio
import contextlib
import re
import ssl
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

import structlog
from nats.aio.client import PING_PROTO, Client, Srv
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription as ClientSubscription
from nats.aio.transport import TcpTransport
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError

from services.settings import Settings

FLUSH_TIMEOUT_S = 5
CUT_S = 0.5
RECONNECT_WAIT_S = 0.1
REFUSED_WAIT_S = 1.0
"""Before somebody whom NATS did not let in tries again."""
LOOK_S = 0.25
GREETING_S = 5.0
PRESENT_S = 5.0
"""How long somebody at a terminal waits for a NATS that does not answer."""
DEFAULT_PORT = 4222
INBOX = "_INBOX"

Handler = Callable[[Msg], Awaitable[None]]

log = structlog.get_logger()


class BusDown(ConnectionError):
    """There is no connection to NATS, or it broke before what was published was confirmed."""


class NotAllowed(PermissionError):
    """NATS lets this user not do that."""


class NoAnswer(ConnectionError):
    """Nobody answered a question in time."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """How a connection shows who it is: user and password, an nkey, a token, or nothing.

    `token` is asked for at each connect; when it is not accepted `renew` is awaited before the next. `inbox` begins the
    subjects on which answers come, and must be one that NATS lets this user hear.
    """

    user: str | None = None
    password: str | None = field(default=None, repr=False)
    seed: str | None = field(default=None, repr=False)
    token: Callable[[], str] | None = None
    renew: Callable[[], Awaitable[object]] | None = None
    inbox: str = INBOX
    tls: ssl.SSLContext | None = None

    @classmethod
    def of(cls, settings: Settings, inbox: str = INBOX) -> Self:
        """Return how the services of these settings connect."""
        password, seed = settings.nats_password, settings.nats_seed
        return cls(
            user=settings.nats_user,
            password=None if password is None else password.get_secret_value(),
            seed=None if seed is None else seed.get_secret_value(),
            inbox=inbox,
            tls=None if settings.nats_tls_ca is None else ssl.create_default_context(cafile=settings.nats_tls_ca),
        )

    def options(self) -> dict[str, Any]:
        """Return what nats-py's `connect` takes; holds secrets."""
        return {
            "user": self.user,
            "password": self.password,
            "nkeys_seed_str": self.seed,
            "token": self.token,
            "inbox_prefix": self.inbox,
            "tls": self.tls,
        }


ANYBODY = Access()


class Connection(Client):
    """nats-py's client, with some of its habits mended.

    It shows who it is to no server without TLS, if its URL says `tls://`; nats-py would, if the server said so. And a
    `flush` is answered only after the server has all that was sent before: nats-py writes the PING at once, ahead of
    commands that still wait for its flusher, so the answer would confirm what the server does not have yet. And a
    connection that is given up is cut: nats-py would wait, for ever, until a server that stands still has taken what
    was written, before it goes to another one. And an attempt to connect that fails is followed by another, however it
    fails, and shares nothing with it.
    """

    def write(self, commands: bytes) -> None:
        """Send commands at once, after those that wait. Raises BusDown without a connection."""
        if self._transport is None or not self.is_connected:
            raise BusDown("no connection to NATS")
        self._write_pending()
        self._transport.write(commands)

    def ask(self) -> asyncio.Future[bool]:
        """Ask the server for an answer, which is the result; it comes after all that was sent before. Never cancel it.

        Raises BusDown without a connection.
        """
        answered: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.write(PING_PROTO)
        self._pongs.append(answered)
        return answered

    async def _send_ping(self, future: asyncio.Future[bool] | None = None) -> None:
        self._write_pending()
        await super()._send_ping(future)

    async def _close(self, status: int, do_cbs: bool = True) -> None:
        if not self.is_connected:
            self._forget_pending()  # in Python 3.13 writing it may raise
            await self._cut()
        writer = self._writer
        cutting = asyncio.get_running_loop().call_later(FLUSH_TIMEOUT_S, writer.transport.abort) if writer else None
        try:
            await super()._close(status, do_cbs)
        finally:
            if cutting is not None:
                cutting.cancel()

    async def _attempt_reconnect(self) -> None:
        while True:
            await self._cut()
            try:
                await super()._attempt_reconnect()
            except Exception as error:  # noqa: BLE001 - of whatever kind, as uvloop's where a socket has just been closed
                if self.is_closed:
                    return
                log.warning("nats_attempt_failed", error=repr(error))
                self._status = self.RECONNECTING
                await asyncio.sleep(RECONNECT_WAIT_S)
            else:
                return

    async def _connect_to_server(self, s: Srv) -> None:
        """Connect; whatever an attempt before has begun has ended, so that one alone reads from the connection."""
        for task in (self._reading_task, self._ping_interval_task, self._flusher_task):
            if task is not None and task is not asyncio.current_task():
                task.cancel()
        await self._cut()
        await super()._connect_to_server(s)

    @property
    def _writer(self) -> asyncio.StreamWriter | None:
        return self._transport._io_writer if isinstance(self._transport, TcpTransport) else None  # noqa: SLF001

    async def _cut(self) -> None:
        """End the connection that there is, if any, at once."""
        transport = self._transport
        if isinstance(transport, TcpTransport) and (writer := self._writer) is not None:
            writer.transport.abort()
            # In a task: who is cancelled while he awaits it himself, as nats-py may be, takes it from all others.
            ended = asyncio.ensure_future(writer.wait_closed())
            await asyncio.wait({ended}, timeout=CUT_S)
            if not ended.done():  # one on its way to TLS, of whose end nobody is told
                transport._io_writer = None  # noqa: SLF001 - or nats-py would wait for it
                ended.cancel()
            elif not ended.cancelled():
                ended.exception()

    def _write_pending(self) -> None:
        if self._pending and self._transport is not None:
            self._transport.writelines(self._pending)
            self._forget_pending()

    def _forget_pending(self) -> None:
        self._pending = []
        self._pending_data_size = 0

    def _connect_command(self) -> bytes:
        server = self._current_server
        if server is not None and server.uri.scheme == "tls" and not self._server_info.get("tls_required"):
            raise NatsError("the server speaks no TLS")
        return super()._connect_command()


class Subscription:
    """A subject that is listened to, on whichever connection there is."""

    def __init__(self, subject: str, handler: Handler, queue: str) -> None:
        self.subject = subject
        self.queue = queue
        self.handler = handler
        self.client: Client | None = None
        self.on_client: ClientSubscription | None = None
        self.settling: asyncio.Task[None] | None = None
        self.unwanted = False


class Bus:
    """One connection, which comes back by itself for ever."""

    def __init__(self, url: str, name: str, access: Access = ANYBODY) -> None:
        """Prepare; `connect` makes a connected one."""
        self._url = url
        self._name = name
        self._access = access
        self.refused = ""
        """What NATS said when it last refused something; empty if it never did."""
        self._client = Connection()
        self._generation = 0
        self._up = asyncio.Event()
        self._lost: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        """Done once the connection that there is now, or the one before, is lost."""
        self._subscriptions: list[Subscription] = []
        self._closing = False
        self._reopening: asyncio.Task[None] | None = None

    @classmethod
    async def connect(cls, url: str, name: str, access: Access = ANYBODY) -> Self:
        """Connect, trying for ever; `name` shows in NATS' monitoring. Raises NatsError only for a bad URL."""
        bus = cls(url, name, access)
        await bus.open()
        return bus

    async def open(self) -> None:
        """Connect, trying for ever. Raises NatsError only for a bad URL."""
        client = Connection()

        async def lost() -> None:
            if self._client is not client:
                return  # one that has been replaced
            self._generation += 1
            self._up.clear()
            if not self._lost.done():
                self._lost.set_result(True)
            if not self._closing:
                log.warning("nats_disconnected")

        async def back() -> None:
            if self._client is not client:
                return
            self._is_back()
            log.info("nats_reconnected")

        async def closed() -> None:
            if self._client is client and not self._closing:
                log.error("nats_closed_the_connection", error=repr(client.last_error))
                self._reopening = asyncio.create_task(self._reopen())

        async def failed(error: Exception) -> None:
            said = str(error).lower()
            if "authorization" in said or "authentication" in said:
                await self._not_let_in(client)
            elif "permissions violation" in said:
                self.refused = said
                log.error("nats_does_not_allow", error=said)
            else:
                log.debug("nats_error", error=repr(error))

        connecting = client.connect(
            servers=self._url.split(","),
            name=self._name,
            allow_reconnect=True,
            max_reconnect_attempts=-1,
            reconnect_time_wait=RECONNECT_WAIT_S,  # type: ignore[arg-type]  # nats-py sleeps for it, a float will do
            pending_size=0,
            disconnected_cb=lost,
            reconnected_cb=back,
            closed_cb=closed,
            error_cb=failed,
            **self._access.options(),
        )
        try:
            await connecting
        except BaseException:
            with contextlib.suppress(NatsError, OSError):
                await client.close()
            raise
        self._client = client
        for subscription in list(self._subscriptions):
            await self._attach(subscription)
        self._is_back()

    async def _not_let_in(self, client: Client) -> None:
        """Wait a little before the next attempt, and have a fresh token for it."""
        self.refused = "authorization violation"
        log.warning("nats_did_not_let_in", name=self._name)
        if self._access.renew is not None:
            try:
                await self._access.renew()
            except Exception as error:  # noqa: BLE001 - of whatever kind: the old token is tried again
                log.warning("nats_token_not_renewed", error=repr(error))
        if not client.is_closed:
            await asyncio.sleep(REFUSED_WAIT_S)

    def _is_back(self) -> None:
        self._generation += 1
        self._lost = asyncio.get_running_loop().create_future()
        self._up.set()

    async def _reopen(self) -> None:
        """Connect anew: after most errors that the server names, nats-py gives a connection up for good."""
        while True:
            await asyncio.sleep(RECONNECT_WAIT_S)
            try:
                await self.open()
            except Exception as error:  # noqa: BLE001 - of whatever kind: it is tried again
                log.warning("nats_not_reopened", error=repr(error))
            else:
                log.info("nats_reopened")
                return

    async def _attach(self, subscription: Subscription) -> None:
        client = self._client
        if subscription.client is not client:
            subscription.client = client
            subscription.on_client = await client.subscribe(
                subscription.subject, queue=subscription.queue, cb=subscription.handler
            )

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
        """Publish messages in order and wait until the server has them all. Raises BusDown; some may have been sent.

        One that is larger than the server takes would never get through: it is left out, and an error logged.
        """
        if not self.connected:
            raise BusDown("no connection to NATS")
        parts: list[bytes] = []
        for subject, data in messages:
            if not self._is_too_large(subject, data):
                parts += (b"PUB ", subject.encode(), b" %d\r\n" % len(data), data, b"\r\n")
        # Subjects are made of match ids, numbers and names of services alone, so none needs to be checked; written at
        # once, a message costs a tenth of what nats-py's `publish` takes.
        self._client.write(b"".join(parts))
        await self._flush()

    @property
    def largest(self) -> int:
        """Bytes of the largest message that the server takes."""
        return self._client.max_payload

    def _is_too_large(self, subject: str, data: bytes) -> bool:
        if len(data) <= self.largest:
            return False
        log.error("message_too_large", subject=subject, size=len(data))
        return True

    async def _flush(self) -> None:
        """Return when the server has all that was sent. Raises BusDown if the connection was lost before it said so.

        A connection that does not answer in time is replaced: nats-py stops reading it once a late answer comes, and
        takes every later flush for answered.
        """
        client, lost = self._client, self._lost
        answered = client.ask()
        done, _ = await asyncio.wait({answered, lost}, timeout=FLUSH_TIMEOUT_S, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            await client.force_reconnect()
            raise BusDown(f"NATS did not answer within {FLUSH_TIMEOUT_S:g} s")
        if lost.done() or not self.connected:
            raise BusDown("the connection to NATS broke while publishing")

    async def send(self, subject: str, data: bytes) -> None:
        """Publish one message without waiting; lost if there is no connection.

        One that is larger than the server takes is lost, too, and an error logged.
        """
        if self._is_too_large(subject, data):
            return
        with contextlib.suppress(NatsError, OSError):
            await self._client.publish(subject, data)

    async def subscribe(self, subject: str, handler: Handler, queue: str = "") -> Subscription:
        """Call `handler` for each message, in order; with a connection the server knows of it on return.

        Those who name the same `queue` share the messages. Whoever is cancelled meanwhile leaves nothing behind.
        """
        subscription = Subscription(subject, handler, queue)
        self._subscriptions.append(subscription)
        # In a task: cut off in the middle, nats-py would go on listening to what nobody knows to end.
        settling = subscription.settling = asyncio.create_task(self._settle(subscription))
        try:
            await asyncio.shield(settling)
        except asyncio.CancelledError:
            subscription.unwanted = True
            if settling.done():
                await self.unsubscribe(subscription)
            raise
        return subscription

    async def _settle(self, subscription: Subscription) -> None:
        with contextlib.suppress(NatsError, OSError):
            await self._attach(subscription)
            await self._flush()
        if subscription.unwanted:
            await self.unsubscribe(subscription)

    async def unsubscribe(self, subscription: Subscription) -> None:
        """Stop a subscription; harmless without a connection."""
        self._subscriptions.remove(subscription)
        with contextlib.suppress(NatsError, OSError):
            if subscription.on_client is not None:
                await subscription.on_client.unsubscribe()

    async def request(self, subject: str, data: bytes, timeout: float) -> bytes:  # noqa: ASYNC109 - nats-py's parameter
        """Return the first answer within `timeout` seconds. Raises NoAnswer if none comes or NATS is away."""
        if not self.connected:  # nats-py would remember a question that it could not send, for good
            raise NoAnswer("no connection to NATS")
        try:
            answer = await self._client.request(subject, data, timeout=timeout)
        except (NoRespondersError, NatsError, TimeoutError, OSError) as error:
            raise NoAnswer(f"nobody answered on {subject}") from error
        return answer.data

    async def close(self) -> None:
        """Close the connection."""
        self._closing = True
        if self._reopening is not None:
            self._reopening.cancel()
        with contextlib.suppress(NatsError, OSError):
            await self._client.close()


async def print_messages(url: str, subject: str, access: Access) -> None:
    """Print every message on a subject, a line each, until cancelled.

    Raises NoAnswer if no NATS is there at the start, NotAllowed, and BrokenPipeError once nobody reads what is printed.
    """
    try:
        async with asyncio.timeout(PRESENT_S):
            await reachable(url)
    except TimeoutError:
        raise NoAnswer(f"no NATS answers at {_without_login(url)}; CROUPIER_NATS_URL says where it is") from None
    bus = Bus(url, "croupier-listen", access)
    unread: list[BrokenPipeError] = []

    async def show(message: Msg) -> None:
        try:
            sys.stdout.write(f"{message.subject} {message.data.decode(errors='replace')}\n")
            sys.stdout.flush()
        except BrokenPipeError as error:
            unread.append(error)

    async def listen() -> None:
        await bus.open()
        await bus.subscribe(subject, show)

    listening = asyncio.create_task(listen())
    try:
        while not bus.refused:
            await asyncio.sleep(LOOK_S)
            if listening.done():
                listening.result()
            if unread:
                raise unread[0]
        raise NotAllowed(f"NATS does not let you listen to {subject} ({bus.refused}); see `croupier listen --help`")
    finally:
        listening.cancel()
        await bus.close()


def url_beside(server: str, *, tls: bool) -> str:
    """Return the URL of a NATS server at its usual port on the host of a match service (`host:port`)."""
    return f"{'tls' if tls else 'nats'}://{server.rsplit(':', 1)[0]}:{DEFAULT_PORT}"


def _without_login(url: str) -> str:
    return re.sub(r"(?<=://)[^/,]*@", "", url)


async def reachable(url: str) -> None:
    """Return when one of the servers greets, whoever it then lets in; tries for ever."""
    while True:
        for server in url.split(","):
            parts = urlsplit(server)
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(GREETING_S):
                    reader, writer = await asyncio.open_connection(parts.hostname or "", parts.port or DEFAULT_PORT)
                    try:
                        greeting = await reader.readline()
                    finally:
                        writer.close()
                        await writer.wait_closed()
                if greeting.startswith(b"INFO "):
                    return
        await asyncio.sleep(RECONNECT_WAIT_S)
