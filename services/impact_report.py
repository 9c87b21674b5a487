"""What another version of the rules would have made of many matches, and the report of it."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from msgspec import Struct

from engine import journal, registry
from engine.impact import Impact, impact
from engine.registry import AnyGame
from services.jobs import Job
from services.journal_parts import Part, read

_SEGMENT = re.compile(r"(?:^|/)\d{4}-\d\d-\d\d/([a-z][a-z0-9_]*)/[^/]+$")
"""In an archive: the folders say of which game its journals are."""


class Compared(NamedTuple):
    """A journal's name, its last hash where the table of a segment says it, and what the other version makes of it."""

    source: str
    head: str
    impact: Impact


class Line(Struct, frozen=True):
    """One journal of the report."""

    source: str
    impact: Impact


class Report(Struct, frozen=True):
    """How many matches there are of the first rules, how many part, in which field how many, and each in order."""

    matches: int
    parted: int
    fields: dict[str, int]
    journals: tuple[Line, ...]


def impact_job(before: str, after: str) -> Job[Compared]:
    """Return the job that compares matches of the rules `before` with what the rules `after` make of them."""
    return Job(
        f"impact {before} {after}",
        partial(impact_part, before, after),
        Compared,
        same=lambda one: (one.impact.match, one.head) if one.head else None,
        final=lambda one: one.impact.field != "journal",
    )


def impact_part(before: str, after: str, part: Part) -> list[Compared]:
    """Return what becomes of a part's journals, in order; of none that names other rules than `before`.

    Raises JournalsError if Redis cannot be read, UnknownGame.
    """
    new = registry.find(after)
    found = []
    for held in read(part):
        if held.error:
            found.append(Compared(held.source.name, held.head, Impact(held.match, 0, 0, "file", held.error)))
        elif one := _impact(held.source.lines, before, new):
            found.append(Compared(held.source.name, held.head, one))
    return found


def _impact(lines: Sequence[bytes], before: str, new: AnyGame) -> Impact | None:
    try:
        created = journal.read(lines[0]).body
    except (IndexError, journal.NotAnEntry) as error:
        return Impact("", len(lines), 0, "journal", "there are no entries" if not lines else str(error))
    if isinstance(created, journal.Created) and created.rules != before:
        return None
    return impact(lines, new)


def of_game(parts: Iterable[Part], game: str) -> list[Part]:
    """Return the parts without the segments in which an archive keeps other games."""
    return [part for part in parts if not part.segment or _game(part) in (game, None)]


def _game(part: Part) -> str | None:
    found = _SEGMENT.search(f"{part.where}/{part.segment}")
    return found and found[1]


def report(compared: Iterable[Compared]) -> Report:
    """Return the report of all matches."""
    lines = tuple(Line(one.source, one.impact) for one in compared)
    fields = Counter(line.impact.field for line in lines if line.impact.field is not None)
    return Report(len(lines), fields.total(), dict(sorted(fields.items())), lines)
