"""`croupier export`, `show`, `audit` and `scenario`: what reads journals and scenario files.

`cli.py` calls `register`. Exit codes: 0 all is well, 1 something differs or failed, 2 the command was asked wrongly.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Annotated, NoReturn

import msgspec
import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from engine import journal
from engine import scenario as scenarios
from engine.audit import Audited, files, parse_hash
from services import journals
from services.audit_report import Report, audit_all, report
from services.commands import is_match_id
from services.show import Story, printable
from services.signatures import checked, read_key, read_signature

USAGE = 2


class Language(StrEnum):
    """Languages that the catalogue has."""

    de = "de"
    en = "en"


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands to `app`."""
    for command in (export, show, audit, scenario):
        app.command(rich_help_panel=panel)(command)


# --- audit -----------------------------------------------------------------------------------------------------------


def audit(
    paths: Annotated[list[str], typer.Argument(metavar="PATH|MATCH", help="Files, folders or match ids.")],
    hashes: Annotated[
        list[str] | None, typer.Option("--hash", metavar="MATCH=HEX", help="The last hash that a match must have.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="HEX|FILE", help="The operator's public key, for his signatures.")
    ] = None,
    signed: Annotated[
        list[str] | None, typer.Option("--signature", metavar="MATCH=HEX", help="The signature on a match's last hash.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only what differs.")] = False,
) -> None:
    """Check journals: every deal, move and result again.

    Beside NAME.jsonl its last hash may stand in NAME.hash, and the operator's signature on it, which --key checks, in
    NAME.sig.
    """
    anchors = dict(_anchor("--hash", given, parse_hash) for given in hashes or ())
    signatures = dict(_anchor("--signature", given, read_signature) for given in signed or ())
    if signatures and key is None:
        _usage("--signature: whose it is says --key, the operator's public key")
    operator = None if key is None else _key(key)
    known = [path for path in paths if Path(path).exists()]
    ids = [path for path in paths if path not in known]
    for name in ids:
        if not is_match_id(name):
            _usage(f"there is no file or folder {name}, and it is no match id")
    sources = chain(files(map(Path, known)), journals.sources(ids))
    loud = not (quiet or as_json)
    audited = audit_all(sources, anchors)
    if operator is not None:
        audited = (checked(one, operator, signatures) for one in audited)
    try:
        found = report(map(_say, audited) if loud and sys.stdout.isatty() else _progress(audited, say=loud))
    except journals.JournalsError as error:
        _usage(str(error))
    if not found.journals:
        _usage("there is no journal (*.jsonl) under " + ", ".join(paths))
    if as_json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(found)).decode() + "\n")
    elif found.different or loud:
        for line in found.journals if quiet else ():
            if line.verdict.difference:
                _say(Audited(line.source, line.verdict))
        _sum_up(found)
    raise typer.Exit(1 if found.different else 0)


def _anchor(option: str, given: str, parse: Callable[[str], bytes]) -> tuple[str, bytes]:
    match, _, text = given.partition("=")
    if not match:
        _usage(f"{option} {given}: it is MATCH=HEX")
    try:
        return match, parse(text)
    except ValueError as error:
        _usage(f"{option} {given}: {error}")


def _key(given: str) -> Ed25519PublicKey:
    try:
        return read_key(given)
    except ValueError as error:
        _usage(f"--key: {error}")


def _progress(audited: Iterable[Audited], *, say: bool) -> Iterator[Audited]:
    """Yield the verdicts and, while they come, tell a terminal on stderr how many there are."""
    columns = SpinnerColumn(), TextColumn("{task.completed} journals, {task.fields[different]} differ")
    console = Console(stderr=True)
    with Progress(
        *columns,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        redirect_stdout=False,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("audit", total=None, different=0)
        different = 0
        for each in audited:
            different += each.verdict.difference is not None
            bar.update(task, advance=1, different=different)
            yield _say(each) if say else each


def _say(audited: Audited) -> Audited:
    """Print a verdict; return it."""
    name, verdict = audited
    lines = [f"{verdict.outcome:<10}  {name}"]
    if verdict.difference is None:
        lines[0] += f"  ({verdict.rules}, {verdict.status}, {verdict.entries} entries, {verdict.moves} moves)"
    else:
        lines.append(f"            entry {verdict.difference.version}, {verdict.difference.field}")
        lines[1] += f": {verdict.difference.detail}"
    sys.stdout.write("".join(printable(line) + "\n" for line in lines))
    return audited


def _sum_up(found: Report) -> None:
    if found.consistent:
        sys.stdout.write(
            "consistent: without fault, but no last hash was given that would show a journal made anew, "
            "nor its signature and the operator's key (--key)\n"
        )
    sys.stdout.write(f"{found.verified} verified, {found.consistent} consistent, {found.different} different\n")


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
        _usage(str(error))
    sys.stdout.write(f"{count} journals written\n")


# --- scenario --------------------------------------------------------------------------------------------------------


def scenario(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Scenario files, or folders of them.")],
) -> None:
    """Play scripted matches and compare what they expect."""
    for path in paths:
        if not path.exists():
            _usage(f"there is no file or folder {path}")
    passed = failed = 0
    for file in scenarios.files(paths):
        difference = _run(file)
        if difference is None:
            passed += 1
        else:
            failed += 1
            sys.stdout.write(printable(f"{file}: {difference}") + "\n")
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
    lang: Annotated[Language, typer.Option("--lang", help="Language of the cards' titles.")] = Language.en,
) -> None:
    """Tell a journal as a person wants to read it."""
    lines = _lines(source)
    if at is not None and at not in range(len(lines)):
        _usage(f"the journal has the entries 0 to {len(lines) - 1}, not {at}")
    story = Story(lines, lang=lang.value, seat=seat, hands=hands, table=table)
    if seat is not None and seat not in story.seats:
        _usage(f"nobody took seat {seat}")
    console = Console(soft_wrap=True, highlight=False)
    for line in story.tell(at):
        console.print(line)
    raise typer.Exit(1 if story.verdict.difference else 0)


def _lines(source: str) -> Sequence[bytes]:
    try:
        if not Path(source).exists() and is_match_id(source):
            return next(journals.ended([source])).lines
        return journal.split(Path(source).read_bytes())
    except OSError as error:
        _usage(f"{source} cannot be read: {error.strerror}")
    except journals.JournalsError as error:
        _usage(str(error))


def _usage(problem: str) -> NoReturn:
    sys.stderr.write(f"croupier: {printable(problem)}\n")
    raise typer.Exit(USAGE)
