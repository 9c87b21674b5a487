"""`croupier play`: a person at a terminal plays a match, against computer players where nobody else is there.

Without a server it starts one of its own and ends it afterwards. It speaks only the public interfaces; at the end it
asks for the journal and checks it: deal, every move, result.
"""

import asyncio
import contextlib
import getpass
import os
import secrets
import sys
import tempfile
import unicodedata
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import structlog
from nats.errors import Error as NatsError
from rich.console import Console
from rich.text import Text

from croupier.v1 import match_service_pb2 as pb
from engine import bots, registry
from engine.audit import audit
from engine.match import OPEN
from engine.refusals import UnknownGame
from services import wire
from services.bus import url_beside
from services.client import Client, RefusedError, Seat
from services.play_session import Session, Surroundings
from services.play_wish import CannotPlayError, Plan, Wish, dealt_by, planned, setups
from services.random_player import RandomPlayer
from services.settings import PREFIX
from services.stack import Stack
from services.terminal import Terminal
from services.words import Catalogue, Language, printable
from services.words.screen import SAY

CONNECT_S = 10.0
"""How long a server may take to answer at first."""
LEAVE_S = 3.0
NAMES = ("Ada", "Blaise", "Carl", "Daniel", "Emmy", "Felix")
MAX_NAME = 32


def play(wish: Wish, console: Console) -> int:
    """Play one match; return the exit code. Raises CannotPlayError, LocalProcessError."""
    words = SAY[wish.lang]
    structlog.configure(processors=[_silent])
    with ExitStack() as running:
        stack = None
        if wish.join is None and wish.code is None:
            wish = _chosen(wish, console)
        if wish.code is not None:
            dealt_by(wish)
        elif wish.server is None:
            name = wish.game or ""
            planned(wish, wire.catalogue([registry.newest(name)], bots.titles(name)))
        if wish.server is None:
            folder = running.enter_context(tempfile.TemporaryDirectory(prefix="croupier-play-"))
            with console.status(words["starting"]):
                stack = running.enter_context(Stack(Path(folder), engines=1))
            running.callback(console.print, words["stopping"], style="dim")
        return asyncio.run(_play(wish, stack))


def _silent(_logger: Any, _method: str, _event: Any) -> Any:
    """Keep log lines of the client off the screen."""
    raise structlog.DropEvent


def _chosen(wish: Wish, console: Console) -> Wish:
    """Return the wish with a game: asked for at a terminal, else the first there is."""
    games = list(dict.fromkeys(game.name for game in registry.games()))
    if wish.game is None:
        asked = console.is_terminal and sys.stdin.isatty()
        return replace(wish, game=_ask_game(games, wish.lang, console) if asked else games[0])
    if wish.server is None and wish.game not in games:
        raise CannotPlayError(SAY[wish.lang]["unknown game"].format(printable(wish.game), ", ".join(games)))
    return wish


def _ask_game(games: Sequence[str], lang: Language, console: Console) -> str:
    for number, name in enumerate(games, 1):
        console.print(f"[bold green]{number}[/] {registry.newest(name).titles[lang]}")
    while True:
        answer = console.input(f"{SAY[lang]['which game']} ").strip()
        if answer.isdecimal() and 1 <= int(answer) <= len(games):
            return games[int(answer) - 1]
        if answer in games:
            return answer


async def _play(wish: Wish, stack: Stack | None) -> int:
    async with _connected(wish, stack) as client:
        return await _Table(wish, stack, client).play()


@contextlib.asynccontextmanager
async def _connected(wish: Wish, stack: Stack | None) -> AsyncIterator[Client]:
    """Connect to the stack or to the server named; both must answer soon."""
    words = SAY[wish.lang]
    server, nats, key = _addresses(wish, stack)
    try:
        async with asyncio.timeout(CONNECT_S):
            client = await Client.connect(server, nats, key, wish.ca)
    except (TimeoutError, NatsError, OSError, ValueError):
        raise CannotPlayError(words["no nats"].format(nats)) from None
    try:
        yield client
    finally:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                await client.close()


def _addresses(wish: Wish, stack: Stack | None) -> tuple[str, str, str | None]:
    if stack is not None:
        return stack.grpc, stack.nats.url, stack.environment[f"{PREFIX}OPERATOR_KEY"]
    assert wish.server is not None
    nats = wish.nats or url_beside(wish.server, tls=wish.ca is not None)
    return wish.server, nats, os.environ.get(f"{PREFIX}OPERATOR_KEY")


class _Table:
    """One match, from the lobby to the check of its journal."""

    def __init__(self, wish: Wish, stack: Stack | None, client: Client) -> None:
        self._wish = wish
        self._stack = stack
        self._client = client
        self._words = SAY[wish.lang]
        self._players: list[RandomPlayer] = []
        self._joining: asyncio.Task[None] | None = None
        self._invite: str | None = None

    async def play(self) -> int:
        """Play; return the exit code."""
        try:
            games = await self._games()
            if self._wish.join is not None:
                info = games[await self._game_of(self._wish.join)]
                return await self._sit(self._wish.join, None, self._wish.invite, Catalogue.told(info))
            if self._wish.code is not None:
                created = await self._deal_again()
                game = str(created.view.rules).split("/", maxsplit=1)[0]
            else:
                game = self._wish.game or ""
                if game not in games:
                    raise CannotPlayError(self._words["unknown game"].format(printable(game), ", ".join(games)))
                created = await self._create(games[game])
            invite = created.invite if created.HasField("invite") else None
            return await self._sit(created.match, created.host_token, invite, Catalogue.told(games[game]))
        except RefusedError as refusal:
            raise CannotPlayError(self._explained(refusal)) from None
        finally:
            for player in self._players:
                player.stop()
            if self._joining is not None:
                self._joining.cancel()

    def _explained(self, refusal: RefusedError) -> str:
        told = self._words.get(refusal.reason)
        if told and refusal.detail in told:
            return str(told)
        return f"{told} ({refusal.detail})" if told else self._words["failed"].format(refusal.detail)

    async def _games(self) -> dict[str, pb.GameInfo]:
        try:
            async with asyncio.timeout(CONNECT_S):
                response = await self._client.call(self._client.stub.ListGames, pb.ListGamesRequest())
        except TimeoutError:
            server = _addresses(self._wish, self._stack)[0]
            raise CannotPlayError(self._words["unreachable"].format(server)) from None
        return {info.name: info for info in response.games}

    async def _game_of(self, match: str) -> str:
        """Return the game of a match that somebody else has created."""
        request = pb.SpectateRequest(match=match, invite=self._wish.invite)
        response = await self._client.call(self._client.stub.Spectate, request)
        return str(response.view.rules).split("/", maxsplit=1)[0]

    async def _create(self, info: pb.GameInfo) -> pb.CreateMatchResponse:
        """Open a match and get its random players ready. One against computer players only gets a game code."""
        wish = self._wish
        plan = planned(wish, info)
        self._players = self._random_players(plan.others)
        return await self._client.send_create(_request(wish, plan, info.name))

    async def _deal_again(self) -> pb.CreateMatchResponse:
        """Open the match of a game code and get random players ready for the seats that nobody else will take."""
        wish = self._wish
        dealt = dealt_by(wish)
        request = pb.CreateMatchRequest(
            request_id=secrets.token_bytes(16),
            code=wish.code,
            seats=setups(dealt.kinds, wish.think_s) if dealt else (),
            clock_ms=wish.clock_ms,
            private=wish.private,
        )
        created = await self._client.send_create(request)
        free = sum(seat.kind == OPEN for seat in created.view.seats) - 1
        others = free if wish.others is None and wish.server is None else wish.others or 0
        self._players = self._random_players(others)
        return created

    def _random_players(self, number: int) -> list[RandomPlayer]:
        return [RandomPlayer(think_s=self._wish.think_s, stubborn=True) for _ in range(number)]

    async def _sit(self, match: str, host: str | None, invite: str | None, catalogue: Catalogue) -> int:
        wish = self._wish
        self._invite = invite
        taken: list[Seat] = []

        async def leave() -> None:
            async with asyncio.timeout(LEAVE_S):
                for seat in taken:
                    await self._client.call(self._client.stub.LeaveMatch, pb.LeaveMatchRequest(token=seat.token))

        async def start() -> None:
            await self._client.call(self._client.stub.StartMatch, pb.StartMatchRequest(host_token=host or ""))

        server, nats, _ = _addresses(wish, self._stack)
        around = Surroundings(
            leave,
            start if host else None,
            self._stack.check if self._stack else lambda: None,
            self._stack is not None,
            [f"croupier play --join {match}{f' --invite {invite}' if invite else ''} --server {server} --nats {nats}"],
        )
        with Terminal() as terminal:
            session = Session(terminal, catalogue, wish.lang, around)
            name = wish.name or _login(self._words["player"])
            taken.append(await self._client.join(match, name, session.see, invite=invite))
            self._joining = asyncio.create_task(self._seat_others(match))
            ending = await session.run()
        lines = session.closing() if ending == "over" else [Text(self._words[ending])]
        if ending == "over":
            lines += await self._checked(taken[0].view)
        if code := taken[0].view.get("code"):
            at = f" --server {server} --nats {nats}" if self._stack is None else ""
            lines.append(Text(self._words["again"].format(f"croupier play --code {code}{at}")))
        terminal.add(lines)
        return 0

    async def _seat_others(self, match: str) -> None:
        for number, player in enumerate(self._players):
            with contextlib.suppress(RefusedError):
                await self._client.join(match, NAMES[number % len(NAMES)], player.see, invite=self._invite)

    async def _checked(self, view: Mapping[str, Any]) -> list[Text]:
        """Fetch the journal and check it against what this seat was told; return what there is to say."""
        words, match = self._words, str(view["match"])
        if not view.get("seed"):
            return []
        told = [Text(f"{words['seed']}: {view['seed']}", "dim"), Text(f"{words['last hash']}: {view['hash']}", "dim")]
        try:
            request = pb.GetJournalRequest(match=match, invite=self._invite)
            async with asyncio.timeout(CONNECT_S):
                lines = [line async for part in self._client.stub.GetJournal(request) for line in part.lines]
        except Exception as error:  # noqa: BLE001 - the match is over, whatever keeps the journal from us
            return [*told, Text(words["no journal"].format(printable(str(error))[:200]), "yellow")]
        told += self._verdict(lines, view)
        if self._wish.journal is not None:
            self._wish.journal.write_bytes(b"".join(line + b"\n" for line in lines))
            told.append(Text(words["saved"].format(self._wish.journal)))
        elif self._stack is None:
            told.append(Text(words["export"].format(match), "dim"))
        return told

    def _verdict(self, lines: Sequence[bytes], view: Mapping[str, Any]) -> Iterator[Text]:
        try:
            registry.find(str(view["rules"]))
        except UnknownGame:
            return
        verdict = audit(lines, bytes.fromhex(view["hash"]))
        if verdict.difference is None:
            yield Text(self._words["verified"].format(verdict.entries), "green")
            return
        wrong = verdict.difference
        detail = printable(wrong.detail)
        yield Text(self._words["not verified"].format(wrong.version, wrong.field, detail), "bold red")


def _request(wish: Wish, plan: Plan, game: str) -> pb.CreateMatchRequest:
    return pb.CreateMatchRequest(
        request_id=secrets.token_bytes(16),
        options=wire.options_to_proto(game, plan.options),
        seats=setups(plan.kinds, wish.think_s),
        clock_ms=wish.clock_ms,
        private=wish.private,
        fresh_code=plan.solitary,
    )


def _login(otherwise: str) -> str:
    """Return the login name, as far as it may be a player's name."""
    try:
        name = unicodedata.normalize("NFC", getpass.getuser())
    except (OSError, KeyError, ImportError):
        name = ""
    return "".join(letter for letter in name if letter.isprintable())[:MAX_NAME] or otherwise
