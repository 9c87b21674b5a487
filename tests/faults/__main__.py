"""`python -m tests.faults`: let everything go wrong under load, one thing after the other, and audit what is left."""

import argparse
import asyncio
import logging
import sys

from rich.console import Console
from rich.table import Table

from tests.faults.faults import Fault, all_faults
from tests.faults.players import Row
from tests.faults.run import suffer_all

console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make faults", description=__doc__)
    parser.add_argument("words", nargs="*", help="only faults whose name has all of these words")
    parser.add_argument("--list", action="store_true", help="show the faults, do nothing")
    parser.add_argument("--times", type=float, default=1.0, help="how much more often than usual each happens")
    parser.add_argument("--seed", type=int, default=1, help="of the players' choices")
    asked = parser.parse_args()
    faults = [fault for fault in all_faults() if all(word.lower() in fault.name.lower() for word in asked.words)]
    if asked.list or not faults:
        console.print("\n".join(fault.name for fault in faults) or "no fault has such a name; see --list")
        return 0 if faults else 2
    logging.disable(logging.WARNING)
    rows = asyncio.run(collect(faults, asked))
    console.print(table(rows))
    good = all(row.good for row in rows)
    console.print("nothing lost, duplicated or diverged" if good else "NOT GOOD: see above")
    return 0 if good else 1


async def collect(faults: list[Fault], asked: argparse.Namespace) -> list[Row]:
    rows = []

    def begin(fault: Fault) -> None:
        console.print(f"{len(rows) + 1}/{len(faults)} {fault.name} …", end="")

    async for row in suffer_all(faults, asked.times, begin, asked.seed):
        rows.append(row)
        outcome = f"skipped: {row.skipped}" if row.skipped else "good" if row.good else "NOT GOOD"
        console.print(f" {outcome}: {row.accepted:,} moves, longest pause {row.pause_s:.2f} s")
        for sentence in row.told:
            console.print(f"    {sentence}", markup=False)
    return rows


def table(rows: list[Row]) -> Table:
    made = Table(box=None, pad_edge=False, title="Faults under load", title_justify="left")
    made.add_column("fault")
    for title in ("times", "accepted", "lost", "duplicated", "diverged", "failed", "stuck", "longest pause"):
        made.add_column(title, justify="right")
    for row in rows:
        if row.skipped:
            made.add_row(row.fault, f"skipped: {row.skipped}")
            continue
        counts = (row.injected, row.accepted, row.lost, row.duplicated, row.diverged, row.failed, row.stuck)
        made.add_row(row.fault, *(f"{count:,}" for count in counts), f"{row.pause_s:.2f} s")
    return made


if __name__ == "__main__":
    sys.exit(main())
