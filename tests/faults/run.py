"""Faults one after the other: play, let it happen, play on, end all matches, look at every journal."""

import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import groupby
from pathlib import Path

from tests.faults.faults import Fault
from tests.faults.field import Field
from tests.faults.players import RECOVERY_S, Row

MOVES_BETWEEN = 25


async def suffer(field: Field, fault: Fault, times: int, seed: int, recovery_s: float = RECOVERY_S) -> Row:
    """Let one fault happen so often; everything runs again on return. Matches may stand still for `recovery_s`."""
    row = Row(fault.name)
    players = field.gather(seed=seed, **fault.plan)
    try:
        await players.open()
        for _ in range(times):
            await players.make(MOVES_BETWEEN)
            await fault.inject(field)
            row.injected += 1
        stuck = await players.standing(recovery_s)
        row.stuck += len(stuck)
        row.told += stuck
    except Exception as error:  # noqa: BLE001 - the others go on
        row.failed += 1
        row.told.append(f"{fault.name}: {error!r}")
    finally:
        await field.whole()
        await players.end(row)
        await players.close()
    return row


async def suffer_all(
    faults: Sequence[Fault], times: float, begin: Callable[[Fault], None], seed: int = 1
) -> AsyncIterator[Row]:
    """Yield a row a fault; those that need the same stack share one. `times` multiplies how often each happens."""
    for setup, some in groupby(faults, key=lambda fault: fault.setup):
        group = list(some)
        if missing := setup.missing():
            for fault in group:
                yield Row(fault.name, skipped=missing)
            continue
        with tempfile.TemporaryDirectory(prefix="croupier-faults-", ignore_cleanup_errors=True) as place:
            async with Field(setup, Path(place)) as field:
                for fault in group:
                    begin(fault)
                    seed += 1
                    yield await suffer(field, fault, max(1, round(fault.times * times)), seed)
