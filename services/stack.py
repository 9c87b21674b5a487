"""Everything on one machine: Redis, NATS, its auth service, a match service and engine workers, each its own process.

`croupier up`, `croupier demo`, the end-to-end tests and the benchmarks start the same stack.
"""

import json
import os
import secrets
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from services.auth.server_config import ServerAccess
from services.journals import ADDRESSES, OBSERVER
from services.local import NatsServer, RedisServer, free_port
from services.local_process import LocalProcessError, ServiceProcess
from services.settings import PREFIX, Durability

KEYS = {
    "token_key": {"match", "auth"},
    "operator_key": {"match"},
    "seed_key": {"engine"},
    "signing_key": {"match", "engine"},
}
"""Secrets that a stack makes for itself, by setting: the services that are given it."""
KEY_SIZE = 32


class Stack:
    """The processes, started in the order in which they need each other and stopped in reverse.

    Data, keys and logs lie in `folder`; started again in the same folder, the stack goes on with its matches.
    """

    def __init__(
        self,
        folder: Path,
        *,
        engines: int = 2,
        durability: Durability = Durability("everysec"),  # noqa: B008  it is frozen
        grpc_port: int | None = None,
        env: dict[str, str] | None = None,
        origins: Sequence[str] = (),
    ) -> None:
        """Prepare. `env` overrides settings, by their variables, for every service.

        `origins`: the sites from which browsers may connect to NATS besides the one that it serves itself.

        Without `grpc_port`, or with 0, the match service listens on a free one, and keeps it when it is restarted.
        """
        self.folder = folder
        self.redis = RedisServer(folder, durability=durability)
        self.access = ServerAccess.generate()
        self.nats = NatsServer(folder, websocket_port=0, origins=origins, config_extra=self.access.config())
        self.auth: ServiceProcess
        self.match: ServiceProcess
        self.engines: list[ServiceProcess] = []
        self.archivers: list[ServiceProcess] = []
        """One if the settings name an archive."""
        self._count = engines
        self.durability = durability
        self._grpc_port = grpc_port
        self._extra = dict(env or {})
        self._running = ExitStack()

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as running:
            running.enter_context(self.redis)
            running.enter_context(self.nats)
            self.engines = [self.service("engine", f"engine-{number}") for number in range(self._count)]
            self.match = self.service("match", "match", grpc_port=self._grpc_port or free_port())
            if (os.environ | self.environment).get(f"{PREFIX}ARCHIVE"):
                self.archivers = [self.service("archive", "archive")]
            self.auth = self.service("auth", "auth")
            services = [self.auth, *self.engines, self.match, *self.archivers]
            for service in services:
                running.callback(service.stop)
            with ThreadPoolExecutor(len(services)) as starting:
                list(starting.map(ServiceProcess.start, services))
            running.enter_context(self._addresses())
            self._running = running.pop_all()
        return self

    @contextmanager
    def _addresses(self) -> Iterator[None]:
        """Tell other commands in this folder where the parts listen, for as long as they do."""
        addresses, observer = self.folder / ADDRESSES, self.folder / OBSERVER
        addresses.write_text(json.dumps({"grpc": self.grpc, "nats": self.nats.url, "redis": self.redis.url}))
        _write_secret(observer, self.access.password("observer"))
        try:
            yield
        finally:
            addresses.unlink(missing_ok=True)
            observer.unlink(missing_ok=True)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.__exit__(kind, value, trace)

    def check(self) -> None:
        """Raise LocalProcessError, with its last log lines, if a process has ended by itself."""
        for process in (self.redis, self.nats, self.auth, self.match, *self.engines, *self.archivers):
            if not process.running:
                raise LocalProcessError(
                    f"{process.name} has ended by itself; its last log lines:\n{process.last_log_lines()}"
                )

    @property
    def grpc(self) -> str:
        """Where the match service listens: `host:port`."""
        return str(json.loads(self.match.ready_line)["grpc"])

    @property
    def environment(self) -> dict[str, str]:
        """The settings of this stack's services, as environment variables; holds secrets."""
        settings = {
            "redis_url": self.redis.url,
            "nats_url": self.nats.url,
            "durability": str(self.durability),
            "data_dir": str(self.folder),
            **self._keys(),
        }
        return {f"{PREFIX}{name.upper()}": value for name, value in settings.items()} | self._extra

    def service(self, kind: str, name: str, *, grpc_port: int | None = None) -> ServiceProcess:
        """Return one more service of this stack, not started yet. It is given no secrets but those of its kind."""
        others = {f"{PREFIX}{key.upper()}" for key, kinds in KEYS.items() if kind not in kinds} - self._extra.keys()
        env = {name: value for name, value in self.environment.items() if name not in others}
        env = self.access.environment(kind) | env
        if grpc_port is not None:
            env.setdefault(f"{PREFIX}GRPC_PORT", str(grpc_port))
        return ServiceProcess((kind,), self.folder, name=name, env=env)

    def _keys(self) -> dict[str, str]:
        """Read the secrets from the folder; make those that are not there."""
        keys = {}
        for name in KEYS:
            path = self.folder / f"{name}.secret"
            if not path.exists():
                _write_secret(path, secrets.token_hex(KEY_SIZE))
            keys[name] = path.read_text().strip()
        return keys


def _write_secret(path: Path, secret: str) -> None:
    """Write a file that only its owner can read."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(secret)
