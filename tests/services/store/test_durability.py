"""What each durability promises, on servers that are killed, frozen, or do not write to their disk."""

import asyncio
import shutil
from contextlib import contextmanager

import pytest
import redis

from services.bus import NoAnswer
from services.commands import Submit
from services.local import RedisServer
from services.settings import Durability
from services.store import servers
from services.store.servers import NotDurable, StoreError
from tests.faults.jumping_clock import compiler
from tests.faults.losing_disk import LosingDisk, PreloadedRedis, wait_until_written
from tests.services.front import in_loop, intake, until
from tests.services.store.opened import MATCH, OTHER, A, commit, lease_of, opened

HASTY_MS, PATIENT_MS = 300, 30_000
"""For what must not be confirmed, and for what must be: a store takes `CONFIRM_MS` as it is when it is opened."""
QUIET_S = 0.4
"""So long it is listened that nothing comes, well above what a receipt takes; no test passes faster by missing it."""


@contextmanager
def replicated(folder, monkeypatch):
    """A primary and its replica, in step; a store opened then fails soon with a commit that no replica confirms."""
    monkeypatch.setattr(servers, "CONFIRM_MS", HASTY_MS)
    with RedisServer(folder / "primary") as primary, RedisServer(folder / "replica") as replica:
        with redis.Redis.from_url(primary.url) as there, redis.Redis.from_url(replica.url) as here:
            there.config_set("repl-diskless-sync-delay", 0)
            here.replicaof("127.0.0.1", primary.port)
            while here.info("replication")["master_link_status"] != "up":
                pass
            while not there.wait(1, 1000):
                pass
        yield primary, replica


async def moves_survive(front, server, end) -> None:
    """After each receipt the server ends and comes back: its move is in the journal."""
    await front.owner()
    seats = await front.match(clock=600_000)
    for _ in range(5):
        _, move = await front.next_move(seats)
        version = await front.done(move)
        end()
        server.start()
        assert (await until(lambda: told(front, seats), "the journal"))[-1] >= version


class TestOneServer:
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
    async def test_with_fsync_what_has_a_receipt_survives_a_server_that_is_killed_right_after_it(
        self, tmp_path, nats_url
    ):
        with RedisServer(tmp_path, durability=Durability("fsync")) as server:
            async with intake(server.url, nats_url, durability="fsync") as front:
                await moves_survive(front, server, server.kill)

    @in_loop
    async def test_with_everysec_it_survives_one_that_is_killed_once_it_has_written(self, tmp_path, nats_url):
        """Which is before it answers, unless its disk is busy."""
        with RedisServer(tmp_path) as server:
            async with intake(server.url, nats_url) as front:

                def killed():
                    wait_until_written(server)
                    server.kill()

                await moves_survive(front, server, killed)

    @in_loop
    async def test_memory_promises_nothing_beyond_the_life_of_the_server(self, tmp_path):
        with RedisServer(tmp_path, durability=Durability("memory")) as server:
            async with opened(server.url, durability="memory") as store:
                assert await store.commit(A, [commit(await lease_of(store), 0)]) == ["OK"]
                server.restart()
                assert (await store.load([MATCH]))[0].lines == []

    @in_loop
    async def test_fsync_waits_for_the_disk_and_not_only_for_the_answer(self, tmp_path, monkeypatch):
        """A server that leaves it to the system when to write confirms nothing."""
        with RedisServer(tmp_path) as server, redis.Redis.from_url(server.url) as client:
            client.config_set("appendfsync", "no")
            monkeypatch.setattr(servers, "CONFIRM_MS", HASTY_MS)
            async with opened(server.url, durability="fsync") as store:
                lease = await lease_of(store)
                with pytest.raises(NotDurable, match="not as durable as fsync"):
                    await store.commit(A, [commit(lease, 0)])
            client.config_set("appendfsync", "everysec")
            monkeypatch.setattr(servers, "CONFIRM_MS", PATIENT_MS)
            async with opened(server.url, durability="fsync") as store:
                assert await store.commit(A, [commit(lease, 1)]) == ["OK"]


async def told(front, seats):
    try:
        return [entry.version for entry in await front.entries(seats[0].match)]
    except redis.RedisError:
        return None


@pytest.mark.skipif(compiler() is None, reason="there is no C compiler for a disk that loses power")
class TestPower:
    @pytest.mark.parametrize(("appendfsync", "kept"), [("no", None), ("always", b"1")])
    def test_the_disk_of_these_tests_loses_what_was_not_synced(self, tmp_path, appendfsync, kept):
        disk = LosingDisk(tmp_path / "disk")
        server = PreloadedRedis(tmp_path)
        server.preloaded = (disk.environment,)
        with server, redis.Redis.from_url(server.url) as client:
            client.config_set("appendfsync", appendfsync)
            client.set("written", 1)
            server.kill()
            assert bool(disk.lose(server.folder / "appendonlydir")) == (kept is None)
            server.start()
            assert client.get("written") == kept

    def test_with_everysec_what_it_answered_while_its_disk_was_busy_may_be_lost_with_a_server_that_is_killed(
        self, tmp_path
    ):
        """It waits for the disk for up to two seconds before it writes, and answers at once."""
        disk = LosingDisk(tmp_path / "disk")
        server = PreloadedRedis(tmp_path)
        server.preloaded = (disk.environment,)
        with server, redis.Redis.from_url(server.url) as client:

            def lost() -> bool:
                client.delete("answered")
                client.set("written", 1)
                wait_until_written(server)
                with disk.busy():
                    while not client.info("persistence")["aof_pending_bio_fsync"]:  # begins within a second
                        client.incr("meanwhile")
                    client.set("answered", 1)
                    server.kill()
                server.start()
                assert client.get("written") == b"1"
                return client.get("answered") is None

            assert any(lost() for _ in range(5)), "each time it lived for two seconds more"

    @in_loop
    async def test_with_fsync_what_has_a_receipt_survives_the_loss_of_power(self, tmp_path, nats_url):
        disk = LosingDisk(tmp_path / "disk")
        server = PreloadedRedis(tmp_path, durability=Durability("fsync"))
        server.preloaded = (disk.environment,)
        with server:
            async with intake(server.url, nats_url, durability="fsync") as front:

                def loses_power():
                    server.kill()
                    disk.lose(server.folder / "appendonlydir")

                await moves_survive(front, server, loses_power)


class TestReplicas:
    @in_loop
    async def test_a_replica_confirms_and_without_it_nothing_counts(self, tmp_path, monkeypatch):
        with replicated(tmp_path, monkeypatch) as (primary, replica):
            async with opened(primary.url, durability="replicas:1") as hasty:
                monkeypatch.setattr(servers, "CONFIRM_MS", PATIENT_MS)
                async with opened(primary.url, durability="replicas:1") as store:
                    lease = await lease_of(store)
                    assert await store.commit(A, [commit(lease, 0)]) == ["OK"]
                    replica.pause()
                    with pytest.raises(NotDurable, match="not as durable as replicas:1"):
                        await hasty.commit(A, [commit(lease, 1)])
                    await hasty._servers.exchange.close()  # on a new connection nothing was written yet
                    with pytest.raises(NotDurable, match="not as durable as replicas:1"):
                        await hasty.commit(A, [commit(lease, 2, 0)])
                    replica.resume()
                    assert await store.commit(A, [commit(lease, 2, 0)]) == ["OK"]

    @in_loop
    async def test_nobody_hears_of_a_move_that_no_replica_has_until_one_has_it(self, tmp_path, nats_url, monkeypatch):
        with replicated(tmp_path, monkeypatch) as (primary, replica):
            async with intake(primary.url, nats_url, durability="replicas:1") as front:
                await front.owner()
                seats = await front.match(clock=600_000)
                seat, move = await front.next_move(seats)
                version = (await front.folded(seat.match)).version + 1
                replica.pause()
                numbers = await front.send(move)
                await until(lambda: written(front, seat.match, version))
                await asyncio.sleep(QUIET_S)
                assert numbers[0] not in front.receipts
                assert version not in front.seen(seat.subject)
                with pytest.raises(NoAnswer):
                    await front.view(seat.question(), within=QUIET_S)
                replica.resume()
                (receipt,) = await front.answers(numbers)
                assert receipt.version == version
                await until(lambda: version in front.seen(seat.subject))

    @in_loop
    async def test_a_refusal_is_told_only_once_its_acknowledgement_cannot_be_lost(
        self, tmp_path, nats_url, monkeypatch
    ):
        """Or a redelivery on the next primary could turn it into an acceptance."""
        with replicated(tmp_path, monkeypatch) as (primary, replica):
            async with intake(primary.url, nats_url, durability="replicas:1") as front:
                await front.owner()
                seats = await front.match(clock=600_000)
                _, move = await front.next_move(seats)
                replica.pause()
                numbers = await front.send(Submit(move.match, move.seat, move.tenure, move.prompt, b'{"play":{}}'))
                await asyncio.sleep(QUIET_S)
                assert numbers[0] not in front.receipts
                replica.resume()
                (receipt,) = await front.answers(numbers)
                assert receipt.reason is not None

    @in_loop
    async def test_the_last_line_is_shown_only_once_it_is_durable(self, tmp_path, monkeypatch):
        """The end of a match shows its seed, and a failover could let the match go on."""
        with replicated(tmp_path, monkeypatch) as (primary, replica):
            of_replicas = {"url": primary.url, "durability": "replicas:1"}
            async with opened(**of_replicas) as hasty, opened(**of_replicas) as hasty_reader:
                monkeypatch.setattr(servers, "CONFIRM_MS", PATIENT_MS)
                async with opened(**of_replicas) as store, opened(**of_replicas) as reader:
                    lease = await lease_of(store)
                    assert await store.commit(A, [commit(lease, 0)]) == ["OK"]
                    replica.pause()
                    with pytest.raises(NotDurable):
                        await hasty.commit(A, [commit(lease, 1)])
                    with pytest.raises(NotDurable):
                        await hasty_reader.last_line(MATCH)
                    replica.resume()
                    assert await reader.last_line(MATCH) == b"1 line"


async def written(front, match: str, version: int) -> bool:
    return len((await front.recorded(match)).lines) > version


class TestBackup:
    @in_loop
    async def test_a_copy_of_the_append_only_folder_of_a_running_server_restores_its_matches(self, tmp_path, nats_url):
        """As docs/operations.md tells it; a match goes on from where it was when the copy was made."""
        with RedisServer(tmp_path / "old") as server:
            with redis.Redis.from_url(server.url) as client:
                client.config_set("auto-aof-rewrite-percentage", 0)
            async with intake(server.url, nats_url) as front:
                await front.owner()
                seats = await front.match()
                await front.play(seats, 3)
                version = (await front.folded(seats[0].match)).version
                shutil.copytree(server.folder / "appendonlydir", tmp_path / "new" / "redis" / "appendonlydir")
                await front.play(seats, 1)
        with RedisServer(tmp_path / "new") as restored:
            async with intake(restored.url, nats_url) as front:
                await front.owner()
                assert (await front.folded(seats[0].match)).version == version
                await front.play(seats, 2)
                assert (await front.folded(seats[0].match)).version == version + 2
