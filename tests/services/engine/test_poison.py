"""Commands, journals and clocks that fail: each fails alone."""

import asyncio
import json

import msgspec
import pytest
import redis.exceptions

from engine.journal import Aborted
from engine.match import Match
from services.bus import NoAnswer
from services.engine import worker as worker_module
from services.engine.matches import Matches
from services.store.keys import moves_key, seed_key
from tests.services.engine.sent import NONSENSE, telling
from tests.services.front import Gate, Intake, Seat, creation, in_loop, intake, peek, until


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
