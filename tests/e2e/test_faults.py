"""Parts that die in mid-match. Nothing that was accepted is lost or made twice; every match ends and is verified."""

import asyncio
import time
from collections.abc import Callable, Iterator

import pytest

from services.client import Client
from services.local_process import LocalProcess
from services.stack import Stack
from tests.e2e.conftest import address
from tests.e2e.table import Played, assert_sound, awaited, begin, connected, until

PAUSE_S = 2.0
"""Well above the lease of these stacks: time enough for a takeover."""
MOVES_BEFORE = 20

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def whole(shaken_stack: Stack) -> Iterator[Stack]:
    """The stack with all its parts running, before and after."""
    yield shaken_stack
    for process in (
        shaken_stack.redis, shaken_stack.nats, shaken_stack.auth, *shaken_stack.engines, shaken_stack.match
    ):  # fmt: skip
        process.start()


async def begin_some(clients: Client | list[Client]) -> list[Played]:
    """Matches long enough to be caught in their middle."""
    return [
        await begin(clients, "timos_twist", 3, {"target": 150}),
        await begin(clients, "bluffing_billionaires", 4, {"games": 4}),
        await begin(clients, "bombenziehen", 4),
    ]


def together(running: list[Played]) -> int:
    return sum(played.version for played in running)


async def through(stack: Stack, fault: Callable[[], None], **changes) -> list[Played]:
    """Play, let the fault happen in the middle, play on to the end; return the matches, all found sound."""
    async with connected(stack, **changes) as client:
        running = await begin_some(client)
        await until(lambda: together(running) > 2 * MOVES_BEFORE)
        assert any(not seat.over for played in running for seat in played.seats)
        await asyncio.to_thread(fault)
        await asyncio.gather(*(played.end() for played in running))
    for played in running:
        assert_sound(stack, played)
    stack.check()
    return running


def killed(process: LocalProcess) -> Callable[[], None]:
    def fault() -> None:
        process.kill()
        time.sleep(0.5)
        process.start()

    return fault


@awaited
async def test_the_match_service_stops_in_order_and_comes_back(whole: Stack) -> None:
    """Its clients connect again and send again what had no receipt."""
    await through(whole, whole.match.restart)


@awaited
async def test_the_match_service_dies_and_comes_back(whole: Stack) -> None:
    await through(whole, killed(whole.match))


@awaited
async def test_tokens_that_have_expired_are_renewed(whole: Stack) -> None:
    """On a new stream, and for views, by repeating the join: the match goes on."""
    async with connected(whole) as client:
        running = await begin_some(client)
        await until(lambda: together(running) > 2 * MOVES_BEFORE)
        for played in running:
            for seat in played.seats:
                seat.token = "expired"
        await asyncio.to_thread(whole.match.restart)
        await running[0].seats[0].heal()
        await asyncio.gather(*(played.end() for played in running))
    for played in running:
        assert_sound(whole, played)


@awaited
async def test_the_match_service_dies_and_another_one_goes_on(whole: Stack) -> None:
    """A client that knows two addresses plays on at the one that is left."""
    with whole.service("match", "match-2", grpc_port=0) as second:
        await through(whole, second.kill, address=f"ipv4:{address(second)},{whole.grpc}")


@awaited
async def test_a_worker_dies_and_the_other_takes_over(whole: Stack) -> None:
    """Within the lease, without help; all matches end while the dead one stays dead."""
    dead, alive = whole.engines
    async with connected(whole) as client:
        running = await begin_some(client)
        await until(lambda: together(running) > 2 * MOVES_BEFORE)
        await asyncio.to_thread(dead.kill)
        await asyncio.gather(*(played.end() for played in running))
    assert alive.running
    assert not dead.running
    for played in running:
        assert_sound(whole, played)


@awaited
async def test_a_worker_stops_in_order_and_the_other_takes_over(whole: Stack) -> None:
    await through(whole, whole.engines[1].restart)


@awaited
async def test_all_workers_die_and_come_back(whole: Stack) -> None:
    """Commands wait meanwhile, views are not answered, and all goes on where it was."""

    def fault() -> None:
        for worker in whole.engines:
            worker.kill()
        time.sleep(0.5)
        for worker in whole.engines:
            worker.start()

    await through(whole, fault)


@awaited
async def test_a_worker_that_wakes_up_as_a_zombie_writes_nothing(whole: Stack) -> None:
    """Stopped for longer than its lease it finds its partitions taken; two turns of that change no match."""

    def fault() -> None:
        for worker in whole.engines:
            worker.pause()
            time.sleep(PAUSE_S)
            worker.resume()

    await through(whole, fault)


@awaited
async def test_redis_dies_and_comes_back_with_its_file(whole: Stack) -> None:
    """What it has answered is in its append-only file; the services connect again."""
    await through(whole, killed(whole.redis))


@awaited
async def test_nats_dies_and_comes_back(whole: Stack) -> None:
    """Nothing is published or acknowledged meanwhile; views that were missed are asked for."""
    await through(whole, killed(whole.nats))


@awaited
async def test_nats_is_away_while_a_match_goes_on(whole: Stack) -> None:
    """Clients whose connection to NATS alone breaks again and again miss views and heal them."""
    async with connected(whole) as client:
        running = await begin_some(client)
        for _ in range(3):
            version = together(running)
            await until(lambda before=version: together(running) > before + MOVES_BEFORE)
            for bus in [seat.bus for seat in client._seats if seat.bus.connected]:
                bus._client._transport.close()
        await asyncio.gather(*(played.end() for played in running))
    for played in running:
        assert_sound(whole, played)


@awaited
async def test_everything_dies_and_comes_back(whole: Stack) -> None:
    """A machine that loses its power: every process at once."""

    def fault() -> None:
        processes = [whole.redis, whole.nats, whole.auth, *whole.engines, whole.match]
        for process in reversed(processes):
            process.kill()
        for process in processes:
            process.start()

    await through(whole, fault)
