"""Moves: answered once, however often and wherever they are sent, and refused by name."""

import asyncio
import json

import grpc
import jwt
import pytest

from croupier.v1 import match_service_pb2 as pb
from services import wire
from services.stack import Stack
from tests.e2e.table import Api, api, as_move, awaited, entries_of, first_move, kept, part, refusal

MANY = 12


async def on_turn(front: Api, seats: list[pb.JoinMatchResponse]) -> tuple[str, object]:
    """The token and the view of a seat that owes a move."""
    views = [(seat.token, await front.view(seat.token)) for seat in seats]
    return next((token, view) for token, view in views if view.seat in view.to_act)


@awaited
async def test_two_seats_answer_a_sealed_vote_at_once_at_two_services(stack: Stack, second_match_service: str) -> None:
    """Both answers count, each is one entry, and the outcome does not depend on which came first."""
    async with api(stack) as one, api(stack, second_match_service) as other:
        for approves in ((True, False), (False, True), (False, False)):
            seats = await one.started("bluffing_billionaires", 3)
            tokens = [seat.token for seat in seats]
            before = await one.advance(tokens, lambda view: len(view.to_act) == 2)
            voters = list(before.to_act)
            answers = []
            for voter, approve in zip(voters, approves, strict=True):
                view = await one.view(tokens[voter])
                approval, challenge = part(view).legal
                assert (approval.WhichOneof("move"), challenge.WhichOneof("move")) == ("approve", "challenge")
                answers.append((tokens[voter], view.prompt, as_move(view, approval if approve else challenge)))
            versions = await asyncio.gather(one.submit(*answers[0]), other.submit(*answers[1]))
            assert sorted(versions) == [before.version + 1, before.version + 2]
            after = [await front.view(token) for front, token in zip((one, other, one), tokens, strict=True)]
            assert {view.version for view in after} == {before.version + 2}
            votes = [(vote.seat, vote.challenge) for vote in part(after[0]).table.votes]
            assert votes == [(voter, not approve) for voter, approve in zip(voters, approves, strict=True)]
            moved = entries_of(stack, after[0].match)[-2:]
            assert {entry["seat"] for entry in moved} == set(voters)


@awaited
async def test_an_answer_to_a_sealed_vote_shows_to_nobody_but_its_seat(stack: Stack) -> None:
    """While the vote is open others learn that the seat has answered; what, only itself."""
    async with api(stack) as front:
        shown = []
        for answer in (0, 1):
            seats = await front.started("bluffing_billionaires", 3)
            tokens = [seat.token for seat in seats]
            before = await front.advance(tokens, lambda view: len(view.to_act) == 2)
            voter, waiting = before.to_act
            view = await front.view(tokens[voter])
            await front.submit(tokens[voter], view.prompt, as_move(view, part(view).legal[answer]))
            assert part(await front.view(tokens[voter])).own.answer == ("approve", "challenge")[answer]
            others = [await front.view(tokens[seat]) for seat in range(3) if seat != voter]
            shown.append([
                (list(part(view).table.votes), [event.WhichOneof("event") for event in part(view).events])
                for view in others
            ])  # fmt: skip
            assert [list(view.to_act) for view in others] == [[waiting], [waiting]]
        assert shown[0] == shown[1] == [([], ["voted"]), ([], ["voted"])]


@awaited
async def test_a_move_sent_twice_is_one_entry(stack: Stack, second_match_service: str) -> None:
    """The repeat gets the receipt of the first: at once, later, at another service, and long after."""
    async with api(stack) as one, api(stack, second_match_service) as other:
        seats = await one.started()
        token, view = await on_turn(one, seats)
        move = first_move(view)
        version = await one.submit(token, *move)
        assert version == view.version + 1
        assert {await one.submit(token, *move), await other.submit(token, *move)} == {version}
        assert len(kept(stack, view.match)) == version + 1
        await one.advance([seat.token for seat in seats], lambda now: now.version > version + 6)
        assert {await one.submit(token, *move), await other.submit(token, *move)} == {version}


@awaited
async def test_a_move_sent_many_times_at_the_same_moment_is_one_entry(stack: Stack, second_match_service: str) -> None:
    """Whichever copy comes first is made; all get its receipt."""
    async with api(stack) as one, api(stack, second_match_service) as other:
        token, view = await on_turn(one, await one.started())
        move = first_move(view)
        versions = await asyncio.gather(*(front.submit(token, *move) for front in (one, other) for _ in range(MANY)))
        assert set(versions) == {view.version + 1}
        assert len(kept(stack, view.match)) == view.version + 2


@awaited
async def test_different_answers_to_one_prompt_at_the_same_moment(stack: Stack, second_match_service: str) -> None:
    """Exactly one is made; the others are stale."""
    async with api(stack) as one, api(stack, second_match_service) as other:
        seats = await one.started("bluffing_billionaires")
        token, view = await on_turn(one, seats)
        sends = [
            front.submit(token, view.prompt, as_move(view, legal))
            for front, legal in zip([one, other] * 4, part(view).legal, strict=False)
        ]
        outcomes = await asyncio.gather(*sends, return_exceptions=True)
        accepted = [outcome for outcome in outcomes if isinstance(outcome, int)]
        assert accepted == [view.version + 1]
        for outcome in outcomes:
            if not isinstance(outcome, int):
                assert (await refusal(raising(outcome)))[:2] == ("ABORTED", "STALE_PROMPT")


async def raising(error: BaseException) -> None:
    raise error


@awaited
async def test_a_move_for_an_old_prompt_is_stale(stack: Stack) -> None:
    """The refusal names the present prompt, and nothing changes."""
    async with api(stack) as front:
        seats = await front.started("bluffing_billionaires")
        token, view = await on_turn(front, seats)
        first, second = (as_move(view, legal) for legal in part(view).legal[:2])
        await front.submit(token, view.prompt, first)
        now = await front.view(token)
        code, reason, metadata = await refusal(front.submit(token, view.prompt, second))
        assert (code, reason) == ("ABORTED", "STALE_PROMPT")
        assert metadata["prompt"] == str(now.prompt) != str(view.prompt)
        assert (metadata["match"], metadata["seat"]) == (view.match, str(view.seat))
        assert await front.view(token) == now
        for prompt in (-1, 0, view.prompt - 1, now.prompt + 1, 2**31 - 1):
            assert (await refusal(front.submit(token, prompt, second)))[1] == "STALE_PROMPT"


@awaited
async def test_moves_that_are_none_are_refused_and_change_nothing(stack: Stack) -> None:
    """Malformed and illegal are two things; both leave view and journal as they were."""
    async with api(stack) as front:
        seats = await front.started()
        token, view = await on_turn(front, seats)
        waiting = next(seat.token for seat in seats if seat.token != token)
        hand = set(part(view).own.hand)
        foreign = next(card for card in ("blue-1", "green-1", "pink-1", "orange-1") if card not in hand)
        before = kept(stack, view.match)
        malformed = [
            pb.SubmitMoveRequest().move,
            wire.move_from_json("bombenziehen", b'{"draw":{}}'),
            pb.SubmitMoveRequest(move={"timos_twist": {}}).move,
            pb.SubmitMoveRequest(move={"timos_twist": {"play": {}}}).move,
            pb.SubmitMoveRequest(move={"generic": {"name": "timos_twist"}}).move,
        ]
        for move in malformed:
            code, reason, _ = await refusal(front.submit(token, view.prompt, move))
            assert (code, reason) == ("INVALID_ARGUMENT", "MALFORMED_MOVE"), move
        illegal = wire.move_from_json("timos_twist", json.dumps({"play": {"card": foreign}}).encode())
        code, reason, metadata = await refusal(front.submit(token, view.prompt, illegal))
        assert (code, reason) == ("FAILED_PRECONDITION", "ILLEGAL_MOVE")
        assert metadata["prompt"] == str(view.prompt)
        other = await front.view(waiting)
        not_his_turn = await refusal(front.submit(waiting, other.prompt, first_move(view)[1]))
        assert not_his_turn[:2] == ("FAILED_PRECONDITION", "ILLEGAL_MOVE")
        assert await front.view(token) == view
        assert await front.view(waiting) == other
        assert kept(stack, view.match) == before


@awaited
async def test_only_the_token_of_a_seat_moves_it(stack: Stack) -> None:
    """Missing, wrong, forged and foreign tokens are refused by name, and nothing changes."""
    async with api(stack) as front:
        created = await front.create()
        seats = [await front.join(created.match) for _ in range(2)]
        watching = await front.stub.Spectate(pb.SpectateRequest(match=created.match))
        token, view = await on_turn(front, seats)
        move = first_move(view)
        claims = jwt.decode(token, options={"verify_signature": False})
        head, body, signature = token.split(".")
        other_body = jwt.encode({**claims, "seat": 1 - claims["seat"]}, "k" * 32, "HS256").split(".")[1]
        forged = [
            "",
            "nonsense",
            "\N{SNOWMAN}" * 100,
            "a" * 5000,
            jwt.encode(claims, "k" * 32, "HS256"),
            jwt.encode(claims, None, "none"),
            jwt.encode({**claims, "exp": 1}, stack.environment["CROUPIER_TOKEN_KEY"], "HS256"),
            f"{head}.{other_body}.{signature}",
            f"{head}.{body}.",
        ]
        for wrong in forged:
            assert (await refusal(front.submit(wrong, *move)))[:2] == ("UNAUTHENTICATED", "BAD_TOKEN"), wrong[:40]
            assert (await refusal(front.view(wrong)))[:2] == ("UNAUTHENTICATED", "BAD_TOKEN"), wrong[:40]
        for role in (created.host_token, watching.token):
            assert (await refusal(front.submit(role, *move)))[:2] == ("PERMISSION_DENIED", "NOT_YOUR_SEAT")
        assert (await refusal(front.view(created.host_token)))[:2] == ("PERMISSION_DENIED", "NOT_YOUR_SEAT")
        start = front.stub.StartMatch(pb.StartMatchRequest(host_token=token))
        assert (await refusal(start))[:2] == ("PERMISSION_DENIED", "NOT_HOST")
        abroad = await front.started()
        foreign, elsewhere = await on_turn(front, abroad)
        await front.submit(foreign, elsewhere.prompt, first_move(elsewhere)[1])
        assert await front.view(token) == view


@pytest.mark.parametrize("size", [300_000, 3_000_000])
@awaited
async def test_a_message_over_the_limit_is_refused_and_hurts_nobody(stack: Stack, size: int) -> None:
    """RESOURCE_EXHAUSTED for it alone; the service goes on."""
    async with api(stack) as front:
        seats = await front.started()
        assert (await refusal(front.join("x" * size)))[0] == "RESOURCE_EXHAUSTED"
        stream = front.stub.Play()
        attach = pb.PlayRequest(attach=[pb.Attach(handle=1, token=seats[0].token)])
        await stream.write(attach)
        assert (await stream.read()).attached[0].seat.seat == 0
        await stream.write(pb.PlayRequest(attach=[pb.Attach(handle=2, token="x" * size)]))
        assert (await refusal(stream.read()))[0] == "RESOURCE_EXHAUSTED"
        token, view = await on_turn(front, seats)
        await front.submit(token, *first_move(view))


@awaited
async def test_a_stream_carries_many_seats_and_names_each_refusal(stack: Stack) -> None:
    """Every attach and every command gets one answer; a refusal ends no stream."""
    async with api(stack) as front:
        matches = [await front.started() for _ in range(3)]
        stream = front.stub.Play()
        turns = [await on_turn(front, seats) for seats in matches]
        attach = [pb.Attach(handle=number, token=token) for number, (token, _) in enumerate(turns)]
        await stream.write(pb.PlayRequest(attach=[*attach, pb.Attach(handle=9, token="none")]))
        moves = [first_move(view) for _, view in turns]
        commands = [pb.Command(id=n, handle=n, prompt=prompt, move=move) for n, (prompt, move) in enumerate(moves)]
        commands += [
            pb.Command(id=10, handle=9, prompt=moves[0][0], move=moves[0][1]),
            pb.Command(id=11, handle=0, prompt=moves[0][0]),
            pb.Command(id=12, handle=1, prompt=0, move=moves[1][1]),
            pb.Command(id=13, handle=2, prompt=moves[2][0], move=moves[2][1]),
        ]
        await stream.write(pb.PlayRequest(commands=commands))
        await stream.done_writing()
        attached, receipts = {}, {}
        while (response := await stream.read()) is not grpc.aio.EOF:
            attached |= {one.handle: one for one in response.attached}
            receipts |= {one.id: one for one in response.receipts}
        assert [attached[n].seat.match for n in range(3)] == [view.match for _, view in turns]
        assert attached[9].refusal.reason == pb.BAD_TOKEN
        assert [receipts[n].version for n in range(3)] == [view.version + 1 for _, view in turns]
        reasons = [receipts[n].refusal.reason for n in (10, 11, 12)]
        assert reasons == [pb.UNKNOWN_HANDLE, pb.MALFORMED_MOVE, pb.STALE_PROMPT]
        assert receipts[12].refusal.metadata["prompt"].isdecimal()
        assert receipts[13].version == receipts[2].version
