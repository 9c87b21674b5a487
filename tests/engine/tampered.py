"""A recorded journal, and all that is done to it."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from engine import journal
from engine.audit import parse_hash
from engine.journal import Body
from engine.match import Match

HISTORIES = Path(__file__).parents[1] / "histories"


RECORDED = sorted(HISTORIES.glob("*.jsonl"))


REFERENCE = HISTORIES / "timos_twist_reference.jsonl"


LINES = journal.split(REFERENCE.read_bytes())


ANCHOR = parse_hash(REFERENCE.with_suffix(".hash").read_text())


SEED = bytes(range(32))


LAST = len(LINES) - 1


Lines = list[bytes]


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


def rewritten(lines: Lines, edit: Callable[[int, Body], Body]) -> Lines:
    """The journal with its bodies edited and all digests and hashes recomputed, as the fold gives them."""
    match, done = Match(SEED), []
    for version, data in enumerate(lines):
        entry = journal.read(data)
        done.append(match._append(edit(version, entry.body), entry.at).data)
    return done
