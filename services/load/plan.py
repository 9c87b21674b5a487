"""What a load run does: its plan, which is checked before anything starts and handed to every worker as it is."""

import re
from typing import Any, Literal
from urllib.parse import urlsplit

from msgspec import Struct

from engine import registry
from engine.refusals import Refusal

MAX_MATCHES = 100_000
MAX_SECONDS = 86_400.0
MAX_RATE = 1_000_000.0
MATCHES_TOGETHER = 1000
"""Matches on one `Play` stream: the server takes 1,024 commands without a receipt, and 16,384 seats."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class PlanError(ValueError):
    """A plan that nobody should run; says what is wrong with it."""


class Plan(Struct, frozen=True, kw_only=True):
    """Everything that a worker has to know, but no secret: those it finds in its own environment."""

    server: str
    """Where the match service listens: `host:port`."""
    nats: str
    """URLs of NATS, separated by commas: connections are spread over them."""
    ca: str = ""
    """The CA (PEM) that has signed the certificates of the match service, which is spoken to over TLS then, and of NATS
    where that speaks TLS; empty: the match service is spoken to without TLS."""
    game: str
    options: dict[str, Any] = {}
    matches: int
    """Open at the same time; one that ends is replaced."""
    seats: int
    rate: float | None = None
    """Moves a second of all workers together, on a schedule; none: closed loop."""
    seconds: float
    warm_up: float = 3.0
    transport: Literal["play", "unary"] = "play"
    streams: Literal["match", "process"] = "process"
    views: Literal["nats", "grpc"] = "nats"
    connections: Literal["seat", "process"] = "seat"
    think_ms: float = 0.0
    leave: float = 0.0
    """Chance that a seat leaves after a move."""
    reconnect_s: float | None = None
    slow: float = 0.0
    """Share of matches that have a spectator who reads slowly."""
    optional: float = 0.1
    """How often somebody who owes nothing, but may move, does."""
    seed: int = 1

    def check(self) -> None:
        """Raise PlanError unless the plan is bounded and means something."""
        for name, value, least, most in (
            ("--matches", self.matches, 1, MAX_MATCHES),
            ("--for", self.seconds, 0.1, MAX_SECONDS),
            ("--warm-up", self.warm_up, 0, MAX_SECONDS),
            ("--think", self.think_ms, 0, 3_600_000),
            ("--leave", self.leave, 0, 1),
            ("--slow", self.slow, 0, 1),
        ):
            if not least <= value <= most:
                raise PlanError(f"{name}: {value:,.10g} is not from {least:g} to {most:,.0f}")
        if self.rate is not None and not 0 < self.rate <= MAX_RATE:
            raise PlanError(f"--rate: {self.rate:g} is not above 0, up to {MAX_RATE:,.0f}")
        if self.rate is not None and self.think_ms:
            raise PlanError("--rate and --think: with a rate the schedule says when to move, not the players")
        if self.reconnect_s is not None and not self.reconnect_s >= 0.1:
            raise PlanError("--reconnect-every: at least 0.1 s")
        self._check_game()
        try:
            split(self.server)
        except ValueError as error:
            raise PlanError(f"--server: {error}") from None
        for url in self.nats.split(","):
            parts = urlsplit(url)
            if parts.scheme not in ("nats", "tls") or not parts.hostname:
                raise PlanError(f"--nats: {parts.scheme}://{parts.hostname} is no nats:// or tls:// URL")
            if "@" in parts.netloc:
                raise PlanError("--nats: a user and its password go into CROUPIER_NATS_USER and CROUPIER_NATS_PASSWORD")

    def _check_game(self) -> None:
        try:
            game = registry.newest(self.game)
            game.options(self.options, self.seats if self.seats in game.seats else game.seats[0])
        except Refusal as refusal:
            raise PlanError(refusal.detail) from None
        if self.seats not in game.seats:
            raise PlanError(f"--seats: {self.game} has {game.seats[0]} to {game.seats[-1]} seats, not {self.seats}")


class Share(Struct, frozen=True):
    """One worker's part of a plan: every `of`-th match, from the `index`-th on."""

    plan: Plan
    index: int
    of: int

    @property
    def slots(self) -> range:
        """The places of the plan's matches that this worker fills."""
        return range(self.index, self.plan.matches, self.of)


def seconds(text: str) -> float:
    """Return how long `60s`, `1.5m`, `500ms`, `2h` or a bare number of seconds is. Raises PlanError."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise PlanError(f"{text!r} is no time such as 60s, 1.5m or 500ms")
    return float(found[1]) * _UNITS[found[2] or "s"]


def split(address: str) -> tuple[str, int]:
    """Return host and port of `host:port`. Raises ValueError."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"{address!r} is no HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(port)
