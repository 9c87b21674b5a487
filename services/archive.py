"""The archive: journals of matches that have ended, compressed, in a storage of their own.

    2026-11-30/timos_twist/<name>.jsonl.zst    a segment: journals that ended on that day (UTC), of one game
    index/<name>.txt                           a run of the index: a line a journal, ascending by match id

A segment holds a zstd frame a journal, so that one of them can be read alone, and at its end their places in a frame
that decompressors skip: `zstd -dc` gives the plain lines. A name is the SHA-256 of what it names, so that writing twice
is writing once. Two journals may have one match id (a match that was created anew after it had left Redis): both are
kept, and the one that ended last is the match's.
"""

import hashlib
import re
import struct
import threading
from bisect import bisect_left
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from typing import NamedTuple

import zstandard

from engine import journal
from engine.journal import Created
from services.storage import Object, Storage, open_storage

SEGMENT_SUFFIX = ".jsonl.zst"
INDEX = "index/"
LEVEL = 1
"""Of zstd: most of a journal is hashes, of which no level makes less (docs/archive.md)."""
MAX_JOURNAL = 1 << 28
"""Bytes of a journal; a frame that promises more is damaged, or made to harm."""
MAX_RUNS = 16
MERGED = 12
BLOCK = 1 << 16
WHOLE = 1 << 20
"""Runs up to so many bytes are read whole and kept."""
KEPT_RUNS = 32
NAME_LENGTH = 32
_TABLE_MAGIC = 0x184D2A5E
"""Of a skippable frame (RFC 8878, 3.1.2)."""
_GAME = re.compile(r"[a-z][a-z0-9_]*")


class ArchiveDamaged(Exception):
    """Something in the archive is not what was written there; says what."""


class Unfit(ValueError):
    """A journal that does not go into an archive; says why."""


class Ended(NamedTuple):
    """A whole journal, its chain checked: when it ended (Unix ms) and its last hash."""

    match: str
    game: str
    at: int
    head: bytes
    lines: Sequence[bytes]

    @classmethod
    def of(cls, match: str, lines: Sequence[bytes]) -> "Ended":
        """Return a match's journal. Raises Unfit if it is not one, whole and unbroken, that has ended."""
        if not lines:
            raise Unfit("there are no entries")
        try:
            head = journal.chained(lines)
            first, last = journal.read(lines[0]), journal.read(lines[-1])
        except journal.NotAnEntry as error:
            raise Unfit(str(error)) from None
        if not isinstance(first.body, Created) or first.body.match != match:
            raise Unfit("the first entry does not create this match")
        if not isinstance(last.body, journal.ENDS):
            raise Unfit("the match has not ended")
        game = first.body.rules.partition("/")[0]
        if not _GAME.fullmatch(game):
            raise Unfit("the rules' name is none")
        return cls(match, game, last.at, head, lines)


class Place(NamedTuple):
    """Where a journal lies: bytes `start` to before `start + length` of a segment."""

    match: str
    at: int
    head: str
    segment: str
    start: int
    length: int

    def line(self) -> bytes:
        """Return the place as a line of the index, with its newline."""
        return " ".join(map(str, self)).encode() + b"\n"

    @classmethod
    def parse(cls, line: bytes) -> "Place":
        """Return the place in a line. Raises ValueError."""
        match, at, head, segment, start, length = line.decode("ascii").split()
        return cls(match, int(at), head, segment, int(start), int(length))


class Archive:
    """Journals in one storage; any number of processes may read and write it at once."""

    def __init__(self, storage: Storage) -> None:
        """Use a storage. What fails in it raises OSError."""
        self._storage = storage
        self._runs: OrderedDict[str, list[bytes]] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def at(cls, where: str) -> "Archive":
        """Return the archive at a path or URL. Raises StorageError."""
        return cls(open_storage(where))

    # --- writing -------------------------------------------------------------------------------------------------

    def write(self, journals: Iterable[Ended]) -> None:
        """Add journals: first the segments, then their places in the index.

        Whether they are there can be said only by reading back: see `holds`.
        """
        parts: dict[str, list[Ended]] = defaultdict(list)
        for one in journals:
            parts[f"{day(one.at)}/{one.game}"].append(one)
        places = [place for folder, some in sorted(parts.items()) for place in self._write_segment(folder, some)]
        if places:
            self._write_run({place.line() for place in places})
            self._merge()

    def _write_segment(self, folder: str, journals: Sequence[Ended]) -> list[Place]:
        frames, offset, rows = [], 0, []
        compressor = zstandard.ZstdCompressor(LEVEL, write_checksum=True, write_content_size=True)
        for one in sorted(journals):
            frame = compressor.compress(b"".join(line + b"\n" for line in one.lines))
            rows.append((one.match, one.at, one.head.hex(), offset, len(frame)))
            frames.append(frame)
            offset += len(frame)
        table = "".join(" ".join(map(str, row)) + "\n" for row in rows).encode()
        payload = table + struct.pack("<I", len(table))
        data = b"".join((*frames, struct.pack("<II", _TABLE_MAGIC, len(payload)), payload))
        name = f"{folder}/{content_name(data)}{SEGMENT_SUFFIX}"
        self._storage.write(name, data)
        return [Place(match, at, head, name, start, length) for match, at, head, start, length in rows]

    def _write_run(self, lines: set[bytes]) -> str:
        data = b"".join(sorted(lines))
        name = f"{INDEX}{content_name(data)}.txt"
        self._storage.write(name, data)
        return name

    def _merge(self) -> None:
        """Make one run of many small ones, once there are too many to look through."""
        runs = self._index()
        if len(runs) <= MAX_RUNS:
            return
        small = sorted(runs, key=lambda run: run.size)[:MERGED]
        try:
            lines = {line for run in small for line in self._run(run)}
        except (FileNotFoundError, ArchiveDamaged):  # another merged them, or one is beyond use: they stay
            return
        merged = self._write_run(lines)
        if self._read_run(merged) is None:
            return
        for run in small:
            if run.name != merged:
                self._storage.remove(run.name)

    def reindex(self) -> int:
        """Make the index anew from the segments; return how many journals it holds.

        Segments that cannot be read are left out.
        """
        old = self._index()
        lines = set()
        for segment in self.segments():
            try:
                table, _ = self.open_segment(segment.name)
            except ArchiveDamaged:
                continue
            lines |= {place.line() for place in table}
        new = self._write_run(lines) if lines else ""
        for run in old:
            if run.name != new:
                self._storage.remove(run.name)
        return len(lines)

    # --- reading one match ---------------------------------------------------------------------------------------

    def read(self, match: str) -> list[bytes] | None:
        """Return the lines of a match's journal, None if the archive has none.

        Raises ArchiveDamaged if it has one that cannot be read.
        """
        places = self.places(match)
        for place in places:
            try:
                return self._journal(place)
            except ArchiveDamaged:
                if place is places[-1]:
                    raise
        return None

    def holds(self, one: Ended) -> bool:
        """Whether the archive gives back this very journal, byte for byte, to whoever asks for its match."""
        for place in self.places(one.match):
            if place.head == one.head.hex():
                try:
                    return self._journal(place) == list(one.lines)
                except ArchiveDamaged:
                    continue
        return False

    def places(self, match: str) -> list[Place]:
        """Return where journals of a match lie; the one that ended last first."""
        for _ in range(3):
            try:
                lines = {line for run in self._index() for line in self._look(run, match.encode() + b" ")}
            except FileNotFoundError:  # a run was merged meanwhile
                continue
            return sorted(_places(lines), key=lambda place: (-place.at, place))
        raise ArchiveDamaged("the index changes faster than it can be read")

    def _journal(self, place: Place) -> list[bytes]:
        try:
            data = self._storage.read(place.segment, place.start, place.start + place.length)
        except FileNotFoundError:
            raise ArchiveDamaged(f"{place.segment} is missing") from None
        return unpacked(data, place)

    # --- the index -----------------------------------------------------------------------------------------------

    def _index(self) -> list[Object]:
        return self._storage.objects(INDEX.rstrip("/"))

    def _look(self, run: Object, key: bytes) -> list[bytes]:
        """Return the lines of a run that begin with `key`."""
        if run.size <= WHOLE:
            try:
                lines = self._run(run)
            except ArchiveDamaged:  # its journals are not found, and so not trusted
                return []
            return list(takewhile(lambda line: line.startswith(key), lines[bisect_left(lines, key) :]))
        low, high = 0, run.size  # the line at `low` begins there; every line that begins before it is smaller than key
        while high - low > BLOCK:
            middle = (low + high) // 2
            block = self._storage.read(run.name, middle, min(middle + BLOCK // 8, run.size))
            start = block.find(b"\n") + 1
            if start and middle + start < high and block[start : start + len(key)] < key:
                low = middle + start
            else:
                high = middle
        data = self._storage.read(run.name, low, min(high + BLOCK, run.size))
        return [line for line in data.splitlines(keepends=True) if line.startswith(key)]

    def _run(self, run: Object) -> list[bytes]:
        with self._lock:
            if run.name in self._runs:
                self._runs.move_to_end(run.name)
                return self._runs[run.name]
        data = self._read_run(run.name)
        if data is None:
            raise ArchiveDamaged(f"{run.name} does not hold what its name says")
        lines = data.splitlines(keepends=True)
        if run.size <= WHOLE:
            with self._lock:
                self._runs[run.name] = lines
                while len(self._runs) > KEPT_RUNS:
                    self._runs.popitem(last=False)
        return lines

    def _read_run(self, name: str) -> bytes | None:
        data = self._storage.read(name)
        return data if name == f"{INDEX}{content_name(data)}.txt" else None

    # --- reading all ---------------------------------------------------------------------------------------------

    def segments(self, under: str = "") -> list[Object]:
        """Return all segments, by day, game and name, or those under a folder: a day, or `day/game`."""
        return [found for found in self._storage.objects(under) if found.name.endswith(SEGMENT_SUFFIX)]

    def open_segment(self, name: str) -> tuple[list[Place], bytes]:
        """Return the places in a segment, and its bytes. Raises ArchiveDamaged if its table cannot be read."""
        data = self._storage.read(name)
        return table_of(name, data), data


def table_of(name: str, data: bytes) -> list[Place]:
    """Return the places in a segment's bytes. Raises ArchiveDamaged."""
    try:
        (size,) = struct.unpack("<I", data[-4:])
        head = len(data) - 4 - size - 8
        if head < 0 or struct.unpack_from("<II", data, head) != (_TABLE_MAGIC, size + 4):
            raise ArchiveDamaged(f"{name} is cut short: it does not end in a table")
        places = []
        for row in data[head + 8 : -4].decode("ascii").splitlines():
            match, at, last, start, length = row.split()
            places.append(Place(match, int(at), last, name, int(start), int(length)))
    except (struct.error, ValueError) as error:
        raise ArchiveDamaged(f"{name} cannot be read: {error}") from None
    return places


def unpacked(frame: bytes, place: Place) -> list[bytes]:
    """Return the lines in a frame. Raises ArchiveDamaged if they are not the unbroken journal that the place names."""
    try:
        lines = journal.split(decompressed(frame))
        if journal.chained(lines).hex() != place.head:
            raise ArchiveDamaged(f"{place.segment}: the journal of {place.match} has another last hash than its table")
    except (zstandard.ZstdError, ValueError, MemoryError) as error:
        raise ArchiveDamaged(f"{place.segment}: the journal of {place.match} is damaged: {error}") from None
    return lines


def decompressed(frame: bytes) -> bytes:
    """Return what a frame holds. Raises zstandard.ZstdError, ValueError if it says a size that no journal has."""
    if not 0 < zstandard.frame_content_size(frame) <= MAX_JOURNAL:
        raise ValueError("no journal has the size that this frame says")
    return zstandard.ZstdDecompressor().decompress(frame)


def day(at: int) -> str:
    """Return the day of Unix milliseconds in UTC: `2026-11-30`."""
    return datetime.fromtimestamp(at // 1000, UTC).date().isoformat()


def content_name(data: bytes) -> str:
    """Return the name of what has these bytes, without folder and suffix."""
    return hashlib.sha256(data).hexdigest()[:NAME_LENGTH]


def _places(lines: Iterable[bytes]) -> Iterator[Place]:
    for line in lines:
        try:
            yield Place.parse(line)
        except ValueError:
            continue
