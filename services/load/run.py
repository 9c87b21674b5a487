"""`croupier load`: a run from its first process to its report."""

import asyncio
import contextlib
import os
import secrets
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.live import Live
from rich.table import Table

from services.load.coordinator import Coordinator
from services.load.cpu import Processes
from services.load.figures import quantile
from services.load.plan import Plan, PlanError
from services.load.report import Report, report
from services.load.talk import OPERATOR_KEY, SECRET, split
from services.local_process import LocalProcessError, ServiceProcess
from services.settings import PREFIX, Durability
from services.stack import Stack

MAX_PROCESSES = 64
LOCAL_S = 60.0
"""How long workers of this machine may take to start."""
SEAT_RATE = 100_000
REFRESH_TICKS = 3


class Wish(Struct, frozen=True, kw_only=True):
    """A run: its plan, and who works on it."""

    plan: Plan
    """With an empty `server`: on a stack of its own."""
    processes: int = 1
    """Workers to start on this machine."""
    others: int = 0
    """Workers that others start, with `--join`."""
    wait_s: float = 60.0
    """How long those are waited for."""
    listen: str = "127.0.0.1:0"
    engines: int = 1
    durability: Durability = Durability("everysec")
    pids: dict[str, list[int]] = {}
    """Server processes whose CPU time is measured, besides those of an own stack."""

    def check(self) -> None:
        """Raise PlanError unless it can be run."""
        if not 0 <= self.processes <= MAX_PROCESSES or not 0 <= self.others <= 1000:
            raise PlanError(f"--processes: up to {MAX_PROCESSES}; --workers: up to 1,000")
        if not 1 <= self.processes + self.others <= self.plan.matches:
            raise PlanError("there must be a worker, and a match for each: see --processes, --workers and --matches")
        try:
            host, _ = split(self.listen)
        except ValueError as error:
            raise PlanError(f"--listen: {error}") from None
        if self.others and not os.environ.get(SECRET):
            raise PlanError(f"--workers: set {SECRET} to the same random text here and where the workers start")
        if self.others and not self.plan.server and host not in ("127.0.0.1", "::1", "localhost"):
            raise PlanError("--listen: a stack of its own is open to this machine only; name a --server")


def run(wish: Wish, console: Console, on_signal: bool = True) -> Report:
    """Run, with live progress on the console, and return the report. Raises PlanError, LocalProcessError, OSError."""
    wish.check()
    with tempfile.TemporaryDirectory(prefix="croupier-load-") as folder, ExitStack() as running:
        if wish.plan.server:
            wish.plan.check()
            return measure(wish, Path(folder), {}, console, on_signal=on_signal)
        msgspec.structs.replace(wish.plan, server="own:0", nats="nats://own").check()  # before anything is started
        env = {f"{PREFIX}{name}": str(SEAT_RATE) for name in ("SEAT_RATE", "ADDRESS_RATE", "ADDRESS_STREAMS")}
        stack = Stack(Path(folder), engines=wish.engines, durability=wish.durability, env=env)
        with console.status("starting Redis, NATS and the services"):
            running.enter_context(stack)
        return measure_stack(wish, stack, console, on_signal=on_signal)


def measure_stack(wish: Wish, stack: Stack, console: Console, *, on_signal: bool = False) -> Report:
    """Run on a stack that is up. Raises as `run`."""
    wish = msgspec.structs.replace(
        wish,
        plan=msgspec.structs.replace(wish.plan, server=stack.grpc, nats=stack.nats.url),
        pids={
            "match": [stack.match.pid],
            "engine": [engine.pid for engine in stack.engines],
            "redis": [stack.redis.pid],
            "nats": [stack.nats.pid],
            **wish.pids,
        },
    )
    wish.plan.check()
    env = {OPERATOR_KEY: stack.environment[OPERATOR_KEY], **stack.access.environment("observer")}
    return measure(wish, stack.folder, env, console, alive=stack.check, on_signal=on_signal)


def measure(
    wish: Wish,
    folder: Path,
    env: Mapping[str, str],
    console: Console,
    *,
    alive: Callable[[], None] = lambda: None,
    on_signal: bool,
) -> Report:
    """Start the workers, conduct the run and report; `alive` raises LocalProcessError if the server is gone."""
    secret = os.environ.get(SECRET) or secrets.token_hex(16)
    return asyncio.run(_measure(wish, folder, {**env, SECRET: secret}, console, alive, on_signal=on_signal))


async def _measure(
    wish: Wish, folder: Path, env: Mapping[str, str], console: Console, alive: Callable[[], None], *, on_signal: bool
) -> Report:
    coordinator = Coordinator(wish.plan, env[SECRET], Processes(wish.pids))
    where = await coordinator.listen(*split(wish.listen))
    host, port = split(where)
    mine = f"127.0.0.1:{port}" if host in ("0.0.0.0", "::") else where  # noqa: S104 - compared, not bound
    if wish.others:
        console.print(f"waiting for {wish.others} workers: {SECRET}=… croupier load --join {where}", soft_wrap=True)
    workers = [
        ServiceProcess(("load", "--join", mine), folder, name=f"load-{number}", env=env)
        for number in range(wish.processes)
    ]
    with _stopped_by_signals(coordinator.stop) if on_signal else contextlib.nullcontext():
        try:
            await _start(workers)
            with Live(_row(coordinator), console=console, auto_refresh=False, transient=True) as live:
                ticks = 0

                def tick() -> None:
                    nonlocal ticks
                    ticks += 1
                    if ticks % REFRESH_TICKS == 0 and console.is_terminal:
                        live.update(_row(coordinator), refresh=True)
                    if coordinator.phase != "done":
                        try:
                            alive()
                        except LocalProcessError as error:
                            if str(error) not in coordinator.problems:
                                coordinator.problems.append(str(error))
                            coordinator.stop.set()

                within = wish.wait_s if wish.others else LOCAL_S
                await coordinator.run(wish.processes + wish.others, within, tick)
        finally:
            await coordinator.close()
            await asyncio.gather(*(asyncio.to_thread(worker.stop) for worker in workers))
    return report(coordinator)


async def _start(workers: Sequence[ServiceProcess]) -> None:
    await asyncio.gather(*(asyncio.to_thread(worker.start) for worker in workers))


@contextmanager
def _stopped_by_signals(stop: asyncio.Event) -> Iterator[None]:
    """Set an event on Ctrl-C and SIGTERM; the second time, give up at once."""
    loop = asyncio.get_running_loop()
    main = asyncio.current_task()

    def told() -> None:
        if stop.is_set() and main is not None:
            main.cancel()
        stop.set()

    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, told)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def _row(run: Coordinator) -> Table:
    """Return the figures of this moment."""
    last, counts = run.last, run.total.counts
    table = Table(box=None, pad_edge=False)
    for title in ("phase", "matches", "moves", "moves/s", "p50 ms", "p99 ms", "refused", "views lost"):
        table.add_column(title, justify="left" if title == "phase" else "right", min_width=8)
    phase: str = run.phase
    if phase == "checking journals":
        phase += f" {sum(hand.checked for hand in run.hands)}/{sum(hand.to_check for hand in run.hands)}"
    elif run.stop.is_set():
        phase = f"stopping ({phase})"
    table.add_row(
        phase,
        f"{run.open:,}",
        f"{counts.moves:,}",
        f"{run.points[-1].moves_per_s:,.0f}" if run.points else "-",
        f"{quantile(last.view, 50):.1f}",
        f"{quantile(last.view, 99):.1f}",
        f"{sum(counts.refused.values()):,}",
        f"{counts.lost_views:,}",
    )
    return table
