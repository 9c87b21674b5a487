"""What the end-to-end tests share: calls of a match service, robots that play, what Redis keeps of their matches."""

import asyncio
import functools
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import grpc
import msgspec
import redis
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from croupier.v1 import match_service_pb2 as pb
from croupier.v1 import match_service_pb2_grpc as pb_grpc
from engine import journal
from engine.audit import Verdict, audit
from services import wire
from services.bus import Access
from services.client import Client, Seat
from services.random_player import RandomPlayer
from services.stack import Stack
from services.store.keys import journal_key
from tests.clusters import RedisCluster

PATIENCE_S = 90


def awaited(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an asynchronous test; it fails if it takes unreasonably long."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), PATIENCE_S))

    return run


async def until(holds: Callable[[], Any], within: float = 30) -> Any:
    """Return what becomes true."""
    async with asyncio.timeout(within):
        while not (found := holds()):  # noqa: ASYNC110 - what is waited for happens in other processes
            await asyncio.sleep(0.02)
    return found


def operator_key(stack: Stack) -> str:
    return stack.environment["CROUPIER_OPERATOR_KEY"]


def access(stack: Stack, service: str) -> Access:
    """How one of the stack's services connects to NATS."""
    return Access(user=service, password=stack.access.password(service))


async def refusal(call: Awaitable[Any]) -> tuple[str, str, dict[str, str]]:
    """The gRPC code, the reason and the metadata with which a call is refused; an empty reason if none is told."""
    try:
        answer = await call
    except grpc.aio.AioRpcError as error:
        status = rpc_status.from_call(error)
        info = error_details_pb2.ErrorInfo()
        if status is None or not status.details[0].Unpack(info):
            return error.code().name, "", {}
        assert info.domain == "croupier"
        return error.code().name, info.reason, dict(info.metadata)
    raise AssertionError(f"not refused: {answer}")


class Api:
    """The calls of one match service, as any client makes them."""

    def __init__(self, address: str, key: str) -> None:
        self.channel = grpc.aio.insecure_channel(address)
        self.stub = pb_grpc.MatchServiceStub(self.channel)
        self.operator = [("authorization", f"Bearer {key}")]

    async def create(self, game: str = "timos_twist", seats: int = 2, **fields: Any) -> pb.CreateMatchResponse:
        return await self.stub.CreateMatch(creation(game, seats, **fields), metadata=self.operator)

    async def join(self, match: str, name: str = "Ada", **fields: Any) -> pb.JoinMatchResponse:
        fields.setdefault("request_id", secrets.token_bytes(16))
        return await self.stub.JoinMatch(pb.JoinMatchRequest(match=match, name=name, **fields))

    async def started(self, game: str = "timos_twist", seats: int = 2, **fields: Any) -> list[pb.JoinMatchResponse]:
        match = (await self.create(game, seats, **fields)).match
        return [await self.join(match, f"Player {number}") for number in range(seats)]

    async def view(self, token: str, **fields: Any) -> Any:
        return (await self.stub.GetView(pb.GetViewRequest(token=token, **fields))).view

    async def submit(self, token: str, prompt: int, move: Any) -> int:
        return (await self.stub.SubmitMove(pb.SubmitMoveRequest(token=token, prompt=prompt, move=move))).version

    async def journal(self, match: str, **fields: Any) -> list[bytes]:
        answers = self.stub.GetJournal(pb.GetJournalRequest(match=match, **fields))
        return [line async for answer in answers for line in answer.lines]

    async def abort(self, match: str, reason: str = "the evening is over", **kwargs: Any) -> int:
        kwargs.setdefault("metadata", self.operator)
        return (await self.stub.AbortMatch(pb.AbortMatchRequest(match=match, reason=reason), **kwargs)).version

    async def advance(self, tokens: Sequence[str], stop: Callable[[Any], bool]) -> Any:
        """Make first legal moves for whoever is on turn until a view pleases; return that view, of the first seat.

        A turn of none of them is waited out: the clock plays for a seat that was left.
        """
        while True:
            view = await self.view(tokens[0])
            if stop(view) or view.status != "running":
                return view
            views = [(token, await self.view(token)) for token in tokens]
            on_turn = [(token, one) for token, one in views if number_in_game(one) in one.to_act]
            for token, mine in on_turn[:1]:
                await self.submit(token, *first_move(mine))


def number_in_game(view: Any) -> int:
    return next(seat.plays_as for seat in view.seats if seat.seat == view.seat)


def creation(game: str, seats: int, options: dict[str, Any] | None = None, **fields: Any) -> pb.CreateMatchRequest:
    fields.setdefault("request_id", secrets.token_bytes(16))
    return pb.CreateMatchRequest(
        options=wire.options_to_proto(game, options or {}), seats=[pb.SeatSetup(kind="open")] * seats, **fields
    )


def part(view: Any) -> Any:
    """The game's part of a View message."""
    return getattr(view, view.WhichOneof("game"))


def as_move(view: Any, legal: Any) -> Any:
    """A legal move of a view as a GameMove."""
    move = pb.SubmitMoveRequest().move
    getattr(move, view.WhichOneof("game")).CopyFrom(legal)
    return move


def first_move(view: Any) -> tuple[int, Any]:
    return view.prompt, as_move(view, part(view).legal[0])


@asynccontextmanager
async def api(stack: Stack, address: str | None = None) -> AsyncIterator[Api]:
    served = Api(address or stack.grpc, operator_key(stack))
    try:
        yield served
    finally:
        await served.channel.close()


@asynccontextmanager
async def connected(stack: Stack, address: str | None = None) -> AsyncIterator[Client]:
    client = await Client.connect(address or stack.grpc, stack.nats.url, operator_key(stack))
    try:
        yield client
    finally:
        await client.close()


# --- robots ----------------------------------------------------------------------------------------------------------


class Robot(RandomPlayer):
    """Keeps all that it was shown, and every receipt: version -> (seat, prompt, move)."""

    def __init__(self, seed: str) -> None:
        super().__init__(seed)
        self.receipts: dict[int, tuple[int, int, dict[str, Any]]] = {}
        self.moves = 0
        self.versions: list[int] = []
        self.seat: Seat
        self.plays = True

    def see(self, seat: Seat) -> None:
        self.seat = seat
        self.versions.append(seat.view["version"])
        if self.plays or seat.over:
            super().see(seat)

    async def send(self, seat: Seat, move: dict[str, Any], prompt: int) -> int:
        version = await super().send(seat, move, prompt)
        self.moves += 1
        self.receipts[version] = seat.number, prompt, move
        return version


class Played:
    """A match that robots play, each on a seat of its own."""

    def __init__(self, match: str, robots: list[Robot]) -> None:
        self.match = match
        self.robots = robots

    @property
    def seats(self) -> list[Seat]:
        return [robot.seat for robot in self.robots]

    @property
    def version(self) -> int:
        return max(robot.versions[-1] for robot in self.robots)

    async def end(self) -> "Played":
        """Return when every seat has seen the end and has every receipt."""
        await asyncio.gather(*(robot.end() for robot in self.robots))
        return self


async def begin(
    clients: Client | Sequence[Client], game: str, seats: int, options: dict[str, Any] | None = None, **fields: Any
) -> Played:
    """Seat robots, on several clients in turn; the match runs on return."""
    clients = [clients] if isinstance(clients, Client) else clients
    match, _ = await clients[0].create(game, seats, options, **fields)
    robots = [Robot(f"{game}/{number}") for number in range(seats)]
    for number, robot in enumerate(robots):
        await clients[number % len(clients)].join(match, f"Player {number}", robot.see)
    return Played(match, robots)


# --- what is kept ----------------------------------------------------------------------------------------------------


def kept(stack: Stack, match: str) -> list[tuple[bytes, bytes]]:
    """The lines and hashes of a journal as Redis has them."""
    key = journal_key(match)
    server = stack.redis.primary_of(key) if isinstance(stack.redis, RedisCluster) else stack.redis
    with redis.Redis.from_url(server.url) as client:
        entries = client.xrange(key)
    assert [number for number, _ in entries] == [b"%d-0" % (n + 1) for n in range(len(entries))]
    return [(fields[b"line"], fields[b"hash"]) for _, fields in entries]


def entries_of(stack: Stack, match: str) -> list[Any]:
    return [msgspec.json.decode(line) for line, _ in kept(stack, match)]


def audited(stack: Stack, match: str, last_hash: str) -> Verdict:
    """The verdict on what Redis has, against the hash that the players were told."""
    return audit([line for line, _ in kept(stack, match)], bytes.fromhex(last_hash))


def assert_sound(stack: Stack, played: Played) -> None:
    """The match ended the same for every seat, its journal is verified, and every receipt stands there exactly once."""
    views = [seat.view for seat in played.seats]
    assert {view["status"] for view in views} == {"finished"}
    public = [
        {name: view[name] for name in ("version", "result", "seed", "hash", "seats", "to_act", "rules")}
        for view in views
    ]
    assert all(one == public[0] for one in public)
    tables = [seat.part["table"] for seat in played.seats]
    assert all(table == tables[0] for table in tables)
    verdict = audited(stack, played.match, views[0]["hash"])
    assert (verdict.outcome, verdict.difference) == ("verified", None)
    entries = entries_of(stack, played.match)
    made = {
        entry["v"]: (entry["seat"], entry["prompt"], entry["move"])
        for entry in entries
        if entry["kind"] == "moved" and entry["by"] == "player"
    }
    receipts = {version: receipt for robot in played.robots for version, receipt in robot.receipts.items()}
    assert receipts == made
    assert sum(robot.moves for robot in played.robots) == len(made), "two moves got the receipt of one entry"


def is_end(line: bytes) -> bool:
    return isinstance(journal.read(line).body, journal.ENDS)
