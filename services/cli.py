"""The command line: `croupier COMMAND`. Each service has its own entry here."""

import asyncio
import json
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from nats.errors import Error as NatsError
from rich.console import Console
from rich.markup import escape

from engine import bots, registry
from engine.refusals import UnknownGame
from services import cli_archive, cli_audit, cli_journal, cli_load, cli_play, logs
from services.cli_arena import arena_command
from services.cli_exit import FAILED, err, exits, fail
from services.journals import here
from services.lifecycle import Ready
from services.local_process import FolderInUseError, LocalProcessError
from services.settings import PREFIX, Durability, Settings, SettingsError, load, settings_table
from services.storage import StorageError
from services.store.servers import StoreError

if TYPE_CHECKING:
    from services.stack import Stack

app = typer.Typer(
    name="croupier",
    help="Deal card games over a network: keep every move, show each seat only its own, let anybody verify the deal.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",  # paragraphs of more than one line are joined
    context_settings={"help_option_names": ["-h", "--help"]},
)
out = Console(highlight=False)

SERVICES = "Services"
JOURNALS = "Journals"
PLAY = "Playing"

Serve = Callable[[Settings, Ready], Coroutine[Any, Any, None]]


def _tell_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"Croupier {metadata.version('croupier-server')}\n")
        raise typer.Exit


@app.callback()
def _begin(
    version: Annotated[  # noqa: ARG001 - its callback has done it
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Name what would stop every command before anything is done: not in the middle of a match.

    That is a game or computer players that do not load, and a current folder that has been removed, in which no process
    can be started. What clients of ours log goes to stderr from here on, from warnings up; services set up their own.
    """
    logs.to_terminal()
    try:
        Path.cwd()
    except FileNotFoundError:
        fail("the current folder is not there any more; go to another one")
    with exits(usage=(registry.GameNotLoaded,)):
        bots.load()


def _ready(facts: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def _serve(serve: Serve, *require: str) -> None:
    import uvloop  # noqa: PLC0415 - not needed for --help

    with exits(usage=(SettingsError, StoreError, StorageError, OSError)):
        uvloop.run(serve(load(require=require), _ready))


@app.command(rich_help_panel=SERVICES)
def match() -> None:
    """Run the match service: the gRPC front that clients talk to.

    Needs CROUPIER_TOKEN_KEY, and Redis and NATS where the settings say (croupier settings lists them). Stops cleanly on
    Ctrl-C and SIGTERM.
    """
    from services.match.service import serve  # noqa: PLC0415 - gRPC loads only where it is needed

    _serve(serve, "token_key")


@app.command(rich_help_panel=SERVICES)
def engine() -> None:
    """Run an engine worker: it decides, writes the journals and publishes the views. Run as many as you like.

    Needs CROUPIER_SEED_KEY, and Redis and NATS where the settings say. Stops cleanly on Ctrl-C and SIGTERM, giving its
    partitions back.
    """
    from services.engine.worker import serve  # noqa: PLC0415 - as above

    _serve(serve, "seed_key")


@app.command(rich_help_panel=SERVICES)
def auth() -> None:
    """Run the auth service: it tells NATS which views the holder of a token may hear. Run as many as you like.

    Needs CROUPIER_TOKEN_KEY, the same as the match service's, CROUPIER_NATS_ISSUER_SEED and NATS. While none runs, NATS
    lets no player in. Stops cleanly on Ctrl-C and SIGTERM.
    """
    from services.auth.service import serve  # noqa: PLC0415 - as above

    _serve(serve, "token_key", "nats_issuer_seed")


@app.command(rich_help_panel=SERVICES)
def nats_keys() -> None:
    """Make and print new keys with which NATS and the auth service know each other, as environment variables.

    The two seeds are secrets of the auth service; the two public keys belong to NATS' server (deploy/nats_access.conf).
    """
    from services.auth.nats_jwt import CurveKey, Issuer, new_account_seed, new_curve_seed  # noqa: PLC0415 - as above

    issuer, curve = new_account_seed(), new_curve_seed()
    sys.stdout.write(
        f"CROUPIER_NATS_ISSUER_SEED={issuer}\nCROUPIER_NATS_CURVE_SEED={curve}\n"
        f"NATS_ISSUER={Issuer(issuer).public}\nNATS_XKEY={CurveKey(curve).public}\n"
    )


@app.command(rich_help_panel=SERVICES)
def up(
    engines: Annotated[int, typer.Option(min=1, max=64, help="How many engine workers.")] = 2,
    port: Annotated[
        int, typer.Option(min=0, max=65535, envvar=f"{PREFIX}GRPC_PORT", help="gRPC port; 0: a free one.")
    ] = 50051,
    data: Annotated[Path, typer.Option(envvar=f"{PREFIX}DATA_DIR", help="Folder for data, keys and logs.")] = Path(
        ".croupier"
    ),
    durability: Annotated[
        Literal["memory", "everysec", "fsync"],
        typer.Option(
            envvar=f"{PREFIX}DURABILITY", help="What must have happened to a commit before players hear of it."
        ),
    ] = "everysec",
    origin: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="A site whose pages may connect to NATS; may be repeated.")
    ] = None,
) -> None:
    """Run everything on this machine until Ctrl-C: Redis, NATS, auth and match service, engine workers.

    Started again with the same folder, it goes on with the matches that are there.
    """
    from services.stack import Stack  # noqa: PLC0415 - as above

    stack = Stack(data, engines=engines, durability=Durability(durability), grpc_port=port, origins=origin or ())
    told = _told_to_stop()
    with exits(failed=(LocalProcessError, OSError)), ExitStack() as running:
        with err.status("starting Redis, NATS and the services"):
            try:
                running.enter_context(stack)
            except FolderInUseError as error:
                fail(f"Croupier is up with the data in {data} already ({error}); --data names another folder", FAILED)
        _say_where(stack, data)
        while not told.wait(1):
            stack.check()
        err.print("stopping")


def _told_to_stop() -> threading.Event:
    """Return what Ctrl-C or SIGTERM will set."""
    told = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        told.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    return told


def _say_where(stack: "Stack", data: Path) -> None:
    key = shlex.quote(str(data / "operator_key.secret"))
    out.print("[green]Croupier is up.[/]", escape(f"Data, keys and logs are in {data}."), soft_wrap=True)
    out.print(f"  gRPC       {stack.grpc}")
    out.print(f"  NATS       {stack.nats.url}")
    out.print(f"  WebSocket  {stack.nats.websocket_url}")
    out.print(f"  Redis      {stack.redis.url}")
    out.print(f"  operator   authorization: Bearer $(cat {key})", soft_wrap=True, markup=False)
    out.print("Stop with Ctrl-C.")


@app.command(rich_help_panel=PLAY)
def demo(
    matches: Annotated[int, typer.Option(min=1, max=2000, help="How many matches, all at once.")] = 20,
    seats: Annotated[int, typer.Option(min=2, max=6, help="Seats of each match.")] = 4,
    engines: Annotated[int, typer.Option(min=1, max=64, help="How many engine workers.")] = 2,
    game: Annotated[
        list[str] | None,
        typer.Option(help="Game to play, by its engine name; may be repeated; all in turn by default."),
    ] = None,
) -> None:
    """Play matches to the end on a stack of its own, then read every journal back and audit it.

    The players speak only the public interfaces. Exits with 1 if a match did not end or a journal is not verified.
    """
    from services.demo import DemoFailedError, demo  # noqa: PLC0415 - as above

    names = game or list(dict.fromkeys(known.name for known in registry.games()))
    with exits(usage=(UnknownGame,), failed=(DemoFailedError, LocalProcessError, OSError)):
        good = demo(out, games=names, matches=matches, seats=seats, engines=engines)
    if not good:
        raise typer.Exit(FAILED)


@app.command(rich_help_panel=PLAY)
def listen(
    subject: Annotated[str, typer.Argument(help="A NATS subject; * and > stand for one part and for the rest.")],
) -> None:
    """Print what is published on a NATS subject until Ctrl-C, each message on a line behind its subject.

    For operators: it shows what every seat may know. Listens where CROUPIER_NATS_URL says, as CROUPIER_NATS_USER with
    CROUPIER_NATS_PASSWORD, or to the stack that runs in this folder, as its user `observer`, who may hear `view.>`.
    """
    from services.bus import Access, print_messages  # noqa: PLC0415 - as above

    with exits(usage=(SettingsError, OSError, NatsError)):
        settings = here()
        asyncio.run(print_messages(settings.nats_url, subject, Access.of(settings)))


app.command("arena", rich_help_panel=PLAY)(arena_command)
cli_archive.register(app, SERVICES, _serve)
cli_journal.register(app, JOURNALS)
cli_audit.register(app, JOURNALS)
cli_play.register(app, PLAY)
cli_load.register(app, PLAY)


@app.command("operator-token", rich_help_panel=SERVICES)
def operator_token(
    hours: Annotated[float, typer.Option("--hours", min=0.01, max=24 * 366, help="How long it holds.")] = 8,
) -> None:
    """Print a token with which its holder may create and abort matches for a while; the key stays with you.

    Needs CROUPIER_OPERATOR_KEY, or a folder of `croupier up` here. To be shown as `authorization: Bearer TOKEN`, or
    wherever the key is asked for.
    """
    from services.tokens import Operators  # noqa: PLC0415 - not needed for --help

    with exits(usage=(SettingsError, OSError)):
        operators = Operators.of(here())
    if not operators:
        fail("CROUPIER_OPERATOR_KEY: is not set, and here is no folder of croupier up")
    sys.stdout.write(operators.token(int(hours * 3600)) + "\n")


@app.command("public-key", rich_help_panel=SERVICES)
def public_key_command() -> None:
    """Print the public key for the signatures on last hashes: what players give to `croupier audit --key`.

    Needs CROUPIER_SIGNING_KEY, or a folder of `croupier up` here.
    """
    from services.signatures import public_key  # noqa: PLC0415 - not needed for --help

    with exits(usage=(SettingsError, OSError)):
        key = public_key(here())
    if key is None:
        fail("CROUPIER_SIGNING_KEY: is not set, and here is no folder of croupier up")
    sys.stdout.write(key + "\n")


@app.command(rich_help_panel=SERVICES)
def settings() -> None:
    """Print all settings: variable, default, unit, what is allowed and what it means."""
    sys.stdout.write(settings_table())


def main() -> None:
    """Run the command line.

    Whose output nobody reads any more ends with 1 and says nothing, as typer has it; who has no output at all works.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("r+", encoding="utf-8"))  # noqa: SIM115 - for as long as it runs
    app()


if __name__ == "__main__":
    main()
