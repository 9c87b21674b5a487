"""`croupier impact`: what another version of the rules would have made of recorded matches."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, NoReturn

import typer

from engine import journal, registry
from engine.audit import files
from engine.impact import Impact, impact
from engine.refusals import UnknownGame
from services.archive import Archive, ArchiveDamaged, unpacked
from services.show import printable
from services.storage import StorageError, open_storage


def register(app: typer.Typer, panel: str) -> None:
    """Add the command to `app`."""
    app.command("impact", rich_help_panel=panel)(impact_command)


def impact_command(
    paths: Annotated[list[str], typer.Argument(metavar="PATH|URL", help="Archives, folders or journal files.")],
    before: Annotated[str, typer.Option("--from", metavar="RULES", help="Matches of these rules: timos_twist/1.")],
    after: Annotated[str, typer.Option("--to", metavar="RULES", help="The rules to compare: timos_twist/2.")],
) -> None:
    """Replay matches under two versions of a game's rules; list where each first parts, and a summary.

    Both draw the same cards. Exits with 0 if no match parts, 1 if one does, 2 if asked wrongly or nothing is there.
    """
    try:
        old, new = registry.find(before), registry.find(after)
    except UnknownGame as refusal:
        _usage(refusal.detail)
    found = []
    try:
        for name, lines in _journals(paths, old.name):
            if _rules(lines) == before:
                found.append(_say(name, impact(lines, new)))
    except (ArchiveDamaged, StorageError, OSError) as error:
        _usage(str(error))
    if not found:
        _usage(f"there is no match of {before} under " + ", ".join(paths))
    parted = Counter(one.field for one in found if one.field)
    told = ", ".join(f"{count} in {field}" for field, count in sorted(parted.items()))
    sys.stdout.write(f"{len(found)} matches, {parted.total()} part{f': {told}' if told else ''}\n")
    raise typer.Exit(1 if parted else 0)


def _say(name: str, one: Impact) -> Impact:
    what = "same" if one.field is None else f"entry {one.version}, {one.field}: {one.detail}"
    sys.stdout.write(printable(f"{name}  {what}") + "\n")
    return one


def _rules(lines: Sequence[bytes]) -> str:
    try:
        body = journal.read(lines[0]).body
    except (IndexError, journal.NotAnEntry):
        return ""
    return body.rules if isinstance(body, journal.Created) else ""


def _journals(paths: Sequence[str], game: str) -> Iterator[tuple[str, Sequence[bytes]]]:
    """Yield names and lines; of archives only the game's segments. Raises ArchiveDamaged, StorageError, OSError."""
    for path in paths:
        if "://" not in path and not Path(path).exists():
            _usage(f"there is no file or folder {path}")
        if "://" not in path:
            for source in files([Path(path)]):
                yield source.name, journal.split(Path(source.name).read_bytes())
        if "://" in path or Path(path).is_dir():
            archive = Archive(open_storage(path))
            for segment in archive.segments():
                if PurePosixPath(segment.name).parent.name not in ("", game):
                    continue
                places, data = archive.open_segment(segment.name)
                for place in places:
                    yield place.match, unpacked(data[place.start : place.start + place.length], place)


def _usage(problem: str) -> NoReturn:
    sys.stderr.write(f"croupier: {printable(problem)}\n")
    raise typer.Exit(2)
