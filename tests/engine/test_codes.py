"""Game codes: they say a match in few letters, and notice when they are mistyped."""

import random

import pytest

from engine import codes, registry
from engine.bots import LEVELS
from engine.codes import Dealt
from engine.options import option_fields
from engine.refusals import BadCode, NoCode

GAMES = registry.games()
every_game = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.rules)
SEED = b"\x01\x02\xff\x00\x05"


def dealt(game, chance: random.Random) -> Dealt:
    """A match of this game as somebody may want it."""
    seats = chance.choice(list(game.seats))
    kinds = tuple(chance.choice(("open", *LEVELS)) for _ in range(seats))
    given = {field.name: chance.choice(field.values) for field in option_fields(game.options_type)}
    settled = game.options(chance.choice([{}, given]), seats)
    options = {field.name: getattr(settled, field.name) for field in option_fields(game.options_type)}
    return Dealt(
        game.rules, kinds, options, chance.randbytes(5), 0 if set(kinds) == {"open"} else chance.randint(1, 31)
    )


@every_game
def test_a_code_says_game_rules_seats_levels_options_and_seed(game):
    chance = random.Random(7)
    for _ in range(300):
        match = dealt(game, chance)
        assert codes.decode(codes.encode(match)) == match


@every_game
def test_every_wrong_letter_and_every_two_neighbours_swapped_are_noticed(game):
    code = codes.encode(Dealt(game.rules, ("open",) * 2, {}, SEED)).replace("-", "")
    for place, letter in enumerate(code):
        for other in codes.LETTERS:
            if other != letter:
                with pytest.raises(BadCode):
                    codes.decode(code[:place] + other + code[place + 1 :])
        if code[place : place + 2] != code[place : place + 2][::-1]:
            with pytest.raises(BadCode):
                codes.decode(code[:place] + code[place : place + 2][::-1] + code[place + 2 :])


def test_a_code_may_be_written_as_people_write():
    match = Dealt("timos_twist/1", ("open", "clever"), GAMES[0].options({}, 2) and {}, SEED, 1)
    code = codes.encode(match)
    spoken = code.lower().replace("-", " ").replace("0", "o").replace("1", "l")
    assert codes.decode(spoken) == codes.decode(code)


def test_a_code_for_two_seats_and_default_options_is_short():
    for game in GAMES:
        assert len(codes.encode(Dealt(game.rules, ("open",) * 2, {}, SEED))) <= 18


def test_rules_do_not_share_their_first_letters():
    assert len({codes.encode(Dealt(game.rules, ("open",) * 2, {}, SEED))[:3] for game in GAMES}) == len(GAMES)


@pytest.mark.parametrize("code", ["", "-", "A", "ABC", "ABC-D", "U" * 12, "ß" * 9, "0" * 81, "9" * 10_000, "\0" * 12])
def test_what_is_no_code_is_refused_with_a_reason(code):
    with pytest.raises(BadCode, match=r"\w"):
        codes.decode(code)


def test_random_letters_are_no_code():
    chance = random.Random(3)
    for _ in range(3000):
        letters = "".join(chance.choices(codes.LETTERS, k=chance.randint(1, 40)))
        with pytest.raises(BadCode):
            codes.decode(letters)


@pytest.mark.parametrize(
    "match",
    [
        Dealt("timos_twist/1", ("open", "open"), {}, b"long seed"),
        Dealt("timos_twist/1", ("open", "grandmaster"), {}, SEED, 1),
        Dealt("timos_twist/1", ("open", "clever"), {}, SEED),
        Dealt("timos_twist/1", ("open", "open"), {}, SEED, 1),
        Dealt("timos_twist/1", ("open", "clever"), {}, SEED, 32),
    ],
)
def test_what_a_code_cannot_say_has_none(match):
    with pytest.raises(NoCode):
        codes.encode(match)
