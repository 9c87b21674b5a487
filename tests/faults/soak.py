"""`python -m tests.faults.soak`: play all games for long, and watch the memory of every process.

Matches come and go, each round with new players, and Redis keeps them for a minute. The first third of the time fills
caches; after that no process may grow. Every journal is audited as in `make faults`.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field
from rich.console import Console
from rich.table import Table

from tests.faults.field import Field, Setup
from tests.faults.players import Row

MIB = 1024 * 1024
SAMPLE_S = 2.0
ROUND_S = 45.0
SETTINGS = (("RETENTION_S", "60"), ("CACHED_MATCHES", "64"))
WARM_UP = 1 / 3
"""Part of the time in which caches fill."""
SLACK_MIB = 4.0
SLACK = 0.03
"""How much a process may seem to grow, by the noise of its allocator: so much and this part of it."""
console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)


class Watched(Struct):
    """The memory of one process over time, in MiB."""

    name: str
    mib: list[float] = field(default_factory=list)

    @property
    def settled(self) -> list[float]:
        """What was seen after the caches had filled."""
        return self.mib[int(len(self.mib) * WARM_UP) :]

    @property
    def growth(self) -> float:
        """By how much its last third is above its middle one: medians, so that a peak of a moment does not count."""
        half = len(self.settled) // 2
        return statistics.median(self.settled[half:]) - statistics.median(self.settled[:half])

    @property
    def flat(self) -> bool:
        half = len(self.settled) // 2
        return self.growth <= SLACK_MIB + SLACK * statistics.median(self.settled[:half])


def resident(pids: Sequence[int]) -> float:
    """MiB that processes have in memory; pages that they share count for each."""
    total = 0
    for pid in pids:
        try:
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except OSError:
            continue  # it has ended
    return total * os.sysconf("SC_PAGE_SIZE") / MIB


def children(pid: int) -> list[int]:
    try:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [int(child) for child in found]


async def watch(stand: Field, watched: dict[str, Watched]) -> None:
    """Sample every process until cancelled; `Redis, data` is what Redis says that its data takes."""

    def note(name: str, mib: float) -> None:
        watched.setdefault(name, Watched(name)).mib.append(mib)

    while True:
        for process in stand.processes:
            note(process.name, resident([process.pid]))
        for engine in stand.stack.engines:
            if pids := children(engine.pid):
                note(f"{engine.name}, computer players", resident(pids))
        with stand.redis as client:
            note("redis, data", client.info("memory")["used_memory"] / MIB)
        await asyncio.sleep(SAMPLE_S)


async def soak(seconds: float, think_ms: float, matches: int) -> tuple[Row, list[Watched]]:
    """Play for so long; return what became of the moves, and the memory of every process."""
    total = Row("soak", injected=1)
    watched: dict[str, Watched] = {}
    with tempfile.TemporaryDirectory(prefix="croupier-soak-", ignore_cleanup_errors=True) as folder:
        async with Field(Setup(settings=SETTINGS), Path(folder)) as stand:
            watching = asyncio.create_task(watch(stand, watched))
            until, number = time.monotonic() + seconds, 0
            while (left := until - time.monotonic()) > 0:
                number += 1
                players = stand.gather(seed=number, think_ms=think_ms, matches=matches)
                await players.open()
                await asyncio.sleep(min(ROUND_S, max(1.0, left)))
                await players.end(total)
                await players.close()
                told = f"{time.monotonic() - until + seconds:5.0f} s: {total.accepted:,} moves; MiB: "
                console.print(told + ", ".join(f"{one.name} {one.mib[-1]:.1f}" for one in watched.values()))
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
    return total, list(watched.values())


def main() -> int:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--think", type=float, default=25.0, help="milliseconds before each move, on average")
    parser.add_argument("--matches", type=int, default=4, help="of each game at the same time")
    asked = parser.parse_args()
    row, watched = asyncio.run(soak(asked.minutes * 60, asked.think, asked.matches))
    made = Table(box=None, pad_edge=False, title=f"Memory in MiB over {asked.minutes:g} minutes", title_justify="left")
    made.add_column("process")
    for title in ("at first", "after a third", "after two", "at the end", "most", "growth", ""):
        made.add_column(title, justify="right")
    for one in watched:
        marks = [one.mib[min(len(one.mib) - 1, len(one.mib) * third // 3)] for third in range(4)]
        verdict = "flat" if one.flat else "GROWS"
        made.add_row(one.name, *(f"{mib:.1f}" for mib in (*marks, max(one.mib), one.growth)), verdict)
    console.print(made)
    for sentence in row.told:
        console.print(f"    {sentence}", markup=False)
    outcome = f"lost {row.lost}, duplicated {row.duplicated}, diverged {row.diverged}, failed {row.failed}"
    console.print(f"{row.accepted:,} moves accepted; {outcome}")
    return 0 if row.good and all(one.flat for one in watched) else 1


if __name__ == "__main__":
    sys.exit(main())
