"""The least of NATS that a listener needs: one connection, subscriptions, and what is published on them.

It parses what has arrived in one pass and calls back with bytes, without a task or a queue in between, which costs
a quarter of what a subscription of nats-py does. It publishes nothing.
"""

import asyncio
import contextlib
import json
import ssl
from collections.abc import Callable, Sequence
from typing import Any, cast
from urllib.parse import SplitResult, urlsplit

RECONNECT_S = 0.1
CONNECT_S = 10.0
_M, _P, _I, _E = b"MPI-"

Take = Callable[[bytes], None]


class NatsError(ConnectionError):
    """NATS cannot be reached, or does not let this listener in."""


class _Wire(asyncio.Protocol):
    """One TCP connection; a listener that reconnects has one after the other."""

    def __init__(self, listener: "Listener") -> None:
        self.transport: asyncio.Transport | None = None
        self.info: asyncio.Future[dict[str, object]] = asyncio.get_running_loop().create_future()
        self.pongs: list[asyncio.Future[None]] = []
        self.error = ""
        self._listener = listener
        self._takers = listener.takers
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's is none by inheritance

    def connection_lost(self, exc: Exception | None) -> None:
        reason = NatsError(self.error or f"NATS closed the connection ({exc})")
        waits: list[asyncio.Future[Any]] = [self.info, *self.pongs]
        for waiting in waits:
            if not waiting.done():
                waiting.set_exception(reason)
                waiting.exception()  # also where nobody waits for it
        self._listener.lost(self)

    def data_received(self, data: bytes) -> None:
        if self._rest:
            data = self._rest + data
        at, size, takers = 0, len(data), self._takers
        while at < size and (line := data.find(b"\r\n", at)) >= 0:
            kind = data[at]
            after = line + 2
            if kind == _M:  # MSG subject sid [reply] size
                words = data[at:line].split()
                start, after = after, after + int(words[-1]) + 2
                if after > size:
                    break
                if take := takers.get(int(words[2])):
                    take(data[start : after - 2])
            elif kind == _P:
                if data[at + 1] == ord("I"):
                    self.write(b"PONG\r\n")
                elif self.pongs and not (pong := self.pongs.pop(0)).done():
                    pong.set_result(None)
            elif kind == _I:
                if not self.info.done():
                    self.info.set_result(json.loads(data[at + 5 : line]))
            elif kind == _E:
                self.error = data[at:line].decode(errors="replace")
            at = after
        self._rest = data[at:]

    def write(self, data: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)


class Listener:
    """A connection that comes back by itself until it is closed; `back` is called each time after it has."""

    def __init__(
        self,
        urls: Sequence[str],
        back: Callable[[], None],
        first: int = 0,
        login: tuple[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Prepare; `first` is the one of the URLs that is tried first, `login` a user and its password.

        `tls` says whose certificates are good, of servers with a `tls://` URL and of others that ask for TLS; None: of
        those that the system trusts.
        """
        self._urls = urls
        self._tls = tls
        self._next = first
        self._back = back
        self._login = login
        self._token: str | None = None
        self._wire: _Wire | None = None
        self._sids = 0
        self._subjects: dict[int, str] = {}
        self._returning: asyncio.Task[None] | None = None
        self._connecting = False
        self._closed = False
        self.takers: dict[int, Take] = {}
        self.needs_token = False
        """Whether the server lets in only who shows the token of a seat."""

    async def connect(self, token: str | None = None) -> None:
        """Connect; `token` is shown unless there is a login. Raises NatsError, OSError."""
        self._token = token
        url = urlsplit(self._urls[self._next % len(self._urls)])
        self._next += 1
        self._connecting = True
        try:
            async with asyncio.timeout(CONNECT_S):
                loop = asyncio.get_running_loop()
                _, wire = await loop.create_connection(lambda: _Wire(self), url.hostname or "", url.port or 4222)
                try:
                    await self._greet(wire, url)
                except BaseException:
                    self._wire = None
                    if wire.transport is not None:
                        wire.transport.abort()
                    raise
        finally:
            self._connecting = False
        if self._closed:
            self.close()

    async def _greet(self, wire: _Wire, url: SplitResult) -> None:
        info = await wire.info
        secure = bool(info.get("tls_required"))
        if secure or url.scheme == "tls":
            if not secure:
                raise NatsError("the server speaks no TLS")
            await self._secure(wire, url.hostname or "")
        self.needs_token = bool(info.get("auth_required")) and self._login is None
        options: dict[str, object] = {
            "verbose": False,
            "pedantic": False,
            "tls_required": secure,
            "lang": "python",
            "version": "0",
            "name": "croupier-load",
            "protocol": 1,
            "echo": False,
        }
        if self._login is not None:
            options |= {"user": self._login[0], "pass": self._login[1]}
        elif self._token is not None:
            options["auth_token"] = self._token
        wire.write(b"CONNECT %b\r\n" % json.dumps(options).encode())
        self._wire = wire
        for sid, subject in self._subjects.items():
            wire.write(b"SUB %b %d\r\n" % (subject.encode(), sid))
        await self._ping(wire)
        if self._wire is not wire:
            raise NatsError("NATS closed the connection")

    async def _secure(self, wire: _Wire, host: str) -> None:
        """Speak TLS from here on. Raises OSError for a certificate that is not good."""
        assert wire.transport is not None
        tls = self._tls or ssl.create_default_context()
        wire.transport = await asyncio.get_running_loop().start_tls(wire.transport, wire, tls, server_hostname=host)

    def subscribe(self, subject: str, take: Take) -> int:
        """Call `take` with each message on a subject; return the subscription's number."""
        self._sids += 1
        self.takers[self._sids] = take
        self._subjects[self._sids] = subject
        if self._wire is not None:
            self._wire.write(b"SUB %b %d\r\n" % (subject.encode(), self._sids))
        return self._sids

    def unsubscribe(self, sid: int) -> None:
        """End a subscription."""
        self.takers.pop(sid, None)
        if self._subjects.pop(sid, None) is not None and self._wire is not None:
            self._wire.write(b"UNSUB %d\r\n" % sid)

    async def flush(self) -> None:
        """Return when the server has taken what was written, and what it sent before has arrived. Raises NatsError."""
        if self._wire is None:
            raise NatsError("there is no connection to NATS")
        async with asyncio.timeout(CONNECT_S):
            await self._ping(self._wire)

    async def answer(self) -> None:
        """Return when the server answers, on this connection or the next one, or when this listener is closed."""
        while not self._closed:
            with contextlib.suppress(OSError, TimeoutError):
                await self.flush()
                return
            await asyncio.sleep(RECONNECT_S)

    def drop(self) -> None:
        """Break the connection, as a network would."""
        if self._wire is not None and self._wire.transport is not None:
            self._wire.transport.abort()

    def pause(self, *, reading: bool) -> None:
        """Stop reading what the server sends, or go on."""
        transport = self._wire.transport if self._wire is not None else None
        if transport is not None and not transport.is_closing() and transport.is_reading() != reading:
            (transport.resume_reading if reading else transport.pause_reading)()

    def close(self) -> None:
        """Close for good."""
        self._closed = True
        if self._returning is not None:
            self._returning.cancel()
        if self._wire is not None and self._wire.transport is not None:
            self._wire.transport.close()

    def lost(self, wire: _Wire) -> None:
        """Come back; called by a connection that has ended."""
        if wire is self._wire:
            self._wire = None
            if not self._closed and not self._connecting:
                self._returning = asyncio.create_task(self._return())

    async def _return(self) -> None:
        while True:
            await asyncio.sleep(RECONNECT_S)
            with contextlib.suppress(OSError, TimeoutError):
                await self.connect(self._token)
                break
        self._back()

    @staticmethod
    async def _ping(wire: _Wire) -> None:
        pong: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        wire.pongs.append(pong)
        wire.write(b"PING\r\n")
        await pong
