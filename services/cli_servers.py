"""The options that say where servers are and how to speak to them, for every command that is a client."""

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
