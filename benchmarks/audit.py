"""The audit of an archive on one process and on more: `python -m benchmarks.audit [--matches N] [--processes N …]`.

Whole matches of all games go into an archive in a folder; then each number of processes audits all of it, with the
time that its processes take to start. Entries a second, in all and for each process; and for each second of CPU that
all processes took together, which says what more processes cost even while the machine is busy with other things.
"""

import argparse
import resource
import tempfile
import time

from benchmarks.archive import PARTITIONS
from benchmarks.engine import play, start
from engine import registry
from engine.journal import Line
from services.archive import Archive, Ended
from services.audit_report import AUDIT
from services.commands import match_id
from services.jobs import on_processes, run
from services.journal_parts import of_archive
from services.processes import cores

BATCH = 100
MINUTE_MS = 60_000


def match(number: int) -> Ended:
    """Return a match played to its end at random."""
    games = registry.games()
    name = match_id(number.to_bytes(16, "big"), PARTITIONS)
    lines: list[Line] = []
    playing = start(games[number % len(games)], 4, number, lines.append, name=name, at=number * MINUTE_MS)
    for _ in play(playing, number):
        pass
    return Ended.of(name, [line.data for line in lines])


def _cpu() -> float:
    """Return the CPU seconds of this process and of all that it has started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> None:
    """Print a line for each number of processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matches", type=int, default=3000)
    parser.add_argument("--processes", type=int, action="append")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        archive = Archive.at(folder)
        for first in range(0, given.matches, BATCH):
            archive.write([match(number) for number in range(first, min(first + BATCH, given.matches))])
        print(f"{'processes':>9}{'entries':>12}{'seconds':>10}{'entries/s':>12}{'a process':>12}{'a CPU second':>14}")
        for workers in given.processes or sorted({1, cores()}):
            began, cpu = time.perf_counter(), _cpu()
            verdicts = [
                each.verdict for _, some in run(of_archive(folder), AUDIT, on_processes(workers)) for each in some
            ]
            seconds = time.perf_counter() - began
            assert len(verdicts) == given.matches
            assert all(verdict.outcome == "consistent" for verdict in verdicts)
            entries = sum(verdict.entries for verdict in verdicts)
            rate = entries / seconds
            each, burnt = rate / workers, entries / (_cpu() - cpu)
            print(f"{workers:>9}{entries:>12,}{seconds:>10.1f}{rate:>12,.0f}{each:>12,.0f}{burnt:>14,.0f}", flush=True)


if __name__ == "__main__":
    main()
