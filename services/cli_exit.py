"""How a command ends that cannot do what it was asked: why stands on stderr, of what kind it is in the exit code."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import typer
from rich.console import Console

from services.words import printable

FAILED = 1
USAGE = 2
INTERRUPTED = 130
"""After Ctrl-C."""

Errors = tuple[type[Exception], ...]

err = Console(stderr=True, highlight=False, emoji=False)


def fail(problem: str, code: int = USAGE) -> NoReturn:
    """Say why on stderr, and exit."""
    err.print(problem, style="red", markup=False, soft_wrap=True)
    raise typer.Exit(code)


def asked_wrongly(problem: str) -> NoReturn:
    """Say why a command does nothing, whatever letters the problem repeats, and exit with 2."""
    fail(f"croupier: {printable(problem)}")


@contextmanager
def exits(usage: Errors = (), failed: Errors = ()) -> Iterator[None]:
    """Exit with 2 after errors of `usage`, with 1 after those of `failed`, with 130 after Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        raise  # nobody reads the output any more: it ends, and says nothing of it
    except usage as error:
        fail(said(error))
    except failed as error:
        fail(said(error), FAILED)


def said(error: Exception) -> str:
    """Return what an error tells a person: a file's name and what is wrong with it, without numbers of the system."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def unwritable(paths: Iterable[Path | None]) -> OSError | None:
    """Return why the first of these files that cannot be written cannot: to be asked before long work, not after it."""
    for path in paths:
        if path is not None:
            try:
                path.open("ab").close()
            except OSError as error:
                return error
    return None
