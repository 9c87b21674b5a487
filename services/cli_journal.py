"""`croupier export`, `show` and `scenario`: what reads single journals and scenario files.

`cli.py` calls `register`. Exit codes: 0 all is well, 1 something differs or failed, 2 the command was asked wrongly.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from engine import journal
from engine import scenario as scenarios
from services import journals
from services.cli_exit import INTERRUPTED, asked_wrongly
from services.commands import is_match_id
from services.show import Story, printable
from services.show_step import HELP, step
from services.words import Language


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands to `app`."""
    for command in (export, show, scenario):
        app.command(rich_help_panel=panel)(command)


# --- export ----------------------------------------------------------------------------------------------------------


def export(
    matches: Annotated[
        list[str] | None, typer.Argument(metavar="MATCH", help="Match ids; all ended ones by default.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write to.")] = Path("journals"),
) -> None:
    """Write journals from Redis to files, MATCH.jsonl, byte for byte as they were hashed.

    Where the operator's signing key is set, or kept by `croupier up` here, MATCH.sig has his signature.
    """
    count = 0
    try:
        for path in journals.export(matches or journals.all_matches(), out):
            count += 1
            sys.stdout.write(f"{path}\n")
    except journals.JournalsError as error:
        asked_wrongly(str(error))
    sys.stdout.write(f"{count} journals written\n")


# --- scenario --------------------------------------------------------------------------------------------------------


def scenario(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Scenario files, or folders of them.")],
) -> None:
    """Play scripted matches and compare what they expect."""
    for path in paths:
        if not path.exists():
            asked_wrongly(f"there is no file or folder {path}")
    passed = failed = 0
    for file in scenarios.files(paths):
        difference = _run(file)
        if difference is None:
            passed += 1
        else:
            failed += 1
            sys.stdout.write(printable(f"{file}: {difference}") + "\n")
    if not passed + failed:
        asked_wrongly("there is no scenario (*.json) under " + ", ".join(map(str, paths)))
    sys.stdout.write(f"{passed} passed, {failed} failed\n")
    raise typer.Exit(1 if failed else 0)


def _run(file: Path) -> str | None:
    """Return in which step a scenario differs and how, None if it holds."""
    try:
        scenarios.run(file.read_bytes())
    except (scenarios.Failure, OSError) as failure:
        return str(failure)
    except Exception as error:  # noqa: BLE001 - a fault of the rules fails one scenario, not the run
        return f"the rules failed: {type(error).__name__}: {error}"
    return None


# --- show ------------------------------------------------------------------------------------------------------------


def show(
    source: Annotated[str, typer.Argument(metavar="FILE|MATCH", help="A journal, or a match in Redis.")],
    hands: Annotated[bool, typer.Option("--hands", help="All hands after each entry.")] = False,
    table: Annotated[bool, typer.Option("--table", help="Sentences, and the table as players see it.")] = False,
    at: Annotated[int | None, typer.Option("--at", metavar="VERSION", help="One entry, and the position.")] = None,
    seat: Annotated[int | None, typer.Option("--seat", help="As this seat knew it.")] = None,
    by_step: Annotated[
        bool, typer.Option("--step", help=f"Entry by entry, by keys: {HELP}. Keys may be piped in.")
    ] = False,
    lang: Annotated[Language, typer.Option("--lang", help="Language of the cards' titles.")] = "en",
) -> None:
    """Tell a journal as a person wants to read it; with --at and --seat, what a seat knew at any moment."""
    lines = _lines(source)
    if at is not None and at not in range(len(lines)):
        asked_wrongly(f"the journal has the entries 0 to {len(lines) - 1}, not {at}")
    story = Story(lines, lang=lang, seat=seat, hands=hands, table=table)
    if seat is not None and seat not in story.seats:
        asked_wrongly(f"nobody took seat {seat}")
    console = Console(soft_wrap=True, highlight=False)
    if by_step:

        def show_version(version: int) -> None:
            for line in Story(lines, lang=lang, seat=seat, hands=hands, table=table).tell(version):
                console.print(line)
            console.print(f"[{version}/{len(lines) - 1}]  {HELP}", style="dim", markup=False)

        try:
            step(show_version, len(lines) - 1, at or 0, clear=console.clear)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        raise typer.Exit(1 if story.verdict.difference else 0)
    for line in story.tell(at):
        console.print(line)
    raise typer.Exit(1 if story.verdict.difference else 0)


def _lines(source: str) -> Sequence[bytes]:
    try:
        if not Path(source).exists() and is_match_id(source):
            return next(journals.ended([source])).lines
        return journal.split(Path(source).read_bytes())
    except OSError as error:
        asked_wrongly(f"{source} cannot be read: {error.strerror}")
    except journals.JournalsError as error:
        asked_wrongly(str(error))
