"""A network in front of NATS that loses messages and breaks connections in the middle of one."""

import asyncio
import contextlib
import random
from typing import Self


class NatsProxy:
    """Listens on loopback and passes everything on, but for what it is told to lose.

    Messages are dropped whole, as a NATS server drops them; everything else of the protocol passes.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._open: set[asyncio.StreamWriter] = set()
        self._chance = random.Random(1)
        self.loss = 0.0
        """Chance that a message is dropped on its way to whoever listens."""
        self.closed = False
        """Whether nobody gets through."""
        self.dropped = 0
        self.broken = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"nats://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self, *, but: float = 0.0) -> None:
        """Break the connections, each at whichever byte it is; `but`: the chance that one is spared."""
        for writer in list(self._open):
            if self._chance.random() >= but:
                self.broken += 1
                writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if self.closed:
            writer.transport.abort()
            return
        self._open.add(writer)
        far = None
        try:
            source, far = await asyncio.open_connection("127.0.0.1", self._port)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pass_on(reader, far))
                both.create_task(self._deliver(source, writer))
        except* (OSError, EOFError, asyncio.LimitOverrunError):
            pass
        finally:
            self._open.discard(writer)
            writer.transport.abort()
            if far is not None:
                far.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        raise EOFError

    async def _deliver(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            line = await reader.readuntil(b"\r\n")
            if line.startswith((b"MSG ", b"HMSG ")):
                line += await reader.readexactly(int(line.split()[-1]) + 2)
                if self._chance.random() < self.loss:
                    self.dropped += 1
                    continue
            writer.write(line)
            with contextlib.suppress(ConnectionError):
                await writer.drain()
