"""The auth service: one process that answers NATS' questions who may connect. Run as many as you like."""

import asyncio

from services.auth.callout import Callout
from services.auth.nats_jwt import CurveKey, Issuer, NotNatsToken
from services.lifecycle import Lifecycle, Ready
from services.metrics import Metrics
from services.settings import Settings, SettingsError
from services.tokens import Tokens


async def serve(settings: Settings, ready: Ready) -> None:
    """Run the auth service until SIGTERM or SIGINT; `ready` is told once it answers.

    Raises SettingsError for a key that is missing or none.
    """
    async with Lifecycle("auth", settings, ready) as life:
        callout = callout_of(settings, life.metrics)
        bus = await life.bus()
        await callout.listen(bus)
        life.metrics.serving.set_function(lambda: bus.connected)
        life.show_metrics()
        stopping = asyncio.Event()
        life.end_by(stopping.set)
        life.ready()
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
