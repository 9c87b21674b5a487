"""Commits, and what is due, on a real server and on a real cluster."""

import asyncio

import pytest

from engine.journal import Line
from services.store import Recorded, Store
from services.store.commits import COMMITTED_TOGETHER
from services.store.keys import due_key, journal_key, open_key, owner_key, seed_key
from services.store.leases import Lease
from tests.services.front import in_loop, peek
from tests.services.store.opened import MATCH, OTHER, A, B, commit, expire, lease_of, line, opened

pytestmark = pytest.mark.containers


@in_loop
async def test_entries_are_stored_by_their_versions_with_line_and_hash(url):
    async with opened(url) as store:
        lease = await lease_of(store)
        assert await store.commit(A, [commit(lease, 0, 2)]) == ["OK"]
        assert await store.commit(A, [commit(lease, 2, 1)]) == ["OK"]
        assert await peek(store, "XRANGE", journal_key(MATCH), "-", "+") == [
            [b"%d-0" % (version + 1), [b"line", line(version).data, b"hash", line(version).hash]]
            for version in range(3)
        ]


@in_loop
async def test_what_was_committed_can_be_read_whole_and_in_parts(url):
    async with opened(url) as store:
        await store.commit(A, [commit(await lease_of(store), 0, 4, seed=b"s" * 32)])
        data = [line(version).data for version in range(4)]
        assert await store.load([MATCH, OTHER]) == [Recorded(data, b"s" * 32), Recorded([], None)]
        assert await store.lines(MATCH, 1, 2) == data[1:3]
        assert await store.lines(MATCH) == data
        assert await store.last_line(MATCH) == data[3]
        assert await store.last_line(OTHER) is None
        assert await store.matches(2) == [MATCH]
        assert await store.matches(3) == []


@in_loop
async def test_another_length_or_another_last_hash_is_a_conflict_that_writes_nothing(url):
    async with opened(url) as store:
        lease = await lease_of(store)
        await store.commit(A, [commit(lease, 0, 2)])
        before = await everything(store)
        full = {"seed": b"s", "lobby": b"l", "ended": True, "due": {"m": 1}}
        for lost in (
            commit(lease, 0, **full),
            commit(lease, 1, **full),
            commit(lease, 3, **full),
            commit(lease, 2, head=bytes(32), **full),
            commit(lease, 2, head=line(0).hash, **full),
            commit(lease, 1, match=OTHER.replace("003", "002"), **full),
        ):
            assert await store.commit(A, [lost]) == ["CONFLICT"]
        assert await everything(store) == before


@in_loop
async def test_another_worker_or_epoch_is_fenced_and_writes_nothing(url):
    async with opened(url) as store:
        old = await lease_of(store)
        await store.commit(A, [commit(old, 0, 2)])
        new = await lease_of(store)
        before = await everything(store)
        full = {"seed": b"s", "lobby": b"l", "ended": True, "due": {"m": 1}}
        assert await store.commit(A, [commit(old, 2, **full)]) == ["FENCED"]
        assert await store.commit(B, [commit(new, 2, **full)]) == ["FENCED"]
        assert await store.commit(A, [commit(old, 0, **full)]) == ["FENCED"]
        await store.leases.release(A, [new])
        assert await store.commit(A, [commit(new, 2, **full)]) == ["FENCED"]
        await store.leases.acquire(A, [2])
        assert await store.commit("", [commit(new, 2, **full)]) == ["FENCED"]
        await peek(store, "DEL", owner_key(2))
        assert await store.commit(A, [commit(new, 2, **full)]) == ["FENCED"]
        after = await everything(store)
        after.pop(owner_key(2).encode(), None)
        before.pop(owner_key(2).encode())
        assert after == before


async def everything(store: Store) -> dict[bytes, bytes]:
    """All keys of the server and what they hold."""
    return {
        key: await peek(store, "DUMP", key.decode())
        for keys in await store._servers.exchange.each(("KEYS", "*"))
        for key in keys
    }


@in_loop
async def test_a_lease_that_ran_out_but_was_taken_by_nobody_still_commits(url):
    async with opened(url) as store:
        lease = await lease_of(store)
        await expire(store, 2)
        assert await store.commit(A, [commit(lease, 0)]) == ["OK"]


@in_loop
async def test_a_commit_without_entries_checks_just_as_much_and_writes_nothing(url):
    async with opened(url) as store:
        lease = await lease_of(store)
        await store.commit(A, [commit(lease, 0, 2)])
        before = await everything(store)
        empty = [commit(lease, start, 0) for start in (2, 1, 0)]
        assert await store.commit(A, empty) == ["OK", "CONFLICT", "CONFLICT"]
        assert await store.commit(A, [commit(lease, 2, 0, head=bytes(32))]) == ["CONFLICT"]
        assert await store.commit(A, [commit(lease, 0, 0, match=OTHER.replace("003", "002"))]) == ["OK"]
        assert await store.commit(B, empty) == ["FENCED"] * 3
        assert await everything(store) == before


@in_loop
async def test_nothing_at_all_to_commit_is_no_trouble(url):
    async with opened(url) as store:
        assert await store.commit(A, []) == []


@in_loop
async def test_more_than_fit_in_one_call_are_committed_and_each_has_its_own_result(url):
    async with opened(url) as store:
        two, three = await store.leases.acquire(A, [2, 3])
        count = 2 * COMMITTED_TOGETHER + 1
        matches = [f"{2 + number % 2:03}{number:022}" for number in range(count)]
        leases = [two, three] * count
        for lease, match in zip(leases[::3], matches[::3], strict=False):
            await store.commit(A, [commit(lease, 0, match=match)])
        seeds = [b"seed %d" % number for number in range(count)]
        batch = [
            commit(lease, 0, 1 + number % 3, match, seed=seeds[number], due={f"{match}:idle": number})
            for number, (lease, match) in enumerate(zip(leases, matches, strict=False))
        ]
        expected = ["CONFLICT" if number % 3 == 0 else "OK" for number in range(count)]
        assert await store.commit(A, batch) == expected
        lengths = [len(recorded.lines) for recorded in await store.load(matches)]
        assert lengths == [1 + number % 3 for number in range(count)]
        stored = [recorded.seed for recorded in await store.load(matches)]
        assert stored == [None if number % 3 == 0 else seeds[number] for number in range(count)]
        due = await store.due([2, 3], count, count)
        assert due == {p: [f"{m}:idle" for n, m in enumerate(matches) if n % 3 and 2 + n % 2 == p] for p in (2, 3)}


@in_loop
async def test_each_match_of_a_batch_over_several_partitions_has_its_own_result(url):
    async with opened(url) as store:
        two, three = await store.leases.acquire(A, [2, 3])
        first = "002" + "c" * 22
        fenced = Lease(3, three.epoch + 1)
        assert await store.commit(
            A,
            [
                commit(two, 0, 2),
                commit(two, 1, match=first),
                commit(fenced, 0, match=OTHER),
                commit(two, 0, match=first),
                commit(three, 0, 3, match=OTHER),
                commit(two, 2),
            ],
        ) == ["OK", "CONFLICT", "FENCED", "OK", "OK", "OK"]
        assert [len(recorded.lines) for recorded in await store.load([MATCH, OTHER, first])] == [3, 3, 1]


@in_loop
async def test_bytes_of_any_kind_are_kept(url):
    async with opened(url) as store:
        lease = await lease_of(store)
        data = bytes(range(256))
        odd = Line(0, data, data[:32])
        await store.commit(A, [commit(lease, 0, lines=[odd], seed=data[10:42])])
        assert await store.load([MATCH]) == [Recorded([data], data[10:42])]
        assert await store.commit(A, [commit(lease, 1, head=data[:32])]) == ["OK"]


@in_loop
async def test_the_seed_is_kept_until_the_end_and_only_then_the_match_begins_to_expire(url):
    async with opened(url, retention_s=1000) as store:
        lease = await lease_of(store)
        await store.commit(A, [commit(lease, 0, seed=b"s" * 32)])
        await store.commit(A, [commit(lease, 1)])
        assert (await store.load([MATCH]))[0].seed == b"s" * 32
        assert await peek(store, "TTL", journal_key(MATCH)) == -1
        assert await peek(store, "TTL", seed_key(MATCH)) == -1
        await store.commit(A, [commit(lease, 2, ended=True)])
        assert (await store.load([MATCH]))[0].seed is None
        assert 990 < await peek(store, "TTL", journal_key(MATCH)) <= 1000
        assert await peek(store, "EXISTS", seed_key(MATCH)) == 0


@in_loop
async def test_a_match_that_begins_and_ends_in_one_commit_leaves_no_seed(url):
    async with opened(url) as store:
        await store.commit(A, [commit(await lease_of(store), 0, 2, seed=b"s" * 32, ended=True)])
        assert (await store.load([MATCH]))[0].seed is None


@in_loop
async def test_the_lobby_index_is_written_kept_and_cleared_as_the_commit_says(url):
    async with opened(url) as store:
        lease = await lease_of(store)
        await store.commit(A, [commit(lease, 0, lobby=b'{"n":1}')])
        assert await store.lobby(2) == {MATCH: b'{"n":1}'}
        await store.commit(A, [commit(lease, 1, lobby=b'{"n":2}')])
        await store.commit(A, [commit(lease, 2, lobby=None)])
        assert await store.lobby_entry(MATCH) == b'{"n":2}'
        await store.commit(A, [commit(lease, 3, lobby="remove")])
        assert await store.lobby(2) == {}
        assert await store.lobby_entry(MATCH) is None
        assert await peek(store, "EXISTS", open_key(2)) == 0


@in_loop
async def test_due_decisions_are_added_or_moved_and_never_removed(url):
    async with opened(url) as store:
        lease = await lease_of(store)
        await store.commit(A, [commit(lease, 0, due={"a": 10, "b": 20})])
        await store.commit(A, [commit(lease, 1, due={"b": 5, "c": 1_796_005_974_123})])
        await store.commit(A, [commit(lease, 2)])
        found = await peek(store, "ZRANGE", due_key(2), 0, -1, "WITHSCORES")
        assert found == [b"b", b"5", b"a", b"10", b"c", b"1796005974123"]


@in_loop
async def test_a_match_that_ends_while_it_is_read_is_read_with_its_seed_or_with_its_end(url):
    """Redis serves others between the commands of a long pipeline."""
    matches = [f"002{number:022}" for number in range(1000)]
    async with opened(url) as store, opened(url) as reader:
        lease = await lease_of(store)
        await store.commit(A, [commit(lease, 0, match=match, seed=b"s") for match in matches])

        async def end() -> None:
            for first in range(0, len(matches), COMMITTED_TOGETHER):
                some = matches[first : first + COMMITTED_TOGETHER]
                await store.commit(A, [commit(lease, 1, match=match, ended=True) for match in some])

        ending = asyncio.create_task(end())
        found: list[Recorded] = []
        while not ending.done():
            found += await reader.load(matches)
        await ending
        assert {(len(lines), seed) for lines, seed in found} <= {(1, b"s"), (2, b"s"), (2, None)}
        assert {len(lines) for lines, _ in found} == {1, 2}, "some were read before, some after their end"


@in_loop
@pytest.mark.parametrize("durability", ["everysec", "fsync"])
async def test_holds_is_true_for_the_owner_and_the_present_length_and_last_hash_only(url, durability):
    async with opened(url, durability=durability) as store:
        lease = await lease_of(store)
        await store.commit(A, [commit(lease, 0, 2)])
        assert await store.holds(A, lease, MATCH, 2, line(1).hash) is True
        assert await store.holds(A, lease, MATCH, 1, line(0).hash) is False
        assert await store.holds(A, lease, MATCH, 2, line(0).hash) is False
        assert await store.holds(A, lease, MATCH, 0, bytes(32)) is False
        assert await store.holds(A, lease, OTHER.replace("003", "002"), 0, bytes(32)) is True
        assert await store.holds(B, lease, MATCH, 2, line(1).hash) is None
        await store.leases.acquire(A, [2])
        assert await store.holds(A, lease, MATCH, 2, line(1).hash) is None


@in_loop
async def test_what_is_due_comes_earliest_first_and_no_more_than_asked_for(url):
    async with opened(url) as store:
        await store.postpone(0, {"c": 30, "a": 10, "b": 20, "d": 31})
        await store.postpone(1, {"e": 31})
        await store.postpone(1, {})
        assert await store.due([0, 1], 30, 10) == {0: ["a", "b", "c"]}
        assert await store.due([0, 1], 100, 2) == {0: ["a", "b"], 1: ["e"]}
        assert await store.due([0, 1], 9, 10) == {}


@in_loop
async def test_decisions_of_the_same_time_come_by_prompt_and_seat(url):
    """So computer players that think for the same time move in the same order wherever a match is dealt again."""
    async with opened(url) as store:
        await store.postpone(0, dict.fromkeys(["m:2:9", "m:10:9", "m:1:12", "m:idle"], 10) | {"m:0:13": 9})
        assert await store.due([0], 10, 10) == {0: ["m:0:13", "m:idle", "m:2:9", "m:10:9", "m:1:12"]}


@in_loop
async def test_the_next_time_at_which_something_is_due_is_known(url):
    async with opened(url) as store:
        await store.postpone(0, {"a": 10, "b": 20})
        assert await store.next_due([0, 1]) == {0: 10}
        assert await store.next_due([0, 1], 11) == {0: 20}
        assert await store.next_due([0, 1], 20) == {0: 20}
        assert await store.next_due([0, 1], 21) == {}
