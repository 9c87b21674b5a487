"""Views as they come: no version is passed over, whatever NATS loses."""

import asyncio
import json

import grpc
import pytest

from croupier.v1 import match_service_pb2 as pb
from services.commands import ViewAnswer, match_id, view_subject
from services.local import NatsServer
from services.match import watch
from services.settings import Settings
from services.tokens import SeatClaim, Tokens
from tests.services.match_front import (
    TOKEN_KEY,
    ScriptedOwner,
    playing,
    refusal_of,
    secret,
    serving,
    settings_for,
    timos,
    until,
)

MATCH = match_id(bytes(16), 4)
SUBJECT = view_subject(MATCH, 0, 1)
TOKEN = Tokens(TOKEN_KEY, 600, 4).for_seat(SeatClaim(MATCH, 0, 1, "timos_twist"))


@pytest.fixture
def settings(redis_url: str, nats_url: str) -> Settings:
    return settings_for(redis_url, nats_url)


@pytest.fixture
def owner(settings: Settings) -> ScriptedOwner:
    return owner_of(settings)


def owner_of(settings: Settings) -> ScriptedOwner:
    """An owner whose match is at `owner.version`; it tells the versions between `since` and that."""
    owner = ScriptedOwner(settings)
    owner.version = 5

    def answer(question) -> ViewAnswer:
        first = owner.version if question.since is None else question.since + 1
        return ViewAnswer(view(owner.version), [b'{"version":%d}' % n for n in range(first, owner.version)])

    owner.view = answer
    return owner


def view(version: int, status: str = "running", to_act: tuple[int, ...] = (0,)) -> bytes:
    return json.dumps({"match": MATCH, "version": version, "status": status, "to_act": to_act}).encode()


async def published(owner: ScriptedOwner, version: int, **fields) -> None:
    await owner.bus.publish([(SUBJECT, view(version, **fields))])


def watching(served, **fields):
    return served.stub.WatchView(pb.WatchViewRequest(token=TOKEN, **fields))


async def next_of(call) -> tuple[int, list[int]]:
    """Version of the next view, and the versions missed."""
    async with asyncio.timeout(5):
        response = await call.read()
    return response.view.version, [past.version for past in response.missed]


def test_a_whole_match_is_seen_version_by_version_until_its_end(settings):
    async def run():
        async with playing(settings) as served:
            match = (await served.stub.CreateMatch(timos())).match

            def join():
                return served.stub.JoinMatch(pb.JoinMatchRequest(match=match, request_id=secret(), name="Änne"))

            seats = [await join()]
            call = served.stub.WatchView(pb.WatchViewRequest(token=seats[0].token))
            table = await served.stub.Spectate(pb.SpectateRequest(match=match))
            spectators = served.stub.WatchView(pb.WatchViewRequest(token=table.token))
            seen = [(await call.read()).view]
            await spectators.read()
            seats.append(await join())
            while seen[-1].status not in ("finished", "aborted"):
                if seen[-1].to_act:
                    seat = seats[seen[-1].to_act[0]]
                    mine = (await served.stub.GetView(pb.GetViewRequest(token=seat.token))).view
                    if mine.status == "running" and mine.version == seen[-1].version:
                        move = pb.SubmitMoveRequest(token=seat.token, prompt=mine.prompt)
                        move.move.timos_twist.CopyFrom(mine.timos_twist.legal[0])
                        await served.stub.SubmitMove(move)
                response = await call.read()
                assert not response.missed
                seen.append(response.view)
            assert [one.version for one in seen] == list(range(1, seen[-1].version + 1))
            assert seen[-1] == (await served.stub.GetView(pb.GetViewRequest(token=seats[0].token))).view
            assert {one.seat for one in seen} == {0}
            assert await call.read() is grpc.aio.EOF
            public = []
            while (response := await spectators.read()) is not grpc.aio.EOF:
                public.append(response.view)
            assert [one.version for one in public] == list(range(2, seen[-1].version + 1))
            assert not any(one.timos_twist.HasField("own") for one in public)
            again = served.stub.WatchView(pb.WatchViewRequest(token=seats[0].token))
            assert (await again.read()).view == seen[-1]
            assert await again.read() is grpc.aio.EOF

    asyncio.run(run())


def test_what_was_missed_since_a_version_comes_first(settings, owner):
    async def run():
        async with owner.at_work(), serving(settings) as served:
            call = watching(served, since=2)
            assert await next_of(call) == (5, [3, 4])
            assert owner.asked[0].since == 2
            call.cancel()

    asyncio.run(run())


def test_newer_views_follow_and_repeated_ones_do_not(settings, owner):
    async def run():
        async with owner.at_work(), serving(settings) as served:
            call = watching(served)
            assert await next_of(call) == (5, [])
            for version in (4, 5, 6, 6, 5, 7):
                await published(owner, version)
            assert await next_of(call) == (6, [])
            assert await next_of(call) == (7, [])
            assert len(owner.asked) == 1
            await published(owner, 8, status="aborted", to_act=())
            assert await next_of(call) == (8, [])
            assert await call.read() is grpc.aio.EOF
            await until(lambda: not served.count("open_streams", method="WatchView"))

    asyncio.run(run())


def test_a_gap_is_filled_from_the_owner(settings, owner):
    async def run():
        async with owner.at_work(), serving(settings) as served:
            call = watching(served)
            await next_of(call)
            owner.version = 9
            await published(owner, 9)
            assert await next_of(call) == (9, [6, 7, 8])
            assert owner.asked[-1].since == 5
            await published(owner, 10)
            assert await next_of(call) == (10, [])
            call.cancel()

    asyncio.run(run())


def test_an_answer_replaces_what_was_shown_even_by_a_lower_version(settings, owner):
    async def run():
        async with owner.at_work(), serving(settings) as served:
            call = watching(served)
            await next_of(call)
            owner.version = 3
            await published(owner, 9)
            assert (await next_of(call))[0] == 3
            await published(owner, 4)
            assert await next_of(call) == (4, [])
            call.cancel()

    asyncio.run(run())


def test_silence_while_a_move_is_due_is_looked_into(settings, owner, monkeypatch):
    monkeypatch.setattr(watch, "SILENCE_S", 0.2)

    async def run():
        async with owner.at_work(), serving(settings) as served:
            call = watching(served)
            await next_of(call)
            owner.version = 6
            assert await next_of(call) == (6, [])
            call.cancel()

    asyncio.run(run())


def test_a_slow_reader_is_given_fewer_views(settings, owner, monkeypatch):
    monkeypatch.setattr(watch, "MAX_WAITING", 4)

    async def run():
        async with owner.at_work(), serving(settings) as served:
            padding = "x" * 100_000
            call = watching(served)
            assert (await next_of(call))[0] == 5
            for owner.version in range(6, 200):
                data = json.dumps({"version": owner.version, "status": "running", "to_act": [0], "reason": padding})
                await owner.bus.publish([(SUBJECT, data.encode())])
            versions, missed = [5], []
            while versions[-1] < 199:
                version, between = await next_of(call)
                versions.append(version)
                missed += between
            assert len(versions) < 195
            assert sorted([*versions, *missed]) == list(range(5, 200))
            call.cancel()

    asyncio.run(run())


def test_after_a_new_connection_to_nats_nothing_is_missing(redis_url, tmp_path):
    with NatsServer(tmp_path / "nats") as nats:
        settings = settings_for(redis_url, nats.url)
        owner = owner_of(settings)

        async def run():
            async with owner.at_work(), serving(settings) as served:
                call = watching(served)
                await next_of(call)
                nats.kill()
                owner.version = 8
                nats.start()
                assert await next_of(call) == (8, [6, 7])
                await owner.bus.wait_connected()
                await asyncio.sleep(0.3)
                await published(owner, 9)
                assert await next_of(call) == (9, [])
                call.cancel()

        asyncio.run(run())


def test_what_the_owner_refuses_ends_the_stream(settings, owner):
    owner.view = lambda _: ViewAnswer(reason="TENURE_ENDED", detail="gone", fields={"seat": 0})

    async def run():
        async with owner.at_work(), serving(settings) as served:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await watching(served).read()
            assert refusal_of(caught.value) == ("PERMISSION_DENIED", "TENURE_ENDED", {"match": MATCH, "seat": "0"})

    asyncio.run(run())


def test_without_an_owner_the_stream_ends_and_may_be_opened_again(settings):
    async def run():
        async with serving(settings) as served:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await watching(served).read()
            assert refusal_of(caught.value)[:2] == ("UNAVAILABLE", "NO_OWNER")

    asyncio.run(run())


def test_a_reader_that_goes_leaves_nothing_behind(settings, owner):
    async def run():
        async with owner.at_work(), serving(settings) as served:
            for _ in range(20):
                call = watching(served)
                await next_of(call)
                call.cancel()
            await until(lambda: not served.count("open_streams", method="WatchView"))
            await until(lambda: not served.front._views._mailboxes)

    asyncio.run(run())


def test_a_service_that_stops_ends_a_stream_that_is_just_being_opened_too(settings, owner):
    async def run():
        async with owner.at_work(), serving(settings) as served:
            subscribe = served.bus.subscribe

            async def subscribe_as_it_stops(*args):
                served.front._service.stop()
                return await subscribe(*args)

            served.bus.subscribe = subscribe_as_it_stops
            call = watching(served)
            await next_of(call)
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await next_of(call)  # and not after a silence
            assert refusal_of(caught.value)[:2] == ("UNAVAILABLE", "INTERRUPTED")

    asyncio.run(run())


def test_a_service_that_stops_ends_the_stream(settings, owner):
    async def run():
        async with owner.at_work(), serving(settings) as served:
            call = watching(served)
            await next_of(call)
            stopping = asyncio.create_task(served.front.stop())
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call.read()
            assert refusal_of(caught.value)[:2] == ("UNAVAILABLE", "INTERRUPTED")
            async with asyncio.timeout(2):
                await stopping

    asyncio.run(run())


def test_a_stream_ends_when_its_token_does(settings: Settings):
    """As NATS ends a connection: whoever has no good token any more is shown nothing more."""

    async def run():
        async with playing(settings) as served:
            created = await served.stub.CreateMatch(timos())
            ending = Tokens(TOKEN_KEY, -25, 4).for_table(created.match)  # good for a last moment: clocks may differ
            stream = served.stub.WatchView(pb.WatchViewRequest(token=ending))
            assert (await stream.read()).view.status == "lobby"
            lasting = served.stub.WatchView(
                pb.WatchViewRequest(token=Tokens(TOKEN_KEY, 600, 4).for_table(created.match))
            )
            await lasting.read()
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await stream.read()
            assert refusal_of(caught.value)[:2] == ("UNAUTHENTICATED", "TOKEN_EXPIRED")
            await until(lambda: len(served.front._service._views._mailboxes) == 1)
            join = pb.JoinMatchRequest(match=created.match, request_id=secret(), name="Ada")
            await served.stub.JoinMatch(join)
            assert (await lasting.read()).view.version == 1

    asyncio.run(run())
