"""Many matches into the archive and out of it, under faults: `python -m benchmarks.archive [--matches N] [--folder F]`.

Short matches of all games are put into a Redis of its own as workers leave them. Archivers, each a process of its own,
bring them into a folder and are killed (SIGKILL) at random moments of their work; Redis is restarted between. Then each
match is read from the archive and compared, byte for byte, with what was put in.
"""

import argparse
import asyncio
import hashlib
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import redis

from benchmarks.engine import play, start
from engine import registry
from engine.journal import Line
from services.archive import Archive, Ended
from services.commands import match_id, partition_of
from services.local import RedisServer
from services.local_process import ServiceProcess
from services.settings import Durability, load
from services.store import Store
from services.store.keys import ended_key, journal_key

PARTITIONS = 64
MOVES = 5
RESTART_EVERY = 3
MOMENT_S = 0.3
"""So long, at most, an archiver lives on after it was to be killed: about a batch."""


class Outcome(NamedTuple):
    """What became of all matches; bytes are those of the plain lines and of the segments."""

    matches: int
    lost: int
    different: int
    left_in_redis: int
    kills: int
    restarts: int
    seconds: float
    plain_bytes: int
    stored_bytes: int


def short_match(number: int) -> tuple[str, list[Line]]:
    """Return the id and the journal of a match that is aborted after a few moves at random."""
    games = registry.games()
    game = games[number % len(games)]
    name = match_id(number.to_bytes(16, "big"), PARTITIONS)
    lines: list[Line] = []
    match = start(game, 2, number, lines.append, name=name)
    moves = play(match, number)
    for _ in range(MOVES):
        next(moves, None)
    if not match.over:
        match.abort("enough", match.version)
    return name, lines


def put(url: str, matches: range) -> Iterator[tuple[str, bytes, int]]:
    """Write matches to Redis as workers leave them; yield id, a hash of the lines, and their bytes."""
    with redis.Redis.from_url(url) as client:
        pipeline = client.pipeline(transaction=False)
        for number in matches:
            name, lines = short_match(number)
            for line in lines:
                pipeline.xadd(journal_key(name), {"line": line.data, "hash": line.hash}, id=f"{line.version + 1}-0")
            pipeline.zadd(ended_key(partition_of(name)), {name: 1})
            if number % 200 == 199:
                pipeline.execute()
            yield name, _digest([line.data for line in lines]), sum(len(line.data) + 1 for line in lines)
        pipeline.execute()


def _digest(lines: list[bytes]) -> bytes:
    return hashlib.sha256(b"\n".join(lines)).digest()


def _left(url: str) -> int:
    async def count() -> int:
        store = Store(load(redis_url=url))
        try:
            return len(await store.matches())
        finally:
            await store.close()

    return asyncio.run(count())


def through_faults(folder: Path, *, matches: int, seed: int, batch: int = 50) -> Outcome:
    """Bring matches into an archive in `folder` with processes that are killed; return what became of them."""
    chance = random.Random(seed)  # noqa: S311 - times of faults, not secrets
    where = folder / "archive"
    kills = restarts = 0
    with RedisServer(folder, durability=Durability("fsync")) as server:
        expected = {name: (digest, size) for name, digest, size in put(server.url, range(matches))}
        env = {
            "CROUPIER_REDIS_URL": server.url,
            "CROUPIER_ARCHIVE": str(where),
            "CROUPIER_ARCHIVE_EVERY_S": "1",
            "CROUPIER_ARCHIVE_BATCH": str(batch),
            "CROUPIER_LOG_LEVEL": "error",
        }
        began = time.monotonic()
        while left := _left(server.url):
            with ServiceProcess(("archive",), folder, name="archive", env=env) as archiver:
                target = left - chance.randint(1, 1 + matches // 10)
                while _left(server.url) > max(0, target):
                    time.sleep(0.01)
                time.sleep(chance.uniform(0, MOMENT_S))
                archiver.kill()
            kills += 1
            with redis.Redis.from_url(server.url) as client:
                client.hset("croupier:archiver", "until", 0)  # its lease has run out
            if kills % RESTART_EVERY == 0:
                server.restart()
                restarts += 1
        seconds = time.monotonic() - began
        left = _left(server.url)
    archive = Archive.at(str(where))
    lost = different = 0
    for name, (digest, _) in expected.items():
        lines = archive.read(name)
        if lines is None:
            lost += 1
        elif _digest(lines) != digest or Ended.of(name, lines).lines != lines:
            different += 1
    plain = sum(size for _, size in expected.values())
    stored = sum(segment.size for segment in archive.segments())
    return Outcome(matches, lost, different, left, kills, restarts, seconds, plain, stored)


def main() -> None:
    """Print what became of the matches; exit with 1 if one was lost or changed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matches", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where to work; a temporary one by default")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        told = through_faults(given.folder or Path(temporary), matches=given.matches, seed=given.seed, batch=200)
    for name, value in told._asdict().items():
        print(f"{name:16}{value:>14,.1f}" if isinstance(value, float) else f"{name:16}{value:>14,}")
    raise SystemExit(1 if told.lost or told.different or told.left_in_redis else 0)


if __name__ == "__main__":
    main()
