"""The worker: what comes out of it for what goes into the intake."""

import asyncio
import json

import msgspec
import pytest

from engine.journal import Aborted, Moved
from services.bus import NoAnswer
from services.commands import Abort, Join, Kick, Leave, Receipt, Start, ViewQuestion, match_id
from services.engine import matches as module
from services.local import NatsServer
from tests.services.front import Gate, Intake, Seat, creation, encoded, in_loop, intake, joining, peek, until

pytestmark = pytest.mark.containers

NONSENSE = b'{"play":{"card":"purple-7"}}'


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


class TestViews:
    @in_loop
    async def test_every_entry_gives_one_view_a_tenure_and_one_for_spectators_before_the_receipt(
        self, redis_url, nats_url
    ):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            seats = await front.match()
            await front.play(seats, 4)
            match, table = seats[0].match, f"view.{seats[0].match}.table"
            assert front.seen(table) == list(range(8))
            assert front.seen(seats[0].subject) == list(range(1, 8))
            assert front.seen(seats[1].subject) == list(range(2, 8))
            assert front.heard[-4:] == [seats[0].subject, seats[1].subject, table, f"receipts.{front.service}"]
            for subject, view in front.views:
                assert view["match"] == match
                assert view["seat"] == (None if subject == table else int(subject.split(".")[2]))

    @in_loop
    async def test_a_view_is_complete_and_its_own_seats(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            seats = await front.match(clock=60_000)
            await front.play(seats)
            folded = await front.folded(seats[0].match)
            view, other = front.last_view(seats[0].subject), front.last_view(seats[1].subject)
            public = front.last_view(f"view.{seats[0].match}.table")
            assert view.keys() == other.keys() == public.keys()
            assert view["prompt"] == folded.prompts[0]
            assert view["timos_twist"]["table"] == public["timos_twist"]["table"]
            assert view["timos_twist"]["own"] != other["timos_twist"]["own"]
            assert public["timos_twist"]["own"] is None
            assert public["timos_twist"]["legal"] == []
            assert view["deadline"]
            assert view["hash"] is view["seed"] is None

    @in_loop
    async def test_a_new_tenure_has_a_subject_of_its_own_and_the_old_one_falls_silent(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            match = await front.lobby(seats=3)
            (old,) = await front.seated(match, 1)
            await front.done(Leave(match, old.seat, old.tenure))
            (new,) = await front.seated(match, 1)
            assert new.seat == old.seat
            assert front.seen(old.subject) == [1]
            assert front.seen(new.subject) == [3]

    @in_loop
    async def test_receipts_that_are_too_many_for_one_message_are_split(self, redis_url, nats_url, monkeypatch):
        monkeypatch.setattr(module, "RECEIPTS_BYTES", 4000)
        async with intake(redis_url, nats_url, partitions=1) as front:
            created = [creation(partitions=1) for _ in range(30)]
            numbers = await front.send(*created)
            await front.owner()
            receipts = await front.answers(numbers)
            assert [json.loads(receipt.view)["match"] for receipt in receipts] == [c.match for c in created]
            assert 8 <= len(front.batches) <= 32

    @in_loop
    async def test_so_are_those_that_are_too_many_for_a_server_that_takes_little(self, redis_url, tmp_path):
        with NatsServer(tmp_path, config_extra="max_payload: 4000") as nats:
            async with intake(redis_url, nats.url, partitions=1) as front:
                numbers = await front.send(*[creation(partitions=1) for _ in range(30)])
                await front.owner()
                assert [receipt.version for receipt in await front.answers(numbers)] == [0] * 30


class TestQuestions:
    @in_loop
    async def test_the_present_view_is_the_one_that_was_published(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            seats = await front.match()
            await front.play(seats, 3)
            answer = await front.view(seats[0].question())
            assert json.loads(answer.view) == front.last_view(seats[0].subject)
            assert (answer.missed, answer.truncated, answer.reason) == ([], False, None)
            answer = await front.view(ViewQuestion(seats[0].match, None, None, None))
            assert json.loads(answer.view) == front.last_view(f"view.{seats[0].match}.table")

    @in_loop
    async def test_events_missed_since_a_version_are_told_as_the_seat_may_know_them(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats = await front.match()
            await front.play(seats, 6)
            for _ in range(2):
                for viewer, question in (
                    (seats[0].subject, seats[0].question(2)),
                    (f"view.{seats[0].match}.table", ViewQuestion(seats[0].match, None, None, 2)),
                ):
                    answer = await front.view(question)
                    assert not answer.truncated
                    missed = [json.loads(past) for past in answer.missed]
                    assert [past["version"] for past in missed] == list(range(3, 9))
                    published = {view["version"]: view for name, view in front.views if name == viewer}
                    for past in missed:
                        assert past["timos_twist"]["events"] == published[past["version"]]["timos_twist"]["events"]
                running.worker._matches.clear()
            assert json.loads((await front.view(seats[0].question(0))).missed[0])["version"] == 1
            for since in (8, 9, 50):
                assert (await front.view(seats[0].question(since))).missed == []

    @in_loop
    async def test_more_than_is_remembered_is_truncated(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            seats = await front.match(target=1000)
            await front.play(seats, 64)
            version = (await front.folded(seats[0].match)).version
            assert version == 67
            answer = await front.view(seats[0].question(version - 64))
            assert (len(answer.missed), answer.truncated) == (63, False)
            answer = await front.view(seats[0].question(version - 65))
            assert (len(answer.missed), answer.truncated) == (0, True)
            assert json.loads(answer.view)["version"] == version

    @in_loop
    async def test_more_than_nats_takes_is_truncated_and_the_present_view_comes(self, redis_url, tmp_path):
        """An answer that the server does not take would leave whoever asks without one, however often he does."""
        with NatsServer(tmp_path, config_extra="max_payload: 6000") as nats:
            async with intake(redis_url, nats.url) as front:
                await front.owner()
                seats = await front.match(target=1000)
                await front.play(seats, 60)
                version = (await front.folded(seats[0].match)).version
                answer = await front.view(seats[0].question(version - 10))
                assert (len(answer.missed), answer.truncated) == (9, False)
                answer = await front.view(seats[0].question(version - 61))
                assert (answer.missed, answer.truncated) == ([], True)
                assert json.loads(answer.view) == front.last_view(seats[0].subject)

    @in_loop
    async def test_an_ended_tenure_and_an_unknown_match_are_refused(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            match = await front.lobby(seats=3)
            (old,) = await front.seated(match, 1)
            await front.done(Leave(match, old.seat, old.tenure))
            assert (await front.view(old.question())).reason == "NOT_YOUR_SEAT"
            (new,) = await front.seated(match, 1)
            assert (await front.view(old.question())).reason == "NOT_YOUR_SEAT"
            assert (await front.view(new.question())).reason is None
            assert (await front.view(ViewQuestion(match, 7, 1, None))).reason == "NOT_YOUR_SEAT"
            assert (await front.view(ViewQuestion(match, -1, 3, None))).reason == "NOT_YOUR_SEAT"
            assert (await front.view(ViewQuestion(match, new.seat, None, None))).reason == "NOT_YOUR_SEAT"
            unknown = match_id(b"nobody made this", 4)
            assert (await front.view(ViewQuestion(unknown, None, None, None))).reason == "UNKNOWN_MATCH"
            await front.seated(match, 2)
            await front.done(Leave(match, new.seat, new.tenure))
            assert (await front.view(new.question())).reason == "NOT_YOUR_SEAT"

    @in_loop
    async def test_without_an_owner_nobody_answers(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            with pytest.raises(NoAnswer):
                await front.view(ViewQuestion(match_id(b"x", 4), None, None, None))
            running = await front.owner()
            await running.stop()
            with pytest.raises(NoAnswer):
                await front.view(ViewQuestion(match_id(b"x", 4), None, None, None))

    @in_loop
    async def test_what_became_of_a_command_is_the_receipt_of_its_repeat(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            create = creation(seats=3)
            first, second, third = joining(create.match), joining(create.match), joining(create.match)
            assert await front.outcome(create) is None
            await front.done(create)
            assert (await front.outcome(create)).version == 0
            assert (await front.outcome(msgspec.structs.replace(create, clock=7))).reason == "REQUEST_REUSED"
            assert await front.outcome(first) is None
            seat = await front.tell(first)
            known = await front.outcome(first)
            assert (known.version, known.seat, known.tenure, known.appended) == (1, 0, 1, False)
            assert await front.outcome(Leave(create.match, 0, 1)) is None
            await front.done(Leave(create.match, seat.seat, seat.tenure))
            assert (await front.outcome(Leave(create.match, 0, 1))).version == 2
            assert (await front.outcome(Kick(create.match, 0, 1))).version == 2
            assert await front.outcome(Kick(create.match, 0, None)) is None
            assert (await front.outcome(first)).reason == "TENURE_ENDED"
            assert await front.outcome(Start(create.match)) is None
            seats = [await front.tell(second), await front.tell(third)]
            await front.done(Start(create.match))
            assert (await front.outcome(Start(create.match))).version == 5
            assert [receipt.tenure for receipt in seats] == [3, 4]

    @in_loop
    async def test_what_became_of_a_move_shows_in_its_prompt(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            seats = await front.match()
            _, move = await front.next_move(seats)
            refused = msgspec.structs.replace(move, move=NONSENSE)
            assert await front.outcome(move) is None
            assert await front.outcome(refused) is None
            await front.done(move)
            assert (await front.outcome(move)).version == 4
            assert (await front.outcome(refused)).reason == "STALE_PROMPT"
            _, never = await front.next_move(seats)
            assert await front.outcome(Abort(seats[0].match, "enough")) is None
            await front.done(Abort(seats[0].match, "enough"))
            assert (await front.outcome(never)).reason == "MATCH_OVER"
            assert (await front.outcome(move)).version == 4
            assert (await front.outcome(Abort(seats[0].match, "enough"))).version == 5

    @in_loop
    async def test_nonsense_is_not_answered_and_harms_nothing(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            await front.owner()
            match = await front.lobby()
            for nonsense in (b"", b"\xff", b"\x93\x01"):
                with pytest.raises(NoAnswer):
                    await front.bus.request(f"query.{int(match[:3])}", nonsense, 0.1)
            assert (await front.view(ViewQuestion(match, None, None, None))).reason is None


class TestClock:
    @in_loop
    async def test_the_clock_makes_the_default_move_at_the_deadline(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats = await front.match(clock=300)
            match = seats[0].match
            number = (await front.folded(match)).to_act[0]
            await front.comes_due(match, {"idle", f"{number}:3"})
            await until(lambda: 4 in front.seen(seats[0].subject))
            *_, started, moved = (await front.entries(match))[:5]
            assert isinstance(moved.body, Moved)
            assert (moved.body.by, moved.body.seat, moved.body.prompt) == ("clock", number, 3)
            assert moved.at >= started.at + 300
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
            await front.owner()
            seats = await front.match(clock=300)
            _, move = await front.next_move(seats)
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
            seats = await front.match(clock=1000)
            await running.stop()
            _, move = await front.next_move(seats)
            await asyncio.sleep(1.1)
            running = await front.owner(for_long=False)
            assert await front.done(move) == 4, "it came after the deadline, but nobody was there to take it"
            since = max(held.since for held in running.worker.leases.held.values())
            await until(lambda: 5 in front.seen(seats[0].subject))
            assert (await front.entries(move.match))[5].at >= since + 1000

    @in_loop
    async def test_after_a_takeover_an_overdue_clock_moves_once_its_grace_is_over(self, redis_url, nats_url):
        async with intake(redis_url, nats_url) as front:
            running = await front.owner()
            seats = await front.match(clock=300)
            await running.stop()
            await asyncio.sleep(0.4)
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
