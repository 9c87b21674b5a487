"""A client of the public interfaces.

It subscribes before it asks for the view and drops versions that are not new. After a gap, a reconnect or a silence it
asks for the present view, which then replaces what is held. Whatever was not answered is sent again: the server answers
a repeat with what became of the first. It waits for as long as that takes; use `asyncio.timeout` to wait for less.
"""

import asyncio
import contextlib
import secrets
import ssl
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Self

import grpc
import msgspec
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from croupier.v1 import match_service_pb2 as pb
from croupier.v1 import match_service_pb2_grpc as pb_grpc
from services import wire
from services.bus import Access, Bus, reachable
from services.play_stream import RENEWABLE, PlayStream, RefusedError, refused

__all__ = ["Client", "RefusedError", "Seat"]

SILENCE_S = 10.0
"""How long a move may be due before it is asked whether a view was lost."""
LONG_SILENCE_S = 60.0
"""The same while no move is due, as far as is known: the start of the match may have been lost."""
WATCH_S = 1.0
"""How often it is looked for seats whose view has to be asked for."""
CALL_S = 10.0
PATIENCE_S = 60.0
"""For how long a unary call that gets no answer is repeated."""
CHANNEL = (
    # A server that restarts is found again at once; one that is gone without a word is noticed.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1000),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
)

View = dict[str, Any]


def open_channel(address: str, ca: bytes | None = None) -> grpc.aio.Channel:
    """Return a channel to a match service: over TLS if there is a CA (PEM) that has to have signed its certificate."""
    if ca is None:
        return grpc.aio.insecure_channel(address, options=CHANNEL)
    return grpc.aio.secure_channel(address, grpc.ssl_channel_credentials(ca), options=CHANNEL)


class Client:
    """One gRPC channel with one `Play` stream for all its seats, and a NATS connection for each: a token opens one."""

    def __init__(
        self, channel: grpc.aio.Channel, nats_url: str, operator_key: str | None, tls: ssl.SSLContext | None = None
    ) -> None:
        """Take over a channel; made by `connect`. `tls` says whose certificates are good for NATS."""
        self.tls = tls
        self.stub = pb_grpc.MatchServiceStub(channel)
        self.nats_url = nats_url
        self._channel = channel
        self._operator_key = operator_key
        self._seats: set[Seat] = set()
        self._leaving: set[asyncio.Task[None]] = set()
        """Connections being closed: nats-py leaves one open whose `close` is cancelled."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._stream = PlayStream(self.stub, self.spawn)
        self.spawn(self._watch())

    @classmethod
    async def connect(
        cls, address: str, nats_url: str, operator_key: str | None = None, ca: bytes | None = None
    ) -> Self:
        """Connect to a match service (`host:port`, or several in gRPC's name syntax) once NATS can be reached.

        `ca`: the certificate (PEM) that has to have signed the service's, which is spoken to over TLS; None: without.
        It is the one for NATS, too, where that speaks TLS: with a `tls://` URL it has to.
        """
        tls = None if ca is None else ssl.create_default_context(cadata=ca.decode("ascii"))
        await reachable(nats_url)
        return cls(open_channel(address, ca), nats_url, operator_key, tls)

    async def close(self) -> None:
        """End everything. Moves that wait for their receipts are cancelled: they may have been made."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._stream.close()
        await asyncio.gather(*self._leaving, *(seat.bus.close() for seat in self._seats))
        await self._channel.close()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something in the background until it is done or the client is closed."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def create(
        self, game: str, seats: int, options: dict[str, Any] | None = None, clock_ms: int | None = None, **fields: Any
    ) -> tuple[str, str]:
        """Open a match, all seats open unless `fields` says otherwise, which are those of the request.

        Return its id and the host's token. Raises RefusedError.
        """
        fields.setdefault("seats", [pb.SeatSetup(kind="open")] * seats)
        request = pb.CreateMatchRequest(
            request_id=secrets.token_bytes(16),
            options=wire.options_to_proto(game, options or {}),
            clock_ms=clock_ms,
            **fields,
        )
        response = await self.send_create(request)
        return response.match, response.host_token

    async def send_create(self, request: pb.CreateMatchRequest) -> pb.CreateMatchResponse:
        """Open the match that a request asks for, with the operator's key if there is one. Raises RefusedError."""
        metadata = [("authorization", f"Bearer {self._operator_key}")] if self._operator_key else []
        response: pb.CreateMatchResponse = await self.call(self.stub.CreateMatch, request, metadata=metadata)
        return response

    async def join(
        self,
        match: str,
        name: str,
        on_view: "Callable[[Seat], None] | None" = None,
        *,
        invite: str | None = None,
        client_seed: bytes | None = None,
    ) -> "Seat":
        """Take a seat, of a private match with its invite; `on_view` is called after each new view.

        The deal depends on `client_seed`. It is drawn here unless given, so that it need not be the server's choice.
        Raises RefusedError.
        """
        seed = secrets.token_bytes(32) if client_seed is None else client_seed
        request = pb.JoinMatchRequest(
            match=match, request_id=secrets.token_bytes(16), name=name, invite=invite, client_seed=seed
        )
        joined = await self.call(self.stub.JoinMatch, request)
        seat = Seat(self, request, joined, on_view)
        await self._stream.attach(seat)
        self._seats.add(seat)
        await seat.bus.open()
        seat.generation = seat.bus.generation
        await seat.bus.subscribe(joined.subject, seat.receive)
        await seat.heal()
        return seat

    async def call(self, method: Any, request: Any, **kwargs: Any) -> Any:
        """Call a unary method, again where the answer was lost or nobody was there. Raises RefusedError."""
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE_S
        while True:
            try:
                return await method(request, **{"timeout": CALL_S, "wait_for_ready": True, **kwargs})
            except grpc.aio.AioRpcError as error:
                refusal = refused(error)
                if not refusal.again or loop.time() > until:
                    raise refusal from None
            await asyncio.sleep(refusal.wait_s)

    async def submit(self, seat: "Seat", prompt: int, move: bytes) -> int:
        """Send one move over the shared stream; return the version of its entry. Raises RefusedError.

        Cancelling it does not take the move back, but it is not sent again.
        """
        return await self._stream.submit(seat, prompt, wire.move_from_json(seat.game, move))

    def forget(self, seat: "Seat") -> None:
        """Stop looking after a seat."""
        if seat in self._seats:
            self._seats.discard(seat)
            self._stream.detach(seat)
            leaving = asyncio.create_task(seat.bus.close())
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)

    async def _watch(self) -> None:
        """Ask for views after a reconnect of NATS, after a silence while a move is due, and where asking failed."""
        while True:
            await asyncio.sleep(WATCH_S)
            now = asyncio.get_running_loop().time()
            for seat in self._seats:
                reconnected = seat.bus.generation != seat.generation
                seat.generation = seat.bus.generation
                silent = now - seat.heard > (SILENCE_S if seat.view.get("to_act") else LONG_SILENCE_S)
                if reconnected or silent or seat.stale:
                    seat.heal_soon()


class Seat:
    """One seat and what it sees. `view` is the JSON of the `View` message, parsed."""

    def __init__(
        self,
        client: Client,
        request: pb.JoinMatchRequest,
        joined: pb.JoinMatchResponse,
        on_view: "Callable[[Seat], None] | None",
    ) -> None:
        """Start without a view; `request` renews the token when it expires."""
        self.client = client
        self.match = request.match
        self.number = joined.seat
        self.token = joined.token
        self.view: View = {}
        self.missed: list[dict[str, Any]] = []
        """What happened between the view before and this one, as `PastEvents`; empty if nothing was missed."""
        self.truncated = False
        """Whether more was missed than is told."""
        self.gaps = 0
        """How often views were missed and asked for."""
        self.stale = False
        """Whether the view has to be asked for."""
        self.refusal: RefusedError | None = None
        """Why this seat is shown no views any more: its tenure has ended, or the match is past its retention."""
        self.heard = asyncio.get_running_loop().time()
        access = Access(token=lambda: self.token, renew=self.renew, tls=client.tls)
        self.bus = Bus(client.nats_url, "croupier-client", access)
        self.generation = 0
        """Of the connection to NATS when it was last looked at."""
        self._request = request
        self._on_view = on_view
        self._asking = asyncio.Lock()
        self._arrived: deque[View] = deque()

    @property
    def game(self) -> str:
        """The game's engine name."""
        return str(self.view["rules"]).split("/")[0]

    @property
    def part(self) -> View:
        """The game's part of the view: table, own, legal, events; empty in the lobby."""
        return self.view.get(wire.arm(self.game)) or {}

    @property
    def over(self) -> bool:
        """Whether there will be no more views."""
        return self.refusal is not None or self.view.get("status") in ("finished", "aborted")

    @property
    def plays_as(self) -> int | None:
        """The seat's number in the game; None in the lobby."""
        return next((seat["plays_as"] for seat in self.view["seats"] if seat["seat"] == self.number), None)

    @property
    def legal(self) -> list[dict[str, Any]]:
        """The legal moves, one-key objects."""
        return list(self.part.get("legal", ()))

    @property
    def owes(self) -> bool:
        """Whether the match waits for this seat."""
        return self.plays_as in self.view["to_act"]

    async def move(self, move: dict[str, Any], prompt: int | None = None) -> int:
        """Answer a prompt, by default the present one; return the version of the entry. Raises RefusedError.

        Who sends a move later than he has chosen it names the prompt that it was chosen for: else it would answer
        whatever is asked by then.
        """
        answered = self.view["prompt"] if prompt is None else prompt
        return await self.client.submit(self, answered, msgspec.json.encode(move))

    async def receive(self, message: Any) -> None:
        """Take a view from NATS."""
        self._arrived.append(msgspec.json.decode(message.data))
        if not self._asking.locked():
            self._read()

    def heal_soon(self) -> None:
        """Ask for the view in the background, unless that is being done."""
        self.stale = True
        if not self._asking.locked():
            self.client.spawn(self._heal())

    async def heal(self) -> None:
        """Ask for the present view, which replaces what is held. Raises RefusedError."""
        async with self._asking:
            if self.over:
                return
            self.stale = False
            request = pb.GetViewRequest(token=self.token)
            if self.view:
                request.since = self.view["version"]
            try:
                response = await self._get_view(request)
            except RefusedError as refusal:
                self.stale = True
                if not refusal.again:
                    self.refusal = refusal
                    self._tell()
                raise
            view = _as_json(response.view)
            if view != self.view:
                missed = [_as_json(events) for events in response.missed]
                self._take(view, missed, truncated=response.truncated)
            self.heard = asyncio.get_running_loop().time()
        self._read()

    async def renew(self) -> None:
        """Get a fresh token. Raises RefusedError."""
        joined = await self.client.call(self.client.stub.JoinMatch, self._request)
        self.token = joined.token

    async def _heal(self) -> None:
        with contextlib.suppress(RefusedError):  # asked for again in a second, or noted in `refusal`
            await self.heal()

    async def _get_view(self, request: pb.GetViewRequest) -> Any:
        try:
            return await self.client.call(self.client.stub.GetView, request)
        except RefusedError as refusal:
            if refusal.reason not in RENEWABLE:
                raise
        await self.renew()
        request.token = self.token
        return await self.client.call(self.client.stub.GetView, request)

    def _read(self) -> None:
        """Take what has come from NATS. What comes while the view is being asked for waits: it is newer."""
        while self._arrived and self.view and not self.over:
            view = self._arrived.popleft()
            known = self.view["version"]
            if view["version"] > known + 1:
                self.gaps += 1
                self._arrived.clear()  # the view that is asked for now will be at least as new
                self.heal_soon()
            elif view["version"] == known + 1:
                self._take(view, [], truncated=False)

    def _take(self, view: View, missed: list[dict[str, Any]], *, truncated: bool) -> None:
        self.view, self.missed, self.truncated = view, missed, truncated
        self.heard = asyncio.get_running_loop().time()
        self._tell()

    def _tell(self) -> None:
        if self.over:
            self.client.forget(self)
        if self._on_view is not None:
            self._on_view(self)


def _as_json(message: Message) -> dict[str, Any]:
    """Return a message as the JSON over NATS has it: what is absent is null, except in moves and of a `oneof`."""
    document = MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    _add_nulls(message, document)
    return document


def _add_nulls(message: Message, document: dict[str, Any]) -> None:
    for field in message.DESCRIPTOR.fields:
        value = document.get(field.name)
        if value is None:
            if field.containing_oneof is None or len(field.containing_oneof.fields) == 1:
                document[field.name] = None
        elif isinstance(value, dict) and not field.message_type.full_name.startswith("google."):
            _add_nulls(getattr(message, field.name), value)
        elif isinstance(value, list) and field.message_type is not None and field.name != "legal":
            for part, below in zip(getattr(message, field.name), value, strict=True):
                if isinstance(below, dict) and not field.message_type.full_name.startswith("google."):
                    _add_nulls(part, below)
