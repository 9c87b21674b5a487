"""Redis without room: in memory, below its `maxmemory`, or on the disk for its append-only file.

What reaches nobody is refused with the reason; what can go on goes on; once there is room all is as before.
"""

import contextlib
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from croupier.v1 import match_service_pb2 as pb
from engine.audit import audit
from services.commands import partition_of
from services.settings import Durability
from services.stack import Stack
from services.store.keys import ended_key, journal_key
from tests.e2e.conftest import counted, environment, shared
from tests.e2e.table import Api, api, awaited, first_move, number_in_game, refusal, until

REASONS = {"full": "memory", "disk": "disk"}
"""By what is counted, what clients are told."""

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def stack(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("full")
    env = environment() | {"CROUPIER_ARCHIVE": str(folder / "archive"), "CROUPIER_ARCHIVE_EVERY_S": "1"}
    with Stack(folder, durability=Durability(request.param), env=env) as stack:
        shared(stack)
        yield stack


def client_of(stack: Stack) -> redis.Redis:
    return redis.Redis.from_url(stack.redis.url)


@contextlib.contextmanager
def without_room(stack: Stack, kind: str) -> Iterator[None]:
    with client_of(stack) as client:
        if kind == "full":
            client.config_set("maxmemory", 100_000)
        else:
            size = max(path.stat().st_size for path in stack.redis.folder.rglob("*.aof"))
            _limit_files(stack, size)
        try:
            yield
        finally:
            client.config_set("maxmemory", 0)
            _limit_files(stack, resource.RLIM_INFINITY)


def _limit_files(stack: Stack, size: int) -> None:
    """Let no file that Redis writes become longer: as far as Redis can see, the disk is full."""
    if sys.platform == "linux":
        _, hard = resource.prlimit(stack.redis.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(stack.redis.pid, resource.RLIMIT_FSIZE, (size, hard))


def on_disk(stack: Stack) -> bool:
    with client_of(stack) as client:
        return client.info("persistence")["aof_last_write_status"] == "ok"


def length(stack: Stack, match: str) -> int:
    with client_of(stack) as client:
        return int(client.xlen(journal_key(match)))


def segments(stack: Stack) -> list[Path]:
    return list(Path(stack.environment["CROUPIER_ARCHIVE"]).rglob("*.zst"))


async def to_move(front: Api, tokens: list[str]) -> tuple[str, int, object]:
    """Who is on turn, by his token, his prompt and a legal move."""
    for token in tokens:
        view = await front.view(token)
        if number_in_game(view) in view.to_act:
            return token, *first_move(view)
    raise AssertionError("nobody is on turn")


def failures(stack: Stack, reason: str) -> float:
    services = (stack.match, *stack.engines)
    return sum(counted(service, "store_failures_total", reason=reason) for service in services)


@pytest.mark.parametrize(
    ("stack", "kind"), [("everysec", "full"), ("everysec", "disk"), ("fsync", "full")], indirect=["stack"]
)
@awaited
async def test_commands_are_refused_for_want_of_room_without_effect_and_taken_once_there_is_some(
    stack: Stack, kind: str
) -> None:
    """By unary calls and on a stream, with the time to wait; what can be read is read, and the reason is counted."""
    if kind == "disk" and sys.platform != "linux":
        pytest.skip("how long a file of another process may become can be set on Linux alone")
    async with api(stack) as front:
        seats = await front.started("timos_twist", 2)
        match, tokens = seats[0].view.match, [seat.token for seat in seats]
        waiting = (await front.create("timos_twist", 2)).match
        token, prompt, move = await to_move(front, tokens)
        before, counts = length(stack, match), failures(stack, kind)
        with without_room(stack, kind):
            if kind == "disk":
                await until(lambda: not on_disk(stack))
            expected = "RESOURCE_EXHAUSTED", "OVERLOADED", "2000"
            for call in (front.submit(token, prompt, move), front.create(), front.join(waiting)):
                code, reason, facts = await refusal(call)
                assert (code, reason, facts.get("retry_ms")) == expected
            stream = front.stub.Play()
            await stream.write(pb.PlayRequest(attach=[pb.Attach(handle=0, token=token)]))
            await stream.read()
            await stream.write(pb.PlayRequest(commands=[pb.Command(id=1, handle=0, prompt=prompt, move=move)]))
            told = (await stream.read()).receipts[0].refusal
            assert told.reason == pb.RefusalReason.OVERLOADED
            assert f"no room left ({REASONS[kind]}); the command had no effect" in told.message
            stream.cancel()
            assert (await front.view(tokens[0])).version == before - 1
            listed = (await front.stub.ListMatches(pb.ListMatchesRequest(match=waiting))).matches
            assert [one.match for one in listed] == [waiting]
            assert failures(stack, kind) > counts
            assert counted(stack.match, "serving") == 1, "another match service would be no better"
        if kind == "disk":
            await until(lambda: on_disk(stack))
        assert length(stack, match) == before
        assert await front.submit(token, prompt, move) == before
        assert await front.submit(token, prompt, move) == before
        assert (await front.join(waiting)).seat == 0
        await front.abort(match)
        end = await front.view(tokens[0])
        assert audit(await front.journal(match), bytes.fromhex(end.hash)).outcome == "verified"


@pytest.mark.parametrize("stack", ["everysec"], indirect=True)
@awaited
async def test_a_full_redis_keeps_its_owners_takes_new_ones_and_is_archived_from(stack: Stack) -> None:
    """What makes room may not need room: the archiver goes on. A worker that was restarted is there when room comes."""
    async with api(stack) as front:
        seats = await front.started("bluffing_billionaires", 2)
        match = seats[0].view.match
        await front.abort(match)
        with without_room(stack, "full"), client_of(stack) as client:
            waits = ended_key(partition_of(match)), match
            assert client.zscore(*waits), "it is archived five seconds after its end at the earliest"
            for worker in stack.engines:
                worker.restart()
            await until(lambda: [counted(worker, "partitions_owned") for worker in stack.engines] == [4, 4])
            await until(lambda: client.zscore(*waits) is None)
            assert client.ttl(journal_key(match)) > 0
        assert segments(stack)
        assert (await front.create()).match
