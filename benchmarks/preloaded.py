"""The engine worker alone: `python -m benchmarks.preloaded [--matches N] [--moves M] [--entries L] [--idle I]`.

Matches are dealt and their moves chosen beforehand. One real worker, on a real Redis and NATS, finds all commands in
the intake: nothing keeps it waiting. A listener counts its receipts and views. Matches are written to Redis by the
store's own commit, not through the match service; with `--entries` each already has a journal of that length, and
`--idle` adds matches that are running and in which nobody moves.

A read takes about one command of each match, as it is with one move in flight in each. The worker is stopped while the
intake is filled, after it has folded all matches by a first move each, which is not measured.
"""

import argparse
import asyncio
import hashlib
import secrets
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import uvloop
from pydantic import SecretStr

from benchmarks.engine import play, start
from engine import registry
from engine.journal import Line
from services.commands import RECEIPTS, Envelope, Submit, match_id, partition_of
from services.load.cpu import cpu_of
from services.load.nats_listener import Listener
from services.local import NatsServer, RedisServer
from services.local_process import ServiceProcess
from services.sealing import Sealer
from services.settings import PREFIX, Durability, Settings
from services.store import Store
from services.store.commits import Commit
from services.store.leases import Lease

SEATS = 4
GAME = "timos_twist"
OPTIONS = {"target": 1000}
"""So that a match is long."""
LISTENER = "benchmark"
PARTITIONS = 16
LOADER = "loader"
TOGETHER = 200
"""Matches written at once."""
PATIENCE_S = 120.0


class Wish(NamedTuple):
    """What to measure: so many matches with journals of so many entries, so many moves in each, and idle matches."""

    matches: int = 256
    moves: int = 60
    entries: int = 6
    idle: int = 0
    durability: str = "everysec"


class Found(NamedTuple):
    """What was measured. CPU in microseconds a move; `views` a move, of seats and spectators."""

    rate: float
    worker_us: float
    redis_us: float
    nats_us: float
    views: float

    @property
    def core_rate(self) -> float:
        """Moves a second of one core of the worker."""
        return 1e6 / self.worker_us


class Dealt(NamedTuple):
    """A match as it is written, and the commands that go on with it."""

    match: str
    seed: bytes
    lines: list[Line]
    commands: list[Submit]


def deal(number: int, entries: int, moves: int, at: int) -> Dealt:
    """Return a match with at least `entries` entries that goes on for `moves` moves and does not end with them."""
    game = registry.newest(GAME)
    for attempt in range(1000):
        seed = number * 1000 + attempt
        lines: list[Line] = []
        name = match_id(hashlib.sha256(b"benchmark %d" % seed).digest(), PARTITIONS)
        match = start(game, SEATS, seed, lines.append, name=name, at=at, given=OPTIONS)
        turns = play(match, seed)
        while len(lines) < entries and next(turns, None):
            pass
        written = len(lines)
        commands = list(islice(turns, moves))
        if written >= entries and len(commands) == moves and (not moves or match.to_act):
            assert match.seed is not None
            return Dealt(name, match.seed, lines[:written], commands)
    raise ValueError(f"no match of {GAME} goes on for {entries + moves} entries")


async def write(store: Store, sealer: Sealer, dealt: Iterator[Dealt], idle_at: int) -> list[list[Submit]]:
    """Write matches as a worker would; return the commands of each."""
    leases = {lease.partition: lease for lease in await store.leases.acquire(LOADER, range(PARTITIONS))}
    commands = []
    while some := list(islice(dealt, TOGETHER)):
        done = await store.commit(
            LOADER, [_first(leases[partition_of(one.match)], sealer, one, idle_at) for one in some]
        )
        assert set(done) == {"OK"}, done
        commands += [one.commands for one in some]
    await store.leases.release(LOADER, list(leases.values()))
    return commands


def _first(lease: Lease, sealer: Sealer, dealt: Dealt, idle_at: int) -> Commit:
    return Commit(
        lease=lease,
        match=dealt.match,
        expected=0,
        head=b"",
        lines=dealt.lines,
        seed=sealer.seal(dealt.match, dealt.seed),
        lobby=None,
        ended=False,
        due={f"{dealt.match}:idle": idle_at},
    )


class Counter:
    """Receipts and views, as they come."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self.receipts = self.views = 0
        self.refused: set[str] = set()

    def receipt(self, data: bytes) -> None:
        """Count the receipts of a message."""
        for one in RECEIPTS.decode(data):
            self.receipts += 1
            if one.reason:
                self.refused.add(f"{one.reason}: {one.detail}")

    def view(self, _data: bytes) -> None:
        """Count a view."""
        self.views += 1

    async def until(self, receipts: int, views: int = 0) -> None:
        """Wait for so many. Raises TimeoutError; ValueError for a refusal."""
        async with asyncio.timeout(PATIENCE_S):
            while self.receipts < receipts or self.views < views:
                if self.refused:
                    raise ValueError(f"the worker refused: {self.refused}")
                await asyncio.sleep(0.005)


async def append(store: Store, commands: list[list[Submit]], turns: range) -> None:
    """Put the commands of some turns into the intake: first that of every match, then the next of every match."""
    for turn in turns:
        envelopes = [
            (partition_of(one[turn].match), Envelope(LISTENER, turn * len(commands) + number, one[turn]))
            for number, one in enumerate(commands)
        ]
        await store.intake.append(envelopes)


async def measure(wish: Wish, redis: RedisServer, nats: NatsServer, folder: Path) -> Found:
    """Fill Redis and the intake, and let a worker go through it."""
    batch = max(1, wish.matches // PARTITIONS)
    key = secrets.token_hex(32)
    settings = Settings(
        redis_url=redis.url, nats_url=nats.url, partitions=PARTITIONS, batch=batch, seed_key=SecretStr(key)
    )
    sealer = Sealer.of(settings)
    store = await Store(settings).open()
    now = await store.time()
    idle_at = now + settings.idle_limit_s * 1000
    await write(store, sealer, (deal(1_000_000 + number, 0, 0, now) for number in range(wish.idle)), idle_at)
    dealt = (deal(number, wish.entries, wish.moves + 1, now) for number in range(wish.matches))
    commands = await write(store, sealer, dealt, idle_at)

    counter = Counter()
    listener = Listener([nats.url], lambda: None)
    await listener.connect()
    listener.subscribe(f"receipts.{LISTENER}", counter.receipt)
    listener.subscribe("view.>", counter.view)
    await listener.flush()

    env = {
        "REDIS_URL": redis.url, "NATS_URL": nats.url, "PARTITIONS": PARTITIONS, "BATCH": batch, "LEASE_MS": 60_000,
        "DURABILITY": wish.durability, "SEED_KEY": key,
    }  # fmt: skip
    worker = ServiceProcess(("engine",), folder, env={f"{PREFIX}{name}": str(value) for name, value in env.items()})
    with worker:
        await append(store, commands, range(1))
        await counter.until(wish.matches, wish.matches * (SEATS + 1))
        await asyncio.sleep(0.2)
        worker.pause()
        await append(store, commands, range(1, wish.moves + 1))
        views, pids = counter.views, (worker.pid, redis.pid, nats.pid)
        before, began = [cpu_of(pid) or 0.0 for pid in pids], time.perf_counter()
        worker.resume()
        moves = wish.matches * wish.moves
        await counter.until(wish.matches + moves, views + moves * (SEATS + 1))
        seconds = time.perf_counter() - began
        used = [(cpu_of(pid) or 0.0) - was for pid, was in zip(pids, before, strict=True)]
        worker_us, redis_us, nats_us = (one / moves * 1e6 for one in used)
        found = Found(moves / seconds, worker_us, redis_us, nats_us, (counter.views - views) / moves)
    listener.close()
    await store.close()
    return found


def run(wish: Wish) -> Found:
    """Measure on fresh servers."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            RedisServer(folder, durability=Durability.parse(wish.durability)) as redis,
            NatsServer(folder, websocket_port=0) as nats,
        ):
            return uvloop.run(measure(wish, redis, nats, folder))


def line(name: str, found: Found) -> str:
    """Return the figures for a terminal."""
    return (
        f"{name:28}{found.core_rate:>8,.0f} moves/s a core   {found.rate:>8,.0f}/s in all   "
        f"µs a move: worker {found.worker_us:.0f}, redis {found.redis_us:.0f}, nats {found.nats_us:.0f}   "
        f"{found.views:.1f} views a move"
    )


def main() -> None:
    """Print a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matches", type=int, default=256)
    parser.add_argument("--moves", type=int, default=60, help="in each match")
    parser.add_argument("--entries", type=int, default=6, help="in each journal beforehand")
    parser.add_argument("--idle", type=int, default=0, help="matches that are running and in which nobody moves")
    parser.add_argument("--durability", default="everysec")
    wish = Wish(**vars(parser.parse_args()))
    print(line(f"worker alone, {wish.matches} matches", run(wish)), flush=True)


if __name__ == "__main__":
    main()
