"""Logs that name matches and seats and never tell what is secret.

What a log line may show is an allow-list: plain values under names that hold no secret. Values of other types appear
as the name of their type, so that no state, view or move gets into a log by its representation. Of an exception only
the kinds below show their message: that of a KeyError may be the card that a hand was searched for.
"""

import asyncio
import logging
import re
import sys
import traceback
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any, TextIO

import structlog
from nats.errors import Error as NatsError
from redis.exceptions import RedisError
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

from services.sealing import SealError
from services.settings import Settings

MASK = "***"

# A name is secret if it is made of one of these words: `token_key`, `server_seed`, `draw_pile`, `hands`. Digests and
# hashes of a running match are secret since a single face-down card can be guessed against them.
_SECRET_WORDS = frozenset({
    "authorization", "card", "chance", "cookie", "deck", "digest", "hand", "hash", "hidden", "invite", "key", "legal",
    "move", "own", "password", "pile", "prev", "secret", "seed", "state", "token",
})  # fmt: skip
_SECRET_NAMES = frozenset({"request", "request_id", "client_request_id", "line", "view", "events", "metadata"})

# Credentials in a URL, JSON Web Tokens, 32 bytes in hex (a seed, a key, a digest), and invites, wherever they stand.
# A token's header has an end, or a text of many beginnings would take time that grows with the square of its length.
_SECRET_TEXT = re.compile(
    r"(?<=://)[^/@\s]+(?=@)|\beyJ[\w-]{1,128}\.[\w-]+\.[\w-]*|\b[0-9a-f]{64,}\b|\b[a-z2-7]{26}\b",
    re.IGNORECASE,
)


# What goes wrong with connections, servers, processes and keys; none of it has seen a card.
_TELLING = (OSError, RuntimeError, RedisError, NatsError, SealError, asyncio.CancelledError)


def configure(settings: Settings, service: str, stream: TextIO | None = None) -> None:
    """Send everything that is logged, by structlog or by the standard library, to `stream` and nowhere else.

    From then on each event is one JSON line, or with `log_format="console"` text for people, with time (UTC), level
    and `service`; events below `log_level` are dropped. May be called again; the last call holds.

    Args:
        settings: tell format and level.
        service: the name under which this process logs.
        stream: standard error by default.
    """
    as_json = settings.log_format == "json"

    def name_service(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        return {"service": service, **event}

    before: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        name_service,
    ]
    # Tracebacks become text before redaction sees them, and without local variables, which hold hands and seeds.
    rendering: list[Processor] = [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        structlog.processors.StackInfoRenderer(),
        structlog.processors.ExceptionRenderer(_traceback),
        redact,
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=before, processors=rendering))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(settings.log_level.upper())
    logging.captureWarnings(True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *before,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
    )


def to_terminal() -> None:
    """Tell a person on standard error of warnings and worse, and of nothing else, until `configure` is called."""
    structlog.reset_defaults()  # nothing stays of what `configure` may have set up: its processors want another logger
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger("warning"),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )


def redact(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Mask what a log may not tell; the last processor before the renderer. The result shares nothing with `event`."""
    return {str(name): MASK if _is_secret(str(name)) else _plain(value) for name, value in event.items()}


def _is_secret(name: str) -> bool:
    name = name.lower().replace("-", "_")
    words = name.split("_")
    return name in _SECRET_NAMES or not _SECRET_WORDS.isdisjoint([*words, *(word.removesuffix("s") for word in words)])


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | int() | float():
            return value
        case Enum():
            return value.name
        case str():
            return _SECRET_TEXT.sub(MASK, value)
        case BaseException():
            return _SECRET_TEXT.sub(MASK, _told(value))
        case Path() | datetime():
            return str(value)
        case bytes() | bytearray() | memoryview():
            return f"<{len(value)} bytes>"
        case Mapping():
            return {str(name): MASK if _is_secret(str(name)) else _plain(part) for name, part in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(part) for part in value]
        case _:
            return f"<{type(value).__name__}>"


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error if isinstance(error, _TELLING) else MASK}"


def _traceback(exc_info: ExcInfo) -> str:
    """Return an exception as Python prints it, with what led to it, but without the messages that are not told."""
    error: BaseException | None = exc_info[1]
    parts: list[str] = []
    known: set[int] = set()
    while error is not None and id(error) not in known:
        known.add(id(error))
        frames = "".join(traceback.format_tb(error.__traceback__))
        parts.append(f"Traceback (most recent call last):\n{frames}{_told(error)}")
        if isinstance(error, BaseExceptionGroup):
            parts += [_traceback((type(one), one, one.__traceback__)) for one in error.exceptions]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n\n".join(reversed(parts))
