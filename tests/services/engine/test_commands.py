"""What comes out of the worker for the commands that go into the intake."""

import asyncio
import json

import msgspec
import pytest

from services.commands import Abort, Join, Kick, Leave, Receipt, Start, match_id
from tests.services.engine.sent import NONSENSE
from tests.services.front import Intake, creation, encoded, in_loop, intake, joining, peek, until

pytestmark = pytest.mark.containers


class TestLobby:
    @in_loop
    async def test_a_match_is_created_joined_and_starts_with_its_last_seat(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            command = creation(seats=2)
            created = await front.tell(command)
            assert (created.version, created.appended, created.seat) == (0, True, None)
            shown = json.loads(created.view)
            assert (shown["status"], shown["seat"], shown["version"]) == ("lobby", None, 0)
            first = await front.tell(joining(command.match, 1))
            assert (first.version, first.seat, first.tenure) == (1, 1, 1)
            last = await front.tell(joining(command.match))
            assert (last.version, last.seat, last.tenure) == (2, 0, 2)
            shown = json.loads(last.view)
            assert (shown["status"], shown["seat"], shown["version"]) == ("running", 0, 3)
            assert len(shown["timos_twist"]["own"]["hand"]) == 7
            assert await front.kinds(command.match) == ["created", "joined", "joined", "started"]

    @in_loop
    async def test_an_entry_bears_the_time_at_which_its_command_came_however_late_it_is_decided(
        self, redis_url, nats_url
    ):
        async with intake(redis_url, nats_url) as front:
            before = await front.store.time()
            command = creation()
            await front.send(command)
            after = await front.store.time()
            await asyncio.sleep(0.02)
            await front.owner()
            await until(lambda: front.entries(command.match))
            (created,) = await front.entries(command.match)
            assert before <= created.at <= after

    @in_loop
    async def test_a_match_can_start_with_fewer_seats(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            match = await front.lobby(seats=4)
            seats = await front.seated(match, 1)
            assert await front.refused(Start(match)) == "NOT_ENOUGH_PLAYERS"
            seats += await front.seated(match, 1)
            assert await front.done(Start(match)) == 3
            await front.play(seats, 3)
            assert (await front.folded(match)).status == "running"

    @in_loop
    async def test_a_seat_that_was_left_or_freed_by_the_host_opens_again(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            match = await front.lobby(seats=3)
            left, kicked = await front.seated(match, 2)
            assert await front.done(Leave(match, left.seat, left.tenure)) == 3
            assert await front.refused(Kick(match, kicked.seat, kicked.tenure + 1)) == "NOT_YOUR_SEAT"
            assert await front.done(Kick(match, kicked.seat, kicked.tenure)) == 4
            assert await front.refused(Kick(match, kicked.seat, None)) == "NOT_YOUR_SEAT"
            again = await front.seated(match, 2)
            assert [(seat.seat, seat.tenure) for seat in again] == [(0, 5), (1, 6)]
            assert await front.done(Kick(match, 1, None)) == 7

    @in_loop
    async def test_the_index_lists_a_match_as_it_is_while_it_is_open(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            match = await front.lobby(seats=3, clock=30_000)
            summary = json.loads(await front.store.lobby_entry(match))
            assert (summary["match"], summary["clock"]) == (match, 30_000)
            assert [seat["kind"] for seat in summary["seats"]] == ["open"] * 3
            await front.seated(match, 1)
            summary = json.loads(await front.store.lobby_entry(match))
            assert [seat["kind"] for seat in summary["seats"]] == ["human", "open", "open"]
            await front.seated(match, 2)
            assert await front.store.lobby_entry(match) is None

    @in_loop
    async def test_what_a_lobby_refuses_changes_nothing(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            match = await front.lobby(seats=2)
            (seat,) = await front.seated(match, 1)
            before = await front.recorded(match)
            taken = joining(match, seat.seat)
            assert await front.refused(taken) == "SEAT_TAKEN"
            assert await front.refused(joining(match, 9)) == "BAD_SEATS"
            assert await front.refused(Kick(match, 9, None)) == "BAD_SEATS"
            assert await front.refused(Kick(match, 1 - seat.seat, None)) == "NOT_YOUR_SEAT"
            assert await front.refused(Join(match, "ab" * 32, "x" * 33, b"", None)) == "MALFORMED_REQUEST"
            assert await front.refused(seat.submit(0, NONSENSE)) == "NOT_STARTED"
            assert await front.refused(Start(match)) == "NOT_ENOUGH_PLAYERS"
            assert await front.refused(Leave(match, seat.seat, 99)) == "NOT_YOUR_SEAT"
            unknown = match_id(b"nobody made this", 4)
            for command in (joining(unknown), Start(unknown), Abort(unknown, "x"), Kick(unknown, 0, None)):
                assert await front.refused(command) == "UNKNOWN_MATCH"
            await front.seated(match, 1)
            assert await front.refused(joining(match)) == "MATCH_STARTED"
            assert await front.refused(Kick(match, 0, None)) == "MATCH_STARTED"
            assert (await front.recorded(match)).lines[:2] == before.lines
            assert len((await front.recorded(match)).lines) == 4

    @in_loop
    async def test_unknown_rules_and_bad_options_make_no_match_and_the_id_stays_usable(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            good = creation()
            assert await front.refused(msgspec.structs.replace(good, rules="whist/1")) == "UNKNOWN_GAME"
            bad = msgspec.structs.replace(good, options={**good.options, "target": 5})
            assert await front.refused(bad) == "BAD_OPTIONS"
            assert (await front.recorded(good.match)).lines == []
            assert await front.done(good) == 0


class TestRepeats:
    async def repeated(self, front: Intake, command, match: str) -> tuple[Receipt, Receipt]:
        """The receipts of a command and of its repeat by another match service, which appends nothing."""
        first = await front.tell(command)
        before = await front.recorded(match)
        async with intake(front.settings.redis_url, front.settings.nats_url) as other:
            second = await other.tell(command)
            assert not second.appended
        assert await front.recorded(match) == before
        return first, second

    @in_loop
    async def test_a_create(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            command = creation()
            first, second = await self.repeated(front, command, command.match)
            assert second.version == first.version == 0
            assert json.loads(second.view) == json.loads(first.view)
            other = msgspec.structs.replace(command, clock=5)
            assert await front.refused(other) == "REQUEST_REUSED"
            other = msgspec.structs.replace(command, options={**command.options, "target": 50})
            assert await front.refused(other) == "REQUEST_REUSED"

    @in_loop
    async def test_a_join(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            match = await front.lobby()
            command = joining(match)
            first, second = await self.repeated(front, command, match)
            assert (
                (second.version, second.seat, second.tenure) == (first.version, first.seat, first.tenure) == (1, 0, 1)
            )
            assert await front.refused(msgspec.structs.replace(command, name="other")) == "REQUEST_REUSED"
            last = joining(match)
            first, second = await self.repeated(front, last, match)
            assert (
                (second.version, second.seat, second.tenure) == (first.version, first.seat, first.tenure) == (2, 1, 2)
            )
            assert json.loads(second.view)["status"] == "running"

    @in_loop
    async def test_a_join_whose_seat_was_left_since(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            match = await front.lobby()
            command = joining(match)
            receipt = await front.tell(command)
            await front.done(Leave(match, receipt.seat, receipt.tenure))
            await front.seated(match, 1)
            assert await front.refused(command) == "TENURE_ENDED"

    @in_loop
    async def test_a_start(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            match = await front.lobby(seats=3)
            seats = await front.seated(match, 2)
            first, second = await self.repeated(front, Start(match), match)
            assert second.version == first.version == 3
            await front.play(seats, 2)
            assert await front.done(Start(match)) == 3

    @in_loop
    async def test_a_leave(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            match = await front.lobby(seats=3)
            (seat,) = await front.seated(match, 1)
            first, second = await self.repeated(front, Leave(match, seat.seat, seat.tenure), match)
            assert second.version == first.version == 2
            await front.seated(match, 1)
            assert await front.done(Leave(match, seat.seat, seat.tenure)) == 2

    @in_loop
    async def test_a_kick_that_names_the_tenure(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            match = await front.lobby(seats=3)
            (seat,) = await front.seated(match, 1)
            first, second = await self.repeated(front, Kick(match, seat.seat, seat.tenure), match)
            assert second.version == first.version == 2

    @in_loop
    async def test_an_abort_for_the_same_reason(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            seats = await front.match()
            first, second = await self.repeated(front, Abort(seats[0].match, "enough"), seats[0].match)
            assert second.version == first.version == 4
            assert await front.refused(Abort(seats[0].match, "too much")) == "MATCH_OVER"

    @in_loop
    async def test_a_move_however_long_ago(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            seats = await front.match()
            _, move = await front.next_move(seats)
            first, second = await self.repeated(front, move, seats[0].match)
            assert second.version == first.version == 4
            await front.play(seats, 8)
            assert await front.done(move) == 4
            spaced = msgspec.structs.replace(move, move=move.move.replace(b":", b" : "))
            assert await front.done(spaced) == 4
            await front.done(Abort(seats[0].match, "enough"))
            assert await front.done(move) == 4

    @in_loop
    async def test_a_double_submission_in_one_batch(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats = await front.match()
            _, move = await front.next_move(seats)
            receipts = await front.answers(await front.send_together(running, move, move, move))
            assert [receipt.version for receipt in receipts] == [4, 4, 4]
            assert [receipt.appended for receipt in receipts] == [True, False, False]
            assert len((await front.recorded(seats[0].match)).lines) == 5

    @in_loop
    async def test_a_create_and_a_join_in_one_batch(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            create = creation()
            join = joining(create.match)
            receipts = await front.answers(await front.send_together(running, create, create, join, join))
            assert [(receipt.version, receipt.appended) for receipt in receipts] == [
                (0, True), (0, False), (1, True), (1, False),
            ]  # fmt: skip
            assert await front.kinds(create.match) == ["created", "joined"]


class TestMoves:
    @in_loop
    async def test_a_whole_match_is_played_to_its_end(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            seats = await front.match(rules="bluffing_billionaires/1")
            match = seats[0].match
            while (folded := await front.folded(match)).status == "running":
                number = folded.to_act[0]
                await front.done(
                    seats[number].submit(folded.prompts[number], encoded(folded, folded.legal(number)[-1]))
                )
            assert (await front.kinds(match))[-2:] == ["moved", "finished"]
            recorded = await front.recorded(match)
            assert recorded.seed is None
            assert await peek(front.store, "TTL", f"croupier:{{{int(match[:3])}}}:journal:{match}") > 0
            for subject in (seats[0].subject, f"view.{match}.table"):
                view = front.last_view(subject)
                assert (view["status"], view["version"], view["hash"]) == (
                    "finished", folded.version, folded.head.hex(),
                )  # fmt: skip
                assert view["seed"] == folded.seed.hex()
            await front.comes_due(match, set())
            assert await front.refused(seats[0].submit(3, NONSENSE)) == "MATCH_OVER"

    @in_loop
    async def test_refusals_come_in_the_documented_order(self, redis_url, nats_url):
        """Tenure, repeat, match over, stale, malformed, illegal: each is refused for the first that holds."""
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            seats = await front.match()
            match = seats[0].match
            mover, first = await front.next_move(seats)
            await front.done(first)
            folded = await front.folded(match)
            prompt = folded.prompts[mover.seat]
            legal = {encoded(folded, move) for move in folded.legal(mover.seat)}
            illegal = min({b'{"keep":{}}', b'{"take":{}}'} - legal)
            before = await front.recorded(match)

            def by(seat, prompt, move, tenure=None):
                command = seat.submit(prompt, move)
                return command if tenure is None else msgspec.structs.replace(command, tenure=tenure)

            assert await front.refused(by(mover, first.prompt, first.move, tenure=99)) == "NOT_YOUR_SEAT"
            assert await front.refused(by(mover, first.prompt, NONSENSE)) == "STALE_PROMPT"
            assert await front.refused(by(mover, first.prompt, b"{")) == "STALE_PROMPT"
            assert await front.refused(by(mover, 99, illegal)) == "STALE_PROMPT"
            assert await front.refused(by(mover, prompt, b"{")) == "MALFORMED_MOVE"
            assert await front.refused(by(mover, prompt, b'{"hide":{}}')) == "MALFORMED_MOVE"
            assert await front.refused(by(mover, prompt, NONSENSE)) == "ILLEGAL_MOVE"
            assert await front.refused(by(mover, prompt, illegal)) == "ILLEGAL_MOVE"
            for seat in (-1, 2, 10**9):
                wrong = msgspec.structs.replace(first, seat=seat)
                assert await front.refused(wrong) == "NOT_YOUR_SEAT"
            assert await front.recorded(match) == before
            await front.done(Abort(match, "enough"))
            assert await front.done(first) == 4
            assert await front.refused(by(mover, first.prompt, NONSENSE)) == "MATCH_OVER"
            assert await front.refused(by(mover, first.prompt, first.move, tenure=99)) == "NOT_YOUR_SEAT"

    @in_loop
    async def test_a_refusal_tells_seat_prompt_and_version(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            seats = await front.match()
            receipt = await front.tell(seats[0].submit(99, NONSENSE))
            assert (receipt.reason, receipt.fields) == ("STALE_PROMPT", {"seat": 0, "prompt": 3, "version": 3})
            assert receipt.detail

    @in_loop
    async def test_two_seats_that_answer_at_once_do_not_hinder_each_other(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats = await front.match(seats=3, rules="toms_time_bluff/1")
            match = seats[0].match
            while len((folded := await front.folded(match)).to_act) < 2:
                await front.play(seats)
            answers = [seats[n].submit(folded.prompts[n], encoded(folded, folded.legal(n)[-1])) for n in folded.to_act]
            receipts = await front.answers(await front.send_together(running, *answers))
            assert [receipt.version for receipt in receipts] == [folded.version + 1, folded.version + 2]
            assert await front.done(answers[0]) == folded.version + 1

    @in_loop
    async def test_matches_of_one_batch_are_decided_apart(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            matches = [await front.match() for _ in range(6)]
            moves = [(await front.next_move(seats))[1] for seats in matches]
            bad = [msgspec.structs.replace(move, prompt=0) for move in moves]
            pairs = [command for pair in zip(bad, moves, strict=True) for command in pair]
            receipts = await front.answers(await front.send_together(running, *pairs))
            assert [receipt.reason for receipt in receipts] == ["STALE_PROMPT", None] * 6
            assert len(front.batches[-1]) == 12, "receipts of one batch come in one message"
