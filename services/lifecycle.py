"""From the start to the end of a service's process: what every service opens, tells and closes in the same way."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

from services import logs
from services.bus import INBOX, Access, Bus
from services.metrics import Endpoint, Metrics
from services.settings import Settings
from services.store import Store

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

    def end_by(self, stop: Callable[[], object]) -> None:
        """Let SIGTERM and SIGINT call `stop`, which lets the service end in order."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)

    async def store(self, *, functions: bool = True) -> Store:
        """Return the store once it is open; `functions` as in `Store.open`. Raises StoreError."""
        store = await Store(self._settings).open(functions=functions)
        self.push_async_callback(store.close)
        return store

    async def bus(self, inbox: str = INBOX) -> Bus:
        """Return the bus once it is connected, however long that takes; `inbox` as in `Access`."""
        access = Access.of(self._settings, inbox)
        bus = await Bus.connect(self._settings.nats_url, f"croupier-{self._service}", access)
        self.push_async_callback(bus.close)
        return bus

    def show_metrics(self) -> None:
        """Show the metrics over HTTP if the settings say where. Raises OSError if the address cannot be had."""
        host, port = self._settings.metrics_host, self._settings.metrics_port
        if port is not None:
            self._endpoint = self.enter_context(self.metrics.serve(host, port))

    def ready(self, **facts: str) -> None:
        """Tell that the service does its work, with facts of its own."""
        host, endpoint = self._settings.metrics_host, self._endpoint
        metrics = None if endpoint is None else f"http://{host}:{endpoint.port}/metrics"
        self._ready({"event": "ready", "service": self._service, **facts, "metrics": metrics})
