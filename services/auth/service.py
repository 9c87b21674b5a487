"""The auth service: one process that answers NATS' questions who may connect. Run as many as you like."""

import asyncio
import contextlib
import signal
from collections.abc import Callable
from typing import Any

import structlog

from services import logs
from services.auth.callout import Callout
from services.auth.nats_jwt import CurveKey, Issuer, NotNatsToken
from services.bus import Access, Bus
from services.metrics import Metrics
from services.settings import Settings, SettingsError
from services.tokens import Tokens

log = structlog.get_logger()


async def serve(settings: Settings, ready: Callable[[dict[str, Any]], None]) -> None:
    """Run the auth service until SIGTERM or SIGINT; `ready` is told once it answers.

    Raises SettingsError for a key that is missing or none.
    """
    logs.configure(settings, "auth")
    metrics = Metrics()
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    callout = callout_of(settings, metrics)
    async with contextlib.AsyncExitStack() as stack:
        bus = await Bus.connect(settings.nats_url, "croupier-auth", Access.of(settings))
        stack.push_async_callback(bus.close)
        await callout.listen(bus)
        endpoint = None
        if settings.metrics_port is not None:
            endpoint = stack.enter_context(metrics.serve(settings.metrics_host, settings.metrics_port))
        ready({
            "event": "ready", "service": "auth",
            "metrics": None if endpoint is None else f"http://{settings.metrics_host}:{endpoint.port}/metrics",
        })  # fmt: skip
        await stopping.wait()


def callout_of(settings: Settings, metrics: Metrics) -> Callout:
    """Return what answers, with the keys that the settings name. Raises SettingsError."""
    if settings.token_key is None or settings.nats_issuer_seed is None:
        raise SettingsError("CROUPIER_TOKEN_KEY and CROUPIER_NATS_ISSUER_SEED: the auth service needs both")
    try:
        issuer = Issuer(settings.nats_issuer_seed.get_secret_value())
        seed = settings.nats_curve_seed
        curve = None if seed is None else CurveKey(seed.get_secret_value())
    except NotNatsToken as error:
        raise SettingsError(f"CROUPIER_NATS_ISSUER_SEED, CROUPIER_NATS_CURVE_SEED: {error}") from None
    return Callout(Tokens.of(settings), issuer, curve, settings.nats_account, metrics)
