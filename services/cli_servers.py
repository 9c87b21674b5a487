"""The options that say where servers are and how to speak to them, for every command that is a client."""

import ssl
from pathlib import Path
from typing import Annotated

import typer

NatsUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", help="NATS, by nats:// or tls:// (TLS); by default port 4222 of that host."),
]
Authority = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        exists=True,
        dir_okay=False,
        readable=True,
        help="Speak TLS to --server, whose certificate this CA (PEM) has signed, and to NATS unless at nats://.",
    ),
]


class NoAuthorityError(ValueError):
    """`--ca` is not what it has to be; says why."""


def certificates(ca: Path | None, server: str | None) -> str:
    """Return the text of the file that `--ca` names, empty if it is not given.

    Raises NoAuthorityError if there is no `--server` to speak TLS to, or no certificate in PEM in the file.
    """
    if ca is None:
        return ""
    if server is None:
        raise NoAuthorityError("--ca is of a --server")
    try:
        text = ca.read_text("ascii")
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except (OSError, ValueError) as error:
        raise NoAuthorityError(f"--ca: {ca} is no certificate in PEM: {error}") from None
    return text
