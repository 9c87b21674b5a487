"""Laws of completeness: a game is registered with all that a client and a reader need."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import inspect

from engine.game import encode
from engine.registry import AnyGame, games
from engine.scenario import files
from tests.games.golden import ELSEWHERE
from tests.games.golden import FOLDER as GOLDEN
from tests.games.golden import path as playthrough
from tests.laws.matches import GAMES

SCENARIOS = GOLDEN.parents[1] / "scenarios"


def titled(titles: Any) -> bool:
    """Whether there is something to show in German and in English."""
    return all(isinstance(titles.get(language), str) and titles[language].strip() for language in ("de", "en"))


@GAMES
def test_a_game_has_scenarios(game: AnyGame):
    """At least one file, and all of them are of this game."""
    folder = ELSEWHERE[game.name] / "scenarios" if game.name in ELSEWHERE else SCENARIOS / game.name
    paths = list(files([folder]))
    assert paths
    assert {json.loads(path.read_bytes())["game"] for path in paths} == {game.name}


@GAMES
def test_a_game_has_a_golden_playthrough(game: AnyGame):
    """`python -m tests.games.golden` writes it."""
    assert playthrough(game).is_file()


@GAMES
def test_game_options_and_cards_have_titles(game: AnyGame):
    """In German and English, each one."""
    assert titled(game.titles)
    for card in game.cards:
        assert titled({"de": card.de, "en": card.en}), card.code
    for option in inspect.type_info(game.options_type).fields:
        assert isinstance(option.type, inspect.Metadata), f"{option.name} has no titles"
        assert titled(option.type.extra or {}), option.name


@GAMES
def test_options_have_a_range_or_words(game: AnyGame):
    """A client can offer each of them without knowing the game; all are filled in when a match is created."""
    for option in inspect.type_info(game.options_type).fields:
        assert isinstance(option.type, inspect.Metadata)
        kind = option.type.type
        assert isinstance(kind, inspect.IntType | inspect.BoolType | inspect.LiteralType), option.name
        if isinstance(kind, inspect.IntType):
            assert kind.ge is not None, option.name
            assert kind.le is not None, option.name
    for seats in game.seats:
        settled = json.loads(encode(game.options({}, seats)))
        assert list(settled) == list(game.options_type.__struct_fields__)


@GAMES
def test_card_codes_are_short_ascii_and_unique(game: AnyGame):
    """Each code stands once, belongs to a group and counts at least one card with any number of seats."""
    codes = [card.code for card in game.cards]
    assert len(set(codes)) == len(codes)
    for card in game.cards:
        assert card.code.isascii()
        assert card.code.isprintable()
        assert 0 < len(card.code) <= 16
        assert card.group
        for seats in game.seats:
            assert game.count(card.code, seats) > 0


@GAMES
def test_moves_and_events_have_names_of_their_own(game: AnyGame):
    """A name says what it is: no two moves share one, nor two events, and moves are not called like events."""
    moves, events = list(game.move_json.names.values()), list(game.event_json.names.values())
    assert len(set(moves)) == len(game.moves)
    assert len(set(events)) == len(game.events)
    assert not set(moves) & set(events)


@pytest.mark.parametrize("folder", [SCENARIOS, GOLDEN], ids=["scenarios", "golden"])
def test_nothing_is_left_of_games_that_are_gone(folder: Path):
    """Every folder of scenarios and every playthrough is some registered game's."""
    names = {path.stem for path in folder.iterdir() if path.is_dir() or path.suffix == ".jsonl"}
    registered = {game.name for game in games()}
    registered |= {playthrough(game).stem for game in games()}
    assert names - {"__pycache__"} <= registered
