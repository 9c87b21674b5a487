"""The archiver: brings matches that have ended from Redis into the archive. Write, index, read back, drop: always so.

It may die at any line: what is not dropped is still in Redis and comes again, and what is in the archive already is
found there, read back and not written twice. Several may run; a lease in Redis lets one of them work. Nothing depends
on the lease: two at once would write the same journals, and drop each only if the archive gave it back.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import structlog
from redis.exceptions import RedisError

from services import logs, tasks
from services.archive import Archive, ArchiveDamaged, Ended, Unfit
from services.lifecycle import Lifecycle, Ready
from services.metrics import Metrics
from services.settings import Settings
from services.store import Store
from services.store.waiting import Drop

SETTLE_MS = 5_000
"""A match is not archived before this time after its end: Redis may lose the last two seconds of what it was told."""
PUT_OFF_MS = 600_000
"""When a match is looked at again that could not be archived."""
LEASE_MS = 15_000
LOOKS_PER_LEASE = 4
STANDBY_S = 5.0

log = structlog.get_logger()


class Pass(NamedTuple):
    """What one look for ended matches came to: how many were found, archived and left in Redis."""

    found: int
    archived: int
    failed: int


class Archiver:
    """Archives; `run` until told to stop, or one `batch`."""

    def __init__(self, settings: Settings, store: Store, archive: Archive, metrics: Metrics) -> None:
        """Prepare on an open store."""
        self.name = secrets.token_hex(8)
        self._settings = settings
        self._store = store
        self._waiting = store.waiting
        self._archive = archive
        self._metrics = metrics
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """End the run after the batch in hand."""
        self._stopping.set()

    async def run(self) -> None:
        """Archive whenever there is something, until `stop`. Outages of Redis and of the storage are waited out."""
        while not self._stopping.is_set():
            pause: float = self._settings.archive_every_s
            try:
                await self._count()  # also by who only stands by, and although the storage refuses
                async with self._leased() as mine:
                    if mine:
                        await self.all()
                    else:
                        pause = STANDBY_S
            except (RedisError, OSError) as error:
                log.warning("archiver_interrupted", error=error)
                self._metrics.store_failed(error)
                self._metrics.archive_failures.labels("storage").inc()
                pause = min(pause, STANDBY_S)
            except Exception:  # object stores raise errors of their own
                log.exception("archiver_failed")
                self._metrics.archive_failures.labels("storage").inc()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)

    async def all(self, *, settle_ms: int = SETTLE_MS) -> Pass:
        """Archive all that waits, batch after batch; return the sums."""
        total = Pass(0, 0, 0)
        while not self._stopping.is_set():
            done = await self.batch(settle_ms=settle_ms)
            await self._count()
            total = Pass(*(a + b for a, b in zip(total, done, strict=True)))
            if done.found == 0:
                break
        return total

    async def _count(self) -> None:
        """Show how many matches wait."""
        self._metrics.archive_waiting.set(await self._waiting.count(self._partitions))

    async def batch(self, *, settle_ms: int = SETTLE_MS) -> Pass:
        """Archive some of what ended `settle_ms` ago or earlier. Raises what Redis and the storage raise."""
        now = await self._store.time()
        matches = await self._waiting.since(now - settle_ms, self._partitions, self._settings.archive_batch)
        if not matches:
            return Pass(0, 0, 0)
        recorded = await self._store.load(matches, seeds=False)
        journals, gone, failed = [], [], []
        for match, found in zip(matches, recorded, strict=True):
            if not found.lines:
                gone.append(Drop(match, 0, b"", now))
                continue
            try:
                journals.append(Ended.of(match, found.lines))
            except Unfit as unfit:
                self._fail("unfit", match, str(unfit))
                failed.append(match)
        verified = await asyncio.to_thread(self._keep, journals)
        drops = [Drop(one.match, len(one.lines), one.head, self._goes_at(one)) for one in verified]
        archived = 0
        for drop, dropped in zip(drops, await self._waiting.drop(drops), strict=True):
            if dropped:
                archived += 1
            else:
                self._fail("changed", drop.match, "another journal is in Redis by now")
                failed.append(drop.match)
        await self._waiting.drop(gone)
        known = {one.match for one in verified}
        for one in journals:
            if one.match not in known:
                self._fail("unverified", one.match, "the archive does not give it back")
                failed.append(one.match)
        await self._waiting.put_off(failed, now + PUT_OFF_MS)
        self._metrics.archived_matches.inc(archived)
        log.info("matches_archived", matches=archived, failed=len(failed))
        return Pass(len(matches), archived, len(failed))

    def _keep(self, journals: Sequence[Ended]) -> list[Ended]:
        """Write what the archive does not give back yet; return what it gives back then."""
        held = [one for one in journals if self._holds(one)]
        known = {one.match for one in held}
        missing = [one for one in journals if one.match not in known]
        self._archive.write(missing)
        return held + [one for one in missing if self._holds(one)]

    def _holds(self, one: Ended) -> bool:
        try:
            return self._archive.holds(one)
        except ArchiveDamaged as damaged:
            log.warning("archive_damaged", match=one.match, error=str(damaged))
            return False

    def _goes_at(self, one: Ended) -> int:
        return one.at + self._settings.retention_s * 1000

    def _fail(self, reason: str, match: str, detail: str) -> None:
        self._metrics.archive_failures.labels(reason).inc()
        log.error("match_not_archived", reason=reason, match=match, error=detail)

    async def enlist_all(self) -> int:
        """Let all ended matches wait for the archive, also those that ended before there was one; return how many."""
        return await self._waiting.enlist(await self._store.ended_matches())

    @property
    def _partitions(self) -> range:
        return range(self._settings.partitions)

    @asynccontextmanager
    async def _leased(self) -> AsyncIterator[bool]:
        """Hold the lease while there is work, if nobody else does."""
        epoch = await self._waiting.acquire(self.name, LEASE_MS)
        if epoch is None:
            yield False
            return
        held = [epoch]

        async def tend() -> None:
            while True:
                await asyncio.sleep(LEASE_MS / 1000 / LOOKS_PER_LEASE)
                with contextlib.suppress(RedisError, OSError):
                    held[0] = await self._waiting.acquire(self.name, LEASE_MS) or 0

        tending = asyncio.create_task(tend())
        try:
            yield True
        finally:
            await tasks.end([tending])
            with contextlib.suppress(RedisError, OSError):
                await self._waiting.release(self.name, held[0])


async def serve(settings: Settings, ready: Ready) -> None:
    """Archive until SIGTERM or SIGINT; `ready` is told once it looks for matches.

    Raises StoreError for a Redis, StorageError for a storage that cannot be used.
    """
    assert settings.archive is not None
    async with Lifecycle("archive", settings, ready) as life:
        archive = Archive.at(settings.archive)
        store = await life.store(functions=False)  # workers do, or the first call that misses them
        archiver = Archiver(settings, store, archive, life.metrics)
        life.end_by(archiver.stop)
        life.show_metrics()
        life.ready(archiver=archiver.name)
        await archiver.run()


async def once(settings: Settings, *, everything: bool, say: Callable[[int], None]) -> Pass:
    """Archive what has ended, now; `everything`: also what ended while no archive was set. `say` is told how many wait.

    Raises StoreError, StorageError, and what Redis and the storage raise.
    """
    assert settings.archive is not None
    logs.configure(settings, "archive")
    archive = Archive.at(settings.archive)
    store = await Store(settings).open(functions=False)  # workers do, or the first call that misses them
    try:
        archiver = Archiver(settings, store, archive, Metrics())
        if everything:
            await archiver.enlist_all()
        say(await store.waiting.count(range(settings.partitions)))
        return await archiver.all()
    finally:
        await store.close()
