"""The lines of a journal: one right spelling, hashed into a chain."""

import hashlib
from pathlib import Path

import pytest
from msgspec import Raw

from engine import journal
from engine.game import Result
from engine.journal import Aborted, Bot, Created, Finished, Joined, Left, Moved, NotAnEntry, SeatPlan, Started

REFERENCE = Path(__file__).parents[1] / "histories" / "timos_twist_reference.jsonl"
LINES = journal.split(REFERENCE.read_bytes())
STATE = "ab" * 32
PREV = bytes(range(32))

CREATED = Created(
    match="007abc",
    rules="timos_twist/1",
    options={"target": 50, "timo": "call"},
    seats=(SeatPlan("open"), SeatPlan("hard", 800)),
    private=False,
    commitment="c0",
    request="r0",
)
CREATED_FIELDS = (
    '"kind":"created","match":"007abc","rules":"timos_twist/1","options":{"target":50,"timo":"call"},'
    '"seats":[{"kind":"open"},{"kind":"hard","thinking":800}],"private":false,"commitment":"c0","request":"r0"'
)
BODIES = [
    (CREATED, CREATED_FIELDS),
    (
        Joined(seat=0, name="Änne", client_seed="", request="r1"),
        '"kind":"joined","seat":0,"name":"Änne","client_seed":"","request":"r1"',
    ),
    (Left(seat=1, tenure=4, by="host"), '"kind":"left","seat":1,"tenure":4,"by":"host"'),
    (Started(seats=(0, 2)), '"kind":"started","seats":[0,2]'),
    (
        Moved(seat=0, prompt=3, move=Raw(b'{"draw":{}}'), by="clock"),
        '"kind":"moved","seat":0,"prompt":3,"move":{"draw":{}},"by":"clock"',
    ),
    (
        Moved(seat=1, prompt=3, move=Raw(b'{"draw":{}}'), by="bot", bot=Bot("hard", 1, 3)),
        '"kind":"moved","seat":1,"prompt":3,"move":{"draw":{}},"by":"bot","bot":{"policy":"hard","version":1,"seen":3}',
    ),
    (
        Finished(result=Result((70, 0), (0,)), seed="00ff"),
        '"kind":"finished","result":{"scores":[70,0],"winners":[0]},"seed":"00ff"',
    ),
    (Aborted(reason="all_left", seed="00ff"), '"kind":"aborted","reason":"all_left","seed":"00ff"'),
]

NAMES = ["created", "joined", "left", "started", "moved by clock", "moved by bot", "finished", "aborted"]


@pytest.mark.parametrize(("body", "fields"), BODIES, ids=NAMES)
def test_a_line_is_compact_json_in_the_documented_order_without_absent_fields(body, fields):
    line = journal.write(7, 1234, body, STATE, PREV)
    assert line.data.decode() == f'{{"v":7,"at":1234,{fields},"state":"{STATE}","prev":"{PREV.hex()}"}}'


@pytest.mark.parametrize("body", [body for body, _ in BODIES], ids=NAMES)
def test_reading_a_line_gives_back_what_was_written(body):
    entry = journal.read(journal.write(7, 1234, body, STATE, PREV).data)
    assert (entry.version, entry.at, entry.state, entry.prev) == (7, 1234, STATE, PREV.hex())
    if isinstance(body, Moved):
        assert bytes(entry.body.move) == bytes(body.move)
    else:
        assert entry.body == body


def test_the_optional_fields_of_created_stand_between_the_others():
    body = Created(
        match="m", rules="r", options={}, seats=(), private=True, commitment="c", request="q", clock=30_000, code="k"
    )
    data = journal.write(0, 0, body, STATE, PREV).data
    assert b'"seats":[],"clock":30000,"private":true,"commitment":"c","request":"q","code":"k","state"' in data


def test_an_entrys_hash_is_sha256_over_the_hash_before_and_the_line():
    line = journal.write(7, 1234, CREATED, STATE, PREV)
    assert line.hash == hashlib.sha256(PREV + line.data).digest()


def test_every_line_of_the_reference_is_written_again_byte_for_byte():
    head = journal.NO_HASH
    for data in LINES:
        entry = journal.read(data)
        line = journal.write(entry.version, entry.at, entry.body, entry.state, head)
        assert line.data == data
        head = line.hash
    assert head.hex() == REFERENCE.with_suffix(".hash").read_text().strip()


NO_ENTRIES = {
    "empty": b"",
    "a NUL": b"\0",
    "no object": b"[]",
    "an empty object": b"{}",
    "cut short": LINES[5][:100],
    "no UTF-8": LINES[1].replace("Änne".encode(), b"\xff\xfe"),
    "half a surrogate pair": LINES[1].replace("Änne".encode(), b"\\ud800"),
    "an unknown kind": LINES[5].replace(b'"moved"', b'"mooved"'),
    "a missing field": LINES[5].replace(b'"prompt":4,', b""),
    "a null": LINES[5].replace(b'"prompt":4', b'"prompt":null'),
    "a string for a number": LINES[5].replace(b'"prompt":4', b'"prompt":"4"'),
    "a truth for a number": LINES[5].replace(b'"prompt":4', b'"prompt":true'),
    "an unknown `by`": LINES[5].replace(b'"player"', b'"ghost"'),
    "a number of 5000 digits": LINES[5].replace(b'"v":5', b'"v":' + b"9" * 5000),
    "an endless number": LINES[5].replace(b'"v":5', b'"v":1e999'),
    "lists in lists": LINES[0].replace(b'"target":50', b'"target":' + b"[" * 50_000 + b"]" * 50_000),
    "an unclosed nest": b'{"v":' * 50_000,
    "two entries": LINES[5] + LINES[6],
}


@pytest.mark.parametrize("data", NO_ENTRIES.values(), ids=NO_ENTRIES.keys())
def test_bytes_that_are_no_entry_are_refused_with_one_error(data):
    with pytest.raises(NotAnEntry):
        journal.read(data)


def test_a_file_has_one_line_an_entry_whether_or_not_it_ends_with_a_newline():
    assert journal.split(b"a\nb\n") == [b"a", b"b"]
    assert journal.split(b"a\nb") == [b"a", b"b"]
    assert journal.split(b"a\n\nb\n") == [b"a", b"", b"b"]
    assert journal.split(b"") == []


def test_the_seed_is_revealed_by_the_end_and_by_nothing_else():
    assert journal.revealed(LINES) == bytes(range(32))
    assert journal.revealed(LINES[:-1]) is None
    assert journal.revealed([*LINES, LINES[-2], b"garbage"]) == bytes(range(32))
    named = journal.write(1, 0, Joined(0, '"finished"', "", "r"), STATE, PREV).data
    assert journal.revealed([named]) is None
