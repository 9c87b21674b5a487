"""A service's process closes what it opened, the last first, however it ends; and it says where its metrics are."""

import asyncio
import os
import signal
import urllib.request
from typing import Any

import pytest

from services.lifecycle import Lifecycle
from services.metrics import Metrics
from tests.services.front import in_loop, settings_for
from tests.services.guard import GUARD


def settings_of(redis_url: str, nats_url: str, port: int | None):
    password = GUARD.password("engine")
    return settings_for(redis_url, nats_url, metrics_port=port, nats_user="engine", nats_password=password)


@in_loop
async def test_what_is_opened_is_closed_in_the_opposite_order_when_the_service_fails(redis_url, nats_url):
    said: list[dict[str, Any]] = []
    seen: list[bool] = []

    async def fail() -> None:
        async with Lifecycle("engine", settings_of(redis_url, nats_url, 0), said.append) as life:
            store = await life.store()
            life.callback(lambda: seen.append(bus.connected))
            bus = await life.bus()
            life.callback(lambda: seen.append(bus.connected))
            life.show_metrics()
            life.ready(worker="w")
            assert await store.time() > 0
            page = await asyncio.to_thread(lambda: urllib.request.urlopen(said[0]["metrics"], timeout=5).read())
            assert b"croupier_partitions_owned" in page
            raise LookupError

    with pytest.raises(LookupError):
        await fail()
    assert seen == [True, False]
    port = int(said[0]["metrics"].removesuffix("/metrics").rpartition(":")[2])
    Metrics().serve("127.0.0.1", port).close()
    assert list(said[0].items())[:-1] == [("event", "ready"), ("service", "engine"), ("worker", "w")]


@in_loop
async def test_a_port_for_metrics_that_is_taken_leaves_nothing_open(redis_url, nats_url):
    opened = []

    async def start(port: int) -> None:
        async with Lifecycle("engine", settings_of(redis_url, nats_url, port), lambda _: None) as life:
            opened.append(await life.bus())
            life.show_metrics()

    with Metrics().serve("127.0.0.1", 0) as other, pytest.raises(OSError, match="in use"):
        await start(other.port)
    assert [bus.connected for bus in opened] == [False]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
@in_loop
async def test_a_signal_lets_it_end_and_without_a_port_there_are_no_metrics(redis_url, nats_url, number):
    said: list[dict[str, Any]] = []
    async with Lifecycle("engine", settings_of(redis_url, nats_url, None), said.append) as life:
        told = asyncio.Event()
        life.end_by(told.set)
        life.show_metrics()
        life.ready()
        os.kill(os.getpid(), number)
        await asyncio.wait_for(told.wait(), 10)
    assert said == [{"event": "ready", "service": "engine", "metrics": None}]
