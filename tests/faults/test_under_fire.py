"""Whatever single part fails under load: no accepted move is lost or made twice, all see the same, matches go on.

A short cut of `make faults`: fewer faults, each once.
"""

import asyncio
from collections.abc import Sequence

import pytest
from msgspec import structs

from tests.faults.faults import Fault, all_faults
from tests.faults.field import Field, Setup
from tests.faults.players import Row
from tests.faults.run import suffer, suffer_all

FEW = {"matches": 1, "automatic": 1}
FAULTS = {fault.name: fault for fault in all_faults()}
POINTS = [
    "worker killed during a commit",
    "worker killed after a commit",
    "worker killed between a refusal's acknowledgement and its receipt",
    "worker killed with half of a batch published",
    "two owners: one sleeps after a commit",
    "match service killed after appending to the intake",
]
PARTS = [
    "commands twice and late in the intake",
    "clients that vanish and ask another match service",
    "clients that return with an old version",
    "rolling restart of everything",
    "workers and match services come and go",
    "Redis out of memory",
    "one auth service killed",
    "all auth services killed",
]
NETWORK = [
    "messages lost between NATS and everybody",
    "connections to NATS cut in mid-message",
    "slow consumers",
]
ODD = [
    "Redis killed (fsync)",
    "power lost under Redis (fsync)",
    "commands shuffled and doubled on their way",
    "clock jumps forward by an hour",
    "clock jumps back by five seconds",
    "disk full under Redis (fsync)",
]
ALONE = ["one worker cut off from NATS", "disk full under Redis"]
GROUPS = {
    "workers at every step": POINTS,
    "parts, clients and operation": PARTS,
    "the network": NETWORK,
    "disks, clocks and the order of commands": ODD,
    "a worker alone, Redis without room": ALONE,
}
"""Those of a group share a stack that has whatever any of them needs: each takes seconds to start."""

pytestmark = pytest.mark.timeout(280)


def rows_of(names: Sequence[str]) -> list[Row]:
    faults = [FAULTS[name] for name in names]
    possible = [fault.setup for fault in faults if not fault.setup.missing()]
    shared = Setup(**{key: value for setup in possible for key, value in _differing(setup).items()})
    chosen = [
        structs.replace(fault, plan={**fault.plan, **FEW}, setup=shared if fault.setup in possible else fault.setup)
        for fault in faults
    ]

    async def collect() -> list[Row]:
        return [row async for row in suffer_all(chosen, 0.1, lambda _: None)]

    return asyncio.run(collect())


def _differing(setup: Setup) -> dict[str, object]:
    plain = structs.asdict(Setup())
    return {key: value for key, value in structs.asdict(setup).items() if value != plain[key]}


@pytest.mark.parametrize("names", GROUPS.values(), ids=GROUPS.keys())
def test_nothing_is_lost_made_twice_or_shown_differently_and_every_match_goes_on(names):
    rows = rows_of(names)
    assert [row.fault for row in rows] == names
    assert [(row.fault, row.told) for row in rows if not row.good] == []
    if skipped := [f"{row.fault}: {row.skipped}" for row in rows if row.skipped]:
        pytest.skip(f"all others are good, but not injected were {skipped}")


def test_a_server_that_loses_an_accepted_move_is_found_out(tmp_path):
    """The suite itself can fail: it notices a Redis that goes back to an earlier state under the services' feet."""

    async def forget(field: Field) -> None:
        assert field.players is not None
        with field.redis as client:
            journals = {key: client.dump(key) for key in client.keys("*:journal:*")}
            await field.players.make(10)
            for key, journal in journals.items():
                client.restore(key, 0, journal, replace=True)

    async def run() -> Row:
        async with Field(Setup(), tmp_path) as field:
            return await suffer(field, Fault("forgets", forget, plan={**FEW, "automatic": 0}), 1, 1, recovery_s=5.0)

    row = asyncio.run(run())
    assert not row.good
    assert row.lost > 0
