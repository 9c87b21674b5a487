"""Store and bus with hooks around each call: a test can stop, kill or overtake a worker at exactly one point."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from services.bus import Bus
from services.store import Store

PATIENCE_S = 20
"""For what has to happen; no test passes by waiting this long."""
Hook = Callable[..., Awaitable[None]]


class Hooked:
    """Mixed into a store or bus: `before[name]` and `after[name]` are awaited around each call of that method.

    The methods of a store's intake and leases are reached by their names, too.
    """

    before: dict[str, Hook]
    after: dict[str, Hook]

    def hooked(self) -> "Hooked":
        self.before, self.after = {}, {}
        for part in (self, getattr(self, "intake", None), getattr(self, "leases", None)):
            for name in ("commit", "acknowledge", "read", "read_pending", "load", "holds", "publish", "renew", "due"):
                if hasattr(part, name):
                    setattr(part, name, self._around(name, getattr(part, name)))
        return self

    def _around(self, name: str, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            if hook := self.before.get(name):
                await hook(*args, **kwargs)
            result = await method(*args, **kwargs)
            if hook := self.after.get(name):
                await hook(result)
            return result

        return call


class HookedStore(Hooked, Store):
    pass


class HookedBus(Hooked, Bus):
    pass


class Gate:
    """A hook that stops its caller: the test waits for `reached`, does what it wants, and opens."""

    def __init__(self, *, when: Callable[..., bool] = lambda *_: True) -> None:
        self.reached = asyncio.Event()
        self._open = asyncio.Event()
        self._when = when

    async def __call__(self, *args: Any, **_: Any) -> None:
        if self._when(*args):
            self.reached.set()
            await self._open.wait()

    async def closed_on_somebody(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.reached.wait()

    def open(self) -> None:
        self._open.set()
