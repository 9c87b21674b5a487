"""Turn clocks and limits: what happens in a match though nobody sends anything."""

import asyncio

import pytest

from engine.journal import Aborted, Moved
from services.commands import Abort, Leave
from tests.services.front import Gate, Intake, Seat, encoded, in_loop, intake, until

pytestmark = pytest.mark.containers


class TestClock:
    @in_loop
    async def test_the_clock_makes_the_default_move_at_the_deadline(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats = await front.match(clock=60_000)
            match = seats[0].match
            number = (await front.folded(match)).to_act[0]
            await front.comes_due(match, {"idle", f"{number}:3"})
            running.skip(60_000)
            await until(lambda: 4 in front.seen(seats[0].subject))
            *_, started, moved = (await front.entries(match))[:5]
            assert isinstance(moved.body, Moved)
            assert (moved.body.by, moved.body.seat, moved.body.prompt) == ("clock", number, 3)
            assert moved.at >= started.at + 60_000
            assert (await front.folded(match)).version >= 4, "every entry is what the rules give"
            assert running.count("clock_moves_total") >= 1

    @in_loop
    async def test_without_a_clock_nothing_is_due_but_the_limit(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            seats = await front.match()
            await front.comes_due(seats[0].match, {"idle"})

    @in_loop
    async def test_a_move_that_comes_after_the_deadline_is_timed_out(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats = await front.match(clock=60_000)
            _, move = await front.next_move(seats)
            running.skip(60_000)
            await until(lambda: 4 in front.seen(seats[0].subject))
            receipt = await front.tell(move)
            assert receipt.reason == "TIMED_OUT"
            assert (await front.outcome(move)).reason == "TIMED_OUT"

    @in_loop
    async def test_a_move_before_the_deadline_stops_the_clock(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            seats = await front.match(clock=60_000)
            await front.play(seats)
            folded = await front.folded(seats[0].match)
            (number,) = folded.to_act
            await front.comes_due(seats[0].match, {"idle", f"{number}:{folded.prompts[number]}"})

    @in_loop
    async def test_a_late_move_that_is_decided_before_the_clock_moved_comes_after_the_clocks(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            running.stop_clocks()
            seats = await front.match(clock=300)
            mover, move = await front.next_move(seats)
            gate = running.store.before["read"] = Gate()
            await gate.closed_on_somebody()
            await asyncio.sleep(0.35)
            numbers = await front.send(move)
            gate.open()
            (receipt,) = await front.answers(numbers)
            assert receipt.reason == "TIMED_OUT"
            entries = await front.entries(seats[0].match)
            assert (entries[4].body.by, entries[4].body.seat) == ("clock", mover.seat)
            assert 4 in front.seen(mover.subject)

    @in_loop
    async def test_after_two_timeouts_in_a_row_a_seat_is_absent_and_its_decisions_are_due_at_once(
        self, redis_url, nats_url
    ):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats = await front.match(clock=60_000)
            match = seats[0].match
            slow, version = seats[(await front.folded(match)).to_act[0]], 3
            for _ in range(2):
                version = await self.until_asked(front, seats, slow)
                running.skip(60_000)
                await until(lambda version=version: front.seen(slow.subject)[-1] > version)
            assert front.last_view(slow.subject)["seats"][slow.seat]["absent"]
            version = await self.until_asked(front, seats, slow)
            await until(lambda: front.seen(slow.subject)[-1] > version)
            by_clock = [e for e in await front.entries(match) if isinstance(e.body, Moved) and e.body.by == "clock"]
            assert len(by_clock) >= 3
            assert {entry.body.seat for entry in by_clock} == {slow.seat}

    async def until_asked(self, front: Intake, seats, slow) -> int:
        """Let the others move until a seat is asked; return the version at which it is."""
        while True:
            folded = await front.folded(slow.match)
            if slow.seat in folded.to_act:
                return folded.version
            await front.ask((await front.next_move(seats))[1])

    async def absent(self, front: Intake, running, seats) -> Seat:
        """A seat that has let two decisions pass, while another one is asked."""
        slow = seats[(await front.folded(seats[0].match)).to_act[0]]
        while not (await front.folded(slow.match)).seats[slow.seat].absent:
            version = await self.until_asked(front, seats, slow)
            running.skip(60_000)
            await until(lambda version=version: front.seen(slow.subject)[-1] > version)
        return slow

    @in_loop
    async def test_an_absent_seat_returns_by_moving_itself(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats = await front.match(clock=60_000)
            slow = await self.absent(front, running, seats)
            while True:
                await until(lambda: self.waits_for_others(front, slow))
                other, first = await front.next_move(seats)
                ahead = await front.folded(slow.match)
                ahead.move(other.seat, other.tenure, first.prompt, first.move, ahead.at)
                if slow.seat in ahead.to_act:
                    own = slow.submit(ahead.prompts[slow.seat], encoded(ahead, ahead.legal(slow.seat)[0]))
                    receipts = await front.answers(await front.send_together(running, first, own))
                    break
                await front.done(first)
            assert [receipt.reason for receipt in receipts] == [None, None]
            assert not front.last_view(slow.subject)["seats"][slow.seat]["absent"]
            version = await self.until_asked(front, seats, slow)
            await asyncio.sleep(0.1)
            assert front.seen(slow.subject)[-1] == version, "its clock runs its whole time again"

    async def waits_for_others(self, front: Intake, slow) -> bool:
        return slow.seat not in (await front.folded(slow.match)).to_act

    @in_loop
    async def test_a_seat_that_left_a_running_match_is_moved_for_at_once_also_without_a_clock(
        self, redis_url, nats_url
    ):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            seats = await front.match(seats=3)
            gone, move = await front.next_move(seats)
            assert await front.done(Leave(gone.match, gone.seat, gone.tenure)) == 5
            stays = next(seat for seat in seats if seat is not gone)
            await until(lambda: 6 in front.seen(stays.subject))
            entry = (await front.entries(gone.match))[6]
            assert (entry.body.by, entry.body.seat) == ("clock", gone.seat)
            assert front.seen(gone.subject)[-1] == 4
            assert await front.refused(move) == "NOT_YOUR_SEAT"

    @in_loop
    async def test_after_a_takeover_a_clock_runs_on_for_a_while(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            running.stop_clocks()
            seats = await front.match(clock=300)
            await running.stop()
            _, move = await front.next_move(seats)
            await asyncio.sleep(0.35)
            numbers = await front.send(move)
            running = await front.owner(for_long=False)
            (receipt,) = await front.answers(numbers)
            assert receipt.version == 4, "it came after the deadline, but nobody was there to take it"
            since = running.worker.leases.held[int(move.match[:3])].since
            await until(lambda: 5 in front.seen(seats[0].subject))
            assert (await front.entries(move.match))[5].at >= since + 300

    @in_loop
    async def test_after_a_takeover_an_overdue_clock_moves_once_its_grace_is_over(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            running.stop_clocks()
            seats = await front.match(clock=300)
            await running.stop()
            await asyncio.sleep(0.35)
            running = await front.owner(for_long=False)
            partition = int(seats[0].match[:3])
            since = running.worker.leases.held[partition].since
            await until(lambda: 4 in front.seen(seats[0].subject))
            assert (await front.entries(seats[0].match))[4].at >= since + 300


class TestLimits:
    async def ended(self, front: Intake, match: str, reason: str, running) -> None:
        """The match was aborted for this reason, its seed revealed, everybody told and nothing left behind."""
        table = f"view.{match}.table"
        await until(lambda: front.last_view(table)["status"] == "aborted")
        view = front.last_view(table)
        folded = await front.folded(match)
        body = (await front.entries(match))[-1].body
        assert isinstance(body, Aborted)
        assert body.reason == view["reason"] == reason
        assert view["seed"] == body.seed == folded.seed.hex()
        assert view["hash"] == folded.head.hex()
        await front.comes_due(match, set())
        assert (await front.recorded(match)).seed is None
        assert await front.store.lobby_entry(match) is None

    @in_loop
    async def test_a_lobby_that_does_not_start(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            match = await front.lobby(seats=3)
            (seat,) = await front.seated(match, 1)
            await front.comes_due(match, {"lobby"})
            running.skip(3600_000 - 10_000)
            await asyncio.sleep(0.1)
            assert (await front.folded(match)).status == "lobby"
            running.skip(10_000)
            await self.ended(front, match, "lobby_limit", running)
            assert front.last_view(seat.subject)["status"] == "aborted"

    @in_loop
    async def test_the_time_in_the_lobby_counts_from_the_creation_whatever_happens_there(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            match = await front.lobby(seats=3)
            before = await front.due(match)
            await front.seated(match, 1)
            running.worker._matches.clear()
            await front.seated(match, 1)
            assert await front.due(match) == before

    @in_loop
    async def test_a_match_in_which_nothing_happens(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats = await front.match()
            running.skip(2 * 86_400_000)
            await self.ended(front, seats[0].match, "idle_limit", running)

    @in_loop
    async def test_a_match_in_which_something_happens_goes_on(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            running.limit(idle=1000)
            seats = await front.match()
            due = (await front.due(seats[0].match))["idle"]
            await asyncio.sleep(0.05)
            await front.play(seats)
            running.skip(due - await running.worker.leases.time() + 1)

            async def later():
                return (await front.due(seats[0].match))["idle"] > due

            await until(later)
            assert (await front.folded(seats[0].match)).status == "running"
            running.skip(1000)
            await self.ended(front, seats[0].match, "idle_limit", running)

    @in_loop
    async def test_a_match_whose_humans_are_all_absent(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            running.limit(absent=50)
            seats = await front.match(clock=60_000, target=1000)
            match = seats[0].match
            while not (await front.folded(match)).all_absent:
                version = (await front.folded(match)).version
                running.skip(60_000)
                await until(lambda version=version: front.seen(seats[0].subject)[-1] > version)
            await self.ended(front, match, "all_absent", running)

    @in_loop
    async def test_a_limit_that_begins_anew_survives_what_was_left_of_an_earlier_time(self, redis_url, nats_url):
        """A worker may have died after a human came back and before the limit's member was removed."""
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats = await front.match(clock=60_000, target=1000)
            match = seats[0].match
            while not (await front.folded(match)).all_absent:
                version = (await front.folded(match)).version
                await front.store.postpone(int(match[:3]), {f"{match}:absent": 1})
                running.skip(60_000)
                await until(lambda version=version: front.seen(seats[0].subject)[-1] > version)
                await front.settled()
            await asyncio.sleep(0.05)
            assert (await front.due(match)).get("absent", 0) > 1

    @in_loop
    async def test_a_match_that_every_human_has_left(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats = await front.match()
            match = seats[0].match
            for seat in seats:
                await front.done(Leave(match, seat.seat, seat.tenure))
            assert (await front.kinds(match))[-2:] == ["left", "aborted"]
            await self.ended(front, match, "all_left", running)

    @in_loop
    async def test_a_match_of_too_many_entries(self, redis_url, nats_url):
        async with intake(redis_url, nats_url, max_entries=10) as front:
            running = await front.owner()
            seats = await front.match()
            await front.play(seats, 6)
            assert len((await front.recorded(seats[0].match)).lines) == 11
            await self.ended(front, seats[0].match, "too_many_entries", running)

    @in_loop
    async def test_an_abort_from_outside(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            for match in (await front.lobby(), (await front.match())[0].match):
                await front.done(Abort(match, "operator"))
                await self.ended(front, match, "operator", running)
