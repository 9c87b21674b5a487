"""Redis, Valkey and NATS in containers of their official images, in the places of the embedded servers.

Their ports are published on loopback only. Nothing is pulled: where an image is not there, `missing` says so.
"""

import gc
import os
import warnings
from contextlib import closing
from typing import Self

import docker
from docker.errors import DockerException, ImageNotFound
from testcontainers.community.redis import PingWaitStrategy, RedisContainer
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

from services.local import LOOPBACK

WANTED = os.environ.get("CROUPIER_TEST_CONTAINERS") == "1"
REDIS = os.environ.get("CROUPIER_TEST_REDIS", "redis")
IMAGES = {"redis": "redis:7.4", "valkey": "valkey/valkey:8.1", "nats": "nats:2.11-alpine"}
REDIS_PORT = 6379
NATS_PORT = 4222
NATS_CONFIG = "/croupier-nats.conf"
START_TIMEOUT_S = 60
ASK_TIMEOUT_S = 20


def missing(*kinds: str) -> str:
    """Why no containers of these keys of `IMAGES` can be started here; empty if they can."""
    silent = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # The client forgets to close a socket that does not connect.
        try:
            client = docker.from_env(timeout=ASK_TIMEOUT_S)
        except DockerException as error:
            silent = f"Docker does not answer: {error}"
        if silent:
            gc.collect()
            return silent
    with closing(client):
        absent = [IMAGES[kind] for kind in kinds if not _has(client, IMAGES[kind])]
        # Removes what a killed run leaves behind; without its image the containers are removed by those who start them.
        testcontainers_config.ryuk_disabled |= not _has(client, testcontainers_config.ryuk_image)
    return f"Docker has no image {' and no image '.join(absent)}; docker pull gets it" if absent else ""


def _has(client: docker.DockerClient, image: str) -> bool:
    try:
        client.images.get(image)
    except ImageNotFound:
        return False
    return True


class ContainedServer:
    """A server in a container; a context manager that starts and removes it.

    Attributes:
        url: where it listens on this machine, while it runs.
        id: the container's; its last one, once it is removed.
    """

    url: str
    id: str

    def __init__(self, scheme: str, container: DockerContainer, port: int) -> None:
        container.ports = {f"{port}/tcp": (LOOPBACK, None)}
        self._scheme = scheme
        self._container = container
        self._port = port

    def __enter__(self) -> Self:
        self._container.start()
        host, port = self._container.get_container_host_ip(), self._container.get_exposed_port(self._port)
        self.id = self._container.get_container_id()
        self.url = f"{self._scheme}://{host}:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._container.stop()


def redis_in_container(kind: str) -> ContainedServer:
    """Return a server, `redis` or `valkey`, with the options that Croupier asks for; not started yet."""
    options = {
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "maxmemory-policy": "noeviction",
        "protected-mode": "no",  # Its clients come through the published port.
    }
    arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
    container = RedisContainer(IMAGES[kind], REDIS_PORT).with_command([f"{kind}-server", *arguments])
    container.waiting_for(PingWaitStrategy().with_startup_timeout(START_TIMEOUT_S))
    return ContainedServer("redis", container, REDIS_PORT)


def nats_in_container(config: str = "") -> ContainedServer:
    """Return a NATS server with these lines of configuration; not started yet."""
    lines = f"port: {NATS_PORT}\nmax_payload: 1MB\n{config}\n"
    container = DockerContainer(IMAGES["nats"]).with_command(["-c", NATS_CONFIG])
    container.with_copy_into_container(lines.encode(), NATS_CONFIG)
    container.waiting_for(LogMessageWaitStrategy("Server is ready").with_startup_timeout(START_TIMEOUT_S))
    return ContainedServer("nats", container, NATS_PORT)
