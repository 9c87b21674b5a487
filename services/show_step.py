"""Stepping through a recorded match in the terminal: forwards and backwards, an entry at a time."""

import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

NEXT, PREVIOUS, FIRST, LAST, QUIT = "n", "p", "f", "l", "q"
HELP = "n next, p previous, f first, l last, q quit"


def step(show: Callable[[int], None], last: int, start: int, *, clear: Callable[[], None]) -> None:
    """Show the version `start`, then what the keys on standard input ask for, until `q` or its end.

    Keys that mean nothing are passed over, so that each may stand on a line of its own in what is piped in.
    """
    version = start
    with _keys() as keys:
        show(version)
        for key in keys:
            wanted = {NEXT: version + 1, PREVIOUS: version - 1, FIRST: 0, LAST: last}.get(key, version)
            if key == QUIT:
                return
            if wanted != version and 0 <= wanted <= last:
                version = wanted
                clear()
                show(version)


@contextmanager
def _keys() -> Iterator[Iterator[str]]:
    """Give keys as they are pressed; of what is piped in, its characters. The terminal is as before afterwards.

    Keys that were pressed before this began count as well.
    """
    if not sys.stdin.isatty():
        yield iter(lambda: sys.stdin.read(1), "")
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSADRAIN)
        yield iter(lambda: sys.stdin.read(1), "")
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
