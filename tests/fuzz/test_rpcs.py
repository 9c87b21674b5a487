"""Every call with hostile fields and with bytes that are no message; hostile payloads on NATS and in the intake.

Whatever comes, the answer is an answer or a typed refusal, never INTERNAL, UNKNOWN or a lost call; and afterwards a
match is played as if nothing had been.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from croupier.v1 import match_service_pb2 as pb
from services.store.keys import moves_key
from tests.fuzz.targets import examples
from tests.services.front import peek
from tests.services.match_front import OPERATOR, refusal_of, serving, settings_for, timos, working

SERVICE = pb.DESCRIPTOR.services_by_name["MatchService"]
METHODS = {method.name: method for method in SERVICE.methods}
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), database=None)
TEXTS = (
    "", " ", "\x00", "\u202e", "é" * 50, "🂡" * 3000, "a" * 40_000, "../../x", "*", ">", "view.>", "$SYS.>",
    "timos_twist", "timos_twist/1", "timos_twist/999999999999", "000" + "a" * 22, "open", "clever", "{0}{1}%s%n",
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 7, 2**31 - 1, -(2**31), 1000)
TYPED_OTHERWISE = frozenset({"RESOURCE_EXHAUSTED"})
"""What gRPC itself says, without ErrorInfo: the message is too long."""


@pytest.fixture(scope="module")
def running(redis_server: Any, nats_server: Any) -> Iterator[Any]:
    """A match service and a worker, with two matches, in a loop that waits between examples."""
    import redis

    with redis.Redis.from_url(redis_server.url) as client:
        client.flushall()
        client.function_flush()
    made = settings_for(redis_server.url, nats_server.url, operator_key=OPERATOR, partitions=2)
    with asyncio.Runner() as runner:
        stack = contextlib.AsyncExitStack()

        async def start() -> Any:
            worker = await stack.enter_async_context(working(made))
            served = await stack.enter_async_context(serving(made))
            operator = (("authorization", f"Bearer {OPERATOR}"),)
            created = [await served.stub.CreateMatch(timos(seats=seats), metadata=operator) for seats in (2, 3)]
            joins = [
                await served.stub.JoinMatch(
                    pb.JoinMatchRequest(match=created[0].match, request_id=secrets.token_bytes(16), name="A")
                )
                for _ in range(2)
            ]
            table = await served.stub.Spectate(pb.SpectateRequest(match=created[0].match))
            known = [*(one.match for one in created), *(one.host_token for one in created), table.token]
            return SimpleNamespace(
                run=runner.run, served=served, worker=worker, seats=joins, operator=operator,
                texts=[*TEXTS, *known, *(one.token for one in joins)],
                good={
                    "token": [one.token for one in joins] * 2 + [table.token],
                    "host_token": [one.host_token for one in created],
                    "match": [one.match for one in created],
                    "request_id": [b"fuzz-request-id-%d" % number for number in range(9)],
                    "name": ["Ada", "Änne"],
                    "prompt": [3],
                    "handle": [1],
                    "kind": ["open", "clever"],
                },
            )  # fmt: skip

        yield runner.run(start())
        runner.run(stack.aclose())


def messages(
    descriptor: Descriptor, texts: list[str], good: dict[str, list[Any]], depth: int = 4
) -> st.SearchStrategy[Any]:
    """Messages of a type with hostile values in any of their fields; in some mostly good ones, to get further."""
    fields = [field for field in descriptor.fields if depth or field.message_type is None]

    @st.composite
    def build(draw: st.DrawFn) -> Any:
        message = descriptor._concrete_class()
        for field in fields:
            if not draw(st.integers(0, 4 if field.name in good else 2)):
                continue
            with contextlib.suppress(ValueError, TypeError):  # a text that no string field takes
                put(draw, message, field)
        return message

    def put(draw: st.DrawFn, message: Any, field: FieldDescriptor) -> None:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            return
        if field.is_repeated:
            values = draw(st.lists(value(field), max_size=4))
            getattr(message, field.name).extend(values)
        elif field.message_type is not None:
            getattr(message, field.name).CopyFrom(draw(value(field)))
        else:
            setattr(message, field.name, draw(value(field)))

    def value(field: FieldDescriptor) -> st.SearchStrategy[Any]:
        if field.name in good:
            return st.one_of(*[st.sampled_from(good[field.name])] * 3, hostile(field))
        return hostile(field)

    def hostile(field: FieldDescriptor) -> st.SearchStrategy[Any]:
        if field.message_type is not None:
            return messages(field.message_type, texts, good, depth - 1)
        match field.cpp_type:
            case FieldDescriptor.CPPTYPE_STRING if field.type == FieldDescriptor.TYPE_BYTES:
                return st.one_of(st.binary(max_size=80), st.just(b"r" * 16))
            case FieldDescriptor.CPPTYPE_STRING:
                return st.sampled_from(texts)
            case FieldDescriptor.CPPTYPE_BOOL:
                return st.booleans()
            case FieldDescriptor.CPPTYPE_DOUBLE:
                return st.sampled_from((0.0, -1.5, 1e308, float("nan"), float("inf"), 7.0))
            case FieldDescriptor.CPPTYPE_ENUM:
                return st.just(0)
        return st.sampled_from(NUMBERS)

    return build()


async def sent(running: Any, name: str, data: bytes) -> None:
    """Send bytes as the request of a call; assert that it is answered or refused by the book."""
    method = METHODS[name]
    path = f"/{SERVICE.full_name}/{name}"
    many = {"metadata": running.operator, "timeout": 20}
    channel = running.served.channel
    try:
        if name == "Play":
            call = channel.stream_stream(path)(**many)
            await call.write(data)
            await call.done_writing()
            async for _ in call:
                pass
        elif method.server_streaming:
            call = channel.unary_stream(path)(data, **many)
            await call.read()
            call.cancel()
        else:
            await channel.unary_unary(path)(data, **many)
    except grpc.aio.AioRpcError as error:
        if error.code().name in TYPED_OTHERWISE:
            return
        code, reason, _ = refusal_of(error)
        assert code not in {"INTERNAL", "UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED"}, (code, reason)


async def still_plays(running: Any) -> None:
    served = running.served
    created = await served.stub.CreateMatch(timos(secrets.token_bytes(16)), metadata=running.operator)
    for _ in range(2):
        request = pb.JoinMatchRequest(match=created.match, request_id=secrets.token_bytes(16), name="Ada")
        seat = await served.stub.JoinMatch(request)
    assert seat.view.status == "running"
    assert running.worker._metrics.registry.get_sample_value("croupier_replay_mismatches_total") == 0


@pytest.mark.parametrize("name", METHODS)
def test_hostile_fields_are_answered_or_refused(running: Any, name: str) -> None:
    before = running.worker._metrics.registry.get_sample_value("croupier_internal_errors_total")

    @QUICK
    @given(messages(METHODS[name].input_type, running.texts, running.good))
    def check(message: Any) -> None:
        running.run(sent(running, name, message.SerializeToString()))

    check()
    assert running.worker._metrics.registry.get_sample_value("croupier_internal_errors_total") == before
    running.run(still_plays(running))


@pytest.mark.parametrize("name", METHODS)
def test_bytes_that_are_no_message_are_refused_as_such(running: Any, name: str) -> None:
    """Also on a stream; and what can be read by chance is treated as what it says."""

    @QUICK
    @given(st.one_of(st.binary(max_size=200), st.just(b"\x0a\xff\xff\xff\xff\x0f"), st.just(b"\x0a" * 5000)))
    def check(data: bytes) -> None:
        running.run(sent(running, name, data))

    check()

    async def broken() -> str:
        try:
            await running.served.channel.unary_unary(f"/{SERVICE.full_name}/{name}")(b"\x0a\xff", timeout=20)
        except grpc.aio.AioRpcError as error:
            return refusal_of(error)[1]
        return ""

    if not METHODS[name].server_streaming:
        assert running.run(broken()) == "MALFORMED_REQUEST"


def test_a_stream_ends_with_a_message_that_cannot_be_read(running: Any) -> None:
    async def run() -> None:
        call = running.served.channel.stream_stream(f"/{SERVICE.full_name}/Play")(timeout=20)
        good = pb.PlayRequest(attach=[pb.Attach(handle=1, token=running.seats[0].token)])
        await call.write(good.SerializeToString())
        assert pb.PlayResponse.FromString(await call.read()).attached[0].seat.seat == 0
        await call.write(b"\x0a\xff")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call.read()
        assert refusal_of(caught.value)[1] == "MALFORMED_REQUEST"

    running.run(run())


def test_hostile_payloads_on_nats_and_in_the_intake_hurt_nobody(running: Any) -> None:
    """Questions, receipts and views that are none, and entries of the intake that are no commands."""
    served = running.served
    subjects = ["query.0", "query.1", f"receipts.{served.front._courier.service}", running.seats[0].subject]

    @QUICK
    @given(st.sampled_from(subjects), st.one_of(st.binary(max_size=100), damaged_payload()))
    def check(subject: str, data: bytes) -> None:
        async def send() -> None:
            await served.bus.publish([(subject, data)])
            if data:
                await peek(served.store, "XADD", moves_key(0), "*", "c", data)

        running.run(send())

    check()
    running.run(still_plays(running))


@st.composite
def damaged_payload(draw: st.DrawFn) -> bytes:
    data = bytearray(draw(st.sampled_from(examples("payload"))))
    data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data)
