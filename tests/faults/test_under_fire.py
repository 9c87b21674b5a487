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
CLOCKS = ["clock jumps forward by an hour", "clock jumps back by five seconds"]
GROUPS = {
    "workers at every step": POINTS,
    "parts, clients and operation": PARTS,
    "the network": NETWORK,
    "clocks": CLOCKS,
    "a worker alone": ["one worker cut off from NATS"],
    "Redis that syncs": ["Redis killed (fsync)"],
    "the order of commands": ["commands shuffled and doubled on their way"],
    "a full disk": ["disk full under Redis"],
}

pytestmark = pytest.mark.timeout(280)


def rows_of(names: Sequence[str]) -> list[Row]:
    chosen = [structs.replace(FAULTS[name], plan={**FAULTS[name].plan, **FEW}) for name in names]

    async def collect() -> list[Row]:
        return [row async for row in suffer_all(chosen, 0.1, lambda _: None)]

    return asyncio.run(collect())


@pytest.mark.parametrize("names", GROUPS.values(), ids=GROUPS.keys())
def test_nothing_is_lost_made_twice_or_shown_differently_and_every_match_goes_on(names):
    rows = rows_of(names)
    if all(row.skipped for row in rows):
        pytest.skip(rows[0].skipped)
    assert [row.fault for row in rows] == names
    assert [(row.fault, row.told) for row in rows if not row.good] == []


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
