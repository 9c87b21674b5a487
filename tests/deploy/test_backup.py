"""Redis is backed up while matches run, and restored on another host, as docs/operations.md says."""

import shutil
from pathlib import Path

import pytest

from engine.audit import audit
from services.local import RedisServer
from services.stack import KEYS
from tests.deploy.test_redis_acl import OPERATOR, GuardedRedis, GuardedStack, as_user
from tests.e2e.table import api, awaited, until

pytestmark = pytest.mark.timeout(180)


async def back_up(server: RedisServer, to: Path) -> None:
    """Copy the append-only file of a running server, which must not be rewritten meanwhile."""
    with as_user(server, OPERATOR) as operator:
        before = operator.config_get("auto-aof-rewrite-percentage")["auto-aof-rewrite-percentage"]
        operator.config_set("auto-aof-rewrite-percentage", 0)
        await until(lambda: operator.info("persistence")["aof_rewrite_in_progress"] == 0)
        shutil.copytree(server.folder / "appendonlydir", to / "appendonlydir")
        operator.config_set("auto-aof-rewrite-percentage", before)


@awaited
async def test_a_match_goes_on_from_a_backup_on_another_host(tmp_path: Path) -> None:
    """From where it was at the time of the copy, by the tokens that its players have."""
    here, there = tmp_path / "here", tmp_path / "there"
    with GuardedStack(here) as stack:
        async with api(stack) as front:
            seats = await front.started("bluffing_billionaires", 2)
            tokens = [seat.token for seat in seats]
            at = (await front.advance(tokens, lambda view: view.version >= 6)).version
            await back_up(stack.redis, tmp_path / "backup")
            assert (await front.advance(tokens, lambda view: view.version >= at + 2)).version > at
    shutil.copytree(tmp_path / "backup", there / "redis")
    for name in KEYS:
        shutil.copy(here / f"{name}.secret", there)
    with GuardedStack(there) as stack:
        assert stack.redis.folder == there / "redis"
        async with api(stack) as front:
            assert (await front.view(tokens[0])).version == at
            end = await front.advance(tokens, lambda _: False)
            lines = await front.journal(end.match)
    assert audit(lines, bytes.fromhex(end.hash)).outcome == "verified"


def test_a_snapshot_is_taken_over_without_an_append_only_file_and_then_kept_in_one(tmp_path: Path) -> None:
    """A server that keeps an append-only file and finds none does not look at `dump.rdb`: it starts empty."""
    key = "croupier:{2}:a"
    with GuardedRedis(tmp_path / "here") as server:
        with as_user(server, "engine") as engine:
            engine.set(key, 1)
        with as_user(server, OPERATOR) as operator:
            operator.bgsave()
            while operator.info("persistence")["rdb_bgsave_in_progress"]:
                pass
        snapshot = server.folder / "dump.rdb"
        restored = Restored(tmp_path / "there")
        restored.folder.mkdir(parents=True)
        shutil.copy(snapshot, restored.folder)
    with restored:
        with as_user(restored, OPERATOR) as operator:
            operator.config_set("appendonly", "yes")
            while operator.info("persistence")["aof_rewrite_in_progress"]:
                pass
        restored.keeping = ()
        restored.restart()
        with as_user(restored, "engine") as engine:
            assert engine.get(key) == b"1"


class Restored(GuardedRedis):
    """Started without an append-only file at first."""

    keeping: tuple[str, ...] = ("--appendonly", "no")

    def _command(self):
        return [*super()._command(), *self.keeping]
