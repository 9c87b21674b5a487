"""What holds for the computer players of every game: legal, blind to what their seat cannot see, the same everywhere.

How each level plays its game is told by the file of the game.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from engine import bots
from engine.bots.match import play as play_match
from engine.registry import newest
from tests.bots.asking import asked, assert_pure, cases_of, match_of, under_hash_seeds
from tests.laws.matches import Case

PINNED = Path(__file__).parent / "pinned"
LEVELS = ("reckless", "clever", "ruthless")


class About(NamedTuple):
    """What tests need to know of a game."""

    moments: dict[str, int]
    """Moments of each random match at which a level is asked."""
    ends: Sequence[dict[str, Any]]
    """Options with which matches of one level come to an end."""
    pinned: dict[str, tuple[tuple[str, ...], dict[str, Any]]]
    """Matches of version 1 whose moves are in the folder `pinned`: levels and options by the file's name."""


def about(moments: int, *ends: dict[str, Any], ruthless: int | None = None, **options: Any) -> About:
    return About(dict.fromkeys(LEVELS, moments) | {"ruthless": ruthless or moments}, ends, {"": (LEVELS, options)})


GAMES = {
    "bluffing_billionaires": about(50, {"games": 1}, {"games": 3}),
    "bombenziehen": about(60, *({"duds_in_start_hand": duds} for duds in (False, True))),
    "clever_gedreht": about(
        60, *({"rounds": 1, "protect_finisher": odd, "reject_taken": odd} for odd in (False, True)), ruthless=20
    ),
    "timos_twist": about(
        25,
        *(
            {"target": 50, "must_play": plain, "twist_skips_two": plain, "timo": "auto" if plain else "call"}
            for plain in (False, True)
        ),
    ),
    "toms_time_bluff": about(
        60, {}, {"target": 10, "manual_draw": True}, {"partner_match": "hour", "target": 100}, manual_draw=True
    ),
}
GAMES["timos_twist"].pinned["_duel"] = (("ruthless", "clever"), {})
MATCHES = [
    pytest.param(name, name + suffix, *match, id=name + suffix)
    for name, game in GAMES.items()
    for suffix, match in game.pinned.items()
]


def shipped(game: str) -> bots.Bot:
    """The newest computer players that come with the engine; other tests may have brought some of their own."""
    return [bot for bot in bots.versions(game) if type(bot).__module__.startswith("engine.")][-1]


def test_every_game_with_computer_players_is_here():
    assert {name: shipped(name).levels for name in GAMES} == dict.fromkeys(GAMES, LEVELS)
    assert {bot.game for bot in bots._registered().values()} == GAMES.keys()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("case", [case for name in GAMES for case in cases_of(name)])
def test_every_choice_is_legal_and_made_with_the_given_chance_on_what_the_seat_sees(case: Case, level: str):
    """With any options: the same if all unseen cards are others, and no chance comes from elsewhere."""
    name = case.game.name
    for one in asked(shipped(name), case, level, GAMES[name].moments[level]):
        assert one.move in one.legal or (one.move is None and name == "timos_twist")  # at a window nothing is owed
        assert one.move == one.twin
        assert (one.replayed, one.left) == (one.move, 0)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("name", "seats"), [(name, seats) for name in GAMES for seats in newest(name).seats])
def test_matches_of_one_level_end(name: str, seats: int, level: str):
    """Also with everything forgotten or overlooked that may be, and with options at their limits."""
    for options in GAMES[name].ends:
        assert play_match(newest(name), shipped(name), [level] * seats, bytes([seats]) * 32, options).winners


@pytest.mark.parametrize("name", GAMES)
def test_they_are_pure(name: str):
    assert_pure(shipped(name))


@pytest.mark.parametrize(("name", "_file", "levels", "options"), MATCHES)
def test_hash_order_changes_no_choice(name: str, _file: str, levels: tuple[str, ...], options: dict[str, Any]):
    assert under_hash_seeds(name, levels, options) == [match_of(name, levels, options)] * 2


@pytest.mark.parametrize(("name", "file", "levels", "options"), MATCHES)
def test_the_choices_of_version_1_are_pinned(name: str, file: str, levels: tuple[str, ...], options: dict[str, Any]):
    """Other choices are another version's: journals with these are audited for ever."""
    assert bots.find(name, 1).version == 1
    assert match_of(name, levels, options) == (PINNED / f"{file}_1.txt").read_text().splitlines()
