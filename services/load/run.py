"""`croupier load`: a run from its first process to its report."""

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct
from rich.console import Console

from services.load.coordinator import Coordinator
from services.load.cpu import Processes
from services.load.plan import Plan, PlanError, split
from services.load.progress import Progress
from services.load.report import OwnStack, Report, report
from services.load.talk import OPERATOR_KEY, SECRET
from services.local_process import LocalProcessError, ServiceProcess
from services.settings import PREFIX, Durability
from services.stack import Stack

MAX_PROCESSES = 64
LOCAL_S = 60.0
"""How long workers of this machine may take to start."""
SEAT_RATE = 100_000
GRACE_S = 10.0
"""How long workers of this machine may take to end."""


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
    label: str = ""
    """What the report says of the server in its user's words."""
    pids: dict[str, list[int]] = {}
    """Server processes whose CPU time is measured, besides those of an own stack."""

    def check(self) -> None:
        """Raise PlanError unless it can be run."""
        if not 0 <= self.processes <= MAX_PROCESSES or not 0 <= self.others <= 1000:
            raise PlanError(f"--processes: up to {MAX_PROCESSES}; --workers: up to 1,000")
        if not 1 <= self.processes + self.others <= self.plan.matches:
            raise PlanError("--processes and --workers: there must be one of them, and a match for each (--matches)")
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
    own = {} if wish.plan.server else {"server": "own:0", "nats": "nats://own"}
    msgspec.structs.replace(wish.plan, **own).check()  # before anything is started
    wish.check()
    with tempfile.TemporaryDirectory(prefix="croupier-load-") as folder, ExitStack() as running:
        if wish.plan.server:
            return measure(wish, Path(folder), {}, console, on_signal=on_signal)
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
    own = OwnStack(len(stack.engines), str(stack.durability))
    return measure(wish, stack.folder, env, console, alive=stack.check, stack=own, on_signal=on_signal)


def measure(
    wish: Wish,
    folder: Path,
    env: Mapping[str, str],
    console: Console,
    *,
    alive: Callable[[], None] = lambda: None,
    stack: OwnStack | None = None,
    on_signal: bool,
) -> Report:
    """Start the workers, conduct the run and report; `alive` raises LocalProcessError if the server is gone.

    Raises KeyboardInterrupt when told to stop a second time.
    """
    secret = os.environ.get(SECRET) or secrets.token_hex(16)
    try:
        return asyncio.run(_measure(wish, folder, {**env, SECRET: secret}, console, alive, stack, on_signal=on_signal))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _measure(
    wish: Wish,
    folder: Path,
    env: Mapping[str, str],
    console: Console,
    alive: Callable[[], None],
    stack: OwnStack | None,
    *,
    on_signal: bool,
) -> Report:
    coordinator = Coordinator(wish.plan, env[SECRET], Processes(wish.pids))
    where = await coordinator.listen(*split(wish.listen))
    mine = dialled(where, "127.0.0.1")
    if wish.others:
        theirs = dialled(where, socket.gethostname())
        console.print(f"waiting for {wish.others} workers: {SECRET}=… croupier load --join {theirs}", soft_wrap=True)
    workers = [
        ServiceProcess(("load", "--join", mine), folder, name=f"load-{number}", env=env)
        for number in range(wish.processes)
    ]
    grace_s = GRACE_S
    with _stopped_by_signals(coordinator.stop) if on_signal else contextlib.nullcontext():
        try:
            await _start(workers)
            with Progress(coordinator, console, Console(stderr=True, highlight=False, quiet=console.quiet)) as progress:

                def tick() -> None:
                    progress.tick()
                    if coordinator.phase != "done":
                        try:
                            alive()
                        except LocalProcessError as error:
                            if str(error) not in coordinator.problems:
                                coordinator.problems.append(str(error))
                            coordinator.gone = True
                            coordinator.stop.set()

                within = wish.wait_s if wish.others else LOCAL_S
                await coordinator.run(wish.processes + wish.others, within, tick)
        except asyncio.CancelledError:
            grace_s = 0.0
            raise
        finally:
            await coordinator.close()
            await asyncio.gather(*(asyncio.to_thread(worker.stop, grace_s) for worker in workers))
    return report(coordinator, stack, wish.label)


def dialled(where: str, host: str) -> str:
    """Return the address at which somebody reaches a listener who knows this machine as `host`."""
    listening, port = split(where)
    return f"{host}:{port}" if listening in ("0.0.0.0", "::") else where  # noqa: S104 - compared, not bound


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
