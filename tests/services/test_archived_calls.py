"""What the match service says of matches that have left Redis for the archive: the same as before."""

import asyncio

import grpc
import pytest
import redis

from croupier.v1 import match_service_pb2 as pb
from services.archive import Archive
from services.archiver import Archiver
from services.commands import partition_of
from services.metrics import Metrics
from services.settings import Settings
from services.store.keys import ended_key, journal_key
from tests.services.ended import in_redis
from tests.services.match.called import join, move, started, view
from tests.services.match_front import Served, playing, reason, refused, settings_for, timos, until


@pytest.fixture
def settings(redis_url, nats_url, tmp_path) -> Settings:
    return settings_for(redis_url, nats_url, archive=str(tmp_path / "archive"), signing_key="11" * 32)


async def archived(served: Served, match: str) -> None:
    """Archive a match, and let the time pass for which it stays in Redis."""
    settings = served.settings
    done = await Archiver(settings, served.store, Archive.at(settings.archive), Metrics()).all(settle_ms=-1000)
    assert done == (1, 1, 0)
    with redis.Redis.from_url(settings.redis_url) as client:
        assert 0 < client.ttl(journal_key(match)) <= settings.retention_s
        client.delete(journal_key(match))
    assert in_redis(settings.redis_url) == set()


async def journal_of(served: Served, match: str, **fields) -> list[bytes]:
    request = pb.GetJournalRequest(match=match, **fields)
    return [line async for answer in served.stub.GetJournal(request) for line in answer.lines]


def test_a_match_that_ends_waits_for_the_archive_and_does_not_expire(settings):
    async def run():
        async with playing(settings) as served:
            created, seats = await started(served)
            for seat in seats:
                await served.stub.LeaveMatch(pb.LeaveMatchRequest(token=seat.token))
            with redis.Redis.from_url(settings.redis_url) as client:
                assert client.ttl(journal_key(created.match)) == -1
                assert client.zrange(ended_key(partition_of(created.match)), 0, -1) == [created.match.encode()]

    asyncio.run(run())


def test_journal_and_views_are_the_same_from_the_archive(settings):
    async def run():
        async with playing(settings) as served:
            created, seats = await started(served, seats=3)
            for _ in range(6):
                shown = await view(served, seats[0].token)
                await move(served, seats[shown.to_act[0]])
            await served.stub.LeaveMatch(pb.LeaveMatchRequest(token=seats[2].token))
            await abort(served, created.match)
            spectator = await served.stub.Spectate(pb.SpectateRequest(match=created.match))
            tokens = [seats[0].token, seats[1].token, spectator.token]
            lines = await journal_of(served, created.match)
            before = {}
            for token in tokens:
                for version in range(len(lines)):
                    before[token, version] = await view(served, token, version=version)
                before[token, None] = await view(served, token)
                assert before[token, None].signature

            await archived(served, created.match)

            assert await journal_of(served, created.match) == lines
            assert await journal_of(served, created.match, from_version=5) == lines[5:]
            for (token, version), seen in before.items():
                assert await view(served, token, **({} if version is None else {"version": version})) == seen
            again = await served.stub.Spectate(pb.SpectateRequest(match=created.match))
            assert again.view == spectator.view
            missed = await served.stub.GetView(pb.GetViewRequest(token=tokens[0], since=3))
            assert (missed.view, missed.truncated) == (before[tokens[0], None], True)
            watched = [one async for one in served.stub.WatchView(pb.WatchViewRequest(token=tokens[1]))]
            assert [one.view for one in watched] == [before[tokens[1], None]]

            assert await reason(served.stub.GetView(pb.GetViewRequest(token=seats[2].token))) == "NOT_YOUR_SEAT"
            beyond = pb.GetViewRequest(token=tokens[0], version=len(lines))
            assert (await refused(served.stub.GetView(beyond)))[:2] == ("OUT_OF_RANGE", "UNKNOWN_VERSION")
            unknown = pb.SpectateRequest(match="000" + "a" * 22)
            assert await reason(served.stub.Spectate(unknown)) == "UNKNOWN_MATCH"

    asyncio.run(run())


async def abort(served: Served, match: str) -> None:
    """End a match as a worker does that finds it over a limit."""
    from services.commands import Abort, Envelope

    await served.store.intake.append([(partition_of(match), Envelope("test", 1, Abort(match, "enough")))])

    async def over():
        return b'"kind":"aborted"' in await served.store.last_line(match)

    await until(over)


def test_an_archived_private_match_still_needs_its_invite(settings):
    async def run():
        async with playing(settings) as served:
            created = await served.stub.CreateMatch(timos(private=True))
            await abort(served, created.match)
            await archived(served, created.match)
            for invite in ({}, {"invite": "wrong"}):
                spectate = pb.SpectateRequest(match=created.match, **invite)
                assert await reason(served.stub.Spectate(spectate)) == "BAD_INVITE"
                with pytest.raises(grpc.aio.AioRpcError):
                    await journal_of(served, created.match, **invite)
            spectate = pb.SpectateRequest(match=created.match, invite=created.invite)
            assert (await served.stub.Spectate(spectate)).view.status == "aborted"
            assert len(await journal_of(served, created.match, invite=created.invite)) == 2

    asyncio.run(run())


def test_a_rematch_of_an_archived_match_is_found_by_all(settings):
    async def run():
        async with playing(settings) as served:
            created, seats = await started(served)
            await abort(served, created.match)
            await archived(served, created.match)
            first, second = [
                await served.stub.Rematch(pb.RematchRequest(token=seat.token, request_id=bytes([number]) * 16))
                for number, seat in enumerate(seats)
            ]
            assert first.match == second.match
            assert {first.seat, second.seat} == {0, 1}

    asyncio.run(run())


def test_a_command_to_an_archived_match_is_refused_and_changes_nothing(settings):
    async def run():
        async with playing(settings) as served:
            created, seats = await started(served)
            await abort(served, created.match)
            await archived(served, created.match)
            assert await reason(served.stub.LeaveMatch(pb.LeaveMatchRequest(token=seats[0].token))) == "UNKNOWN_MATCH"
            assert await reason(join(served, created.match)) == "UNKNOWN_MATCH"
            assert in_redis(settings.redis_url) == set()

    asyncio.run(run())


def test_a_damaged_archive_is_an_error_of_the_server_and_never_another_journal(settings, tmp_path):
    async def run():
        async with playing(settings) as served:
            created, _ = await started(served)
            await abort(served, created.match)
            await archived(served, created.match)
            for file in (tmp_path / "archive").rglob("*.zst"):
                data = file.read_bytes()
                file.write_bytes(data[:30] + bytes(20) + data[50:])
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await journal_of(served, created.match)
            assert caught.value.code() == grpc.StatusCode.INTERNAL
            assert await reason(served.stub.Spectate(pb.SpectateRequest(match=created.match))) == "INTERNAL"

    asyncio.run(run())
