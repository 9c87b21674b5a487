"""Several workers share the partitions, and take over from each other."""

import asyncio
import contextlib
from contextlib import contextmanager

import pytest

from services.bus import NoAnswer
from services.engine.leases import RENEWALS_PER_LEASE, Leases, share
from services.local import RedisServer
from services.local_process import ServiceProcess
from services.metrics import Metrics
from services.settings import Settings
from services.store.keys import WORKERS, owner_key
from tests.services.front import SEED_KEY, Intake, Running, Seat, creation, in_loop, intake, peek, until
from tests.services.guard import GUARD

ALONE = (
    "import asyncio, json\n"
    "from services.engine.worker import serve\n"
    "from services.settings import load\n"
    "asyncio.run(serve(load(), lambda ready: print(json.dumps(ready), flush=True)))\n"
)


class TestShare:
    @pytest.mark.parametrize("partitions", [1, 7, 8, 64])
    @pytest.mark.parametrize("workers", [1, 2, 3, 5, 9])
    def test_shares_are_even_and_leave_nothing_over(self, partitions, workers):
        live = [f"w{number}" for number in range(workers)]
        shares = [share(partitions, worker, live) for worker in live]
        assert sum(shares) == partitions
        assert max(shares) - min(shares) <= 1

    def test_who_is_not_on_the_list_gets_nothing(self):
        assert share(8, "x", ["a", "b"]) == 0
        assert share(8, "x", []) == 0


async def shared(front: Intake, *workers: Running) -> None:
    """Wait until all partitions are owned, evenly and each once."""

    def even() -> bool:
        owned = sorted(partition for worker in workers for partition in worker.owns)
        counts = [len(worker.owns) for worker in workers]
        return owned == list(range(front.settings.partitions)) and max(counts) - min(counts) <= 1

    await until(even)


async def matches_everywhere(front: Intake) -> list[list[Seat]]:
    """A started match in every partition."""
    found: dict[str, list[Seat]] = {}
    while len(found) < front.settings.partitions:
        command = creation(partitions=front.settings.partitions)
        if command.match[:3] not in found:
            await front.done(command)
            found[command.match[:3]] = await front.seated(command.match, 2)
    return list(found.values())


@contextmanager
def worker_process(front: Intake, folder, name: str):
    """A worker in a process of its own."""
    settings = front.settings
    env = {
        "CROUPIER_REDIS_URL": settings.redis_url,
        "CROUPIER_REDIS_CLUSTER": str(settings.redis_cluster).lower(),
        "CROUPIER_NATS_URL": settings.nats_url,
        "CROUPIER_PARTITIONS": str(settings.partitions),
        "CROUPIER_LEASE_MS": str(settings.lease_ms),
        "CROUPIER_BLOCK_MS": str(settings.block_ms),
        "CROUPIER_SEED_KEY": SEED_KEY,
        **GUARD.environment("engine"),
    }
    with ServiceProcess((), folder, name=name, env=env, entry=("-c", ALONE)) as process:
        yield process


async def owners(front: Intake) -> set[str]:
    """The names of all workers that own a partition."""
    keys = [f"croupier:{{{partition}}}:owner" for partition in range(front.settings.partitions)]
    return {name.decode() for key in keys if (name := await peek(front.store, "HGET", key, "worker"))}


@in_loop
async def test_two_workers_share_and_a_new_one_gets_its_part(redis_url, nats_url):
    async with intake(redis_url, nats_url, partitions=8, block_ms=100) as front:
        first = await front.owner()
        second = await front.start()
        await shared(front, first, second)
        third = await front.start()
        await shared(front, first, second, third)
        for seats in await matches_everywhere(front):
            await front.play(seats)


@in_loop
async def test_when_one_stops_the_other_soon_has_everything_and_nobody_notices(redis_url, nats_url):
    async with intake(redis_url, nats_url, partitions=8, block_ms=100) as front:
        first, second = await front.start(), await front.start()
        await shared(front, first, second)
        matches = await matches_everywhere(front)
        moves = [(await front.next_move(seats))[1] for seats in matches]
        stopping = asyncio.create_task(first.stop())
        receipts = await front.ask(*moves)
        await stopping
        assert [receipt.version for receipt in receipts] == [4] * 8
        await shared(front, second)
        for seats in matches:
            await front.play(seats)


@in_loop
async def test_when_one_is_lost_the_other_has_everything_after_a_lease(redis_url, nats_url):
    async with intake(redis_url, nats_url, partitions=8, block_ms=100) as front:
        first, second = await front.start(), await front.start()
        await shared(front, first, second)
        matches = await matches_everywhere(front)
        await first.crash()
        assert await front.store.leases.free(8) == [], "nothing was given back"
        moves = [(await front.next_move(seats))[1] for seats in matches]
        receipts = await front.ask(*moves)
        assert [receipt.version for receipt in receipts] == [4] * 8
        await shared(front, second)


@in_loop
async def test_a_batch_in_the_hands_of_a_lost_one_is_decided_by_the_next(redis_url, nats_url):
    async with intake(redis_url, nats_url, partitions=8, block_ms=100) as front:
        first = await front.owner()
        matches = await matches_everywhere(front)
        moves = [(await front.next_move(seats))[1] for seats in matches]
        for step in ("before", "after"):
            reached = asyncio.Event()

            async def stay(*_, reached=reached):
                reached.set()
                await asyncio.Event().wait()

            getattr(first.store, step)["commit"] = stay
            numbers = await front.send_together(first, *moves)
            async with asyncio.timeout(20):
                await reached.wait()
            await first.crash()
            first = await front.owner()
            assert [receipt.version for receipt in await front.answers(numbers)] == [4] * 8
            for seats in matches:
                assert len((await front.recorded(seats[0].match)).lines) == 5


@in_loop
async def test_partitions_go_over_while_moves_are_made_and_none_is_lost_or_made_twice(redis_url, nats_url):
    async with intake(redis_url, nats_url, partitions=8, block_ms=100) as front:
        await front.owner()
        matches = await matches_everywhere(front)

        async def play(seats: list[Seat]) -> list[int]:
            versions = []
            for _ in range(10):
                _, move = await front.next_move(seats)
                versions.append(await front.done(move))
            return versions

        async def come_and_go() -> None:
            for _ in range(3):
                running = await front.start()
                await until(lambda running=running: running.owns)
                await running.stop()

        *played, _ = await asyncio.gather(*map(play, matches), come_and_go())
        for seats, versions in zip(matches, played, strict=True):
            assert versions == list(range(4, 14))
            assert (await front.folded(seats[0].match)).version == 13


@in_loop
async def test_one_that_was_paused_for_longer_than_its_lease_drops_what_others_have_by_now(redis_url, nats_url):
    async with intake(redis_url, nats_url, partitions=8, block_ms=100) as front:
        first = await front.owner()
        once = first.worker.leases.once
        first.freeze_leases()
        second = await front.start()
        await until(lambda: len(second.owns) >= 4)
        first.worker.leases.once = once
        await shared(front, first, second)
        for seats in await matches_everywhere(front):
            await front.play(seats)


@in_loop
async def test_when_a_process_is_killed_the_other_takes_over_and_ends_in_good_order(redis_url, nats_url, tmp_path):
    async with intake(redis_url, nats_url, partitions=8, block_ms=100) as front:
        with worker_process(front, tmp_path, "one") as one, worker_process(front, tmp_path, "two") as two:

            async def both():
                return len(await owners(front)) == 2 and not await front.store.leases.free(8)

            await until(both)
            matches = await matches_everywhere(front)
            moves = [(await front.next_move(seats))[1] for seats in matches]
            numbers = await front.send(*moves)
            one.kill()

            async def known():
                """Every move has its receipt, or what became of it can be asked."""
                with contextlib.suppress(NoAnswer):
                    return all(
                        [
                            n in front.receipts or await front.outcome(move)
                            for n, move in zip(numbers, moves, strict=True)
                        ]
                    )

            await until(known)
            for seats in matches:
                assert len((await front.recorded(seats[0].match)).lines) == 5
                await front.play(seats)
            assert len(await owners(front)) == 1
            two.stop()
            assert two.exit_code == 0
            assert await front.store.leases.free(8) == list(range(8))


@in_loop
async def test_one_whose_redis_goes_away_before_its_first_look_at_the_leases_waits_for_it(tmp_path, nats_url):
    with RedisServer(tmp_path) as server:
        async with intake(server.url, nats_url) as front:
            running = await front.start(lambda _: server.kill())
            await asyncio.wait([running.task], timeout=1)
            assert not running.task.done()
            server.start()
            await until(lambda: len(running.owns) == front.settings.partitions)


@in_loop
async def test_who_cannot_renew_its_leases_says_that_it_owns_nothing(tmp_path, nats_url):
    """Or nobody who watches would learn that Redis is away, and what two workers say would add up to too much."""
    with RedisServer(tmp_path) as server:
        async with intake(server.url, nats_url) as front:
            running = await front.owner()
            await until(lambda: running.count("partitions_owned") == front.settings.partitions)
            server.kill()
            await until(lambda: running.count("partitions_owned") == 0)
            assert running.count("lease_changes_total", change="lost") == 0, "nobody has told it so yet"
            server.start()
            await until(lambda: running.count("partitions_owned") == front.settings.partitions)


@in_loop
async def test_a_clock_of_redis_that_has_jumped_is_noticed_although_nothing_is_due(redis_url, nats_url):
    """Or what comes due from then on would wait for as long as the jump was."""
    async with intake(redis_url, nats_url) as front:
        running = await front.owner()
        await until(lambda: all(held.next_due is None for held in running.worker.leases.held.values()))
        running.worker.leases.clock_offset -= 3_600_000
        seats = await front.match(clock=200)
        folded = await front.folded(seats[0].match)
        await until(lambda: front.seen(seats[0].subject)[-1:] > [folded.version])


@in_loop
async def test_after_two_rounds_partitions_are_spread_evenly_whoever_comes_or_goes(redis_url, nats_url):
    """By default that is within 5 s: rounds are a fraction of a lease apart, a lost worker's lease runs out."""
    fields = Settings.model_fields
    lease_s, block_s = fields["lease_ms"].default / 1000, fields["block_ms"].default / 1000
    assert lease_s + 2 * (lease_s / RENEWALS_PER_LEASE) + block_s <= 5
    async with intake(redis_url, nats_url, partitions=64, lease_ms=60_000) as front:
        everybody = [Leases(front.store, front.settings, Metrics(), f"worker {number}") for number in range(6)]

        async def spread(workers: list[Leases]) -> None:
            for _ in range(2):
                for one in workers:
                    await one.once()
                    await one.give_back([held.lease for held in one.held.values() if held.release])
            owned = sorted(partition for one in workers for partition in one.held)
            assert owned == list(range(64))
            assert max(len(one.held) for one in workers) - min(len(one.held) for one in workers) <= 1

        for count in (1, 2, 3, 6):
            await spread(everybody[:count])
            await spread(everybody[:count][::-1])
        for gone in (everybody[2], everybody[0]):
            everybody.remove(gone)
            await gone.close()
            await spread(everybody)
        lost = everybody.pop(1)
        for held in lost.held.values():  # a lease later
            await peek(front.store, "HSET", owner_key(held.partition), "until", 0)
        await peek(front.store, "ZADD", WORKERS, 0, "worker 3")
        await spread(everybody)
