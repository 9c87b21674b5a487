"""`croupier play` with a script at a pipe."""

import re

import pytest

from services import tables
from services.play_session import Ending
from services.play_stream import RefusedError
from services.views import ViewEncoder
from services.words import Language
from tests.services.play.house import House, scripted
from tests.services.played import create, join, move


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
