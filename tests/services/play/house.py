"""A house that deals without servers, and who sits down in it: a script or a person."""

import asyncio
import contextlib
import json
import os
import pty
import random
import re
import termios
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from engine import bots, registry
from engine.match import Match
from engine.refusals import Refusal
from services import wire
from services.play_session import Ending, Session, Surroundings
from services.play_stream import RefusedError
from services.terminal import Terminal
from services.views import ViewEncoder
from services.words import Catalogue, Language
from tests.services.played import create, join, move

PATIENCE_S = 60.0


TIMOS_TWIST = wire.catalogue([registry.newest("timos_twist")], bots.TITLES)


class House:
    """A seat of a match that runs in this process; the other seats move at once and at random."""

    def __init__(self, name: str, seats: int = 2, seed: int = 0, options: dict[str, Any] | None = None) -> None:
        self.game = registry.newest(name)
        self.match_here, _ = create(self.game, ["open"] * seats, options or {}, None)
        self.chance = random.Random(seed)
        self.encoder = ViewEncoder(self.match_here)
        self.missed: list[dict[str, Any]] = []
        self.number = 0
        self.match = self.match_here.id
        self.refusal: RefusedError | None = None
        self.sent: list[dict[str, Any]] = []
        self.refuse: Callable[[dict[str, Any]], RefusedError | None] = lambda _: None
        self.left = False
        self.on_view: Callable[[Any], None] = lambda _: None
        join(self.match_here, "Anna")
        self.seats = seats
        self.view: dict[str, Any] = {}

    def begin(self, *, play: bool = True) -> None:
        """Seat the others, and let them move until it is the first seat's turn."""
        for number in range(1, self.seats):
            join(self.match_here, f"Bot{number}")
        self.tell()
        if play:
            self.others()

    def tell(self) -> None:
        self.view = json.loads(self.encoder.view_json(0))
        self.on_view(self)

    def others(self) -> None:
        here: Match = self.match_here
        while not here.over and 0 not in here.to_act:
            seat = self.chance.choice(here.to_act)
            move(here, seat, self.chance.choice(here.legal(seat)))
            self.tell()

    over = property(lambda self: self.view.get("status") in ("finished", "aborted"))
    part = property(lambda self: self.view.get(self.game.name) or {})
    legal = property(lambda self: list(self.part.get("legal", ())))
    owes = property(lambda self: 0 in self.view["to_act"])

    async def move(self, chosen: dict[str, Any], prompt: int | None = None) -> int:
        await asyncio.sleep(0)
        self.sent.append(chosen)
        if refusal := self.refuse(chosen):
            raise refusal
        here = self.match_here
        data = json.dumps(chosen).encode()
        answered = self.view["prompt"] if prompt is None else prompt
        try:
            version, _ = here.move(0, here.seats[0].tenure or 0, answered, data, here.at + 1)
        except Refusal as refusal:
            raise RefusedError("ILLEGAL_MOVE", str(refusal), {}, again=False) from None
        asyncio.get_running_loop().call_soon(self._after)
        return version

    def _after(self) -> None:
        self.tell()
        self.others()

    async def heal(self) -> None:
        self.tell()

    async def leave(self) -> None:
        self.left = True


class Pipes:
    """A terminal that is none: lines go in at `say`, everything that was printed is in `heard`."""

    def __init__(self) -> None:
        self.stdin, self.to_stdin = os.pipe()
        self.from_stdout, self.stdout = os.pipe()
        self.heard = ""
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def say(self, *lines: str, end: bool = True) -> None:
        os.write(self.to_stdin, "".join(f"{line}\n" for line in lines).encode())
        if end:
            os.close(self.to_stdin)

    def _listen(self) -> None:
        data = b""
        while part := os.read(self.from_stdout, 65536):
            data += part
            self.heard = data.decode(errors="replace")

    def close(self) -> str:
        os.close(self.stdout)
        self._thread.join(5)
        for end in (self.stdin, self.from_stdout):
            os.close(end)
        return self.heard


async def sit(
    house: House,
    terminal: Terminal,
    lang: Language = "en",
    *,
    alone: bool = False,
    start: Callable[[], Awaitable[None]] | None = None,
) -> tuple[Ending, Session]:
    """Play at a house until the session ends."""
    around = Surroundings(house.leave, start, alone=alone, invitation=["croupier play --join here"])
    with terminal:
        session = Session(terminal, Catalogue.of(house.game), lang, around)
        house.on_view = session.see
        house.tell()
        if start is None:
            house.begin()
        async with asyncio.timeout(PATIENCE_S):
            ending = await session.run()
        terminal.add(session.closing())
    return ending, session


def scripted(house: House, *lines: str, lang: Language = "en", **more: Any) -> tuple[Ending, str]:
    """Play a script through a pipe; return how it ended and what was printed."""
    pipes = Pipes()
    pipes.say(*lines)
    ending, _ = asyncio.run(sit(house, Terminal(pipes.stdin, pipes.stdout), lang, **more))
    return ending, pipes.close()


class Screen:
    """A pseudo-terminal, and what the last frame on it shows."""

    def __init__(self, columns: int = 80, lines: int = 24) -> None:
        self.ours, self.theirs = pty.openpty()
        termios.tcsetwinsize(self.theirs, (lines, columns))
        self.raw = ""
        self._stop = False
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while part := os.read(self.ours, 65536):
                self.raw += part.decode(errors="replace")

    @property
    def shown(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.raw.rpartition("\x1b[H")[2]).replace("\r\n", "\n")

    async def until(self, text: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while text not in self.shown:  # noqa: ASYNC110 - a thread listens, and what it hears is text
                await asyncio.sleep(0.01)

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def close(self) -> None:
        os.close(self.theirs)
        self._thread.join(2)
        os.close(self.ours)
