"""`croupier play` with a person at a terminal."""

import asyncio
import os
import re
import signal
import termios
from collections.abc import Awaitable, Callable, Iterator

import pytest

from services.play_session import Ending
from services.terminal import Terminal, rendered
from services.words import Language
from tests.services.play.house import House, Screen, sit


@pytest.fixture
def screen() -> Iterator[Screen]:
    screen = Screen()
    yield screen
    screen.close()


def at_screen(house: House, screen: Screen, person: Callable[[], Awaitable[None]], lang: Language = "en") -> Ending:
    """Let a person sit at a screen; return how the session ended."""

    async def both() -> Ending:
        sitting = asyncio.create_task(sit(house, Terminal(screen.theirs, screen.theirs), lang))
        await person()
        return (await sitting)[0]

    return asyncio.run(both())


def test_a_person_types_and_moves(screen: Screen):
    """What is typed stands behind the prompt and can be rubbed out; Enter makes the move; q and y leave."""
    house = House("bluffing_billionaires")

    async def person() -> None:
        await screen.until("lay a card face down")
        screen.type("98")
        await screen.until("> 98")
        screen.type("\x7f\x7f4\x1b[A\r")
        await screen.until("Anna lays Wealth 4")
        screen.type("q\r")
        await screen.until("Leave the match for good?")
        screen.type("y\r")

    assert at_screen(house, screen, person) == "left"
    assert house.sent == [{"play": {"card": "4"}}]


def test_the_terminal_is_given_back_as_it_was(screen: Screen):
    """After the session the terminal has its modes and its normal screen again."""
    before = termios.tcgetattr(screen.theirs)

    async def person() -> None:
        await screen.until(">")
        screen.type("\x04")

    assert at_screen(House("timos_twist"), screen, person) == "left"
    assert termios.tcgetattr(screen.theirs) == before
    os.write(screen.theirs, b"the end")
    asyncio.run(screen.until("the end"))  # the thread that listens may lag behind
    assert screen.raw.count("\x1b[?1049h") == screen.raw.count("\x1b[?1049l") == 1


def test_ctrl_c_leaves(screen: Screen):
    """Ctrl-C leaves the seat at once and ends the session without a traceback."""
    house = House("timos_twist")

    async def person() -> None:
        await screen.until(">")
        os.kill(os.getpid(), signal.SIGINT)

    assert at_screen(house, screen, person) == "left"
    assert house.left


def test_a_choice_that_changed_while_typing_is_not_taken(screen: Screen):
    """A number begun for one menu is not taken for the next: the person is asked again."""
    house = House("bluffing_billionaires")

    async def person() -> None:
        await screen.until("lay a card face down")
        screen.type("1")
        await screen.until("> 1")
        await house.move({"play": {"card": "7"}})
        await screen.until("Anna lays Wealth 7")
        await asyncio.sleep(0.1)
        screen.type("\r")
        await screen.until("please choose again")
        screen.type("q\r")
        await screen.until("Leave the match for good?")
        screen.type("n\r")

    assert at_screen(house, screen, person) == "closed"
    assert house.sent == [{"play": {"card": "7"}}]


def test_pages_cover_the_table_until_enter(screen: Screen):
    """Help, rules and history are shown in place of the table, which Enter brings back."""

    async def person() -> None:
        await screen.until("du bist dran")
        screen.type("r\r")
        await screen.until("Enter: zurück")
        assert "du bist dran" not in screen.shown
        screen.type("\r")
        await screen.until("du bist dran")
        screen.type("\x04")

    at_screen(House("timos_twist"), screen, person, "de")


@pytest.mark.parametrize("name", ["timos_twist", "toms_time_bluff", "bombenziehen", "clever_gedreht"])
@pytest.mark.parametrize("size", [(80, 24), (20, 6), (3, 2), (1, 1)])
def test_a_screen_holds_what_fits(name: str, size: tuple[int, int]):
    """No size of the terminal makes drawing fail, and no frame has more lines than the screen."""
    columns, lines = size
    screen = Screen(columns, lines)

    async def person() -> None:
        await screen.until("")
        screen.type("1\r?\r\rh\r\r")
        await asyncio.sleep(0.2)
        screen.type("\x04")

    at_screen(House(name, 4), screen, person)
    frames = screen.raw.split("\x1b[H")[1:]
    assert all(frame.split("\x1b[J")[0].count("\n") < lines for frame in frames)
    screen.close()


def test_what_came_at_once_after_the_last_choice_is_told_at_the_end(screen: Screen):
    """A screen shows it for a moment only: the session ends with it, the table and the result."""
    house = House("bombenziehen", 4, seed=5)

    async def person() -> None:
        while not house.over:
            await asyncio.sleep(0.01)
            if house.owes:
                screen.type("1\r")
        assert house.game.out(house.match_here.state)[0] == 0

    assert at_screen(house, screen, person) == "over"
    os.write(screen.theirs, b"the end")
    asyncio.run(screen.until("the end"))
    told = screen.raw.rpartition("\x1b[J")[2]
    assert re.search("(?s)Anna is out and leaves behind.*Bot1 is out and leaves behind.*Bot3 wins!", told)


def test_without_a_terminal_nothing_is_coloured(monkeypatch: pytest.MonkeyPatch):
    """Lines are plain text where standard output is no terminal."""
    speaker_text = House("timos_twist").game.titles["de"]
    from rich.text import Text

    assert rendered([Text(speaker_text, "bold red on blue")], 80) == [speaker_text]
