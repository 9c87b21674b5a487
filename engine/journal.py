"""The journal: its entries, their lines and the hash chain.

A line is compact UTF-8 JSON: `v`, `at`, `kind`, the kind's own fields, `state`, `prev`, in this order; absent fields
are left out. An entry's hash is SHA-256 over `prev`'s 32 bytes and the line's bytes. The journal stores what was put in
(moves), never what came of it; the digest in `state` catches any drift.
"""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from engine.game import Result, encode

NO_HASH = bytes(32)
"""`prev` of the first entry."""

Millis = Annotated[int, Meta(le=2**53 - 1)]
"""Milliseconds. No greater number is an entry's: whoever reads JSON with doubles would take it for another one."""


class SeatPlan(Struct, frozen=True):
    """What a seat is meant for: `open` for a human, else a computer level.

    `thinking` is its thinking time in milliseconds, `policy` its version, for the whole match.
    """

    kind: str
    thinking: Millis | UnsetType = UNSET
    policy: int | UnsetType = UNSET


class Created(Struct, frozen=True, tag_field="kind", tag="created"):
    """The match exists. `options` holds all of them; `clock` is milliseconds a decision; hashes are hex.

    `code` is the game code that the match is dealt from, `absent` the computer player that decides for absent humans.
    """

    match: str
    rules: str
    options: dict[str, Any]
    seats: tuple[SeatPlan, ...]
    private: bool
    commitment: str
    request: str
    clock: Millis | UnsetType = UNSET
    code: str | UnsetType = UNSET
    absent: SeatPlan | UnsetType = UNSET


class Joined(Struct, frozen=True, tag_field="kind", tag="joined"):
    """A seat was taken; its tenure is this entry's version. `client_seed` is hex."""

    seat: int
    name: str
    client_seed: str
    request: str


class Left(Struct, frozen=True, tag_field="kind", tag="left"):
    """A tenure ended: by the player himself or by the host."""

    seat: int
    tenure: int
    by: Literal["player", "host"]


class Started(Struct, frozen=True, tag_field="kind", tag="started"):
    """The deal. The i-th of `seats` (ascending) plays as seat i of the game."""

    seats: tuple[int, ...]


class Bot(Struct, frozen=True):
    """Which policy made a move, and the version whose view it decided on."""

    policy: str
    version: int
    seen: int


class Moved(Struct, frozen=True, tag_field="kind", tag="moved"):
    """A seat moved; `move` is the one-key object of the game's contract."""

    seat: int
    prompt: int
    move: Raw
    by: Literal["player", "clock", "bot"]
    bot: Bot | UnsetType = UNSET


class Finished(Struct, frozen=True, tag_field="kind", tag="finished"):
    """The rules ended the match; `seed` is the reveal (hex)."""

    result: Result
    seed: str


class Aborted(Struct, frozen=True, tag_field="kind", tag="aborted"):
    """The match was ended from outside the rules; `seed` is the reveal (hex)."""

    reason: str
    seed: str


Body = Created | Joined | Left | Started | Moved | Finished | Aborted
ENDS = (Finished, Aborted)


class _Head(Struct):
    v: int
    at: Millis
    state: str
    prev: str


class _MovedLine(Struct):
    """A whole line with a move; most lines are, so they are read at once and not in two parts."""

    v: int
    at: Millis
    kind: Literal["moved"]
    seat: int
    prompt: int
    move: Raw
    by: Literal["player", "clock", "bot"]
    state: str
    prev: str
    bot: Bot | UnsetType = UNSET


class Entry(Struct, frozen=True):
    """One thing that happened: its version, its time (Unix milliseconds, never read by rules) and both hashes (hex)."""

    version: int
    at: int
    body: Body
    state: str
    prev: str


class Line(Struct, frozen=True):
    """An entry as it is stored: the bytes without a newline, and the entry's hash (32 bytes)."""

    version: int
    data: bytes
    hash: bytes


class NotAnEntry(ValueError):
    """The bytes are no journal line."""


class Drift(ValueError):
    """A recorded entry is not what the fold gives; `field` is the first field of the line that differs."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(f"{field}: {detail}")
        self.field = field
        self.detail = detail


def from_hex(field: str, text: str) -> bytes:
    """Return the bytes behind the lower-case hex of a field. Raises Drift."""
    try:
        data = bytes.fromhex(text)
    except ValueError:
        data = b""
    if data.hex() != text:
        raise Drift(field, "is not lower-case hex")
    return data


_HEADS = msgspec.json.Decoder(_Head)
_BODIES = msgspec.json.Decoder(Body)
_MOVES = msgspec.json.Decoder(_MovedLine)
_CREATED = ("kind", "match", "rules", "options", "seats", "clock", "private", "commitment", "request", "code", "absent")


def entry_hash(prev: bytes, data: bytes) -> bytes:
    """Return the hash of the entry with these line bytes after the entry with hash `prev`."""
    return hashlib.sha256(prev + data).digest()


def write(version: int, at: int, body: Body, state: str, prev: bytes) -> Line:
    """Return the line of an entry; equal entries have equal bytes."""
    fields = encode(_in_order(body) if isinstance(body, Created) else body)
    data = b'{"v":%d,"at":%d,%b,"state":"%b","prev":"%b"}' % (
        version,
        at,
        fields[1:-1],
        state.encode(),
        prev.hex().encode(),
    )
    return Line(version, data, entry_hash(prev, data))


def _in_order(body: Created) -> dict[str, object]:
    """Required fields come first in a struct, `clock` stands before them on the line."""
    fields = ((name, "created" if name == "kind" else getattr(body, name)) for name in _CREATED)
    return {name: value for name, value in fields if value is not UNSET}


def read(data: bytes) -> Entry:
    """Return the entry in a line. Raises NotAnEntry.

    Unknown fields and another spelling are let pass here; `write` gives the only right bytes to compare with.
    """
    try:
        line = _MOVES.decode(data)
        body = Moved(line.seat, line.prompt, line.move, line.by, line.bot)
        return Entry(line.v, line.at, body, line.state, line.prev)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # another kind, or no entry: what is wrong is said below
    try:
        head = _HEADS.decode(data)
        return Entry(head.v, head.at, _BODIES.decode(data), head.state, head.prev)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotAnEntry(str(error)) from None


def chained(lines: Sequence[bytes]) -> bytes:
    """Return the last hash of lines whose versions count from 0 and whose hashes chain. Raises NotAnEntry."""
    head = NO_HASH
    for version, data in enumerate(lines):
        try:
            entry = _HEADS.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise NotAnEntry(f"entry {version}: {error}") from None
        if (entry.v, entry.prev) != (version, head.hex()):
            raise NotAnEntry(f"entry {version} does not follow the one before it")
        head = entry_hash(head, data)
    return head


def split(data: bytes) -> list[bytes]:
    """Return the lines of a `.jsonl` file, without newlines; a last newline adds none."""
    lines = data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


def revealed(lines: Sequence[bytes]) -> bytes | None:
    """Return the server seed that the end reveals; the end is looked for from behind, as it should be last."""
    for data in reversed(lines):
        if b'"finished"' not in data and b'"aborted"' not in data:
            continue
        try:
            body = read(data).body
            if isinstance(body, ENDS):
                return bytes.fromhex(body.seed)
        except ValueError:
            continue
    return None
