"""Claims about the verdict of `make soak`."""

import asyncio
import os

import pytest

from tests.faults.soak import Watched, resident, soak


@pytest.mark.parametrize(
    ("mib", "flat"),
    [
        ([50.0] * 60, True),
        ([20.0 + min(number, 20) * 2 for number in range(60)], True),
        ([50.0 + number % 7 for number in range(60)], True),
        ([50.0, 90.0] + [50.0] * 40 + [90.0] + [50.0] * 17, True),
        ([50.0 + 0.4 * number for number in range(60)], False),
        ([50.0] * 40 + [60.0] * 20, False),
    ],
    ids=["flat", "fills its caches", "noise", "a peak of a moment", "grows steadily", "a step near the end"],
)
def test_what_counts_as_growing(mib, flat):
    assert Watched("a process", mib).flat == flat


def test_memory_is_read_in_mib():
    before = resident([os.getpid()])
    filled = bytearray(os.urandom(1 << 20) * 32)
    assert 24 < resident([os.getpid()]) - before < 48
    assert len(filled) == 32 << 20
    assert resident([2**22 + 1]) == 0


@pytest.mark.timeout(120)
def test_every_process_is_watched_while_matches_are_played_and_audited():
    row, watched = asyncio.run(soak(5.0, 25.0, 1))
    assert row.good, row.told
    names = {one.name for one in watched}
    assert {"redis", "redis, data", "nats", "auth", "auth-2", "match", "match-2", "engine-0", "engine-1"} <= names
    assert all(mib > 1 for one in watched for mib in one.mib)
