"""One person at one seat: shows what the seat sees, asks for moves, explains what was refused."""

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from rich.text import Text

from services import tables
from services.play_stream import RefusedError
from services.tables import frame, menu
from services.terminal import Ended, Happened, Line, Terminal
from services.words import Catalogue, Language, Speaker, printable
from services.words.screen import SAY

Ending = Literal["over", "left", "closed"]
TICK_S = 1.0
EVENTS = 3
"""So many lines of what happened are kept free, where the screen has them."""
LAST_EVENTS = 40
"""So much is told at the end of what happened after the last choice, which may have come all at once."""
MENU = 4
"""A menu has at least so many lines, even where the table must give way."""
MENU_ON_PIPE = 12
PROMPT = Text("> ", "bold")
YES = {"de": "j", "en": "y"}
NO = "n"
COMMANDS = frozenset({"?", "h", "r", "q", "s"})


class PlayedSeat(Protocol):
    """A seat as `services.client.Seat` is one."""

    view: dict[str, Any]
    missed: list[dict[str, Any]]
    number: int
    match: str

    @property
    def refusal(self) -> RefusedError | None: ...
    @property
    def over(self) -> bool: ...
    @property
    def part(self) -> dict[str, Any]: ...
    @property
    def legal(self) -> list[dict[str, Any]]: ...
    @property
    def owes(self) -> bool: ...
    async def move(self, move: dict[str, Any], prompt: int | None = None) -> int: ...
    async def heal(self) -> None: ...


@dataclass(frozen=True)
class Surroundings:
    """What a session can do besides moving."""

    leave: Callable[[], Awaitable[None]]
    """Ends the tenure."""
    start: Callable[[], Awaitable[None]] | None = None
    """Starts with fewer seats; None for who is not the host."""
    check: Callable[[], None] = lambda: None
    """Called every second; raises what ends the session."""
    alone: bool = False
    """Whether the match runs on servers that end with this session."""
    invitation: Sequence[str] = ()
    """Commands with which others join."""


@dataclass
class _Told:
    """What a session on a pipe has printed, so that it says everything once."""

    history: int = 0
    lobby: Any = None
    menu: str = ""
    steps: int = 0


class Session:
    """Runs until the match is over or the person has had enough."""

    def __init__(self, terminal: Terminal, catalogue: Catalogue, lang: Language, around: Surroundings) -> None:
        """Wait for the first view, which `see` brings."""
        self.seat: PlayedSeat | None = None
        self.lang = lang
        self._words: Mapping[str, str] = SAY[lang]
        self._terminal = terminal
        self._catalogue = catalogue
        self._around = around
        self._speaker = Speaker(catalogue, lang, [])
        self._scene: tables.Scene | None = None
        self._history: list[Text] = []
        self._seen = -1
        """The last version whose events are in the history."""
        self._fresh = 0
        """From here on the history is what the last view told."""
        self._last_choice = 0
        """From here on the history is what happened after the last choice."""
        self._waiting: deque[Happened] = deque()
        """What came in on a pipe before there was anything to choose."""
        self._steps: list[menu.Choice] = []
        """The choices made on the way to a move."""
        self._offered: list[menu.Choice] = []
        self._menu = ""
        """What is to be chosen from, as one string."""
        self._typed_for = ""
        """The menu that was shown when the line being typed was begun."""
        self._page: tuple[str, list[Text]] | None = None
        self._message = ""
        self._leaving = False
        self._sending: asyncio.Task[None] | None = None
        self._acknowledged = -1
        self._ending: Ending | None = None
        self._told = _Told()

    # --- what comes in -----------------------------------------------------------------------------------------------

    def see(self, seat: PlayedSeat) -> None:
        """Take a new view."""
        self.seat = seat
        view = seat.view
        self._speaker = Speaker(self._catalogue, self.lang, tables.names(view, self.lang))
        notes = {key: self._words[key] for key in ("you", "absent", "computer")}
        self._scene = tables.scene(view, self._speaker, notes)
        told: list[dict[str, Any]] = []
        for past in (*seat.missed, view):
            if past["version"] > self._seen:
                self._seen = past["version"]
                told += _events(past)
        if told:
            self._fresh = len(self._history)
            self._history += [self._speaker.event(event) for event in told]
        if seat.legal:
            self._last_choice = len(self._history)
        offer = f"{view.get('prompt')} {json.dumps(seat.legal)}"
        if offer != self._menu:
            self._menu = offer
            self._steps = []
        self._terminal.wake()

    async def run(self) -> Ending:
        """Play; return how it ended. Raises what `Surroundings.check` raises."""
        self._typed_for = self._menu
        self._show()
        while (ending := self._now_ending()) is None:
            happened = await self._terminal.next(TICK_S)
            self._around.check()
            if self._terminal.full_screen or (isinstance(happened, Ended) and happened.interrupted):
                await self._take(happened)
            elif isinstance(happened, Line | Ended):
                self._waiting.append(happened)
            self._show()
            while self._waiting and self._may_take(self._waiting[0]):
                await self._take(self._waiting.popleft())
                self._show()
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)
        return ending

    def _now_ending(self) -> Ending | None:
        if self._ending is None and self.seat is not None and self.seat.over:
            self._ending = "over"
        return self._ending

    def _may_take(self, waiting: Happened) -> bool:
        """Whether a line of a script has its time: a command always has, a number when there is something to choose."""
        if self._sending is not None or self._ending is not None:
            return False
        if isinstance(waiting, Line) and (self._leaving or waiting.text.strip().lower() in COMMANDS):
            return True
        return isinstance(waiting, Ended) or self._ready

    @property
    def _ready(self) -> bool:
        """Whether there is something to choose: a move was not just sent, and what it did has arrived."""
        seat = self.seat
        return (
            seat is not None
            and bool(seat.legal)
            and self._sending is None
            and seat.view["version"] >= self._acknowledged
        )

    async def _take(self, happened: Happened) -> None:
        match happened:
            case Line(text=text):
                self._message = ""
                await self._obey(text.strip())
                self._typed_for = self._menu
            case Ended():
                await self._leave()
            case _ if not self._terminal.typed:
                self._typed_for = self._menu

    async def _obey(self, text: str) -> None:
        word = text.lower()
        if self._leaving:
            await self._decide_leaving(word)
        elif self._page is not None and not word.isdecimal():
            self._page = None
            if word:
                await self._obey(text)
        elif word in ("", "0"):
            self._page = None
            if self._steps:
                self._steps.pop()
        elif word.isdecimal() and len(word) <= 6:
            self._page = None
            self._choose(int(word))
        elif word == "?":
            view = self.seat.view if self.seat else None
            self._page = (self._words["keys"], frame.help_page(view, self._speaker, self._words) if view else [])
        elif word == "r":
            rules = self._speaker.rules() or self._words["no rules"]
            self._page = (self._words["rules"], [Text(line) for line in rules.split("\n")])
        elif word == "h":
            self._page = (self._words["history"], self._all_history())
        elif word == "q":
            self._leaving = True
        elif word == "s":
            await self._start()
        else:
            self._message = self._words["not understood"].format(printable(text[:40]))

    def _choose(self, number: int) -> None:
        seat = self.seat
        if self._sending is not None:
            self._message = self._words["sending"]
        elif seat is None or not self._ready:
            whose = frame.on_turn(self._scene, self._words).plain if self._scene else self._words["idle"]
            self._message = self._words["no move"].format(whose)
        elif self._terminal.full_screen and self._typed_for != self._menu:
            self._message = self._words["changed"]
        elif number > len(self._offered):
            self._message = self._words["no such"].format(number, len(self._offered))
        else:
            choice = self._offered[number - 1]
            if choice.move is None:
                self._steps.append(choice)
            else:
                self._sending = asyncio.create_task(self._send(seat, seat.view["prompt"], choice.move))

    async def _send(self, seat: PlayedSeat, prompt: int, move: menu.Move) -> None:
        try:
            self._acknowledged = await seat.move(move, prompt)
        except RefusedError as refusal:
            self._message = self._refused(refusal)
            with contextlib.suppress(RefusedError):
                await seat.heal()
        finally:
            self._steps = []
            self._sending = None
            self._terminal.wake()

    async def _start(self) -> None:
        seat = self.seat
        if seat is None or seat.view["status"] != "lobby":
            self._message = self._words["running"]
        elif self._around.start is None:
            self._message = self._words["not host"]
        else:
            try:
                await self._around.start()
            except RefusedError as refusal:
                self._message = self._refused(refusal)

    async def _decide_leaving(self, word: str) -> None:
        self._leaving = False
        if word[:1] == YES[self.lang]:
            await self._leave()
        elif word[:1] == NO and not self._around.alone:
            self._ending = "closed"

    async def _leave(self) -> None:
        self._ending = "left"
        if self.seat is not None and not self.seat.over:
            with contextlib.suppress(RefusedError, TimeoutError):
                await self._around.leave()

    # --- what is shown -----------------------------------------------------------------------------------------------

    def closing(self) -> list[Text]:
        """Return what a screen may not have shown long enough, the last table and how the match ended."""
        words, seat = self._words, self.seat
        if seat is None:
            return []
        since = self._history[self._last_choice :] if self._terminal.full_screen else []
        lines = [Text.assemble(("· ", "dim"), line) for line in since[-LAST_EVENTS:]]
        lines += self._table(self._terminal.size[0])
        view = seat.view
        if seat.refusal is not None:
            return [*lines, Text(self._refused(seat.refusal), "bold yellow")]
        if view["status"] == "aborted":
            return [*lines, Text(words["aborted"].format(printable(view.get("reason") or "")), "bold yellow")]
        result = view.get("result")
        if not result:
            return lines
        winners = [self._speaker.name(winner).plain for winner in result["winners"]]
        won = words["won" if len(winners) == 1 else "shared"].format(", ".join(winners))
        scores = self._speaker.value("scores", result["scores"])
        title = self._speaker.words.VALUES.get(self.lang, {}).get("result.scores", words["result"])
        return [*lines, Text(won, "bold green"), Text.assemble((f"{title}: ", "dim"), scores)]

    def _show(self) -> None:
        if not self._terminal.full_screen:
            self._terminal.add(self._news())
        elif self._page is not None:
            self._show_page(*self._page)
        else:
            self._show_table()

    def _show_page(self, title: str, page: list[Text]) -> None:
        width, height = self._terminal.size
        lines = [part for line in page for part in frame.wrapped(line, width)]
        shown = lines[-max(height - 3, 1) :]
        self._terminal.paint([Text(title, "bold"), *shown, Text(self._words["back"], "dim")], PROMPT)

    def _show_table(self) -> None:
        """Draw the table at the top, the menu at the bottom, and between them as much history as there is room for."""
        width, height = self._terminal.size
        body, status = self._table(width), self._status()
        notices = [part for notice in self._notices() for part in frame.wrapped(notice, width)]
        room = height - 1 - len(body) - len(status) - len(notices)
        offered = self._menu_lines(max(room - EVENTS - 1, MENU), width)
        room -= len(offered)
        if room < 0:
            body = body[: max(len(body) + room, 1)]
        told = self._history[-room:] if room > 0 else []
        old = len(told) - (len(self._history) - self._fresh)
        history = [Text.assemble(("· ", "dim"), line) for line in told]
        for line in history[: max(old, 0)]:
            line.stylize("dim")
        blank = [Text()] * max(room - len(told), 0)
        self._terminal.paint([*body, *blank, *history, *status, *offered, *notices], PROMPT)

    def _news(self) -> list[Text]:
        """Return what a pipe has not been told yet: events as they come, table and menu when there is a choice."""
        lines: list[Text] = []
        width = self._terminal.size[0]
        view = self.seat.view if self.seat else None
        if view is not None and view["status"] == "lobby" and view["seats"] != self._told.lobby:
            self._told.lobby = view["seats"]
            lines += self._table(width)
        lines += [Text.assemble(("· ", "dim"), line) for line in self._history[self._told.history :]]
        self._told.history = len(self._history)
        if self._page is not None:
            title, page = self._page
            lines += [Text(title, "bold"), *page]
            self._page = None
        if self._message or self._leaving:
            lines += self._notices()
            self._message = ""
        if self._ready and not self._leaving:
            if self._menu != self._told.menu:
                lines += [Text(), *self._table(width)]
            if (self._menu, len(self._steps)) != (self._told.menu, self._told.steps):
                self._told.menu, self._told.steps = self._menu, len(self._steps)
                lines += [*self._status(), *self._menu_lines(MENU_ON_PIPE, width), *self._notices()]
        return lines

    def _table(self, width: int) -> list[Text]:
        view = self.seat.view if self.seat else None
        if view is None:
            return []
        head = frame.heading(view, self._scene, self._speaker, self._words)
        if self._scene is None:
            return [head, *frame.lobby(view, self.lang, self._around.invitation, host=self._around.start is not None)]
        return [head, *tables.draw(self._scene, width), *tables.hand(self._scene, width)]

    def _status(self) -> list[Text]:
        """Return who is to do what, and how much time there is."""
        if self._scene is None or self.seat is None or self.seat.over:
            return []
        return [frame.on_turn(self._scene, self._words).append_text(frame.countdown(self.seat.view, self._words))]

    def _menu_lines(self, room: int, width: int) -> list[Text]:
        scene, seat = self._scene, self.seat
        self._offered = []
        if scene is None or seat is None or not self._ready:
            return [Text(self._words["sending"], "dim")] if self._sending is not None else []
        moves = self._steps[-1].moves if self._steps else seat.legal
        self._offered = menu.choices(scene, moves, room, width)
        lines = menu.laid_out(self._offered, width)
        if self._steps:
            lines.append(Text.assemble((f"{self._words['up']} · ", "dim"), self._steps[-1].label))
        elif not seat.owes:
            lines.append(Text(self._words["may"], "dim"))
        return lines

    def _notices(self) -> list[Text]:
        if self._leaving:
            return [Text(self._words["sure alone" if self._around.alone else "sure"], "bold yellow")]
        if self._message:
            return [Text(self._message, "bold yellow")]
        return [Text(self._words["keys"], "dim")]

    def _all_history(self) -> list[Text]:
        lines = [Text.assemble(("· ", "dim"), line) for line in self._history]
        hands = tables.last_hands(self._scene, self._terminal.size[0]) if self._scene else []
        if hands:
            lines += [Text(self._words["other hands"], "bold"), *hands]
        return lines or [Text(self._words["nothing yet"], "dim")]

    def _refused(self, refusal: RefusedError) -> str:
        return self._words.get(refusal.reason) or self._words["failed"].format(printable(refusal.detail))


def _events(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the events of a view or of a past entry."""
    for part in told.values():
        if isinstance(part, dict) and "events" in part:
            return list(part["events"])
    return []
