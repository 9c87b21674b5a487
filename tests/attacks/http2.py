"""HTTP/2 written by hand: an attacker is not held to what a gRPC library allows."""

import asyncio
import struct
from typing import NamedTuple, Self

DATA, HEADERS, SETTINGS, PING = 0, 1, 4, 6
END_STREAM = END_ACK = 1
END_HEADERS = 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class Frame(NamedTuple):
    kind: int
    flags: int
    stream: int
    payload: bytes

    def encode(self) -> bytes:
        return struct.pack(">I", len(self.payload))[1:] + struct.pack(">BBI", *self[:3]) + self.payload


def literal(name: str, value: str) -> bytes:
    """A header that no table knows (RFC 7541, 6.2.2); both texts are shorter than 127 bytes."""
    return b"\x00" + b"".join(bytes([len(text)]) + text.encode() for text in (name, value))


class Http2:
    """One connection, by which calls are opened, and left as they are."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._next = 1

    @classmethod
    async def connect(cls, port: int, address: str = "127.0.0.1") -> Self:
        """Connect from an address of the loopback's to a port there."""
        connection = cls(*await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0)))
        connection._writer.write(PREFACE + Frame(SETTINGS, 0, 0, b"").encode())
        return connection

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()
        await asyncio.gather(self._writer.wait_closed(), return_exceptions=True)

    async def open(self, path: str, *, end: bool = False) -> int:
        """Send the headers of a call and nothing else, or with `end` also that nothing more will come."""
        fields = (
            (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "croupier"),
            ("te", "trailers"), ("content-type", "application/grpc"),
        )  # fmt: skip
        stream, self._next = self._next, self._next + 2
        flags = END_HEADERS | (END_STREAM if end else 0)
        self._writer.write(Frame(HEADERS, flags, stream, b"".join(literal(*field) for field in fields)).encode())
        await self._writer.drain()
        return stream

    async def send(self, stream: int, message: bytes) -> None:
        """Send the request of a call and that no more will come."""
        body = struct.pack(">BI", 0, len(message)) + message
        self._writer.write(Frame(DATA, END_STREAM, stream, body).encode())
        await self._writer.drain()

    async def ended(self, stream: int) -> bytes:
        """Return the headers with which a call ends, as they are on the wire."""
        async with asyncio.timeout(20):
            while True:
                frame = await self._read()
                if frame.kind == HEADERS and frame.stream == stream and frame.flags & END_STREAM:
                    return frame.payload

    async def _read(self) -> Frame:
        head = await self._reader.readexactly(9)
        kind, flags, stream = struct.unpack(">BBI", head[3:])
        frame = Frame(kind, flags, stream, await self._reader.readexactly(int.from_bytes(head[:3], "big")))
        if kind in (SETTINGS, PING) and not flags & END_ACK:
            answer = b"" if kind == SETTINGS else frame.payload
            self._writer.write(Frame(kind, END_ACK, 0, answer).encode())
        return frame
