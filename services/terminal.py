"""A person at a terminal, or a script at a pipe: what is typed comes in as events, what is shown goes out.

On a terminal the whole screen is drawn again and again, with the line being typed below, and Ctrl-C always works.
On a pipe lines are read as they come, and text is only ever added.
"""

import asyncio
import codecs
import io
import os
import signal
import termios
import threading
import tty
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.text import Text

USUAL = (80, 24)
"""Columns and lines of a terminal that does not say."""
ENDLESS = 10**6
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a request to stop, and a window that was closed: each ends the session in order."""
FULL_SCREEN = "\x1b[?1049h"
NORMAL_SCREEN = "\x1b[?1049l"
HOME = "\x1b[H"
TO_LINE_END = "\x1b[K"
TO_SCREEN_END = "\x1b[J"
ESCAPE = "\x1b"
END_OF_INPUT = "\x04"
KILL_LINE = "\x15"
RUB_OUT = ("\x7f", "\b")


@dataclass(frozen=True)
class Line:
    """A line was entered."""

    text: str


@dataclass(frozen=True)
class Woken:
    """Something else has changed: a key was typed, the window has another size, or whoever called `wake` says so."""


@dataclass(frozen=True)
class Ended:
    """There will be no more input, or the program is told to end."""

    interrupted: bool


Happened = Line | Woken | Ended
WOKEN = Woken()


class Terminal:
    """Use as a context inside a running event loop."""

    def __init__(self, stdin: int = 0, stdout: int = 1) -> None:
        """Take the file descriptors of input and output."""
        self._in = stdin
        self._out = stdout
        self.full_screen = os.isatty(stdin) and os.isatty(stdout)
        self._happened: asyncio.Queue[Happened] = asyncio.Queue()
        self._typed = ""
        self._escape = False
        self._saved: list[object] | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._loop: asyncio.AbstractEventLoop

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        for number in ENDING:
            self._loop.add_signal_handler(number, self._put, Ended(interrupted=True))
        if self.full_screen:
            self._loop.add_signal_handler(signal.SIGWINCH, self.wake)
            self._saved = termios.tcgetattr(self._in)
            tty.setcbreak(self._in)
            self._loop.add_reader(self._in, self._keys)
            self._write(FULL_SCREEN)
        else:
            threading.Thread(target=self._read, name="input", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._saved is not None:
            self._loop.remove_reader(self._in)
            termios.tcsetattr(self._in, termios.TCSADRAIN, self._saved)  # type: ignore[arg-type]
            self._saved = None
            self._write(NORMAL_SCREEN)
            self._loop.remove_signal_handler(signal.SIGWINCH)
        for number in ENDING:
            self._loop.remove_signal_handler(number)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines; a pipe has as many columns as a usual terminal."""
        if not self.full_screen:
            return USUAL[0], ENDLESS
        try:
            size = os.get_terminal_size(self._out)
        except OSError:
            return USUAL
        return size.columns or USUAL[0], size.lines or USUAL[1]

    @property
    def typed(self) -> str:
        """What stands in the line being typed."""
        return self._typed

    def wake(self) -> None:
        """Let `next` return."""
        self._put(WOKEN)

    async def next(self, seconds: float) -> Happened:
        """Return what happens next, Woken if nothing does for so long."""
        try:
            return await asyncio.wait_for(self._happened.get(), seconds)
        except TimeoutError:
            return WOKEN

    def paint(self, lines: Iterable[Text], prompt: Text) -> None:
        """Draw the screen: lines, cut off at its edges, and below them the prompt with what is being typed."""
        width, height = self.size
        shown = list(lines)[-(height - 1) :] if height > 1 else []
        frame = [line + TO_LINE_END for line in rendered(shown, width)]
        [last] = rendered([Text.assemble(prompt, self._typed)], width) if width > 1 else [""]
        self._write(HOME + "\r\n".join([*frame, last]) + TO_SCREEN_END)

    def add(self, lines: Iterable[Text]) -> None:
        """Print lines, none cut off, below what is there."""
        self._write("".join(f"{line}\n" for line in rendered(lines, None)))

    def _put(self, happened: Happened) -> None:
        self._happened.put_nowait(happened)

    def _write(self, text: str) -> None:
        data = text.encode(errors="replace")
        while data:
            try:
                data = data[os.write(self._out, data) :]
            except BlockingIOError:
                continue
            except OSError:  # nobody reads any more
                self._put(Ended(interrupted=True))
                return

    def _keys(self) -> None:
        """Take what was typed on a terminal."""
        try:
            data = os.read(self._in, 4096)
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._in)
            self._put(Ended(interrupted=False))
            return
        for key in self._decoder.decode(data):
            self._key(key)

    def _key(self, key: str) -> None:
        if self._escape:  # arrows and their like mean nothing here
            self._escape = not (key.isalpha() or key == "~")
        elif key == ESCAPE:
            self._escape = True
        elif key in "\r\n":
            self._put(Line(self._typed))
            self._typed = ""
        elif key in RUB_OUT:
            self._typed = self._typed[:-1]
            self._put(WOKEN)
        elif key == KILL_LINE:
            self._typed = ""
            self._put(WOKEN)
        elif key == END_OF_INPUT:
            if not self._typed:
                self._put(Ended(interrupted=False))
        elif key.isprintable():
            self._typed += key
            self._put(WOKEN)

    def _read(self) -> None:
        """Take the lines of a pipe; runs in a thread, and without Python's own buffer, which a thread may not leave."""
        rest = b""
        while True:
            try:
                data = os.read(self._in, 4096)
            except OSError:
                data = b""
            *lines, rest = (rest + data).split(b"\n")
            if not data and rest:
                lines.append(rest)
            try:
                for line in lines:
                    self._loop.call_soon_threadsafe(self._put, Line(line.decode(errors="replace").rstrip("\r")))
                if not data:
                    self._loop.call_soon_threadsafe(self._put, Ended(interrupted=False))
                    return
            except RuntimeError:  # the loop is closed
                return


def rendered(lines: Iterable[Text], width: int | None) -> list[str]:
    """Return lines as they are written to standard output, in its colours if it has any; cut off at `width`."""
    real = Console()
    console = Console(
        file=io.StringIO(),
        width=width or 10_000,
        force_terminal=real.is_terminal,
        color_system=real.color_system or "auto" if real.is_terminal else None,  # type: ignore[arg-type]
        no_color=real.no_color,
        legacy_windows=False,
        highlight=False,
    )
    told = []
    for line in lines:
        with console.capture() as capture:
            console.print(line, no_wrap=True, overflow="ellipsis", crop=True, end="")
        told.append(capture.get().replace("\n", " "))
    return told
