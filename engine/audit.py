"""The audit: what a stranger can say of a journal with nothing but the journal and the rules.

A journal brings all that its deal came from: the client seeds where players joined, the server seed in its last entry.
So the audit reads the end first, deals again, and folds every entry; the first one that is not, byte for byte, what the
fold gives is the verdict. A chain proves only its own order. Whoever rewrites a whole journal, seed and commitment
included, leaves a consistent one; it takes a last hash kept elsewhere (an *anchor*) to see that, and only then is the
verdict *verified*.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path  # noqa: TID251 - the audit reads journals from files
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from engine import journal
from engine.chance import commitment
from engine.journal import Aborted, Finished, NotAnEntry
from engine.match import Drift, Match
from engine.refusals import BadCode, BadOptions, BadSeats, Refusal, UnknownGame

JOURNAL_SUFFIX = ".jsonl"
ANCHOR_SUFFIX = ".hash"
MAX_DETAIL = 400

Outcome = Literal["verified", "consistent", "different"]

FIELDS = {
    "line": "the bytes are no entry",
    "spelling": "an entry, but not in the one right spelling: a surplus field, another order, a space",
    "order": "an entry too many, too few or out of its place",
    "tail": "the end is missing, or cut",
    "chain": "`prev` is not the hash of the entry before",
    "time": "`at` goes back",
    "rules": "no rules are registered under that name and version",
    "options": "not the options that the rules have",
    "code": "the game code is mistyped, or says another match",
    "seats": "not seats that the rules, or the joins so far, allow",
    "seat": "that seat cannot do that now",
    "name": "not the form of a name",
    "client seeds": "not the form of a client seed",
    "request": "a request that joined before",
    "tenure": "not the tenure that holds the seat",
    "commitment": "the server seed is not the one promised in `created`",
    "reveal": "the server seed is missing, or not lower-case hex",
    "deal": "the seeds deal something else",
    "prompt": "not the prompt that the seat had",
    "legality": "not a legal move",
    "by": "whoever made the move may not have",
    "clock": "not the move that the clock makes",
    "computer move": "not a move that the computer player made there",
    "digest": "the state after the entry is another one",
    "result": "not the result that the moves give",
    "last hash": "a consistent journal, but not the one whose last hash was given",
    "signature": "a consistent journal, but its last hash is not signed with the operator's key",
    "file": "the journal, or the file with its last hash or signature, cannot be read",
    "rules failed": "the rules broke down over this entry",
}
"""What an entry can differ in, and what that means."""

_NO_END = "the journal stops before the end that reveals the seed, or its match is still running"

_FIELD_OF = {
    "v": "order",
    "kind": "order",
    "prev": "chain",
    "at": "time",
    "client_seed": "client seeds",
    "move": "spelling",
    "bot": "computer move",
    "state": "digest",
    "line": "spelling",
    "seed": "reveal",
}


class Difference(Struct, frozen=True):
    """The first entry that differs: its place from 0, in which of `FIELDS`, and one sentence."""

    version: int
    field: str
    detail: str


class Verdict(Struct, frozen=True):
    """What the audit says of one journal. `head` is the hash (hex) after the last entry that holds."""

    outcome: Outcome
    match: str
    rules: str
    status: str
    entries: int
    moves: int
    head: str
    difference: Difference | None = None


class Source(NamedTuple):
    """Where a journal is: a file, or its lines; with the seed of a running match and the last hash, if known."""

    name: str
    path: Path | None = None
    lines: tuple[bytes, ...] = ()
    seed: bytes | None = None
    anchor: bytes | None = None


class Audited(NamedTuple):
    """A source's name and the verdict on it."""

    name: str
    verdict: Verdict


def audit(lines: Sequence[bytes], anchor: bytes | None = None, seed: bytes | None = None) -> Verdict:
    """Return the verdict on a journal, whatever its bytes; never raises.

    With `anchor`, the hash that the last entry must have, a journal without fault is *verified*, else *consistent*.
    `seed` is the server seed of a match that is still running; a journal that has ended brings its own.
    """
    revealed = journal.revealed(lines)
    match = Match(seed if revealed is None else revealed)
    difference = _first_difference(match, lines)
    if difference is None and not match.over and seed is None:
        difference = Difference(len(lines), "tail", _NO_END)
    held = lines if difference is None else lines[: difference.version]
    claimed = _claimed(lines)
    verdict = Verdict(
        "consistent" if difference is None else "different",
        _short(claimed.match),
        _short(claimed.rules),
        match.status,
        len(lines),
        b"\n".join(held).count(b'"kind":"moved"'),
        match.head.hex(),
        difference,
    )
    return anchored(verdict, anchor)


def anchored(verdict: Verdict, anchor: bytes | None) -> Verdict:
    """Return what a verdict becomes once the journal's last hash is known from elsewhere."""
    if anchor is None or verdict.difference is not None:
        return verdict
    if verdict.head == anchor.hex():
        return msgspec.structs.replace(verdict, outcome="verified")
    detail = f"expected {anchor.hex()}, got {verdict.head}: not the journal that was anchored, or not all of it"
    return msgspec.structs.replace(
        verdict, outcome="different", difference=Difference(verdict.entries - 1, "last hash", detail)
    )


def _first_difference(match: Match, lines: Sequence[bytes]) -> Difference | None:
    if not lines:
        return Difference(0, "tail", "the journal has no entries")
    for version, data in enumerate(lines):
        try:
            match.replay(data)
            if version == 0 and match.seed is not None:
                _check_commitment(match, match.seed, len(lines) - 1)
        except Exception as error:  # noqa: BLE001 - a verdict on any bytes, whatever they make the rules do
            return _explained(match, version, lines, error)
    return None


def _explained(match: Match, version: int, lines: Sequence[bytes], error: Exception) -> Difference:
    data = lines[version]
    match error:
        case Drift(field="seed") if match.seed is None:
            return _without_seed(match, lines)
        case Drift():
            return _named(match, version, data, error)
        case NotAnEntry():
            return _unreadable(match, version, data, str(error), last=version == len(lines) - 1)
        case Refusal():
            return Difference(version, _refused(error), _short(error.detail))
    return Difference(version, "rules failed", _short(f"{type(error).__name__}: {error}"))


def _check_commitment(match: Match, seed: bytes, last: int) -> None:
    if commitment(seed, match.id, match.created.rules).hex() != match.created.commitment:
        raise Drift("commitment", f"the seed revealed in entry {last} is not the one promised here")


def _named(match: Match, version: int, data: bytes, drift: Drift) -> Difference:
    """Return a drift in the words of the audit."""
    field = _FIELD_OF.get(drift.field, drift.field)
    detail = drift.detail
    if field == "order" and drift.field == "v":
        detail = f"an entry is missing, doubled or out of place: {detail}"
    if field == "chain" and version:
        detail = f"entry {version - 1} is not the one that this one was written after: {detail}"
    if field == "digest" and b'"kind":"started"' in data:
        field = "deal"
    if drift.field == "line":
        detail = _spelling(match, data)
    return Difference(version, field, _short(detail))


def _spelling(match: Match, data: bytes) -> str:
    """Say where a line parts from the right spelling of its entry (which `match` has folded already)."""
    entry = journal.read(data)
    right = journal.write(match.version, entry.at, entry.body, entry.state, match.head).data
    place = next((i for i, (a, b) in enumerate(zip(data, right, strict=False)) if a != b), min(len(data), len(right)))
    start = max(0, place - 20)
    expected, got = (text[start : place + 20].decode(errors="backslashreplace") for text in (right, data))
    return f"at byte {place} expected ...{expected}..., got ...{got}..."


def _refused(refusal: Refusal) -> str:
    match refusal:
        case UnknownGame():
            return "rules"
        case BadOptions():
            return "options"
        case BadCode():
            return "code"
        case BadSeats():
            return "seats"
    return "legality"


class _Kind(Struct):
    kind: str


class _Claimed(Struct):
    match: str = ""
    rules: str = ""


def _claimed(lines: Sequence[bytes]) -> _Claimed:
    """Return what the first line says the match is, true or not."""
    try:
        return msgspec.json.decode(lines[0], type=_Claimed)
    except (IndexError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Claimed()


def _unreadable(match: Match, version: int, data: bytes, error: str, *, last: bool) -> Difference:
    """Return what is wrong with a line that is no entry."""
    try:
        kind = msgspec.json.decode(data, type=_Kind).kind
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        if match.over:
            return Difference(version, "order", "the match is over, and nothing comes after its end")
        if last and version:
            return Difference(version, "tail", _short(f"the last line is cut short: {error}"))
        return Difference(version, "line", _short(error))
    if kind in ("finished", "aborted") and "`seed`" in error:
        return Difference(version, "reveal", _short(f"the end does not reveal the seed: {error}"))
    return Difference(version, "line", _short(error))


def _without_seed(match: Match, lines: Sequence[bytes]) -> Difference:
    """Return what can be said of entries that cannot be dealt again: the first fault of the chain, else the reveal."""
    head, at = match.head, match.at
    for version in range(match.version + 1, len(lines)):
        data = lines[version]
        try:
            entry = journal.read(data)
        except NotAnEntry as error:
            return _unreadable(match, version, data, str(error), last=version == len(lines) - 1)
        for field, expected, got in (("v", version, entry.version), ("prev", head.hex(), entry.prev)):
            if expected != got:
                return _named(match, version, data, Drift(field, f"expected {expected}, got {got}"))
        if entry.at < at:
            return Difference(version, "time", f"goes back from {at} to {entry.at}")
        if isinstance(entry.body, Finished | Aborted):
            return Difference(version, "reveal", "the seed is not lower-case hex")
        head, at = journal.entry_hash(head, data), entry.at
    return Difference(len(lines), "tail", _NO_END)


def _short(text: str) -> str:
    return text if len(text) <= MAX_DETAIL else f"{text[:MAX_DETAIL]}... ({len(text)} characters)"


# --- files -----------------------------------------------------------------------------------------------------------


def files(paths: Iterable[Path]) -> Iterator[Source]:
    """Yield the journals of the given files and, recursively and sorted by name, of the given folders."""
    for path in paths:
        for file in sorted(path.rglob(f"*{JOURNAL_SUFFIX}")) if path.is_dir() else [path]:
            yield Source(str(file).encode(errors="backslashreplace").decode(), file)


def audit_source(source: Source) -> Audited:
    """Read and audit one journal."""
    try:
        read = read_source(source)
    except (OSError, ValueError, MemoryError) as error:
        return Audited(source.name, unreadable(str(error)))
    return Audited(source.name, audit(read.lines, read.anchor, read.seed))


def read_source(source: Source) -> Source:
    """Return a source with its lines. Beside a file NAME.jsonl its last hash may stand in NAME.hash, in hex.

    Raises OSError, ValueError, MemoryError.
    """
    if source.path is None:
        return source
    lines, anchor = tuple(journal.split(source.path.read_bytes())), source.anchor
    beside = source.path.with_suffix(ANCHOR_SUFFIX)
    if anchor is None and beside != source.path and beside.exists():
        try:
            anchor = parse_hash(beside.read_text("ascii", errors="replace"))
        except ValueError as error:
            raise ValueError(f"the file with its last hash cannot be used: {error}") from None
    return source._replace(lines=lines, anchor=anchor)


def parse_hash(text: str) -> bytes:
    """Return the 32 bytes of a last hash in hex. Raises ValueError."""
    try:
        anchor = bytes.fromhex(text.strip())
    except ValueError:
        anchor = b""
    if len(anchor) != len(journal.NO_HASH):
        raise ValueError("a last hash is 64 hex digits")
    return anchor


def unreadable(why: str, match: str = "") -> Verdict:
    """Return the verdict on a journal that cannot be read; the match, if something names it."""
    return Verdict("different", match, "", "", 0, 0, "", Difference(0, "file", _short(why)))
