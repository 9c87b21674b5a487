"""`croupier load` on the command line; `cli.py` calls `register`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import msgspec.structs
import typer
from rich.console import Console

from engine.refusals import UnknownGame
from services.cli_exit import FAILED, INTERRUPTED, USAGE, fail, said, unwritable
from services.cli_servers import Authority, NatsUrl, NoAuthorityError, certificates

if TYPE_CHECKING:
    from collections.abc import Sequence


def register(app: typer.Typer, panel: str) -> None:
    """Add the command to `app`, in that panel of its help."""
    app.command(rich_help_panel=panel)(load)


def load(
    game: Annotated[str, typer.Option(help="Engine name of the game.")] = "timos_twist",
    matches: Annotated[int, typer.Option(help="Matches open at the same time; one that ends is replaced.")] = 50,
    seats: Annotated[int, typer.Option(help="Seats of each match, all of them played from here.")] = 4,
    for_: Annotated[str | None, typer.Option("--for", metavar="TIME", help="How long to measure: 60s, 5m.")] = None,
    warm_up: Annotated[str, typer.Option(metavar="TIME", help="How long to play before that.")] = "3s",
    closed: Annotated[
        bool, typer.Option("--closed", help="Each match moves when all have seen its last move.")
    ] = False,
    rate: Annotated[float | None, typer.Option(help="Moves a second on a schedule, instead of --closed.")] = None,
    server: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Match service; by default a stack is started for the run.")
    ] = None,
    nats: NatsUrl = None,
    ca: Authority = None,
    engines: Annotated[
        int | None, typer.Option(min=1, max=64, help="Engine workers of a stack of its own; by default one.")
    ] = None,
    durability: Annotated[
        Literal["memory", "everysec", "fsync"] | None, typer.Option(help="Of a stack of its own; by default everysec.")
    ] = None,
    processes: Annotated[int, typer.Option(help="Processes that play, on this machine.")] = 1,
    transport: Annotated[
        Literal["play", "unary"], typer.Option(help="Moves over Play streams, or a call each.")
    ] = "play",
    streams: Annotated[
        Literal["match", "process"], typer.Option(help="A Play stream for each match, or one for all.")
    ] = "process",
    views: Annotated[Literal["nats", "grpc"], typer.Option(help="Where views come from.")] = "nats",
    connections: Annotated[
        Literal["seat", "process"], typer.Option(help="A NATS connection for each seat, or one for all.")
    ] = "seat",
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="An option of the game; may be repeated.")
    ] = None,
    think: Annotated[float, typer.Option(metavar="MS", help="Time before each move, on average.")] = 0.0,
    leave: Annotated[float, typer.Option(metavar="P", help="Chance that a seat leaves after a move.")] = 0.0,
    reconnect_every: Annotated[
        str | None, typer.Option(metavar="TIME", help="Break every connection so often, all at once.")
    ] = None,
    slow: Annotated[float, typer.Option(metavar="P", help="Share of matches with a slow spectator.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Of the players' choices; deals are the server's.")] = 1,
    pid: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=PID", help="Measure the CPU of this server process; may be repeated."),
    ] = None,
    label: Annotated[str, typer.Option(metavar="TEXT", help="What the report says of the server.")] = "",
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as JSON.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as a page with plots.")] = None,
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where workers of other machines may join.")
    ] = "127.0.0.1:0",
    workers: Annotated[int, typer.Option(help="How many such workers to wait for.")] = 0,
    wait: Annotated[str, typer.Option(metavar="TIME", help="How long to wait for them.")] = "60s",
    join: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Be such a worker; all else comes from the coordinator.")
    ] = None,
) -> None:
    """Play many matches at once, measure, and check every journal at the end.

    Needs --for, or --join. CROUPIER_OPERATOR_KEY is used where the server has one. Ctrl-C ends early, with the report
    so far.

    Exits with 1 if a move was lost or made twice, if players saw different things, if a journal does not hold or
    could not be looked at, or if a part broke down; with 2 if it was asked wrongly; with 130 after a second Ctrl-C.
    """
    if join is not None:
        _join(join)
    from services.bus import url_beside  # noqa: PLC0415 - gRPC and NATS load only where they are needed
    from services.game_options import OptionError, options_of  # noqa: PLC0415 - as above
    from services.load.plan import Plan, PlanError, seconds  # noqa: PLC0415 - as above
    from services.load.run import Wish, run  # noqa: PLC0415 - as above
    from services.local_process import LocalProcessError  # noqa: PLC0415 - as above
    from services.settings import Durability  # noqa: PLC0415 - as above

    console = Console(highlight=False)
    try:
        if for_ is None:
            raise PlanError("say how long to measure: --for 60s")
        if closed and rate is not None:
            raise PlanError("--closed and --rate: one of them")
        if server is None and nats is not None:
            raise PlanError("--nats is of a --server")
        own = {"engines": engines, "durability": durability and Durability(durability)}
        own = {name: value for name, value in own.items() if value is not None}  # the others as in `Wish`
        if server is not None and own:
            raise PlanError("--engines and --durability are of a stack of its own, not of a --server")
        authority = certificates(ca, server)
        plan = Plan(
            server=server or "",
            nats=nats or url_beside(server or "", tls=bool(authority)),
            ca=authority,
            game=game,
            options=options_of(game, option or ()),
            matches=matches,
            seats=seats,
            rate=rate,
            seconds=seconds(for_),
            warm_up=seconds(warm_up),
            transport=transport,
            streams=streams,
            views=views,
            connections=connections,
            think_ms=think,
            leave=leave,
            reconnect_s=None if reconnect_every is None else seconds(reconnect_every),
            slow=slow,
            seed=seed,
        )
        wish = Wish(
            plan=plan,
            processes=processes,
            others=workers,
            wait_s=seconds(wait),
            listen=listen,
            label=label,
            pids=_pids(pid or ()),
        )
        if error := unwritable((json, html)):
            _fail(f"the report cannot be written: {said(error)}", USAGE)
        found = run(msgspec.structs.replace(wish, **own), console)
    except UnknownGame as refusal:
        _fail(refusal.detail, USAGE)
    except (PlanError, OptionError, NoAuthorityError) as error:
        _fail(str(error), USAGE)
    except (LocalProcessError, OSError) as error:
        _fail(said(error), FAILED)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    from services.load.page import page  # noqa: PLC0415 - as above
    from services.load.report import summary  # noqa: PLC0415 - as above

    console.print(summary(found))
    if json is not None:
        json.write_bytes(found.json())
    if html is not None:
        html.write_text(page(found), "utf-8")
    raise typer.Exit(0 if found.good else 1)


def _join(address: str) -> NoReturn:
    from services.load.plan import split  # noqa: PLC0415 - as above
    from services.load.talk import SECRET  # noqa: PLC0415 - as above
    from services.load.worker import work  # noqa: PLC0415 - as above

    secret = os.environ.get(SECRET)
    if not secret:
        _fail(f"--join: set {SECRET} to the text that the coordinator has", USAGE)
    try:
        split(address)
    except ValueError as error:
        _fail(f"--join: {error}", USAGE)
    if problem := work(address, secret):
        _fail(problem, FAILED)
    raise typer.Exit(0)


def _pids(texts: "Sequence[str]") -> dict[str, list[int]]:
    from services.load.cpu import cpu_of  # noqa: PLC0415 - as above
    from services.load.plan import PlanError  # noqa: PLC0415 - as above

    found: dict[str, list[int]] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if not name or not number.isdecimal():
            raise PlanError(f"--pid: {text!r} is not of the form NAME=PID")
        if cpu_of(int(number)) is None:
            raise PlanError(f"--pid: no process {number} can be looked at on this machine")
        found.setdefault(name, []).append(int(number))
    return found


def _fail(problem: str, code: int) -> NoReturn:
    fail(f"croupier load: {problem}", code)
