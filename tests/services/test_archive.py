"""The archive: what is written comes back byte for byte, and what is damaged is never taken for it."""

import os
import random
import shutil
import subprocess
import sys

import pytest
import zstandard

from engine import journal
from engine.audit import audit
from services import archive as archives
from services.archive import INDEX, Archive, ArchiveDamaged, Ended, Place, Unfit
from services.storage import Folder, Remote, StorageError, open_storage
from tests.services.ended import ended

MATCHES = [ended(number) for number in range(60)]


@pytest.fixture(params=["folder", "memory", "local", "s3"])
def where(request, tmp_path) -> str:
    """A folder, and file systems of fsspec: the simplest, one that has folders to be made, an object store."""
    match request.param:
        case "folder":
            return str(tmp_path / "archive")
        case "memory":
            return f"memory://{tmp_path.name}/archive"
        case "local":
            return f"local://{tmp_path}/archive"
    return f"{request.getfixturevalue('bucket')}/archive"


# --- in and out ------------------------------------------------------------------------------------------------------


def test_what_is_written_is_found_by_its_match_byte_for_byte(where):
    Archive.at(where).write(MATCHES)
    reader = Archive.at(where)
    for one in MATCHES:
        assert reader.holds(one)
        assert reader.read(one.match) == list(one.lines)
    assert reader.read("000" + "a" * 22) is None
    assert not reader.holds(ended(1000))


def test_segments_are_parted_by_day_and_game_and_any_zstd_reads_them(where):
    archive = Archive.at(where)
    archive.write(MATCHES)
    names = [segment.name for segment in archive.segments()]
    assert len(names) == 10
    assert {name.rpartition("/")[0] for name in names} == {
        f"{day}/{one.game}" for one in MATCHES for day in ("2023-11-14", "2023-11-15")
    }
    assert len(archive.segments("2023-11-15")) == 5
    assert len(archive.segments("2023-11-15/bombenziehen")) == 1
    [segment] = archive.segments("2023-11-15/bombenziehen")
    places, data = archive.open_segment(segment.name)
    with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as stream:
        plain = stream.read()
    inside = sorted(one for one in MATCHES if one.game == "bombenziehen" and one.at > MATCHES[0].at)
    assert plain == b"".join(line + b"\n" for one in inside for line in one.lines)
    assert [place.match for place in places] == [one.match for one in inside]


@pytest.mark.skipif(shutil.which("zstd") is None, reason="the zstd tool is not installed here")
def test_the_zstd_tool_reads_a_segment(tmp_path):
    Archive(Folder(tmp_path)).write(MATCHES[:1])
    [file] = tmp_path.rglob("*.zst")
    told = subprocess.run(["zstd", "-dc", file], capture_output=True, check=True).stdout
    assert journal.split(told) == list(MATCHES[0].lines)


def test_writing_twice_is_writing_once(where):
    archive = Archive.at(where)
    archive.write(MATCHES)
    before = archive._storage.objects()
    Archive.at(where).write(reversed(MATCHES))
    assert archive._storage.objects() == before


def test_two_journals_of_one_match_are_both_kept_and_the_last_to_end_is_the_matchs(where):
    archive = Archive.at(where)
    first = MATCHES[0]
    later = Ended.of(first.match, ended(0, moves=9).lines)
    later = later._replace(at=later.at + 1)
    archive.write([later])
    archive.write([first])
    assert archive.holds(first)
    assert archive.holds(later)
    assert archive.read(first.match) == list(later.lines)


def test_runs_of_the_index_are_merged_before_there_are_too_many(where):
    archive = Archive.at(where)
    for one in MATCHES:
        archive.write([one])
        assert len(archive._index()) <= archives.MAX_RUNS + 1
    reader = Archive.at(where)
    assert all(reader.holds(one) for one in MATCHES)


def test_a_match_is_found_although_runs_are_merged_while_they_are_listed(tmp_path, monkeypatch):
    """A folder tells names first, then sizes: in between runs may have gone, and what they became is not listed."""
    archive = Archive.at(str(tmp_path))
    monkeypatch.setattr(archives, "MAX_RUNS", 100)
    for one in MATCHES[:8]:
        archive.write([one])
    monkeypatch.setattr(archives, "MAX_RUNS", 2)
    walk = os.walk

    def merging(folder):
        found = list(walk(folder))
        monkeypatch.setattr(os, "walk", walk)
        archive._merge()
        return found

    monkeypatch.setattr(os, "walk", merging)
    assert Archive.at(str(tmp_path)).read(MATCHES[0].match) == list(MATCHES[0].lines)
    assert len(archive._index()) == 1


def test_a_run_too_large_to_be_kept_is_searched_where_it_lies(where, monkeypatch):
    monkeypatch.setattr(archives, "WHOLE", 0)
    monkeypatch.setattr(archives, "BLOCK", 2048)
    archive = Archive.at(where)
    archive.write(MATCHES)
    assert archive._index()[0].size > 4 * archives.BLOCK
    assert all(archive.holds(one) for one in MATCHES)
    assert all(archive.read(ended(number).match) is None for number in range(100, 130))


def test_the_index_can_be_made_anew_from_the_segments(where):
    archive = Archive.at(where)
    archive.write(MATCHES)
    for run in archive._index():
        archive._storage.remove(run.name)
    assert Archive.at(where).read(MATCHES[0].match) is None
    assert Archive.at(where).reindex() == len(MATCHES)
    assert Archive.at(where).reindex() == len(MATCHES)
    assert all(Archive.at(where).holds(one) for one in MATCHES)


# --- what is not fit -------------------------------------------------------------------------------------------------


def test_a_journal_that_is_broken_running_or_anothers_is_not_archived():
    one = MATCHES[0]
    lines = list(one.lines)
    for broken, why in [
        ([], "no entries"),
        (lines[:-1], "has not ended"),
        (lines[1:], "entry 0 does not follow"),
        ([*lines[:3], *lines[4:]], "entry 3 does not follow"),
        ([*lines[:2], lines[2].replace(b'"at":1', b'"at":2'), *lines[3:]], "entry 3 does not follow"),
        ([*lines[:2], b"{", *lines[3:]], "entry 2"),
    ]:
        with pytest.raises(Unfit, match=why):
            Ended.of(one.match, broken)
    with pytest.raises(Unfit, match="does not create this match"):
        Ended.of(MATCHES[1].match, lines)
    with pytest.raises(Unfit, match="name"):
        Ended.of(one.match, [one.lines[0].replace(b'"rules":"', b'"rules":"../../'), *_rechained(lines)])


def _rechained(lines):
    """The lines after a first one that was changed as above, chained to it again."""
    head = journal.entry_hash(bytes(32), lines[0].replace(b'"rules":"', b'"rules":"../../'))
    again = []
    for line in lines[1:]:
        again.append(line[: line.rindex(b'"prev"')] + b'"prev":"' + head.hex().encode() + b'"}')
        head = journal.entry_hash(head, again[-1])
    return again


# --- damage ----------------------------------------------------------------------------------------------------------


def test_no_changed_byte_of_a_segment_is_ever_taken_for_the_journal(tmp_path):
    one = MATCHES[3]
    archive = Archive(Folder(tmp_path))
    archive.write([one])
    [file] = tmp_path.rglob("*.zst")
    good = file.read_bytes()
    [place] = archive.places(one.match)
    rng = random.Random(1)
    for position in rng.sample(range(place.length), 200):
        changed = bytearray(good)
        changed[position] ^= 1 << rng.randrange(8)
        file.write_bytes(changed)
        try:
            lines = Archive(Folder(tmp_path)).read(one.match)
        except ArchiveDamaged:
            assert not Archive(Folder(tmp_path)).holds(one)
        else:  # a bit that zstd does not need; what comes out is the journal
            assert lines == list(one.lines)
    file.write_bytes(good[: len(good) // 2])
    assert not archive.holds(one)
    file.unlink()
    with pytest.raises(ArchiveDamaged, match="is missing"):
        archive.read(one.match)


def test_a_good_copy_is_found_behind_a_damaged_one(tmp_path):
    one, other = MATCHES[0], MATCHES[5]
    archive = Archive(Folder(tmp_path))
    archive.write([one])
    for file in tmp_path.rglob("*.zst"):
        file.write_bytes(b"damaged")
    assert not archive.holds(one)
    archive.write([one, other])
    assert archive.holds(one)
    assert archive.read(one.match) == list(one.lines)


def test_a_run_of_the_index_that_was_changed_is_not_believed(tmp_path):
    one = MATCHES[0]
    archive = Archive(Folder(tmp_path))
    archive.write([one])
    [run] = (tmp_path / INDEX).iterdir()
    run.write_bytes(run.read_bytes().replace(one.match.encode(), MATCHES[1].match.encode()))
    reader = Archive(Folder(tmp_path))
    assert reader.read(MATCHES[1].match) is None
    assert not reader.holds(one)
    assert reader.reindex() == 1
    assert reader.holds(one)


def test_a_table_that_is_cut_or_lies_is_damage_and_no_other_error(tmp_path):
    archive = Archive(Folder(tmp_path))
    archive.write(MATCHES[:1])
    [file] = tmp_path.rglob("*.zst")
    good = file.read_bytes()
    name = file.relative_to(tmp_path).as_posix()
    for length in range(0, len(good), 17):
        with pytest.raises(ArchiveDamaged):
            archives.table_of(name, good[:length])
    [place] = archives.table_of(name, good)
    bomb = bytearray(good[: place.length])
    bomb[5:9] = b"\xff\xff\xff\xff"
    with pytest.raises(ArchiveDamaged):
        archives.unpacked(bytes(bomb), place)
    assert audit(archives.unpacked(good[: place.length], place)).outcome == "consistent"


def test_a_place_is_read_back_from_its_line():
    place = Place("000abc", 5, "00" * 32, "2026-11-30/bombenziehen/aa.jsonl.zst", 7, 9)
    assert Place.parse(place.line()) == place


# --- storages --------------------------------------------------------------------------------------------------------


def test_a_storage_lists_reads_and_removes(where):
    storage = open_storage(where)
    assert storage.objects() == []
    storage.write("b/c", b"0123456789")
    storage.write("a", b"")
    assert [(found.name, found.size) for found in storage.objects()] == [("a", 0), ("b/c", 10)]
    assert [found.name for found in storage.objects("b")] == ["b/c"]
    assert storage.read("b/c", 3, 5) == b"34"
    assert storage.read("b/c", 8) == b"89"
    storage.remove("a")
    storage.remove("a")
    assert [found.name for found in open_storage(where).objects()] == ["b/c"]
    with pytest.raises(FileNotFoundError):
        storage.read("a")


def test_an_object_that_was_not_written_whole_is_not_there(tmp_path):
    program = (
        "import os, sys; from pathlib import Path; from services.storage import Folder; "
        "os.fsync = lambda _: os._exit(9); Folder(Path(sys.argv[1])).write('a/b', b'data')"
    )
    assert subprocess.run([sys.executable, "-c", program, tmp_path], check=False).returncode == 9
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] != []
    assert Folder(tmp_path).objects() == []


def test_a_url_is_a_folder_a_store_of_fsspec_or_refused(tmp_path, monkeypatch):
    assert isinstance(open_storage(f"file://{tmp_path}"), Folder)
    assert isinstance(open_storage("memory://x"), Remote)
    with pytest.raises(StorageError, match="nosuch"):
        open_storage("nosuch://bucket/path")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(StorageError, match=r"croupier-server\[objects\]"):
        open_storage("s3://bucket/path")
