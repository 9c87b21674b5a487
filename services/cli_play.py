"""`croupier play` on the command line; `cli.py` calls `register`."""

from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from services.cli_exit import exits, fail
from services.cli_servers import Authority, NatsUrl, NoAuthorityError, certificates
from services.words import Language


def register(app: typer.Typer, panel: str) -> None:
    """Add the command to `app`, in that panel of its help."""
    app.command(rich_help_panel=panel)(play)


def play(
    game: Annotated[
        str | None, typer.Argument(metavar="GAME", help="Engine name, as timos_twist; asked for if not given.")
    ] = None,
    create: Annotated[bool, typer.Option("--create", help="Open a new match; so it is without --join.")] = False,
    join: Annotated[str | None, typer.Option("--join", metavar="MATCH", help="Join this match.")] = None,
    code: Annotated[
        str | None, typer.Option("--code", metavar="CODE", help="Deal the match of this game code again.")
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Open a match that only the invited can find.")] = False,
    invite: Annotated[
        str | None, typer.Option(envvar="CROUPIER_INVITE", help="The invite of a private match to join.")
    ] = None,
    seats: Annotated[int | None, typer.Option(min=1, max=12, help="Seats of a new match.")] = None,
    name: Annotated[str | None, typer.Option(help="Your name at the table; the login name by default.")] = None,
    server: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Match service; by default one is started for this match.")
    ] = None,
    nats: NatsUrl = None,
    ca: Authority = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="An option of the game; may be repeated.")
    ] = None,
    clock: Annotated[float | None, typer.Option(min=1, help="Seconds for each decision.")] = None,
    bots: Annotated[
        str | None,
        typer.Option(metavar="LEVELS", help="Computer players, one a seat: reckless, clever or ruthless, with commas."),
    ] = None,
    others: Annotated[
        int | None, typer.Option(min=0, max=11, help="Players on other seats who move at random.")
    ] = None,
    think: Annotated[float, typer.Option(min=0, max=60, help="Seconds that these players take for a move.")] = 0.8,
    journal: Annotated[Path | None, typer.Option(help="Save the journal here at the end.")] = None,
    lang: Annotated[Language | None, typer.Option(help="de or en; by default what LANG says.")] = None,
) -> None:
    """Play a match at this terminal: with friends on a server, or against computer players with no server at all.

    Type the number of a move, ? for help, q to leave.

    --bots clever,ruthless seats two computer players. A match against computer players alone has a game code, told at
    the top of the table and at the end: --code deals the same cards again, to players who decide as they did.
    """
    from services.local_process import LocalProcessError  # noqa: PLC0415 - gRPC loads only where it is needed
    from services.play import play as play_match  # noqa: PLC0415 - as above
    from services.play_wish import CannotPlayError, Wish, default_language  # noqa: PLC0415 - as above

    console = Console(highlight=False)
    if join is not None and (create or server is None):
        _wrong("--join needs --server, and does not go with --create")
    try:
        authority = certificates(ca, server)
    except NoAuthorityError as error:
        _wrong(str(error))
    if nats is not None and not nats.startswith(("nats://", "tls://")):
        _wrong("--nats is a nats:// or tls:// URL")
    if private and join is not None:
        _wrong("--private is for a new match, --invite for one to join")
    if code is not None and (join or create or seats or bots or option):
        _wrong("--code tells seats, levels and options: no --join, --create, --seats, --bots, --option")
    wish = Wish(
        game=game,
        join=join,
        code=code,
        seats=seats,
        name=name,
        server=server,
        nats=nats,
        ca=authority.encode() or None,
        options=option or (),
        clock_s=clock,
        bots=[level.strip().lower() for level in bots.split(",") if level.strip()] if bots else (),
        others=others,
        think_s=think,
        journal=journal,
        lang=lang or default_language(),
        private=private,
        invite=invite,
    )
    try:
        with exits(failed=(LocalProcessError, OSError)):
            status = play_match(wish, console)
    except CannotPlayError as error:
        _wrong(str(error))
    raise typer.Exit(status)


def _wrong(problem: str) -> NoReturn:
    fail(f"croupier play: {problem}")
