"""The contract of the store, on a real server and on a real cluster."""

import asyncio
import gc
import hashlib
import re
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import redis

from engine.journal import Line
from services import commands
from services.commands import ENVELOPES, Abort, Envelope
from services.local import RedisServer
from services.settings import Durability
from services.store import Recorded, Store, servers
from services.store.commits import COMMITTED_TOGETHER, Commit
from services.store.intake import Along
from services.store.keys import due_key, journal_key, moves_key, open_key, owner_key, seed_key
from services.store.leases import Lease
from services.store.servers import StoreError
from tests.services.front import in_loop, peek, settings_for, until

pytestmark = pytest.mark.containers

MATCH = "002" + "a" * 22
OTHER = "003" + "b" * 22
A, B = "worker a", "worker b"
KEY = re.compile(r"croupier:[^\s\"]")


@pytest.fixture(params=["redis_url", "redis_cluster_url"], ids=["server", "cluster"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


@asynccontextmanager
async def opened(url: str, **changes):
    store = await Store(settings_for(url, "nats://127.0.0.1:1", **changes)).open()
    try:
        yield store
    finally:
        await store.close()


def line(version: int, text: str = "line") -> Line:
    data = b"%d %b" % (version, text.encode())
    return Line(version, data, hashlib.sha256(data).digest())


def commit(lease: Lease, start: int, count: int = 1, match: str = MATCH, **changes) -> Commit:
    """The next `count` lines of a journal that has `start`."""
    fields = {
        "lease": lease,
        "match": match,
        "expected": start,
        "head": line(start - 1).hash if start else bytes(32),
        "lines": [line(version) for version in range(start, start + count)],
        "seed": None,
        "lobby": None,
        "ended": False,
        "due": {},
    }
    return Commit(**(fields | changes))


async def lease_of(store: Store, worker: str = A, partition: int = 2) -> Lease:
    (lease,) = await store.leases.acquire(worker, [partition])
    return lease


async def expire(store: Store, *partitions: int) -> None:
    """Let leases run out, without waiting for it."""
    for partition in partitions:
        await peek(store, "HSET", owner_key(partition), "until", 1)


async def append(store: Store, partition: int, count: int) -> list[str]:
    """Append commands; return their reasons, by which they are told apart."""
    reasons = [f"{partition}/{number}" for number in range(count)]
    await store.intake.append(
        [(partition, Envelope("s", n, Abort(f"{partition:03}" + "a" * 22, r))) for n, r in enumerate(reasons)]
    )
    return reasons


def reasons(deliveries) -> list[str]:
    return [ENVELOPES.decode(delivery.data).command.reason for delivery in deliveries]


class TestLeases:
    @in_loop
    async def test_a_partition_has_one_owner(self, url):
        async with opened(url) as store:
            assert [lease.partition for lease in await store.leases.acquire(A, [0, 1])] == [0, 1]
            assert [lease.partition for lease in await store.leases.acquire(B, [1, 2])] == [2]

    @in_loop
    async def test_an_epoch_is_raised_at_each_acquisition_and_never_restarts(self, url):
        async with opened(url) as store:
            epochs = [(await lease_of(store)).epoch]
            epochs.append((await lease_of(store)).epoch)
            await store.leases.release(A, [Lease(2, epochs[-1])])
            epochs.append((await lease_of(store, B)).epoch)
            await expire(store, 2)
            epochs.append((await lease_of(store, A)).epoch)
            assert epochs == [1, 2, 3, 4]
            assert await peek(store, "TTL", owner_key(2)) == -1

    @in_loop
    async def test_a_lease_that_has_run_out_can_be_had_by_another_and_only_then(self, url):
        async with opened(url, lease_ms=200, block_ms=20) as store:
            await lease_of(store, A)
            assert await store.leases.acquire(B, [2]) == []
            await until(lambda: store.leases.acquire(B, [2]))
            assert await store.leases.acquire(A, [2]) == []

    @in_loop
    async def test_renewing_keeps_a_lease_and_names_the_lost_ones(self, url):
        async with opened(url) as store:
            kept, lost = await store.leases.acquire(A, [2, 3])
            await expire(store, 2, 3)
            await lease_of(store, B, 3)
            assert await store.leases.renew(A, [kept, lost]) == [lost]
            assert await store.leases.acquire(B, [2]) == []
            assert await store.leases.renew(A, []) == []

    @in_loop
    async def test_the_lease_of_an_earlier_acquisition_is_lost_also_for_its_own_worker(self, url):
        async with opened(url) as store:
            old, new = await lease_of(store), await lease_of(store)
            assert await store.leases.renew(A, [old, new]) == [old]
            assert not await store.leases.owns(A, old)
            assert await store.leases.owns(A, new)
            assert not await store.leases.owns(B, new)

    @in_loop
    async def test_releasing_frees_at_once_and_never_takes_from_another(self, url):
        async with opened(url) as store:
            mine = await lease_of(store, A)
            await store.leases.release(A, [mine])
            theirs = await lease_of(store, B)
            await store.leases.release(A, [mine])
            await store.leases.release(A, [])
            assert await store.leases.owns(B, theirs)

    @in_loop
    async def test_free_are_the_partitions_never_held_released_or_run_out(self, url):
        async with opened(url) as store:
            assert await store.leases.free(4) == [0, 1, 2, 3]
            leases = await store.leases.acquire(A, [0, 1, 3])
            assert await store.leases.free(4) == [2]
            await store.leases.release(A, leases[:1])
            await expire(store, 3)
            assert await store.leases.free(4) == [0, 2, 3]

    @in_loop
    async def test_live_workers_are_the_ones_heard_of_within_a_lease(self, url):
        async with opened(url, lease_ms=200, block_ms=20) as store:
            assert await store.leases.heartbeat("b") == ["b"]
            assert await store.leases.heartbeat("a") == ["a", "b"]
            await store.leases.retire("b")
            assert await store.leases.heartbeat("c") == ["a", "c"]

            async def is_alone():
                return await store.leases.heartbeat("c") == ["c"]

            await until(is_alone)

    @in_loop
    async def test_what_was_appended_before_there_was_any_owner_is_read_by_the_first(self, url):
        async with opened(url) as store:
            sent = await append(store, 2, 2)
            await lease_of(store)
            assert reasons(await store.intake.read([2], 0)) == sent


class TestIntake:
    @in_loop
    async def test_commands_of_several_partitions_are_read_each_in_order(self, url):
        async with opened(url) as store:
            await store.leases.acquire(A, [0, 1, 2])
            sent = {partition: await append(store, partition, 3) for partition in (0, 1, 2)}
            found = await store.intake.read([0, 2], 1000)
            assert reasons(d for d in found if d.partition == 0) == sent[0]
            assert reasons(d for d in found if d.partition == 2) == sent[2]
            assert len(found) == 6
            assert await store.intake.read([0, 2], 1) == []
            assert reasons(await store.intake.read([0, 1, 2], 0)) == sent[1]
            assert await store.intake.read([], 1000) == []

    @in_loop
    async def test_commands_of_several_partitions_are_read_in_the_order_in_which_they_came(self, url):
        async with opened(url) as store:
            sent = []
            for partition in (2, 0, 1, 0, 2):
                sent += await append(store, partition, 1)
                await asyncio.sleep(0.003)  # the order is that of Redis' milliseconds
            found = await store.intake.read([0, 1, 2], 0)
            assert reasons(found) == sent
            assert [delivery.at for delivery in found] == sorted({delivery.at for delivery in found})
            assert await store.intake.read([0, 1, 2], 0) == []  # each partition was read to its own end

    @in_loop
    async def test_appending_tells_how_long_each_intake_is(self, url):
        async with opened(url) as store:
            envelope = Envelope("s", 1, Abort(MATCH, ""))
            assert await store.intake.append([(2, envelope), (3, envelope), (2, envelope)], [2, 3]) == {2: 2, 3: 1}
            assert await store.intake.append([(3, envelope)]) == {}
            assert await store.intake.append([(2, envelope)], [2]) == {2: 3}

    @in_loop
    async def test_a_delivery_carries_the_milliseconds_of_its_id(self, url):
        async with opened(url) as store:
            await lease_of(store)
            before = await store.time()
            await append(store, 2, 1)
            (delivery,) = await store.intake.read([2], 0)
            assert before <= delivery.at <= await store.time()
            assert delivery.id.startswith(f"{delivery.at}-")

    @in_loop
    async def test_one_read_takes_at_most_a_batch_of_each_partition(self, url):
        async with opened(url, batch=2) as store:
            await store.leases.acquire(A, [0, 1])
            await append(store, 0, 3)
            await append(store, 1, 3)
            assert reasons(await store.intake.read([0, 1], 0)) == ["0/0", "0/1", "1/0", "1/1"]
            assert reasons(await store.intake.read([0, 1], 0)) == ["0/2", "1/2"]

    @in_loop
    async def test_a_blocked_read_wakes_for_a_command(self, url):
        async with opened(url) as store:
            await store.leases.acquire(A, [0, 1])
            reading = asyncio.create_task(store.intake.read([0, 1], 2000))
            await asyncio.sleep(0.05)
            assert not reading.done()
            await append(store, 1, 1)
            assert reasons(await reading) == ["1/0"]

    @in_loop
    async def test_what_is_not_acknowledged_is_found_whoever_read_it_however_much_it_is(self, url):
        async with opened(url, batch=2) as old, opened(url, batch=2) as new:
            await old.leases.acquire(A, [0, 1])
            sent = await append(old, 0, 5) + await append(old, 1, 1)
            taken = [delivery for _ in range(3) for delivery in await old.intake.read([0, 1], 0)]
            await old.intake.acknowledge([taken[0]])
            assert await new.intake.unacknowledged([0, 1]) == {0: 4, 1: 1}
            found = await new.intake.read_pending([0, 1])
            assert reasons(found) == ["0/1", "0/2", "1/0"]
            found += await new.intake.read([0, 1], 0)
            assert sorted(reasons(found)) == sent[1:]
            await new.intake.acknowledge(found)
            assert await new.intake.read_pending([0, 1]) == []
            assert await new.intake.unacknowledged([0, 1]) == {0: 0, 1: 0}
            assert await new.intake.read_pending([]) == []

    @in_loop
    async def test_a_commit_takes_along_what_was_left_to_acknowledge_and_a_read(self, url):
        async with opened(url) as store:
            lease = await lease_of(store)
            sent = await append(store, 2, 1)
            taken = await store.intake.read([2], 0)
            store.intake.acknowledge_later(taken, {2: ["a"]})
            await store.postpone(2, {"a": 1, "b": 2})
            sent += await append(store, 2, 2)
            nothing = Along([])
            assert await store.commit(A, [commit(lease, 0)], nothing) == ["OK"]
            assert (nothing.found, store.intake.acknowledging, await store.intake.unacknowledged([2])) == (
                [],
                True,
                {2: 3},
            )
            along = Along([2])
            results = await store.commit(A, [commit(lease, 1), commit(lease, 1), commit(lease, 2)], along)
            assert results == ["OK", "CONFLICT", "OK"]
            if store._settings.redis_cluster:
                assert (along.found, store.intake.acknowledging) == ([], True)
            else:
                assert not store.intake.acknowledging
                assert reasons(along.found) == sent[1:]
                assert reasons(await store.intake.read_pending([2])) == sent[1:]
                assert await store.due([2], 9, 9) == {2: ["b"]}

    @in_loop
    async def test_reading_takes_nothing_from_others(self, url):
        async with opened(url) as old, opened(url) as new:
            await old.leases.acquire(A, [2])
            sent = await append(old, 2, 3)
            assert reasons(await old.intake.read([2], 0)) == reasons(await new.intake.read([2], 0)) == sent
            assert await old.intake.read([2], 0) == await new.intake.read([2], 0) == []

    @in_loop
    async def test_what_was_there_when_reading_began_anew_counts_as_read_before(self, url):
        """However much it is, until the first command that came after."""
        async with opened(url, batch=2) as store:
            await lease_of(store)
            await append(store, 2, 1)
            assert [delivery.again for delivery in await store.intake.read([2], 0)] == [False]
            await append(store, 2, 4)
            again = [delivery.again for delivery in await store.intake.read_pending([2])]
            await append(store, 2, 3)
            for _ in range(3):
                again += [delivery.again for delivery in await store.intake.read([2], 0)]
            assert again[:5] == [True] * 5
            assert again[6:] == [False] * 2
            await append(store, 2, 1)
            assert [delivery.again for delivery in await store.intake.read([2], 0)] == [False]

    @in_loop
    async def test_a_command_that_was_read_and_is_neither_acknowledged_nor_in_hand_is_told_of(self, url):
        async with opened(url, batch=2) as store:
            await store.leases.acquire(A, [0, 1])
            await append(store, 0, 5)
            await append(store, 1, 1)
            both = range(2)
            assert await store.intake.forgotten(both) == set()
            first = await store.intake.read(both, 0)
            assert await store.intake.forgotten(both, first) == set()
            assert await store.intake.forgotten(both) == {0, 1}
            assert await store.intake.forgotten(both, first[1:]) == {0}
            await store.intake.acknowledge(first[:1])
            assert await store.intake.forgotten(both) == {0, 1}
            assert await store.intake.forgotten(both, first[1:]) == set()
            await store.intake.acknowledge(first[1:])
            assert await store.intake.forgotten(both) == set()
            second = await store.intake.read(both, 0)
            third = await store.intake.read(both, 0)
            assert await store.intake.forgotten(both, third) == {0}
            assert await store.intake.forgotten(both, second + third) == set()
            assert await store.intake.forgotten([]) == set()

    @in_loop
    async def test_acknowledged_commands_are_gone_and_all_others_are_there(self, url):
        async with opened(url, batch=3) as store:
            await store.leases.acquire(A, [0, 1])
            await append(store, 0, 5)
            assert await store.intake.unacknowledged([0, 1]) == {0: 5, 1: 0}
            taken = await store.intake.read([0], 0)
            await store.intake.acknowledge([taken[0], taken[2]])
            assert await store.intake.unacknowledged([0, 1]) == {0: 3, 1: 0}
            assert reasons(await store.intake.read([0], 0)) == ["0/3", "0/4"]
            assert reasons(await store.intake.read_pending([0])) == ["0/1", "0/3", "0/4"]
            await store.intake.acknowledge([taken[1], taken[1]])
            assert await store.intake.unacknowledged([0]) == {0: 2}

    @in_loop
    async def test_ids_go_on_when_an_intake_is_empty(self, url):
        async with opened(url) as store:
            await lease_of(store)
            await peek(store, "XADD", moves_key(2), "99999999999999-0", "c", b"x")
            await store.intake.acknowledge(await store.intake.read([2], 0))
            assert await store.intake.unacknowledged([2]) == {2: 0}
            await append(store, 2, 1)
            assert reasons(await store.intake.read([2], 0)) == ["2/0"]

    @in_loop
    async def test_an_entry_without_a_command_is_delivered_too(self, url):
        async with opened(url) as store:
            await lease_of(store)
            await peek(store, "XADD", moves_key(2), "*", "x", "y")
            (delivery,) = await store.intake.read([2], 0)
            assert delivery.data == b""

    @in_loop
    async def test_acknowledging_also_removes_what_is_settled_of_due(self, url):
        async with opened(url) as store:
            await lease_of(store)
            await store.postpone(2, {"a": 1, "b": 2, "c": 3})
            await append(store, 2, 1)
            await store.intake.acknowledge(await store.intake.read([2], 0), {2: ["a", "c", "unknown"], 3: []})
            assert await store.due([2], 10, 10) == {2: ["b"]}
            assert await store.intake.unacknowledged([2]) == {2: 0}
            await store.intake.acknowledge([])


class TestCommit:
    @in_loop
    async def test_entries_are_stored_by_their_versions_with_line_and_hash(self, url):
        async with opened(url) as store:
            lease = await lease_of(store)
            assert await store.commit(A, [commit(lease, 0, 2)]) == ["OK"]
            assert await store.commit(A, [commit(lease, 2, 1)]) == ["OK"]
            assert await peek(store, "XRANGE", journal_key(MATCH), "-", "+") == [
                [b"%d-0" % (version + 1), [b"line", line(version).data, b"hash", line(version).hash]]
                for version in range(3)
            ]

    @in_loop
    async def test_what_was_committed_can_be_read_whole_and_in_parts(self, url):
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
    async def test_another_length_or_another_last_hash_is_a_conflict_that_writes_nothing(self, url):
        async with opened(url) as store:
            lease = await lease_of(store)
            await store.commit(A, [commit(lease, 0, 2)])
            before = await self.everything(store)
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
            assert await self.everything(store) == before

    @in_loop
    async def test_another_worker_or_epoch_is_fenced_and_writes_nothing(self, url):
        async with opened(url) as store:
            old = await lease_of(store)
            await store.commit(A, [commit(old, 0, 2)])
            new = await lease_of(store)
            before = await self.everything(store)
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
            after = await self.everything(store)
            after.pop(owner_key(2).encode(), None)
            before.pop(owner_key(2).encode())
            assert after == before

    async def everything(self, store: Store) -> dict[bytes, bytes]:
        """All keys of the server and what they hold."""
        return {
            key: await peek(store, "DUMP", key.decode())
            for keys in await store._servers.exchange.each(("KEYS", "*"))
            for key in keys
        }

    @in_loop
    async def test_a_lease_that_ran_out_but_was_taken_by_nobody_still_commits(self, url):
        async with opened(url) as store:
            lease = await lease_of(store)
            await expire(store, 2)
            assert await store.commit(A, [commit(lease, 0)]) == ["OK"]

    @in_loop
    async def test_a_commit_without_entries_checks_just_as_much_and_writes_nothing(self, url):
        async with opened(url) as store:
            lease = await lease_of(store)
            await store.commit(A, [commit(lease, 0, 2)])
            before = await self.everything(store)
            empty = [commit(lease, start, 0) for start in (2, 1, 0)]
            assert await store.commit(A, empty) == ["OK", "CONFLICT", "CONFLICT"]
            assert await store.commit(A, [commit(lease, 2, 0, head=bytes(32))]) == ["CONFLICT"]
            assert await store.commit(A, [commit(lease, 0, 0, match=OTHER.replace("003", "002"))]) == ["OK"]
            assert await store.commit(B, empty) == ["FENCED"] * 3
            assert await self.everything(store) == before

    @in_loop
    async def test_nothing_at_all_to_commit_is_no_trouble(self, url):
        async with opened(url) as store:
            assert await store.commit(A, []) == []

    @in_loop
    async def test_more_than_fit_in_one_call_are_committed_and_each_has_its_own_result(self, url):
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
    async def test_each_match_of_a_batch_over_several_partitions_has_its_own_result(self, url):
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
    async def test_bytes_of_any_kind_are_kept(self, url):
        async with opened(url) as store:
            lease = await lease_of(store)
            data = bytes(range(256))
            odd = Line(0, data, data[:32])
            await store.commit(A, [commit(lease, 0, lines=[odd], seed=data[10:42])])
            assert await store.load([MATCH]) == [Recorded([data], data[10:42])]
            assert await store.commit(A, [commit(lease, 1, head=data[:32])]) == ["OK"]

    @in_loop
    async def test_the_seed_is_kept_until_the_end_and_only_then_the_match_begins_to_expire(self, url):
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
    async def test_a_match_that_begins_and_ends_in_one_commit_leaves_no_seed(self, url):
        async with opened(url) as store:
            await store.commit(A, [commit(await lease_of(store), 0, 2, seed=b"s" * 32, ended=True)])
            assert (await store.load([MATCH]))[0].seed is None

    @in_loop
    async def test_the_lobby_index_is_written_kept_and_cleared_as_the_commit_says(self, url):
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
    async def test_due_decisions_are_added_or_moved_and_never_removed(self, url):
        async with opened(url) as store:
            lease = await lease_of(store)
            await store.commit(A, [commit(lease, 0, due={"a": 10, "b": 20})])
            await store.commit(A, [commit(lease, 1, due={"b": 5, "c": 1_796_005_974_123})])
            await store.commit(A, [commit(lease, 2)])
            found = await peek(store, "ZRANGE", due_key(2), 0, -1, "WITHSCORES")
            assert found == [b"b", b"5", b"a", b"10", b"c", b"1796005974123"]

    @in_loop
    async def test_holds_is_true_for_the_owner_and_the_present_length_only(self, url):
        async with opened(url) as store:
            lease = await lease_of(store)
            await store.commit(A, [commit(lease, 0, 2)])
            assert await store.holds(A, lease, MATCH, 2, line(1).hash) is True
            assert await store.holds(A, lease, MATCH, 1, line(0).hash) is False
            assert await store.holds(A, lease, OTHER.replace("003", "002"), 0, bytes(32)) is True
            assert await store.holds(B, lease, MATCH, 2, line(1).hash) is None
            await store.leases.acquire(A, [2])
            assert await store.holds(A, lease, MATCH, 2, line(1).hash) is None


class TestDue:
    @in_loop
    async def test_what_is_due_comes_earliest_first_and_no_more_than_asked_for(self, url):
        async with opened(url) as store:
            await store.postpone(0, {"c": 30, "a": 10, "b": 20, "d": 31})
            await store.postpone(1, {"e": 31})
            await store.postpone(1, {})
            assert await store.due([0, 1], 30, 10) == {0: ["a", "b", "c"]}
            assert await store.due([0, 1], 100, 2) == {0: ["a", "b"], 1: ["e"]}
            assert await store.due([0, 1], 9, 10) == {}

    @in_loop
    async def test_decisions_of_the_same_time_come_by_prompt_and_seat(self, url):
        """So computer players that think for the same time move in the same order wherever a match is dealt again."""
        async with opened(url) as store:
            await store.postpone(0, dict.fromkeys(["m:2:9", "m:10:9", "m:1:12", "m:idle"], 10) | {"m:0:13": 9})
            assert await store.due([0], 10, 10) == {0: ["m:0:13", "m:idle", "m:2:9", "m:10:9", "m:1:12"]}

    @in_loop
    async def test_the_next_time_at_which_something_is_due_is_known(self, url):
        async with opened(url) as store:
            await store.postpone(0, {"a": 10, "b": 20})
            assert await store.next_due([0, 1]) == {0: 10}
            assert await store.next_due([0, 1], 11) == {0: 20}
            assert await store.next_due([0, 1], 20) == {0: 20}
            assert await store.next_due([0, 1], 21) == {}


class TestServer:
    @in_loop
    async def test_functions_that_the_server_has_lost_are_loaded_again(self, url):
        async with opened(url) as store:

            async def lost():
                assert set(await store._servers.exchange.each(("FUNCTION", "FLUSH"))) == {b"OK"}

            await lost()
            assert await store.leases.heartbeat(A) == [A]
            await lost()
            lease = await lease_of(store)
            await lost()
            assert await store.leases.renew(A, [lease]) == []
            await lost()
            assert await store.commit(A, [commit(lease, 0), commit(lease, 1)]) == ["OK", "OK"]
            await lost()
            await store.leases.release(A, [lease])
            assert await store.leases.free(4) == [0, 1, 2, 3]

    @in_loop
    async def test_another_version_of_the_functions_is_replaced(self, url):
        async with opened(url) as store:
            other = "#!lua name=croupier\nredis.register_function('croupier_commit', function() return 'OK' end)"
            await store._servers.exchange.each(("FUNCTION", "LOAD", "REPLACE", other))
            async with opened(url) as newer:
                assert await newer.commit(B, [commit(Lease(2, 1), 0)]) == ["FENCED"]

    @in_loop
    async def test_a_server_that_may_evict_keys_is_refused(self, tmp_path):
        with RedisServer(tmp_path) as server, redis.Redis.from_url(server.url) as client:
            client.config_set("maxmemory-policy", "allkeys-lru")
            with pytest.raises(StoreError, match="allkeys-lru"):
                async with opened(server.url):
                    pass

    @pytest.mark.parametrize(
        ("info", "durability", "says"),
        [
            ({"redis_version": "6.2.14"}, "memory", "redis 6.2.14 is too old; 7.0"),
            ({"redis_version": "7.2.4", "valkey_version": "7.2.9"}, "memory", "valkey 7.2.9 is too old; 8.0"),
            ({"redis_version": "7.0.15"}, "fsync", "redis 7.0.15 is too old; 7.2"),
            ({"redis_version": "7.0.15"}, "everysec", None),
            ({"redis_version": "10.0.0"}, "fsync", None),
            ({"redis_version": "7.2.4", "valkey_version": "8.0.0"}, "fsync", None),
        ],
    )
    def test_a_server_that_is_too_old_is_refused(self, url, monkeypatch, info, durability, says):
        @in_loop
        async def run():
            store = Store(settings_for(url, "nats://127.0.0.1:1", durability=durability))
            real = (await store._servers._infos())[0]
            real.pop("valkey_version", None)

            async def infos():
                return [real | info]

            monkeypatch.setattr(store._servers, "_infos", infos)
            if says is None:
                await store.open()
                await store.close()
            else:
                with pytest.raises(StoreError, match=says):
                    await store.open()

        run()

    @in_loop
    async def test_fewer_partitions_than_there_are_matches_for_are_refused_and_more_are_remembered(self, url):
        async with opened(url, partitions=4):
            pass
        async with opened(url, partitions=8):
            pass
        with pytest.raises(StoreError, match="CROUPIER_PARTITIONS: is 4, but this Redis holds matches of 8"):
            async with opened(url, partitions=4):
                pass
        async with opened(url, partitions=8):
            pass

    @in_loop
    async def test_what_cannot_be_opened_leaves_no_connection_behind(self, url):
        """One that is collected while it is open fails the test."""
        async with opened(url, partitions=8):
            pass
        store = Store(settings_for(url, "nats://127.0.0.1:1", partitions=4))
        with pytest.raises(StoreError):
            await store.open()
        del store
        gc.collect()


class TestDurability:
    @pytest.mark.parametrize("durability", ["memory", "everysec", "fsync"])
    def test_what_one_server_can_promise_is_confirmed(self, tmp_path, durability):
        @in_loop
        async def run():
            with RedisServer(tmp_path, durability=Durability.parse(durability)) as server:
                async with opened(server.url, durability=durability) as store:
                    two, three = await store.leases.acquire(A, [2, 3])
                    batch = [commit(two, 0), commit(three, 0, match=OTHER)]
                    assert await store.commit(A, batch) == ["OK", "OK"]
                    assert await store.commit(A, [commit(two, 1, 0)]) == ["OK"]

        run()

    @in_loop
    async def test_fsync_is_refused_by_a_server_that_has_no_append_only_file(self, tmp_path):
        with RedisServer(tmp_path, durability=Durability("memory")) as server:
            with pytest.raises(StoreError, match="append-only file"):
                async with opened(server.url, durability="fsync"):
                    pass
            async with opened(server.url, durability="everysec"):
                pass

    @in_loop
    async def test_a_replica_confirms_and_without_it_nothing_counts(self, tmp_path, monkeypatch):
        with RedisServer(tmp_path / "1") as primary, RedisServer(tmp_path / "2") as replica:
            with redis.Redis.from_url(primary.url) as client:
                client.config_set("repl-diskless-sync-delay", 0)
            with redis.Redis.from_url(replica.url) as client:
                client.replicaof("127.0.0.1", primary.port)
            monkeypatch.setattr(servers, "CONFIRM_MS", 300)  # as the one that must not be confirmed is opened
            async with opened(primary.url, durability="replicas:1") as hasty:
                monkeypatch.setattr(servers, "CONFIRM_MS", 30_000)
                async with opened(primary.url, durability="replicas:1") as store:
                    lease = await lease_of(store)
                    assert await store.commit(A, [commit(lease, 0)]) == ["OK"]
                    replica.pause()
                    with pytest.raises(StoreError, match="not as durable as replicas:1"):
                        await hasty.commit(A, [commit(lease, 1)])
                    await hasty._servers.exchange.close()  # on a new connection nothing was written yet
                    with pytest.raises(StoreError, match="not as durable as replicas:1"):
                        await hasty.commit(A, [commit(lease, 2, 0)])
                    replica.resume()
                    assert await store.commit(A, [commit(lease, 2, 0)]) == ["OK"]


def test_keys_are_spelled_in_one_module_only():
    """That nothing but the store talks to Redis is a rule of the linter: `services/ruff.toml`."""
    services = Path(commands.__file__).parent
    spelled = [
        path for path in services.rglob("*.*") if path.suffix in {".py", ".lua"} and KEY.search(path.read_text())
    ]
    assert spelled == [services / "store" / "keys.py"]
