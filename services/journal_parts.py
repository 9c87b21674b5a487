"""Journals in parts that any process can take: journal files, segments of archives, matches in Redis.

A part says where its journals are and carries none of them (unless they are in memory already), so what is done with it
is one function for this machine's cores and for a cluster's (`jobs.py`).
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import zstandard
from msgspec import Struct

from engine import journal
from engine.audit import ANCHOR_SUFFIX, JOURNAL_SUFFIX, Source, read_source
from services import journals
from services.archive import SEGMENT_SUFFIX, Archive, ArchiveDamaged, Place, content_name, decompressed, table_of
from services.commands import is_match_id
from services.journals import JournalsError
from services.storage import StorageError, open_storage

BATCH = 8
"""Journals a part, where they come one by one."""
PART_BYTES = 1 << 20
PART_FILES = 8
RATIO = 3
"""About how much smaller a segment is than its journals."""
MATCH_BYTES = 40_000
"""About what a journal in Redis takes, for the estimate."""
MANY = 16
"""A segment counts for so many journals when it is decided whether other processes are worth their start."""


class Part(Struct, frozen=True):
    """Some journals that are read together; `size` is about the bytes of their lines, `count` about their number.

    `key` changes with what is to be read, and is empty where that cannot be known.
    """

    key: str
    size: int
    count: int
    sources: tuple[Source, ...] = ()
    matches: tuple[str, ...] = ()
    where: str = ""
    segment: str = ""


def of_sources(sources: Iterable[Source]) -> Iterator[Part]:
    """Yield parts of sources as they come, reading no more of them than the next part needs."""
    iterator = iter(sources)
    while batch := tuple(islice(iterator, BATCH)):
        yield Part("", 0, len(batch), sources=batch)


def of_paths(paths: Iterable[Path]) -> Iterator[Part]:
    """Yield the journal files and the segments at the given paths and, sorted by name, in the folders there."""
    batch: list[Path] = []
    size = 0
    for path in _files(paths):
        if path.name.endswith(SEGMENT_SUFFIX):
            if batch:
                yield _of_files(batch, size)
                batch, size = [], 0
            yield _segment(str(path.parent), path.name, path.stat().st_size)
            continue
        batch.append(path)
        size += path.stat().st_size
        if size >= PART_BYTES or len(batch) == PART_FILES:
            yield _of_files(batch, size)
            batch, size = [], 0
    if batch:
        yield _of_files(batch, size)


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(
                file for file in path.rglob("*") if file.name.endswith((JOURNAL_SUFFIX, SEGMENT_SUFFIX))
            )  # fmt: skip
        else:
            yield path


def _of_files(paths: Sequence[Path], size: int) -> Part:
    known = hashlib.sha256()
    for path in paths:
        beside = path.with_suffix(ANCHOR_SUFFIX)
        for file in (path, beside) if beside.exists() else (path,):
            about = file.stat()
            known.update(f"{file.resolve()}\0{about.st_size}\0{about.st_mtime_ns}\0".encode(errors="backslashreplace"))
    sources = tuple(Source(str(path).encode(errors="backslashreplace").decode(), path) for path in paths)
    return Part(f"files {known.hexdigest()}", size, len(paths), sources=sources)


def of_archive(url: str) -> Iterator[Part]:
    """Yield the segments of the archive at a URL, or under a day or game of it. Raises StorageError, OSError."""
    for segment in Archive(open_storage(url)).segments():
        yield _segment(url, segment.name, segment.size)


def _segment(where: str, name: str, size: int) -> Part:
    return Part(f"segment {where} {name} {size}", size * RATIO, MANY, where=where, segment=name)


def of_matches(matches: Sequence[str]) -> Iterator[Part]:
    """Yield parts of matches in Redis or in the archive of the settings."""
    for first in range(0, len(matches), BATCH):
        some = tuple(matches[first : first + BATCH])
        yield Part(f"matches {' '.join(some)}", MATCH_BYTES * len(some), len(some), matches=some)


def named(names: Sequence[str], *, in_redis: bool = False) -> list[Part]:
    """Return the parts of what was asked for: files, folders, archives (folders or URLs), match ids.

    `in_redis`: and all matches in Redis that have ended. Raises JournalsError, StorageError, OSError.
    """
    if not names and not in_redis:
        raise JournalsError("name files, folders, archives or matches, or say --redis")
    parts: list[Part] = []
    matches: list[str] = []
    for name in names:
        if "://" in name:
            parts += of_archive(name)
        elif Path(name).exists():
            parts += of_paths([Path(name)])
        elif is_match_id(name):
            matches.append(name)
        else:
            raise JournalsError(f"there is no file or folder {name}, and it is no match id")
    return [*parts, *of_matches([*matches, *(journals.all_matches() if in_redis else ())])]


# --- reading ---------------------------------------------------------------------------------------------------------


class Held(NamedTuple):
    """A journal as a part holds it: the source with its lines, or why they cannot be read.

    `match` and `head` (hex) are what the table of its segment says of it.
    """

    source: Source
    error: str = ""
    match: str = ""
    head: str = ""


def read(part: Part) -> Iterator[Held]:
    """Yield the journals of a part, in order. Raises JournalsError if Redis cannot be read."""
    if part.segment:
        yield from _read_segment(part.where, part.segment)
    elif part.matches:
        yield from map(Held, journals.sources(part.matches))
    else:
        for source in part.sources:
            try:
                yield Held(read_source(source))
            except (OSError, ValueError, MemoryError) as error:
                yield Held(source, str(error))


def _read_segment(where: str, name: str) -> Iterator[Held]:
    title = f"{where}/{name}"
    try:
        data = open_storage(where).read(name)
        places = table_of(name, data)
    except (ArchiveDamaged, StorageError, OSError, MemoryError) as error:
        yield Held(Source(title), str(error))
        return
    if content_name(data) != PurePosixPath(name).name.removesuffix(SEGMENT_SUFFIX):
        yield Held(Source(title), "the bytes are not those that the segment's name says")
    for place in places:
        yield _held(f"{title}#{place.match}", data, place)


def _held(name: str, data: bytes, place: Place) -> Held:
    try:
        lines = journal.split(decompressed(data[place.start : place.start + place.length]))
    except (zstandard.ZstdError, ValueError, MemoryError) as error:
        return Held(Source(name), str(error), place.match)
    return Held(Source(name, lines=tuple(lines)), "", place.match, place.head)
