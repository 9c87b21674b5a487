"""Traps of outages: NATS or Redis goes away between two steps. Nobody may notice."""

import asyncio
import json
from contextlib import suppress

import pytest
import redis.exceptions

from services.bus import NoAnswer
from services.local import NatsServer, RedisServer
from tests.services.engine.sent import two_moves_of_one_seat
from tests.services.front import Gate, in_loop, intake, until


class TestNatsGone:
    @pytest.mark.parametrize("when", ["before the first message", "before the flush"])
    def test_between_commit_and_confirmation_views_and_receipt_come_from_the_journal_once_it_is_back(
        self, redis_url, tmp_path, when
    ):
        @in_loop
        async def run():
            with NatsServer(tmp_path) as nats:
                async with intake(redis_url, nats.url) as front:
                    running = await front.owner()
                    seats = await front.match()
                    mover, move = await front.next_move(seats)
                    rereads = running.store.before["read_pending"] = Gate()

                    async def lose_nats(*_):
                        nats.kill()
                        await until(lambda: not running.bus.connected)

                    if when == "before the first message":
                        running.bus.before["publish"] = lose_nats
                    else:
                        flush = running.bus._flush

                        async def lost_flush():
                            running.bus._flush = flush
                            await lose_nats()
                            await flush()

                        running.bus._flush = lost_flush
                    (number,) = await front.send(move)
                    await until(lambda: not running.bus.connected)
                    await until(lambda: not front.bus.connected)
                    await asyncio.sleep(0.1)
                    assert len((await front.recorded(mover.match)).lines) == 5
                    assert await front.pending(mover.match) == 1
                    running.bus.before.pop("publish", None)
                    front.views.clear()
                    front.receipts.clear()
                    nats.start()
                    await until(lambda: front.bus.connected)
                    await rereads.closed_on_somebody()
                    rereads.open()
                    (receipt,) = await front.answers([number])
                    assert (receipt.version, receipt.appended) == (4, False)
                    for subject in (*(seat.subject for seat in seats), f"view.{mover.match}.table"):
                        assert 4 in front.seen(subject)
                    assert front.last_view(mover.subject) == json.loads((await front.view(mover.question())).view)
                    assert len((await front.recorded(mover.match)).lines) == 5
                    await front.settled()
                    await front.play(seats, 2)

        run()

    @in_loop
    async def test_commands_that_come_meanwhile_wait_undecided(self, redis_url, tmp_path):
        with NatsServer(tmp_path) as nats:
            async with intake(redis_url, nats.url) as front:
                running = await front.owner()
                seats = await front.match()
                nats.kill()
                await until(lambda: not running.bus.connected)
                await asyncio.sleep(0.05)
                _, move = await front.next_move(seats)
                (number,) = await front.send(move)
                await asyncio.sleep(0.1)
                assert len((await front.recorded(move.match)).lines) == 4
                assert await front.pending(move.match) == 1
                nats.start()
                await until(lambda: len(running.owns) == 4)

                async def answered():
                    with suppress(NoAnswer):  # the worker may not listen again yet
                        return number in front.receipts or await front.outcome(move)

                await until(lambda: front.bus.connected)
                assert (await until(answered)) is True or (await front.outcome(move)).version == 4


class TestRedisGone:
    @pytest.mark.parametrize("written", [False, True])
    def test_during_a_commit_whatever_became_of_it_is_found_out_and_until_then_shown_to_nobody(
        self, redis_url, nats_url, written
    ):
        @in_loop
        async def run():
            async with intake(redis_url, nats_url) as front:
                running = await front.owner()
                seats, moves, version = await two_moves_of_one_seat(front)
                failures = iter([True])
                rereads = running.store.before["read_pending"] = Gate()

                async def away(*_):
                    if next(failures, False):
                        raise redis.exceptions.ConnectionError("away")

                (running.store.after if written else running.store.before)["commit"] = away
                numbers = await front.send_together(running, *moves)
                await rereads.closed_on_somebody()
                shown = json.loads((await front.view(seats[0].question())).view)
                assert shown["version"] == (version + 1 if written else version - 1)
                front.views.clear()
                rereads.open()
                receipts = await front.answers(numbers)
                assert [receipt.version for receipt in receipts] == [version, version + 1]
                assert [receipt.appended for receipt in receipts] == [not written] * 2
                assert sorted(set(front.seen(seats[0].subject))) == [version, version + 1]
                assert (await front.folded(seats[0].match)).version == version + 1

        run()

    @in_loop
    async def test_for_a_while_everything_goes_on_once_it_is_back(self, nats_url, tmp_path):
        with RedisServer(tmp_path) as server:
            async with intake(server.url, nats_url) as front:
                await front.owner()
                seats = await front.match(clock=60_000)
                await front.play(seats, 2)
                server.restart()
                await front.play(seats, 2)
                assert (await front.folded(seats[0].match)).version == 7
