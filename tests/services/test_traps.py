"""What has gone wrong in servers like this one: each trap is sprung, and nobody may notice."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress

import msgspec
import pytest
import redis.exceptions
from structlog.testing import capture_logs

from engine.journal import Aborted, Moved
from engine.match import Match
from services.bus import NoAnswer
from services.commands import Abort, Command, Leave, Start, Submit, partition_of
from services.engine import worker as worker_module
from services.engine.matches import Matches
from services.local import NatsServer, RedisServer
from services.store.commits import Commit
from services.store.intake import Along
from services.store.keys import moves_key, seed_key
from tests.services.front import (
    Gate,
    Intake,
    Running,
    Seat,
    creation,
    encoded,
    in_loop,
    intake,
    joining,
    peek,
    until,
)

NONSENSE = b'{"play":{"card":"purple-7"}}'


def writing(_worker: str, commits: Sequence[Commit], _along: Along) -> bool:
    return any(commit.lines for commit in commits)


def telling(messages: Sequence[tuple[str, bytes]]) -> bool:
    return bool(messages)


async def two_moves_of_one_seat(front: Intake) -> tuple[list[Seat], list[Command], int]:
    """A match in which a seat can move twice running, both moves, and the version of the first."""
    seats = await front.match(rules="clever_gedreht/1")
    while True:
        folded = await front.folded(seats[0].match)
        (number,) = folded.to_act
        for first in folded.legal(number):
            ahead = await front.folded(seats[0].match)
            moves: list[Command] = [seats[number].submit(ahead.prompts[number], encoded(ahead, first))]
            ahead.move(number, seats[number].tenure, moves[0].prompt, moves[0].move, ahead.at)
            if ahead.to_act == (number,):
                second = ahead.legal(number)[0]
                moves.append(seats[number].submit(ahead.prompts[number], encoded(ahead, second)))
                await front.settled()
                return seats, moves, folded.version + 1
        await front.play(seats)


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


class TestPoison:
    @pytest.fixture
    def poison(self, monkeypatch):
        """From now on the rules fail on every move that says so."""
        move = Match.move

        def fragile(match, seat, tenure, prompt, data, at):
            if b"poison" in data:
                match._answers.clear()
                raise ZeroDivisionError("a mistake in the rules")
            return move(match, seat, tenure, prompt, data, at)

        monkeypatch.setattr(Match, "move", fragile)

    async def in_one_partition(self, front: Intake, count: int) -> list[list[Seat]]:
        matches = []
        for _ in range(count):
            command = creation(partitions=1)
            await front.done(command)
            matches.append(await front.seated(command.match, 2))
        return matches

    @in_loop
    async def test_a_command_that_fails_is_refused_and_everything_else_goes_on(self, redis_url, nats_url, poison):
        async with intake(redis_url, nats_url, partitions=1) as front:
            running = await front.owner()
            sick, healthy = await self.in_one_partition(front, 2)
            bad = sick[0].submit(3, b"poison")
            moves = [(await front.next_move(seats))[1] for seats in (sick, healthy)]
            receipts = await front.answers(await front.send_together(running, moves[0], bad, moves[1], moves[0]))
            assert [receipt.reason for receipt in receipts] == [None, "INTERNAL", None, None]
            assert [receipt.version for receipt in receipts] == [4, None, 4, 4]
            await front.settled()
            assert running.count("internal_errors_total") == 1
            await front.play(sick, 2)
            assert (await front.folded(sick[0].match)).status == "running"

    @in_loop
    async def test_the_second_one_aborts_the_match_and_no_other(self, redis_url, nats_url, poison):
        async with intake(redis_url, nats_url, partitions=1) as front:
            await front.owner()
            sick, healthy = await self.in_one_partition(front, 2)
            bad = sick[0].submit(3, b"poison")
            assert await front.refused(bad) == "INTERNAL"
            await front.play(sick)
            assert await front.refused(bad) == "INTERNAL"
            folded = await front.folded(sick[0].match)
            assert (folded.status, folded.reason) == ("aborted", "internal_error")
            assert front.last_view(sick[0].subject)["status"] == "aborted"
            await front.comes_due(sick[0].match, set())
            await front.play(healthy, 2)

    @in_loop
    async def test_an_abort_for_that_reason_whose_publication_died_is_published(self, redis_url, nats_url, poison):
        async with intake(redis_url, nats_url, partitions=1) as front:
            running = await front.owner()
            (sick,) = await self.in_one_partition(front, 1)
            bad = sick[0].submit(3, b"poison")
            assert await front.refused(bad) == "INTERNAL"
            gate = running.bus.before["publish"] = Gate(when=telling)
            await front.send(bad)
            await gate.closed_on_somebody()
            await running.crash()
            assert front.last_view(sick[0].subject)["status"] == "running"
            await front.owner()
            await until(lambda: front.last_view(sick[0].subject)["status"] == "aborted")

    @in_loop
    async def test_one_that_comes_again_because_redis_was_away_counts_once(self, redis_url, nats_url, poison):
        async with intake(redis_url, nats_url, partitions=1) as front:
            running = await front.owner()
            (sick,) = await self.in_one_partition(front, 1)
            failures = iter([True, True])

            async def away(*_):
                if next(failures, False):
                    raise redis.exceptions.ConnectionError("away")

            running.store.before["commit"] = away
            assert await front.refused(sick[0].submit(3, b"poison")) == "INTERNAL"
            await front.play(sick)
            assert (await front.folded(sick[0].match)).status == "running"

    @in_loop
    async def test_what_was_decided_beside_one_when_redis_went_away_is_shown_to_nobody(
        self, redis_url, nats_url, poison, monkeypatch
    ):
        """A question that has waited for the batch is answered from the journal, although the batch before is still on
        its way and has to be called back first.
        """
        monkeypatch.setattr(worker_module, "PART", 2)
        async with intake(redis_url, nats_url, partitions=1) as front:
            running = await front.owner()
            *ahead, healthy, sick = await self.in_one_partition(front, 4)
            moves = [(await front.next_move(seats))[1] for seats in (*ahead, healthy)]
            went_away = asyncio.Event()

            async def away(*_, **__):
                await went_away.wait()
                running.store.before.pop("load")
                raise redis.exceptions.ConnectionError("away")

            running.store.before["load"] = away
            gate = running.bus.before["publish"] = Gate(when=telling)
            numbers = await front.send_together(running, *moves, sick[0].submit(3, b"poison"))
            await gate.closed_on_somebody()
            question = asyncio.create_task(front.view(healthy[0].question()))
            await until(lambda: running.worker.deciding._waiters)
            went_away.set()
            assert json.loads((await question).view)["version"] == 3
            running.bus.before.pop("publish")
            gate.open()
            assert [receipt.version for receipt in await front.answers(numbers)] == [4, 4, 4, None]

    @in_loop
    async def test_an_entry_that_nobody_can_read_is_acknowledged_and_passed_over(self, redis_url, nats_url):
        async with intake(redis_url, nats_url, partitions=1) as front:
            running = await front.owner()
            (seats,) = await self.in_one_partition(front, 1)
            elsewhere = msgspec.structs.replace(seats[0].submit(3, NONSENSE), match="001" + seats[0].match[3:])
            for data in (b"", b"\xff\xff", msgspec.msgpack.encode(["a", 1, ["dance", seats[0].match]])):
                await peek(front.store, "XADD", moves_key(0), "*", "c", data)
            await peek(front.store, "XADD", moves_key(0), "*", "d", b"no command at all")
            for service, command in (
                ("a b", seats[0].submit(3, NONSENSE)),
                ("a\r\nPUB x 0", seats[0].submit(3, NONSENSE)),
                ("", seats[0].submit(3, NONSENSE)),
                ("service", elsewhere),
                ("service", msgspec.structs.replace(elsewhere, match="../etc")),
            ):
                envelope = msgspec.msgpack.encode([service, 1, command])
                await peek(front.store, "XADD", moves_key(0), "*", "c", envelope)
            await front.play(seats, 2)
            await front.settled()
            assert running.count("internal_errors_total") == 9

    @in_loop
    async def test_a_match_whose_journal_does_not_replay_fails_alone(self, redis_url, nats_url):
        async with intake(redis_url, nats_url, partitions=1) as front:
            running = await front.owner()
            sick, healthy = await self.in_one_partition(front, 2)
            timed = creation(partitions=1, clock=60_000)
            await front.done(timed)
            watch = await front.seated(timed.match, 2)
            _, move = await front.next_move(sick)
            await peek(front.store, "DEL", seed_key(sick[0].match))
            running.worker._matches.clear()
            await front.store.postpone(0, {f"{sick[0].match}:idle": 1})
            assert await front.refused(move) == "INTERNAL"
            with pytest.raises(NoAnswer):
                await front.view(sick[0].question(), 0.2)
            await front.play(healthy, 2)
            running.skip(60_000)
            await until(lambda: 4 in front.seen(watch[0].subject))
            assert running.count("replay_mismatches_total") >= 1
            assert len((await front.recorded(sick[0].match)).lines) == 4

    @in_loop
    async def test_a_clock_that_fails_does_not_stop_the_others_and_ends_its_match(
        self, redis_url, nats_url, monkeypatch
    ):
        async with intake(redis_url, nats_url, partitions=1) as front:
            running = await front.owner()
            matches = []
            for _ in range(2):
                command = creation(partitions=1, clock=60_000)
                await front.done(command)
                matches.append(await front.seated(command.match, 2))
            sick, healthy = matches
            time_out = Match.time_out

            def fragile(match, *args):
                if match.id == sick[0].match:
                    raise ZeroDivisionError("a mistake in the rules")
                return time_out(match, *args)

            monkeypatch.setattr(Match, "time_out", fragile)
            running.skip(60_000)
            await until(lambda: 4 in front.seen(healthy[0].subject))
            await until(lambda: front.last_view(sick[0].subject)["status"] == "aborted")
            assert (await front.entries(sick[0].match))[-1].body.reason == "internal_error"
            assert isinstance((await front.entries(sick[0].match))[-1].body, Aborted)

    @in_loop
    async def test_what_fails_although_every_command_is_left_out_fails_for_its_match_only(
        self, redis_url, nats_url, monkeypatch
    ):
        async with intake(redis_url, nats_url, partitions=1) as front:
            running = await front.owner()
            sick, healthy = await self.in_one_partition(front, 2)
            commit_of = Matches._commit_of

            def fragile(matches, group):
                if group.match == sick[0].match and group.live is not None:
                    raise ZeroDivisionError("a mistake in the rules")
                return commit_of(matches, group)

            monkeypatch.setattr(Matches, "_commit_of", fragile)
            moves = [(await front.next_move(seats))[1] for seats in (sick, healthy)]
            receipts = await front.answers(await front.send_together(running, *moves))
            assert [receipt.reason for receipt in receipts] == ["INTERNAL", None]
            await front.play(healthy)

    @in_loop
    async def test_a_mistake_outside_of_all_this_does_not_end_the_worker(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats = await front.match()
            failures = iter([True])

            async def fail(*_):
                if next(failures, False):
                    raise ZeroDivisionError("a mistake in the worker")

            running.store.before["commit"] = fail
            _, move = await front.next_move(seats)
            assert await front.done(move) == 4
            assert len((await front.recorded(move.match)).lines) == 5


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
