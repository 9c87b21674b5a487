"""Single steps of a move's road, and the audit: `python -m benchmarks.parts [--seconds S] [NAME...]`.

views   the views of all seats and of spectators, encoded from a state whose digest is made, for each game; one core
commit  the store's commit on a real Redis, of 1, 10 and 100 matches in one call
audit   journals audited with every check, on one core and on all: entries a second, and how nearly linear that is
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path

import uvloop

from benchmarks.engine import play, recorded, start
from engine import registry
from engine.audit import Source, audit_source, files
from engine.journal import NO_HASH, Line
from services.audit_report import audit_all
from services.journal_parts import BATCH
from services.load.cpu import cpu_of
from services.local import RedisServer
from services.processes import cores
from services.settings import Settings
from services.store import Store
from services.store.commits import Commit
from services.views import ViewEncoder

SEATS = 4
GAME = "timos_twist"
WORKER = "benchmark"
JOURNALS = 24
"""Different journals that are audited, again and again."""
ENTRIES = 500
"""About how many a journal has."""


def views(seconds: float) -> None:
    """Print what encoding takes, a line a game."""
    for game in registry.games():
        seats = min(SEATS, game.seats[-1])
        done, size, used, began, seed = 0, 0, 0.0, time.process_time(), 0
        while time.process_time() - began < seconds:
            seed += 1
            match = start(game, seats, seed, lambda _line: None)
            encoder = ViewEncoder(match)
            for _ in play(match, seed):
                before = time.thread_time()
                encoded = encoder.all_views()
                used += time.thread_time() - before
                done += 1
                size += sum(len(data) for _, data in encoded)
        print(
            f"views, {game.name:24}{done / used:>10,.0f} moves/s a core   {used / done * 1e6:>6.1f} µs and "
            f"{size / done:,.0f} bytes for the {seats + 1} views of a move",
            flush=True,
        )


async def _commits(redis: RedisServer, together: int, seconds: float) -> str:
    lines: list[Line] = []
    for _ in play(start(registry.newest(GAME), SEATS, 1, lines.append), 1):
        pass
    store = await Store(Settings(redis_url=redis.url, partitions=1)).open()
    (lease,) = await store.leases.acquire(WORKER, [0])
    heads = [NO_HASH, *(line.hash for line in lines)]
    done, began, client, server = 0, time.perf_counter(), time.process_time(), cpu_of(redis.pid) or 0.0
    round_ = 0
    while time.perf_counter() - began < seconds:
        round_ += 1
        matches = [f"000{round_:011d}{number:011d}" for number in range(together)]
        for version, line in enumerate(lines):
            commits = [
                Commit(lease, match, version, heads[version], [line], None, None, ended=False, due={})
                for match in matches
            ]
            assert set(await store.commit(WORKER, commits)) == {"OK"}
            done += together
            if time.perf_counter() - began > seconds:
                break
    took = time.perf_counter() - began
    client, server = time.process_time() - client, (cpu_of(redis.pid) or 0.0) - server
    await store.close()
    return (
        f"commit, {together:>3} together        {done / took:>13,.0f} entries/s         µs of CPU an entry: "
        f"store {client / done * 1e6:.0f}, redis {server / done * 1e6:.0f}"
    )


def commit(seconds: float) -> None:
    """Print what a commit takes, by how many matches are committed together."""
    for together in (1, 10, 100):
        with tempfile.TemporaryDirectory() as folder, RedisServer(Path(folder)) as redis:
            print(uvloop.run(_commits(redis, together, seconds)), flush=True)


def audit(seconds: float) -> None:
    """Print the rate of one core, and of all from the moment at which every process has delivered something."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, JOURNALS + 1):
            lines = recorded(registry.newest(GAME), SEATS, seed)
            Path(folder, f"{seed}.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
        _audit(cycle(list(files([Path(folder)]))), seconds)


def _audit(sources: Iterator[Source], seconds: float) -> None:
    entries, began = 0, time.process_time()
    while time.process_time() - began < seconds:
        verdict = audit_source(next(sources)).verdict
        assert verdict.difference is None, verdict
        entries += verdict.entries
    alone = entries / (time.process_time() - began)
    print(f"audit, one core               {alone:>10,.0f} entries/s a core", flush=True)
    workers = cores()
    skipped = 4 * BATCH * workers
    journals = skipped + int(alone * seconds * workers / ENTRIES)
    done = 0
    for number, (_, verdict) in enumerate(audit_all(islice(sources, journals), None, workers)):
        if number == skipped:
            began = time.perf_counter()
        done += verdict.entries if number > skipped else 0
    rate = done / (time.perf_counter() - began)
    print(
        f"audit, {workers} processes            {rate:>10,.0f} entries/s in all       "
        f"{rate / alone / workers:.2f} of {workers} times one core",
        flush=True,
    )


PARTS: dict[str, Callable[[float], None]] = {"views": views, "commit": commit, "audit": audit}


def main() -> None:
    """Print the parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--seconds", type=float, default=2.0, help="of each figure")
    given = parser.parse_args()
    for name in given.names:
        PARTS[name](given.seconds)


if __name__ == "__main__":
    main()
