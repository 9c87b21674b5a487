"""What matches cost: in Redis while they idle, in a worker while it remembers them and once it does not."""

import gc

import pytest
from msgspec import structs

from engine import registry
from engine.match import Match
from services.commands import ViewQuestion, partition_of
from services.engine.live import Live
from services.store.keys import due_key
from services.views import ViewEncoder
from tests.services.front import Intake, in_loop, intake, peek, until

IDLE_BYTES = 16 * 1024


async def memory(front: Intake, match: str) -> dict[str, int]:
    """Bytes of every key that is there for a match, and of the partition's due decisions."""
    names = [key.decode() for key in await front.store._servers.exchange.keys(f"*{match}*")] + [
        due_key(partition_of(match))
    ]
    return {name: await peek(front.store, "MEMORY", "USAGE", name, "SAMPLES", 0) or 0 for name in names}


@pytest.mark.parametrize("game", sorted({one.name for one in registry.games()}))
def test_a_match_that_idles_after_the_deal_costs_little_in_redis(redis_url, nats_url, game):
    """With every seat taken, the longest names, and a clock."""

    @in_loop
    async def run() -> None:
        rules = registry.newest(game)
        async with intake(redis_url, nats_url, partitions=1) as front:
            await front.owner()
            seats = await front.match(rules=f"{game}/{rules.rules_version}", seats=rules.seats[-1], clock=60_000)
            used = await memory(front, seats[0].match)
            assert len(used) == 3, "journal, seed and what is due"
            assert sum(used.values()) <= IDLE_BYTES, used

    run()


def remembered() -> int:
    gc.collect()
    return sum(isinstance(one, Live) for one in gc.get_objects())


@in_loop
async def test_a_worker_remembers_only_so_many_matches_and_nothing_of_the_others(redis_url, nats_url):
    async with intake(redis_url, nats_url) as front:
        running = await front.owner(cached_matches=3)
        before = remembered()
        tables = [await front.match() for _ in range(8)]
        await front.settled()
        await until(lambda: remembered() - before <= 3)
        for seats in tables:
            await front.play(seats)
        await front.settled()
        await until(lambda: remembered() - before <= 3)
        assert len(running.worker._matches) == 3


@in_loop
async def test_what_a_worker_drops_is_gone_without_a_collector(redis_url, nats_url):
    """Workers collect cycles so seldom that a match which is one would stay for hours."""
    async with intake(redis_url, nats_url) as front:
        running = await front.owner(cached_matches=3)
        remembered()
        gc.disable()
        try:
            for seats in [await front.match() for _ in range(8)]:
                _, move = await front.next_move(seats)
                await front.done(move)
                await front.answers(await front.send(structs.replace(move, move=b'{"play":{}}')))
            await front.settled()
            assert len(running.worker._matches) == 3
            assert sum(isinstance(one, Live) for one in gc.get_objects()) == 3
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            left = {type(one) for one in gc.garbage}
            assert not left & {Live, Match, ViewEncoder}
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()


@in_loop
async def test_questions_about_matches_alone_fill_no_memory_either(redis_url, nats_url):
    async with intake(redis_url, nats_url) as front:
        running = await front.owner(cached_matches=3)
        tables = [await front.match() for _ in range(8)]
        await front.settled()
        for seats in tables:
            answer = await front.view(ViewQuestion(seats[0].match, seats[0].seat, seats[0].tenure, None))
            assert answer.view is not None
        assert len(running.worker._matches) <= 3


@in_loop
async def test_a_partition_that_went_to_another_worker_leaves_nothing_in_memory(redis_url, nats_url):
    async with intake(redis_url, nats_url) as front:
        before = remembered()
        running = await front.owner()
        while len({partition_of(match) for match in running.worker._matches._cache}) < 4:
            await front.match()
        other = await front.start()
        await until(lambda: len(running.owns) == len(other.owns) == 2)
        kept = [match for match in running.worker._matches._cache if partition_of(match) in running.owns]
        assert len(kept) == len(running.worker._matches) == remembered() - before
