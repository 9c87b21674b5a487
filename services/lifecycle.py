"""From the start to the end of a service's process: what every service opens, tells and closes in the same way."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

import structlog

from services import logs, tasks
from services.bus import INBOX, Access, Bus
from services.metrics import Endpoint, Metrics
from services.settings import Settings, SettingsError
from services.store import Store

PATIENCE_S = 5.0
"""How often it is said that NATS is not there yet."""

log = structlog.get_logger()

Ready = Callable[[dict[str, Any]], None]
"""Is told what a service says of itself once it is ready."""


class Lifecycle(AsyncExitStack):
    """One service as a process; what was opened is closed at the end, in the opposite order, however it ends."""

    def __init__(self, service: str, settings: Settings, ready: Ready) -> None:
        """Write logs as `service` from here on."""
        super().__init__()
        logs.configure(settings, service)
        self.metrics = Metrics()
        self._service = service
        self._settings = settings
        self._ready = ready
        self._endpoint: Endpoint | None = None
        self._given_up = False

    async def __aenter__(self) -> Self:
        """Let SIGTERM and SIGINT end the start, at whatever it waits for; that is no error."""
        starting = asyncio.current_task()
        assert starting is not None

        def give_up() -> None:
            self._given_up = True
            starting.cancel()

        self.end_by(give_up)
        return await super().__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> bool:
        handled = await super().__aexit__(kind, raised, trace)
        return handled or (self._given_up and isinstance(raised, asyncio.CancelledError))

    def end_by(self, stop: Callable[[], object]) -> None:
        """Let SIGTERM and SIGINT from now on call `stop`, which lets the service that runs end in order."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)

    async def store(self, *, functions: bool = True) -> Store:
        """Return the store once it is open; `functions` as in `Store.open`. Raises StoreError."""
        store = await Store(self._settings).open(functions=functions)
        self.push_async_callback(store.close)
        return store

    async def bus(self, inbox: str = INBOX) -> Bus:
        """Return the bus once it is connected, however long that takes; `inbox` as in `Access`.

        While it takes long, that is logged again and again.
        """
        access = Access.of(self._settings, inbox)
        connecting = asyncio.create_task(Bus.connect(self._settings.nats_url, f"croupier-{self._service}", access))
        try:
            while not (await asyncio.wait({connecting}, timeout=PATIENCE_S))[0]:
                log.warning("nats_not_reached", setting="CROUPIER_NATS_URL", detail="trying on")
            bus = connecting.result()
        finally:
            await tasks.end([connecting])
        self.push_async_callback(bus.close)
        return bus

    def show_metrics(self) -> None:
        """Show the metrics over HTTP if the settings say where. Raises SettingsError if the address cannot be had."""
        host, port = self._settings.metrics_host, self._settings.metrics_port
        if port is not None:
            try:
                endpoint = self.metrics.serve(host, port)
            except OSError as error:
                why = f"{host}:{port} cannot be listened on: {error.strerror}"
                raise SettingsError(f"CROUPIER_METRICS_PORT: {why}") from None
            self._endpoint = self.enter_context(endpoint)

    def ready(self, **facts: str) -> None:
        """Tell that the service does its work, with facts of its own."""
        host, endpoint = self._settings.metrics_host, self._endpoint
        metrics = None if endpoint is None else f"http://{host}:{endpoint.port}/metrics"
        self._ready({"event": "ready", "service": self._service, **facts, "metrics": metrics})
