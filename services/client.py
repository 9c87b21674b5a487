"""A client of the public interfaces.

It subscribes before it asks for the view, drops versions that are not new, and after a gap, a reconnect or a silence
asks for the present view, which then replaces what is held.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Self

import grpc
import msgspec
from google.protobuf.json_format import MessageToDict
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from croupier.v1 import match_service_pb2 as pb
from croupier.v1 import match_service_pb2_grpc as pb_grpc
from services import wire
from services.bus import Bus

SILENCE_S = 10.0
RETRY_S = 0.2
RETRIES = 25
HEALED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)

TRY_AGAIN = frozenset({pb.OUTCOME_UNKNOWN, pb.NO_OWNER, pb.OVERLOADED, pb.RATE_LIMITED})
"""Refusals after which the same command is sent again: it has had no effect, or is answered with what it had."""

View = dict[str, Any]


class RefusedError(Exception):
    """A typed refusal: `reason` is the name of the enum value, `metadata` its facts."""

    def __init__(self, reason: str, detail: str, metadata: dict[str, str]) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
        self.metadata = metadata


def refused(error: grpc.aio.AioRpcError) -> RefusedError:
    """Return what a failed call says in its trailers; a bare gRPC error by its code."""
    status = rpc_status.from_call(error)  # type: ignore[arg-type]  # typed for sync calls; reads only what both have
    for detail in status.details if status else ():
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info):
            return RefusedError(info.reason, status.message, dict(info.metadata))
    return RefusedError(error.code().name, error.details() or "", {})


class Client:
    """One gRPC channel with one `Play` stream for all its seats, and one NATS connection."""

    def __init__(self, channel: grpc.aio.Channel, bus: Bus, operator_key: str | None) -> None:
        self.stub = pb_grpc.MatchServiceStub(channel)
        self._channel = channel
        self._bus = bus
        self._operator_key = operator_key
        self._stream = _PlayStream(self.stub)
        self._seats: list[Seat] = []
        self._watching = asyncio.create_task(self._watch())

    @classmethod
    async def connect(cls, address: str, nats_url: str, operator_key: str | None = None) -> Self:
        """Connect to a match service (`host:port`) and to NATS."""
        channel = grpc.aio.insecure_channel(address)
        bus = await Bus.connect(nats_url, "croupier-client")
        return cls(channel, bus, operator_key)

    async def close(self) -> None:
        """End everything."""
        self._watching.cancel()
        await asyncio.gather(self._watching, return_exceptions=True)
        await self._stream.close()
        await self._bus.close()
        await self._channel.close()

    async def create(
        self, game: str, seats: int, options: dict[str, Any] | None = None, clock_ms: int | None = None
    ) -> tuple[str, str]:
        """Open a match; return its id and the host's token. Raises RefusedError."""
        request = pb.CreateMatchRequest(
            request_id=secrets.token_bytes(16),
            options=wire.options_to_proto(game, options or {}),
            seats=[pb.SeatSetup(kind="open")] * seats,
        )
        if clock_ms is not None:
            request.clock_ms = clock_ms
        metadata = [("authorization", f"Bearer {self._operator_key}")] if self._operator_key else []
        response = await self.call(self.stub.CreateMatch, request, metadata=metadata)
        return response.match, response.host_token

    async def join(self, match: str, name: str, on_view: "Callable[[Seat], None] | None" = None) -> "Seat":
        """Take a seat; `on_view` is called after each new view. Raises RefusedError."""
        request = pb.JoinMatchRequest(match=match, request_id=secrets.token_bytes(16), name=name)
        joined = await self.call(self.stub.JoinMatch, request)
        seat = Seat(self, match, joined.seat, joined.token, on_view)
        self._seats.append(seat)
        seat.handle = await self._stream.attach(joined.token)
        await self._bus.subscribe(joined.subject, seat.receive)
        await seat.heal()
        return seat

    async def call(self, method: Any, request: Any, **kwargs: Any) -> Any:
        """Call a unary method, again where the answer was lost or nobody was there. Raises RefusedError.

        Every command may be repeated: it is answered with what became of the first.
        """
        for attempt in range(RETRIES):
            try:
                return await method(request, **{"timeout": 10, **kwargs})
            except grpc.aio.AioRpcError as error:
                if error.code() not in HEALED or attempt == RETRIES - 1:
                    raise refused(error) from None
            await asyncio.sleep(RETRY_S)
        raise AssertionError("unreachable")

    async def submit(self, seat: "Seat", prompt: int, move: bytes) -> int:
        """Send one move over the shared stream; return the version of its entry. Raises RefusedError."""
        return await self._stream.submit(seat, prompt, wire.move_from_json(seat.game, move))

    def forget(self, seat: "Seat") -> None:
        """Stop looking after a seat."""
        with contextlib.suppress(ValueError):
            self._seats.remove(seat)

    async def _watch(self) -> None:
        """Ask for the view after a reconnect of NATS, and of seats that owe a move and hear nothing."""
        generation = self._bus.generation
        while True:
            await asyncio.sleep(1)
            now = asyncio.get_running_loop().time()
            reconnected = self._bus.generation != generation
            generation = self._bus.generation
            for seat in list(self._seats):
                if reconnected or (seat.view.get("to_act") and now - seat.heard > SILENCE_S):
                    with contextlib.suppress(RefusedError):
                        await seat.heal()


class Seat:
    """One seat and what it sees. `view` is the JSON of the `View` message, parsed."""

    def __init__(
        self, client: Client, match: str, number: int, token: str, on_view: "Callable[[Seat], None] | None"
    ) -> None:
        self.client = client
        self.match = match
        self.number = number
        self.token = token
        self.handle = 0
        self.view: View = {}
        self.gaps = 0
        """How often views were missed and asked for."""
        self.heard = asyncio.get_running_loop().time()
        self._on_view = on_view
        self._healing: asyncio.Task[None] | None = None

    @property
    def game(self) -> str:
        """The game's engine name."""
        return str(self.view["rules"]).split("/")[0]

    @property
    def part(self) -> View:
        """The game's part of the view: table, own, legal, events; empty in the lobby."""
        name = self.game if self.game in self.view else "generic"
        return self.view.get(name) or {}

    @property
    def over(self) -> bool:
        """Whether the match has ended."""
        return self.view.get("status") in ("finished", "aborted")

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

    async def move(self, move: dict[str, Any]) -> int:
        """Answer the present prompt; return the version of the entry. Raises RefusedError."""
        return await self.client.submit(self, self.view["prompt"], msgspec.json.encode(move))

    async def receive(self, message: Any) -> None:
        """Take a view from NATS."""
        view = msgspec.json.decode(message.data)
        known = self.view.get("version", -1)
        if view["version"] <= known:
            return
        if view["version"] > known + 1 and self.view:
            self.gaps += 1
            if self._healing is None or self._healing.done():
                self._healing = asyncio.create_task(self.heal())
            return
        self._take(view)

    async def heal(self) -> None:
        """Ask for the present view, which replaces what is held. Raises RefusedError."""
        request = pb.GetViewRequest(token=self.token)
        if self.view:
            request.since = self.view["version"]
        response = await self.client.call(self.client.stub.GetView, request)
        view = MessageToDict(response.view, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
        for field in ("prompt", "result", "reason", "seed", "hash", "deadline"):
            view.setdefault(field, None)
        for seat in view["seats"]:
            seat.setdefault("plays_as", None)
        if view["version"] != self.view.get("version"):
            self._take(view)

    def _take(self, view: View) -> None:
        self.view = view
        self.heard = asyncio.get_running_loop().time()
        if self.over:
            self.client.forget(self)
        if self._on_view is not None:
            self._on_view(self)


class _PlayStream:
    """One `Play` stream, opened again when it breaks; commands without a receipt are then sent again."""

    def __init__(self, stub: Any) -> None:
        self._stub = stub
        self._tokens: dict[int, str] = {}
        self._attached: dict[int, asyncio.Future[None]] = {}
        self._commands: dict[int, tuple[pb.Command, asyncio.Future[int]]] = {}
        self._fresh: list[pb.Command] = []
        self._unattached: list[int] = []
        self._wake = asyncio.Event()
        self._last = 0
        self._running = asyncio.create_task(self._run())

    async def close(self) -> None:
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)

    async def attach(self, token: str) -> int:
        handle = len(self._tokens) + 1
        self._tokens[handle] = token
        self._attached[handle] = asyncio.get_running_loop().create_future()
        self._unattached.append(handle)
        self._wake.set()
        await self._attached[handle]
        return handle

    async def submit(self, seat: Seat, prompt: int, move: Any) -> int:
        self._last += 1
        command = pb.Command(id=self._last, handle=seat.handle, prompt=prompt, move=move)
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._commands[command.id] = (command, future)
        self._fresh.append(command)
        self._wake.set()
        return await future

    async def _run(self) -> None:
        while True:
            try:
                async for response in self._stub.Play(self._requests()):
                    self._take(response)
            except grpc.aio.AioRpcError as error:
                if error.code() not in (*HEALED, grpc.StatusCode.CANCELLED, grpc.StatusCode.INTERNAL):
                    self._fail(refused(error))
            await asyncio.sleep(RETRY_S)
            self._unattached = list(self._tokens)
            self._fresh = [command for command, _ in self._commands.values()]
            self._wake.set()

    async def _requests(self) -> AsyncIterator[pb.PlayRequest]:
        while True:
            await self._wake.wait()
            self._wake.clear()
            attach = [pb.Attach(handle=handle, token=self._tokens[handle]) for handle in self._unattached]
            commands, self._fresh, self._unattached = self._fresh, [], []
            if attach or commands:
                yield pb.PlayRequest(attach=attach, commands=commands)

    def _take(self, response: pb.PlayResponse) -> None:
        for attached in response.attached:
            future = self._attached[attached.handle]
            if not future.done():
                if attached.HasField("refusal"):
                    future.set_exception(_refusal(attached.refusal))
                else:
                    future.set_result(None)
        for receipt in response.receipts:
            command, answer = self._commands.pop(receipt.id, (None, None))
            if command is None or answer is None or answer.done():
                continue
            if receipt.WhichOneof("outcome") == "refusal":
                if receipt.refusal.reason in TRY_AGAIN:
                    self._commands[receipt.id] = (command, answer)
                    asyncio.get_running_loop().call_later(RETRY_S, self._again, command)
                else:
                    answer.set_exception(_refusal(receipt.refusal))
            else:
                answer.set_result(receipt.version)

    def _again(self, command: pb.Command) -> None:
        self._fresh.append(command)
        self._wake.set()

    def _fail(self, error: RefusedError) -> None:
        waiting: Sequence[asyncio.Future[Any]] = [
            *self._attached.values(),
            *(future for _, future in self._commands.values()),
        ]
        self._commands.clear()
        for future in waiting:
            if not future.done():
                future.set_exception(error)


def _refusal(refusal: pb.Refusal) -> RefusedError:
    return RefusedError(pb.RefusalReason.Name(refusal.reason), refusal.message, dict(refusal.metadata))
