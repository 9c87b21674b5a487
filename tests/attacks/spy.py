"""Who listens: what somebody gets, message by message and byte by byte, and the ways in which a secret is written."""

import asyncio
import base64
import json
from typing import Any, Self

import grpc
from grpc_status import rpc_status


def writings(secret: bytes) -> set[bytes]:
    """The ways in which bytes are written."""
    escaped = repr(secret)[2:-1]
    return {
        secret,
        secret.hex().encode(),
        secret.hex().upper().encode(),
        base64.b64encode(secret).rstrip(b"="),
        base64.urlsafe_b64encode(secret).rstrip(b"="),
        base64.b32encode(secret).rstrip(b"="),
        base64.b32encode(secret).lower().rstrip(b"="),
        escaped.encode(),
        json.dumps(escaped)[1:-1].encode(),
    }


class Spy:
    """Keeps all that somebody gets."""

    def __init__(self) -> None:
        self.got: list[bytes] = []

    async def call(self, call: Any) -> Any:
        """Return the answer, None for a refusal; both are kept, with every byte of the trailers."""
        try:
            answer = await call
        except grpc.aio.AioRpcError as error:
            status = rpc_status.from_call(error)
            self.got.append(status.SerializeToString() if status else b"")
            self.got.append(f"{error.details()} {error.debug_error_string()}".encode())
            for metadata in (error.initial_metadata(), error.trailing_metadata()):
                self.got += [part if isinstance(part, bytes) else part.encode() for pair in metadata for part in pair]
            return None
        self.got.append(b"" if answer is grpc.aio.EOF else answer.SerializeToString())
        return answer

    async def hear(self, message: Any) -> None:
        self.got.append(message.subject.encode() + b" " + message.data)


class Tap:
    """A relay on loopback that keeps every byte of a server and of whoever connects through it.

    While `open` is not set, it reads nothing more of the clients.
    """

    def __init__(self, host: str, port: int) -> None:
        self._far = host, port
        self.heard = bytearray()
        self.said = bytearray()
        self.open = asyncio.Event()
        self.open.set()
        self._server: asyncio.Server
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        source, far = await asyncio.open_connection(*self._far)
        try:
            await asyncio.gather(
                self._pass_on(reader, far, self.said, self.open), self._pass_on(source, writer, self.heard)
            )
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()
            far.transport.abort()

    async def _pass_on(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        kept: bytearray,
        gate: asyncio.Event | None = None,
    ) -> None:
        while data := await reader.read(65536):
            kept += data
            writer.write(data)
            await writer.drain()
            if gate is not None:
                await gate.wait()
        raise EOFError
