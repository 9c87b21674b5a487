"""The floor: a bare grpc.aio bidirectional echo, `python -m benchmarks.echo STREAMS SECONDS`. Prints one JSON object."""

import asyncio
import json
import os
import subprocess
import sys
import time
from typing import Any

import grpc
import uvloop

METHOD = "/echo.Echo/Play"
MESSAGE = b"m" * 64
WARM_UP_S = 2.0


async def serve() -> None:
    """Answer every message with itself."""

    async def play(requests: Any, _context: Any) -> Any:
        async for request in requests:
            yield request

    server = grpc.aio.server()
    handler = grpc.stream_stream_rpc_method_handler(play)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("echo.Echo", {"Play": handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()


async def measure(port: int, streams: int, seconds: float) -> dict[str, float]:
    """Return messages a second and latency with one message in flight on each stream."""
    channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
    latency: list[float] = []

    async def one() -> None:
        call = channel.stream_stream(METHOD)()
        while True:
            sent = time.perf_counter()
            await call.write(MESSAGE)
            await call.read()
            latency.append(time.perf_counter() - sent)

    tasks = [asyncio.create_task(one()) for _ in range(streams)]
    await asyncio.sleep(WARM_UP_S)
    latency.clear()
    began = time.perf_counter()
    await asyncio.sleep(seconds)
    took = time.perf_counter() - began
    found = sorted(latency)
    assert not any(task.done() for task in tasks)
    return {
        "rate": len(found) / took,
        "p50_ms": found[len(found) // 2] * 1e3,
        "p99_ms": found[int(len(found) * 0.99)] * 1e3,
    }


def main() -> None:
    """Start the server in a process of its own and measure it."""
    if sys.argv[1] == "serve":
        uvloop.run(serve())
        return
    server = subprocess.Popen([sys.executable, "-m", "benchmarks.echo", "serve"], stdout=subprocess.PIPE)  # noqa: S603
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        loop = uvloop.new_event_loop()
        print(json.dumps(loop.run_until_complete(measure(port, int(sys.argv[1]), float(sys.argv[2])))), flush=True)
    finally:
        server.kill()
        server.wait()
    os._exit(0)  # cancelling a hundred open calls can take for ever


if __name__ == "__main__":
    main()
