"""`croupier audit` and `impact`: what goes over many journals.

`cli.py` calls `register`. Exit codes of both: 0 all is well, 1 something differs, 2 asked wrongly or what was asked for
cannot be read, 130 stopped by Ctrl-C.
"""

import sys
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from engine import registry
from engine.audit import Audited, parse_hash
from engine.refusals import UnknownGame
from services import audit_report, impact_report, journal_parts
from services.audit_page import page
from services.audit_report import AUDIT, with_anchors
from services.cli_exit import INTERRUPTED, asked_wrongly, said, unwritable
from services.impact_report import Compared, impact_job, of_game
from services.jobs import Job, State, StateError, on_processes, run
from services.jobs_on_ray import RayMissing, on_ray
from services.journal_parts import Part
from services.journals import JournalsError
from services.processes import cores, until_interrupted
from services.show import printable
from services.signatures import checked, read_key, read_signature
from services.storage import StorageError

R = TypeVar("R")

Paths = Annotated[
    list[str] | None,
    typer.Argument(metavar="PATH|URL|MATCH", help="Files, folders, archives (folders or URLs), or match ids."),
]
InRedis = Annotated[bool, typer.Option("--redis", help="Also all ended matches in Redis.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only what differs.")]
StateFile = Annotated[
    Path | None, typer.Option("--state", metavar="FILE", help="Keep what is done here, and go on from there.")
]
Workers = Annotated[int | None, typer.Option(min=1, help="Processes; one a core by default.")]
Ray = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Do it on a Ray cluster: its address, auto or local.")
]  # fmt: skip


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands to `app`."""
    for command in (audit, impact):
        app.command(rich_help_panel=panel)(command)


# --- audit -----------------------------------------------------------------------------------------------------------


def audit(
    paths: Paths = None,
    hashes: Annotated[
        list[str] | None, typer.Option("--hash", metavar="MATCH=HEX", help="The last hash that a match must have.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="HEX|FILE", help="The operator's public key, for his signatures.")
    ] = None,
    signed: Annotated[
        list[str] | None, typer.Option("--signature", metavar="MATCH=HEX", help="The signature on a match's last hash.")
    ] = None,
    in_redis: InRedis = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    reports: Annotated[
        list[Path] | None, typer.Option("--report", metavar="FILE", help="Write the report: FILE.json or FILE.html.")
    ] = None,
    state: StateFile = None,
    workers: Workers = None,
    ray: Ray = None,
) -> None:
    """Check journals: every deal, move and result again.

    Beside NAME.jsonl its last hash may stand in NAME.hash, and the operator's signature on it, which --key checks, in
    NAME.sig. Exits with 0 if no journal differs, 1 if one does, 2 if it was asked wrongly or cannot read what was asked
    for, 130 after Ctrl-C; docs/audit.md explains verdicts and findings.
    """
    anchors = dict(_anchor("--hash", given, parse_hash) for given in hashes or ())
    signatures = dict(_anchor("--signature", given, read_signature) for given in signed or ())
    if signatures and key is None:
        asked_wrongly("--signature: whose it is says --key, the operator's public key")
    operator = None if key is None else _key(key)
    if wrong := [path for path in reports or () if path.suffix not in PAGES]:
        asked_wrongly(f"--report {wrong[0]}: it is FILE.json or FILE.html")
    if error := unwritable(reports or ()):
        asked_wrongly(f"{error.filename} cannot be written: {error.strerror}")
    loud = not (quiet or as_json)
    with _explained(state):
        parts = journal_parts.named(paths or [], in_redis=in_redis)
        with closing(_results(parts, AUDIT, workers, ray, state, _so_far(_of_audits))) as audits:
            audited = with_anchors(audits, anchors)
            if operator is not None:
                audited = (checked(one, operator, signatures) for one in audited)
            found = audit_report.report(map(_say, audited) if loud else audited)
    if not found.journals:
        asked_wrongly("there is no journal (*.jsonl, *.jsonl.zst) under " + ", ".join(paths or ["Redis"]))
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


def _json(found: audit_report.Report | impact_report.Report) -> str:
    return msgspec.json.format(msgspec.json.encode(found)).decode() + "\n"


PAGES: dict[str, Callable[[audit_report.Report], str]] = {".json": _json, ".html": page}


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        asked_wrongly(f"{path} cannot be written: {error.strerror}")


def _anchor(option: str, given: str, parse: Callable[[str], bytes]) -> tuple[str, bytes]:
    match, equals, text = given.partition("=")
    if not match or not equals:
        asked_wrongly(f"{option} {given}: it is MATCH=HEX")
    try:
        return match, parse(text)
    except ValueError as error:
        asked_wrongly(f"{option} {given}: {error}")


def _key(given: str) -> Ed25519PublicKey:
    try:
        return read_key(given)
    except ValueError as error:
        asked_wrongly(f"--key: {error}")


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


def _sum_up(found: audit_report.Report) -> None:
    if found.consistent:
        sys.stdout.write(
            "consistent: without fault, but no last hash was given that would show a journal made anew, "
            "nor its signature and the operator's key (--key)\n"
        )
    sys.stdout.write(f"{found.verified} verified, {found.consistent} consistent, {found.different} different\n")


# --- impact ----------------------------------------------------------------------------------------------------------


def impact(
    before: Annotated[str, typer.Option("--from", metavar="RULES", help="Matches of these rules: timos_twist/1.")],
    after: Annotated[str, typer.Option("--to", metavar="RULES", help="The rules to compare: timos_twist/2.")],
    paths: Paths = None,
    in_redis: InRedis = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    state: StateFile = None,
    workers: Workers = None,
    ray: Ray = None,
) -> None:
    """Replay matches under two versions of a game's rules; list where each first parts, and a summary.

    Both draw the same cards. Exits with 0 if no match parts, 1 if one does or cannot be read, 2 if it was asked wrongly
    or no match of those rules is there, 130 after Ctrl-C; docs/audit.md says in what matches may part.
    """
    with _explained(state):
        old = registry.find(before)
        registry.find(after)
        parts = of_game(journal_parts.named(paths or [], in_redis=in_redis), old.name)
        with closing(_results(parts, impact_job(before, after), workers, ray, state, _so_far(_of_impacts))) as compared:
            loud = compared if as_json else (_tell(one, quiet=quiet) for one in compared)
            found = impact_report.report(loud)
    if not found.matches:
        asked_wrongly(f"there is no match of {before} under " + ", ".join(paths or ["Redis"]))
    if as_json:
        sys.stdout.write(_json(found))
    elif found.parted or not quiet:
        told = ", ".join(f"{count} in {field}" for field, count in found.fields.items())
        sys.stdout.write(f"{found.matches} matches, {found.parted} part{f': {told}' if told else ''}\n")
    raise typer.Exit(1 if found.parted else 0)


def _tell(compared: Compared, *, quiet: bool) -> Compared:
    """Print what becomes of a match; return it."""
    one = compared.impact
    if one.field is not None:
        sys.stdout.write(printable(f"{compared.source}  entry {one.version}, {one.field}: {one.detail}") + "\n")
    elif not quiet:
        sys.stdout.write(printable(f"{compared.source}  same") + "\n")
    return compared


# --- both ------------------------------------------------------------------------------------------------------------


def _so_far(count: Callable[[list[R]], dict[str, int]]) -> Callable[[list[R]], str]:
    """Return what is told of all results so far, given some more, by what is counted of these."""
    total: dict[str, int] = {}

    def tell(results: list[R]) -> str:
        for name, number in count(results).items():
            total[name] = total.get(name, 0) + number
        return ", ".join(f"{number} {name}" for name, number in total.items())

    return tell


def _of_audits(audited: list[Audited]) -> dict[str, int]:
    return {
        "journals": len(audited),
        "entries": sum(each.verdict.entries for each in audited),
        "differ": sum(each.verdict.difference is not None for each in audited),
    }


def _of_impacts(compared: list[Compared]) -> dict[str, int]:
    return {"matches": len(compared), "part": sum(each.impact.field is not None for each in compared)}


def _results(
    parts: list[Part],
    job: Job[R],
    workers: int | None,
    ray: str | None,
    state: Path | None,
    tell: Callable[[list[R]], str],
) -> Generator[R, None, None]:
    """Yield the results and, while they come, tell a terminal on stderr how far it is and how long it will take."""
    console = Console(stderr=True)
    columns = (
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    hidden = not console.is_terminal or len(parts) < 2
    pool = on_processes(workers or cores()) if ray is None else on_ray(ray)
    with (
        State(state, job) if state else nullcontext() as known,
        closing(run(parts, job, pool, known)) as done,
        Progress(
            *columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty(), disable=hidden
        ) as bar,
    ):  # fmt: skip
        task = bar.add_task(job.name, total=sum(part.size for part in parts), told="")
        for part, results in until_interrupted(done):
            bar.update(task, advance=part.size, told=tell(results))
            yield from results


@contextmanager
def _explained(state: Path | None) -> Iterator[None]:
    """Exit as the commands promise where they cannot go on."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(f"stopped{f'; --state {state} goes on from here' if state else ''}\n")
        raise typer.Exit(INTERRUPTED) from None
    except UnknownGame as refusal:
        asked_wrongly(refusal.detail)
    except BrokenExecutor:
        asked_wrongly("one of the processes died, for want of memory perhaps; --workers says how many there are")
    except BrokenPipeError:
        raise  # nobody reads any more, and no file is at fault
    except (JournalsError, StateError, StorageError, RayMissing, ConnectionError) as error:
        asked_wrongly(str(error))
    except OSError as error:
        asked_wrongly(said(error))
