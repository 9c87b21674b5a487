"""A match service in the test's own process, on real servers: with a real worker, or an owner that a test scripts."""

import asyncio
import inspect
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from nats.aio.msg import Msg

from croupier.v1 import match_service_pb2 as pb
from croupier.v1 import match_service_pb2_grpc
from services.bus import Bus
from services.commands import ENVELOPES, QUESTIONS, Envelope, OutcomeAnswer, Receipt, ViewAnswer, pack
from services.engine.worker import Worker
from services.match.service import Front
from services.metrics import Metrics
from services.settings import Settings, load
from services.store import Store
from services.tasks import end
from tests.services.guard import AS_ENGINE, AS_MATCH, GUARD

TOKEN_KEY = "t" * 32
OPERATOR = "o" * 32
_numbers = itertools.count(1)


def secret() -> bytes:
    """A request id that no other call has."""
    return next(_numbers).to_bytes(16, "big")


def settings_for(redis_url: str, nats_url: str, **overrides: Any) -> Settings:
    small = {
        "partitions": 4, "lease_ms": 1000, "block_ms": 20, "grpc_port": 0, "token_key": TOKEN_KEY, "drain_s": 3,
        "seat_rate": 10_000, "address_rate": 100_000, "address_matches": 1000, "seed_key": "5eed" * 16,
        "nats_user": "match", "nats_password": GUARD.password("match"),
    }  # fmt: skip
    return load(redis_url=redis_url, nats_url=nats_url, **(small | overrides))


class Served:
    """A running front: its stub, its parts, what it counts."""

    def __init__(self, settings: Settings, store: Store, bus: Bus, front: Front, metrics: Metrics, port: int) -> None:
        self.settings, self.store, self.bus, self.front, self.metrics, self.port = (
            settings, store, bus, front, metrics, port
        )  # fmt: skip
        self.channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        self.stub = match_service_pb2_grpc.MatchServiceStub(self.channel)

    def count(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(f"croupier_{name}", labels) or 0.0


@asynccontextmanager
async def serving(settings: Settings) -> AsyncIterator[Served]:
    """A front without any owner behind it."""
    store = await Store(settings).open()
    bus = await Bus.connect(settings.nats_url, "test", AS_MATCH)
    metrics = Metrics()
    front = Front(settings, store, bus, metrics)
    served = Served(settings, store, bus, front, metrics, await front.start())
    try:
        yield served
    finally:
        await served.channel.close()
        await front.stop()
        await bus.close()
        await store.close()


@asynccontextmanager
async def working(settings: Settings) -> AsyncIterator[Worker]:
    """A worker that owns every partition, and can be asked about each, once this is entered."""
    store = await Store(settings).open()
    bus = await Bus.connect(settings.nats_url, "test-worker", AS_ENGINE)
    worker = Worker(settings, store, bus, Metrics())
    run = asyncio.create_task(worker.run())
    try:
        while len(worker._queries._listening) < settings.partitions:
            await asyncio.sleep(0.01)
            assert not run.done()
        yield worker
    finally:
        worker.stop()
        await asyncio.wait([run], timeout=5)
        await end([run])  # how a worker ends is not what is tested with this one
        await bus.close()
        await store.close()


@asynccontextmanager
async def playing(settings: Settings) -> AsyncIterator[Served]:
    """A front and a worker."""
    async with working(settings), serving(settings) as served:
        yield served


class ScriptedOwner:
    """Takes every command that arrives; answers by `decide`, questions by `outcome` and `view`; all may stay silent."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.arrived: list[Envelope] = []
        self.asked: list[Any] = []
        self.decide: Callable[[Envelope], Receipt | None] = lambda _: None
        self.outcome: Callable[[Any], Receipt | None] = lambda _: None
        self.view: Callable[[Any], ViewAnswer | None] = lambda _: None
        self.answers = True
        """Whether there is anybody to ask."""

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator["ScriptedOwner"]:
        store = await Store(self._settings).open()
        self.bus = await Bus.connect(self._settings.nats_url, "scripted-owner", AS_ENGINE)
        partitions = range(self._settings.partitions)
        await store.leases.acquire("scripted", partitions)
        subscriptions = [await self.bus.subscribe(f"query.{partition}", self._on_question) for partition in partitions]
        reading = asyncio.create_task(self._read(store))
        try:
            yield self
        finally:
            await end([reading])
            for subscription in subscriptions:
                await self.bus.unsubscribe(subscription)
            await self.bus.close()
            await store.close()

    async def _read(self, store: Store) -> None:
        while True:
            for delivery in await store.intake.read(range(self._settings.partitions), 20):
                envelope = ENVELOPES.decode(delivery.data)
                self.arrived.append(envelope)
                if (receipt := self.decide(envelope)) is not None:
                    await self.bus.send(f"receipts.{envelope.service}", pack([receipt]))

    async def answer(self, *receipts: Receipt) -> None:
        """Send receipts in one message to the service whose commands arrived."""
        await self.bus.publish([(f"receipts.{self.arrived[0].service}", pack(list(receipts)))])

    async def _on_question(self, message: Msg) -> None:
        question = QUESTIONS.decode(message.data)
        self.asked.append(question)
        if not self.answers:
            return
        if hasattr(question, "command"):
            await self.bus.send(message.reply, pack(OutcomeAnswer(self.outcome(question.command))))
        elif (answer := self.view(question)) is not None:
            await self.bus.send(message.reply, pack(answer))


async def until(holds: Callable[[], Any], seconds: float = 10.0) -> None:
    """Wait until something holds; it may be awaitable."""
    async with asyncio.timeout(seconds):
        while True:
            found = holds()
            if await found if inspect.isawaitable(found) else found:
                return
            await asyncio.sleep(0.01)


def refusal_of(error: grpc.aio.AioRpcError) -> tuple[str, str, dict[str, str]]:
    """gRPC code, reason and metadata of a refused call, checked to be one by the book."""
    status = rpc_status.from_call(error)
    assert status is not None, error
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert info.domain == "croupier"
    assert status.code == error.code().value[0]
    assert status.message == error.details()
    return error.code().name, info.reason, dict(info.metadata)


async def refused(call: Any) -> tuple[str, str, dict[str, str]]:
    """The refusal that a call ends with."""
    try:
        answer = await call
    except grpc.aio.AioRpcError as error:
        return refusal_of(error)
    raise AssertionError(f"the call was not refused: {answer}")


async def reason(call: Any) -> str:
    """The reason alone."""
    return (await refused(call))[1]


def timos(request_id: bytes | None = None, seats: int = 2, **fields: Any) -> pb.CreateMatchRequest:
    """A request for a match of Timo's Twist."""
    return pb.CreateMatchRequest(
        request_id=request_id or secret(),
        options={"timos_twist": {"target": 50}},
        seats=[pb.SeatSetup(kind="open")] * seats,
        **fields,
    )
