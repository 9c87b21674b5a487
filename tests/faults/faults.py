"""The faults: each is one thing that goes wrong in the midst of play, and may be done again and again."""

import asyncio
import contextlib
import json
import signal
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import redis
from msgspec import Struct

from croupier.v1 import match_service_pb2_grpc as pb_grpc
from services.bus import FLUSH_TIMEOUT_S
from services.client import open_channel
from services.load.match import OpenMatch
from services.load.moves import submission
from services.load.nats_listener import Listener, NatsError
from services.store.exchange import IO_TIMEOUT_S
from services.store.servers import CONFIRM_MS
from tests.faults.field import LEASE_S, Field, Setup, free_bytes, start, until
from tests.faults.players import FickleMoves, return_with_old_versions
from tests.faults.trapped import FRONT_POINTS, WORKER_POINTS, set_trap

BLINK_S = 0.3
"""Shorter than a lease: nobody takes over."""
ZOMBIE_S = 2.5 * LEASE_S
AWAY_S = 1.0
SPREAD_S = 5.0
"""Within which partitions are spread evenly over whoever is there."""

Inject = Callable[[Field], Awaitable[None]]
DURING = {
    "read": "with commands in hand",
    "committing": "during a commit",
    "commit": "after a commit",
    "refused": "between a refusal's acknowledgement and its receipt",
    "publishing": "with half of a batch published",
    "publish": "between publishing and acknowledging",
    "acknowledge": "after acknowledging",
    "appending": "while appending to the intake",
    "append": "after appending to the intake",
}


class Fault(Struct, frozen=True):
    """`inject` does it once, and returns when it is over. `times`: how often in a full run."""

    name: str
    inject: Inject
    setup: Setup = Setup()
    times: int = 3
    plan: dict[str, Any] = {}
    """What is different about the players."""


def trapped(point: str, number: signal.Signals, away_s: float) -> Inject:
    async def inject(field: Field) -> None:
        trap = set_trap(field.folder, point, number)
        pestering = asyncio.create_task(_pester(field)) if point == "refused" else None
        try:
            process = await field.fallen(trap)
        finally:
            if pestering is not None:
                pestering.cancel()
                await asyncio.gather(pestering, return_exceptions=True)
        await asyncio.sleep(away_s)
        if number == signal.SIGKILL:
            await asyncio.to_thread(process.start)
        else:
            process.resume()

    return inject


async def _pester(field: Field) -> None:
    """Send moves that are refused."""
    assert field.players is not None
    while True:
        for crowd in field.players.crowds:
            seats = [seat for match in crowd.matches.values() for seat in match.seats if seat.view is not None]
            for seat in seats:
                for legal in crowd.sight.legal(seat.view)[:1]:
                    move = crowd.sight.move(legal)
                    request = submission(seat, 1_000_000, move)
                    with contextlib.suppress(grpc.aio.AioRpcError):
                        await crowd.stub.SubmitMove(request, timeout=1)
        await asyncio.sleep(0.02)


def at_points() -> list[Fault]:
    found = []
    for who, points in (("worker", WORKER_POINTS), ("match service", FRONT_POINTS)):
        for point in points:
            found += [
                Fault(f"{who} killed {DURING[point]}", trapped(point, signal.SIGKILL, 0.1)),
                Fault(f"{who} paused {DURING[point]}", trapped(point, signal.SIGSTOP, BLINK_S)),
            ]
    found += [
        Fault(f"two owners: one sleeps {DURING[point]}", trapped(point, signal.SIGSTOP, ZOMBIE_S), times=2)
        for point in WORKER_POINTS
    ]
    return found


# --- servers ---------------------------------------------------------------------------------------------------------


async def kill_redis(field: Field) -> None:
    await field.kill(field.stack.redis)


async def power_off_redis(field: Field) -> None:
    """Redis dies with its machine: what its disk was not told to sync is gone."""
    assert field.disk is not None
    await asyncio.to_thread(field.stack.redis.kill)
    field.disk.lose(field.stack.redis.folder / "appendonlydir")
    await start(field.stack.redis)


async def freeze_redis(field: Field) -> None:
    await field.freeze(field.stack.redis, AWAY_S)


async def freeze_redis_for_long(field: Field) -> None:
    await field.freeze(field.stack.redis, 2 * LEASE_S)


async def freeze_redis_beyond_timeouts(field: Field) -> None:
    await field.freeze(field.stack.redis, IO_TIMEOUT_S + CONFIRM_MS / 1000 + AWAY_S)


async def kill_nats(field: Field) -> None:
    await field.kill(field.stack.nats)


async def freeze_nats(field: Field) -> None:
    await field.freeze(field.stack.nats, AWAY_S)


async def freeze_nats_beyond_timeouts(field: Field) -> None:
    await field.freeze(field.stack.nats, FLUSH_TIMEOUT_S + 2 * AWAY_S)


async def kill_all(field: Field) -> None:
    await field.kill(*reversed(field.processes))


async def kill_workers(field: Field) -> None:
    await field.kill(*field.stack.engines)


async def fill_disk(field: Field) -> None:
    """Leave Redis no room for its file until it notices, and for a while longer; with `fsync` it gives up and ends."""
    folder = field.stack.redis.folder
    filler = folder / "filler"
    try:
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while free_bytes(folder) > 0:
                file.write(bytes(min(1 << 20, max(4096, free_bytes(folder)))))
        await until(lambda: not _writes(field), 20.0)
        await asyncio.sleep(AWAY_S)
    finally:
        filler.unlink()
    await start(field.stack.redis)
    await until(lambda: _writes(field), 20.0)


def _writes(field: Field) -> bool:
    try:
        return field.redis.info("persistence")["aof_last_write_status"] == "ok"
    except redis.exceptions.ConnectionError:
        return False


async def exhaust_memory(field: Field) -> None:
    field.redis.config_set("maxmemory", 100_000)
    try:
        with contextlib.suppress(redis.exceptions.ResponseError):
            field.redis.set("croupier-test-probe", 1)
            raise AssertionError("Redis still writes")
        await asyncio.sleep(AWAY_S)
    finally:
        field.redis.config_set("maxmemory", 0)


def jump(seconds: float) -> Inject:
    async def inject(field: Field) -> None:
        assert field.clock is not None
        before = field.redis.time()[0]
        field.clock.jump(seconds)
        assert abs(field.redis.time()[0] - before - seconds) <= 2, "Redis does not read this clock"

    return inject


# --- who may listen --------------------------------------------------------------------------------------------------


async def kill_one_auth(field: Field) -> None:
    """One auth service dies: the other lets everybody in, at once."""
    await asyncio.to_thread(field.auths[0].kill)
    for match in _open_matches(field):
        assert await _let_in(field, match.seats[0].token)
    assert not await _let_in(field, "not-a-token")
    await asyncio.to_thread(field.auths[0].start)
    field.auths.reverse()


async def freeze_one_auth(field: Field) -> None:
    """One takes questions and does not answer: whoever is not let in for that is, when he tries again."""
    field.auths[0].pause()
    try:
        token = _open_matches(field)[0].seats[0].token
        async with asyncio.timeout(60):
            while not await _let_in(field, token):
                pass
    finally:
        field.auths[0].resume()
    field.auths.reverse()


async def kill_all_auths(field: Field) -> None:
    """Nobody new gets in, with whatever token; who is in stays, and all matches go on."""
    assert field.players is not None
    for auth in field.auths:
        await asyncio.to_thread(auth.kill)
    token = _open_matches(field)[0].seats[0].token
    assert not any(await asyncio.gather(*(_let_in(field, shown) for shown in (token, "not-a-token", None))))
    stuck = await field.players.standing(20.0)
    assert not stuck, stuck
    await start(*field.auths)
    assert await _let_in(field, token)


def _open_matches(field: Field) -> list[OpenMatch]:
    assert field.players is not None
    return [match for match in field.players.matches if match.seats]


async def _let_in(field: Field, token: str | None) -> bool:
    """Whether NATS lets in who shows this."""
    listener = Listener([field.nats], lambda: None)
    try:
        await listener.connect(token)
    except NatsError:
        return False
    finally:
        listener.close()
    return True


# --- messages --------------------------------------------------------------------------------------------------------


async def lose_messages(field: Field) -> None:
    assert field.proxy is not None
    before = field.proxy.dropped
    field.proxy.loss = 0.1
    await until(lambda: field.proxy.dropped > before + 20, 60.0)
    field.proxy.loss = 0.0


async def cut_connections(field: Field) -> None:
    assert field.proxy is not None
    field.proxy.cut(but=0.3)


async def detach_worker(field: Field) -> None:
    """One worker reaches Redis but not NATS: the other has to go on with all matches meanwhile."""
    assert field.proxy is not None
    assert field.players is not None
    field.proxy.closed = True
    field.proxy.cut()
    try:
        stuck = await field.players.standing(20 * LEASE_S)
        assert not stuck, stuck
    finally:
        field.proxy.closed = False
    await field.even()


async def read_slowly(field: Field) -> None:
    """Somebody listens to everything and takes nothing, until NATS drops him for that."""
    before = _dropped(field)
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", field.stack.nats.port))
        login = {"verbose": False, "user": "observer", "pass": field.stack.access.password("observer")}
        deaf.sendall(b"CONNECT %b\r\nSUB view.> 1\r\n" % json.dumps(login).encode())
        await until(lambda: _dropped(field) > before, 30.0)


def _dropped(field: Field) -> int:
    return field.stack.nats.log_path.read_text().count("Slow Consumer")


async def repeat_commands(field: Field) -> None:
    """Append again, in any order, what the intakes hold and what comes in the next second."""
    async with asyncio.timeout(30):
        copied = 0
        while copied < 50:
            copied += await asyncio.to_thread(_copy_intake, field)
            await asyncio.sleep(0.05)


def _copy_intake(field: Field) -> int:
    copied = 0
    with field.redis as client:
        for partition in range(8):
            key = f"croupier:{{{partition}}}:moves"
            for _, fields in reversed(client.xrevrange(key, count=20)):
                client.xadd(key, fields)
                copied += 1
    return copied


async def play_on(field: Field) -> None:
    """What goes wrong goes wrong all the time."""
    assert field.players is not None
    await field.players.make(60)


# --- clients ---------------------------------------------------------------------------------------------------------


async def vanish(field: Field) -> None:
    """Let the players' calls break off, and be made again at the other match service."""
    assert field.players is not None
    async with contextlib.AsyncExitStack() as opened:
        stubs = []
        for server in field.servers:
            channel = open_channel(server)
            opened.push_async_callback(channel.close)
            stubs.append(pb_grpc.MatchServiceStub(channel))
        fickle = [FickleMoves(crowd, stubs) for crowd in field.players.crowds]
        before = {}
        for crowd, sender in zip(field.players.crowds, fickle, strict=True):
            for match in crowd.matches.values():
                before[match] = match.sender
                match.sender = sender
        await until(lambda: sum(sender.vanished for sender in fickle) > 100, 60.0)
        for match, sender in before.items():
            match.sender = sender
        await until(lambda: all(not crowd._tasks or _idle(crowd) for crowd in field.players.crowds), 30.0)


def _idle(crowd: Any) -> bool:
    return not any("FickleMoves" in repr(task.get_coro()) for task in crowd._tasks)


async def return_old(field: Field) -> None:
    assert field.players is not None
    for crowd in field.players.crowds:
        asked, wrong = await return_with_old_versions(crowd)
        assert not wrong, wrong
        assert asked


async def break_all(field: Field) -> None:
    """Every player's connections break at once; he comes back with the version that he has."""
    assert field.players is not None
    for crowd in field.players.crowds:
        for sender in crowd._senders.values():
            sender.drop()
        crowd.views.drop()


# --- operation -------------------------------------------------------------------------------------------------------


async def restart_everything(field: Field) -> None:
    """One part after the other, in order and under load."""
    assert field.players is not None
    for process in (*field.stack.engines, *field.matches, *field.auths, field.stack.nats, field.stack.redis):
        await field.restart(process)
        await field.players.make(20)


async def come_and_go(field: Field) -> None:
    """A worker more, one fewer, and the same for match services; partitions are spread evenly soon after each."""
    assert field.players is not None
    engines = field.stack.engines
    third = field.stack.service("engine", f"engine-{len(engines)}")
    engines.append(third)
    await asyncio.to_thread(third.start)
    await field.even(SPREAD_S)
    await field.players.make(20)
    await asyncio.to_thread(field.matches[1].stop)
    await field.players.make(20)
    await asyncio.to_thread(engines[0].stop)
    await field.even(SPREAD_S)
    await asyncio.to_thread(field.matches[1].start)
    await field.players.make(20)
    await asyncio.to_thread(engines[0].start)
    await asyncio.to_thread(third.stop)
    engines.remove(third)
    await field.even(SPREAD_S)


def all_faults() -> list[Fault]:
    proxied = Setup(proxied=True)
    clocked = Setup(clocked=True)
    fsync = Setup(durability="fsync")
    return [
        *at_points(),
        Fault("all workers killed", kill_workers),
        Fault("Redis killed (everysec)", kill_redis),
        Fault("Redis paused", freeze_redis),
        Fault("Redis paused for longer than a lease", freeze_redis_for_long),
        Fault("Redis paused beyond all timeouts", freeze_redis_beyond_timeouts, times=1),
        Fault("Redis out of memory", exhaust_memory),
        Fault("NATS killed", kill_nats),
        Fault("NATS paused", freeze_nats),
        Fault("NATS paused beyond all timeouts", freeze_nats_beyond_timeouts, times=1),
        Fault("one auth service killed", kill_one_auth),
        Fault("one auth service paused", freeze_one_auth),
        Fault("all auth services killed", kill_all_auths, times=2),
        Fault("everything killed at once", kill_all, times=2),
        Fault("commands twice and late in the intake", repeat_commands),
        Fault("clients that vanish and ask another match service", vanish, times=2),
        Fault("clients that return with an old version", return_old),
        Fault("clients' connections broken", break_all),
        Fault("rolling restart of everything", restart_everything, times=1, plan={"think_ms": 50.0}),
        Fault("workers and match services come and go", come_and_go, times=1),
        Fault("Redis killed (fsync)", kill_redis, fsync),
        Fault("power lost under Redis (fsync)", power_off_redis, Setup(durability="fsync", powered_off=True), times=5),
        Fault("commands shuffled and doubled on their way", play_on, Setup(shuffled=True)),
        Fault("messages lost between NATS and everybody", lose_messages, proxied),
        Fault("connections to NATS cut in mid-message", cut_connections, proxied, times=5),
        Fault("one worker cut off from NATS", detach_worker, Setup(detached=True), times=2),
        Fault("slow consumers", read_slowly, proxied, plan={"slow": 0.5, "think_ms": 5.0}),
        Fault("clock jumps forward by an hour", jump(3600.0), clocked, times=2),
        Fault("clock jumps back by five seconds", jump(-5.0), clocked, times=2),
        Fault("disk full under Redis", fill_disk, Setup(small_disk=True), times=2),
        Fault("disk full under Redis (fsync)", fill_disk, Setup(small_disk=True, durability="fsync"), times=2),
    ]
