"""Who floods is refused at once and told when to come back; the others, and later he himself, are served."""

import asyncio
import contextlib
import time

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status

from croupier.v1 import match_service_pb2 as pb
from croupier.v1 import view_pb2
from services.commands import match_id
from services.match.limits import address_of
from services.match.pace import Pace
from services.match.past import FOLDED_TOGETHER, FOLDS_WAITING
from tests.services.front import peek
from tests.services.match_front import (
    OPERATOR,
    playing,
    reason,
    refused,
    secret,
    serving,
    settings_for,
    timos,
    until,
    working,
)

AS_OPERATOR = (("authorization", f"Bearer {OPERATOR}"),)
QUICK_S = 2.0
"""Far above what a refusal takes, far below any deadline of a command here."""


async def counted(calls) -> dict[str, int]:
    """What became of calls, by reason; an empty one for success."""
    found: dict[str, int] = {}
    for outcome in await asyncio.gather(*calls, return_exceptions=True):
        why = ""
        if isinstance(outcome, grpc.aio.AioRpcError):
            why = (await refused(failed(outcome)))[1]
        found[why] = found.get(why, 0) + 1
    return found


async def failed(error: grpc.aio.AioRpcError):
    raise error


def retry_of(error: grpc.aio.AioRpcError) -> tuple[float, int]:
    """The seconds of RetryInfo and the milliseconds of the metadata."""
    status = rpc_status.from_call(error)
    info, delay = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    assert status.details[0].Unpack(info)
    assert status.details[1].Unpack(delay)
    return delay.retry_delay.ToTimedelta().total_seconds(), int(info.metadata["retry_ms"])


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:10.1.2.3:4567", "10.1.2.3"),
        ("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:80", "2001:db8:1:2::/64"),
        ("ipv6:[2001:db8:1:2:ffff::1]:80", "2001:db8:1:2::/64"),
        ("ipv6:[fe80::1%25eth0]:80", "fe80::/64"),
        ("ipv6:[::ffff:10.1.2.3]:80", "10.1.2.3"),
        ("unix:", "unix"),
        ("unix:/run/x.sock", "unix"),
        ("", ""),
    ],
)
def test_an_address_has_no_port_and_an_ipv6_one_is_a_network(peer: str, address: str):
    """Ports are free, and so are the 2^64 addresses of one customer: neither makes a new caller."""
    assert address_of(peer) == address


def test_a_bucket_says_when_it_has_room_again():
    pace = Pace(10)
    while pace.take("a", 100.0):
        pass
    wait = pace.wait_ms("a", 100.0)
    assert 1 <= wait <= 101
    assert not pace.take("a", 100.0 + wait / 1000 - 0.005)
    assert pace.take("a", 100.0 + wait / 1000)


class StoppedPace:
    """A pace whose time is the test's: it stands still until the test lets it go on."""

    def __init__(self, pace: Pace) -> None:
        self._pace, self.now = pace, 100.0

    def take(self, key: str, _now: float) -> bool:
        return self._pace.take(key, self.now)

    def wait_ms(self, key: str, _now: float) -> int:
        return self._pace.wait_ms(key, self.now)


def test_an_address_that_calls_too_often_is_refused_until_it_pauses(redis_url, nats_url):
    async def run():
        async with serving(settings_for(redis_url, nats_url, address_rate=20)) as served:
            limits = served.front._service.limits
            pace = limits._pace = StoppedPace(limits._pace)

            def calls(count: int):
                return [served.stub.ListGames(pb.ListGamesRequest(game="timos_twist")) for _ in range(count)]

            assert await counted(calls(200)) == {"": 20, "RATE_LIMITED": 180}
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await calls(1)[0]
            assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            seconds, millis = retry_of(caught.value)
            assert 50 <= millis <= 51
            assert seconds == millis / 1000
            pace.now += seconds
            assert await counted(calls(2)) == {"": 1, "RATE_LIMITED": 1}

    asyncio.run(run())


def test_an_address_has_so_many_streams_and_a_closed_one_makes_room(redis_url, nats_url):
    async def run():
        async with playing(settings_for(redis_url, nats_url, address_streams=3)) as served:
            created = await served.stub.CreateMatch(timos())
            token = (await served.stub.Spectate(pb.SpectateRequest(match=created.match))).token
            streams = [served.stub.WatchView(pb.WatchViewRequest(token=token)) for _ in range(3)]
            for stream in streams:
                assert (await stream.read()).view.status == "lobby"
            assert await reason(served.stub.WatchView(pb.WatchViewRequest(token=token)).read()) == "OVERLOADED"
            assert await reason(served.stub.Play().read()) == "OVERLOADED"
            assert (await served.stub.ListMatches(pb.ListMatchesRequest())).matches, "other calls go on"
            streams[0].cancel()
            await until(lambda: served.count("open_streams", method="WatchView") == 2)
            again = served.stub.WatchView(pb.WatchViewRequest(token=token))
            assert (await again.read()).view.status == "lobby"

    asyncio.run(run())


def test_health_and_reflection_count_for_an_address_like_all_calls(redis_url, nats_url):
    """Else one address could take all the calls that a service has room for, without a token."""

    async def run():
        async with serving(settings_for(redis_url, nats_url, address_streams=3, address_rate=40)) as served:
            health = health_pb2_grpc.HealthStub(served.channel)
            reflection = reflection_pb2_grpc.ServerReflectionStub(served.channel)
            watching = [health.Watch(health_pb2.HealthCheckRequest()) for _ in range(2)]
            for watch in watching:
                assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
            looking = reflection.ServerReflectionInfo()
            question = reflection_pb2.ServerReflectionRequest(list_services="")
            await looking.write(question)
            assert (await looking.read()).list_services_response.service
            for more in (
                health.Watch(health_pb2.HealthCheckRequest()),
                reflection.ServerReflectionInfo(),
                served.stub.Play(),
            ):
                assert await reason(more.read()) == "OVERLOADED"
            assert (await health.Check(health_pb2.HealthCheckRequest())).status, "a probe is no stream"
            watching[0].cancel()
            looking.cancel()

            async def room() -> bool:
                again = health.Watch(health_pb2.HealthCheckRequest())
                try:
                    return bool((await again.read()).status)
                except grpc.aio.AioRpcError:
                    return False

            await until(room)
            found = await counted(health.Check(health_pb2.HealthCheckRequest()) for _ in range(200))
            assert found.keys() == {"", "RATE_LIMITED"}
            await asyncio.sleep(1.5)
            assert (await health.Check(health_pb2.HealthCheckRequest())).status

    asyncio.run(run())


def test_views_of_ended_matches_wait_for_their_turn_and_are_refused_when_too_many_do(redis_url, nats_url):
    """Each of them folds a journal, at the cost of whoever serves it."""

    async def run():
        async with playing(settings_for(redis_url, nats_url, operator_key=OPERATOR)) as served:
            created = await served.stub.CreateMatch(timos(), metadata=AS_OPERATOR)
            for _ in range(2):
                await served.stub.JoinMatch(pb.JoinMatchRequest(match=created.match, request_id=secret(), name="A"))
            token = (await served.stub.Spectate(pb.SpectateRequest(match=created.match))).token
            await served.stub.AbortMatch(pb.AbortMatchRequest(match=created.match, reason="now"), metadata=AS_OPERATOR)
            turns = served.front._service._past._turns
            for _ in range(FOLDED_TOGETHER):
                await turns.__aenter__()

            def ask():
                return served.stub.GetView(pb.GetViewRequest(token=token, version=3))

            waiting = [ask() for _ in range(FOLDS_WAITING)]
            await until(lambda: turns._waiting == FOLDS_WAITING)
            assert await counted(ask() for _ in range(20)) == {"OVERLOADED": 20}
            assert (await served.stub.ListMatches(pb.ListMatchesRequest())) is not None, "other calls go on"
            for _ in range(FOLDED_TOGETHER):
                await turns.__aexit__()
            assert {(await call).view.version for call in waiting} == {3}
            assert (await ask()).view.version == 3

    asyncio.run(run())


def test_an_address_has_so_many_open_matches_and_one_that_ends_makes_room(redis_url, nats_url):
    """A create that is repeated is no new one."""

    async def run():
        settings = settings_for(redis_url, nats_url, address_matches=3)
        async with playing(settings) as served:
            ids = [secret() for _ in range(3)]
            created = [await served.stub.CreateMatch(timos(identity)) for identity in ids]
            for _ in range(2):
                assert await reason(served.stub.CreateMatch(timos())) == "TOO_MANY_MATCHES"
                assert (await served.stub.CreateMatch(timos(ids[0]))).match == created[0].match
            seats = [
                await served.stub.JoinMatch(pb.JoinMatchRequest(match=created[1].match, request_id=secret(), name="A"))
                for _ in range(2)
            ]
            for seat in seats:  # all humans leave a running match: it ends
                await served.stub.LeaveMatch(pb.LeaveMatchRequest(token=seat.token))

            hints = []

            async def room() -> bool:
                try:
                    await served.stub.CreateMatch(timos())
                except grpc.aio.AioRpcError as error:
                    hints.append(retry_of(error))
                    return False
                return True

            await until(room)
            assert set(hints) <= {(1.0, 1000)}
            assert await reason(served.stub.CreateMatch(timos())) == "TOO_MANY_MATCHES"

    asyncio.run(run())


def test_a_rematch_counts_for_the_address_that_opens_it(redis_url, nats_url):
    """And whoever joins one that is there needs no room of his own."""

    async def run():
        settings = settings_for(redis_url, nats_url, address_matches=1, max_entries=10)
        async with playing(settings) as served:
            created = await served.stub.CreateMatch(timos())
            joins = [pb.JoinMatchRequest(match=created.match, request_id=secret(), name="A") for _ in range(2)]
            tokens = [(await served.stub.JoinMatch(join)).token for join in joins]
            while (view := (await served.stub.GetView(pb.GetViewRequest(token=tokens[0]))).view).status == "running":
                token = tokens[view.to_act[0]]
                mine = (await served.stub.GetView(pb.GetViewRequest(token=token))).view
                move = view_pb2.GameMove(timos_twist=mine.timos_twist.legal[0])
                await served.stub.SubmitMove(pb.SubmitMoveRequest(token=token, prompt=mine.prompt, move=move))
            assert view.reason == "too_many_entries"
            rematches = [pb.RematchRequest(token=token, request_id=secret()) for token in tokens]
            first = await served.stub.Rematch(rematches[0])
            assert await reason(served.stub.CreateMatch(timos())) == "TOO_MANY_MATCHES"
            assert (await served.stub.Rematch(rematches[0])).tenure == first.tenure
            assert (await served.stub.Rematch(rematches[1])).match == first.match

    asyncio.run(run())


def test_the_operator_opens_as_many_matches_as_he_likes(redis_url, nats_url):
    async def run():
        async with playing(settings_for(redis_url, nats_url, address_matches=1, operator_key=OPERATOR)) as served:
            for _ in range(3):
                await served.stub.CreateMatch(timos(), metadata=AS_OPERATOR)

    asyncio.run(run())


def test_more_calls_than_a_service_has_room_for_are_refused_at_once(redis_url, nats_url):
    """Also of health and reflection, which have no limits of their own; and it serves again when there is room."""

    async def run():
        async with playing(settings_for(redis_url, nats_url, max_calls=10)) as served:
            created = await served.stub.CreateMatch(timos())
            token = (await served.stub.Spectate(pb.SpectateRequest(match=created.match))).token
            streams = [served.stub.WatchView(pb.WatchViewRequest(token=token)) for _ in range(10)]
            for stream in streams:
                await stream.read()
            began = time.monotonic()
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await served.stub.ListMatches(pb.ListMatchesRequest())
            assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            assert time.monotonic() - began < QUICK_S
            for stream in streams:
                stream.cancel()

            async def served_again() -> bool:
                try:
                    await served.stub.ListMatches(pb.ListMatchesRequest())
                except grpc.aio.AioRpcError:
                    return False
                return True

            await until(served_again)

    asyncio.run(run())


def test_a_full_intake_refuses_at_once_and_takes_commands_again_when_it_is_read(redis_url, nats_url):
    """Nobody reads: the intake fills up to its limit, and what is over it is refused at once, with a time to come back.
    What was taken is decided once a worker is there."""

    async def run():
        settings = settings_for(redis_url, nats_url, intake_limit=5, partitions=1, deadline_ms=60_000)
        async with serving(settings) as served:
            waiting = [asyncio.ensure_future(served.stub.CreateMatch(timos())) for _ in range(7)]

            async def full() -> bool:
                return await peek(served.store, "XLEN", "croupier:{0}:moves") >= 6

            await until(full)
            refusals = []
            began = time.monotonic()
            while not refusals:
                late = asyncio.ensure_future(served.stub.CreateMatch(timos()))
                done, _ = await asyncio.wait([late], timeout=0.2)
                (refusals if done else waiting).append(late)
                assert time.monotonic() - began < 20
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await refusals[0]
            assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            assert retry_of(caught.value)[1] > 0
            async with working(settings):
                await asyncio.gather(*waiting)
                await asyncio.sleep(0.3)
                await served.stub.CreateMatch(timos())

    asyncio.run(run())


@pytest.mark.parametrize(
    "messages",
    [
        [pb.PlayRequest(attach=[pb.Attach(handle=n, token="x.y.z") for n in range(10_000)])],
        [pb.PlayRequest(commands=[pb.Command(id=n, handle=n) for n in range(10_000)])],
        [pb.PlayRequest()] * 3000,
    ],
    ids=["tokens that are none", "commands of no seat", "nothing"],
)
def test_who_sends_what_no_seat_stands_behind_has_his_stream_ended(redis_url, nats_url, messages):
    """Thousands of forged seats, or of commands without a seat, in one message, or thousands of empty ones: the address
    is at its limit soon, and the stream ends."""

    async def run():
        async with playing(settings_for(redis_url, nats_url, address_rate=50)) as served:
            stream = served.stub.Play()
            answered = 0

            async def send() -> None:
                with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                    for message in messages:
                        await stream.write(message)

            sending = asyncio.create_task(send())

            async def to_the_end() -> None:
                nonlocal answered
                async for response in stream:
                    answered += len(response.attached) + len(response.receipts)

            with pytest.raises(grpc.aio.AioRpcError):  # which one, is open: the client may be in the middle of a write
                await to_the_end()
            await sending
            assert served.count("refused_calls_total", reason="RATE_LIMITED") == 1
            assert answered < 1000

    asyncio.run(run())


@pytest.mark.parametrize("arm", ["timos_twist", "generic"])
def test_a_move_as_long_as_a_message_is_refused_at_once_and_the_match_goes_on(redis_url, nats_url, arm):
    """Every character of it takes six in JSON, so that with its refusal it would fill more than one message of NATS."""

    async def run():
        async with playing(settings_for(redis_url, nats_url)) as served:
            created = await served.stub.CreateMatch(timos())
            seats = [
                await served.stub.JoinMatch(pb.JoinMatchRequest(match=created.match, request_id=secret(), name="A"))
                for _ in range(2)
            ]
            mover = seats[seats[1].view.to_act[0]]
            view = (await served.stub.GetView(pb.GetViewRequest(token=mover.token))).view
            request = pb.SubmitMoveRequest(token=mover.token, prompt=view.version)
            if arm == "generic":
                request.move.generic.name = "timos_twister"
                request.move.generic.data.update({"play": {"card": "\x01" * 200_000}})
            else:
                request.move.timos_twist.play.card = "\x01" * 200_000
            code, why, _ = await refused(served.stub.SubmitMove(request))
            assert (code, why) == ("INVALID_ARGUMENT", "MALFORMED_MOVE")
            stream = served.stub.Play()
            await stream.write(pb.PlayRequest(attach=[pb.Attach(handle=1, token=mover.token)]))
            await stream.read()
            command = pb.Command(id=7, handle=1, prompt=view.version, move=request.move)
            await stream.write(pb.PlayRequest(commands=[command]))
            receipt = (await stream.read()).receipts[0]
            assert (receipt.id, receipt.refusal.reason) == (7, pb.MALFORMED_MOVE)
            command.move.CopyFrom(view_pb2.GameMove(timos_twist=view.timos_twist.legal[0]))
            await stream.write(pb.PlayRequest(commands=[command]))
            assert (await stream.read()).receipts[0].version == view.version + 1

    asyncio.run(run())


def test_a_command_that_was_refused_for_the_load_never_was_one(redis_url, nats_url):
    """What was refused before the intake is not decided later."""

    async def run():
        settings = settings_for(redis_url, nats_url, intake_limit=1, partitions=1)
        async with serving(settings) as served:
            await peek(served.store, "XADD", "croupier:{0}:moves", "*", "c", b"x")
            await peek(served.store, "XADD", "croupier:{0}:moves", "*", "c", b"x")
            first = asyncio.ensure_future(served.stub.CreateMatch(timos()))  # tells how full it is

            async def appended() -> bool:
                return await peek(served.store, "XLEN", "croupier:{0}:moves") == 3

            await until(appended)
            identity = secret()
            began = asyncio.get_running_loop().time()
            while await reason(served.stub.CreateMatch(timos(identity))) != "OVERLOADED":
                assert asyncio.get_running_loop().time() - began < 20
                identity = secret()
            length = await peek(served.store, "XLEN", "croupier:{0}:moves")
            await asyncio.sleep(0.3)
            assert await peek(served.store, "XLEN", "croupier:{0}:moves") == length
            first.cancel()
            async with working(settings):
                match = match_id(identity, 1)
                assert await reason(served.stub.Spectate(pb.SpectateRequest(match=match))) == "UNKNOWN_MATCH"

    asyncio.run(run())
