"""Moves a second against the number of engine workers, and which resource is full: `python -m benchmarks.scaling`.

`croupier load` in a closed loop, on a fresh stack for each number of workers. On a machine with fewer cores than the
stack has processes the machine is full at once, which says nothing about workers; so each may use only `--share` of a
core, as if it ran on a slow one of its own: it is paused whenever it has used more. With `--share 1` nobody is paused.
A worker with few matches makes small batches, which cost more a move; so there are many, shared among the workers.

A process that takes commands one at a time is full at one core (a worker: at its share); the machine when all its cores
are busy, whoever keeps them so. The last lines compute from the CPU a move what one core of each part could carry.
"""

import argparse
import contextlib
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from services.load.cpu import cpu_of
from services.load.plan import Plan
from services.load.report import Report
from services.load.run import SEAT_RATE, Wish, measure_stack
from services.local_process import ServiceProcess
from services.settings import PREFIX
from services.stack import Stack

FULL = 0.85
"""Part of its core above which a process is full: the rest goes to waiting for others."""
MACHINE_FULL = 0.95
LOOK_S = 0.01
SAVED_S = 0.02
"""CPU time that a worker may save up while it has nothing to do."""
PARTITIONS = 12
"""A number that many numbers of workers divide; and few, since tending them takes a slow core's time, too."""


@contextmanager
def slowed(workers: Sequence[ServiceProcess], share: float) -> Iterator[None]:
    """Let each worker use only so much of a core, by pausing it."""
    if share >= 1:
        yield
        return
    done = threading.Event()

    def limit(worker: ServiceProcess) -> None:
        paused, budget, then, used = False, 0.0, time.monotonic(), cpu_of(worker.pid) or 0.0
        while not done.wait(LOOK_S):
            now, cpu = time.monotonic(), cpu_of(worker.pid) or 0.0
            budget = min(budget + share * (now - then), SAVED_S) - (cpu - used)
            then, used = now, cpu
            over = budget < 0
            if over != paused:
                os.kill(worker.pid, signal.SIGSTOP if over else signal.SIGCONT)
                paused = over
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGCONT)

    limiting = [threading.Thread(target=limit, args=(worker,), daemon=True) for worker in workers]
    for one in limiting:
        one.start()
    try:
        yield
    finally:
        done.set()
        for one in limiting:
            one.join()


def busy() -> tuple[float, float]:
    """Return the seconds that the machine's cores have worked, and all that there were."""
    ticks = [int(word) for word in Path("/proc/stat").read_text("ascii").splitlines()[0].split()[1:9]]
    hertz = os.sysconf("SC_CLK_TCK")
    return (sum(ticks) - ticks[3] - ticks[4]) / hertz, sum(ticks) / hertz


def measure(engines: int, matches: int, seconds: float, share: float) -> tuple[Report, float]:
    """Return the report of a run and which part of the machine was busy. Raises PlanError, LocalProcessError."""
    plan = Plan(server="", nats="", game="timos_twist", seats=4, matches=matches, seconds=seconds, warm_up=2.0)
    env = {f"{PREFIX}{name}": str(SEAT_RATE) for name in ("SEAT_RATE", "ADDRESS_RATE", "ADDRESS_STREAMS")}
    env |= {f"{PREFIX}PARTITIONS": str(PARTITIONS)}
    with tempfile.TemporaryDirectory() as folder, Stack(Path(folder), engines=engines, env=env) as stack:
        time.sleep(3)  # until the partitions are spread
        with slowed(stack.engines, share):
            before = busy()
            found = measure_stack(Wish(plan=plan), stack, Console(stderr=True, quiet=True))
            after = busy()
    return found, (after[0] - before[0]) / (after[1] - before[1])


def full(found: Report, engines: int, share: float, machine: float) -> str:
    """Name the resource that is full, or say that none is."""
    cores = {name: us * found.moves_per_s / 1e6 for name, us in {**found.cpu_us, "client": found.client_us}.items()}
    limits = {"engine": engines * share}
    fullest = max(cores, key=lambda name: cores[name] / limits.get(name, 1.0))
    part = cores[fullest] / limits.get(fullest, 1.0)
    if part >= FULL:
        return f"{fullest}: {part:.0%} of what it may use"
    if machine >= MACHINE_FULL:
        return f"the machine's cores: {machine:.0%}"
    return f"none (most: {fullest}, {part:.0%}; machine {machine:.0%})"


def main() -> None:
    """Print a line for each number of workers; exit with 1 if a move was lost, made twice or seen differently."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, action="append", metavar="N", help="may be repeated; 1, 2, 3, 4")
    parser.add_argument("--matches", type=int, default=192, help="open at the same time, in all")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--share", type=float, default=0.1, help="of a core that each worker may use")
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores; each worker may use {given.share:g} of one; {given.matches} matches")
    print("\n| workers | moves/s | beside one | p50 ms | machine busy | full |")
    print("| ---: | ---: | ---: | ---: | ---: | --- |")
    first, good = 0.0, True
    for engines in given.workers or (1, 2, 3, 4):
        found, machine = measure(engines, given.matches, given.seconds, given.share)
        good &= found.good
        for problem in (*found.problems, *found.checked.examples):
            print(problem)
        if not found.moves:
            raise SystemExit(1)
        first = first or found.moves_per_s
        print(
            f"| {engines} | {found.moves_per_s:,.0f} | {found.moves_per_s / first:.2f} | {found.view.p50:.0f} | "
            f"{machine:.0%} | {full(found, engines, given.share, machine)} |",
            flush=True,
        )
    print("\nA core of each would carry, by the CPU a move of the last line:")
    for name, us in sorted(found.cpu_us.items(), key=lambda one: -one[1]):
        print(f"  {name}: {1e6 / us:,.0f} moves/s")
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
