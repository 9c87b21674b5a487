"""`croupier export`, `show`, `audit` and `scenario`: what reads journals and scenario files.

`cli.py` calls `register`. Exit codes: 0 all is well, 1 something differs or failed, 2 the command was asked wrongly.
"""

import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn, TypeVar

import msgspec
import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from engine import journal
from engine import scenario as scenarios
from engine.audit import Audited, parse_hash
from services import audit_parts, journals
from services.audit_page import page
from services.audit_parts import Part
from services.audit_ray import RayMissing, on_ray
from services.audit_report import Report, State, StateError, cores, processes, report, run, with_anchors
from services.commands import is_match_id
from services.show import Story, printable
from services.show_step import HELP, step
from services.signatures import checked, read_key, read_signature
from services.storage import StorageError

T = TypeVar("T")
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
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH|URL|MATCH", help="Files, folders, archives (folders or URLs), or match ids."),
    ] = None,
    hashes: Annotated[
        list[str] | None, typer.Option("--hash", metavar="MATCH=HEX", help="The last hash that a match must have.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="HEX|FILE", help="The operator's public key, for his signatures.")
    ] = None,
    signed: Annotated[
        list[str] | None, typer.Option("--signature", metavar="MATCH=HEX", help="The signature on a match's last hash.")
    ] = None,
    in_redis: Annotated[bool, typer.Option("--redis", help="Also all ended matches in Redis.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only what differs.")] = False,
    reports: Annotated[
        list[Path] | None, typer.Option("--report", metavar="FILE", help="Write the report: FILE.json or FILE.html.")
    ] = None,
    state: Annotated[
        Path | None, typer.Option("--state", metavar="FILE", help="Keep what is done here, and go on from there.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; one a core by default.")] = None,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Audit on a Ray cluster: its address, auto or local.")
    ] = None,
) -> None:
    """Check journals: every deal, move and result again.

    Beside NAME.jsonl its last hash may stand in NAME.hash, and the operator's signature on it, which --key checks, in
    NAME.sig. Exits with 0 if no journal differs, 1 if one does, 2 if it was asked wrongly or cannot read what was asked
    for, 130 after Ctrl-C; docs/audit.md explains verdicts and findings.
    """
    anchors = dict(_anchor("--hash", given, parse_hash) for given in hashes or ())
    signatures = dict(_anchor("--signature", given, read_signature) for given in signed or ())
    if signatures and key is None:
        _usage("--signature: whose it is says --key, the operator's public key")
    operator = None if key is None else _key(key)
    if wrong := [path for path in reports or () if path.suffix not in PAGES]:
        _usage(f"--report {wrong[0]}: it is FILE.json or FILE.html")
    loud = not (quiet or as_json)
    try:
        parts = _parts(paths or [], in_redis=in_redis)
        pool = processes(workers or cores()) if ray is None else on_ray(ray)
        with State(state) if state else nullcontext() as known:
            done = _watched(parts, _until_interrupted(run(parts, pool, known)))
            audited = with_anchors((each for some in done for each in some), anchors)
            if operator is not None:
                audited = (checked(one, operator, signatures) for one in audited)
            found = report(map(_say, audited) if loud else audited)
    except KeyboardInterrupt:
        sys.stderr.write(f"stopped{f'; --state {state} goes on from here' if state else ''}\n")
        raise typer.Exit(130) from None
    except (journals.JournalsError, StateError, StorageError, RayMissing, ConnectionError) as error:
        _usage(str(error))
    except OSError as error:
        _usage(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    if not found.journals:
        _usage("there is no journal (*.jsonl, *.jsonl.zst) under " + ", ".join(paths or ["Redis"]))
    for path in reports or ():
        _write(path, PAGES[path.suffix](found))
    if as_json:
        sys.stdout.write(_json(found))
    elif found.different or loud:
        for line in found.journals if quiet else ():
            if line.verdict.difference:
                _say(Audited(line.source, line.verdict))
        _sum_up(found)
    raise typer.Exit(1 if found.different else 0)


def _parts(paths: Sequence[str], *, in_redis: bool) -> list[Part]:
    """Return what was asked for. Raises JournalsError, StorageError, OSError."""
    if not paths and not in_redis:
        _usage("name files, folders, archives or matches, or say --redis")
    parts: list[Part] = []
    ids: list[str] = []
    for path in paths:
        if "://" in path:
            parts += audit_parts.of_archive(path)
        elif Path(path).exists():
            parts += audit_parts.of_paths([Path(path)])
        elif is_match_id(path):
            ids.append(path)
        else:
            _usage(f"there is no file or folder {path}, and it is no match id")
    return [*parts, *audit_parts.of_matches([*ids, *(journals.all_matches() if in_redis else ())])]


def _json(found: Report) -> str:
    return msgspec.json.format(msgspec.json.encode(found)).decode() + "\n"


PAGES = {".json": _json, ".html": page}


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        _usage(f"{path} cannot be written: {error.strerror}")


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


def _until_interrupted(done: Iterable[T]) -> Iterator[T]:
    """Yield what there is until Ctrl-C, also if Python had to ignore it where it came: in a callback, say."""
    interrupted = False

    def interrupt(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        for one in done:
            if interrupted:
                raise KeyboardInterrupt
            yield one
    finally:
        signal.signal(signal.SIGINT, before)


def _watched(parts: Sequence[Part], done: Iterable[tuple[Part, list[Audited]]]) -> Iterator[list[Audited]]:
    """Yield the verdicts and, while they come, tell a terminal on stderr how far it is and how long it will take."""
    console = Console(stderr=True)
    columns = (
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[journals]} journals, {task.fields[entries]} entries, {task.fields[different]} differ"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    shown = console.is_terminal and len(parts) > 1
    with Progress(
        *columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty(), disable=not shown
    ) as bar:
        task = bar.add_task("audit", total=sum(part.size for part in parts), journals=0, entries=0, different=0)
        count = entries = different = 0
        for part, audited in done:
            count += len(audited)
            entries += sum(each.verdict.entries for each in audited)
            different += sum(each.verdict.difference is not None for each in audited)
            bar.update(task, advance=part.size, journals=count, entries=entries, different=different)
            yield audited


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
    by_step: Annotated[
        bool, typer.Option("--step", help=f"Entry by entry, by keys: {HELP}. Keys may be piped in.")
    ] = False,
    lang: Annotated[Language, typer.Option("--lang", help="Language of the cards' titles.")] = Language.en,
) -> None:
    """Tell a journal as a person wants to read it; with --at and --seat, what a seat knew at any moment."""
    lines = _lines(source)
    if at is not None and at not in range(len(lines)):
        _usage(f"the journal has the entries 0 to {len(lines) - 1}, not {at}")
    story = Story(lines, lang=lang.value, seat=seat, hands=hands, table=table)
    if seat is not None and seat not in story.seats:
        _usage(f"nobody took seat {seat}")
    console = Console(soft_wrap=True, highlight=False)
    if by_step:

        def show_version(version: int) -> None:
            for line in Story(lines, lang=lang.value, seat=seat, hands=hands, table=table).tell(version):
                console.print(line)
            console.print(f"[{version}/{len(lines) - 1}]  {HELP}", style="dim", markup=False)

        try:
            step(show_version, len(lines) - 1, at or 0, clear=console.clear)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
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
        _usage(f"{source} cannot be read: {error.strerror}")
    except journals.JournalsError as error:
        _usage(str(error))


def _usage(problem: str) -> NoReturn:
    sys.stderr.write(f"croupier: {printable(problem)}\n")
    raise typer.Exit(USAGE)
