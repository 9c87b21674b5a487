"""What a move costs in long matches and beside idle ones: `python -m benchmarks.curves [--entries N]... [--idle N]...`.

Each line is `benchmarks.preloaded` with journals that already have so many entries, or with so many other matches that
are running and in which nobody moves; they are written by the store's own commit, as if a worker had. CPU a move of
worker, Redis and NATS, and of all together beside the first line of its table. Lines are measured in turn, `--runs`
times, and the median is shown.
"""

import argparse
from statistics import median

from benchmarks.preloaded import Found, Wish, run

ENTRIES = (10, 100, 300, 1000)
IDLE = (0, 1_000, 10_000, 100_000)


def table(name: str, wishes: dict[int, Wish], runs: int) -> None:
    """Print a table in Markdown, a line a wish."""
    print(
        f"\n| {name} | worker, µs a move | Redis | NATS | all, beside the first line |\n"
        "| ---: | ---: | ---: | ---: | ---: |"
    )
    found: dict[int, list[Found]] = {value: [] for value in wishes}
    first = 0.0
    for number in range(1, runs + 1):
        for value, wish in wishes.items():
            some = found[value]
            some.append(run(wish))
            if number < runs:
                continue
            parts = [[one.worker_us, one.redis_us, one.nats_us] for one in some]
            whole = median(map(sum, parts))
            first = first or whole
            worker, redis, nats = map(median, zip(*parts, strict=True))
            print(f"| {value:,} | {worker:.0f} | {redis:.0f} | {nats:.0f} | {whole / first:.2f} |", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, action="append", metavar="N", help="may be repeated")
    parser.add_argument("--idle", type=int, action="append", metavar="N", help="may be repeated")
    parser.add_argument("--matches", type=int, default=128)
    parser.add_argument("--moves", type=int, default=60)
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args()
    plain = Wish(matches=given.matches, moves=given.moves)
    lengths = {count: plain._replace(entries=count) for count in given.entries or ENTRIES}
    table("entries in the journal", lengths, given.runs)
    table("idle matches", {count: plain._replace(idle=count) for count in given.idle or IDLE}, given.runs)


if __name__ == "__main__":
    main()
