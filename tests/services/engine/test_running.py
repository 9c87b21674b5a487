"""How a worker begins, waits and ends."""

import asyncio

import pytest

from services.local import NatsServer
from tests.services.front import Gate, creation, in_loop, intake, joining, peek, until

pytestmark = pytest.mark.containers


class TestRunning:
    @in_loop
    async def test_one_that_is_told_to_stop_finishes_its_batch_and_gives_everything_back(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            match = await front.lobby()
            gate = running.store.before["commit"] = Gate()
            numbers = await front.send(joining(match))
            await gate.closed_on_somebody()
            running.worker.stop()
            gate.open()
            (receipt,) = await front.answers(numbers)
            assert receipt.version == 1
            await running.stop()
            assert await front.store.leases.free(4) == [0, 1, 2, 3]
            assert await front.pending(match) == 0
            assert await front.store.leases.heartbeat("x") == ["x"]

    @in_loop
    async def test_one_that_is_told_to_stop_while_nats_is_away_stops(self, redis_url, tmp_path):
        with NatsServer(tmp_path) as nats:
            async with intake(redis_url, nats.url) as front:
                running = await front.owner()
                nats.kill()
                await until(lambda: not running.bus.connected)
                await asyncio.sleep(0.05)
                await running.stop()
                assert await front.store.leases.free(4) == [0, 1, 2, 3]

    @in_loop
    async def test_decided_commands_do_not_stay_in_the_intake(self, redis_url, nats_url):
        async with intake(redis_url, nats_url, partitions=1) as front:
            await front.owner()
            command = creation(partitions=1)
            await front.done(command)
            seats = await front.seated(command.match, 2)
            await front.play(seats, 3)

            async def empty():
                return await peek(front.store, "XLEN", "croupier:{0}:moves") == 0

            await until(empty)

    @in_loop
    async def test_a_match_that_is_not_in_memory_goes_on_as_if_it_were(self, redis_url, nats_url):
        async with intake(redis_url, nats_url, cached_matches=1) as front:
            running = await front.owner()
            matches = [await front.match() for _ in range(3)]
            for _ in range(3):
                for seats in matches:
                    await front.play(seats)
            await until(lambda: len(running.worker._matches) == 1)
            for seats in matches:
                assert front.seen(seats[0].subject) == list(range(1, 7))
