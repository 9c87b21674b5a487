"""A service's process closes what it opened, the last first, however it ends; and it says where its metrics are."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from typing import Any

import pytest
from structlog.testing import capture_logs

from services import lifecycle
from services.auth.nats_jwt import new_account_seed
from services.lifecycle import Lifecycle
from services.local import free_port
from services.metrics import Metrics
from services.settings import SettingsError
from tests.services.front import in_loop, settings_for, until
from tests.services.guard import GUARD

SECRETS = {
    "CROUPIER_TOKEN_KEY": "70ce" * 16,
    "CROUPIER_SEED_KEY": "5eed" * 16,
    "CROUPIER_NATS_ISSUER_SEED": new_account_seed(),
}
SERVICES = ["match", "engine", "auth"]


def started(service: str, redis_url: str, nats_url: str, **more: str) -> subprocess.Popen[str]:
    """A service as an operator starts it."""
    return subprocess.Popen(
        [sys.executable, "-m", "services.cli", service],
        env=os.environ | SECRETS | {"CROUPIER_REDIS_URL": redis_url, "CROUPIER_NATS_URL": nats_url} | more,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


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

    with (
        Metrics().serve("127.0.0.1", 0) as other,
        pytest.raises(SettingsError, match=r"CROUPIER_METRICS_PORT: .*in use"),
    ):
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("service", SERVICES)
def test_a_service_that_still_waits_for_nats_ends_when_it_is_told_to(redis_url, service, number):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        url = f"nats://127.0.0.1:{silent.getsockname()[1]}"
        with started(service, redis_url, url, CROUPIER_PARTITIONS="4") as process:
            connection, _ = silent.accept()
            process.send_signal(number)
            _, said = process.communicate(timeout=60)
            connection.close()
    assert process.returncode == 0
    assert "Traceback" not in said


@in_loop
async def test_that_nats_is_not_there_is_said_again_and_again_until_the_start_is_given_up(monkeypatch):
    monkeypatch.setattr(lifecycle, "PATIENCE_S", 0.05)
    life = Lifecycle(
        "engine", settings_of("redis://127.0.0.1", f"nats://127.0.0.1:{free_port()}", None), lambda _: None
    )
    began = False
    with capture_logs() as logged:
        async with life:
            giving_up = asyncio.create_task(told_twice(logged))
            await life.bus()
            began = True
        await giving_up
    assert not began


async def told_twice(logged: list[Any]) -> None:
    await until(lambda: sum(entry["event"] == "nats_not_reached" for entry in logged) >= 2)
    os.kill(os.getpid(), signal.SIGTERM)


@in_loop
async def test_who_is_cancelled_by_somebody_else_is_cancelled():
    async def start() -> None:
        async with Lifecycle("engine", settings_of("redis://127.0.0.1", "nats://127.0.0.1", None), lambda _: None):
            await asyncio.sleep(60)

    starting = asyncio.create_task(start())
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting


@pytest.mark.parametrize("service", ["match", "engine"])
def test_a_user_whom_redis_does_not_let_in_is_one_line_that_names_the_settings(redis_url, nats_url, service):
    access = {"CROUPIER_REDIS_USER": "nobody", "CROUPIER_REDIS_PASSWORD": "s3cret"}
    with started(service, redis_url, nats_url, **access) as process:
        _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "CROUPIER_REDIS_USER, CROUPIER_REDIS_PASSWORD" in said
    assert said.count("\n") == 1
    assert "s3cret" not in said


@pytest.mark.parametrize("service", ["match", "engine"])
def test_a_redis_that_is_not_there_is_one_line_that_names_the_setting(nats_url, service):
    with started(service, f"redis://:s3cret@127.0.0.1:{free_port()}", nats_url) as process:
        _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "CROUPIER_REDIS_URL" in said
    assert said.count("\n") == 1
    assert "s3cret" not in said
