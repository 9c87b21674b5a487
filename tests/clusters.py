"""A Redis Cluster and a NATS cluster on one machine, of the same servers as `services/local.py` starts one by one."""

import contextlib
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from services.local import LOOPBACK, NatsServer, RedisServer, free_port
from services.local_process import LocalProcess, LocalProcessError
from services.settings import Durability

Node = TypeVar("Node", RedisServer, NatsServer)

SLOTS = 16_384
NODE_TIMEOUT_MS = 2_000
"""After how long without an answer a node counts as failed; a failover takes about a second more."""
START_TIMEOUT_S = 60.0
ASK_TIMEOUT_S = 5.0
POLL_S = 0.05


class _Cluster(Generic[Node]):
    """Nodes that are started and stopped together.

    Attributes:
        nodes: all servers.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes: list[Node] = list(nodes)
        self._running = ExitStack()

    @property
    def url(self) -> str:
        """What the settings take: the URLs of all nodes."""
        return ",".join(node.url for node in self.nodes)

    def _join(self) -> None:
        """Make one cluster of the nodes, which run by now."""

    def __enter__(self) -> Self:
        with ExitStack() as running:
            for node in self.nodes:
                running.callback(node.stop)
            with ThreadPoolExecutor(len(self.nodes)) as starting:
                list(starting.map(LocalProcess.start, self.nodes))
            self._join()
            self._running = running.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()


class RedisCluster(_Cluster[RedisServer]):
    """A Redis Cluster on loopback; each primary has one replica, and the slots are spread evenly.

    A primary that is killed is replaced by its replica after about three seconds; started again it becomes a replica.
    While a primary is away, the slots of the others are served.

    Attributes:
        nodes: all servers; the first `primaries` of them begin as primaries, the others as their replicas in turn.
    """

    def __init__(
        self,
        data_dir: Path,
        primaries: int = 3,
        durability: Durability = Durability("everysec"),  # noqa: B008  it is frozen
    ) -> None:
        self._primaries = primaries
        super().__init__(
            RedisServer(data_dir / f"node-{number}", durability=durability, cluster_node_timeout_ms=NODE_TIMEOUT_MS)
            for number in range(2 * primaries)
        )

    def primaries(self) -> list[RedisServer]:
        """Return the nodes that run and are primaries now, by what they say themselves."""
        return [node for node in self.nodes if node.running and ask(node, "ROLE")[0] == b"master"]

    def primary_of(self, key: str) -> RedisServer:
        """Return the node that has a key's slot now. Raises LocalProcessError if none has."""
        for node in self.primaries():
            with contextlib.suppress(redis.ResponseError):
                ask(node, "EXISTS", key)
                return node
        raise LocalProcessError(f"no node of the cluster has the slot of {key}")

    def wait_until_whole(self) -> None:
        """Return once every slot has a primary and every replica that runs has caught up with its own."""
        _wait(self._is_whole, "the Redis Cluster is not whole")

    def _is_whole(self) -> bool:
        primaries = 0
        for node in [node for node in self.nodes if node.running]:
            role, state = ask(node, "ROLE"), _info(node, "CLUSTER", "INFO")
            if state["cluster_state"] != "ok" or state["cluster_slots_ok"] != str(SLOTS):
                return False
            if role[0] == b"master":
                primaries += 1
            elif role[3] != b"connected":
                return False
        return primaries == self._primaries

    def _join(self) -> None:
        primaries, replicas = self.nodes[: self._primaries], self.nodes[self._primaries :]
        for number, node in enumerate(primaries):
            first, after = number * SLOTS // self._primaries, (number + 1) * SLOTS // self._primaries
            if not ask(node, "CLUSTER", "SLOTS"):
                ask(node, "CLUSTER", "ADDSLOTSRANGE", first, after - 1)
        for node in self.nodes[1:]:
            ask(node, "CLUSTER", "MEET", LOOPBACK, self.nodes[0].port, self.nodes[0].bus_port)
        _wait(lambda: all(_known(node) == len(self.nodes) for node in self.nodes), "the nodes do not know each other")
        for primary, replica in zip(primaries, replicas, strict=True):
            if ask(replica, "ROLE")[0] == b"master" and ask(primary, "ROLE")[0] == b"master":
                ask(replica, "CLUSTER", "REPLICATE", ask(primary, "CLUSTER", "MYID"))
        self.wait_until_whole()


class NatsCluster(_Cluster[NatsServer]):
    """NATS servers on loopback, each connected to every other."""

    def __init__(self, data_dir: Path, size: int = 3, config_extra: str = "") -> None:
        ports = [free_port() for _ in range(size)]
        routes = ", ".join(f'"nats://{LOOPBACK}:{port}"' for port in ports)
        super().__init__(
            NatsServer(
                data_dir / f"node-{number}",
                config_extra=f'cluster {{ name: croupier, listen: "{LOOPBACK}:{port}", routes: [{routes}] }}\n'
                + config_extra,
            )
            for number, port in enumerate(ports)
        )
        for node, port in zip(self.nodes, ports, strict=True):
            node._ports["route"] = port  # as little anybody else's while the node is down as its other ports


def ask(node: RedisServer, *command: str | bytes | int) -> Any:
    """Return the raw reply of one node to one command. Raises redis' errors."""
    connection = redis.Connection(port=node.port, socket_timeout=ASK_TIMEOUT_S, retry=Retry(NoBackoff(), 0), protocol=2)
    try:
        connection.send_command(*command)
        return connection.read_response()
    finally:
        connection.disconnect()


def _info(node: RedisServer, *command: str) -> dict[str, str]:
    return dict(line.split(":", 1) for line in ask(node, *command).decode().splitlines() if ":" in line)


def _known(node: RedisServer) -> int:
    return int(_info(node, "CLUSTER", "INFO")["cluster_known_nodes"])


def _wait(met: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        with contextlib.suppress(redis.RedisError):
            if met():
                return
        if time.monotonic() > deadline:
            raise LocalProcessError(f"{what} after {START_TIMEOUT_S:g} s")
        time.sleep(POLL_S)
