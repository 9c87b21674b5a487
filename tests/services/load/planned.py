"""A plan of a load, the game that its tests play, and a coordinator of it with workers that only say what they saw."""

import asyncio
from typing import Any

import msgspec

from engine.registry import AnyGame
from services.load import talk
from services.load.checks import Checked
from services.load.coordinator import Coordinator
from services.load.cpu import Processes
from services.load.ending import Ended
from services.load.figures import Counts, Interval
from services.load.plan import Plan
from tests.services import played

PLAN = Plan(server="127.0.0.1:1", nats="nats://127.0.0.1:2", game="timos_twist", matches=4, seats=2, seconds=5)


SECRET = "knock knock"


def plan(**changes: Any) -> Plan:
    return msgspec.structs.replace(PLAN, **changes)


def timo() -> AnyGame:
    return next(game for game in played.GAMES if game.name == "timos_twist")


async def knock(address: str, secret: str) -> talk.Talk:
    found = await talk.Talk.connect(address)
    try:
        await found.ask_in(secret, "host", 7, 2)
    except talk.TalkError:
        await found.close()
        raise
    return found


async def fake_worker(address: str, fails: str = "", tells: str = "") -> list[range]:
    """Do as a worker does, with figures made up; return which slots it was given."""
    worker = await knock(address, SECRET)
    work = await worker.receive()
    worker.send(talk.Opened())
    assert isinstance(await worker.receive(), talk.Play)
    worker.send(talk.Seen(Interval(Counts(moves=1000), view={9_000_000: 1000}), measured=False))
    assert isinstance(await worker.receive(), talk.Measure)
    if fails:
        worker.send(talk.Failed(fails))
        await worker.close()
        return [work.share.slots]
    for _ in range(2):
        worker.send(talk.Seen(Interval(Counts(moves=10, cpu=0.1), view={1000: 10}, seconds=0.5), measured=True))
    assert isinstance(await worker.receive(), talk.Stop)
    worker.send(talk.Stopped(Interval(Counts(moves=5), view={4000: 5}, seconds=0.5), behind=3))
    worker.send(talk.Checking(1, 2))
    ended = Ended(unanswered=1, lost_views=2, problems=[tells] if tells else [])
    worker.send(talk.Done(Checked(matches=2, verified=2, moves=25), ended))
    await worker.close()
    return [work.share.slots]


def conducted(*workers: dict[str, str], processes: Processes | None = None) -> tuple[Coordinator, list[range]]:
    async def scene() -> tuple[Coordinator, list[range]]:
        coordinator = Coordinator(plan(seconds=0.5, warm_up=0.1), SECRET, processes or Processes({}))
        address = await coordinator.listen("127.0.0.1", 0)
        working = [asyncio.create_task(fake_worker(address, **more)) for more in workers]
        await coordinator.run(len(workers), 5, lambda: None)
        await coordinator.close()
        return coordinator, [slots for worker in working for slots in await worker]

    return asyncio.run(scene())
