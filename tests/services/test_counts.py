"""What a move costs in things that can be counted, whatever the machine: round trips to Redis, commits, publishes,
flushes, work of the rules, encodings of views; for one move, and for a batch.

The service under test reaches its servers through a proxy that keeps what goes to and fro. What it does by the clock,
looking after leases and intakes once in a while, is stopped or left out.
"""

import asyncio
import math
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
import redis

from croupier.v1 import match_service_pb2 as pb
from engine.games.timos_twist import TimosTwist
from services.commands import Receipt, Submit, partition_of
from services.views import ViewEncoder
from tests.services.front import Gate, Intake, Running, Seat, encoded, in_loop, intake, until
from tests.services.match_front import Served, secret, serving, settings_for, timos, working

SEATS = 4
VIEWS = SEATS + 1
"""Of an entry: a view a seat, and that of spectators."""
NOTHING_READ = b"*-1\r\n"
HEALTH = {"TIME": 1}
"""The match service asks once a second whether Redis is there."""


class Wire:
    """A proxy before one server. An exchange is what a client sent until the server began to answer, and the answer."""

    def __init__(self, url: str) -> None:
        self._to = urlsplit(url)
        self.exchanges: list[tuple[bytearray, bytearray]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def up(self) -> AsyncIterator[str]:
        """The URL under which the server is to be reached."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            yield self._to._replace(netloc=f"127.0.0.1:{port}").geturl()
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(self._to.hostname, self._to.port)
        last: list[tuple[bytearray, bytearray]] = []

        async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, side: int) -> None:
            try:
                while data := await source.read(1 << 20):
                    if not last or (side == 0 and last[0][1]):
                        last[:] = [(bytearray(), bytearray())]
                        self.exchanges.append(last[0])
                    last[0][side].extend(data)
                    sink.write(data)
            except OSError:
                pass
            finally:
                sink.close()

        for work in (pump(reader, back, 0), pump(there, writer, 1)):
            task = asyncio.create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)


def commands(sent: bytes) -> list[str]:
    """The names of the Redis commands in some bytes; for a function its own name."""
    found, at = [], 0
    while at < len(sent):
        line = sent.index(b"\r\n", at)
        words, at = int(sent[at + 1 : line]), line + 2
        parts = []
        for _ in range(words):
            line = sent.index(b"\r\n", at)
            start = line + 2
            at = start + int(sent[at + 1 : line]) + 2
            parts.append(sent[start : at - 2])
        found.append((parts[1] if parts[0] == b"FCALL" else parts[0]).decode())
    return found


def trips(wire: Wire) -> list[Counter[str]]:
    """Each answered round trip to Redis, as how often it carries which command; no reads that found nothing."""
    return [
        Counter(commands(bytes(sent)))
        for sent, answered in wire.exchanges
        if answered and bytes(answered) != NOTHING_READ
    ]


def published(wire: Wire) -> Counter[str]:
    """How many messages went to NATS, by the first word of their subjects, and how often it was asked to confirm."""
    sent = b"".join(bytes(sent) for sent, _ in wire.exchanges)
    found = Counter(subject.decode() for subject in re.findall(rb"(?:^|\r\n)PUB (\w+)\.", sent))
    found["flushes"] = len(re.findall(rb"(?:^|\r\n)PING(?=\r\n)", sent))
    return found


class Counted:
    """A worker behind proxies that does nothing by the clock."""

    def __init__(self, front: Intake, running: Running, redis_wire: Wire, nats_wire: Wire) -> None:
        self.front, self.running, self.redis, self.nats = front, running, redis_wire, nats_wire

    async def batch(self, *moves: Submit) -> list[Receipt]:
        """Let it read commands in one go; afterwards `redis` and `nats` hold just what it did for them."""
        await self.front.settled()
        gate = self.running.store.before["read"] = Gate()
        await gate.closed_on_somebody()
        self.redis.exchanges.clear()
        self.nats.exchanges.clear()
        numbers = await self.front.send(*moves)
        del self.running.store.before["read"]
        gate.open()
        receipts = await self.front.answers(numbers)
        await self.quiet()
        return receipts

    async def quiet(self) -> None:
        """Return when everything is acknowledged, and what Redis said to that has come through the proxy."""
        await self.front.settled()
        await until(lambda: all(answered for sent, answered in self.redis.exchanges if b"XDEL" in sent))


@asynccontextmanager
async def counted(redis_url: str, nats_url: str) -> AsyncIterator[Counted]:
    redis_wire, nats_wire = Wire(redis_url), Wire(nats_url)
    async with redis_wire.up() as redis_there, nats_wire.up() as nats_there, intake(redis_url, nats_url) as front:
        running = await front.owner(redis_url=redis_there, nats_url=nats_there, lease_ms=60_000)
        running.freeze_leases()
        running.worker._next_tick = math.inf
        yield Counted(front, running, redis_wire, nats_wire)


async def matches(front: Intake, count: int, **options: Any) -> list[list[Seat]]:
    return [await front.match(seats=SEATS, **options) for _ in range(count)]


async def next_moves(front: Intake, started: list[list[Seat]]) -> list[Submit]:
    return [(await front.next_move(seats))[1] for seats in started]


async def two_players(served: Served) -> list[pb.JoinMatchResponse]:
    created = await served.stub.CreateMatch(timos(seats=2))
    return [
        await served.stub.JoinMatch(pb.JoinMatchRequest(match=created.match, request_id=secret(), name=f"seat {seat}"))
        for seat in range(2)
    ]


def waits_for_commands(redis_url: str) -> bool:
    """Whether a worker's read waits in Redis."""
    with redis.Redis.from_url(redis_url) as client:
        return bool(client.info("clients")["blocked_clients"])


def good(receipts: list[Receipt]) -> bool:
    return all(receipt.reason is None and receipt.appended for receipt in receipts)


@pytest.mark.parametrize("together", [1, 2, 12])
@in_loop
async def test_a_batch_takes_two_round_trips_and_one_flush_however_many_matches_it_holds(redis_url, nats_url, together):
    async with counted(redis_url, nats_url) as it:
        moves = await next_moves(it.front, await matches(it.front, together))
        assert good(await it.batch(*moves))
        partitions = len({partition_of(move.match) for move in moves})
        read, commit, acknowledge = trips(it.redis)
        assert read == {"XREAD": 1}
        assert commit == {"croupier_commit": 1, "XREAD": 1}
        assert acknowledge == {"XDEL": partitions, "XREAD": 1}
        assert published(it.nats) == {"view": together * VIEWS, "receipts": 1, "flushes": 1}


@in_loop
async def test_commands_that_came_behind_the_one_that_ended_a_wait_are_taken_along(redis_url, nats_url):
    async with counted(redis_url, nats_url) as it:
        started = await matches(it.front, 12)
        assert good(await it.batch(*await next_moves(it.front, started)))
        moves = await next_moves(it.front, started)
        await until(lambda: waits_for_commands(redis_url))
        it.redis.exchanges.clear()
        assert good(await it.front.answers(await it.front.send(*moves)))
        await it.quiet()
        commits = [trip["croupier_commit"] for trip in trips(it.redis) if "croupier_commit" in trip]
        assert commits == [1]


@in_loop
async def test_several_moves_of_one_match_are_one_commit(redis_url, nats_url):
    async with counted(redis_url, nats_url) as it:
        (seats,) = await matches(it.front, 1)
        folded = await it.front.folded(seats[0].match)
        moves = []
        for _ in range(3):
            seat = seats[folded.to_act[0]]
            move = seat.submit(folded.prompts[seat.seat], encoded(folded, folded.legal(seat.seat)[0]))
            folded.move(move.seat, move.tenure, move.prompt, move.move, folded.at)
            moves.append(move)
        assert good(await it.batch(*moves))
        assert trips(it.redis)[1:] == [{"croupier_commit": 1, "XREAD": 1}, {"XDEL": 1, "XREAD": 1}]
        assert published(it.nats) == {"view": 3 * VIEWS, "receipts": 1, "flushes": 1}


@in_loop
async def test_a_turn_clock_adds_no_round_trip(redis_url, nats_url):
    async with counted(redis_url, nats_url) as it:
        moves = await next_moves(it.front, await matches(it.front, 3, clock=60_000))
        assert good(await it.batch(*moves))
        partitions = len({partition_of(move.match) for move in moves})
        read, commit, acknowledge = trips(it.redis)
        assert (read, commit) == ({"XREAD": 1}, {"croupier_commit": 1, "XREAD": 1})
        assert acknowledge == {"XDEL": partitions, "ZREM": partitions, "XREAD": 1}


@in_loop
async def test_a_refusal_adds_one_round_trip_to_its_batch_and_publishes_no_view(redis_url, nats_url):
    async with counted(redis_url, nats_url) as it:
        moves = await next_moves(it.front, await matches(it.front, 2))
        bad = msgspec.structs.replace(moves[1], prompt=0)
        assert [receipt.reason for receipt in await it.batch(moves[0], bad)] == [None, "STALE_PROMPT"]
        assert [sorted(trip) for trip in trips(it.redis)] == [
            ["XREAD"],
            ["XREAD", "croupier_commit"],
            ["XDEL"],
            ["XDEL", "XREAD"],
        ]
        assert published(it.nats) == {"view": VIEWS, "receipts": 1, "flushes": 1}


@in_loop
async def test_redis_writes_a_move_twice_into_the_intake_and_into_the_journal(redis_url, nats_url):
    async with counted(redis_url, nats_url) as it:
        moves = await next_moves(it.front, await matches(it.front, 8))
        with redis.Redis.from_url(redis_url) as client:
            client.config_resetstat()
            assert good(await it.batch(*moves))
            calls = {
                name.removeprefix("cmdstat_"): found["calls"] for name, found in client.info("commandstats").items()
            }
        assert calls["xadd"] == 2 * len(moves)
        assert calls["fcall"] == 1
        written = {"set", "hset", "zadd", "zrem", "del", "expire", "hdel"} & calls.keys()
        assert written == set()
        assert calls["xrevrange"] == len(moves)
        assert calls["hmget"] == len({partition_of(move.match) for move in moves})


@in_loop
async def test_the_rules_look_at_each_state_once_and_every_view_is_encoded_once(redis_url, nats_url, monkeypatch):
    done: Counter[str] = Counter()

    def count(owner: type, name: str) -> None:
        original = getattr(owner, name)

        def counting(self: Any, *args: Any) -> Any:
            done[name] += 1
            return original(self, *args)

        monkeypatch.setattr(owner, name, counting)

    async with counted(redis_url, nats_url) as it:
        moves = await next_moves(it.front, await matches(it.front, 5))
        for name in ("apply", "table", "own", "legal", "told"):
            count(TimosTwist, name)
        count(ViewEncoder, "all_views")
        count(ViewEncoder, "view_json")
        assert good(await it.batch(*moves))
        assert done["apply"] == done["table"] == done["all_views"] == len(moves)
        assert done["own"] == SEATS * len(moves)
        assert done["legal"] <= SEATS * len(moves)
        assert done["told"] <= VIEWS * len(moves)
        assert done["view_json"] == 0


@pytest.mark.parametrize("together", [1, 12])
@in_loop
async def test_what_comes_in_one_message_of_play_goes_into_the_intake_in_one_round_trip(redis_url, nats_url, together):
    wire = Wire(redis_url)
    async with (
        wire.up() as there,
        working(settings_for(redis_url, nats_url)),
        serving(settings_for(there, nats_url)) as served,
    ):
        joined = [await two_players(served) for _ in range(together)]
        seats = [match[0] for match in joined]
        call = served.stub.Play()
        tokens = [pb.Attach(handle=number, token=seat.token) for number, seat in enumerate(seats)]
        await call.write(pb.PlayRequest(attach=tokens))
        attached = 0
        while attached < together:
            attached += len((await call.read()).attached)
        wire.exchanges.clear()
        stale = [
            pb.Command(id=number, handle=number, prompt=0, move={"timos_twist": {"draw": {}}})
            for number in range(together)
        ]
        await call.write(pb.PlayRequest(commands=stale))
        answered = 0
        while answered < together:
            answered += len((await call.read()).receipts)
        (append,) = [trip for trip in trips(wire) if trip != HEALTH]
        partitions = len({partition_of(seat.subject.split(".")[1]) for seat in seats})
        assert append["XADD"] == together
        assert append.keys() <= {"XADD", "XLEN"}
        assert append["XLEN"] <= partitions
        call.cancel()
