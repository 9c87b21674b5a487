"""The audit: recorded journals verify for ever, and any bytes get a verdict."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from engine import journal, registry
from engine.audit import FIELDS, Difference, Source, Verdict, anchored, audit, audit_source, files
from engine.chance import Stream, commitment
from engine.journal import Created, Finished, Joined, Left, Moved, Started
from tests.engine.tampered import ANCHOR, LAST, LINES, RECORDED, SEED, TAMPERS, Lines, swap
from tests.histories.record import NAMES

# --- recorded journals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_a_recorded_journal_verifies_for_ever(file):
    """If this fails, a change altered a replay: it needs a new rules version, and the old one has to stay."""
    verdict = audit_source(Source(file.name, file)).verdict
    assert verdict.difference is None
    assert verdict.outcome == "verified"


@pytest.mark.parametrize("game", registry.games(), ids=lambda game: game.rules)
def test_every_version_of_every_game_has_recorded_journals_of_all_that_happens(game):
    """Made by `python tests/histories/record.py`: an end by the rules, timeouts, a seat left, fewer seats, options."""
    entries = [[journal.read(data) for data in journal.split(file.read_bytes())] for file in RECORDED]
    mine = [each for each in entries if isinstance(each[0].body, Created) and each[0].body.rules == game.rules]
    bodies = [entry.body for each in mine for entry in each]
    assert any(isinstance(body, Finished) for body in bodies)
    assert any(isinstance(body, Moved) and body.by == "clock" for body in bodies)
    assert any(isinstance(body, Left) and body.by == "host" for body in bodies)
    assert any(isinstance(body, Joined) for body in bodies)
    created = [body for body in bodies if isinstance(body, Created)]
    started = [body for body in bodies if isinstance(body, Started)]
    assert any(len(one.seats) < len(planned.seats) for planned, one in zip(created, started, strict=True))
    defaults = [msgspec.json.decode(msgspec.json.encode(game.options({}, len(body.seats)))) for body in created]
    assert any(body.options != default for body, default in zip(created, defaults, strict=True))


def test_every_recorded_journal_has_its_last_hash_beside_it():
    assert [file.with_suffix(".hash").exists() for file in RECORDED] == [True] * len(RECORDED)


# --- the verdict on a journal without fault --------------------------------------------------------------------------


def test_with_its_last_hash_a_journal_is_verified_and_without_it_is_consistent():
    verified = audit(LINES, ANCHOR)
    assert verified == Verdict(
        "verified", "025sv64h4mddscxqmocoirec5", "timos_twist/1", "finished", 170, 165, ANCHOR.hex()
    )
    assert audit(LINES) == replace(verified, outcome="consistent")
    assert anchored(audit(LINES), ANCHOR) == verified


def test_a_running_match_is_audited_with_its_seed():
    """As far as it goes; it may also be anchored by the hash of its present last entry."""
    for entries in (1, 3, 4, 100, LAST):
        verdict = audit(LINES[:entries], seed=SEED)
        assert (verdict.outcome, verdict.difference) == ("consistent", None)
        assert verdict.status == ("lobby" if entries < 4 else "running")
        assert audit(LINES[:entries], bytes.fromhex(verdict.head), SEED).outcome == "verified"


def test_a_lobby_without_an_end_may_be_a_part_only():
    assert audit(LINES[:2]).difference.field == "tail"
    assert audit(LINES[:2], seed=SEED).difference is None


def test_a_running_match_is_not_audited_with_another_seed():
    difference = audit(LINES[:50], seed=bytes(32)).difference
    assert (difference.version, difference.field) == (0, "commitment")


# --- any bytes at all ------------------------------------------------------------------------------------------------


GARBAGE = {
    "nothing": b"",
    "a NUL": b"\0",
    "an object": b"{}",
    "a list": b"[]",
    "no UTF-8": b"\xff\xfe",
    "lists without end": b"[" * 100_000,
    "objects without end": b'{"v":' * 50_000,
    "a number of 5000 digits": LINES[0].replace(b'"v":0', b'"v":' + b"1" * 5000),
    "a version of 100 digits": LINES[0].replace(b'"v":0', b'"v":' + b"9" * 100),
    "a negative version": LINES[0].replace(b'"v":0', b'"v":-1'),
    "an endless time": LINES[0].replace(b'"at":1000', b'"at":1e999'),
    "a deep option": LINES[0].replace(b'"target":50', b'"target":' + b"[" * 900 + b"]" * 900),
    "100000 seats": LINES[0].replace(b'"seats":[', b'"seats":[' + b'{"kind":"open"},' * 100_000),
    "half a surrogate pair": LINES[0].replace(b"timos_twist/1", rb"\ud800"),
    "a seat of 100 digits": LINES[0].replace(b'"kind":"created"', b'"kind":"left","seat":' + b"9" * 100),
    "a megabyte of text": b"x" * 1_000_000,
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_in_any_place_gets_a_verdict(name):
    garbage = GARBAGE[name]
    for place, lines in {
        0: [garbage, *LINES[1:]],
        1: [LINES[0], garbage],
        60: [*LINES[:60], garbage, *LINES[60:]],
        LAST: [*LINES[:LAST], garbage],
        LAST + 1: [*LINES, garbage],
    }.items():
        verdict = audit(lines, ANCHOR)
        assert verdict.outcome == "different"
        assert verdict.difference.version == place
        assert verdict.difference.field in FIELDS
        assert len(verdict.difference.detail) < 1000


def test_a_journal_without_entries_is_different():
    assert audit([], ANCHOR).difference == Difference(0, "tail", "the journal has no entries")


def test_no_changed_byte_verifies_or_raises():
    """600 journals with one byte changed, drawn from a fixed stream."""
    chance = Stream(SEED, "tampering", 0)
    for _ in range(600):
        version = chance.pick(len(LINES))
        data = bytearray(LINES[version])
        data[chance.pick(len(data))] ^= 1 << chance.pick(8)
        verdict = audit([*LINES[:version], bytes(data), *LINES[version + 1 :]], ANCHOR)
        assert verdict.outcome == "different"
        assert verdict.difference.field in FIELDS
        assert verdict.difference.version in (0, version, version + 1)


def test_rules_that_break_down_over_an_entry_are_a_verdict_too(monkeypatch):
    game = registry.find("timos_twist/1")
    monkeypatch.setattr(type(game), "apply", lambda *_: 1 / 0)
    difference = audit(LINES).difference
    assert difference == Difference(4, "rules failed", "ZeroDivisionError: division by zero")


def test_an_entry_without_a_seed_to_deal_from_is_still_held_by_the_chain():
    """A running match that was read without its seed: what can be checked is checked before the end is missed."""
    running = LINES[:60]
    for name, field in {"a hash of the chain": "chain", "a time that goes back": "time", "a version": "order"}.items():
        assert audit(TAMPERS[name][0](running)).difference.field == field
    assert audit(swap(b'"moved"', b'"mooved"', 20)(running)).difference.version == 20
    assert audit(running).difference.version == 60


# --- files -----------------------------------------------------------------------------------------------------------


def write(path: Path, lines: Lines, last: bytes | str | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(data + b"\n" for data in lines))
    if last is not None:
        path.with_suffix(".hash").write_text(last if isinstance(last, str) else last.hex())
    return path


def test_folders_are_searched_in_depth_in_the_order_of_names(tmp_path):
    for name in ("b.jsonl", "a/z.jsonl", "a/b/c.jsonl", "a/no.json"):
        write(tmp_path / name, LINES[:1])
    alone = write(tmp_path / "alone.txt", LINES[:1])
    found = [source.path.relative_to(tmp_path).as_posix() for source in files([alone, tmp_path])]
    assert found == ["alone.txt", "a/b/c.jsonl", "a/z.jsonl", "b.jsonl"]


@pytest.mark.parametrize(
    ("last", "outcome", "field"),
    [
        (None, "consistent", None),
        (ANCHOR, "verified", None),
        (f"  {ANCHOR.hex().upper()}\n", "verified", None),
        (bytes(32), "different", "last hash"),
        (ANCHOR[:31], "different", "file"),
        ("", "different", "file"),
        ("no hash", "different", "file"),
        ("ä", "different", "file"),
    ],
)
def test_a_hash_beside_the_file_is_the_anchor(tmp_path, last, outcome, field):
    verdict = audit_source(Source("x", write(tmp_path / "x.jsonl", LINES, last))).verdict
    assert (verdict.outcome, verdict.difference and verdict.difference.field) == (outcome, field)


def test_a_missing_last_newline_is_no_fault(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n".join(LINES))
    assert audit_source(Source("x", path)).verdict.outcome == "consistent"


@pytest.mark.parametrize("name", ["missing.jsonl", "folder.jsonl"])
def test_a_file_that_cannot_be_read_is_a_verdict(tmp_path, name):
    (tmp_path / "folder.jsonl").mkdir()
    verdict = audit_source(Source(name, tmp_path / name)).verdict
    assert (verdict.outcome, verdict.difference.field) == ("different", "file")


def test_a_source_may_bring_its_lines_its_seed_and_its_last_hash():
    running = tuple(LINES[:80])
    head = bytes.fromhex(audit(running, seed=SEED).head)
    assert audit_source(Source("match", lines=running, seed=SEED)).verdict.outcome == "consistent"
    assert audit_source(Source("match", lines=running, seed=SEED, anchor=head)).verdict.outcome == "verified"


def test_recorded_names_are_of_many_scripts_and_commitments_are_the_documented_ones():
    """What the recordings rest on: names beyond ASCII, and a commitment that anybody can compute."""
    created = journal.read(LINES[0]).body
    assert created.commitment == commitment(SEED, created.match, created.rules).hex()
    assert sum(not name.isascii() for name in NAMES) > 3
