"""Whole stacks: Redis, NATS, a match service and two workers, each a process of its own."""

import json
import time
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from services.local_process import ServiceProcess
from services.stack import Stack

pytest.register_assert_rewrite("tests.e2e.table")

SHARE = 4
"""Partitions of each of the two workers, once they have found each other."""
SETTINGS = {
    "PARTITIONS": str(2 * SHARE),
    "LEASE_MS": "1000",
    "BLOCK_MS": "50",
    "SEAT_RATE": "10000",
    "ADDRESS_RATE": "100000",
    "MIN_CLOCK_MS": "50",
    "METRICS_PORT": "0",
    "LOG_LEVEL": "debug",
}


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack shared by all tests of this process that harm nothing."""
    with Stack(tmp_path_factory.mktemp("stack"), env=environment()) as stack:
        shared(stack)
        yield stack


def shared(stack: Stack) -> None:
    """Return once the two workers share the partitions."""
    until = time.monotonic() + 30
    while {counted(worker, "partitions_owned") for worker in stack.engines} != {SHARE}:
        assert time.monotonic() < until, "the workers do not share the partitions"
        time.sleep(0.05)
    time.sleep(0.2)  # until they listen for questions about what they own


@pytest.fixture(scope="session")
def second_match_service(stack: Stack) -> Iterator[str]:
    """The address of another match service on the same Redis and NATS."""
    with stack.service("match", "match-2", grpc_port=0) as service:
        yield address(service)


@pytest.fixture(scope="module")
def shaken_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack whose parts the tests of one file kill; what one of them has not brought back is started again."""
    with Stack(tmp_path_factory.mktemp("shaken"), env=environment()) as stack:
        yield stack


def environment() -> dict[str, str]:
    return {f"CROUPIER_{name}": value for name, value in SETTINGS.items()}


def address(service: ServiceProcess) -> str:
    return str(json.loads(service.ready_line)["grpc"])


def counted(process: ServiceProcess, name: str, **labels: str) -> float:
    """What a process shows of a metric."""
    with urllib.request.urlopen(json.loads(process.ready_line)["metrics"], timeout=10) as response:
        text = response.read().decode()
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == f"croupier_{name}" and sample.labels == labels
    )
