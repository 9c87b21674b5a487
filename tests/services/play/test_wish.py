"""What is asked of `croupier play`: language, options, seats and game codes."""

import re

import pytest

from engine import codes, registry
from services import wire
from services.game_options import OptionError, parsed_options
from services.play_wish import CannotPlayError, Plan, Wish, dealt_by, default_language, planned
from services.words import Language
from tests.services.play.house import TIMOS_TWIST


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
