"""The audit: recorded journals verify for ever, and whatever is changed in one is named.

A change is made twice: as it is, and with the chain recomputed behind it, as somebody would who can write the whole
file. With the last hash known from elsewhere neither verifies.
"""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from engine import bots, journal, registry
from engine.audit import (
    FIELDS,
    Difference,
    Source,
    Verdict,
    anchored,
    audit,
    audit_source,
    files,
    parse_hash,
)
from engine.chance import Stream, commitment
from engine.journal import Body, Created, Finished, Joined, Left, Moved, Started
from engine.match import Match
from tests.engine.hard import computers, let_computers_move
from tests.histories.record import NAMES, Table

HISTORIES = Path(__file__).parents[1] / "histories"
RECORDED = sorted(HISTORIES.glob("*.jsonl"))
REFERENCE = HISTORIES / "timos_twist_reference.jsonl"
LINES = journal.split(REFERENCE.read_bytes())
ANCHOR = parse_hash(REFERENCE.with_suffix(".hash").read_text())
SEED = bytes(range(32))
LAST = len(LINES) - 1

Lines = list[bytes]


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


# --- tampering -------------------------------------------------------------------------------------------------------


def chained(lines: Sequence[bytes]) -> Lines:
    """The lines with every `prev` recomputed, and nothing else."""
    head, done = journal.NO_HASH, []
    for data in lines:
        done.append(re.sub(rb'"prev":"[^"]*"', b'"prev":"%b"' % head.hex().encode(), data))
        head = journal.entry_hash(head, done[-1])
    return done


def swap(old: bytes, new: bytes, version: int) -> Callable[[Lines], Lines]:
    def tamper(lines: Lines) -> Lines:
        assert old in lines[version]
        return [*lines[:version], lines[version].replace(old, new, 1), *lines[version + 1 :]]

    return tamper


def renumbered(lines: Lines) -> Lines:
    return [re.sub(rb'^{"v":\d+', b'{"v":%d' % version, data) for version, data in enumerate(lines)]


def change_places(lines: Lines) -> Lines:
    return swap(b'"seat":1', b'"seat":0', 2)(swap(b'"seat":0', b'"seat":1', 1)(lines))


def same_request(lines: Lines) -> Lines:
    first, second = (journal.read(data).body.request.encode() for data in lines[1:3])
    return swap(second, first, 2)(lines)


def key_order(lines: Lines) -> Lines:
    fields = json.loads(lines[5])
    moved = {name: fields[name] for name in sorted(fields)}
    return [*lines[:5], json.dumps(moved, separators=(",", ":")).encode(), *lines[6:]]


# Each: what is done; where and in what the audit finds it as it is; and with the chain recomputed (None: it does not).
TAMPERS: dict[str, tuple[Callable[[Lines], Lines], tuple[int, str], tuple[int, str] | None]] = {
    "another legal move": (swap(b"blue-3", b'plus4","color":"blue', 4), (4, "digest"), (4, "digest")),
    "an illegal move": (swap(b"blue-3", b"pink-9", 4), (4, "legality"), (4, "legality")),
    "a card of no game": (swap(b"blue-3", b"ace", 4), (4, "legality"), (4, "legality")),
    "a move of no game": (swap(b'{"play":{"card":"blue-3"}}', b'{"fold":{}}', 4), (4, "legality"), (4, "legality")),
    "a move of the other seat": (swap(b'"seat":1', b'"seat":0', 4), (4, "legality"), (4, "legality")),
    "a move of no seat": (swap(b'"seat":1', b'"seat":7', 4), (4, "seat"), (4, "seat")),
    "a move by the clock": (swap(b'"player"', b'"clock"', 5), (6, "chain"), None),
    "another move by the clock": (swap(b'"by":"player"', b'"by":"clock"', 18), (18, "clock"), (18, "clock")),
    "a move by no computer": (swap(b'"player"', b'"bot"', 4), (4, "computer move"), (4, "computer move")),
    "a computer's move for a present human": (
        swap(b'"player"', b'"bot","bot":{"policy":"hard","version":1,"seen":3}', 4),
        (4, "by"),
        (4, "by"),
    ),
    "an option that changes the end": (swap(b'"target":50', b'"target":100', 0), (1, "chain"), (168, "digest")),
    "an option that changes nothing": (swap(b'"target":50', b'"target":60', 0), (1, "chain"), None),
    "an option out of its range": (swap(b'"target":50', b'"target":49', 0), (0, "options"), (0, "options")),
    "an option too many": (swap(b'"target":50', b'"target":50,"x":1', 0), (0, "options"), (0, "options")),
    "an option too few": (swap(b'"target":50,', b"", 0), (0, "options"), (0, "options")),
    "unknown rules": (swap(b"timos_twist/1", b"timos_twist/9", 0), (0, "rules"), (0, "rules")),
    "another match id": (swap(b"025sv", b"026sv", 0), (0, "commitment"), (0, "commitment")),
    "a commitment": (swap(b'"a78f', b'"a78e', 0), (0, "commitment"), (0, "commitment")),
    "a foreign seed": (swap(b'"0001', b'"0002', LAST), (0, "commitment"), (0, "commitment")),
    "a seed in capitals": (swap(b"0a0b", b"0A0B", LAST), (LAST, "reveal"), (LAST, "reveal")),
    "a seed that is no hex": (swap(b'"0001', b'"zz01', LAST), (LAST, "reveal"), (LAST, "reveal")),
    "no reveal": (swap(b',"seed":"%b"' % SEED.hex().encode(), b"", LAST), (LAST, "reveal"), (LAST, "reveal")),
    "more seats": (swap(b'[{"kind":"open"}', b'[{"kind":"open"},{"kind":"open"}', 0), (1, "chain"), None),
    "a seat that is born human": (swap(b'{"kind":"open"}', b'{"kind":"human"}', 0), (0, "seats"), (0, "seats")),
    "a clock": (swap(b'"clock":30000', b'"clock":1', 0), (1, "chain"), None),
    "a clock of more than 53 bits": (swap(b'"clock":30000', b'"clock":9007199254740993', 0), (0, "line"), (0, "line")),
    "a clock of more than 64 bits": (swap(b'"clock":30000', b'"clock":3%b' % (b"0" * 30), 0), (0, "line"), (0, "line")),
    "a time of more than 53 bits": (swap(b'"at":', b'"at":900719925474', LAST), (LAST, "line"), (LAST, "line")),
    "half a character": (swap(b"Bob", rb"Bob\ud83d", 2), (2, "line"), (2, "line")),
    "a name": (swap("Änne".encode(), b"Anna", 1), (2, "chain"), None),
    "a name too long": (swap(b"Bob", b"B" * 33, 2), (2, "name"), (2, "name")),
    "a control character in a name": (swap(b"Bob", rb"\u001b[2J", 2), (2, "name"), (2, "name")),
    "a client seed": (swap(b'"626f62"', b'"626f63"', 2), (3, "chain"), (3, "deal")),
    "a client seed in capitals": (swap(b'"626f62"', b'"626F62"', 2), (2, "client seeds"), (2, "client seeds")),
    "a client seed too long": (
        swap(b'"626f62"', b'"%b"' % (b"62" * 65), 2),
        (2, "client seeds"),
        (2, "client seeds"),
    ),
    "two seats that change places": (change_places, (2, "chain"), (3, "deal")),
    "a request that joined before": (same_request, (2, "request"), (2, "request")),
    "the same seat twice": (swap(b'"seat":1', b'"seat":0', 2), (2, "seat"), (2, "seat")),
    "a start without a seat": (swap(b"[0,1]", b"[0]", 3), (3, "seats"), (3, "seats")),
    "seats in another order": (swap(b"[0,1]", b"[1,0]", 3), (3, "seats"), (3, "seats")),
    "a result": (swap(b"[70,0]", b"[71,0]", LAST), (LAST, "result"), (LAST, "result")),
    "another winner": (swap(b'"winners":[0]', b'"winners":[1]', LAST), (LAST, "result"), (LAST, "result")),
    "an abort for the end": (
        swap(b'"finished","result":{"scores":[70,0],"winners":[0]}', b'"aborted","reason":"operator"', LAST),
        (LAST, "order"),
        (LAST, "order"),
    ),
    "the digest of a state": (swap(b'"state":"9f', b'"state":"8f', 4), (4, "digest"), (4, "digest")),
    "the digest of the deal": (swap(b'"state":"22', b'"state":"23', 3), (3, "deal"), (3, "deal")),
    "the digest of the lobby": (swap(b'"state":"d5', b'"state":"d6', 1), (1, "digest"), (1, "digest")),
    "a hash of the chain": (swap(b'"prev":"29', b'"prev":"2a', 4), (4, "chain"), None),
    "a prompt": (swap(b'"prompt":3', b'"prompt":2', 4), (4, "prompt"), (4, "prompt")),
    "a time that goes back": (swap(b'"at":1007', b'"at":1005', 7), (7, "time"), (7, "time")),
    "a time": (swap(b'"at":1007', b'"at":1008', 7), (8, "chain"), None),
    "a version": (swap(b'"v":7', b'"v":8', 7), (7, "order"), (7, "order")),
    "two entries in each other's place": (
        lambda lines: [*lines[:7], lines[8], lines[7], *lines[9:]],
        (7, "order"),
        (7, "order"),
    ),
    "two entries in each other's place, renumbered": (
        lambda lines: renumbered([*lines[:7], lines[8], lines[7], *lines[9:]]),
        (7, "chain"),
        (7, "prompt"),
    ),
    "an entry twice": (lambda lines: [*lines[:8], lines[7], *lines[8:]], (8, "order"), (8, "order")),
    "an entry twice, renumbered": (
        lambda lines: renumbered([*lines[:8], lines[7], *lines[8:]]),
        (8, "chain"),
        (8, "prompt"),
    ),
    "a missing entry": (lambda lines: lines[:7] + lines[8:], (7, "order"), (7, "order")),
    "a missing entry, renumbered": (lambda lines: renumbered(lines[:7] + lines[8:]), (7, "chain"), (7, "prompt")),
    "a missing beginning": (lambda lines: lines[1:], (0, "order"), (0, "order")),
    "a missing end": (lambda lines: lines[:-1], (LAST, "tail"), (LAST, "tail")),
    "half a journal": (lambda lines: lines[:80], (80, "tail"), (80, "tail")),
    "half a last line": (lambda lines: [*lines[:-1], lines[-1][:99]], (LAST, "tail"), (LAST, "tail")),
    "an entry after the end": (lambda lines: [*lines, lines[-2]], (LAST + 1, "order"), (LAST + 1, "order")),
    "an entry after the end, renumbered": (
        lambda lines: renumbered([*lines, lines[-2]]),
        (LAST + 1, "chain"),
        (LAST + 1, "order"),
    ),
    "an end after the end": (
        lambda lines: renumbered([*lines, lines[-1]]),
        (LAST + 1, "chain"),
        (LAST + 1, "order"),
    ),
    "an empty line": (lambda lines: [*lines[:9], b"", *lines[9:]], (9, "line"), (9, "line")),
    "a line that is cut": (lambda lines: [*lines[:9], lines[9][:50], *lines[10:]], (9, "line"), (9, "line")),
    "a surplus field": (swap(b'"prompt":4', b'"prompt":4,"note":1', 5), (5, "spelling"), (5, "spelling")),
    "a surplus field of a move": (swap(b'"blue-0"', b'"blue-0","x":1', 5), (5, "legality"), (5, "legality")),
    "a doubled key": (swap(b'"seat":0', b'"seat":1,"seat":0', 5), (5, "spelling"), (5, "spelling")),
    "a space": (swap(b'"seat":0', b'"seat": 0', 5), (5, "spelling"), (5, "spelling")),
    "a space in a move": (swap(b'"blue-0"', b' "blue-0"', 5), (5, "spelling"), (5, "spelling")),
    "an escaped letter": (swap("Ä".encode(), rb"\u00c4", 1), (1, "spelling"), (1, "spelling")),
    "a null for an absent field": (swap(b',"state"', b',"code":null,"state"', 0), (0, "line"), (0, "line")),
    "keys in another order": (key_order, (5, "spelling"), (5, "spelling")),
    "a carriage return": (lambda lines: [data + b"\r" for data in lines], (0, "spelling"), (0, "spelling")),
}  # fmt: skip


@pytest.mark.parametrize("name", TAMPERS)
def test_what_was_changed_in_a_journal_is_named(name):
    tamper, expected, _ = TAMPERS[name]
    difference = audit(tamper(LINES)).difference
    assert difference is not None
    assert (difference.version, difference.field) == expected
    assert difference.field in FIELDS


@pytest.mark.parametrize("name", TAMPERS)
def test_what_was_changed_is_named_also_behind_a_recomputed_chain(name):
    """None: what no rule reads, or what other rules would have played to the same end, is held by the chain alone."""
    tamper, _, expected = TAMPERS[name]
    difference = audit(chained(tamper(LINES))).difference
    assert (difference and (difference.version, difference.field)) == expected


@pytest.mark.parametrize("rechain", [list, chained], ids=["as it is", "chain recomputed"])
@pytest.mark.parametrize("name", sorted(set(TAMPERS) - {"a hash of the chain"}))
def test_with_the_last_hash_nothing_that_was_changed_verifies(name, rechain):
    tamper, plain, behind_chain = TAMPERS[name]
    verdict = audit(rechain(tamper(LINES)), ANCHOR)
    assert verdict.outcome == "different"
    if rechain is chained and behind_chain is None:
        assert (verdict.difference.version, verdict.difference.field) == (LAST, "last hash")
    else:
        expected = plain if rechain is list else behind_chain
        assert (verdict.difference.version, verdict.difference.field) == expected


def test_a_whole_journal_made_anew_stays_consistent_and_only_the_last_hash_tells():
    """Who owns the server may draw another seed and play again: nothing inside such a journal is wrong."""
    game = registry.find("timos_twist/1")
    forged = Table(game, 2, {"target": 50}, label="forged")
    forged.fill()
    forged.play()
    assert audit(forged.data).outcome == "consistent"
    assert audit(forged.data, ANCHOR).difference.field == "last hash"


def rewritten(lines: Lines, edit: Callable[[int, Body], Body]) -> Lines:
    """The journal with its bodies edited and all digests and hashes recomputed, as the fold gives them."""
    match, done = Match(SEED), []
    for version, data in enumerate(lines):
        entry = journal.read(data)
        done.append(match._append(edit(version, entry.body), entry.at).data)
    return done


def test_a_client_seed_changed_with_all_digests_recomputed_shows_in_the_moves():
    """Another seed deals other cards, so that the recorded moves can no longer be made."""

    def edit(version: int, body: Body) -> Body:
        return replace(body, client_seed="00") if version == 2 else body

    with pytest.raises(Exception):  # noqa: B017 - the forger's own fold breaks down over the first impossible move
        rewritten(LINES, edit)
    verdict = audit(rewritten(LINES[:4], edit) + LINES[4:])
    assert (verdict.difference.version, verdict.difference.field) == (4, "chain")
    verdict = audit(chained(rewritten(LINES[:4], edit) + LINES[4:]))
    assert (verdict.difference.version, verdict.difference.field) == (4, "legality")


def test_a_name_changed_with_everything_recomputed_stays_consistent():
    """Names are in no state. The chain holds them, and the chain is held by an anchor."""
    forged = rewritten(LINES, lambda version, body: replace(body, name="Eve") if version == 1 else body)
    assert audit(forged).outcome == "consistent"
    assert audit(forged, ANCHOR).difference.field == "last hash"


def test_a_result_changed_with_everything_recomputed_is_found():
    table = Table(registry.find("timos_twist/1"), 2, {"target": 50}, label="result")
    table.fill()
    table.play()
    scores = json.dumps(table.match.result.scores[::-1]).replace(" ", "").encode()
    forged = [*table.data[:-1], re.sub(rb'"scores":\[[\d,]+\]', b'"scores":' + scores, table.data[-1])]
    assert audit(chained(forged)).difference.field == "result"


# --- who made a move -------------------------------------------------------------------------------------------------


def test_after_everybody_has_left_nothing_but_the_abort_may_follow():
    table = Table(registry.find("timos_twist/1"), 2, label="left")
    table.fill()
    table.leave(0)
    table.leave(1)
    assert audit(table.data).difference is None
    without = table.data[:-1]
    assert audit(without, seed=table.seed).difference is None
    joined = table.data[1]
    late = renumbered([*without, re.sub(rb'"at":\d+', b'"at":%d' % table.at, joined)])
    assert audit(chained(late), seed=table.seed).difference == Difference(
        len(without), "order", f"entry {len(without) - 1} has to be followed by `aborted`"
    )


def test_a_player_who_has_left_makes_no_more_moves():
    table = Table(registry.find("timos_twist/1"), 2, label="ghost")
    table.fill()
    [seat] = table.match.to_act
    table.leave(seat)
    table.time_out(seat)
    data = table.data
    forged = [*data[:-1], data[-1].replace(b'"by":"clock"', b'"by":"player"')]
    assert audit(forged, seed=table.seed).difference == Difference(len(data) - 1, "by", f"no player holds seat {seat}")


def test_the_clock_moves_for_nobody_who_owes_no_move():
    """Catching the seat that forgot TIMO is a right, never the clock's business."""
    table = Table(registry.find("timos_twist/1"), 3, label="windows")
    table.fill()
    while not any(b'"catch"' in data for data in table.data):
        table.step()
    data = table.data
    forged = [*data[:-1], data[-1].replace(b'"by":"player"', b'"by":"clock"')]
    difference = audit(forged, seed=table.seed).difference
    assert (difference.version, difference.field) == (len(data) - 1, "clock")
    assert difference.detail.endswith("owes no move")


def test_the_host_sends_nobody_away_from_a_running_match():
    table = Table(registry.find("timos_twist/1"), 3, label="host")
    table.fill()
    table.leave(0)
    forged = [*table.data[:-1], table.data[-1].replace(b'"by":"player"', b'"by":"host"')]
    difference = audit(forged, seed=table.seed).difference
    assert (difference.version, difference.field) == (len(forged) - 1, "by")


def computer_match() -> list[bytes]:
    """The journal of a match of two computers, finished."""
    match = computers("hard", "easy")
    let_computers_move(match)
    return match.lines


def test_the_moves_of_computers_are_computed_again():
    lines = computer_match()
    assert audit(lines).outcome == "consistent"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"policy":"hard"', b'"policy":"easy"'),
        (b'"version":9', b'"version":8'),
        (b'"seen":1}', b'"seen":0}'),
        (b'"by":"bot"', b'"by":"clock"'),
    ],
)
def test_a_computers_move_is_its_own_and_made_on_what_it_saw(old, new):
    lines = computer_match()
    at = next(number for number, line in enumerate(lines) if old in line)
    lines[at] = lines[at].replace(old, new, 1)
    difference = audit(lines).difference
    assert (difference.version, difference.field) == (at, "computer move")


def test_another_legal_move_of_a_computer_is_named_though_the_chain_fits():
    match = computers("hard", "easy")
    question = match.question(match.to_act[0])
    other = next(move for move in question.seen.legal if move != bots.answer(question))
    match.bot_move(question, other, match.at)
    difference = audit(match.lines, seed=bytes(32)).difference
    assert (difference.version, difference.field) == (2, "computer move")


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
