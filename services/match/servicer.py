"""The calls of croupier.v1.MatchService: check, send or ask, answer."""
# ruff: noqa: N802, ARG002 - gRPC fixes the names of the methods and what they are given

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing

import msgspec
from structlog.contextvars import bind_contextvars

from croupier.v1 import match_service_pb2 as pb
from croupier.v1 import match_service_pb2_grpc, view_pb2
from engine import bots, registry
from engine.journal import Created
from services import wire
from services.commands import (
    Abort,
    Command,
    Create,
    Join,
    Kick,
    Leave,
    Receipt,
    Start,
    invite_of,
    rematch_request,
    request_hash,
    view_subject,
)
from services.match import checks, lobby
from services.match.limits import Limits, OpenMatches
from services.match.pace import Pace
from services.match.past import Past, rematch_id
from services.match.play import PlayStream, submit
from services.match.receipts import Courier
from services.match.refused import Calls, Context, Interrupted, Refused, accepted, streaming, unary
from services.match.watch import Viewer, Views
from services.metrics import Metrics
from services.settings import Settings
from services.store import Store
from services.tokens import LEEWAY_S, Operators, SeatClaim, TokenExpired, Tokens

MARGIN_S = 0.2
"""How long before the client's deadline the service answers that it does not know."""


class MatchService(match_service_pb2_grpc.MatchServiceServicer):
    """One process's front; holds no match, only who waits for what."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        past: Past,
        courier: Courier,
        views: Views,
        tokens: Tokens,
        metrics: Metrics,
    ) -> None:
        """Serve with parts that are open."""
        self.metrics = metrics
        self._settings = settings
        self._store = store
        self._past = past
        self._courier = courier
        self._views = views
        self._tokens = tokens
        self._operators = Operators.of(settings)
        self._pace = Pace(settings.seat_rate)
        self.limits = Limits(settings)
        self._open_matches = OpenMatches(store, settings.address_matches)
        self._playing: set[PlayStream] = set()
        self._stopping = False
        self.calls = Calls()

    def stop(self) -> None:
        """End all streams as soon as what they are doing is done."""
        self._stopping = True
        self.calls.stop()
        self._views.stop()
        for stream in self._playing:
            stream.stop()

    # --- finding and opening matches -----------------------------------------------------------------------------

    @unary
    async def ListGames(self, request: pb.ListGamesRequest, context: Context) -> pb.ListGamesResponse:
        versions: dict[str, list[registry.AnyGame]] = {}
        for game in registry.games():
            if not request.HasField("game") or game.name == request.game:
                versions.setdefault(game.name, []).append(game)
        if request.HasField("game") and not versions:
            raise Refused("UNKNOWN_GAME", "this server does not deal that game")
        return pb.ListGamesResponse(
            games=[wire.catalogue(versions[name], bots.titles(name)) for name in sorted(versions)]
        )

    @unary
    async def CreateMatch(self, request: pb.CreateMatchRequest, context: Context) -> pb.CreateMatchResponse:
        if self._operators:
            checks.operator(context, self._operators)
        command = checks.create(request, self._settings)
        bind_contextvars(match=command.match)
        if not self._operators:
            await self._open_matches.admit(context.peer(), command.match)
        receipt = await self._do(command, context)
        view = await self._view_of(receipt, Viewer(command.match), context)
        return pb.CreateMatchResponse(
            match=command.match,
            host_token=self._tokens.for_host(command.match),
            invite=invite_of(request.request_id) if command.private else None,
            commitment=view.commitment,
            code=command.code,
            view=view,
        )

    @unary
    async def ListMatches(self, request: pb.ListMatchesRequest, context: Context) -> pb.ListMatchesResponse:
        return await lobby.find(self._store, request, self._settings.partitions)

    @unary
    async def JoinMatch(self, request: pb.JoinMatchRequest, context: Context) -> pb.JoinMatchResponse:
        match = self._known(request.match)
        identity = checks.request_id(request.request_id)
        if request.HasField("seat") and request.seat < 0:
            raise Refused("BAD_SEATS", "seats count from 0", seat=request.seat)
        seat = request.seat if request.HasField("seat") else None
        name, client_seed = checks.name(request.name), checks.client_seed(request, identity)
        join = Join(match, request_hash(identity), name, client_seed, seat, checks.invite(request))
        joined = await self._do(join, context)
        claim, view = await self._seated(match, joined, context)
        return pb.JoinMatchResponse(
            seat=claim.seat,
            tenure=claim.tenure,
            token=await self._seat_token(claim, view),
            commitment=view.commitment,
            subject=view_subject(*claim[:3]),
            view=view,
        )

    @unary
    async def Spectate(self, request: pb.SpectateRequest, context: Context) -> pb.SpectateResponse:
        match = self._known(request.match)
        answer = await self._views.ask(Viewer(match), None, self._patience(context), checks.invite(request))
        return pb.SpectateResponse(
            token=self._tokens.for_table(match),
            subject=view_subject(match, None, None),
            view=wire.view_from_json(answer.view),
        )

    # --- the lobby and the end -----------------------------------------------------------------------------------

    @unary
    async def LeaveMatch(self, request: pb.LeaveMatchRequest, context: Context) -> pb.LeaveMatchResponse:
        seat = self._paced(request.token)
        receipt = await self._do(Leave(seat.match, seat.seat, seat.tenure), context, seat=seat.seat)
        return pb.LeaveMatchResponse(version=receipt.version)

    @unary
    async def KickSeat(self, request: pb.KickSeatRequest, context: Context) -> pb.KickSeatResponse:
        match = self._hosted(request.host_token)
        # A command may be decided twice: without its tenure the second time would hit whoever has sat down since.
        tenure = request.tenure if request.HasField("tenure") else await self._tenure(match, request.seat, context)
        receipt = await self._do(Kick(match, request.seat, tenure), context, seat=request.seat)
        return pb.KickSeatResponse(version=receipt.version)

    @unary
    async def StartMatch(self, request: pb.StartMatchRequest, context: Context) -> pb.StartMatchResponse:
        receipt = await self._do(Start(self._hosted(request.host_token)), context)
        return pb.StartMatchResponse(version=receipt.version)

    @unary
    async def AbortMatch(self, request: pb.AbortMatchRequest, context: Context) -> pb.AbortMatchResponse:
        checks.operator(context, self._operators)
        match = self._known(request.match)
        receipt = await self._do(Abort(match, checks.abort_reason(request.reason)), context)
        return pb.AbortMatchResponse(version=receipt.version)

    @unary
    async def Rematch(self, request: pb.RematchRequest, context: Context) -> pb.RematchResponse:
        old = self._tokens.seat(request.token)
        bind_contextvars(match=old.match, seat=old.seat)
        identity = checks.request_id(request.request_id)
        client_seed = checks.client_seed(request, identity)
        await self._past.end_of(old.match)
        await self._views.ask(Viewer(*old[:3]), None, self._patience(context))  # refuses a tenure that was left
        name = (await self._past.joined_as(old.match, old.seat, old.tenure)).name
        create = self._next(await self._past.created_as(old.match))
        if not self._operators and await self._store.last_line(create.match) is None:
            await self._open_matches.admit(context.peer(), create.match)
        created = await self._do(create, context)
        join = Join(create.match, request_hash(identity), name, client_seed, old.seat, create.request)
        try:
            joined = await self._do(join, context)
        except Refused as refused:
            # Another sits there; a repeat of a join that had to look for another seat counts as another request.
            if refused.reason not in ("SEAT_TAKEN", "REQUEST_REUSED"):
                raise
            joined = await self._do(msgspec.structs.replace(join, seat=None), context)
        claim, view = await self._seated(create.match, joined, context)
        return pb.RematchResponse(
            match=create.match,
            seat=claim.seat,
            tenure=claim.tenure,
            token=await self._seat_token(claim, view),
            commitment=view.commitment,
            subject=view_subject(*claim[:3]),
            view=view,
            host_token=self._tokens.for_host(create.match) if created.appended or claim.tenure == 1 else None,
        )

    def _next(self, created: Created) -> Create:
        return Create(
            match=rematch_id(created.match, self._settings.partitions),
            request=created.request if created.private else request_hash(rematch_request(created.match)),
            rules=created.rules,
            options=created.options,
            seats=created.seats,
            clock=None if created.clock is msgspec.UNSET else created.clock,
            private=created.private,
            absent=None if created.absent is msgspec.UNSET else created.absent,
        )

    # --- playing -------------------------------------------------------------------------------------------------

    @unary
    async def SubmitMove(self, request: pb.SubmitMoveRequest, context: Context) -> pb.SubmitMoveResponse:
        seat = self._paced(request.token)
        receipt = await self._do(submit(seat, request), context, seat=seat.seat)
        return pb.SubmitMoveResponse(version=receipt.version)

    @streaming
    async def Play(self, request: AsyncIterator[pb.PlayRequest], context: Context) -> None:
        limit = self._settings.deadline_ms / 1000 - MARGIN_S
        loop = asyncio.get_running_loop()

        def deadline() -> float:
            left = _time_left(context)
            return loop.time() + (limit if left is None else min(limit, left - MARGIN_S))

        if self._stopping:
            raise Interrupted("this server stops; play at another one")

        def stray() -> None:
            self.limits.call(context.peer())

        stream = PlayStream(self._tokens, self._courier, self._pace, deadline, stray)
        self._playing.add(stream)
        try:
            await stream.run(request, context.write)
        finally:
            self._playing.discard(stream)

    # --- watching ------------------------------------------------------------------------------------------------

    @unary
    async def GetView(self, request: pb.GetViewRequest, context: Context) -> pb.GetViewResponse:
        viewer = self._viewer(request.token)
        since = checks.since(request)
        if request.HasField("version"):
            if since is not None:
                raise checks.malformed("version", "since and version exclude each other")
            view = await self._past.view_at(viewer.match, viewer.seat, request.version)
            if view is not None:
                return pb.GetViewResponse(view=wire.view_from_json(view))
        answer = await self._views.ask(viewer, since, self._patience(context))
        return pb.GetViewResponse(
            view=wire.view_from_json(answer.view),
            missed=[wire.past_events_from_json(events) for events in answer.missed],
            truncated=answer.truncated,
        )

    @streaming
    async def WatchView(self, request: pb.WatchViewRequest, context: Context) -> None:
        viewer = self._viewer(request.token)
        if self._stopping:
            raise Interrupted("this server stops; watch at another one")
        expiry = asyncio.timeout(self._tokens.view(request.token).expires + LEEWAY_S - time.time())
        try:
            async with expiry:
                await self._watch(viewer, checks.since(request), context)
        except TimeoutError:
            if not expiry.expired():
                raise
            raise TokenExpired("the token has expired; watch on with a fresh one") from None

    async def _watch(self, viewer: Viewer, since: int | None, context: Context) -> None:
        async with aclosing(self._views.watch(viewer, since, self._patience(context))) as answers:
            async for answer in answers:
                response = pb.WatchViewResponse(
                    view=wire.view_from_json(answer.view),
                    missed=[wire.past_events_from_json(events) for events in answer.missed],
                    truncated=answer.truncated,
                )
                await context.write(response)

    @streaming
    async def GetJournal(self, request: pb.GetJournalRequest, context: Context) -> None:
        match = self._known(request.match)
        last = await self._past.end_of(match)
        await self._past.admit(match, checks.invite(request))
        start = request.from_version if request.HasField("from_version") else 0
        if not 0 <= start <= last.version:
            raise Refused("UNKNOWN_VERSION", f"the match has the versions 0 to {last.version}", version=last.version)
        async for lines in self._past.lines_of(match, start, last.version + 1):
            await context.write(pb.GetJournalResponse(lines=lines))

    # --- what many calls do --------------------------------------------------------------------------------------

    async def _do(self, command: Command, context: Context, **fields: str | int) -> Receipt:
        """Send a command and return its receipt. Raises Refused with `match` and the fields given, as far as known."""
        deadline = asyncio.get_running_loop().time() + self._time(context)
        return accepted(await self._courier.call(command, deadline), match=command.match, **fields)

    def _time(self, context: Context) -> float:
        """Seconds that the service has for an answer."""
        left = _time_left(context)
        if left is None:
            left = self._settings.deadline_ms / 1000
        return max(left - MARGIN_S, left / 2)

    def _patience(self, context: Context) -> float:
        """Seconds that an owner has to answer a question, however long the client would wait: a stream has no end."""
        return min(self._time(context), self._settings.deadline_ms / 1000)

    async def _view_of(self, receipt: Receipt, viewer: Viewer, context: Context) -> view_pb2.View:
        view = receipt.view or (await self._views.ask(viewer, None, self._patience(context))).view
        return wire.view_from_json(view)

    async def _seated(self, match: str, joined: Receipt, context: Context) -> tuple[SeatClaim, view_pb2.View]:
        assert joined.seat is not None
        assert joined.tenure is not None
        bind_contextvars(seat=joined.seat)
        view = await self._view_of(joined, Viewer(match, joined.seat, joined.tenure), context)
        return SeatClaim(match, joined.seat, joined.tenure, view.rules.split("/")[0]), view

    async def _seat_token(self, claim: SeatClaim, view: view_pb2.View) -> str:
        """Return a token that opens a tenure. After the match it holds no longer than the match stays in Redis.

        From then on the match can be created anew, and the same tenure of its seat may be another's.
        """
        if view.status not in ("finished", "aborted"):
            return self._tokens.for_seat(claim)
        ended_s = (await self._past.end_of(claim.match)).at // 1000
        return self._tokens.for_seat(claim, ended_s + self._settings.retention_s - LEEWAY_S)

    async def _tenure(self, match: str, seat: int, context: Context) -> int:
        """Return the tenure that holds a seat now, -1 if none does."""
        view = wire.view_from_json((await self._views.ask(Viewer(match), None, self._patience(context))).view)
        return next((info.tenure for info in view.seats if info.seat == seat and info.HasField("tenure")), -1)

    def _known(self, match: str) -> str:
        bind_contextvars(match=checks.known_match(match, self._settings.partitions))
        return match

    def _hosted(self, token: str) -> str:
        match = self._tokens.host(token)
        bind_contextvars(match=match)
        return match

    def _viewer(self, token: str) -> Viewer:
        viewer = Viewer(*self._tokens.view(token)[:3])
        bind_contextvars(match=viewer.match, seat=viewer.seat)
        return viewer

    def _paced(self, token: str) -> SeatClaim:
        """Return the seat that a token opens, if it does not send too fast."""
        seat = self._tokens.seat(token)
        bind_contextvars(match=seat.match, seat=seat.seat)
        now = asyncio.get_running_loop().time()
        if not self._pace.take(seat, now):
            wait = self._pace.wait_ms(seat, now)
            raise Refused("RATE_LIMITED", "this seat sends too fast", match=seat.match, seat=seat.seat, retry_ms=wait)
        return seat


def _time_left(context: Context) -> float | None:
    """Seconds until the client's deadline; None without one, which gRPC's stubs forget."""
    return context.time_remaining()
