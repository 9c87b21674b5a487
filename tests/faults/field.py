"""A whole stack under load: two workers, two match services and two auth services, which fall into traps; and what can
be done to its parts. NATS lets in whom it should, as with `croupier up`.
"""

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import redis
from msgspec import Struct

from services.local import NatsServer, free_port
from services.local_process import LocalProcess, ServiceProcess
from services.settings import Durability
from services.stack import Stack
from services.store.keys import WORKERS
from tests.faults import trapped
from tests.faults.jumping_clock import JumpingClock, compiler
from tests.faults.losing_disk import LosingDisk, PreloadedRedis
from tests.faults.nats_proxy import NatsProxy
from tests.faults.players import OPERATOR, Players

LEASE_S = 1.0
SETTINGS = {
    "PARTITIONS": "8",
    "LEASE_MS": str(int(LEASE_S * 1000)),
    "BLOCK_MS": "50",
    "SEAT_RATE": "10000",
    "ADDRESS_RATE": "10000",
    "MIN_CLOCK_MS": "50",
    "ABSENT_LIMIT_S": "600",
}
DISK_MB = 64
SMALL_BUFFERS = 'max_payload: 65536\nmax_pending: 65536\nwrite_deadline: "500ms"'
"""A server that drops whoever does not read, rather than keeping it all for him."""


class Setup(Struct, frozen=True):
    """What a fault needs of its stack."""

    durability: str = "everysec"
    proxied: bool = False
    """Whether everybody reaches NATS over a network that can be disturbed."""
    detached: bool = False
    """Whether one worker reaches NATS over a network of its own, and nobody else over one that can be disturbed."""
    small_disk: bool = False
    clocked: bool = False
    powered_off: bool = False
    """Whether the disk of Redis can lose what was not synced."""
    shuffled: bool = False
    settings: tuple[tuple[str, str], ...] = ()
    """Settings of all services, by their variables without the prefix."""

    def missing(self) -> str:
        """Return why this machine cannot do it; empty if it can."""
        if (self.clocked or self.powered_off) and compiler() is None:
            return "there is no C compiler for a clock that jumps and a disk that loses power"
        return _no_mount() if self.small_disk else ""


def _no_mount() -> str:
    if not shutil.which("mount"):
        return "a small disk cannot be mounted here"
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run(_mounting(Path(folder)), capture_output=True, check=False).returncode:
            return "a small disk can be mounted by root only"
        subprocess.run(["umount", folder], check=True)
    return ""


def _mounting(folder: Path) -> list[str]:
    return ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(folder)]


class _TrappedStack(Stack):
    detached = ""
    """Where the first worker finds NATS, if not where the others do."""

    def service(self, kind: str, name: str, *, grpc_port: int | None = None) -> ServiceProcess:
        made = super().service(kind, name, grpc_port=grpc_port)
        entry = ("-m", "tests.faults.trapped")
        env = {**made.env, "CROUPIER_NATS_URL": self.detached} if self.detached and name == "engine-0" else made.env
        return ServiceProcess(made.args, self.folder, name=name, env=env, entry=entry)


class Field:
    """A stack that has been set up; a context manager that starts and stops it."""

    def __init__(self, setup: Setup, folder: Path) -> None:
        self.setup = setup
        self.folder = folder
        self.stack: Stack
        self.matches: list[ServiceProcess] = []
        self.auths: list[ServiceProcess] = []
        self.proxy: NatsProxy | None = None
        self.clock: JumpingClock | None = None
        self.disk: LosingDisk | None = None
        self.players: Players | None = None
        self._running = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as running:
            self.folder.mkdir(parents=True, exist_ok=True)
            nats = NatsServer(self.folder, port=free_port(), websocket_port=0)
            env = {f"CROUPIER_{name}": value for name, value in (SETTINGS | dict(self.setup.settings)).items()}
            if self.setup.proxied or self.setup.detached:
                self.proxy = await running.enter_async_context(NatsProxy(nats.port))
            if self.setup.proxied:
                env["CROUPIER_NATS_URL"] = self.proxy.url
            if self.setup.shuffled:
                env[trapped.SHUFFLE] = "1"
            durability = Durability.parse(self.setup.durability)
            server = PreloadedRedis(self.folder, durability=durability)
            if self.setup.clocked:
                self.clock = JumpingClock(self.folder / "clock")
                env |= self.clock.environment
                server.preloaded += (self.clock.environment,)
            if self.setup.powered_off:
                self.disk = LosingDisk(self.folder / "disk")
                server.preloaded += (self.disk.environment,)
            if self.setup.small_disk:
                server.folder.mkdir(parents=True)
                await asyncio.to_thread(subprocess.run, _mounting(server.folder), check=True)
                running.callback(subprocess.run, ["umount", "--lazy", str(server.folder)], check=False)
            self.stack = _TrappedStack(self.folder, durability=durability, env=env)
            if self.setup.detached:
                self.stack.detached = self.proxy.url
            nats.config_extra = "\n".join([self.stack.access.config(), SMALL_BUFFERS if self.setup.proxied else ""])
            self.stack.redis, self.stack.nats = server, nats
            running.push_async_callback(asyncio.to_thread, self.stack.__exit__, None, None, None)
            await asyncio.to_thread(self.stack.__enter__)
            second = self.stack.service("match", "match-2", grpc_port=free_port())
            other = self.stack.service("auth", "auth-2")
            for process in (second, other):
                running.push_async_callback(asyncio.to_thread, process.stop)
            await start(second, other)
            self.matches, self.auths = [self.stack.match, second], [self.stack.auth, other]
            self._running = running.pop_all()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await asyncio.gather(*(asyncio.to_thread(one.stop) for one in self.processes[2:]))  # all but the servers
        await self._running.__aexit__(*raised)

    @property
    def servers(self) -> list[str]:
        return [str(json.loads(match.ready_line)["grpc"]) for match in self.matches]

    @property
    def processes(self) -> list[LocalProcess]:
        return [self.stack.redis, self.stack.nats, *self.auths, *self.stack.engines, *self.matches]

    @property
    def redis(self) -> redis.Redis:
        """A connection for one command; not to be used while Redis is frozen."""
        return redis.Redis.from_url(self.stack.redis.url, socket_timeout=5)

    @property
    def nats(self) -> str:
        """Where players find NATS."""
        return self.proxy.url if self.setup.proxied and self.proxy else self.stack.nats.url

    def gather(self, **changes: Any) -> Players:
        """Return players, who have not begun."""
        observer = ("observer", self.stack.access.password("observer"))
        self.players = Players(self.servers, self.nats, self.stack.environment[OPERATOR], observer, **changes)
        return self.players

    async def whole(self) -> None:
        """Start again whatever does not run."""
        if self.proxy is not None:
            self.proxy.loss, self.proxy.closed = 0.0, False
        await start(self.stack.redis, self.stack.nats)
        await start(*self.processes)

    async def kill(self, *processes: LocalProcess, away_s: float = 0.3) -> None:
        """Let processes die at once and start them again after a while."""
        for process in processes:
            await asyncio.to_thread(process.kill)
        await asyncio.sleep(away_s)
        for process in reversed(processes):
            await asyncio.to_thread(process.start)

    async def freeze(self, process: LocalProcess, for_s: float) -> None:
        """Stop a process for a while."""
        process.pause()
        try:
            await asyncio.sleep(for_s)
        finally:
            process.resume()

    async def even(self, within_s: float = 20.0) -> float:
        """Wait until the live workers of all processes own the partitions evenly; return how many seconds it took."""
        began = time.monotonic()
        partitions = range(int(self.stack.environment["CROUPIER_PARTITIONS"]))

        def spread() -> bool:
            with self.redis as client:
                live = set(client.zrange(WORKERS, 0, -1))
                owners = [client.hget(f"croupier:{{{partition}}}:owner", "worker") for partition in partitions]
            shares = sorted(owners.count(owner) for owner in live)
            return sum(shares) == len(partitions) and shares[-1] - shares[0] <= 1

        await until(spread, within_s)
        return time.monotonic() - began

    async def restart(self, process: LocalProcess) -> None:
        await asyncio.to_thread(process.restart)

    async def fallen(self, trap: Path, within_s: float = 20.0) -> LocalProcess:
        """Return who has fallen into a trap: dead by now, or frozen. Raises TimeoutError."""
        try:
            await until(lambda: not trap.exists(), within_s)
        except TimeoutError:
            disarm(trap)
            raise
        taken = await until(lambda: next(trap.parent.glob(f"{trap.name}.*"), None), 5.0)
        pid = int(taken.suffix[1:])
        taken.unlink()
        await until(lambda: _state(pid) in ("", "T", "Z"), 5.0)
        names = {process.name: process for process in (*self.stack.engines, *self.matches)}
        return next(process for process in names.values() if process._process and process._process.pid == pid)


async def start(*processes: LocalProcess) -> None:
    """Start processes at the same time; those that run already are left alone."""
    await asyncio.gather(*(asyncio.to_thread(process.start) for process in processes))


def disarm(trap: Path) -> None:
    trap.unlink(missing_ok=True)


async def until(met: Callable[[], Any], within_s: float) -> Any:
    """Wait until something is true; return it. Raises TimeoutError."""
    end = time.monotonic() + within_s
    while not (found := met()):
        if time.monotonic() > end:
            raise TimeoutError
        await asyncio.sleep(0.005)
    return found


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def free_bytes(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize
