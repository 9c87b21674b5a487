"""`croupier archive`: brings matches that have ended from Redis into the archive."""

import asyncio
import sys
from collections.abc import Callable
from typing import Annotated

import typer
from redis.exceptions import RedisError

from services import archiver
from services.archive import Archive
from services.cli_exit import INTERRUPTED, asked_wrongly
from services.journals import here
from services.settings import Settings, SettingsError
from services.storage import StorageError
from services.store.servers import StoreError


def register(app: typer.Typer, panel: str, serve: Callable[..., None]) -> None:
    """Add the command to `app`; `serve` runs a service until it is told to stop."""

    def archive(
        once: Annotated[bool, typer.Option("--once", help="Archive what has ended, then exit: for cron.")] = False,
        everything: Annotated[
            bool, typer.Option("--all", help="Once, and also what ended while no archive was set.")
        ] = False,
        reindex: Annotated[
            bool, typer.Option("--reindex", help="Make the index anew from the segments, then exit.")
        ] = False,
    ) -> None:
        """Move matches that have ended from Redis to the archive that CROUPIER_ARCHIVE names: a folder or a URL.

        Nothing leaves Redis before the archive has given it back. Runs until Ctrl-C or SIGTERM; of several one works.
        With --once: exits with 1 if a match could not be archived; it stays in Redis.
        """
        if reindex:
            _reindex()
        elif once or everything:
            _once(everything=everything)
        else:
            serve(archiver.serve, "archive")

    app.command(rich_help_panel=panel)(archive)


def _settings() -> Settings:
    try:
        settings = here()
    except SettingsError as error:
        asked_wrongly(str(error))
    if settings.archive is None:
        asked_wrongly(
            "CROUPIER_ARCHIVE: is not set; allowed: a folder, or a URL that fsspec knows (`s3://bucket/path`)"
        )
    return settings


def _once(*, everything: bool) -> None:
    settings = _settings()

    def say(count: int) -> None:
        sys.stderr.write(f"{count} matches wait\n")

    try:
        done = asyncio.run(archiver.once(settings, everything=everything, say=say))
    except (StoreError, StorageError, RedisError, OSError) as error:
        asked_wrongly(str(error))
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    sys.stdout.write(f"{done.archived} matches archived, {done.failed} left in Redis\n")
    raise typer.Exit(1 if done.failed else 0)


def _reindex() -> None:
    settings = _settings()
    try:
        count = Archive.at(str(settings.archive)).reindex()
    except (StorageError, OSError) as error:
        asked_wrongly(str(error))
    sys.stdout.write(f"{count} journals indexed\n")
