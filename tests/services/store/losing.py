"""A network in front of Redis that takes a command there, loses the reply and breaks the connection."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class Losing:
    """Passes everything on from loopback to a server there, but for the reply to what it is told to lose."""

    def __init__(self, port: int) -> None:
        """Stand in front of the server on that port."""
        self._to = port
        self.port = 0
        self._wanted = b""
        self._lost: Callable[[], object] = lambda: None
        self._served: set[asyncio.Task[None]] = set()
        self.broken = 0

    def lose(self, name: bytes, lost: Callable[[], object] = lambda: None) -> None:
        """Lose the reply to the next command of that name; `lost` is called once the command has been carried out."""
        self._wanted, self._lost = name, lost

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["Losing"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for task in self._served:
                task.cancel()
            await asyncio.gather(*self._served, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._served.add(task)
        behind, ahead = await asyncio.open_connection("127.0.0.1", self._to)
        losing = asyncio.Event()

        async def there() -> None:
            while data := await reader.read(1 << 16):
                if self._wanted and self._wanted in data:
                    self._wanted = b""
                    losing.set()
                ahead.write(data)

        async def back() -> None:
            while data := await behind.read(1 << 16):
                if losing.is_set():
                    self._lost()
                    self.broken += 1
                    return
                writer.write(data)

        ways = [asyncio.create_task(there()), asyncio.create_task(back())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            for side in (writer, ahead):
                side.transport.abort()
