"""What a worker shows: views that it publishes, and what it answers to questions."""

import json

import msgspec
import pytest

from services.bus import NoAnswer
from services.commands import Abort, Kick, Leave, Start, ViewQuestion, match_id
from services.engine import matches as module
from services.local import NatsServer
from tests.services.engine.sent import NONSENSE
from tests.services.front import creation, in_loop, intake, joining

pytestmark = pytest.mark.containers


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
