"""Claims about `croupier play`: what a person at a terminal, or a script at a pipe, gets to see and can do."""

import asyncio
import contextlib
import json
import os
import pty
import random
import re
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from typer.testing import CliRunner

from engine import bots, codes, registry
from engine.match import Match
from engine.refusals import Refusal
from services import tables, wire
from services.cli import app
from services.game_options import OptionError, parsed_options
from services.play_session import Ending, Session, Surroundings
from services.play_stream import RefusedError
from services.play_wish import CannotPlayError, Plan, Wish, dealt_by, default_language, planned
from services.stack import Stack
from services.terminal import Terminal, rendered
from services.views import ViewEncoder
from services.words import Catalogue, Language
from services.words.screen import SAY
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


# --- a script at a pipe ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", ["de", "en"])
@pytest.mark.parametrize("name", ["bluffing_billionaires", "bombenziehen"])
def test_a_script_plays_a_match_to_its_end(name: str, lang: Language):
    """Choosing the first move again and again ends the match, and its result is told."""
    house = House(name)
    ending, heard = scripted(house, *["1"] * 400, lang=lang)
    assert ending == "over"
    assert house.view["status"] == "finished"
    assert re.search({"de": r"gewinnt!|gewinnen gemeinsam", "en": r"wins!|share the win"}[lang], heard)
    for seat, score in enumerate(house.view["result"]["scores"]):
        assert f"{house.view['seats'][seat]['name']} {score}" in heard
    assert "\x1b" not in heard


def test_a_number_waits_for_its_turn():
    """A script may say its moves before there is anything to choose: each is made when it is asked for."""
    house = House("bluffing_billionaires")
    scripted(house, "3", "1", "q", "y")
    assert house.sent[0] == {"play": {"card": "3"}}
    assert len(house.sent) == 2


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("99", "99 is not on offer; there are 1 to"),
        ("draw", "I do not understand “draw”"),
        ("-1", "I do not understand “-1”"),
        ("1.5", "I do not understand"),
        ("\x1b[31m", "I do not understand “\\u{1b}[31m”"),
        ("s", "the match is running already"),
    ],
)
def test_bad_input_is_answered(typed: str, answer: str):
    """What is no choice is answered with a sentence, makes no move and cannot colour the terminal."""
    house = House("timos_twist")
    ending, heard = scripted(house, typed)
    assert answer in heard
    assert house.sent == []
    assert ending == "left"
    assert "\x1b" not in heard


def test_help_rules_and_history():
    """`?` tells keys, options and the commitment, `r` the rules, `h` what happened."""
    house = House("timos_twist", options={"target": 50})
    _, heard = scripted(house, "1", "?", "r", "h", lang="de")
    assert house.view["commitment"] in heard
    assert "target: 50" in heard
    assert "Wer seine vorletzte Karte legt, ruft „TIMO!“" in heard
    assert re.search(r"Verlauf\n· Runde 1: ", heard)


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("STALE_PROMPT", "asked something else by now"),
        ("TIMED_OUT", "the clock has moved"),
        ("NEW_ONE", "what it says"),
    ],
)
def test_a_refusal_is_explained_and_the_view_asked_for(reason: str, told: str):
    """A refused move is explained in words, and the next choice is made on a fresh view."""
    house = House("timos_twist")
    answers = [RefusedError(reason, "what it says", {}, again=False)]
    house.refuse = lambda _: answers.pop() if answers else None
    _, heard = scripted(house, "1", "1")
    assert told in heard
    assert len(house.sent) == 2


def test_the_end_of_input_leaves_the_seat():
    """Where the input ends the seat is left, as nobody could answer any more."""
    house = House("timos_twist")
    assert scripted(house)[0] == "left"
    assert house.left


@pytest.mark.parametrize(
    ("answer", "alone", "ending", "left"),
    [("y", False, "left", True), ("n", False, "closed", False), ("y", True, "left", True)],
)
def test_leaving_is_asked_for(answer: str, alone: bool, ending: Ending, left: bool):
    """`q` asks first; the seat is left for good, or kept where others play on."""
    house = House("timos_twist")
    assert scripted(house, "q", answer, alone=alone)[0] == ending
    assert house.left is left


def test_leaving_can_be_thought_better_of():
    """After `q` and anything but yes or no the match goes on."""
    house = House("timos_twist")
    scripted(house, "q", "", "1")
    assert len(house.sent) == 1


def test_a_choice_in_steps():
    """A choice that ends in dots leads to the next, 0 leads back, and the last one is the move."""
    house = House("toms_time_bluff", 3)
    while len(house.sent) < 1:
        ending, heard = scripted(house, "2", "0", "2", "1")
        assert ending == "left"
    [chosen] = house.sent
    assert chosen["hide"]["place"] == 1
    assert heard.count("0) back · pile 2") == 2


def test_moves_that_may_wait_are_offered():
    """While another seat is on turn a catch can be made, and the menu says that it need not be."""
    house = House("timos_twist", options={"stack_equal": False})
    here = house.match_here
    join(here, "Bot1")
    while not any(type(each).__name__ == "Catch" and 0 not in here.to_act for each in here.legal(0)):
        seat = here.to_act[0]
        legal = here.legal(seat)
        quiet = [each for each in legal if not getattr(each, "timo", False)] if seat == 1 else legal
        move(here, seat, house.chance.choice(quiet))
    house.begin = house.tell  # type: ignore[method-assign]
    _, heard = scripted(house, "1")
    assert "you may, if you like" in heard
    assert "catch Bot1: no “TIMO!”" in heard
    assert house.sent == [{"catch": {}}]


def test_a_lobby_says_how_to_join_and_the_host_starts():
    """Until the match begins it is told who is there and how others join; `s` starts."""
    house = House("timos_twist", 3)

    async def start() -> None:
        join(house.match_here, "Bot1")
        house.match_here.start(house.match_here.at)
        house.tell()

    _, heard = scripted(house, "s", "q", "n", start=start)
    assert "1 of 3 seats are taken" in heard
    assert "croupier play --join here" in heard
    assert "Round 1:" in heard


def test_computer_players_are_called_by_their_levels():
    """Two of the same level are counted."""
    house = House("timos_twist", 4)
    house.match_here, _ = create(house.game, ["open", "clever", "ruthless", "clever"], {}, None, policy=1)
    house.encoder = ViewEncoder(house.match_here)
    join(house.match_here, "Anna")
    house.begin = house.tell  # type: ignore[method-assign]
    house.tell()
    assert tables.names(house.view, "de") == ["Anna", "Clever 1", "Gnadenlos", "Clever 2"]
    _, heard = scripted(house, lang="de")
    assert "Clever 2 (Computer)" in heard
    assert "Gnadenlos (Computer)" in heard


def test_an_aborted_match_is_told():
    """A match that is ended from outside ends the session with the reason."""
    house = House("timos_twist")
    original = house.others

    def others() -> None:
        original()
        house.match_here.abort("the roof leaks", house.match_here.at)
        house.tell()

    house.others = others  # type: ignore[method-assign]
    ending, heard = scripted(house, "1")
    assert ending == "over"
    assert "aborted: the roof leaks" in heard


# --- a person at a terminal ------------------------------------------------------------------------------------------


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


# --- what was asked for ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "lang"),
    [
        ({"LANG": "de_DE.UTF-8"}, "de"),
        ({"LANG": "de_AT"}, "de"),
        ({"LANG": "en_GB.UTF-8"}, "en"),
        ({"LANG": "fr_FR"}, "en"),
        ({}, "en"),
        ({"LANG": "de_DE", "LC_ALL": "C"}, "en"),
        ({"LANG": "C", "LC_MESSAGES": "de_CH"}, "de"),
    ],
)
def test_the_language_is_the_environments(env: dict[str, str], lang: Language):
    """Without --lang the language is that of LC_ALL, LC_MESSAGES or LANG, the first that is set; else English."""
    assert default_language(env) == lang


def test_options_are_read_as_the_catalogue_says():
    """Numbers, truths in both languages and words become what the game wants."""
    info = wire.catalogue([registry.newest("timos_twist")])
    given = ["target=100", "must-play=nein", "stack_equal=true", "timo=auto"]
    expected = {"target": 100, "must_play": False, "stack_equal": True, "timo": "auto"}
    assert parsed_options(info, given, "de") == expected


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("target=5", "eine Zahl von 50 bis 1000"),
        ("target=many", "eine Zahl"),
        ("must_play=maybe", "ja oder nein"),
        ("timo=shout", "eines von call, auto"),
        ("speed=1", "hat keine Option speed; es gibt: target"),
        ("target", "„“ passt nicht"),
    ],
)
def test_a_wrong_option_is_explained(given: str, told: str):
    """What an option may be is told, in the person's language."""
    with pytest.raises(OptionError, match=re.escape(told)):
        parsed_options(wire.catalogue([registry.newest("timos_twist")]), [given], "de")


@pytest.mark.parametrize(
    ("wish", "seats", "others", "levels"),
    [
        (Wish(), 3, 0, ["clever", "clever"]),
        (Wish(seats=4), 4, 0, ["clever"] * 3),
        (Wish(bots=["ruthless"]), 2, 0, ["ruthless"]),
        (Wish(bots=["clever", "ruthless"]), 3, 0, ["clever", "ruthless"]),
        (Wish(bots=["clever", "ruthless"], seats=5), 5, 0, ["clever", "ruthless", "ruthless", "ruthless"]),
        (Wish(bots=["ruthless"], others=2), 4, 2, ["ruthless"]),
        (Wish(bots=["ruthless"], others=0, seats=3), 3, 0, ["ruthless"]),
        (Wish(seats=4, others=1), 4, 1, []),
        (Wish(others=4), 5, 4, []),
        (Wish(others=0), 2, 0, []),
        (Wish(server="here:1"), 2, 0, []),
        (Wish(server="here:1", seats=3, others=1), 3, 1, []),
        (Wish(server="here:1", seats=4, bots=["clever"]), 4, 0, ["clever"]),
    ],
)
def test_seats_are_filled_as_wished(wish: Wish, seats: int, others: int, levels: list[str]):
    """On its own server a person gets opponents; on another's the seats stay open, except for those asked for."""
    assert planned(wish, TIMOS_TWIST) == Plan(seats, others, {}, tuple(levels))


def test_a_game_without_computer_players_gets_random_ones():
    assert planned(Wish(), wire.catalogue([registry.newest("timos_twist")])) == Plan(3, 2, {})


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        (Wish(seats=7), "for 2 to 6"),
        (Wish(seats=1), "for 2 to 6"),
        (Wish(seats=2, others=2), "at least 3 seats"),
        (Wish(others=9), "for 2 to 6"),
        (Wish(seats=3, bots=["clever"] * 3), "at least 4 seats"),
        (Wish(bots=["clever"] * 6), "for 2 to 6"),
        (Wish(bots=["clever", "careful"]), "level careful; it has: reckless, clever, ruthless"),
    ],
)
def test_impossible_seats_are_explained(wish: Wish, told: str):
    """Too few or too many seats for the game, or for the others, and unknown levels are told before anything starts."""
    with pytest.raises(CannotPlayError, match=told):
        planned(wish, TIMOS_TWIST)


CODE = codes.encode(codes.Dealt("timos_twist/1", ("open", "clever", "open"), {}, b"abcde", 1))


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        (Wish(code=CODE[:-1] + ("0" if CODE[-1] != "0" else "1")), "mistyped"),
        (Wish(code="U" + CODE[1:]), "'U' is no letter of a game code"),
        (Wish(code=CODE, game="bombenziehen"), "this game code is for timos_twist"),
        (Wish(code=CODE, others=2), "at least 4 seats"),
        (Wish(code=codes.encode(codes.Dealt("timos_twist/1", ("clever",) * 2, {}, b"abcde", 1))), "only computer"),
    ],
)
def test_game_codes_that_cannot_be_played_are_explained(wish: Wish, told: str):
    with pytest.raises(CannotPlayError, match=told):
        dealt_by(wish)


def test_a_code_of_a_game_that_only_the_server_knows_is_left_to_the_server():
    assert dealt_by(Wish(code="XXX-1234", server="here:1")) is None
    dealt = dealt_by(Wish(code=CODE.lower().replace("-", " "), game="timos_twist"))
    assert dealt is not None
    assert dealt.kinds == ("open", "clever", "open")


# --- the command, on real servers ------------------------------------------------------------------------------------


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "services.cli", "play", *args]


def ran(*args: str, script: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "LANG": "C.UTF-8", **env}
    return subprocess.run(
        command(*args), check=False, input=script, capture_output=True, text=True, timeout=120, env=variables
    )


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("stack"), engines=1) as stack:
        yield stack


def test_play_just_works(tmp_path: Path):
    """Without a server it starts its own, plays a scripted match against computer players to the end, checks the
    journal and stops it all. The code that it tells deals the same match again, to players who decide as they did.
    """
    journals = [tmp_path / "first.jsonl", tmp_path / "again.jsonl"]
    common = ["--think", "0", "--lang", "de", "--name", "Anna"]
    bots = ["bombenziehen", "--bots", "clever,ruthless"]
    done = ran(*bots, *common, "--journal", str(journals[0]), script="1\n" * 200)
    assert done.returncode == 0, done.stderr
    assert "Nachgerechnet: Deal, jeder Zug und das Ergebnis stimmen" in done.stdout
    assert "Server-Seed" in done.stdout
    [code] = re.findall(r"Dieselbe Partie noch einmal: croupier play --code (\S+)$", done.stdout, re.MULTILINE)
    assert f"· Code {code}" in done.stdout
    again = ran("--code", code, *common, "--journal", str(journals[1]), script="1\n" * 200)
    assert again.returncode == 0, again.stderr
    first, second = [
        [
            (entry.get("move"), entry.get("bot"), entry["state"])
            for entry in map(json.loads, path.read_text().splitlines())
        ]
        for path in journals
    ]
    assert first == second
    assert {move[1]["policy"] for move in first if move[1]} == {"clever", "ruthless"}
    assert [line for line in done.stdout.splitlines() if line.startswith("· ")] == [
        line for line in again.stdout.splitlines() if line.startswith("· ")
    ]
    checked = [sys.executable, "-m", "services.cli", "audit", str(tmp_path)]
    assert subprocess.run(checked, check=False, capture_output=True, timeout=60).returncode == 0


def test_on_a_server_computer_players_keep_seats_open_for_friends_and_codes_name_it(stack: Stack):
    """A match against computer players alone gets a code, and the command to play it again says where; one that
    others may join gets none.
    """
    addresses = "--server", stack.grpc, "--nats", stack.nats.url
    env = {"CROUPIER_OPERATOR_KEY": stack.environment["CROUPIER_OPERATOR_KEY"]}
    alone = ran("timos_twist", "--bots", "reckless", "--lang", "en", *addresses, script="1\nq\ny\n", **env)
    [words] = re.findall(r"play this match again: croupier play (.*)", alone.stdout)
    assert words.endswith(" ".join(addresses))
    assert "Reckless (computer)" in alone.stdout
    again = ran(*words.split(), "--lang", "de", script="?\nq\nj\n", **env)
    assert again.returncode == 0, again.stderr
    assert f"Ausgeteilt nach dem Spielcode {words.split()[1]}" in again.stdout
    wrong = ran("--code", words.split()[1][:-1] + "?", *addresses, "--lang", "en", **env)
    assert wrong.returncode == 2
    assert "that game code will not do ('?' is no letter of a game code)" in " ".join(wrong.stderr.split())
    friends = ran("timos_twist", "--bots", "clever", "--seats", "3", "--lang", "en", *addresses, script="q\ny\n", **env)
    assert "2 of 3 seats are taken" in friends.stdout
    assert "croupier play --join" in friends.stdout
    assert "again" not in friends.stdout


@pytest.mark.parametrize("private", [False, True])
def test_friends_join_with_the_command_that_is_printed(stack: Stack, private: bool):
    """One creates a match on a server and prints the command; another joins with it, and both play to the end.

    A private match is joined with the invite that is in the command, and not without.
    """
    addresses = "--server", stack.grpc, "--nats", stack.nats.url
    env = {**os.environ, "CROUPIER_OPERATOR_KEY": stack.environment["CROUPIER_OPERATOR_KEY"], "PYTHONUNBUFFERED": "1"}
    host = subprocess.Popen(
        command("bluffing_billionaires", *["--private"] * private, "--name", "Anna", "--lang", "en", *addresses),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=env,
    )
    with host:
        assert host.stdin is not None
        assert host.stdout is not None
        host.stdin.write("1\n" * 80)
        host.stdin.flush()
        printed = ""
        while "croupier play --join" not in printed:
            line = host.stdout.readline()
            assert line, printed
            printed += line
        [words] = re.findall(r"croupier play (--join .*)", printed)
        assert ("--invite" in words) == private
        if private:
            stranger = ran(*re.sub(r"--invite \S+", "", words).split(), "--lang", "en")
            assert (stranger.returncode, "is private" in stranger.stderr) == (2, True)
        friend = ran(*words.split(), "--name", "Änne", "--lang", "de", script="1\n" * 80)
        rest = host.stdout.read()
    assert host.returncode == 0
    assert friend.returncode == 0, friend.stderr
    assert re.search(r"wins!|share the win", rest)
    assert "Nachgerechnet" in friend.stdout
    assert "Änne lays" in rest
    assert "Anna legt" in friend.stdout


def test_ctrl_c_ends_everything():
    """Ctrl-C at a terminal leaves the match and stops every server that was started; no traceback."""
    screen = Screen()
    env = {**os.environ, "LANG": "de_DE.UTF-8", "TERM": "xterm"}
    process = subprocess.Popen(
        command("timos_twist", "--seats", "2"),
        stdin=screen.theirs,
        stdout=screen.theirs,
        stderr=screen.theirs,
        env=env,
        start_new_session=True,
    )
    until = time.monotonic() + PATIENCE_S
    while "dran" not in screen.shown and time.monotonic() < until:
        time.sleep(0.05)
    assert "dran" in screen.shown
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(60) == 0
    screen.close()
    assert "Traceback" not in screen.raw
    assert SAY["de"]["left"] in screen.raw
    assert "\x1b[?1049l" in screen.raw


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("nonesuch",), "there is no game called nonesuch"),
        (("timos_twist", "--option", "target=1"), "a number from 50 to 1000"),
        (("timos_twist", "--seats", "9"), "is for 2 to 6"),
        (("--join", "abc"), "--join needs --server"),
        (("--join", "abc", "--server", "h:1", "--private"), "--private is for a new match"),
        (("timos_twist", "--bots", "nobody"), "no computer players of the level nobody"),
        (("--code", "K9S-1F08-3CHD-DA4M"), "that game code will not do (the game code is mistyped"),
        (("--code", "K9S-1F08-3CHD-DA4N", "--seats", "3"), "--code tells seats, levels and options"),
        (("timos_twist", "--server", "127.0.0.1:9", "--nats", "nats://127.0.0.1:9"), "no NATS answers"),
    ],
)
def test_what_cannot_be_played_is_told(args: tuple[str, ...], told: str, monkeypatch: pytest.MonkeyPatch):
    """A wish that cannot be met is explained on stderr before any server is started, with exit code 2."""
    monkeypatch.setattr("services.play.CONNECT_S", 0.5)
    try:
        done = CliRunner().invoke(app, ["play", *args, "--lang", "en"])
    finally:
        structlog.reset_defaults()
    assert done.exit_code == 2
    assert told in done.stderr.replace("\n", " ")


def test_a_match_that_is_not_there_is_told(stack: Stack):
    """Joining a match that does not exist is refused in words."""
    done = ran("--join", "000" + "a" * 22, "--server", stack.grpc, "--nats", stack.nats.url, "--lang", "de")
    assert done.returncode == 2
    assert "diese Partie gibt es nicht" in done.stderr.replace("\n", " ")
