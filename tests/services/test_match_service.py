"""The match service as a process."""

import asyncio
import os
import signal
import threading
import urllib.request

import grpc
import pytest
import uvloop
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status

from croupier.v1 import match_service_pb2 as pb
from croupier.v1 import match_service_pb2_grpc
from services.commands import Receipt
from services.local import NatsServer, RedisServer
from services.match.service import NAME, serve
from services.settings import Settings, SettingsError
from tests.services.match_front import (
    ScriptedOwner,
    playing,
    refusal_of,
    refused,
    serving,
    settings_for,
    timos,
    until,
)
from tests.services.test_match_play import attach, draw, token

HEALTH = health_pb2.HealthCheckResponse


@pytest.fixture
def settings(redis_url: str, nats_url: str) -> Settings:
    return settings_for(redis_url, nats_url)


async def health_of(channel, service: str = NAME) -> int:
    return (await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=service))).status


async def until_health(channel, status: int) -> None:
    async def has_it() -> bool:
        return await health_of(channel) == status

    await until(has_it, 15)


def test_it_serves_only_while_redis_and_nats_are_there(tmp_path):
    with RedisServer(tmp_path / "redis") as redis, NatsServer(tmp_path / "nats") as nats:

        async def run():
            async with serving(settings_for(redis.url, nats.url)) as served:
                assert await health_of(served.channel) == await health_of(served.channel, "") == HEALTH.SERVING
                assert served.count("serving") == 1
                nats.pause()
                nats.kill()
                await until_health(served.channel, HEALTH.NOT_SERVING)
                assert served.count("serving") == 0, "it counts for who watches as for who calls"
                nats.start()
                await until_health(served.channel, HEALTH.SERVING)
                redis.kill()
                await until_health(served.channel, HEALTH.NOT_SERVING)
                redis.start()
                await until_health(served.channel, HEALTH.SERVING)

        asyncio.run(run())


def test_tools_can_ask_what_it_offers(settings):
    async def run():
        async with serving(settings) as served:
            ask = reflection_pb2_grpc.ServerReflectionStub(served.channel).ServerReflectionInfo()
            await ask.write(reflection_pb2.ServerReflectionRequest(list_services=""))
            answer = await ask.read()
            assert NAME in {service.name for service in answer.list_services_response.service}
            ask.cancel()

    asyncio.run(run())


def test_a_request_that_is_too_large_is_not_read(redis_url, nats_url):
    async def run():
        async with serving(settings_for(redis_url, nats_url, max_message_bytes=1024)) as served:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await served.stub.SubmitMove(pb.SubmitMoveRequest(token="x" * 2000))
            assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED

    asyncio.run(run())


def test_it_runs_on_uvloop(settings):
    async def run():
        async with playing(settings) as served:
            assert (await served.stub.CreateMatch(timos())).view.status == "lobby"

    uvloop.run(run())


def test_a_call_in_flight_is_answered_when_the_service_is_told_to_stop(settings):
    owner = ScriptedOwner(settings)
    view = b'{"status":"lobby","commitment":"c0"}'

    async def run():
        async with owner.at_work(), serving(settings) as served:
            call = asyncio.ensure_future(served.stub.CreateMatch(timos()))
            await until(lambda: owner.arrived)
            stopping = asyncio.create_task(served.front.stop())
            await asyncio.sleep(0.1)
            late = served.stub.CreateMatch(timos(), timeout=1)
            with pytest.raises(grpc.aio.AioRpcError):
                await late
            await owner.answer(Receipt(owner.arrived[0].id, 0, view=view))
            assert (await call).commitment == "c0"
            await stopping

    asyncio.run(run())


def test_calls_that_come_while_it_stops_are_turned_away_with_a_reason(settings):
    refusals: list[tuple[str, str]] = []

    async def run():
        async with serving(settings) as served:

            async def call_on() -> None:
                while True:
                    try:
                        await served.stub.ListGames(pb.ListGamesRequest())
                    except grpc.aio.AioRpcError as error:
                        if rpc_status.from_call(error) is None:
                            return  # the connection is gone
                        refusals.append(refusal_of(error)[:2])
                    await asyncio.sleep(0.005)

            calling = [asyncio.create_task(call_on()) for _ in range(4)]
            await asyncio.sleep(0.05)
            await served.front.stop()
            await asyncio.gather(*calling)

    asyncio.run(run())
    assert set(refusals) == {("UNAVAILABLE", "INTERRUPTED")}


@pytest.mark.parametrize("drain_s", [0, 1])
def test_what_has_no_answer_when_the_time_is_over_is_refused_with_a_reason(redis_url, nats_url, drain_s):
    owner = ScriptedOwner(settings_for(redis_url, nats_url))  # who answers nothing

    async def run():
        async with owner.at_work(), serving(settings_for(redis_url, nats_url, drain_s=drain_s)) as served:
            stream = served.stub.Play()
            await stream.write(pb.PlayRequest(attach=attach(token()), commands=[draw(1)]))
            assert (await stream.read()).attached
            watching = served.stub.WatchView(pb.WatchViewRequest(token=token()))
            asking = [stream.read(), watching.read()]
            asking += [served.stub.CreateMatch(timos(), timeout=30)]
            asking += [served.stub.GetView(pb.GetViewRequest(token=token()), timeout=30)]
            refusals = [asyncio.ensure_future(refused(call)) for call in asking]
            await until(lambda: len(owner.arrived) == 2 and len(owner.asked) >= 2)
            await served.front.stop()
            assert {refusal[:2] for refusal in await asyncio.gather(*refusals)} == {("UNAVAILABLE", "INTERRUPTED")}

    asyncio.run(run())


def test_without_a_key_for_tokens_it_does_not_start(redis_url, nats_url):
    async def run():
        await serve(settings_for(redis_url, nats_url, token_key=None), lambda _: None)

    with pytest.raises(SettingsError, match="CROUPIER_TOKEN_KEY"):
        asyncio.run(run())


def test_an_address_that_is_taken_is_an_error(settings):
    async def run():
        async with serving(settings) as served:
            taken = settings.model_copy(update={"grpc_port": served.port})
            with pytest.raises(
                SettingsError, match=rf"CROUPIER_GRPC_PORT: 127\.0\.0\.1:{served.port} cannot be listened on"
            ):
                await serve(taken, lambda _: None)

    asyncio.run(run())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_it_says_when_it_is_ready_and_ends_when_it_is_told_to(redis_url, nats_url, number):
    settings = settings_for(redis_url, nats_url, metrics_port=0)
    said = []

    async def run():
        ready = asyncio.Event()

        def tell(what) -> None:
            said.append(what)
            ready.set()

        serving = asyncio.create_task(serve(settings, tell))
        await asyncio.wait_for(ready.wait(), 10)
        async with grpc.aio.insecure_channel(said[0]["grpc"]) as channel:
            stub = match_service_pb2_grpc.MatchServiceStub(channel)
            assert len((await stub.ListGames(pb.ListGamesRequest())).games) >= 5
            page = await asyncio.to_thread(lambda: urllib.request.urlopen(said[0]["metrics"], timeout=5).read())
            assert b"croupier_receipts" in page
        os.kill(os.getpid(), number)
        await asyncio.wait_for(serving, 10)

    assert threading.current_thread() is threading.main_thread()
    asyncio.run(run())
    assert (said[0]["event"], said[0]["service"]) == ("ready", "match")
