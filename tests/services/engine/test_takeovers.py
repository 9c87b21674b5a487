"""Traps of leases: another worker takes over, and the old owner does not know yet. Nobody may notice."""

import asyncio
import json

import pytest

from engine.journal import Moved
from services.bus import NoAnswer
from services.commands import partition_of
from services.store.commits import Commit
from services.store.keys import moves_key, seed_key
from tests.services.engine.sent import NONSENSE, two_moves_of_one_seat, writing
from tests.services.front import Gate, Intake, Running, in_loop, intake, peek, until


async def written_by_another(front: Intake, match: str) -> None:
    """Let another worker take the partition, move for the seat that owes a move, and give the partition back."""
    lease = await front.take_over(match)
    folded = await front.folded(match)
    before, head, lines = folded.version + 1, folded.head, []
    folded.appended = lines.append
    folded.time_out(folded.to_act[0], folded.prompts[folded.to_act[0]], folded.at)
    commit = Commit(lease, match, before, head, lines, None, None, ended=False, due={})
    assert await front.store.commit("another", [commit]) == ["OK"]
    await front.store.leases.release("another", [lease])


def holds_anew(running: Running, match: str, epoch: int) -> bool:
    held = running.worker.leases.held.get(partition_of(match))
    return held is not None and held.lease.epoch > epoch


class TestLeaseLostAndRegained:
    @in_loop
    async def test_with_two_moves_in_flight_while_another_worker_wrote_receipts_tell_what_the_journal_shows(
        self, redis_url, nats_url
    ):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats, moves, version = await two_moves_of_one_seat(front)
            match = seats[0].match
            epoch = running.worker.leases.held[partition_of(match)].lease.epoch
            gate = running.store.before["commit"] = Gate(when=writing)
            numbers = await front.send_together(running, *moves)
            await gate.closed_on_somebody()
            await written_by_another(front, match)
            await until(lambda: holds_anew(running, match, epoch))
            assert not any(number in front.receipts for number in numbers)
            gate.open()
            first, second = await front.answers(numbers)
            assert first.reason == "TIMED_OUT"
            entries = await front.entries(match)
            assert (entries[version].body.by, entries[version].body.prompt) == ("clock", moves[0].prompt)
            later = entries[version:]
            by_player = [entry for entry in later if isinstance(entry.body, Moved) and entry.body.by == "player"]
            assert [entry.version for entry in by_player] == [second.version] * (second.reason is None)
            assert (await front.folded(match)).version == len(entries) - 1
            await front.settled()

    @in_loop
    async def test_what_was_decided_under_the_lost_lease_is_shown_to_nobody(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats, moves, version = await two_moves_of_one_seat(front)
            match = seats[0].match
            epoch = running.worker.leases.held[partition_of(match)].lease.epoch
            running.worker._matches.clear()
            loads = running.store.after["load"] = Gate()
            numbers = await front.send_together(running, *moves)
            await loads.closed_on_somebody()
            rereads = running.store.before["read_pending"] = Gate()
            lease = await front.take_over(match)
            await front.store.leases.release("another", [lease])
            await until(lambda: holds_anew(running, match, epoch))
            loads.open()
            await rereads.closed_on_somebody()
            answer = await front.view(seats[0].question())
            assert json.loads(answer.view)["version"] == version - 1
            rereads.open()
            assert [receipt.version for receipt in await front.answers(numbers)] == [version, version + 1]


class TestOldOwner:
    @in_loop
    async def test_a_question_after_the_takeover_is_not_answered(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats = await front.match()
            running.freeze_leases()
            assert (await front.view(seats[0].question())).reason is None
            await written_by_another(front, seats[0].match)
            with pytest.raises(NoAnswer):
                await front.view(seats[0].question(), 0.3)
            _, move = await front.next_move(seats)
            with pytest.raises(NoAnswer):
                await front.outcome(move)

    @in_loop
    async def test_a_question_during_the_takeover_is_not_answered_from_before_it(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats = await front.match()
            running.freeze_leases()
            gate = running.store.before["holds"] = Gate()
            asking = asyncio.create_task(front.view(seats[0].question(), 1))
            await gate.closed_on_somebody()
            await written_by_another(front, seats[0].match)
            gate.open()
            with pytest.raises(NoAnswer):
                await asking

    @in_loop
    async def test_of_two_that_listen_only_the_owner_answers(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            old = await front.owner()
            seats = await front.match()
            old.freeze_leases()
            new = await front.owner()
            assert old.owns
            await front.play(seats, 2)
            for _ in range(5):
                assert json.loads((await front.view(seats[0].question())).view)["version"] == 5
            assert len(new.owns) == 4

    @in_loop
    async def test_refusals_of_one_that_has_lost_its_lease_neither_count_nor_get_out(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats = await front.match()
            running.freeze_leases()
            gate = running.store.before["commit"] = Gate()
            (number,) = await front.send(seats[0].submit(99, NONSENSE))
            await gate.closed_on_somebody()
            await front.take_over(seats[0].match)
            gate.open()
            await until(lambda: partition_of(seats[0].match) not in running.owns)
            await asyncio.sleep(0.05)
            assert await front.pending(seats[0].match) == 1
            assert number not in front.receipts

    @pytest.mark.parametrize("what", ["an unreadable command", "a match that does not replay"])
    def test_what_it_cannot_even_decide_is_left_to_the_new_owner(self, redis_url, nats_url, what):
        @in_loop
        async def run():
            async with intake(redis_url, nats_url) as front:
                running = await front.owner()
                seats = await front.match()
                match = seats[0].match
                _, move = await front.next_move(seats)
                running.freeze_leases()
                gate = running.store.after["read"] = Gate(when=bool)
                if what == "an unreadable command":
                    await peek(front.store, "XADD", moves_key(partition_of(match)), "*", "c", b"\xff")
                else:
                    running.worker._matches.clear()
                    await peek(front.store, "DEL", seed_key(match))
                    await front.send(move)
                await gate.closed_on_somebody()
                await front.take_over(match)
                gate.open()
                await until(lambda: partition_of(match) not in running.owns)
                await asyncio.sleep(0.05)
                assert await front.pending(match) == 1

        run()

    @in_loop
    async def test_what_it_still_reads_after_the_takeover_is_not_taken_from_the_new_one(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats = await front.match()
            _, move = await front.next_move(seats)
            gate = running.store.before["read"] = Gate()
            await gate.closed_on_somebody()
            numbers = await front.send(move)
            assert len(await front.store.intake.read([partition_of(move.match)], 0)) == 1
            gate.open()
            (receipt,) = await front.answers(numbers)
            assert receipt.version == 4

    @in_loop
    async def test_the_clock_waits_for_commands_that_were_read_and_are_in_nobodys_hands(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats = await front.match(clock=60_000)
            _, move = await front.next_move(seats)
            gate = running.store.before["read"] = Gate()
            await gate.closed_on_somebody()
            numbers = await front.send(move)
            assert len(await running.store.intake._read([partition_of(move.match)], 0)) == 1
            running.skip(60_000)
            running.worker._next_tick = asyncio.get_running_loop().time() + 60
            gate.open()
            (receipt,) = await front.answers(numbers)
            assert (receipt.version, receipt.reason) == (4, None)

    @in_loop
    async def test_commands_that_were_read_and_are_in_nobodys_hands_are_found_within_a_second(
        self, redis_url, nats_url
    ):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            _, move = await front.next_move(await front.match())
            gate = running.store.before["read"] = Gate()
            await gate.closed_on_somebody()
            numbers = await front.send(move)
            assert len(await running.store.intake._read([partition_of(move.match)], 0)) == 1
            gate.open()
            (receipt,) = await front.answers(numbers)
            assert receipt.version == 4
