"""The archiver: nothing leaves Redis that the archive does not give back, wherever it is killed."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import redis
from typer.testing import CliRunner

from engine import journal
from engine.audit import audit
from services import archiver as archivers
from services.archive import Archive
from services.archiver import Archiver
from services.cli import app
from services.commands import partition_of
from services.local import RedisServer
from services.local_process import ServiceProcess
from services.metrics import Metrics
from services.settings import Durability, load
from services.storage import Folder
from services.store import Store
from services.store.keys import ARCHIVER, ended_key, journal_key
from tests.services import ended as ended_matches
from tests.services.ended import ended, in_redis, put, put_lines, waiting
from tests.services.front import until

MATCHES = [ended(number) for number in range(40)]


class Killed(BaseException):
    """The process dies here."""


class Mortal(Folder):
    """A folder before whose n-th operation the process dies; of a write, if `torn`, half was on its way."""

    def __init__(self, root, operations: float, *, torn: bool = False) -> None:
        super().__init__(root)
        self._left = operations
        self._torn = torn
        self._path = root

    def _step(self):
        self._left -= 1
        if self._left < 0:
            raise Killed

    def write(self, name, data):
        try:
            self._step()
        except Killed:
            if self._torn:
                path = self._path / (name + ".1.partial")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data[: len(data) // 2])
            raise
        super().write(name, data)

    def read(self, *args):
        self._step()
        return super().read(*args)

    def objects(self, *args):
        self._step()
        return super().objects(*args)

    def remove(self, name):
        self._step()
        super().remove(name)


@asynccontextmanager
async def archiver(url: str, storage: Folder, **changes) -> AsyncIterator[Archiver]:
    settings = load(redis_url=url, partitions=4, archive="given", **({"archive_batch": 16} | changes))
    store = await Store(settings).open()
    try:
        yield Archiver(settings, store, Archive(storage), Metrics())
    finally:
        await store.close()


def count(one: Archiver, name: str, **labels: str) -> float:
    return one._metrics.registry.get_sample_value(f"croupier_{name}", labels) or 0.0


def run(url, storage, **changes):
    async def once():
        async with archiver(url, storage, **changes) as one:
            return await one.all(settle_ms=0)

    return asyncio.run(once())


def all_out(folder, matches=MATCHES):
    """All matches are in the archive, byte for byte, and pass the audit."""
    archive = Archive(Folder(folder))
    for one in matches:
        lines = archive.read(one.match)
        assert lines == list(one.lines)
        assert audit(lines, one.head).outcome == "verified"


def test_what_has_ended_goes_into_the_archive_and_then_leaves_redis(redis_url, tmp_path):
    put(redis_url, MATCHES)
    assert run(redis_url, Folder(tmp_path)) == (40, 40, 0)
    assert in_redis(redis_url) == set()
    assert waiting(redis_url) == set()
    all_out(tmp_path)
    assert run(redis_url, Folder(tmp_path)) == (0, 0, 0)


def test_an_archived_match_stays_in_redis_for_its_retention(redis_url, tmp_path):
    put(redis_url, MATCHES[:1])
    ten_years = 10 * 366 * 86_400
    assert run(redis_url, Folder(tmp_path), retention_s=ten_years) == (1, 1, 0)
    assert waiting(redis_url) == set()
    with redis.Redis.from_url(redis_url) as client:
        left = client.pexpiretime(journal_key(MATCHES[0].match))
    assert left == MATCHES[0].at + ten_years * 1000
    all_out(tmp_path, MATCHES[:1])


def test_a_match_that_ended_just_now_waits_until_redis_cannot_lose_its_end(redis_url, tmp_path):
    put(redis_url, MATCHES[:2])
    with redis.Redis.from_url(redis_url) as client:
        seconds, micros = client.time()
        client.zadd(ended_key(partition_of(MATCHES[0].match)), {MATCHES[0].match: seconds * 1000 + micros // 1000})

    async def once():
        async with archiver(redis_url, Folder(tmp_path)) as one:
            return await one.all(settle_ms=60_000)

    assert asyncio.run(once()) == (1, 1, 0)
    assert in_redis(redis_url) == {MATCHES[0].match}


@pytest.mark.parametrize("torn", [False, True], ids=["before", "torn"])
def test_killed_before_any_operation_it_loses_nothing_and_the_next_one_finishes(redis_url, tmp_path, torn):
    """Between written, indexed, read back and dropped, and before and within each single write and read."""
    survived = 0
    for operations in range(200):
        folder = tmp_path / str(operations)
        put(redis_url, MATCHES[:6])
        before = in_redis(redis_url)
        try:
            run(redis_url, Mortal(folder, operations, torn=torn), archive_batch=3)
        except Killed:
            left = in_redis(redis_url)
            all_out(folder, [one for one in MATCHES[:6] if one.match not in left])
            assert left <= before
            for one in MATCHES[:6]:
                if one.match in left:
                    assert in_lines(redis_url, one.match) == list(one.lines)
            run(redis_url, Folder(folder), archive_batch=4)
        else:
            survived += 1
        assert in_redis(redis_url) == waiting(redis_url) == set()
        all_out(folder, MATCHES[:6])
        if survived:
            break
    assert operations > 12, "the steps were not taken apart"
    assert survived


@pytest.mark.parametrize("step", ["load", "drop", "put_off"])
def test_killed_before_or_after_a_step_in_redis_the_next_one_finishes(redis_url, tmp_path, step):
    for when in ("before", "after"):
        folder = tmp_path / when
        put(redis_url, MATCHES)

        async def die(when=when, folder=folder):
            async with archiver(redis_url, Folder(folder)) as one:
                part = one._store if step == "load" else one._store.waiting
                method = getattr(part, step)

                async def dying(*args, **kwargs):
                    if when == "after":
                        await method(*args, **kwargs)
                    raise Killed

                setattr(part, step, dying)
                await one.all(settle_ms=0)

        with pytest.raises(Killed):
            asyncio.run(die())
        left = in_redis(redis_url)
        assert len(left) in (len(MATCHES), len(MATCHES) - 16)
        run(redis_url, Folder(folder))
        assert in_redis(redis_url) == waiting(redis_url) == set()
        all_out(folder)


def in_lines(url: str, match: str) -> list[bytes]:
    with redis.Redis.from_url(url) as client:
        return [fields[b"line"] for _, fields in client.xrange(journal_key(match))]


class Lying(Folder):
    """A folder that stores something else than it was given, as a bad disk does."""

    spoil = b".zst"

    def write(self, name, data):
        if name.encode().endswith(self.spoil):
            data = data[:20] + bytes([data[20] ^ 1]) + data[21:]
        super().write(name, data)


@pytest.mark.parametrize("spoil", [b".zst", b".txt"], ids=["segment", "index"])
def test_what_the_archive_does_not_give_back_is_not_trusted_and_stays_in_redis(redis_url, tmp_path, spoil):
    put(redis_url, MATCHES[:10])
    storage = Lying(tmp_path)
    storage.spoil = spoil

    async def bad():
        async with archiver(redis_url, storage) as one:
            done = await one.all(settle_ms=0)
            return done, count(one, "archive_failures_total", reason="unverified")

    done, failures = asyncio.run(bad())
    assert done.found == 10
    assert done.failed == failures >= 5  # one byte spoils one journal of each segment, or the whole run
    assert done.archived == 10 - done.failed
    assert len(in_redis(redis_url)) == len(waiting(redis_url)) == done.failed
    later(redis_url)
    assert run(redis_url, Folder(tmp_path)).archived == done.failed
    assert in_redis(redis_url) == set()
    all_out(tmp_path, MATCHES[:10])


def later(url: str) -> None:
    """Let the time pass for which a match is put off."""
    with redis.Redis.from_url(url) as client:
        for key in client.scan_iter("croupier:*:ended"):
            for match in client.zrange(key, 0, -1):
                client.zadd(key, {match: 1})


def test_an_archive_damaged_after_the_index_and_before_the_drop_is_not_trusted(redis_url, tmp_path):
    put(redis_url, MATCHES[:10])
    with pytest.raises(Killed):
        run(redis_url, Mortal(tmp_path, 12))
    for file in tmp_path.rglob("*.zst"):
        file.write_bytes(file.read_bytes()[:-9])
        file.write_bytes(b"\0" * 64 + file.read_bytes()[64:])
    run(redis_url, Folder(tmp_path))
    later(redis_url)
    run(redis_url, Folder(tmp_path))
    assert in_redis(redis_url) == set()
    all_out(tmp_path, MATCHES[:10])


def test_a_broken_journal_stays_in_redis_for_somebody_to_look_at(redis_url, tmp_path):
    good, broken = MATCHES[:2]
    put(redis_url, [good])
    with redis.Redis.from_url(redis_url) as client:
        put_lines(client, broken.match, [*broken.lines[:2], *broken.lines[3:]])
        client.zadd(ended_key(partition_of(broken.match)), {broken.match: 1})
    assert run(redis_url, Folder(tmp_path)) == (2, 1, 1)
    assert in_redis(redis_url) == waiting(redis_url) == {broken.match}
    assert run(redis_url, Folder(tmp_path)) == (0, 0, 0)


def test_a_journal_that_changed_under_the_archivers_hands_is_not_dropped(redis_url, tmp_path):
    one, other = MATCHES[0], ended(0, moves=9)
    put(redis_url, [one])

    async def change():
        async with archiver(redis_url, Folder(tmp_path)) as mine:
            drop = mine._store.waiting.drop

            async def overtaken(drops):
                with redis.Redis.from_url(redis_url) as client:
                    client.delete(journal_key(one.match))
                    put_lines(client, other.match, other.lines)
                return await drop(drops)

            mine._store.waiting.drop = overtaken
            return await mine.batch(settle_ms=0)

    assert asyncio.run(change()) == (1, 0, 1)
    assert in_lines(redis_url, one.match) == list(other.lines)
    later(redis_url)
    assert run(redis_url, Folder(tmp_path)) == (1, 1, 0)
    assert Archive(Folder(tmp_path)).holds(one)
    assert Archive(Folder(tmp_path)).holds(other)


def test_a_match_that_waits_but_is_gone_is_forgotten(redis_url, tmp_path):
    put(redis_url, MATCHES[:2])
    with redis.Redis.from_url(redis_url) as client:
        client.delete(journal_key(MATCHES[0].match))
    assert run(redis_url, Folder(tmp_path)) == (2, 1, 0)
    assert waiting(redis_url) == set()


def test_only_one_works_and_another_takes_over_when_it_is_gone(redis_url, tmp_path, monkeypatch):
    monkeypatch.setattr(archivers, "STANDBY_S", 0.05)
    monkeypatch.setattr(archivers, "SETTLE_MS", 0)
    put(redis_url, MATCHES[:4])

    async def two():
        async with archiver(redis_url, Folder(tmp_path)) as first, archiver(redis_url, Folder(tmp_path)) as second:
            assert await first._store.waiting.acquire(first.name, 60_000)
            task = asyncio.create_task(second.run())
            await asyncio.sleep(0.3)
            assert len(in_redis(redis_url)) == 4
            with redis.Redis.from_url(redis_url) as client:
                client.hset(ARCHIVER, "until", 0)
            await until(lambda: not in_redis(redis_url))
            second.stop()
            await task
            assert (await first._store.waiting.acquire(first.name, 1000)) is not None, "the lease was given back"

    asyncio.run(two())
    all_out(tmp_path, MATCHES[:4])


def test_what_waits_is_shown_while_the_storage_refuses_by_who_works_and_by_who_stands_by(
    redis_url, tmp_path, monkeypatch
):
    monkeypatch.setattr(archivers, "STANDBY_S", 0.05)
    monkeypatch.setattr(archivers, "SETTLE_MS", 0)
    folder = tmp_path / "archive"
    folder.write_text("not a folder")
    put(redis_url, MATCHES[:20])

    async def two():
        changes = {"archive_every_s": 1, "archive_batch": 4}
        async with (
            archiver(redis_url, Folder(folder), **changes) as first,
            archiver(redis_url, Folder(folder), **changes) as second,
        ):
            working = [asyncio.create_task(one.run()) for one in (first, second)]
            await until(lambda: {count(one, "archive_waiting") for one in (first, second)} == {20})
            folder.unlink()
            await until(lambda: {count(one, "archive_waiting") for one in (first, second)} == {0})
            first.stop()
            second.stop()
            await asyncio.gather(*working)

    asyncio.run(two())
    all_out(folder, MATCHES[:20])


def test_what_waits_is_shown_after_every_batch(redis_url, tmp_path):
    put(redis_url, MATCHES)
    shown: list[float] = []

    async def all_of_them():
        async with archiver(redis_url, Folder(tmp_path), archive_batch=16) as one:
            batch = one.batch

            async def watched(**options):
                shown.append(count(one, "archive_waiting"))
                return await batch(**options)

            one.batch = watched
            await one.all(settle_ms=0)

    asyncio.run(all_of_them())
    assert shown == [0, 24, 8, 0]


def test_outages_of_redis_and_of_the_folder_are_waited_out(tmp_path, monkeypatch):
    monkeypatch.setattr(archivers, "STANDBY_S", 0.05)
    monkeypatch.setattr(archivers, "SETTLE_MS", 0)
    folder = tmp_path / "archive"
    with RedisServer(tmp_path / "redis", durability=Durability("everysec")) as server:

        async def through():
            async with archiver(server.url, Folder(folder), archive_every_s=1) as one:
                folder.write_text("not a folder")
                put(server.url, MATCHES[:20])
                task = asyncio.create_task(one.run())

                def failures():
                    return count(one, "archive_failures_total", reason="storage")

                await until(failures)
                assert len(in_redis(server.url)) == 20
                await asyncio.to_thread(server.stop)
                folder.unlink()
                before = failures()
                await until(lambda: failures() > before)
                await asyncio.to_thread(server.start)
                await until(lambda: not in_redis(server.url))
                one.stop()
                await task

        asyncio.run(through())
    all_out(folder, MATCHES[:20])


# --- the process -----------------------------------------------------------------------------------------------------


def test_processes_killed_at_any_time_bring_all_out_in_the_end(tmp_path):
    """The script of the run with ten thousand, with fewer: archivers die by SIGKILL, Redis is restarted meanwhile."""
    from benchmarks.archive import through_faults

    told = through_faults(tmp_path, matches=300, seed=7, batch=20)
    assert told.matches == 300
    assert told.lost == told.different == told.left_in_redis == 0
    assert told.kills >= 1  # how many it takes is up to the machine: one that is quick may be through before the second


def croupier(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "services.cli", *args], capture_output=True, text=True, check=False)


@pytest.fixture
def environment(redis_url, tmp_path, monkeypatch) -> dict[str, str]:
    env = {
        "CROUPIER_REDIS_URL": redis_url,
        "CROUPIER_PARTITIONS": "4",
        "CROUPIER_ARCHIVE": str(tmp_path / "archive"),
        "CROUPIER_ARCHIVE_EVERY_S": "1",
    }
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    return env


def test_the_service_archives_until_it_is_told_to_stop(environment, redis_url, tmp_path):
    put(redis_url, MATCHES[:5])
    with ServiceProcess(("archive",), tmp_path, env=environment) as service:
        assert json.loads(service.ready_line)["service"] == "archive"
        asyncio.run(until(lambda: not in_redis(redis_url)))
        os.kill(service.pid, signal.SIGTERM)
    assert in_redis(redis_url) == set()
    all_out(tmp_path / "archive", MATCHES[:5])


def test_without_an_archive_it_does_not_start(redis_url):
    for option in ((), ("--once",), ("--reindex",)):
        done = croupier("archive", *option)
        assert done.returncode == 2
        assert "CROUPIER_ARCHIVE: is not set" in done.stderr


def test_once_archives_what_waits_and_all_also_what_ended_before_there_was_an_archive(environment, redis_url):
    put(redis_url, MATCHES[:3])
    with redis.Redis.from_url(redis_url) as client:
        put_lines(client, MATCHES[3].match, MATCHES[3].lines)
        client.expire(journal_key(MATCHES[3].match), 1000)
        put_lines(client, MATCHES[4].match, MATCHES[4].lines[:-1])
    result = croupier("archive", "--once")
    assert (result.returncode, result.stdout) == (0, "3 matches archived, 0 left in Redis\n")
    result = croupier("archive", "--all")
    assert (result.returncode, result.stdout) == (0, "1 matches archived, 0 left in Redis\n")
    assert in_redis(redis_url) == {MATCHES[4].match}, "a running match stays"


def test_a_match_that_cannot_be_archived_makes_once_exit_with_1(environment, redis_url):
    put(redis_url, MATCHES[:1])
    with redis.Redis.from_url(redis_url) as client:
        put_lines(client, MATCHES[1].match, MATCHES[1].lines[:-1])
        client.zadd(ended_key(partition_of(MATCHES[1].match)), {MATCHES[1].match: 1})
    result = croupier("archive", "--once")
    assert (result.returncode, result.stdout) == (1, "1 matches archived, 1 left in Redis\n")


def test_show_audit_and_export_find_matches_in_the_archive(environment, redis_url, tmp_path):
    put(redis_url, MATCHES[:3])
    croupier("archive", "--once")
    assert in_redis(redis_url) == set()
    [one, *_] = MATCHES
    result = CliRunner().invoke(app, ["audit", one.match, "--hash", f"{one.match}={one.head.hex()}"])
    assert (result.exit_code, "1 verified" in result.stdout) == (0, True)
    result = CliRunner().invoke(app, ["show", one.match])
    assert (result.exit_code, one.head.hex() in result.stdout) == (0, True)
    result = CliRunner().invoke(app, ["export", one.match, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0
    assert journal.split((tmp_path / "out" / f"{one.match}.jsonl").read_bytes()) == list(one.lines)
    result = CliRunner().invoke(app, ["audit", ended(999).match])
    assert result.exit_code != 0


def test_ids_of_the_test_matches_differ():
    assert len({one.match for one in MATCHES}) == len(MATCHES)
    assert ended_matches.GAMES
