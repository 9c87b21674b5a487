"""Moves end to end beside the floors of the same run: `python -m benchmarks.end_to_end [--matches N]... [--seconds S]`.

The load is `croupier load`'s: N open matches of four seats on a fresh stack, one move in flight a match, four NATS
connections a match, the next move sent when all four views that include the last have been received and decoded. Prints
moves a second, latency, CPU a move of each process, and the ratio to a bare echo with as much in flight. With
`--streams both` each number is measured twice, with a `Play` stream for each match and with one for all, beside each
other.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.floors import floor, line
from services.load.plan import Plan
from services.load.report import Report
from services.load.run import SEAT_RATE, Wish, measure_stack
from services.settings import PREFIX, Durability
from services.stack import Stack

MATCHES = (1, 10, 50, 200, 1000)


def wish(matches: int, seconds: float, **plan: Any) -> Wish:
    """Return a load of that shape; `plan` are fields of a Plan."""
    given = {"game": "timos_twist", "seats": 4, "warm_up": 3.0, **plan}
    return Wish(plan=Plan(server="", nats="", matches=matches, seconds=seconds, **given))


def load(matches: int, seconds: float, *, engines: int = 1, durability: str = "everysec", **plan: Any) -> Report:
    """Put a load on a stack of its own; `plan` are fields of a Plan. Raises PlanError, LocalProcessError."""
    env = {f"{PREFIX}{name}": str(SEAT_RATE) for name in ("SEAT_RATE", "ADDRESS_RATE", "ADDRESS_STREAMS")}
    with (
        tempfile.TemporaryDirectory() as folder,
        Stack(Path(folder), engines=engines, durability=Durability.parse(durability), env=env) as stack,
    ):
        return measure_stack(wish(matches, seconds, **plan), stack, Console(stderr=True, quiet=True))


def figures(found: Report) -> dict[str, float]:
    """Return what is comparable with a floor."""
    return {
        "rate": found.moves_per_s,
        "p50_ms": found.view.p50,
        "p99_ms": found.view.p99,
        "server_us": found.server_us,
        "client_us": found.client_us,
    }


def compare(matches: int, seconds: float, **more: Any) -> Report:
    """Print a run beside an echo, by default the one that does the same calls, and return it."""
    transport = more.get("transport", "play")
    alike = "unary" if transport == "unary" else "shared" if more.get("streams", "match") == "process" else "stream"
    bare = more.pop("echo", None) or alike
    echo = floor(bare, matches, seconds)
    found = load(matches, seconds, **{"streams": "match", **more})
    print(line(f"{bare} echo", echo), flush=True)
    print(line(f"croupier, {matches} matches", figures(found)), flush=True)
    parts = ", ".join(f"{name} {used:.0f}" for name, used in found.cpu_us.items())
    checked = found.checked
    print(f"{'':24}{found.moves_per_s / echo['rate']:.2f} of the echo; server CPU, µs a move: {parts}")
    print(
        f"{'':24}{checked.verified} of {checked.matches} journals verified; lost {checked.lost}, duplicated "
        f"{checked.duplicated}, diverged {checked.diverged}; "
        f"views healed {found.healed_views}, lost {found.lost_views}; refused {found.refused}"
    )
    for problem in (*found.problems, *checked.examples):
        print(f"{'':24}{problem}")
    return found


def main() -> None:
    """Print a comparison for each number of matches."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matches", type=int, action="append", metavar="N", help="may be repeated; 1, 10, ... 1000")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--warm-up", type=float, default=3.0)
    parser.add_argument("--game", default="timos_twist")
    parser.add_argument("--engines", type=int, default=1)
    parser.add_argument("--durability", default="everysec")
    parser.add_argument("--transport", choices=("play", "unary"), default="play")
    parser.add_argument("--streams", choices=("match", "process", "both"), default="match")
    parser.add_argument("--views", choices=("nats", "grpc"), default="nats")
    parser.add_argument("--echo", choices=("stream", "shared", "unary"), help="by default the one with the same calls")
    parser.add_argument("--connections", choices=("seat", "process"), default="seat")
    more = vars(parser.parse_args())
    counts, seconds, streams = more.pop("matches") or MATCHES, more.pop("seconds"), more.pop("streams")
    good = True
    for matches in counts:
        found = [
            compare(matches, seconds, streams=one, **more)
            for one in (("match", "process") if streams == "both" else (streams,))
        ]
        good &= all(one.good for one in found)
        if streams == "both":
            each, shared = found
            print(
                f"{'':24}one stream for all beside one a match: moves/s {shared.moves_per_s / each.moves_per_s:.2f}, "
                f"p99 {shared.view.p99 / each.view.p99:.2f}, server CPU a move {shared.server_us / each.server_us:.2f}",
                flush=True,
            )
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
