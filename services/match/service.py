"""The match service as a process: start, health, and an end that loses nothing in flight."""

import asyncio
import contextlib

import grpc
import structlog
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc
from redis.exceptions import RedisError

from croupier.v1 import match_service_pb2, match_service_pb2_grpc
from services import collector, tasks
from services.archive import Archive
from services.bus import Bus
from services.commands import ANSWERS_TO_MATCH
from services.lifecycle import Lifecycle, Ready
from services.match.past import Past
from services.match.receipts import Courier
from services.match.refused import begun, guarded, limited
from services.match.servicer import MatchService
from services.match.watch import Views
from services.metrics import Metrics
from services.settings import Settings, SettingsError
from services.signatures import signer
from services.store import Store
from services.tokens import Tokens

UNCOMPRESSED = 1 << grpc.Compression.NoCompression.value
NAME = match_service_pb2.DESCRIPTOR.services_by_name["MatchService"].full_name
LOOK_S = 0.5
"""How often it is looked whether Redis and NATS are there."""
PING_TIMEOUT_S = 2.0
LINGER_S = 0.5
"""How long a service that stops turns calls away at most, before it tells connections to go."""
QUIET_S = 0.05
"""For how long no call has come when that is over."""
TELL_S = 0.5
"""How long the last refusals may take to their callers."""

log = structlog.get_logger()


class Front:
    """The listening service; `start` before use, `stop` after it."""

    def __init__(self, settings: Settings, store: Store, bus: Bus, metrics: Metrics) -> None:
        """Prepare on an open store and bus.

        Raises SettingsError without a key for tokens, StorageError for an archive that cannot be used.
        """
        self._settings = settings
        self._store = store
        self._bus = bus
        tokens = Tokens.of(settings)
        self._courier = Courier(settings, store, bus, metrics)
        archive = None if settings.archive is None else Archive.at(settings.archive)
        past = Past(store, archive, signer(settings))
        self._views = Views(bus, past)
        self._service = MatchService(settings, store, past, self._courier, self._views, tokens, metrics)
        self._health = health.aio.HealthServicer()
        self._healthy = False
        self._shown = metrics.serving
        self._tasks: list[asyncio.Task[None]] = []
        self._server = grpc.aio.server(
            maximum_concurrent_rpcs=settings.max_calls,
            options=[
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", settings.max_message_bytes),
                # gRPC measures a message once it is unpacked: 1/4 MB would become 1/4 GB.
                ("grpc.compression_enabled_algorithms_bitset", UNCOMPRESSED),
                # A peer that is gone without a word is noticed within two minutes; clients may ask as often as that.
                ("grpc.keepalive_time_ms", 60_000),
                ("grpc.keepalive_timeout_ms", 20_000),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
            ],
        )
        counted = begun(self._service)
        match_service_pb2_grpc.add_MatchServiceServicer_to_server(self._service, guarded(self._server, counted))
        held = limited(self._service)
        others = guarded(self._server, lambda method, handler: counted(method, held(method, handler)))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, others)
        shown = reflection.aio.ReflectionServicer((NAME, health.SERVICE_NAME, reflection.SERVICE_NAME))
        reflection_pb2_grpc.add_ServerReflectionServicer_to_server(shown, others)  # type: ignore[no-untyped-call]  # generated

    async def start(self) -> int:
        """Listen; return the port. Raises SettingsError if the address cannot be had."""
        address = f"{self._settings.grpc_host}:{self._settings.grpc_port}"
        credentials = _credentials(self._settings)
        try:
            if credentials is None:
                port = self._server.add_insecure_port(address)
            else:
                port = self._server.add_secure_port(address, credentials)
        except RuntimeError:  # without the system's reason
            raise SettingsError(
                f"CROUPIER_GRPC_PORT: {address} cannot be listened on; is it taken, or not of this machine?"
            ) from None
        await self._courier.open()
        await self._look()
        await self._server.start()
        self._tasks = [asyncio.create_task(self._views.tend()), asyncio.create_task(self._watch_health())]
        return port

    async def stop(self) -> None:
        """Take no more calls, let those in flight end within `drain_s`, refuse what is left then, and stop."""
        await tasks.end(self._tasks)
        await self._health.enter_graceful_shutdown()
        self._shown.set(False)
        self._service.stop()
        await self._turn_away()
        stopping = asyncio.create_task(self._server.stop(self._settings.drain_s + TELL_S))
        await asyncio.wait({stopping}, timeout=self._settings.drain_s)
        if not stopping.done():
            self._service.calls.end()
        await stopping
        await self._courier.close()

    async def _turn_away(self) -> None:
        """Refuse calls until hardly any come: those on their way when gRPC stops it drops without a word."""
        calls, until = self._service.calls, asyncio.get_running_loop().time() + LINGER_S
        before = -1
        while before != calls.turned_away and asyncio.get_running_loop().time() < until:
            before = calls.turned_away
            await asyncio.sleep(QUIET_S)

    async def _watch_health(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            await self._look()

    async def _look(self) -> None:
        was, self._healthy = self._healthy, await self._is_healthy()
        if was != self._healthy:
            log.info("health_changed", serving=self._healthy)
        self._shown.set(self._healthy)
        status = health_pb2.HealthCheckResponse
        for service in ("", NAME):
            await self._health.set(service, status.SERVING if self._healthy else status.NOT_SERVING)

    async def _is_healthy(self) -> bool:
        if not self._bus.connected:
            return False
        with contextlib.suppress(RedisError, OSError, TimeoutError):
            async with asyncio.timeout(PING_TIMEOUT_S):
                await self._store.time()
            return True
        return False


def _credentials(settings: Settings) -> grpc.ServerCredentials | None:
    """Return what the settings say of TLS, None for none. Raises OSError for a file that cannot be read."""
    cert, key, ca = settings.grpc_tls_cert, settings.grpc_tls_key, settings.grpc_tls_client_ca
    if cert is None or key is None:
        return None
    return grpc.ssl_server_credentials(
        [(key.read_bytes(), cert.read_bytes())],
        root_certificates=None if ca is None else ca.read_bytes(),
        require_client_auth=ca is not None,
    )


async def serve(settings: Settings, ready: Ready) -> None:
    """Run the match service until SIGTERM or SIGINT; `ready` is told once it takes calls.

    Raises SettingsError without a key for tokens, StoreError for a server and StorageError for an archive that cannot
    be used, SettingsError for an address that cannot be had.
    """
    async with Lifecycle("match", settings, ready) as life:
        store = await life.store(functions=False)
        front = Front(settings, store, await life.bus(ANSWERS_TO_MATCH), life.metrics)
        life.show_metrics()
        life.push_async_callback(front.stop)
        port = await front.start()
        collector.calm()
        stopping = asyncio.Event()
        life.end_by(stopping.set)
        life.ready(grpc=f"{settings.grpc_host}:{port}")
        await stopping.wait()
        log.info("draining", seconds=settings.drain_s)
