"""Traps of delivery: commands come again, or overtake one another. Nobody may notice."""

import asyncio
import json

import pytest
from structlog.testing import capture_logs

from services.commands import Abort, Leave, Start, Submit, partition_of
from services.engine import worker as worker_module
from tests.services.engine.sent import NONSENSE, telling, two_moves_of_one_seat, writing
from tests.services.front import Gate, Intake, Running, Seat, creation, encoded, in_loop, intake, joining, until


class TestRedelivery:
    @pytest.mark.parametrize("step", ["publish", "acknowledge"])
    def test_two_accepted_moves_of_one_seat_are_answered_and_shown_again_and_not_made_again(
        self, redis_url, nats_url, step
    ):
        @in_loop
        async def run():
            async with intake(redis_url, nats_url) as front:
                running = await front.owner()
                seats, moves, version = await two_moves_of_one_seat(front)
                match = seats[0].match
                if step == "publish":
                    gate = running.bus.before["publish"] = Gate(when=bool)
                else:  # what is accepted is acknowledged with the next read
                    gate = running.store.before["read"] = Gate(when=lambda *_: running.store.intake.acknowledging)
                numbers = await front.send_together(running, *moves)
                await gate.closed_on_somebody()
                await running.crash()
                before = await front.recorded(match)
                assert len(before.lines) == version + 2
                front.views.clear()
                front.receipts.clear()
                await front.owner()
                receipts = await front.answers(numbers)
                assert [(receipt.version, receipt.appended) for receipt in receipts] == [
                    (version, False), (version + 1, False),
                ]  # fmt: skip
                assert await front.recorded(match) == before
                for subject in (*(seat.subject for seat in seats), f"view.{match}.table"):
                    assert sorted(set(front.seen(subject))) == [version, version + 1]
                await front.settled()

        run()

    @pytest.mark.parametrize("crash", ["before it is acknowledged", "before it is published", "after it is published"])
    def test_a_refused_move_that_would_be_legal_by_now_is_never_accepted_once_the_refusal_may_be_known(
        self, redis_url, nats_url, crash
    ):
        """A move that came too early, and the join that starts the match, in one batch."""

        @in_loop
        async def run():
            async with intake(redis_url, nats_url) as front:
                running = await front.owner()
                match = await front.lobby()
                (seat,) = await front.seated(match, 1)
                join = joining(match)
                ahead = await front.folded(match)
                ahead.join(join.name, join.client_seed, join.request, ahead.at)
                if seat.seat in ahead.to_act:
                    early = seat.submit(3, encoded(ahead, ahead.legal(seat.seat)[0]))
                else:
                    early = Seat(match, 1, 2).submit(3, encoded(ahead, ahead.legal(1)[0]))
                await front.settled()
                calls = 0

                def nth(wanted: int):
                    def when(*_) -> bool:
                        nonlocal calls
                        calls += 1
                        return calls == wanted

                    return when

                if crash == "before it is acknowledged":
                    gate = running.store.before["acknowledge"] = Gate(when=nth(1))
                elif crash == "before it is published":
                    gate = running.bus.before["publish"] = Gate(when=nth(1))
                else:
                    gate = running.store.before["read"] = Gate(when=lambda *_: running.store.intake.acknowledging)
                number, joined = await front.send_together(running, early, join)
                await gate.closed_on_somebody()
                await running.crash()
                assert await front.kinds(match) == ["created", "joined", "joined", "started"]
                assert (number in front.receipts) == (crash == "after it is published")
                if crash == "after it is published":
                    (refusal,) = await front.answers([number])
                    assert refusal.reason in {"NOT_STARTED", "NOT_YOUR_SEAT"}
                front.receipts.clear()
                await front.owner()
                (again,) = await front.answers([joined])
                assert (again.version, again.appended) == (2, False)
                await front.done(Start(match))
                if crash == "before it is acknowledged":
                    assert (await front.kinds(match))[4:] == ["moved"], "nobody had been told that it was refused"
                else:
                    assert await front.kinds(match) == ["created", "joined", "joined", "started"]
                    assert number not in front.receipts

        run()

    @in_loop
    async def test_a_create_and_a_join_repeated_by_another_service_after_a_lost_answer(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            create = creation()
            join = joining(create.match)
            gate = running.bus.before["publish"] = Gate(when=telling)
            numbers = await front.send_together(running, create, join)
            await gate.closed_on_somebody()
            await running.crash()
            async with intake(redis_url, nats_url) as other:
                again = await other.send(create, join)
                await other.owner()
                for made, joined in (await front.answers(numbers), await other.answers(again)):
                    assert (made.version, joined.version, joined.seat, joined.tenure) == (0, 1, 0, 1)
                    assert json.loads(made.view)["match"] == create.match
            assert await front.kinds(create.match) == ["created", "joined"]

    @in_loop
    async def test_an_abort_is_shown_again(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats = await front.match()
            gate = running.bus.before["publish"] = Gate(when=telling)
            numbers = await front.send(Abort(seats[0].match, "enough"))
            await gate.closed_on_somebody()
            await running.crash()
            await front.owner()
            (receipt,) = await front.answers(numbers)
            assert receipt.version == 4
            assert front.last_view(seats[0].subject)["status"] == "aborted"

    @in_loop
    async def test_a_question_in_between_does_not_cost_the_views_that_have_to_come_again(self, redis_url, nats_url):
        async with intake(redis_url, nats_url, partitions=1) as front:
            running = await front.owner()
            seats, moves, version = await two_moves_of_one_seat(front)
            gate = running.bus.before["publish"] = Gate(when=telling)
            numbers = await front.send_together(running, *moves)
            await gate.closed_on_somebody()
            await running.crash()
            front.views.clear()
            rereads = Gate()
            await front.owner(lambda worker: worker.store.before.update(read_pending=rereads))
            await rereads.closed_on_somebody()
            await front.view(seats[0].question())
            rereads.open()
            await front.answers(numbers)
            assert sorted(set(front.seen(seats[0].subject))) == [version, version + 1]

    @in_loop
    async def test_views_come_again_also_from_one_who_reads_less_at_once(self, redis_url, nats_url):
        async with intake(redis_url, nats_url, partitions=1) as front:
            running = await front.owner()
            tables = [await front.match() for _ in range(3)]
            moves = [(await front.next_move(seats))[1] for seats in tables]
            gate = running.bus.before["publish"] = Gate(when=telling)
            numbers = await front.send_together(running, *moves)
            await gate.closed_on_somebody()
            await running.crash()
            front.views.clear()
            await front.owner(batch=1)
            assert [receipt.version for receipt in await front.answers(numbers)] == [4] * 3
            for seats in tables:
                assert set(front.seen(seats[0].subject)) == {4}


class TestOnItsWay:
    """A batch is on its way to NATS while the next one is decided."""

    async def one_on_its_way(self, front: Intake, running: Running) -> tuple[list[Submit], list[int], list[int], Gate]:
        """Return moves in three matches, the journals' lengths before, and the gate at which the first is held up."""
        tables = [await front.match() for _ in range(3)]
        moves = [(await front.next_move(seats))[1] for seats in tables]
        lengths = [len((await front.recorded(move.match)).lines) for move in moves]
        gate = running.bus.before["publish"] = Gate(when=telling)
        numbers = await front.send_together(running, *moves)
        await gate.closed_on_somebody()
        return moves, lengths, numbers, gate

    @in_loop
    async def test_nothing_more_is_committed_before_the_batch_before_has_arrived(
        self, redis_url, nats_url, monkeypatch
    ):
        monkeypatch.setattr(worker_module, "PART", 1)
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            moves, lengths, numbers, gate = await self.one_on_its_way(front, running)
            await until(running.worker.deciding.locked)  # the second is decided, and waits for the first
            await asyncio.sleep(0.1)
            grown = [len((await front.recorded(move.match)).lines) for move in moves]
            assert sum(grown) == sum(lengths) + 1
            gate.open()
            receipts = await front.answers(numbers)
            assert [receipt.version for receipt in receipts] == lengths
            await front.settled()

    @pytest.mark.parametrize("end", ["crash", "stop"])
    def test_what_is_in_hand_then_is_done_by_the_next_owner_or_before_the_end(
        self, redis_url, nats_url, monkeypatch, end
    ):
        @in_loop
        async def run():
            monkeypatch.setattr(worker_module, "PART", 1)
            async with intake(redis_url, nats_url) as front:
                running = await front.owner()
                _, lengths, numbers, gate = await self.one_on_its_way(front, running)
                if end == "crash":
                    await running.crash()
                    await front.owner()
                else:
                    running.worker.stop()
                    gate.open()
                assert [receipt.version for receipt in await front.answers(numbers)] == lengths
                await front.settled()

        run()

    @in_loop
    async def test_what_is_read_along_of_a_partition_that_was_lost_meanwhile_is_left_to_its_owner(
        self, redis_url, nats_url
    ):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            tables = [await front.match()]
            while partition_of(tables[-1][0].match) == partition_of(tables[0][0].match):
                tables.append(await front.match())
            first, second = [(await front.next_move(seats))[1] for seats in (tables[0], tables[-1])]
            await front.settled()
            gate = running.store.before["commit"] = Gate(when=writing)
            numbers = await front.send(first)
            await gate.closed_on_somebody()
            numbers += await front.send(second)
            lease = await front.take_over(second.match)
            running.worker.leases.drop(running.worker.leases.held[partition_of(second.match)].lease, "lost")
            running.store.before.pop("commit")
            with capture_logs() as logs:
                gate.open()
                await front.answers(numbers[:1])
                await asyncio.sleep(0.1)
            assert not [entry for entry in logs if entry["event"] == "batch_failed"]
            await front.store.leases.release("another", [lease])
            assert [receipt.reason for receipt in await front.answers(numbers)] == [None, None]

    @in_loop
    async def test_a_command_that_comes_during_a_commit_is_read_along_with_it(self, one_redis_url, nats_url):
        """By one server; in a cluster a commit goes to some primaries, and the next read finds the command."""
        async with intake(one_redis_url, nats_url) as front:
            running = await front.owner()
            tables = [await front.match() for _ in range(2)]
            first, second = [(await front.next_move(seats))[1] for seats in tables]
            gate = running.store.before["commit"] = Gate(when=writing)
            begun = await front.send(first)
            await gate.closed_on_somebody()
            reads = running.store.before["read"] = Gate()
            numbers = begun + await front.send(second)
            running.store.before.pop("commit")
            gate.open()
            assert [receipt.reason for receipt in await front.answers(numbers)] == [None, None]
            await reads.closed_on_somebody()
            reads.open()
            await front.settled()


class TestLeftSeat:
    @in_loop
    async def test_the_token_of_a_tenure_that_ended_opens_nothing_after_somebody_else_sat_down(
        self, redis_url, nats_url
    ):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            match = await front.lobby()
            (old,) = await front.seated(match, 1)
            await front.done(Leave(match, old.seat, old.tenure))
            seats = await front.seated(match, 2)
            new = next(seat for seat in seats if seat.seat == old.seat)
            folded = await front.folded(match)
            prompt = folded.prompts[old.seat]
            for seat in (old, Seat(match, new.seat, 0), Seat(match, new.seat, folded.version)):
                assert await front.refused(seat.submit(prompt, NONSENSE)) == "NOT_YOUR_SEAT"
                assert (await front.view(seat.question())).reason == "NOT_YOUR_SEAT"
            moves = folded.legal(old.seat)
            if moves:
                assert await front.refused(old.submit(prompt, encoded(folded, moves[0]))) == "NOT_YOUR_SEAT"
            assert await front.refused(new.submit(prompt, NONSENSE)) == "ILLEGAL_MOVE"
            assert await front.done(Leave(match, old.seat, old.tenure)) == 2, "a repeat, of no effect on the new holder"
            assert front.seen(old.subject) == [1]
            assert front.seen(new.subject)[-1] == folded.version
