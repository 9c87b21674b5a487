"""Traps of the clock: a punctual move behind a backlog, a late one behind the clock's. The right one counts."""

import asyncio

import pytest

from services.commands import Start
from services.local import NatsServer
from tests.services.engine.sent import telling
from tests.services.front import Gate, in_loop, intake, until


class TestClock:
    @in_loop
    async def test_a_punctual_move_behind_a_backlog_of_several_batches_wins(self, redis_url, nats_url):
        async with intake(redis_url, nats_url, batch=4) as front:
            running = await front.owner()
            seats = await front.match(clock=60_000)
            _, move = await front.next_move(seats)
            gate = running.store.before["read"] = Gate()
            await gate.closed_on_somebody()
            numbers = await front.send(*[Start(move.match)] * 17, move)
            running.skip(60_000)
            gate.open()
            *_, receipt = await front.answers(numbers)
            assert (receipt.version, receipt.reason) == (4, None)

    @pytest.mark.parametrize("how", ["crash", "nats"])
    @pytest.mark.parametrize("what", ["clock", "lobby", "idle"])
    def test_an_entry_of_its_own_whose_publication_died_is_found_in_due_and_published(
        self, redis_url, tmp_path, what, how
    ):
        @in_loop
        async def run():
            with NatsServer(tmp_path) as nats:
                async with intake(redis_url, nats.url) as front:
                    running = await front.owner()
                    if what == "lobby":
                        match = await front.lobby(seats=3)
                        (seat,) = await front.seated(match, 1)
                    else:
                        seat, *_ = await front.match(clock=60_000 if what == "clock" else None)
                        match = seat.match
                    before = len((await front.recorded(match)).lines)

                    async def begun():  # what is settled goes only after the receipts
                        return ("lobby" in await front.due(match)) == (what == "lobby")

                    await until(begun)
                    due = await front.due(match)
                    skipped = {"clock": 60_000, "lobby": 3_600_000, "idle": 2 * 86_400_000}[what]
                    gate = running.bus.before["publish"] = Gate(when=telling)
                    running.skip(skipped)
                    await gate.closed_on_somebody()
                    written = await front.recorded(match)
                    assert len(written.lines) == before + 1
                    assert (await front.due(match)).keys() >= due.keys()
                    assert front.seen(seat.subject)[-1] == before - 1
                    if how == "crash":
                        await running.crash()
                        running = await front.owner()
                        running.skip(skipped)
                    else:
                        nats.kill()
                        await until(lambda: not running.bus.connected)
                        await until(lambda: not front.bus.connected)
                        rereads = running.store.before["read_pending"] = Gate()
                        gate.open()
                        nats.start()
                        await until(lambda: front.bus.connected)
                        await rereads.closed_on_somebody()
                        rereads.open()
                    await until(lambda: before in front.seen(seat.subject))
                    assert before in front.seen(f"view.{match}.table")

                    async def removed():
                        return not (await front.due(match)).keys() & (due.keys() - {"idle"} | {what})

                    await until(removed)
                    assert await front.recorded(match) == written

        run()

    @in_loop
    async def test_the_clocks_move_before_a_late_one_is_published_although_the_late_one_is_acknowledged(
        self, redis_url, nats_url
    ):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            running.stop_clocks()
            seats = await front.match(clock=300)
            mover, move = await front.next_move(seats)
            reads = running.store.before["read"] = Gate()
            await reads.closed_on_somebody()
            await asyncio.sleep(0.35)
            publishes = running.bus.before["publish"] = Gate(when=telling)
            await front.send(move)
            reads.open()
            await publishes.closed_on_somebody()
            assert await front.pending(mover.match) == 0
            await running.crash()
            assert front.seen(mover.subject)[-1] == 3
            await front.owner()
            await until(lambda: 4 in front.seen(mover.subject))
