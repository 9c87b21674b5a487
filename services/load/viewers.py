"""How seats are shown their views: over NATS, each on its own connection or all on one, or over gRPC."""

import asyncio
import ssl
from typing import TYPE_CHECKING, Any

import grpc

from croupier.v1 import match_service_pb2 as pb
from services.load.match import Seat
from services.load.nats_listener import Listener, NatsError
from services.play_stream import RETRY_S

if TYPE_CHECKING:
    from services.load.crowd import Crowd

SLOW_S = 5.0
"""For how long a slow reader reads nothing, then for a fifth of it all that has come."""


class _Ear:
    """A seat's subscription on a connection, which a reconnect knows of."""

    def __init__(self, listener: Listener, sid: int, seats: set[Seat], seat: Seat) -> None:
        self.listener = listener
        self._sid = sid
        self._seats = seats
        self._seat = seat

    def forget(self) -> None:
        """End it; the connection stays."""
        self.listener.unsubscribe(self._sid)
        self._seats.discard(self._seat)


class NatsViews:
    """Connections to NATS; a seat's place at the table keeps its connection from match to match."""

    def __init__(self, crowd: "Crowd") -> None:
        """Connect nothing yet."""
        self._crowd = crowd
        self._urls = crowd.plan.nats.split(",")
        self._tls = ssl.create_default_context(cadata=crowd.plan.ca) if crowd.plan.ca else None
        self._shared = crowd.plan.connections == "process"
        self._listeners: dict[tuple[int, int], Listener] = {}
        self._listening: dict[Listener, set[Seat]] = {}
        self._connecting = asyncio.Lock()

    async def show(self, seat: Seat, subject: str) -> None:
        """Have a seat's views given to it from now on. Raises NatsError, OSError."""
        if self._shared:
            async with self._connecting:
                listener = await self._listener((0, 0), None)
        else:
            listener = await self._listener((seat.match.slot, seat.number), seat.token)
        seats = self._listening.setdefault(listener, set())
        seats.add(seat)
        seat.ear = _Ear(listener, listener.subscribe(subject, seat.take), seats, seat)

    async def _listener(self, place: tuple[int, int], token: str | None) -> Listener:
        """Return the connection of a place. Raises NatsError."""
        listener = self._listeners.get(place)
        if listener is not None and listener.needs_token:  # it opens one tenure only
            listener.close()
            del self._listeners[place]
            self._listening.pop(listener, None)
            listener = None
        if listener is None:
            listener = self._new(len(self._listeners))
            try:
                await listener.connect(token)
            except OSError as error:
                raise NatsError(self._unheard(listener, error)) from None
            self._listeners[place] = listener
        return listener

    def _unheard(self, listener: Listener, error: OSError) -> str:
        where = ", ".join(self._urls)
        if self._shared and listener.needs_token:
            return (
                f"NATS at {where} lets in nobody without a name: one connection for all seats needs "
                "CROUPIER_NATS_USER and CROUPIER_NATS_PASSWORD, of a user who may hear every view"
            )
        return f"NATS cannot be listened to at {where} (--nats says where it is): {str(error) or 'no answer'}"

    async def flush(self, seats: list[Seat]) -> None:
        """Return when the server knows of the subscriptions of these seats."""
        listeners = {seat.ear.listener for seat in seats if isinstance(seat.ear, _Ear)}
        await asyncio.gather(*(listener.flush() for listener in listeners))

    async def silent(self, within_s: float) -> str:
        """Say which connections give no answer within so many seconds; empty: all of them did."""

        async def answers(listener: Listener) -> bool:
            try:
                async with asyncio.timeout(within_s):
                    await listener.answer()
            except TimeoutError:
                return False
            return True

        found = await asyncio.gather(*(answers(listener) for listener in self._listeners.values()))
        if all(found):
            return ""
        where = ", ".join(self._urls)
        if not any(found):
            return f"NATS at {where} is gone: no connection gave an answer"
        return f"NATS at {where} is there in part: {found.count(False):,} of {len(found):,} connections gave no answer"

    def _new(self, number: int) -> Listener:
        def back() -> None:
            self._crowd.meter.counts.reconnects += 1
            for seat in self._listening.get(listener, ()):
                self._crowd.heal(seat)

        login = self._crowd.login if self._shared else None
        listener = Listener(self._urls, back, self._crowd.share.index + number, login, self._tls)
        return listener

    async def watch_slowly(self, subject: str, token: str, _version: int) -> None:
        """Listen to a subject on an own connection, and read nothing for most of the time; until cancelled."""
        listener = Listener(self._urls, lambda: None, tls=self._tls)
        try:
            await listener.connect(token)
            listener.subscribe(subject, lambda _data: None)
            while True:
                listener.pause(reading=False)
                await asyncio.sleep(SLOW_S)
                listener.pause(reading=True)
                await asyncio.sleep(SLOW_S / 5)
        finally:
            listener.close()

    def drop(self) -> None:
        """Break every connection."""
        for listener in self._listeners.values():
            listener.drop()

    async def close(self) -> None:
        """Close every connection."""
        for listener in self._listeners.values():
            listener.close()


class GrpcViews:
    """A `WatchView` stream for each seat."""

    def __init__(self, crowd: "Crowd") -> None:
        """Open nothing yet."""
        self._crowd = crowd
        self._watching: set[_Watch] = set()

    async def show(self, seat: Seat, _subject: str) -> None:
        """Have a seat's views given to it from now on."""
        watch = _Watch(self._crowd, seat, self._watching)
        seat.ear = watch
        self._watching.add(watch)

    async def flush(self, seats: list[Seat]) -> None:
        """Nothing to wait for: a stream begins with the present view."""

    async def silent(self, _within_s: float) -> str:
        """Nobody but the match service, who is asked whether he is there."""
        return ""

    async def watch_slowly(self, _subject: str, token: str, version: int) -> None:
        """Watch, but take a view only now and then; until cancelled."""
        while True:
            call = self._crowd.stub.WatchView(pb.WatchViewRequest(token=token, since=version))
            try:
                async for _ in call:
                    await asyncio.sleep(SLOW_S)
            except grpc.aio.AioRpcError:
                await asyncio.sleep(RETRY_S)
            else:
                return

    def drop(self) -> None:
        """Break every stream."""
        for watch in self._watching:
            watch.drop()

    async def close(self) -> None:
        """End every stream."""
        for watch in list(self._watching):
            watch.forget()


class _Watch:
    """A seat's stream of views, opened again when it breaks."""

    def __init__(self, crowd: "Crowd", seat: Seat, watching: "set[_Watch]") -> None:
        self._crowd = crowd
        self._seat = seat
        self._watching = watching
        self._call: Any = None
        self._running = asyncio.create_task(self._run())

    def forget(self) -> None:
        self._watching.discard(self)
        self._running.cancel()

    def drop(self) -> None:
        if self._call is not None:
            self._call.cancel()

    async def _run(self) -> None:
        while True:
            request = pb.WatchViewRequest(token=self._seat.token, since=self._seat.version)
            call = self._call = self._crowd.stub.WatchView(request, wait_for_ready=True)
            reading = asyncio.create_task(self._read(call))
            try:
                await asyncio.wait({reading})
            finally:
                call.cancel()
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
            if not reading.cancelled() and reading.exception() is None:
                return  # it ended after the last view
            self._crowd.meter.counts.reconnects += 1
            await asyncio.sleep(RETRY_S)

    async def _read(self, call: Any) -> None:
        seat, sight = self._seat, self._crowd.sight
        while isinstance(response := await call.read(), pb.WatchViewResponse):
            view = sight.of(response.view)
            if seat.asking:
                seat.later.append(view)
            elif view.version != seat.version or seat.view is None:
                seat.replace(view, asked=False)
