"""What the parts could do with nothing in them: `python -m benchmarks.floors [NAME...] [--flights N] [--seconds S]`.

stream   a bare grpc.aio bidirectional echo, N streams with one message in flight on each
shared   the same with N messages in flight on one stream, several in a message
unary    a bare grpc.aio unary echo, N calls in flight
redis    XADD, XREADGROUP and XACK of the bytes of N moves together, as with a consumer group
nats     the views of N moves together, of seats and spectators: published, flushed, received by one listener
sockets  the seats' views of N moves together, each seat with a connection of its own, as players have
road     all of it in a row with nothing in it: N matches, each a stream and four NATS connections, one move in flight

Each runs in fresh processes on free ports, with bytes of the size that a real move has. One line of figures a floor:
moves a second, the time from first to last for one of them, and CPU a move of the processes that take part.
"""

import argparse
import asyncio
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import redis.asyncio
import uvloop

from benchmarks import road
from benchmarks.engine import play, start
from engine import registry
from services.bus import Bus
from services.commands import Envelope, Submit, pack
from services.load.cpu import cpu_of
from services.load.figures import Latency, sort
from services.load.nats_listener import Listener
from services.local import NatsServer, RedisServer
from services.views import ViewEncoder

ECHO = "floor.Echo"
WARM_UP_S = 1.0
LIMIT_S = 50.0
"""So much longer than it measures a floor may take, connecting included: then it fails, and ends its servers."""
SEATS = 4
GAME = "timos_twist"
MOVE = b"m" * 40
"""About what a command is in a message of `Play`."""


class Bytes(NamedTuple):
    """What one move in the middle of a match sends."""

    command: bytes
    views: Sequence[tuple[str, bytes]]


def real_bytes() -> Bytes:
    """Return the bytes of a real move."""
    match = start(registry.newest(GAME), SEATS, 1, lambda _line: None)
    for _, _ in zip(range(40), play(match, 1), strict=False):
        pass
    submit = Submit(match.id, 0, 1, match.version, b'{"play":{"card":"blue-7"}}')
    return Bytes(pack(Envelope("0123456789abcdef", 1, submit)), ViewEncoder(match).all_views())


class Meter:
    """Times of what was done after the warm-up."""

    def __init__(self, seconds: float) -> None:
        """Measure for so long, after the warm-up that begins now."""
        self._seconds = seconds
        self.times: list[float] = []
        self.restart()

    def hold(self) -> None:
        """Measure nothing until `restart`: connections are being opened."""
        self.begin = self.end = math.inf

    def restart(self) -> None:
        """Begin with the warm-up now."""
        self.begin = time.perf_counter() + WARM_UP_S
        self.end = self.begin + self._seconds

    def running(self) -> bool:
        """Whether there is time left."""
        return time.perf_counter() < self.end

    def count(self, began: float, moves: int = 1) -> None:
        """Note moves that began then and are done now."""
        now = time.perf_counter()
        if began >= self.begin and now <= self.end:
            self.times += [now - began] * moves


async def stream(port: int, flights: int, meter: Meter) -> None:
    """One message in flight on each stream."""
    channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")

    async def one() -> None:
        call = channel.stream_stream(f"/{ECHO}/Stream")()
        while meter.running():
            began = time.perf_counter()
            await call.write(MOVE)
            await call.read()
            meter.count(began)

    await asyncio.gather(*(one() for _ in range(flights)))


async def shared(port: int, flights: int, meter: Meter) -> None:
    """All messages in flight on one stream: what has come back is sent again, together."""
    call = grpc.aio.insecure_channel(f"127.0.0.1:{port}").stream_stream(f"/{ECHO}/Stream")()
    half = max(1, flights // 2)
    for part in (half, flights - half):
        if part:
            await call.write(MOVE * part)
    began = time.perf_counter()
    while meter.running():
        data = await call.read()
        meter.count(began, len(data) // len(MOVE))
        began = time.perf_counter()
        await call.write(data)


async def unary(port: int, flights: int, meter: Meter) -> None:
    """Calls, each in flight on its own."""
    call = grpc.aio.insecure_channel(f"127.0.0.1:{port}").unary_unary(f"/{ECHO}/Unary")

    async def one() -> None:
        while meter.running():
            began = time.perf_counter()
            await call(MOVE)
            meter.count(began)

    await asyncio.gather(*(one() for _ in range(flights)))


async def intake(port: int, flights: int, meter: Meter) -> None:
    """Moves through a Redis stream: added, read by a group, acknowledged."""
    client = redis.asyncio.Redis(port=port)
    command = real_bytes().command
    await client.xgroup_create("moves", "engine", mkstream=True)
    while meter.running():
        began = time.perf_counter()
        async with client.pipeline(transaction=False) as pipe:
            for _ in range(flights):
                pipe.execute_command("XADD", "moves", "*", "c", command)
            await pipe.execute()
        read = await client.xreadgroup("engine", "0", {"moves": ">"}, count=flights, block=1000)
        await client.xack("moves", "engine", *(entry for entry, _ in read[0][1]))
        meter.count(began, flights)
    await client.aclose()


async def views(port: int, flights: int, meter: Meter) -> None:
    """Views over NATS, published as a worker does, and received."""
    url = f"nats://127.0.0.1:{port}"
    bus = await Bus.connect(url, "floor")
    sent = real_bytes().views
    listener = Listener([url], lambda: None)
    await listener.connect()
    listener.subscribe("view.>", lambda _data: None)
    await listener.flush()
    while meter.running():
        began = time.perf_counter()
        await bus.publish([*sent] * flights)
        await listener.flush()
        meter.count(began, flights)
    listener.close()
    await bus.close()


async def sockets(port: int, flights: int, meter: Meter) -> None:
    """Views over NATS to a connection for each seat of so many matches."""
    url = f"nats://127.0.0.1:{port}"
    meter.hold()
    bus = await Bus.connect(url, "floor")
    data = [one for _, one in real_bytes().views[:SEATS]]
    sent = [(f"view.{match}.{seat}.1", data[seat]) for match in range(flights) for seat in range(SEATS)]
    listeners = []
    missing, all_there = 0, asyncio.Event()

    def take(_data: bytes) -> None:
        nonlocal missing
        missing -= 1
        if not missing:
            all_there.set()

    for subject, _ in sent:
        listener = Listener([url], lambda: None)
        await listener.connect()
        listener.subscribe(subject, take)
        await listener.flush()
        listeners.append(listener)
    meter.restart()
    while meter.running():
        began = time.perf_counter()
        missing = len(sent)
        all_there.clear()
        await bus.publish(sent)
        await all_there.wait()
        meter.count(began, flights)
    for listener in listeners:
        listener.close()
    await bus.close()


Floor = Callable[[int, int, Meter], Awaitable[None]]
GRPC: dict[str, Floor] = {"stream": stream, "shared": shared, "unary": unary}
SERVERS: dict[str, tuple[type[RedisServer] | type[NatsServer], Floor]] = {
    "redis": (RedisServer, intake),
    "nats": (NatsServer, views),
    "sockets": (NatsServer, sockets),
}
NAMES = (*GRPC, *SERVERS, "road")


async def echo() -> None:
    """Serve: answer every message with itself; print the port."""

    async def play(requests: Any, _context: Any) -> Any:
        async for request in requests:
            yield request

    async def answer(request: Any, _context: Any) -> Any:
        return request

    handlers = {
        "Stream": grpc.stream_stream_rpc_method_handler(play),
        "Unary": grpc.unary_unary_rpc_method_handler(answer),
    }
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(ECHO, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()


def figures(work: Callable[[Meter], Awaitable[None]], pids: Sequence[int], seconds: float) -> dict[str, float]:
    """Put one load on servers and return its figures. Raises TimeoutError."""
    meter = Meter(seconds)

    async def used(until: Callable[[], float]) -> tuple[float, float]:
        while time.perf_counter() < until():  # noqa: ASYNC110 - a time that may still move
            await asyncio.sleep(0.01)
        return sum(cpu_of(pid) or 0.0 for pid in pids), time.process_time()

    async def both() -> tuple[tuple[float, float], tuple[float, float]]:
        load = asyncio.ensure_future(work(meter))
        found = await used(lambda: meter.begin), await used(lambda: meter.end)
        await load
        return found

    # Not closed, nor are the channels: gRPC may take for ever to end hundreds of open calls.
    before, after = uvloop.new_event_loop().run_until_complete(asyncio.wait_for(both(), seconds + LIMIT_S))
    latency = Latency.of(sort(meter.times), encoded=False)
    share = 1e6 / (latency.count or 1)
    return {
        "rate": latency.count / seconds,
        "p50_ms": latency.p50,
        "p99_ms": latency.p99,
        "server_us": (after[0] - before[0]) * share,
        "client_us": (after[1] - before[1]) * share,
    }


def one(name: str, flights: int, seconds: float) -> dict[str, float]:
    """Start the server of a floor, and run it in this process."""
    if name == "road":
        return road.run(lambda work, pids: figures(work, pids, seconds), flights)
    if name in SERVERS:
        kind, work = SERVERS[name]
        with tempfile.TemporaryDirectory() as folder, kind(Path(folder)) as server:
            return figures(lambda meter: work(server.port, flights, meter), [server.pid], seconds)
    serving = subprocess.Popen([sys.executable, "-m", "benchmarks.floors", "--serve"], stdout=subprocess.PIPE)
    try:
        assert serving.stdout is not None
        port = int(serving.stdout.readline())
        return figures(lambda meter: GRPC[name](port, flights, meter), [serving.pid], seconds)
    finally:
        serving.kill()
        serving.wait()
        if serving.stdout is not None:
            serving.stdout.close()


def floor(name: str, flights: int, seconds: float) -> dict[str, float]:
    """Run a floor in a fresh process and return its figures."""
    command = ["-m", "benchmarks.floors", name, "--flights", str(flights), "--seconds", str(seconds), "--json"]
    found = subprocess.run(
        [sys.executable, *command], check=True, stdout=subprocess.PIPE, timeout=seconds + 2 * LIMIT_S
    )
    figures: dict[str, float] = json.loads(found.stdout)
    return figures


def line(name: str, found: dict[str, float]) -> str:
    """Return the figures of a floor for a terminal."""
    return (
        f"{name:24}{found['rate']:>9,.0f}/s   p50 {found['p50_ms']:>6.1f}  p99 {found['p99_ms']:>6.1f} ms   "
        f"server {found['server_us']:>4.0f}  client {found['client_us']:>4.0f} µs"
    )


def main() -> None:
    """Print a line a floor."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(NAMES), help=", ".join(NAMES))
    parser.add_argument("--flights", type=int, default=50, metavar="N")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        uvloop.run(echo())
    elif given.json:
        print(json.dumps(one(given.names[0], given.flights, given.seconds)), flush=True)
        os._exit(0)  # for the same reason
    else:
        for name in given.names:
            print(line(f"{name}, {given.flights} in flight", floor(name, given.flights, given.seconds)), flush=True)


if __name__ == "__main__":
    main()
