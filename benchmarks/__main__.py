"""All benchmarks that need nothing else: `python -m benchmarks [--seconds S | --short]`.

The engine and the fold of each game, single steps, the worker alone, the floors of gRPC, Redis, NATS and of all in a
row, then moves end to end at several numbers of matches: a stream for each match, one stream for all, and unary calls;
at last a profile. Only the ratios within one run mean anything. `--short` is a minute, for a look at whether all works.
"""

import argparse
import subprocess
import sys

LIMIT_S = 600
SHORT_LIMIT_S = 120
SHORT = (
    ("benchmarks.engine", "--seconds", "0.1"),
    ("benchmarks.parts", "--seconds", "0.2"),
    ("benchmarks.preloaded", "--matches", "64", "--moves", "20"),
    ("benchmarks.floors", "--seconds", "1", "--flights", "20"),
    ("benchmarks.end_to_end", "--seconds", "2", "--warm-up", "1", "--matches", "20", "--streams", "both"),
    ("benchmarks.end_to_end", "--seconds", "2", "--warm-up", "1", "--matches", "20", "--transport", "unary"),
)


def full(seconds: str) -> tuple[tuple[str, ...], ...]:
    """Return everything, with so many seconds for each measurement on a stack."""
    return (
        ("benchmarks.engine", "--seconds", "0.5"),
        ("benchmarks.parts",),
        ("benchmarks.preloaded",),
        ("benchmarks.floors", "--seconds", seconds),
        ("benchmarks.end_to_end", "--seconds", seconds),
        ("benchmarks.end_to_end", "--seconds", seconds, "--matches", "200", "--streams", "process"),
        (
            "benchmarks.end_to_end",
            "--seconds",
            seconds,
            "--matches",
            "100",
            "--streams",
            "process",
            "--connections",
            "process",
            "--echo",
            "stream",
        ),
        ("benchmarks.end_to_end", "--seconds", seconds, "--matches", "50", "--transport", "unary"),
        ("benchmarks.profiled", "--seconds", seconds),
    )


def run(limit_s: float, module: str, *arguments: str) -> int:
    """Run a benchmark in a process of its own; return its exit code, 1 if it does not end."""
    print(f"\n{module} {' '.join(arguments)}".rstrip(), flush=True)
    try:
        return subprocess.run([sys.executable, "-m", module, *arguments], check=False, timeout=limit_s).returncode
    except subprocess.TimeoutExpired:
        print(f"{module} did not end within {limit_s} s", flush=True)
        return 1


def main() -> None:
    """Run them; exit with 1 if one failed, or a move was lost, made twice or seen differently."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--short", action="store_true", help="a short form of each")
    given = parser.parse_args()
    limit_s, chosen = (SHORT_LIMIT_S, SHORT) if given.short else (LIMIT_S, full(str(given.seconds)))
    codes = [run(limit_s, *one) for one in chosen]
    raise SystemExit(1 if any(codes) else 0)


if __name__ == "__main__":
    main()
