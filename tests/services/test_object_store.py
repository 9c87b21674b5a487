"""An archive in a real object store (S3): whatever a folder can do, and what only a store can do wrong."""

import json
import os
import subprocess
import sys

import fsspec
import pytest

from services.archive import Archive
from services.storage import open_storage
from tests.object_store import object_store
from tests.services.ended import ended, in_redis, put
from tests.services.test_cli_journal import croupier

MATCHES = [ended(number) for number in range(40)]
SEED_KEY = "11" * 32


def process(*args, **environment):
    """A command as a process of its own, with the store's credentials in its environment."""
    called = [sys.executable, "-m", "services.cli", *args]
    return subprocess.run(called, capture_output=True, text=True, env=os.environ | environment, check=False)


def test_matches_go_from_redis_into_the_store_and_every_command_finds_them_there(
    bucket, redis_url, tmp_path, monkeypatch
):
    put(redis_url, MATCHES)
    monkeypatch.setenv("CROUPIER_REDIS_URL", redis_url)
    monkeypatch.setenv("CROUPIER_ARCHIVE", f"{bucket}/archive")
    assert process("archive", "--once").returncode == 0
    assert in_redis(redis_url) == set()
    one = MATCHES[0]
    exported = croupier("export", one.match, "--out", tmp_path)
    assert (exported.exit_code, exported.stderr) == (0, "")
    assert (tmp_path / f"{one.match}.jsonl").read_bytes() == b"".join(line + b"\n" for line in one.lines)
    shown = croupier("show", one.match)
    assert (shown.exit_code, one.head.hex() in shown.stdout) == (0, True)
    assert json.loads(croupier("audit", one.match, "--json").stdout)["consistent"] == 1


def test_the_audit_goes_over_the_store_with_a_connection_in_every_process(bucket, tmp_path):
    where = f"{bucket}/archive"
    Archive.at(where).write(MATCHES)
    alone, together = (croupier("audit", where, "--json", "--workers", n) for n in (1, 2))
    assert json.loads(together.stdout) == json.loads(alone.stdout)
    assert (together.exit_code, json.loads(alone.stdout)["consistent"]) == (0, len(MATCHES))
    day = json.loads(croupier("audit", f"{where}/2023-11-15", "--json", "--state", tmp_path / "state").stdout)
    assert 0 < day["consistent"] < len(MATCHES)
    compared = croupier("impact", "--from", "bombenziehen/1", "--to", "bombenziehen/1", where, "--json")
    assert json.loads(compared.stdout)["matches"] == sum(one.game == "bombenziehen" for one in MATCHES)


def test_a_job_on_ray_goes_over_the_store(bucket):
    pytest.importorskip("ray", reason="Ray is an optional extra that is not installed: pip install '.[ray]'")
    where = f"{bucket}/archive"
    Archive.at(where).write(MATCHES)
    alone, on_ray = (
        croupier("audit", where, "--json", "--workers", "1"),
        croupier("audit", where, "--json", "--ray", "local"),
    )
    assert (on_ray.exit_code, json.loads(on_ray.stdout)) == (0, json.loads(alone.stdout))


def test_damage_in_the_store_is_found(bucket):
    where = f"{bucket}/archive"
    Archive.at(where).write(MATCHES)
    segment = Archive.at(where).segments()[0].name
    open_storage(where).write(segment, open_storage(where).read(segment)[:-20])
    audited = croupier("audit", where, "--json")
    assert audited.exit_code == 1
    assert json.loads(audited.stdout)["findings"] == {"unreadable": 1}


def test_a_bucket_whose_name_is_mistyped_is_not_made(bucket):
    storage = open_storage("s3://no-such-bucket/archive")
    with pytest.raises(FileNotFoundError):
        storage.write("a/b", b"1")
    assert fsspec.filesystem("s3").exists(bucket)
    assert not fsspec.filesystem("s3").exists("no-such-bucket")
    with pytest.raises(FileNotFoundError):
        storage.read("a/b")
    assert storage.objects() == []


def test_a_store_that_is_away_is_a_failure_like_any_other_and_nothing_leaves_redis(redis_url):
    put(redis_url, MATCHES[:3])
    with object_store() as server:
        environment = server.environment
        server.kill()
    where = {"CROUPIER_REDIS_URL": redis_url, "CROUPIER_ARCHIVE": "s3://bucket/archive"} | environment
    archived = process("archive", "--once", **where)
    assert archived.returncode in (1, 2)
    assert in_redis(redis_url) == {one.match for one in MATCHES[:3]}
    asked = process("audit", "s3://bucket/archive", **environment)
    assert (asked.returncode, asked.stdout) == (2, "")
    for said in (archived.stderr, asked.stderr):
        assert "s3://bucket/archive: " in said
        assert "Traceback" not in said
