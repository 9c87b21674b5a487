"""The stream of moves against a real worker, or an owner that answers when the test wants."""

import asyncio
import contextlib

import grpc
import pytest

from croupier.v1 import match_service_pb2 as pb
from services.commands import Receipt, match_id
from services.match.play import MAX_IN_FLIGHT
from services.play_stream import refused as as_client
from services.settings import Settings
from services.tokens import SeatClaim, Tokens
from tests.services.match_front import (
    TOKEN_KEY,
    ScriptedOwner,
    Served,
    playing,
    refusal_of,
    secret,
    serving,
    settings_for,
    timos,
    until,
)

MATCH = match_id(bytes(16), 4)


@pytest.fixture
def settings(redis_url: str, nats_url: str) -> Settings:
    return settings_for(redis_url, nats_url)


def token(seat: int = 0, match: str = MATCH, game: str = "timos_twist") -> str:
    return Tokens(TOKEN_KEY, 60, 4).for_seat(SeatClaim(match, seat, seat + 1, game))


def draw(number: int, handle: int = 0, prompt: int = 3) -> pb.Command:
    return pb.Command(id=number, handle=handle, prompt=prompt, move={"timos_twist": {"draw": {}}})


def attach(*tokens: str) -> list[pb.Attach]:
    return [pb.Attach(handle=handle, token=given) for handle, given in enumerate(tokens)]


def reason_of(refusal: pb.Refusal) -> str:
    return pb.RefusalReason.Name(refusal.reason)


async def receipts(call, count: int) -> dict[int, pb.Receipt]:
    """The next receipts by id; no more than `count` come."""
    found: dict[int, pb.Receipt] = {}
    while len(found) < count:
        response = await call.read()
        assert response is not grpc.aio.EOF
        for receipt in response.receipts:
            assert receipt.id not in found
            found[receipt.id] = receipt
    return found


def accepting(envelope) -> Receipt:
    return Receipt(envelope.id, version=envelope.command.prompt + 1)


async def started(served: Served, seats: int = 2) -> list[pb.JoinMatchResponse]:
    created = await served.stub.CreateMatch(timos(seats=seats))
    return [
        await served.stub.JoinMatch(pb.JoinMatchRequest(match=created.match, request_id=secret(), name=f"seat {n}"))
        for n in range(seats)
    ]


def test_matches_are_played_side_by_side_over_one_stream(settings):
    async def run():
        async with playing(settings) as served:
            matches = [await started(served) for _ in range(3)]
            call = served.stub.Play()
            seats = [seat for match in matches for seat in match]
            await call.write(pb.PlayRequest(attach=attach(*(seat.token for seat in seats))))
            attached = (await call.read()).attached
            assert [(one.handle, one.seat.seat, one.seat.tenure) for one in attached] == [
                (handle, seat.seat, seat.tenure) for handle, seat in enumerate(seats)
            ]
            open_matches = [0, 1, 2]
            moves = 0
            while open_matches and moves < 60:
                commands = []
                for number in list(open_matches):
                    shown = [
                        (await served.stub.GetView(pb.GetViewRequest(token=seat.token))).view
                        for seat in matches[number]
                    ]
                    if not shown[0].to_act:
                        open_matches.remove(number)
                        continue
                    on_turn = shown[0].to_act[0]
                    command = pb.Command(id=moves, handle=2 * number + on_turn, prompt=shown[on_turn].prompt)
                    command.move.timos_twist.CopyFrom(shown[on_turn].timos_twist.legal[0])
                    commands.append(command)
                    moves += 1
                if commands:
                    await call.write(pb.PlayRequest(commands=commands))
                    answers = await receipts(call, len(commands))
                    assert all(receipt.HasField("version") for receipt in answers.values())
            await call.done_writing()
            assert await call.read() is grpc.aio.EOF

    asyncio.run(run())


def test_commands_of_many_in_one_message_get_one_receipt_each(settings):
    owner = ScriptedOwner(settings)
    owner.decide = accepting

    async def run():
        async with owner.at_work(), serving(settings) as served:
            call = served.stub.Play()
            await call.write(
                pb.PlayRequest(
                    attach=attach(token(0), token(1)), commands=[draw(n, n % 2, prompt=n) for n in range(500)]
                )
            )
            answers = await receipts(call, 500)
            assert {number: receipt.version for number, receipt in answers.items()} == {n: n + 1 for n in range(500)}
            assert [(e.command.seat, e.command.prompt) for e in owner.arrived] == [(n % 2, n) for n in range(500)]
            assert owner.arrived[0].command.move == b'{"draw":{}}'
            assert served.count("open_streams", method="Play") == 1
            await call.done_writing()
            assert await call.read() is grpc.aio.EOF
            await until(lambda: not served.count("open_streams", method="Play"))

    asyncio.run(run())


def test_receipts_that_are_ready_together_leave_together(settings):
    owner = ScriptedOwner(settings)

    async def run():
        async with owner.at_work(), serving(settings) as served:
            call = served.stub.Play()
            await call.write(pb.PlayRequest(attach=attach(token()), commands=[draw(n) for n in range(200)]))
            assert (await call.read()).attached
            await until(lambda: len(owner.arrived) == 200)
            await owner.answer(*map(accepting, owner.arrived))
            assert len((await call.read()).receipts) == 200
            call.cancel()

    asyncio.run(run())


def test_what_is_refused_before_the_intake_says_why(settings):
    owner = ScriptedOwner(settings)

    async def run():
        async with owner.at_work(), serving(settings) as served:
            call = served.stub.Play()
            foreign = pb.Command(id=3, handle=0, move={"bombenziehen": {"draw": {}}})
            commands = [draw(1, handle=9), pb.Command(id=2, handle=0), foreign]
            await call.write(pb.PlayRequest(attach=attach(token()), commands=commands))
            answers = await receipts(call, 3)
            assert {number: reason_of(receipt.refusal) for number, receipt in answers.items()} == {
                1: "UNKNOWN_HANDLE", 2: "MALFORMED_MOVE", 3: "MALFORMED_MOVE",
            }  # fmt: skip
            assert owner.arrived == []
            call.cancel()

    asyncio.run(run())


def test_the_owners_refusals_come_with_their_fields(settings):
    owner = ScriptedOwner(settings)
    owner.decide = lambda envelope: Receipt(envelope.id, None, "STALE_PROMPT", "old", {"prompt": 9})

    async def run():
        async with owner.at_work(), serving(settings) as served:
            call = served.stub.Play()
            await call.write(pb.PlayRequest(attach=attach(token()), commands=[draw(1)]))
            refusal = (await receipts(call, 1))[1].refusal
            assert (reason_of(refusal), refusal.message, dict(refusal.metadata)) == (
                "STALE_PROMPT", "old", {"prompt": "9"},
            )  # fmt: skip
            call.cancel()

    asyncio.run(run())


def test_a_bad_token_attaches_nothing_and_a_new_seat_takes_over_its_handle(settings):
    owner = ScriptedOwner(settings)
    owner.decide = accepting

    async def run():
        async with owner.at_work(), serving(settings) as served:
            call = served.stub.Play()
            host = Tokens(TOKEN_KEY, 60, 4).for_host(MATCH)
            await call.write(pb.PlayRequest(attach=attach("forged", host, token(0))))
            attached = (await call.read()).attached
            assert [reason_of(one.refusal) for one in attached[:2]] == ["BAD_TOKEN", "NOT_YOUR_SEAT"]
            assert attached[2].seat == pb.SeatReference(match=MATCH, seat=0, tenure=1)
            over = [pb.Attach(handle=2, token=token(1))]
            await call.write(pb.PlayRequest(attach=over, commands=[draw(1, 2), draw(2, 0)]))
            answers = await receipts(call, 2)
            assert reason_of(answers[2].refusal) == "UNKNOWN_HANDLE"
            assert [envelope.command.seat for envelope in owner.arrived] == [1]
            call.cancel()

    asyncio.run(run())


def test_a_stream_has_so_many_commands_in_flight_and_no_more(settings):
    owner = ScriptedOwner(settings)

    async def run():
        async with owner.at_work(), serving(settings) as served:
            call = served.stub.Play()
            await call.write(
                pb.PlayRequest(attach=attach(token()), commands=[draw(n) for n in range(MAX_IN_FLIGHT + 10)])
            )
            refused = await receipts(call, 10)
            assert {reason_of(receipt.refusal) for receipt in refused.values()} == {"OVERLOADED"}
            assert sorted(refused) == list(range(MAX_IN_FLIGHT, MAX_IN_FLIGHT + 10))
            owner.decide = accepting
            await until(lambda: len(owner.arrived) == MAX_IN_FLIGHT)
            await owner.answer(*map(accepting, owner.arrived))
            await receipts(call, MAX_IN_FLIGHT)
            await call.write(pb.PlayRequest(commands=[draw(7)]))
            assert (await receipts(call, 1))[7].version == 4
            call.cancel()

    asyncio.run(run())


def test_a_seat_that_sends_too_fast_is_slowed_down_and_the_others_are_not(redis_url, nats_url):
    settings = settings_for(redis_url, nats_url, seat_rate=3)
    owner = ScriptedOwner(settings)
    owner.decide = accepting

    async def run():
        async with owner.at_work(), serving(settings) as served:
            call = served.stub.Play()
            fast = [draw(n, 0) for n in range(5)]
            await call.write(pb.PlayRequest(attach=attach(token(0), token(1)), commands=[*fast, draw(9, 1)]))
            answers = await receipts(call, 6)
            slowed = [number for number, receipt in answers.items() if receipt.HasField("refusal")]
            assert sorted(slowed) == [3, 4]
            assert reason_of(answers[3].refusal) == "RATE_LIMITED"
            call.cancel()

    asyncio.run(run())


def test_an_outcome_that_stays_unknown_is_a_receipt_too(redis_url, nats_url):
    settings = settings_for(redis_url, nats_url, deadline_ms=600, receipt_query_ms=100)

    async def run():
        async with serving(settings) as served:
            call = served.stub.Play()
            await call.write(pb.PlayRequest(attach=attach(token()), commands=[draw(1)]))
            assert reason_of((await receipts(call, 1))[1].refusal) == "OUTCOME_UNKNOWN"
            call.cancel()

    asyncio.run(run())


def test_a_client_that_ends_its_stream_gets_what_is_in_flight_first(settings):
    owner = ScriptedOwner(settings)

    async def run():
        async with owner.at_work(), serving(settings) as served:
            call = served.stub.Play()
            await call.write(pb.PlayRequest(attach=attach(token()), commands=[draw(1), draw(2)]))
            await call.done_writing()
            await until(lambda: len(owner.arrived) == 2)
            await asyncio.sleep(0.1)
            await owner.answer(*map(accepting, owner.arrived))
            assert set(await receipts(call, 2)) == {1, 2}
            assert await call.read() is grpc.aio.EOF
            assert await call.code() == grpc.StatusCode.OK

    asyncio.run(run())


def test_a_broken_stream_takes_nothing_back(settings):
    async def run():
        async with playing(settings) as served:
            seats = await started(served)
            shown = (await served.stub.GetView(pb.GetViewRequest(token=seats[0].token))).view
            seat = seats[shown.to_act[0]]
            mine = (await served.stub.GetView(pb.GetViewRequest(token=seat.token))).view
            command = pb.Command(id=1, handle=0, prompt=mine.prompt)
            command.move.timos_twist.CopyFrom(mine.timos_twist.legal[0])
            call = served.stub.Play()
            await call.write(pb.PlayRequest(attach=attach(seat.token)))
            await call.read()
            append = served.store.intake.append

            async def append_as_it_breaks(*args):
                call.cancel()
                await until(lambda: not served.count("open_streams", method="Play"))
                return await append(*args)

            served.store.intake.append = append_as_it_breaks
            await call.write(pb.PlayRequest(commands=[command]))

            async def is_moved() -> bool:
                now = (await served.stub.GetView(pb.GetViewRequest(token=seat.token))).view
                return now.version == mine.version + 1

            await until(is_moved)

    asyncio.run(run())


def test_a_service_that_stops_answers_what_is_in_flight_and_ends_the_stream(settings):
    owner = ScriptedOwner(settings)

    async def run():
        async with owner.at_work(), serving(settings) as served:
            call = served.stub.Play()
            await call.write(pb.PlayRequest(attach=attach(token()), commands=[draw(1)]))
            assert (await call.read()).attached
            await until(lambda: owner.arrived)
            stopping = asyncio.create_task(served.front.stop())
            await asyncio.sleep(0.1)
            await owner.answer(accepting(owner.arrived[0]))
            assert (await receipts(call, 1))[1].version == 4
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call.read()
            assert refusal_of(caught.value)[:2] == ("UNAVAILABLE", "INTERRUPTED")
            await stopping

    asyncio.run(run())


def test_a_client_whose_stream_ends_under_its_writes_is_not_told_that_the_server_failed(settings):
    """gRPC for Python says INTERNAL then, in the place of what the server said."""
    reasons: set[str] = set()

    async def write_until_it_ends(stub) -> None:
        call = stub.Play(wait_for_ready=True)
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            await call.write(pb.PlayRequest(attach=attach(token())))
            while True:
                await call.write(pb.PlayRequest(commands=[draw(1)]))
                await asyncio.sleep(0)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call.read()
        reasons.add(as_client(caught.value).reason)

    async def run():
        async with serving(settings) as served:
            served.front._service.stop()  # every stream ends at once
            for _ in range(20):
                await asyncio.gather(*(write_until_it_ends(served.stub) for _ in range(4)))

    asyncio.run(run())
    assert reasons <= {"INTERRUPTED", "UNAVAILABLE"}
