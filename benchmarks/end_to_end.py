"""Moves end to end beside a bare gRPC echo: `python -m benchmarks.end_to_end [--matches N] [--seconds S] [--game NAME]`.

Both run on this machine in one go, each with fresh processes: the echo is a grpc.aio bidirectional stream, one message in
flight on each of N streams; Croupier is the whole stack with N open matches of four seats, one move in flight a match, the
next one sent when all four views that include the last have been received and decoded. Prints moves and messages a second,
their ratio, latency, and each process's CPU time a move.
"""

import argparse
import asyncio
import json
import os
import random
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import grpc
import msgspec
import nats
import uvloop
from croupier.v1 import match_service_pb2 as pb
from croupier.v1 import match_service_pb2_grpc as pb_grpc
from google.protobuf.json_format import MessageToDict
from msgspec import Raw, Struct

from services import wire
from services.settings import PREFIX
from services.stack import Stack

SEATS = 4
WARM_UP_S = 2.0


class Part(Struct):
    """The game's part of a view, as far as a player needs it."""

    legal: list[Raw] = []


class View(Struct):
    """A view, as far as a player needs it."""

    match: str
    version: int
    prompt: int | None
    status: str
    to_act: list[int]
    timos_twist: Part | None = None
    bombenziehen: Part | None = None
    bluffing_billionaires: Part | None = None
    clever_gedreht: Part | None = None
    toms_time_bluff: Part | None = None


VIEWS = msgspec.json.Decoder(View)


class Match:
    """One open match: its seats' handles, and what they have seen."""

    def __init__(self, load: "Load") -> None:
        self.load = load
        self.handles: list[int] = []
        self.views: list[View | None] = [None] * SEATS
        self.version = 0
        self.sent = 0.0

    def see(self, seat: int, view: View) -> None:
        """Take a view; when all seats have the newest one, move."""
        self.views[seat] = view
        if all(known is not None and known.version >= self.version for known in self.views):
            self.load.seen(self)

    def accepted(self, version: int) -> None:
        """The move's entry has this version: wait for everybody to see it."""
        self.version = version
        if all(known is not None and known.version >= version for known in self.views):
            self.load.seen(self)


class Load:
    """N matches over one `Play` stream and a few NATS connections."""

    def __init__(self, stub: Any, connections: list[Any], game: str, key: str) -> None:
        self.stub = stub
        self.connections = connections
        self.game = game
        self.metadata = [("authorization", f"Bearer {key}")]
        self.moves = 0
        self.latency: list[float] = []
        self.pick = random.Random(1)  # noqa: S311 - play, not secrets
        self.outgoing: list[Any] = []
        self.wake = asyncio.Event()
        self.pending: dict[int, Match] = {}
        self.attached: dict[int, asyncio.Future[None]] = {}
        self.last = 0
        self.refused: dict[str, int] = {}
        self.encoded: dict[bytes, Any] = {}
        self.streaming = asyncio.create_task(self.stream())
        self.opening: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Create and fill one match."""
        request = pb.CreateMatchRequest(
            request_id=secrets.token_bytes(16),
            options=wire.options_to_proto(self.game, {}),
            seats=[pb.SeatSetup(kind="open")] * SEATS,
        )
        created = await self.stub.CreateMatch(request, timeout=30, metadata=self.metadata)
        match = Match(self)
        for seat in range(SEATS):
            joined = await self.stub.JoinMatch(
                pb.JoinMatchRequest(match=created.match, request_id=secrets.token_bytes(16), name=f"Player {seat}"),
                timeout=30,
            )
            self.last += 1
            handle = self.last
            match.handles.append(handle)
            future = self.attached[handle] = asyncio.get_running_loop().create_future()
            self.outgoing.append(pb.Attach(handle=handle, token=joined.token))
            self.wake.set()
            connection = self.connections[handle % len(self.connections)]
            await connection.subscribe(joined.subject, cb=self.listener(match, seat))
            await future
            present = await self.stub.GetView(pb.GetViewRequest(token=joined.token), timeout=30)
            document = MessageToDict(present.view, preserving_proto_field_name=True)
            view = VIEWS.decode(msgspec.json.encode({"to_act": [], "prompt": None, self.game: None} | document))
            known = match.views[seat]
            if view.status != "lobby" and (known is None or known.version < view.version):
                match.version = max(match.version, view.version if match.version == 0 else 0)
                match.see(seat, view)

    def listener(self, match: Match, seat: int) -> Any:
        """Return what NATS calls for each view of a seat."""

        async def on_view(message: Any) -> None:
            view = VIEWS.decode(message.data)
            if view.status == "lobby":
                return
            match.version = max(match.version, view.version if match.version == 0 else 0)
            match.see(seat, view)

        return on_view

    def seen(self, match: Match) -> None:
        """All seats have seen the last move: count it and make the next one."""
        now = time.perf_counter()
        if match.sent:
            self.moves += 1
            self.latency.append(now - match.sent)
        view = match.views[0]
        assert view is not None
        if view.status != "running" or not view.to_act:
            if view.status != "running":
                task = asyncio.create_task(self.open())
                self.opening.add(task)
                task.add_done_callback(self.opening.discard)
            match.sent = 0
            match.version = view.version + 1
            return
        seat = view.to_act[0]
        mine = match.views[seat]
        assert mine is not None
        legal = getattr(mine, self.game).legal
        raw = bytes(self.pick.choice(legal))
        move = self.encoded.get(raw)
        if move is None:
            move = self.encoded[raw] = wire.move_from_json(self.game, raw)
        self.last += 1
        self.pending[self.last] = match
        match.sent = now
        match.version = 1 << 30
        self.outgoing.append(pb.Command(id=self.last, handle=match.handles[seat], prompt=mine.prompt, move=move))
        self.wake.set()

    async def requests(self) -> Any:
        """Yield what waits, as one message."""
        while True:
            await self.wake.wait()
            self.wake.clear()
            waiting, self.outgoing = self.outgoing, []
            yield pb.PlayRequest(
                attach=[item for item in waiting if isinstance(item, pb.Attach)],
                commands=[item for item in waiting if isinstance(item, pb.Command)],
            )

    async def stream(self) -> None:
        """Read receipts for ever."""
        async for response in self.stub.Play(self.requests()):
            for attached in response.attached:
                self.attached.pop(attached.handle).set_result(None)
            for receipt in response.receipts:
                match = self.pending.pop(receipt.id)
                if receipt.WhichOneof("outcome") == "refusal":
                    reason = pb.RefusalReason.Name(receipt.refusal.reason)
                    self.refused[reason] = self.refused.get(reason, 0) + 1
                else:
                    match.accepted(receipt.version)


def cpu(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def croupier(stack: Stack, matches: int, seconds: float, game: str) -> dict[str, Any]:
    """Measure the stack."""
    channel = grpc.aio.insecure_channel(stack.grpc)
    connections = [await nats.connect(stack.nats.url) for _ in range(4)]
    load = Load(
        pb_grpc.MatchServiceStub(channel), connections, game, stack.environment[f"{PREFIX}OPERATOR_KEY"]
    )  # fmt: skip
    await asyncio.gather(*(load.open() for _ in range(matches)))
    await asyncio.sleep(WARM_UP_S)
    processes = {"match": [stack.match], "engine": stack.engines, "redis": [stack.redis], "nats": [stack.nats]}
    before = {name: sum(cpu(one.pid) for one in group) for name, group in processes.items()}
    own, moves, began = time.process_time(), load.moves, time.perf_counter()
    load.latency.clear()
    await asyncio.sleep(seconds)
    took, done = time.perf_counter() - began, load.moves - moves
    latency = sorted(load.latency)
    costs = {
        name: (sum(cpu(one.pid) for one in group) - before[name]) / done * 1e6 for name, group in processes.items()
    }
    costs["client"] = (time.process_time() - own) / done * 1e6
    load.streaming.cancel()
    for connection in connections:
        await connection.close()
    await channel.close()
    return {
        "rate": done / took,
        "p50_ms": latency[len(latency) // 2] * 1e3,
        "p99_ms": latency[int(len(latency) * 0.99)] * 1e3,
        "cpu_us": {name: round(cost) for name, cost in costs.items()},
        "refused": load.refused,
    }


def main() -> None:
    """Print one comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matches", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--game", default="timos_twist")
    parser.add_argument("--engines", type=int, default=1)
    given = parser.parse_args()
    echo = json.loads(
        subprocess.run(  # noqa: S603 - this repository's own module
            [sys.executable, "-m", "benchmarks.echo", str(given.matches), str(given.seconds)],
            check=True,
            capture_output=True,
        ).stdout
    )
    print(f"bare echo     {echo['rate']:>8,.0f} messages/s, p50 {echo['p50_ms']:.1f} ms, p99 {echo['p99_ms']:.1f} ms")
    with tempfile.TemporaryDirectory() as folder:
        with Stack(Path(folder), engines=given.engines, env={f"{PREFIX}SEAT_RATE": "100000"}) as stack:
            found = uvloop.run(croupier(stack, given.matches, given.seconds, given.game))
    print(
        f"croupier      {found['rate']:>8,.0f} moves/s,    p50 {found['p50_ms']:.1f} ms, p99 {found['p99_ms']:.1f} ms"
    )
    servers = sum(cost for name, cost in found["cpu_us"].items() if name != "client")
    print(f"cpu us a move {servers:>8}: {found['cpu_us']}")
    print(f"refused       {found['refused']}")
    print(f"ratio         {found['rate'] / echo['rate']:>8.2f} of the bare echo")


if __name__ == "__main__":
    main()
