"""NATS' protocol written by hand, over TCP or WebSocket: an attacker is not held to what a client library allows."""

import asyncio
import json
from typing import Any, Self
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as connect_websocket

WITHIN_S = 10


class Refused(Exception):
    """The server said no and closed the connection; what it said."""


class Attacker:
    """One connection. `said` is every line of the server's, `heard` every message: subject and body."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.heard: list[tuple[str, bytes]] = []
        self._pongs = 0
        self._closed = asyncio.Event()
        self._arrived = asyncio.Event()
        self._rest = b""
        self._writer: asyncio.StreamWriter | None = None
        self._websocket: ClientConnection | None = None
        self._reading: asyncio.Task[None]

    @classmethod
    async def connect(cls, url: str, headers: dict[str, str] | None = None, **options: Any) -> Self:
        """Connect with these options in CONNECT. Raises Refused."""
        attacker = cls()
        parts = urlsplit(url)
        if parts.scheme == "ws":
            attacker._websocket = await connect_websocket(url, additional_headers=headers, compression=None)
            attacker._reading = asyncio.create_task(attacker._read_websocket())
        else:
            reader, attacker._writer = await asyncio.open_connection(parts.hostname, parts.port)
            attacker._reading = asyncio.create_task(attacker._read(reader))
        try:
            await attacker.send(b"CONNECT " + json.dumps({"verbose": False, "protocol": 1, **options}).encode())
            await attacker.ping()
        except BaseException:
            await attacker.close()
            raise
        return attacker

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def send(self, *lines: bytes) -> None:
        data = b"".join(line + b"\r\n" for line in lines)
        try:
            if self._websocket is not None:
                await self._websocket.send(data)
            elif self._writer is not None:
                self._writer.write(data)
                await self._writer.drain()
        except Exception as error:  # noqa: BLE001 - whatever the transport calls it
            raise Refused(self.error or repr(error)) from None

    async def ping(self) -> None:
        """Return when the server has answered all that was sent. Raises Refused."""
        pongs = self._pongs
        await self.send(b"PING")
        await self.until(lambda: self._pongs > pongs)

    async def until(self, met) -> None:
        """Wait for what the server sends. Raises Refused if it closes before."""
        async with asyncio.timeout(WITHIN_S):
            while not met():
                if self._closed.is_set():
                    raise Refused(self.error or "closed without a word")
                self._arrived.clear()
                await self._arrived.wait()

    async def subscribe(self, subject: str, sid: int = 1, queue: str = "") -> str:
        """Return the server's refusal of a subscription, or nothing. Raises Refused if it closes the connection."""
        before = len(self.errors)
        await self.send(f"SUB {subject} {queue + ' ' if queue else ''}{sid}".encode())
        await self.ping()
        return "".join(self.errors[before:])

    async def publish(self, subject: str, body: bytes, reply: str = "") -> str:
        """Return the server's refusal of a message, or nothing."""
        before = len(self.errors)
        await self.send(f"PUB {subject} {reply + ' ' if reply else ''}{len(body)}".encode(), body)
        await self.ping()
        return "".join(self.errors[before:])

    @property
    def errors(self) -> list[str]:
        return [line for line in self.said if line.startswith("-ERR")]

    @property
    def error(self) -> str:
        return self.errors[-1] if self.errors else ""

    async def closed(self) -> str:
        """Wait until the server ends the connection; return what it said last."""
        async with asyncio.timeout(WITHIN_S):
            await self._closed.wait()
        return self.error

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        if self._writer is not None:
            self._writer.close()
            await asyncio.gather(self._writer.wait_closed(), return_exceptions=True)
        if self._websocket is not None:
            await self._websocket.close()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while data := await reader.read(65536):
                self._take(data)
        except OSError:
            pass
        finally:
            self._closed.set()
            self._arrived.set()

    async def _read_websocket(self) -> None:
        assert self._websocket is not None
        try:
            async for data in self._websocket:
                assert isinstance(data, bytes)
                self._take(data)
        except Exception:  # noqa: BLE001 - however it ends, it has ended
            pass
        finally:
            self._closed.set()
            self._arrived.set()

    def _take(self, data: bytes) -> None:
        self._rest += data
        while b"\r\n" in self._rest:
            line, _, rest = self._rest.partition(b"\r\n")
            if line.startswith(b"MSG "):
                words = line.split()
                size = int(words[-1])
                if len(rest) < size + 2:
                    break
                self.heard.append((words[1].decode(), rest[:size]))
                rest = rest[size + 2 :]
            elif line == b"PONG":
                self._pongs += 1
            self._rest = rest
            self.said.append(line.decode(errors="replace"))
        self._arrived.set()
