"""The road of a move with nothing in it: what the floor `road` of `benchmarks.floors` runs.

A gRPC process takes bytes from bidirectional streams into the intake, all that is there in one write; another process
reads the intake, commits a line of real size with a function that checks the journal's length, publishes real views of
four seats and spectators and the receipts, and acknowledges: commit, publish, acknowledge, a batch at a time. There are
no rules, no checks, no tokens and no leases. Four NATS connections a match hear a seat each; the next move follows when
all four views have come.

`python -m benchmarks.road front|worker REDIS_PORT NATS_URL` is one of the two processes.
"""

import asyncio
import itertools
import struct
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import grpc
import redis.asyncio
import uvloop

from services.bus import Bus
from services.load.nats_listener import Listener
from services.local import NatsServer, RedisServer
from services.store.exchange import Command, Exchange

SERVICE = "floor.Road"
PARTITIONS = 8
SEATS = 4
BATCH = 256
TIMEOUT_S = 30.0
LINE = b"l" * 260
"""About what an entry is in a journal."""
_FUNCTIONS = """#!lua name=road
local function commit(keys, args)
  if redis.call('XLEN', keys[1]) ~= tonumber(args[1]) then
    return 'CONFLICT'
  end
  redis.call('XADD', keys[1], (args[1] + 1) .. '-0', 'line', args[2], 'hash', args[3])
  return 'OK'
end
redis.register_function('road_commit', commit)
"""
_RECEIPT = struct.Struct("<Q")


class Meter(Protocol):
    """Of `benchmarks.floors`."""

    def hold(self) -> None:
        """Measure nothing until `restart`."""

    def restart(self) -> None:
        """Begin with the warm-up now."""

    def running(self) -> bool:
        """Whether there is time left."""

    def count(self, began: float, moves: int = 1) -> None:
        """Note moves that began then and are done now."""


def _intake(partition: int) -> str:
    return f"{{{partition}}}:moves"


async def front(redis_port: int, nats_url: str) -> None:
    """Serve the streams; print the port."""
    write = Exchange(redis.asyncio.Redis(port=redis_port, protocol=2).connection_pool.make_connection)
    numbers = itertools.count(1)
    waiting: dict[int, asyncio.Queue[bytes]] = {}
    outgoing: list[Command] = []
    wake = asyncio.Event()

    async def pump() -> None:
        while True:
            await wake.wait()
            wake.clear()
            batch = outgoing[:]
            outgoing.clear()
            await write(batch, TIMEOUT_S)

    async def heard(message: Any) -> None:
        for (number,) in _RECEIPT.iter_unpack(message.data):
            waiting.pop(number).put_nowait(message.data[:8])

    async def play(requests: AsyncIterator[bytes], _context: Any) -> AsyncIterator[bytes]:
        receipts: asyncio.Queue[bytes] = asyncio.Queue()

        async def take() -> None:
            async for request in requests:
                number = next(numbers)
                waiting[number] = receipts
                match = int.from_bytes(request[:4], "little")
                command = _RECEIPT.pack(number) + request
                outgoing.append(("XADD", _intake(match % PARTITIONS), "*", "c", command))
                wake.set()

        task = asyncio.create_task(take())
        try:
            while True:
                yield await receipts.get()
        finally:
            task.cancel()

    bus = await Bus.connect(nats_url, "road-front")
    await bus.subscribe("receipts.road", heard)
    pumping = asyncio.create_task(pump())
    handlers: dict[str, Any] = {"Play": grpc.stream_stream_rpc_method_handler(play)}
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    await server.start()
    await pumping


async def worker(redis_port: int, nats_url: str) -> None:
    """Take commands from the intake for ever; print a line when ready."""
    from benchmarks.floors import real_bytes  # noqa: PLC0415 - which imports this module

    views = [data for _, data in real_bytes().views][: SEATS + 1]
    client = redis.asyncio.Redis(port=redis_port, protocol=2)
    await client.function_load(_FUNCTIONS, replace=True)
    for partition in range(PARTITIONS):
        await client.xgroup_create(_intake(partition), "engine", id="0", mkstream=True)
    call = Exchange(client.connection_pool.make_connection)
    bus = await Bus.connect(nats_url, "road-worker")
    lengths: dict[int, int] = defaultdict(int)
    streams = [_intake(partition) for partition in range(PARTITIONS)]
    read: Command = (
        "XREADGROUP", "GROUP", "engine", "owner", "COUNT", BATCH, "BLOCK", 500, "STREAMS", *streams,
        *[">"] * PARTITIONS,
    )  # fmt: skip
    print("ready", flush=True)
    while True:
        [answer] = await call([read], TIMEOUT_S)
        commits: list[Command] = []
        messages: list[tuple[str, bytes]] = []
        receipts: list[bytes] = []
        acknowledgements: list[Command] = []
        for stream, entries in answer or ():
            acknowledgements.append(("XACK", stream, "engine", *(entry for entry, _ in entries)))
            for _, fields in entries:
                match = int.from_bytes(fields[1][8:12], "little")
                key = f"{{{match % PARTITIONS}}}:journal:{match}"
                commits.append(("FCALL", "road_commit", 1, key, lengths[match], LINE, bytes(32)))
                lengths[match] += 1
                messages += [(f"view.{match:025d}.{seat}.1", data) for seat, data in enumerate(views)]
                receipts.append(fields[1][:8])
        if commits:
            assert set(await call(commits, TIMEOUT_S)) == {b"OK"}
            await bus.publish([*messages, ("receipts.road", b"".join(receipts))])
            await call(acknowledgements, TIMEOUT_S)


async def drive(port: int, nats_url: str, flights: int, meter: Meter) -> None:
    """Keep a move in flight in so many matches, a stream and four NATS connections each."""
    channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
    meter.hold()
    connected = 0

    async def one(match: int) -> None:
        nonlocal connected
        missing, began = 0, 0.0
        all_seen = asyncio.Event()

        def seen(_data: bytes) -> None:
            nonlocal missing
            missing -= 1
            if not missing:
                meter.count(began)
                all_seen.set()

        listeners = [Listener([nats_url], lambda: None) for _ in range(SEATS)]
        for seat, listener in enumerate(listeners):
            await listener.connect()
            listener.subscribe(f"view.{match:025d}.{seat}.1", seen)
            await listener.flush()
        call = channel.stream_stream(f"/{SERVICE}/Play")()
        move = match.to_bytes(4, "little") + b"m" * 56
        connected += 1
        if connected == flights:
            meter.restart()
        while meter.running():
            missing, began = SEATS, time.perf_counter()
            await call.write(move)
            await call.read()
            await all_seen.wait()
            all_seen.clear()

    await asyncio.gather(*(one(match) for match in range(flights)))


def run(figures: Callable[[Callable[[Meter], Any], Sequence[int]], dict[str, float]], flights: int) -> dict[str, float]:
    """Start all parts; return what `figures` makes of the load and of the ids of the processes that serve."""
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
        store = running.enter_context(RedisServer(folder))
        nats = running.enter_context(NatsServer(folder, websocket_port=0))
        lines, pids = [], [store.pid, nats.pid]
        for part in ("worker", "front"):
            command = [sys.executable, "-m", "benchmarks.road", part, str(store.port), nats.url]
            process = subprocess.Popen(command, stdout=subprocess.PIPE)
            running.callback(_end, process)
            assert process.stdout is not None
            lines.append(process.stdout.readline())
            pids.append(process.pid)
        return figures(lambda meter: drive(int(lines[1]), nats.url, flights, meter), pids)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


if __name__ == "__main__":
    uvloop.run({"front": front, "worker": worker}[sys.argv[1]](int(sys.argv[2]), sys.argv[3]))
