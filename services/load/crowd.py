"""All players of one process: matches opened, played, replaced, and ended at last."""

import asyncio
import contextlib
import random
import time
from array import array
from collections.abc import Coroutine
from typing import Any, NamedTuple

import grpc

from croupier.v1 import match_service_pb2 as pb
from croupier.v1 import match_service_pb2_grpc as pb_grpc
from services.client import open_channel
from services.load.figures import Interval, Meter
from services.load.lobby import open_match
from services.load.match import ENDS, OpenMatch, Seat, Sent
from services.load.moves import MoveStream, UnaryMoves
from services.load.pace import Closed, Pace, Schedule
from services.load.plan import MATCHES_TOGETHER, Share
from services.load.sight import Sight
from services.load.viewers import GrpcViews, NatsViews
from services.play_stream import BROKEN, RETRY_S, RefusedError, refused
from services.tasks import end

CALL_S = 10.0
PATIENCE_S = 30.0
TOGETHER = 8
"""Matches that are opened at the same time."""
SILENCE_S = 10.0
"""How long nothing may happen to a match before it is asked whether a view was lost."""
GONE_S = 5.0
"""How long a server may be silent, once nobody plays any more, before it counts as gone for good."""
JOURNAL_S = 10.0
"""How long the next part of a journal may take."""


class Played(NamedTuple):
    """A match that has ended, for the audit."""

    match: str
    accepted: "array[int]"
    hash: str | None
    """The last hash that its players were told; None if nobody was left to be told."""
    parted: str


class Crowd:
    """The players of a share. They start paused; `go` lets them play, `ending.finish` ends their matches."""

    def __init__(self, share: Share, operator_key: str | None, login: tuple[str, str] | None = None) -> None:
        """Connect nothing yet; `login` is a user of NATS that may hear every view, and its password."""
        plan = share.plan
        self.login = login
        self.share = share
        self.plan = plan
        self.sight = Sight(plan.game)
        self.meter = Meter()
        self.pace: Pace = Closed(plan.think_ms) if plan.rate is None else Schedule(share, self.meter)
        self.leave = plan.leave
        self.paused = True
        self.ending = False
        """Whether no match is opened any more."""
        self.last_id = 0
        self.played: list[Played] = []
        self.matches: dict[int, OpenMatch] = {}
        self.failure: Exception | None = None
        self.gone = ""
        """Why the match service is not waited for any more: it is gone for good. Empty: it is not."""
        self.opening = 0
        """Matches that are just being opened."""
        self.operator = [("authorization", f"Bearer {operator_key}")] if operator_key else []
        self._tasks: set[asyncio.Task[None]] = set()
        self._opened = 0
        self.patience_s, self.call_s, self.grace_s = PATIENCE_S, CALL_S, GONE_S
        """How long a call is repeated; how long it may take; how long the end waits where nothing happens."""
        self._channel = open_channel(plan.server, plan.ca.encode() or None)
        self.stub: Any = pb_grpc.MatchServiceStub(self._channel)
        self._senders: dict[int, MoveStream | UnaryMoves] = {}
        self.views = NatsViews(self) if plan.views == "nats" else GrpcViews(self)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something in the background; an exception that it raises is the run's failure."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self.failure = self.failure or error

    def report(self) -> Interval:
        """Return what was seen since the last report."""
        return self.meter.take(len(self.matches))

    # --- phases --------------------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Open all matches of the share, or fewer if it is told to end. Raises RefusedError, OSError."""
        try:
            async with asyncio.timeout(CALL_S):
                await self._channel.channel_ready()
        except TimeoutError:
            how = (
                "by TLS and with a certificate of the given CA" if self.plan.ca else "without TLS (--ca FILE speaks it)"
            )
            raise ConnectionError(f"no match service answers at {self.plan.server} {how}{await self._said()}") from None
        gate = asyncio.Semaphore(TOGETHER)

        async def one(slot: int) -> None:
            async with gate:
                if not self.ending:
                    await self._open(slot)

        async with asyncio.TaskGroup() as group:
            for slot in self.share.slots:
                group.create_task(one(slot))

    async def _said(self) -> str:
        """Return what gRPC says of a server that cannot be reached."""
        try:
            await self.stub.ListGames(pb.ListGamesRequest(game=self.plan.game), timeout=1)
        except grpc.aio.AioRpcError as error:
            return f": {error.details()}"
        return ""

    def go(self) -> None:
        """Play."""
        self.paused = False
        self.pace.start(time.perf_counter())
        for match in list(self.matches.values()):
            match.go_on()
        self.spawn(self._watch())
        if self.plan.reconnect_s is not None:
            self.spawn(self._storms(self.plan.reconnect_s))

    def hurry(self) -> None:
        """Wait for next to nothing from now on: the server is gone."""
        self.patience_s, self.call_s, self.grace_s = 0.0, 1.0, 1.0

    def behind(self) -> int:
        """Return how many moves the schedule is ahead of the players."""
        return self.pace.behind(time.perf_counter())

    async def answers(self, within_s: float) -> bool:
        """Whether the match service gives any answer within so many seconds."""
        until = time.monotonic() + within_s
        while (left := until - time.monotonic()) > 0:
            try:
                await self.stub.ListGames(pb.ListGamesRequest(game=self.plan.game), timeout=left, wait_for_ready=True)
            except grpc.aio.AioRpcError as error:
                if refused(error).reason not in BROKEN:
                    return True
                await asyncio.sleep(RETRY_S)
            else:
                return True
        return False

    async def journal(self, match: str, patience_s: float = PATIENCE_S) -> list[bytes]:
        """Return the lines of a journal; ask again for so long where nobody answers. Raises RefusedError."""
        until = time.monotonic() + patience_s
        while True:
            try:
                return await self._journal(match)
            except RefusedError as refusal:
                if not refusal.again or time.monotonic() > until:
                    raise
            await asyncio.sleep(RETRY_S)

    async def _journal(self, match: str) -> list[bytes]:
        lines: list[bytes] = []
        call = self.stub.GetJournal(pb.GetJournalRequest(match=match), timeout=PATIENCE_S)
        try:
            while True:
                async with asyncio.timeout(JOURNAL_S):
                    response = await call.read()
                if not isinstance(response, pb.GetJournalResponse):
                    return lines
                lines += response.lines
        except grpc.aio.AioRpcError as error:
            raise refused(error) from None
        except TimeoutError:
            raise RefusedError("DEADLINE_EXCEEDED", f"nothing came for {JOURNAL_S:g} s", {}, again=True) from None
        finally:
            call.cancel()

    async def close(self) -> None:
        """Close every connection."""
        await end(self._tasks)
        for sender in self._senders.values():
            await sender.close()
        await self.views.close()
        await self._channel.close()

    # --- matches -------------------------------------------------------------------------------------------------

    async def call(self, method: Any, request: Any, **more: Any) -> Any:
        """Call a unary method, again where nobody answered. Raises RefusedError."""
        began = time.monotonic()
        while True:
            try:
                return await method(request, timeout=self.call_s, wait_for_ready=True, **more)
            except grpc.aio.AioRpcError as error:
                refusal = refused(error)
                if not refusal.again or time.monotonic() - began >= self.patience_s:
                    raise refusal from None
                self.meter.refuse(refusal.reason)
            await asyncio.sleep(RETRY_S)

    async def _open(self, slot: int) -> None:
        began = time.perf_counter()
        self._opened += 1
        chance = random.Random(f"{self.plan.seed}/{slot}/{self._opened}")  # noqa: S311 - play, not secrets
        self.opening += 1
        try:
            match = self.matches[slot] = await open_match(self, slot, chance)
        finally:
            self.opening -= 1
        now = time.perf_counter()
        self.meter.opening.append(now - began)
        self.meter.counts.opened += 1
        if not self.paused:
            self.pace.enter(slot, now)
        match.begin()

    def sender(self, slot: int) -> MoveStream | UnaryMoves:
        """Return the slot's stream, or the one that it shares."""
        if self.plan.transport == "unary":
            number = 0
        else:
            number = slot if self.plan.streams == "match" else slot // self.share.of // MATCHES_TOGETHER
        if number not in self._senders:
            self._senders[number] = UnaryMoves(self) if self.plan.transport == "unary" else MoveStream(self)
        return self._senders[number]

    def ended(self, match: OpenMatch, last_hash: str | None) -> None:
        """A match is over for all who still sit at it: open another, unless the run is."""
        if self.matches.get(match.slot) is not match:
            return
        del self.matches[match.slot]
        for seat in match.seats:
            self._release(seat)
        if match.spectator is not None:
            match.spectator.cancel()
        self.meter.counts.ended += 1
        self.played.append(Played(match.id, match.accepted, last_hash, match.parted))
        if not self.paused:
            self.spawn(self._replace(match.slot))

    async def _replace(self, slot: int) -> None:
        while not self.paused:
            try:
                await self._open(slot)
            except (RefusedError, OSError) as error:
                self.meter.refuse(error.reason if isinstance(error, RefusedError) else type(error).__name__)
                await asyncio.sleep(1)
            else:
                return

    def abandon(self, match: OpenMatch) -> None:
        """End, in the background, a match that could not be opened."""
        for seat in match.seats:
            self._release(seat)

        async def ending() -> None:
            self.opening += 1
            try:
                with contextlib.suppress(RefusedError):
                    await self.abort(match)
            finally:
                self.opening -= 1

        self.spawn(ending())

    async def abort(self, match: OpenMatch) -> None:
        """End a match. Raises RefusedError."""
        if self.operator:
            request = pb.AbortMatchRequest(match=match.id, reason="the load test is over")
            match.last = (await self.call(self.stub.AbortMatch, request, metadata=self.operator)).version
            return
        for seat in list(match.seats):  # when the last has left the server ends the match
            await self.call(self.stub.LeaveMatch, pb.LeaveMatchRequest(token=seat.token))
        self.ended(match, None)

    async def let_leave(self, seat: Seat) -> None:
        """Leave a seat for good; the others play on."""
        try:
            await self.call(self.stub.LeaveMatch, pb.LeaveMatchRequest(token=seat.token))
        except RefusedError as refusal:
            self.meter.refuse(refusal.reason)
            seat.match.leaving = False
            seat.match.go_on()
            return
        self.meter.counts.left += 1
        self._release(seat)
        seat.match.remove(seat)

    def _release(self, seat: Seat) -> None:
        if seat.ear is not None:
            seat.ear.forget()
        seat.match.sender.detach(seat)

    def accepted(self, sent: Sent, version: int) -> None:
        """A move has its receipt."""
        self.meter.receipt.append(time.perf_counter() - sent.began)
        self.meter.counts.receipts += 1
        sent.seat.match.accept(sent, version)

    # --- what was missed -----------------------------------------------------------------------------------------

    def heal(self, seat: Seat) -> None:
        """Ask for the view of a seat that may have missed some, unless that is being done."""
        if not seat.asking:
            seat.asking = True
            self.meter.counts.gaps += 1
            self.spawn(self._heal(seat))

    async def _heal(self, seat: Seat) -> None:
        try:
            await self.ask(seat)
        except RefusedError as refusal:
            self.meter.refuse(refusal.reason)
        later, seat.later = seat.later, []
        for view in later:
            seat.hear(view)

    async def ask(self, seat: Seat) -> None:
        """Ask for the present view, which replaces what the seat holds. Raises RefusedError."""
        seat.asking = True
        try:
            response = await self.call(self.stub.GetView, pb.GetViewRequest(token=seat.token, since=seat.version))
        finally:
            seat.asking = False
        seat.replace(self.sight.of(response.view), asked=True)

    async def _watch(self) -> None:
        """Look for matches to which nothing has happened for long although something should."""
        while True:
            await asyncio.sleep(1)
            now = time.perf_counter()
            for match in list(self.matches.values()):
                if now - match.touched > SILENCE_S and match.timer is None and not match.leaving:
                    match.touched = now - SILENCE_S / 2
                    for seat in match.seats:
                        if seat.view is None or seat.view.status not in ENDS:
                            self.heal(seat)

    async def _storms(self, every_s: float) -> None:
        """Break every connection now and then."""
        while True:
            await asyncio.sleep(every_s)
            if self.paused:
                return
            for sender in self._senders.values():
                sender.drop()
            self.views.drop()
