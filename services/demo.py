"""`croupier demo`: matches played to the end on a stack of its own, then every journal audited.

The players are clients like any other: commands over gRPC, views over NATS, nothing else.
"""

import asyncio
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from engine import registry
from engine.audit import Source
from services.audit_report import audit_all
from services.client import Client, RefusedError, Seat
from services.random_player import RandomPlayer
from services.settings import PREFIX, load
from services.stack import Stack
from services.store import Store

REFRESH_S = 0.2
OPTIONS: dict[str, dict[str, Any]] = {"timos_twist": {"target": 300}}


@dataclass(slots=True)
class Tally:
    """What the demo shows while it runs. Latency: from sending a move to its receipt, in seconds."""

    matches: int
    began: float = field(default_factory=time.monotonic)
    done: int = 0
    moves: int = 0
    latency: list[float] = field(default_factory=list)

    def row(self) -> Table:
        """Return the figures of this moment."""
        seconds = time.monotonic() - self.began
        last = sorted(self.latency[-5000:]) or [0.0]
        table = Table(box=None, show_header=True, pad_edge=False)
        for title in ("matches", "moves", "moves/s", "p50 ms", "p99 ms"):
            table.add_column(title, justify="right", min_width=9)
        table.add_row(
            f"{self.done}/{self.matches}",
            str(self.moves),
            f"{self.moves / seconds:.0f}" if seconds else "-",
            f"{last[len(last) // 2] * 1000:.1f}",
            f"{last[int(len(last) * 0.99)] * 1000:.1f}",
        )
        return table


class DemoFailedError(Exception):
    """The demo found something that must not happen."""


class _TalliedPlayer(RandomPlayer):
    """Counts its moves."""

    def __init__(self, tally: Tally, seed: str) -> None:
        super().__init__(seed)
        self._tally = tally

    async def send(self, seat: Seat, move: dict[str, Any], prompt: int) -> int:
        sent = time.monotonic()
        version = await super().send(seat, move, prompt)
        self._tally.moves += 1
        self._tally.latency.append(time.monotonic() - sent)
        return version


async def _play(client: Client, tally: Tally, game: str, seats: int, seed: int) -> tuple[str, bytes]:
    """Play one match to its end; return its id and the last hash that its players were told."""
    match, _ = await client.create(game, seats, OPTIONS.get(game))
    players = [_TalliedPlayer(tally, f"{seed}/{number}") for number in range(seats)]
    taken = [await client.join(match, f"Player {n + 1}", player.see) for n, player in enumerate(players)]
    await asyncio.gather(*(player.end() for player in players))
    last = {(seat.view["status"], seat.view["hash"]) for seat in taken}
    if len(last) > 1 or taken[0].view["status"] != "finished":
        raise DemoFailedError(f"match {match} did not end the same for everybody: {sorted(last)}")
    tally.done += 1
    return match, bytes.fromhex(taken[0].view["hash"])


async def _matches(stack: Stack, tally: Tally, games: Sequence[str], seats: int) -> dict[str, bytes]:
    client = await Client.connect(stack.grpc, stack.nats.url, stack.environment[f"{PREFIX}OPERATOR_KEY"])
    try:
        plays = [_play(client, tally, games[number % len(games)], seats, number) for number in range(tally.matches)]
        return dict(await asyncio.gather(*plays))
    except RefusedError as error:
        raise DemoFailedError(f"a command was refused: {error}") from error
    finally:
        await client.close()


async def _shown(stack: Stack, tally: Tally, games: Sequence[str], seats: int, console: Console) -> dict[str, bytes]:
    """Play all matches under a live display; return their last hashes by id."""
    playing = asyncio.create_task(_matches(stack, tally, games, seats))
    with Live(tally.row(), console=console, auto_refresh=False) as live:
        while not playing.done():
            await asyncio.wait([playing], timeout=REFRESH_S)
            live.update(tally.row(), refresh=True)
            stack.check()
    if not console.is_terminal:
        console.print()  # a display that is not live ends without a new line
    return await playing


async def _journals(stack: Stack, matches: Iterable[str]) -> list[Source]:
    """Read every journal back from Redis."""
    store = await Store(load(redis_url=stack.redis.url)).open()
    try:
        return [Source(match, lines=tuple((await store.load([match]))[0].lines)) for match in matches]
    finally:
        await store.close()


def demo(console: Console, *, games: Sequence[str], matches: int, seats: int, engines: int) -> bool:
    """Play and audit; return whether every match was played to its end and every journal verified.

    Raises UnknownGame, DemoFailedError, LocalProcessError.
    """
    for game in games:
        registry.newest(game)
    with tempfile.TemporaryDirectory(prefix="croupier-demo-") as folder, ExitStack() as running:
        with console.status("starting Redis, NATS and the services"):
            stack = running.enter_context(
                Stack(
                    Path(folder), engines=engines, env={f"{PREFIX}SEAT_RATE": "10000", f"{PREFIX}ADDRESS_RATE": "10000"}
                )
            )
        console.print(f"playing {matches} matches with {seats} seats: {', '.join(games)}", soft_wrap=True)
        tally = Tally(matches)
        anchors = asyncio.run(_shown(stack, tally, games, seats, console))
        with console.status("reading every journal back from Redis and auditing it"):
            sources = asyncio.run(_journals(stack, anchors))
            verdicts = [audited.verdict for audited in audit_all(sources, anchors)]
    bad = [verdict for verdict in verdicts if verdict.outcome != "verified"]
    for verdict in bad:
        console.print(f"[red]{verdict.match}: {verdict.outcome}, {verdict.difference}[/]")
    moves = sum(verdict.moves for verdict in verdicts)
    good = len(verdicts) - len(bad)
    console.print(f"{len(verdicts)} matches played with {moves} moves, {good} of them verified, {len(bad)} not")
    return not bad and len(verdicts) == matches
