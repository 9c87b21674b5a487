"""Where a move's time goes: `python -m benchmarks.profiled [--matches N] [--seconds S]`.

The load of `benchmarks.end_to_end` on a fresh stack. The CPU of every process comes from `/proc`. The match service and
the worker also take samples of themselves: after each millisecond of CPU time a signal looks at what is being run, and
the innermost frame that belongs to a part names the part. C code counts for whoever called it. What no part called is
the event loop, the kernel's work for it, and other threads, gRPC's among them.
"""

import argparse
import atexit
import json
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from types import FrameType

from rich.console import Console

from benchmarks.end_to_end import wish
from services.load.cpu import Processes
from services.load.report import Report
from services.load.run import SEAT_RATE, measure_stack
from services.local_process import ServiceProcess
from services.settings import PREFIX
from services.stack import Stack

EVERY_S = 0.001
BUCKETS_A_SECOND = 10
ROOT = str(Path(__file__).parents[1]) + "/"
REST = "event loop, kernel, threads"
PARTS = (
    ("rules", ("engine/games/",)),
    (None, ("engine/game.py",)),  # encodes for whoever asks
    ("prompts, digests, journal lines", ("engine/",)),
    ("views", ("services/views.py",)),
    ("Redis", ("services/store/", "/redis/", "/hiredis/")),
    ("NATS", ("services/bus.py", "/nats/")),
    ("gRPC", ("/grpc/", "proto/croupier/", "/google/protobuf/")),
    ("match service", ("services/match/", "services/wire.py", "services/tokens.py")),
    ("worker", ("services/engine/",)),
    ("metrics and logs", ("services/metrics.py", "/prometheus_client/", "/structlog/")),
)
"""Names of files, after the repository's root or anywhere in a path, in the order in which they are tried."""


def part_of(file: str) -> str | None:
    """Return the part that a file belongs to, if any."""
    inside = file.startswith(ROOT) and "/site-packages/" not in file
    name = file.removeprefix(ROOT) if inside else file
    for part, files in PARTS:
        if any(name.startswith(one) if inside else one.startswith("/") and one in name for one in files):
            return part
    return None


def sample(path: str, arguments: list[str]) -> None:
    """Be a service that takes samples of itself, and writes them to a file at its end: [tenth of a second, part, n]."""
    found: Counter[tuple[int, str]] = Counter()
    known: dict[str, str | None] = {}

    def look(_number: int, frame: FrameType | None) -> None:
        part = None
        while frame is not None and part is None:
            file = frame.f_code.co_filename
            if file not in known:
                known[file] = part_of(file)
            part = known[file]
            frame = frame.f_back
        found[int(time.monotonic() * BUCKETS_A_SECOND), part or REST] += 1

    def write() -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        Path(path).write_text(json.dumps([[*key, count] for key, count in found.items()]), "utf-8")

    signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)
    atexit.register(write)
    from services.cli import main as cli  # noqa: PLC0415 - loads all of a service

    sys.argv = ["croupier", *arguments]
    cli()


class SampledStack(Stack):
    """A stack whose services take samples of themselves."""

    def service(self, kind: str, name: str, *, grpc_port: int | None = None) -> ServiceProcess:
        """Return the service, started by this module."""
        plain = super().service(kind, name, grpc_port=grpc_port)
        entry = ("-m", "benchmarks.profiled", "--sample", str(self.folder / f"{name}.samples"))
        return ServiceProcess((kind,), self.folder, name=name, env=plain.env, entry=entry)


class Noting(Processes):
    """Notes when the CPU was read: at the beginning and at the end of what is measured."""

    times: list[float] = []  # noqa: RUF012 - of the one run of this process

    def read(self) -> dict[str, float]:
        """Note the time, and read."""
        self.times.append(time.monotonic())
        return super().read()


def profile(matches: int, seconds: float, streams: str) -> tuple[Report, dict[str, dict[str, float]]]:
    """Run the load; return its report, and for each service the share of its CPU that each part took."""
    from services.load import run  # noqa: PLC0415 - whose way to read CPU times is replaced

    run.Processes = Noting  # type: ignore[misc]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with SampledStack(
            folder, engines=1, env={f"{PREFIX}{name}": str(SEAT_RATE) for name in ("SEAT_RATE", "ADDRESS_RATE")}
        ) as stack:
            found = measure_stack(wish(matches, seconds, streams=streams), stack, Console(quiet=True))
        begin, end = (int(at * BUCKETS_A_SECOND) for at in Noting.times)
        shares: dict[str, dict[str, float]] = {}
        for kind, file in (("match", "match"), ("engine", "engine-0")):
            parts: dict[str, int] = defaultdict(int)
            for bucket, part, count in json.loads((folder / f"{file}.samples").read_text("utf-8")):
                if begin < bucket < end:
                    parts[part] += count
            whole = sum(parts.values()) or 1
            shares[kind] = {part: count / whole for part, count in sorted(parts.items(), key=lambda one: -one[1])}
    return found, shares


def main() -> None:
    """Print the profile."""
    if sys.argv[1:2] == ["--sample"]:
        sample(sys.argv[2], sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matches", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--streams", choices=("match", "process"), default="match")
    given = parser.parse_args()
    found, shares = profile(given.matches, given.seconds, given.streams)
    whole = found.server_us + found.client_us
    print(f"{given.matches} matches, {found.moves_per_s:,.0f} moves/s; µs of CPU a move, and share of all of it")
    for name, used in {**found.cpu_us, "client": found.client_us}.items():
        print(f"{name:36}{used:>6.0f}{used / whole:>8.0%}")
        for part, share in shares.get(name, {}).items():
            print(f"    {part:32}{used * share:>6.0f}{used * share / whole:>8.0%}")
    raise SystemExit(0 if found.good else 1)


if __name__ == "__main__":
    main()
