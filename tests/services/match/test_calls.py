"""Every call against a real worker, as a client makes it."""

import asyncio
import json
import time

import grpc
import jwt
import pytest

from croupier.v1 import match_service_pb2 as pb
from engine import journal
from engine.match import load as fold
from services.commands import Kick, match_id
from services.match import servicer
from services.wire import move_from_json
from tests.engine.hard import HardBot
from tests.services.match.called import (
    AS_OPERATOR,
    aborted,
    first_move,
    join,
    move,
    play_out,
    started,
    view,
    with_operator,
)
from tests.services.match_front import OPERATOR, playing, reason, refused, secret, serving, settings_for, timos


def test_the_catalogue_lists_the_games_by_name_or_just_one(settings):
    async def run():
        async with serving(settings) as served:
            listed = await served.stub.ListGames(pb.ListGamesRequest())
            names = [game.name for game in listed.games]
            assert names == sorted(names)
            assert "timos_twist" in names
            one = await served.stub.ListGames(pb.ListGamesRequest(game="timos_twist"))
            assert [game.name for game in one.games] == ["timos_twist"]
            assert await refused(served.stub.ListGames(pb.ListGamesRequest(game="chess"))) == (
                "NOT_FOUND", "UNKNOWN_GAME", {},
            )  # fmt: skip

    asyncio.run(run())


def test_levels_that_a_code_cannot_name_have_no_codes(settings):
    """Games from outside may have levels of their own; a match with them is dealt in secret, or not at all."""

    async def run():
        async with serving(settings) as served:
            asked = timos(seats=1, fresh_code=True)
            asked.seats.add(kind=HardBot.levels[-1])
            assert await refused(served.stub.CreateMatch(asked)) == ("FAILED_PRECONDITION", "NO_CODE", {})

    asyncio.run(run())


def test_a_match_from_its_creation_to_its_journal(settings):
    async def run():
        async with playing(settings) as served:
            created, seats = await started(served)
            assert created.view.status == "lobby"
            assert {seat.commitment for seat in seats} == {created.commitment} == {created.view.commitment}
            assert [seat.seat for seat in seats] == [0, 1]
            assert seats[1].view.status == "running"
            running = pb.GetJournalRequest(match=created.match)
            assert await reason(served.stub.GetJournal(running).read()) == "MATCH_RUNNING"
            await play_out(served, seats)
            last = await view(served, seats[0].token)
            assert last.status == "finished"
            chunks = [chunk async for chunk in served.stub.GetJournal(running)]
            lines = [line for chunk in chunks for line in chunk.lines]
            match = fold(lines, bytes.fromhex(last.seed), verify=True)
            assert (match.head.hex(), match.version) == (last.hash, last.version)
            later = pb.GetJournalRequest(match=created.match, from_version=3)
            assert [line async for chunk in served.stub.GetJournal(later) for line in chunk.lines] == lines[3:]
            for wrong in (-1, last.version + 1):
                beyond = pb.GetJournalRequest(match=created.match, from_version=wrong)
                assert await reason(served.stub.GetJournal(beyond).read()) == "UNKNOWN_VERSION"

    asyncio.run(run())


def test_a_repeated_create_finds_its_match_and_one_with_other_parameters_does_not(settings):
    async def run():
        async with playing(settings) as served:
            identity = secret()
            first = await served.stub.CreateMatch(timos(identity))
            again = await served.stub.CreateMatch(timos(identity))
            assert (again.match, again.commitment) == (first.match, first.commitment)
            await join(served, first.match)
            await join(served, first.match)
            assert (await served.stub.CreateMatch(timos(identity))).view.status == "running"
            code, why, fields = await refused(served.stub.CreateMatch(timos(identity, seats=3)))
            assert (code, why, fields["match"]) == ("ALREADY_EXISTS", "REQUEST_REUSED", first.match)

    asyncio.run(run())


def test_a_repeated_join_renews_its_token_and_one_with_another_name_does_not(settings):
    async def run():
        async with playing(settings) as served:
            match = (await served.stub.CreateMatch(timos(seats=3))).match
            identity = secret()
            first = await join(served, match, request_id=identity)
            other = await join(served, match)
            again = await join(served, match, request_id=identity)
            assert (again.seat, again.tenure, again.subject) == (first.seat, first.tenure, first.subject)
            assert (other.seat, other.tenure) != (first.seat, first.tenure)
            assert (await view(served, again.token)).seat == first.seat
            assert await reason(join(served, match, "another", request_id=identity)) == "REQUEST_REUSED"

    asyncio.run(run())


def test_joins_that_cannot_be_are_refused_by_their_reasons(settings):
    async def run():
        async with playing(settings) as served:
            match = (await served.stub.CreateMatch(timos())).match
            await join(served, match, seat=1)
            assert await reason(join(served, match, seat=1)) == "SEAT_TAKEN"
            assert await reason(join(served, match, seat=-1)) == "BAD_SEATS"
            assert await reason(join(served, match, "")) == "BAD_NAME"
            assert await reason(join(served, match, request_id=b"short")) == "MALFORMED_REQUEST"
            assert await reason(join(served, match, client_seed=bytes(65))) == "MALFORMED_REQUEST"
            await join(served, match)
            assert await reason(join(served, match)) == "MATCH_STARTED"
            assert await reason(join(served, "000" + "a" * 22)) == "UNKNOWN_MATCH"
            assert await reason(join(served, "999" + "a" * 22)) == "UNKNOWN_MATCH"
            assert await reason(join(served, "*")) == "UNKNOWN_MATCH"

    asyncio.run(run())


def test_who_leaves_the_lobby_frees_his_seat_and_ends_his_tenure(settings):
    async def run():
        async with playing(settings) as served:
            match = (await served.stub.CreateMatch(timos())).match
            identity = secret()
            seat = await join(served, match, request_id=identity)
            left = await served.stub.LeaveMatch(pb.LeaveMatchRequest(token=seat.token))
            assert left.version == 2
            again = await served.stub.LeaveMatch(pb.LeaveMatchRequest(token=seat.token))
            assert again.version == left.version
            assert await reason(served.stub.GetView(pb.GetViewRequest(token=seat.token))) == "NOT_YOUR_SEAT"
            assert await reason(join(served, match, request_id=identity)) == "TENURE_ENDED"
            assert (await join(served, match)).seat == 0

    asyncio.run(run())


def test_the_host_kicks_and_starts_and_nobody_else_does(settings):
    async def run():
        async with playing(settings) as served:
            created = await served.stub.CreateMatch(timos(seats=4))
            seats = [await join(served, created.match) for _ in range(3)]
            host = created.host_token
            kick = pb.KickSeatRequest(host_token=host, seat=1, tenure=99)
            assert await reason(served.stub.KickSeat(kick)) != "NOT_HOST"
            await served.stub.KickSeat(pb.KickSeatRequest(host_token=host, seat=1, tenure=seats[1].tenure))
            code, why, _ = await refused(served.stub.KickSeat(pb.KickSeatRequest(host_token=seats[0].token, seat=2)))
            assert (code, why) == ("PERMISSION_DENIED", "NOT_HOST")
            assert await reason(served.stub.StartMatch(pb.StartMatchRequest(host_token=seats[0].token))) == "NOT_HOST"
            version = (await served.stub.StartMatch(pb.StartMatchRequest(host_token=host))).version
            assert (await served.stub.StartMatch(pb.StartMatchRequest(host_token=host))).version == version
            shown = await view(served, seats[2].token)
            assert [info.plays_as for info in shown.seats if info.HasField("plays_as")] == [0, 1]
            assert await reason(served.stub.KickSeat(pb.KickSeatRequest(host_token=host, seat=0))) == "MATCH_STARTED"

    asyncio.run(run())


def test_a_kick_that_names_nobody_hits_whoever_sat_there_when_it_was_asked_for_however_often_it_is_decided(settings):
    """Its command is decided twice if a worker dies before it has acknowledged it, or Redis hears it twice: by then
    somebody else may sit there.
    """

    async def run():
        async with playing(settings) as served:
            created = await served.stub.CreateMatch(timos(seats=3))
            await join(served, created.match)
            sent = []
            append = served.store.intake.append

            async def listening(envelopes, *measured):
                sent.extend(envelopes)
                return await append(envelopes, *measured)

            served.store.intake.append = listening
            kick = pb.KickSeatRequest(host_token=created.host_token, seat=0)
            assert (await served.stub.KickSeat(kick)).version == 2
            later = await join(served, created.match)
            assert (later.seat, later.tenure) == (0, 3)
            [again] = [(partition, envelope) for partition, envelope in sent if isinstance(envelope.command, Kick)]
            await append([again])
            assert (await join(served, created.match)).seat == 1  # decided after it
            assert (await view(served, later.token)).seats[0].tenure == later.tenure

    asyncio.run(run())


def test_a_token_that_is_renewed_after_the_match_holds_no_longer_than_the_match_stays(redis_url, nats_url):
    """Later the match may be created anew, and the same tenure of the same seat be another's: his hand is not shown."""

    def expires(joined: pb.JoinMatchResponse) -> int:
        return jwt.decode(joined.token, options={"verify_signature": False})["exp"]

    async def run():
        days = {"retention_s": 2 * 86_400, "token_ttl_s": 7 * 86_400}
        async with playing(settings_for(redis_url, nats_url, operator_key=OPERATOR, **days)) as served:
            created = await served.stub.CreateMatch(timos(), metadata=AS_OPERATOR)
            identity = secret()
            running = await join(served, created.match, request_id=identity)
            assert expires(running) >= time.time() + 6 * 86_400
            await aborted(served, created.match)
            ended = await join(served, created.match, request_id=identity)
            assert time.time() + 86_400 < expires(ended) < time.time() + 2 * 86_400
            assert (await view(served, ended.token)).status == "aborted"

    asyncio.run(run())


def test_a_move_is_made_once_however_often_it_is_sent(settings):
    async def run():
        async with playing(settings) as served:
            _, seats = await started(served)
            shown = await view(served, seats[0].token)
            seat = seats[shown.to_act[0]]
            request = first_move(await view(served, seat.token))
            request.token = seat.token
            answers = await asyncio.gather(*(served.stub.SubmitMove(request) for _ in range(5)))
            assert {answer.version for answer in answers} == {shown.version + 1}
            assert (await view(served, seat.token)).version == shown.version + 1

    asyncio.run(run())


def test_moves_that_cannot_be_are_refused_by_their_reasons(settings):
    async def run():
        async with playing(settings) as served:
            created, seats = await started(served)
            shown = await view(served, seats[0].token)
            seat, other = seats[shown.to_act[0]], seats[1 - shown.to_act[0]]
            submit = served.stub.SubmitMove

            def request(**fields) -> pb.SubmitMoveRequest:
                made = pb.SubmitMoveRequest(token=seat.token, prompt=shown.prompt)
                made.move.timos_twist.draw.SetInParent()
                made.MergeFrom(pb.SubmitMoveRequest(**fields))
                return made

            code, why, fields = await refused(submit(request(token=other.token)))
            assert (code, why) == ("FAILED_PRECONDITION", "ILLEGAL_MOVE")
            assert fields["match"] == created.match
            assert fields["seat"] == str(other.seat)
            code, why, fields = await refused(submit(request(prompt=99)))
            assert (code, why, fields["prompt"]) == ("ABORTED", "STALE_PROMPT", str(shown.prompt))
            foreign = move_from_json("bombenziehen", b'{"draw":{}}')
            assert await reason(submit(request(move=foreign))) == "MALFORMED_MOVE"
            empty = pb.SubmitMoveRequest(token=seat.token, prompt=shown.prompt)
            assert await refused(submit(empty)) == ("INVALID_ARGUMENT", "MALFORMED_MOVE", {})
            assert await refused(submit(pb.SubmitMoveRequest())) == ("UNAUTHENTICATED", "BAD_TOKEN", {})
            assert await reason(submit(request(token=created.host_token))) == "NOT_YOUR_SEAT"

    asyncio.run(run())


def test_a_seat_that_sends_too_fast_is_slowed_down_alone(redis_url, nats_url):
    async def run():
        async with playing(settings_for(redis_url, nats_url, seat_rate=1)) as served:
            _, seats = await started(served)
            if (await view(served, seats[0].token)).to_act[0]:
                seats.reverse()
            request = first_move(await view(served, seats[0].token))
            request.token = seats[0].token
            calls = await asyncio.gather(*(served.stub.SubmitMove(request) for _ in range(5)), return_exceptions=True)
            slowed = [call for call in calls if isinstance(call, grpc.aio.AioRpcError)]
            assert {call.code() for call in slowed} >= {grpc.StatusCode.RESOURCE_EXHAUSTED}
            assert served.count("refused_calls_total", reason="RATE_LIMITED") == 4
            leave = pb.LeaveMatchRequest(token=seats[0].token)
            assert await reason(served.stub.LeaveMatch(leave)) == "RATE_LIMITED"
            await served.stub.LeaveMatch(pb.LeaveMatchRequest(token=seats[1].token))

    asyncio.run(run())


def test_a_view_comes_with_what_was_missed(settings):
    async def run():
        async with playing(settings) as served:
            created, seats = await started(served)
            before = await view(served, seats[0].token)
            for _ in range(3):
                shown = await view(served, seats[0].token)
                await move(served, seats[shown.to_act[0]])
            answer = await served.stub.GetView(pb.GetViewRequest(token=seats[0].token, since=before.version))
            assert answer.view.version == before.version + 3
            assert [past.version for past in answer.missed] == [before.version + 1, before.version + 2]
            assert not answer.truncated
            both = pb.GetViewRequest(token=seats[0].token, since=1, version=1)
            assert await reason(served.stub.GetView(both)) == "MALFORMED_REQUEST"
            negative = pb.GetViewRequest(token=seats[0].token, since=-1)
            assert await reason(served.stub.GetView(negative)) == "MALFORMED_REQUEST"
            assert await reason(served.stub.GetView(pb.GetViewRequest(token=created.host_token))) == "NOT_YOUR_SEAT"
            past = pb.GetViewRequest(token=seats[0].token, version=1)
            assert await reason(served.stub.GetView(past)) == "MATCH_RUNNING"

    asyncio.run(run())


def test_after_the_end_every_version_can_be_seen_as_the_seat_saw_it(settings):
    async def run():
        async with playing(settings) as served:
            created, seats = await started(served)
            seen = {}
            for _ in range(6):
                shown = await view(served, seats[0].token)
                seen[shown.version] = shown
                await move(served, seats[shown.to_act[0]])
            for seat in seats:
                await served.stub.LeaveMatch(pb.LeaveMatchRequest(token=seat.token))
            spectator = await served.stub.Spectate(pb.SpectateRequest(match=created.match))
            last = spectator.view
            assert (last.status, last.reason) == ("aborted", "all_left")
            for version, shown in seen.items():
                again = await view(served, seats[0].token, version=version)
                again.ClearField("deadline")
                shown.ClearField("deadline")
                assert again == shown
            assert (await view(served, seats[0].token, version=0)).status == "lobby"
            assert await view(served, spectator.token, version=last.version) == last
            beyond = pb.GetViewRequest(token=spectator.token, version=last.version + 1)
            code, why, fields = await refused(served.stub.GetView(beyond))
            assert (code, why, fields) == ("OUT_OF_RANGE", "UNKNOWN_VERSION", {"version": str(last.version)})

    asyncio.run(run())


def test_spectators_see_the_table_and_no_hand(settings):
    async def run():
        async with playing(settings) as served:
            created, _ = await started(served)
            spectator = await served.stub.Spectate(pb.SpectateRequest(match=created.match))
            assert spectator.subject == f"view.{created.match}.table"
            assert spectator.view == await view(served, spectator.token)
            assert not spectator.view.HasField("seat")
            assert not spectator.view.timos_twist.HasField("own")
            assert not spectator.view.timos_twist.legal
            assert await reason(served.stub.Spectate(pb.SpectateRequest(match="000" + "a" * 22))) == "UNKNOWN_MATCH"

    asyncio.run(run())


def test_only_the_operator_aborts_and_once_there_is_one_only_he_creates(redis_url, nats_url):
    async def run():
        async with playing(with_operator(redis_url, nats_url)) as served:
            assert await refused(served.stub.CreateMatch(timos())) == ("PERMISSION_DENIED", "NOT_OPERATOR", {})
            created = await served.stub.CreateMatch(timos(), metadata=AS_OPERATOR)
            abort = pb.AbortMatchRequest(match=created.match, reason="enough")
            assert await reason(served.stub.AbortMatch(abort)) == "NOT_OPERATOR"
            wrong = (("authorization", "Bearer " + "p" * 32),)
            assert await reason(served.stub.AbortMatch(abort, metadata=wrong)) == "NOT_OPERATOR"
            assert (await served.stub.AbortMatch(abort, metadata=AS_OPERATOR)).version == 1
            shown = (await served.stub.Spectate(pb.SpectateRequest(match=created.match))).view
            assert (shown.status, shown.reason) == ("aborted", "enough")
            assert (await served.stub.AbortMatch(abort, metadata=AS_OPERATOR)).version == 1
            other = pb.AbortMatchRequest(match=created.match, reason="too much")
            assert await reason(served.stub.AbortMatch(other, metadata=AS_OPERATOR)) == "MATCH_OVER"

    asyncio.run(run())


def test_without_an_operator_nobody_aborts(settings):
    async def run():
        async with serving(settings) as served:
            abort = pb.AbortMatchRequest(match=match_id(bytes(16), 4), reason="enough")
            assert await reason(served.stub.AbortMatch(abort, metadata=AS_OPERATOR)) == "NOT_OPERATOR"

    asyncio.run(run())


def test_without_an_owner_views_are_unavailable_and_commands_unknown(settings, monkeypatch):
    """The client is told before its time is over; here it waits a minute longer than it says, however slow all is."""
    time_left = servicer._time_left
    monkeypatch.setattr(servicer, "_time_left", lambda context: (left := time_left(context)) and left - 60)

    async def run():
        async with serving(settings) as served:
            unowned = match_id(bytes(16), 4)
            assert await refused(served.stub.Spectate(pb.SpectateRequest(match=unowned))) == (
                "UNAVAILABLE", "NO_OWNER", {"match": unowned},
            )  # fmt: skip
            code, why, _ = await refused(served.stub.CreateMatch(timos(), timeout=60.6))
            assert (code, why) == ("DEADLINE_EXCEEDED", "OUTCOME_UNKNOWN")
            unknown = pb.GetJournalRequest(match=unowned)
            assert await reason(served.stub.GetJournal(unknown).read()) == "UNKNOWN_MATCH"

    asyncio.run(run())


def test_a_fault_leaves_as_internal_and_tells_nothing(settings):
    async def run():
        async with serving(settings) as served:

            async def broken(_partition: int):
                raise ValueError("the secret seed is 42")

            served.store.lobby = broken
            code, why, fields = await refused(served.stub.ListMatches(pb.ListMatchesRequest()))
            assert (code, why, fields) == ("INTERNAL", "INTERNAL", {})
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await served.stub.ListMatches(pb.ListMatchesRequest())
            assert "42" not in str(caught.value)
            assert served.count("refused_calls_total", reason="INTERNAL") == 2

    asyncio.run(run())


def test_the_journal_holds_no_request_id_and_no_token(settings):
    async def run():
        async with playing(settings) as served:
            identity = secret()
            created = await served.stub.CreateMatch(timos(identity))
            seat = await join(served, created.match, request_id=identity)
            lines = await served.store.lines(created.match)
            text = b"".join(lines)
            assert identity.hex().encode() not in text
            assert seat.token.encode() not in text
            assert json.loads(lines[1])["client_seed"] != identity.hex()
            assert isinstance(journal.read(lines[1]).body, journal.Joined)

    asyncio.run(run())
