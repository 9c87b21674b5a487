"""Calls as no client makes them: begun and never sent, packed to burst, of no message at all."""

import asyncio
import contextlib

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from croupier.v1 import match_service_pb2 as pb
from services.match.service import NAME
from tests.attacks.http2 import Http2
from tests.services.match_front import playing, reason, serving, settings_for, timos, until

UNARY = "ListGames"
LISTED = pb.ListGamesRequest(game="timos_twist").SerializeToString()


@pytest.mark.parametrize("path", [f"/{NAME}/{UNARY}", f"/{NAME}/WatchView", "/grpc.health.v1.Health/Check"])
def test_calls_whose_request_never_comes_leave_room_for_others(redis_url, nats_url, path):
    """They count for their address from their first byte on. More than its share are refused at once."""

    async def run():
        async with serving(settings_for(redis_url, nats_url, address_rate=20, max_calls=30)) as served:
            async with await Http2.connect(served.port, "127.0.0.2") as attacker:
                for _ in range(20):
                    await attacker.open(path)
                for _ in range(20):
                    assert b"may have no more" in await attacker.ended(await attacker.open(path))
                assert served.count("refused_calls_total", reason="RATE_LIMITED") == 20
                assert (await served.stub.ListGames(pb.ListGamesRequest(game="timos_twist"))).games
            await until(lambda: not served.front._service.limits._arriving)

    asyncio.run(run())


def test_a_request_that_comes_late_is_answered(redis_url, nats_url):
    async def run():
        async with (
            serving(settings_for(redis_url, nats_url)) as served,
            await Http2.connect(served.port) as client,
        ):
            stream = await client.open(f"/{NAME}/{UNARY}")
            await asyncio.sleep(0.3)
            await client.send(stream, LISTED)
            assert b"grpc-status\x010" in await client.ended(stream)

    asyncio.run(run())


@pytest.mark.parametrize("method", [UNARY, "WatchView", "SubmitMove"])
def test_a_call_that_ends_before_its_request_is_malformed(redis_url, nats_url, method):
    async def run():
        async with serving(settings_for(redis_url, nats_url)) as served:
            async with await Http2.connect(served.port) as client:
                end = await client.ended(await client.open(f"/{NAME}/{method}", end=True))
                assert b"without its request" in end
            assert served.count("refused_calls_total", reason="MALFORMED_REQUEST") == 1

    asyncio.run(run())


@pytest.mark.parametrize("size", [1000, 100_000_000])
def test_what_is_packed_is_not_unpacked(redis_url, nats_url, size):
    """gRPC measures a message only once it is unpacked: of a kilobyte a megabyte would come."""

    async def run():
        async with serving(settings_for(redis_url, nats_url)) as served:
            request = pb.ListGamesRequest(game="a" * size)
            with pytest.raises(grpc.aio.AioRpcError, match="'gzip' is disabled") as caught:
                await served.stub.ListGames(request, compression=grpc.Compression.Gzip)
            assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED
            stream = served.stub.Play(compression=grpc.Compression.Deflate)
            with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                await stream.write(pb.PlayRequest(attach=[pb.Attach(token="a" * size)]))
                await stream.read()
            # INTERNAL is what grpc.aio makes of it where the end meets a write (docs/wire.md).
            assert await stream.code() in {grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.INTERNAL}
            assert (await served.stub.ListGames(pb.ListGamesRequest(game="timos_twist"))).games

    asyncio.run(run())


def test_a_stream_of_questions_to_reflection_is_held_to_the_limit_of_calls(redis_url, nats_url):
    async def run():
        async with serving(settings_for(redis_url, nats_url, address_rate=30)) as served:
            call = reflection_pb2_grpc.ServerReflectionStub(served.channel).ServerReflectionInfo()
            question = reflection_pb2.ServerReflectionRequest(file_containing_symbol=NAME)

            async def flood() -> None:
                while True:
                    await call.write(question)
                    await call.read()

            with pytest.raises((grpc.aio.AioRpcError, asyncio.InvalidStateError)):
                async with asyncio.timeout(20):
                    await flood()
            assert await call.code() in {
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                grpc.StatusCode.INTERNAL,
            }  # INTERNAL: as above
            assert served.count("refused_calls_total", reason="RATE_LIMITED") == 1

    asyncio.run(run())


def test_health_and_reflection_refuse_what_is_no_message(redis_url, nats_url):
    async def run():
        async with serving(settings_for(redis_url, nats_url)) as served:
            check = served.channel.unary_unary("/grpc.health.v1.Health/Check")
            assert await reason(check(b"\x0a\xff")) == "MALFORMED_REQUEST"
            look = served.channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")()
            await look.write(b"\x0a\xff")
            assert await reason(look.read()) == "MALFORMED_REQUEST"
            health = health_pb2_grpc.HealthStub(served.channel)
            assert (await health.Check(health_pb2.HealthCheckRequest())).status

    asyncio.run(run())


def test_whoever_opens_views_and_goes_away_leaves_nothing_that_listens(redis_url, nats_url):
    """At whatever moment he goes: else the views of a match would be kept, for good, for somebody who is not there."""

    async def run():
        async with playing(settings_for(redis_url, nats_url)) as served:
            created = await served.stub.CreateMatch(timos())
            token = (await served.stub.Spectate(pb.SpectateRequest(match=created.match))).token
            watch = served.stub.WatchView(pb.WatchViewRequest(token=token))
            await watch.read()
            watch.cancel()
            before = len(served.bus._subscriptions) - 1
            for number in range(60):
                watch = served.stub.WatchView(pb.WatchViewRequest(token=token))
                await asyncio.sleep(number / 10_000)
                watch.cancel()
            await until(lambda: len(served.bus._subscriptions) <= max(1, before))
            assert not served.front._service._views._mailboxes

    asyncio.run(run())
