"""The match after the match."""

import asyncio

from croupier.v1 import match_service_pb2 as pb
from services.match.past import rematch_id
from tests.services.match.called import AS_OPERATOR, aborted, join, with_operator
from tests.services.match_front import playing, reason, secret, timos


def test_everybody_finds_the_same_rematch_on_his_old_seat(redis_url, nats_url):
    async def run():
        async with playing(with_operator(redis_url, nats_url)) as served:
            created = await served.stub.CreateMatch(timos(clock_ms=5000), metadata=AS_OPERATOR)
            seats = [await join(served, created.match, name) for name in ("Änne", "Bo")]
            rematch = served.stub.Rematch
            early = pb.RematchRequest(token=seats[1].token, request_id=secret())
            assert await reason(rematch(early)) == "MATCH_RUNNING"
            await aborted(served, created.match)
            identity = secret()
            first = await rematch(pb.RematchRequest(token=seats[1].token, request_id=identity))
            assert first.match == rematch_id(created.match, 4)
            assert (first.seat, first.view.seats[1].name) == (1, "Bo")
            assert first.view.options == created.view.options
            assert (first.view.clock, first.view.rules) == (5000, created.view.rules)
            assert first.HasField("host_token")
            again = await rematch(pb.RematchRequest(token=seats[1].token, request_id=identity))
            assert (again.match, again.seat, again.tenure) == (first.match, first.seat, first.tenure)
            assert again.host_token, "an answer that was lost takes no host along"
            second = await rematch(pb.RematchRequest(token=seats[0].token, request_id=secret()))
            assert (second.match, second.seat, second.view.status) == (first.match, 0, "running")
            assert not second.HasField("host_token")
            await served.stub.LeaveMatch(pb.LeaveMatchRequest(token=second.token))

    asyncio.run(run())


def test_who_finds_his_seat_taken_gets_another_also_when_he_asks_again(redis_url, nats_url):
    async def run():
        async with playing(with_operator(redis_url, nats_url)) as served:
            created = await served.stub.CreateMatch(timos(seats=3), metadata=AS_OPERATOR)
            seats = [await join(served, created.match, f"seat {n}") for n in range(3)]
            await aborted(served, created.match)
            first = await served.stub.Rematch(pb.RematchRequest(token=seats[0].token, request_id=secret()))
            await join(served, first.match, "a stranger", seat=1)
            identity = secret()
            moved = await served.stub.Rematch(pb.RematchRequest(token=seats[1].token, request_id=identity))
            assert moved.seat == 2
            again = await served.stub.Rematch(pb.RematchRequest(token=seats[1].token, request_id=identity))
            assert (again.seat, again.tenure) == (moved.seat, moved.tenure)
            late = pb.RematchRequest(token=seats[2].token, request_id=secret())
            assert await reason(served.stub.Rematch(late)) == "MATCH_STARTED"

    asyncio.run(run())


def test_who_has_left_has_no_rematch(redis_url, nats_url):
    async def run():
        async with playing(with_operator(redis_url, nats_url)) as served:
            created = await served.stub.CreateMatch(timos(), metadata=AS_OPERATOR)
            seat = await join(served, created.match)
            await served.stub.LeaveMatch(pb.LeaveMatchRequest(token=seat.token))
            await aborted(served, created.match)
            rematch = pb.RematchRequest(token=seat.token, request_id=secret())
            assert await reason(served.stub.Rematch(rematch)) == "NOT_YOUR_SEAT"
            assert await reason(served.stub.Rematch(pb.RematchRequest(token="x", request_id=secret()))) == "BAD_TOKEN"

    asyncio.run(run())
