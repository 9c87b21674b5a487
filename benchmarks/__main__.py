"""All benchmarks, short: `python -m benchmarks [--seconds S]`.

The engine and the fold of each game, the floors of gRPC, Redis and NATS, then moves end to end at several numbers of
matches: a stream for each match, one stream for all, and unary calls. Only the ratios within one run mean anything.
"""

import argparse
import subprocess
import sys


def run(module: str, *arguments: str) -> int:
    """Run a benchmark in a process of its own; return its exit code."""
    print(f"\n{module} {' '.join(arguments)}".rstrip(), flush=True)
    return subprocess.run([sys.executable, "-m", module, *arguments], check=False).returncode


def main() -> None:
    """Run them all; exit with 1 if one failed, or a move was lost, made twice or seen differently."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    seconds = ("--seconds", str(parser.parse_args().seconds))
    codes = [
        run("benchmarks.engine", "--seconds", "0.5"),
        run("benchmarks.floors", *seconds),
        run("benchmarks.end_to_end", *seconds),
        run("benchmarks.end_to_end", *seconds, "--matches", "50", "--streams", "process"),
        run("benchmarks.end_to_end", *seconds, "--matches", "50", "--transport", "unary"),
    ]
    raise SystemExit(1 if any(codes) else 0)


if __name__ == "__main__":
    main()
