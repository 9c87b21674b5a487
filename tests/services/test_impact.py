"""`croupier impact` takes what the audit takes, on all cores, and goes on where it was cut off."""

import json
import sys

import pytest
import redis

from services.archive import Archive
from services.impact_report import impact_job, impact_part
from services.jobs import on_processes, run
from services.journal_parts import named
from tests.services.ended import ended, put, put_lines
from tests.services.rules_versions import registered
from tests.services.test_cli_journal import HISTORIES, croupier

MATCHES = [ended(number, moves=8) for number in range(20)]
TIMO = [one for one in MATCHES if one.game == "timos_twist"]


@pytest.fixture(autouse=True)
def versions():
    with registered() as games:
        yield games


@pytest.fixture
def archived(tmp_path):
    """An archive of matches of all games."""
    Archive.at(str(tmp_path / "archive")).write(MATCHES)
    return tmp_path / "archive"


def impact(*args, to="timos_twist/2"):
    return croupier("impact", "--from", "timos_twist/1", "--to", to, "--workers", "1", *args)


def impacts(result):
    return {each["impact"]["match"]: each["impact"] for each in json.loads(result.stdout)["journals"]}


# --- what is compared ------------------------------------------------------------------------------------------------


def test_each_match_of_an_archive_is_listed_and_summed_up(archived):
    result = impact(archived)
    assert result.exit_code == 1
    *told, last = result.stdout.splitlines()
    assert len(told) == len(TIMO)
    assert all("legal: seat" in line for line in told)
    assert last == f"{len(TIMO)} matches, {len(TIMO)} part: {len(TIMO)} in legal"
    result = impact(archived, to="timos_twist/3")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, f"{len(TIMO)} matches, 0 part")
    assert impact(archived, "--quiet", to="timos_twist/3").output == ""


def test_files_folders_archives_object_stores_and_redis_say_the_same(archived, redis_url, tmp_path, monkeypatch):
    monkeypatch.setenv("CROUPIER_REDIS_URL", redis_url)
    put(redis_url, MATCHES)
    url = "memory://impact/archive"
    Archive.at(url).write(MATCHES)
    folder = tmp_path / "files"
    folder.mkdir()
    for one in MATCHES:
        (folder / f"{one.match}.jsonl").write_bytes(b"".join(line + b"\n" for line in one.lines))
    asked = [(archived,), (url,), (folder,), sorted(folder.iterdir()), ("--redis",), [one.match for one in MATCHES]]
    wanted, *others = [impacts(impact("--json", *some)) for some in asked]
    assert wanted.keys() == {one.match for one in TIMO}
    assert all(found == wanted for found in others)


def test_of_an_archive_only_the_segments_of_the_game_are_read(archived):
    for segment in archived.glob("*/bombenziehen/*"):
        segment.write_bytes(b"damaged")
    assert impact(archived, to="timos_twist/3").exit_code == 0
    moved = archived / "mine"
    moved.mkdir()
    for segment in list(archived.glob("*/timos_twist/*")):
        segment.rename(moved / segment.name)
    assert len(impacts(impact("--json", moved, to="timos_twist/3"))) == len(TIMO)


def test_a_match_in_two_segments_counts_once(archived):
    Archive.at(str(archived)).write(TIMO[:1])
    assert len(json.loads(impact("--json", archived).stdout)["journals"]) == len(TIMO)


def test_what_cannot_be_read_is_named_and_the_rest_is_compared(archived, tmp_path):
    segment = next(archived.glob("*/timos_twist/*"))
    segment.write_bytes(segment.read_bytes()[:-10])
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(b"{")
    result = impact(archived, broken, "--json", to="timos_twist/3")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["fields"] == {"file": 1, "journal": 1}
    assert found["parted"] == 2
    assert found["matches"] > 2
    assert {each["source"] for each in found["journals"] if each["impact"]["field"]} == {str(segment), str(broken)}


def test_of_a_running_match_nothing_is_said(redis_url, monkeypatch):
    monkeypatch.setenv("CROUPIER_REDIS_URL", redis_url)
    one = TIMO[0]
    with redis.Redis.from_url(redis_url) as client:
        put_lines(client, one.match, one.lines[:-1])
    found = impacts(impact("--json", one.match))[one.match]
    assert (found["field"], found["detail"]) == (
        "journal",
        "it stops before its end, or that does not reveal the seed",
    )
    assert impact("--redis").exit_code == 2


# --- how -------------------------------------------------------------------------------------------------------------


def test_more_processes_give_the_same_in_the_same_order(archived):
    """Two processes of their own know the built-in rules only."""
    parts = named([str(HISTORIES), str(archived)])
    job = impact_job("timos_twist/1", "timos_twist/1")
    alone, together = (
        [each for _, some in run(parts, job, on_processes(workers)) for each in some] for workers in (1, 2)
    )
    assert together == alone
    assert len(alone) > len(TIMO)


def test_what_was_done_is_not_done_again(archived, tmp_path):
    state = tmp_path / "state"
    first = impact("--json", archived, "--state", state)
    for segment in archived.glob("*/timos_twist/*"):
        segment.write_bytes(bytes(segment.stat().st_size))
    assert impact("--json", archived, "--state", state).stdout == first.stdout
    assert impact(archived, "--state", state, to="timos_twist/3").exit_code == 1  # another question: read, and damaged
    assert croupier("audit", archived, "--state", state, "--workers", "1").exit_code == 1


@pytest.mark.parametrize("lines", [slice(-1), slice(None)])
def test_of_matches_in_redis_only_what_holds_for_good_is_kept(redis_url, monkeypatch, lines):
    monkeypatch.setenv("CROUPIER_REDIS_URL", redis_url)
    one = TIMO[0]
    with redis.Redis.from_url(redis_url) as client:
        put_lines(client, one.match, one.lines[lines])
    job = impact_job("timos_twist/1", "timos_twist/3")
    [part] = named([one.match])
    assert job.lasts(part, impact_part("timos_twist/1", "timos_twist/3", part)) == (lines == slice(None))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "name files, folders"),
        (("nowhere",), "there is no file or folder nowhere"),
        ((HISTORIES, "--to", "timos_twist/9"), "timos_twist/9"),
        ((HISTORIES, "--from", "no_game/1"), "no_game/1"),
        ((HISTORIES, "--from", "timos_twist/2"), "there is no match of timos_twist/2"),
        ((HISTORIES, "--ray", "auto"), "croupier-server[ray]"),
    ],
)
def test_whoever_asks_wrongly_is_told_so_on_stderr(args, said, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    result = impact(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
