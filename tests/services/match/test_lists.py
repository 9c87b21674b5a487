"""The list of open matches: pages and filters."""

import asyncio

import pytest

from croupier.v1 import match_service_pb2 as pb
from services.match import lobby
from tests.services.match.called import join
from tests.services.match_front import Served, playing, reason, serving, timos


async def pages(served: Served, **fields) -> list[list[pb.MatchSummary]]:
    found, token = [], ""
    while True:
        page = await served.stub.ListMatches(pb.ListMatchesRequest(page_token=token, **fields))
        found.append(list(page.matches))
        token = page.next_page_token
        if not token:
            return found


def test_every_open_match_is_on_one_page_and_only_one(settings):
    async def run():
        async with playing(settings) as served:
            made = [(await served.stub.CreateMatch(timos())).match for _ in range(11)]
            found = await pages(served, page_size=4)
            assert [len(page) for page in found] == [4, 4, 3]
            assert [summary.match for page in found for summary in page] == sorted(made)
            for _ in range(2):
                await join(served, made[0])
            assert made[0] not in [summary.match for page in await pages(served) for summary in page]

    asyncio.run(run())


def test_a_page_reads_no_partition_that_it_does_not_need(settings):
    async def run():
        async with playing(settings) as served:
            made = sorted([(await served.stub.CreateMatch(timos())).match for _ in range(12)])
            read = []
            lobby = served.store.lobby

            async def counted(partition: int):
                read.append(partition)
                return await lobby(partition)

            served.store.lobby = counted
            first = int(made[0][:3])
            page = await served.stub.ListMatches(pb.ListMatchesRequest(page_size=1))
            assert read[-1] <= int(made[1][:3])
            assert page.next_page_token
            read.clear()
            await served.stub.ListMatches(pb.ListMatchesRequest(page_size=1, page_token=made[-2]))
            assert min(read) == int(made[-2][:3]) >= first

    asyncio.run(run())


def test_a_page_ends_after_so_many_matches_that_nobody_is_shown_and_names_none_of_them(settings, monkeypatch):
    monkeypatch.setattr(lobby, "LOOKED_AT", 2)

    async def run():
        async with playing(settings) as served:
            hidden = {(await served.stub.CreateMatch(timos(private=True))).match for _ in range(12)}
            made = [(await served.stub.CreateMatch(timos())).match for _ in range(5)]
            read: list[dict[str, bytes]] = []
            asked: list[int] = []
            whole = served.store.lobby

            async def counted(partition: int):
                asked.append(partition)
                read.append(await whole(partition))
                return read[-1]

            served.store.lobby = counted
            listed, token = [], ""
            while True:
                read.clear()
                page = await served.stub.ListMatches(pb.ListMatchesRequest(page_token=token))
                listed += [summary.match for summary in page.matches]
                assert len([match for part in read[:-1] for match in part if match > token]) < 2
                token = page.next_page_token
                assert token not in hidden
                if not token:
                    break
            assert listed == sorted(made)
            assert asked == list(range(settings.partitions))

    asyncio.run(run())


def test_filters_must_all_hold(settings):
    async def run():
        async with playing(settings) as served:
            slow = (await served.stub.CreateMatch(timos(clock_ms=60_000))).match
            fast = (await served.stub.CreateMatch(timos(seats=4, clock_ms=2000))).match
            free = (await served.stub.CreateMatch(timos(seats=4))).match
            await join(served, free, "Änne")

            async def found(**fields) -> set[str]:
                return {summary.match for page in await pages(served, **fields) for summary in page}

            assert await found() == {slow, fast, free}
            assert await found(game="timos_twist") == {slow, fast, free}
            assert await found(game="bombenziehen") == set()
            assert await found(rules="timos_twist/1", min_open_seats=3) == {fast, free}
            assert await found(min_open_seats=4) == {fast}
            assert await found(min_clock_ms=3000) == {slow, free}
            assert await found(max_clock_ms=60_000) == {slow, fast}
            assert await found(min_clock_ms=3000, max_clock_ms=60_000) == {slow}
            assert await found(match=free) == {free}
            assert await found(match=free, game="bombenziehen") == set()
            assert await found(match="nonsense") == set()
            ((summary,),) = await pages(served, match=free)
            assert summary.seats[0].name == "Änne"
            assert summary.options.timos_twist.target == 50
            assert not summary.HasField("clock_ms")

    asyncio.run(run())


@pytest.mark.parametrize("fields", [{"page_size": -1}, {"page_token": "x"}, {"page_token": "999" + "a" * 22}])
def test_a_page_that_cannot_be_is_refused(settings, fields):
    async def run():
        async with serving(settings) as served:
            assert await reason(served.stub.ListMatches(pb.ListMatchesRequest(**fields))) == "MALFORMED_REQUEST"

    asyncio.run(run())
