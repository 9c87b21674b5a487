"""Claims about how tables, moves and events are shown: in German and English, from the JSON of views alone."""

import json
import random
import re
import sys
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest

from engine import registry
from engine.game import Event
from engine.games import timos_twist
from engine.games.timos_twist import TimosTwist
from engine.match import Match
from engine.registry import AnyGame
from services import tables, wire
from services.client import _as_json
from services.tables import menu
from services.views import ViewEncoder
from services.words import SPOKEN, UNSEEN, Catalogue, Language, Speaker, game_words
from services.words.screen import SAY
from tests.services.played import GAMES, OUTSIDE, create, join, move, outside  # noqa: F401 - the fixture

BUILT_IN = [game for game in GAMES if game is not OUTSIDE]
EVERY_GAME = pytest.mark.parametrize("game", BUILT_IN, ids=lambda game: game.rules)
EVERY_LANGUAGE = pytest.mark.parametrize("lang", get_args(Language))
NAMES = ["Anna", "Bob", "Carla", "Dora", "Emil", "Fritz"]
WIDTH, HEIGHT = 80, 24
PLACEHOLDER = re.compile(r"\{(\w+)")
KNOWN_FACTS = {"pending", "timo_window", "drawn", "due", "own_card", "other_card", "top"}


def positions(game: AnyGame, seats: int, seed: int, limit: int = 140) -> Iterator[Match]:
    """A match played at random, right after each entry from the start on."""
    rng = random.Random(f"{game.rules} {seats} {seed}")
    match, _ = create(game, ["open"] * seats, {})
    for name in NAMES[:seats]:
        join(match, name)
    yield match
    while not match.over and match.version < limit:
        seat = rng.choice([seat for seat in match.players if match.legal(seat)])
        move(match, seat, rng.choice(match.legal(seat)))
        yield match


def view_of(match: Match, seat: int | None) -> dict[str, Any]:
    return json.loads(ViewEncoder(match).view_json(seat))


def scene_of(view: dict[str, Any], game: AnyGame, lang: Language) -> tables.Scene:
    names = [seat["name"] for seat in view["seats"]]
    scene = tables.scene(view, Speaker(Catalogue.of(game), lang, names), SAY[lang])
    assert scene is not None
    return scene


def text_of(scene: tables.Scene, width: int = WIDTH) -> str:
    return "\n".join(line.plain for line in [*tables.draw(scene, width), *tables.hand(scene, width)])


def start(name: str, seats: int = 3, seat: int = 0) -> tuple[AnyGame, dict[str, Any]]:
    """A game and the first view of a seat."""
    game = registry.newest(name)
    return game, view_of(next(positions(game, seats, 0)), seat)


# --- words -----------------------------------------------------------------------------------------------------------


def words_of(hint: Any) -> set[str]:
    """The words that a field of this type can hold."""
    if get_origin(hint) is Literal:
        return {word for word in get_args(hint) if isinstance(word, str)}
    if get_origin(hint) in (Annotated, UnionType):
        return {word for part in get_args(hint) for word in words_of(part)}
    return set()


def unspoken(game: AnyGame) -> list[str]:
    """What a game can say or ask and has no words for, or says of a field that is not there."""
    words, missing = game_words(game.name), []
    state = sys.modules[type(game).__module__].State
    values = {
        f"{name}.{word}"
        for kind in (*game.events, *game.moves, game.options_type)
        for name, hint in get_type_hints(kind, include_extras=True).items()
        for word in words_of(hint)
    }
    for lang in get_args(Language):
        for kinds, sentences, more in (
            (game.event_json.names, words.EVENTS[lang], set[str]()),
            (game.move_json.names, words.MOVES[lang], KNOWN_FACTS),
        ):
            for kind, name in kinds.items():
                for key in [name, *(key for key in sentences if key.startswith(f"{name}."))]:
                    used = set(PLACEHOLDER.findall(sentences.get(key, "{absent}")))
                    unknown = used - set(kind.__struct_fields__) - more
                    missing += [f"{lang}: {key} {field}" for field in unknown]
        phases = words_of(get_type_hints(state, include_extras=True)["phase"])
        missing += [f"{lang}: phase {phase}" for phase in phases - words.PHASES[lang].keys()]
        missing += [f"{lang}: {value}" for value in values - words.VALUES[lang].keys()]
        missing += [] if words.RULES.get(lang) else [f"{lang}: rules"]
    return missing


@EVERY_GAME
def test_everything_a_game_says_has_words_in_both_languages(game: AnyGame):
    """Every event, move, phase and word of a built-in game has German and English words, made of fields it has."""
    assert unspoken(game) == []


def test_an_event_without_words_is_found():
    """A game that gains an event without words fails the test above."""

    class Applauded(Event, frozen=True):
        seat: int

    class Louder(TimosTwist):
        events = (*TimosTwist.events, Applauded)

    Louder.__module__ = timos_twist.__name__
    assert unspoken(Louder()) == ["de: applauded absent", "en: applauded absent"]


def test_every_built_in_game_is_drawn():
    """Every registered game of the package has a module of words and one of drawings."""
    assert {game.name for game in BUILT_IN} == set(SPOKEN)
    assert all(tables.drawing(name).__name__.endswith(name) for name in SPOKEN)


def test_both_languages_say_the_same():
    """Screen, events, moves, phases and labels have the same keys, and the same gaps to fill, in both languages."""
    pairs = [SAY]
    for name in SPOKEN:
        words = game_words(name)
        pairs += [words.EVENTS, words.MOVES, words.PHASES, words.VALUES, tables.drawing(name).WORDS]
    for pair in pairs:
        assert pair["de"].keys() == pair["en"].keys()
        for key, german in pair["de"].items():
            assert set(PLACEHOLDER.findall(german)) == set(PLACEHOLDER.findall(pair["en"][key])), key


@EVERY_GAME
@EVERY_LANGUAGE
def test_a_choice_reads_well_before_anything_is_chosen(game: AnyGame, lang: Language):
    """The label for all moves of one name has no gap where their fields would stand."""
    speaker = Speaker(Catalogue.of(game), lang, NAMES)
    for name in game.move_json.names.values():
        if name not in ("take", "catch", "play_drawn"):  # always one move, whose facts are there
            assert "–" not in speaker.move({name: {}}, {}).plain.replace(" – ", "")


# --- drawings --------------------------------------------------------------------------------------------------------


@EVERY_GAME
@EVERY_LANGUAGE
@pytest.mark.parametrize("seats", [2, 4])
def test_a_table_fits_a_usual_terminal(game: AnyGame, lang: Language, seats: int):
    """Up to four seats fit 80 columns, and leave of 24 lines enough for a menu, whatever the position."""
    for seed in range(2):
        for match in positions(game, seats, seed):
            if match.version % 11:
                continue
            for seat in match.players:
                scene = scene_of(view_of(match, seat), game, lang)
                lines = [*tables.draw(scene, WIDTH), *tables.hand(scene, WIDTH)]
                assert max(line.cell_len for line in lines) <= WIDTH
                assert len(lines) <= HEIGHT - 8
                assert all(name in text_of(scene) for name in NAMES[:seats])


@EVERY_GAME
@pytest.mark.parametrize("seats", [2, 5])
@pytest.mark.parametrize("width", [1, 17, 40])
def test_narrow_terminals_are_drawn_too(game: AnyGame, seats: int, width: int):
    """No width makes a drawing fail."""
    for match in positions(game, seats, 3, 40):
        scene = scene_of(view_of(match, match.players[0]), game, "de")
        offered = menu.choices(scene, view_of(match, match.players[0])[game.name]["legal"], 4, width)
        assert tables.draw(scene, width)
        assert tables.hand(scene, width) is not None
        assert bool(menu.laid_out(offered, width)) == bool(offered)


@EVERY_GAME
@EVERY_LANGUAGE
def test_every_event_becomes_a_sentence(game: AnyGame, lang: Language):
    """What happened is told in whole sentences, for those who know all and for those who do not."""
    seen = set()
    for seed in range(4):
        for match in positions(game, 3, seed):
            for seat in (0, None):
                view = view_of(match, seat)
                scene = scene_of(view, game, lang)
                for event in view[game.name]["events"]:
                    said = scene.speaker.event(event).plain
                    assert said.strip() == said
                    assert not set("{}[]_") & set(said), said
                    assert "  " not in said
                    assert not said.endswith(":"), said
                    seen.add(next(iter(event)))
    rare = {"reshuffled", "caught", "timo_called", "won", "fizzled", "last_lap", "game_ended", "skipped", "beamed"}
    assert set(game.event_json.names.values()) - seen <= rare | {"hour_named", "declined"}


@EVERY_GAME
@pytest.mark.parametrize("lines", [4, 8])
def test_every_move_can_be_chosen(game: AnyGame, lines: int):
    """Its menu leads to every legal move once; a step is longer than it may be only if nothing is left to part."""

    def reached(scene: tables.Scene, moves: Any, depth: int = 0) -> list[Any]:
        found = []
        offered = menu.choices(scene, moves, lines, WIDTH)
        assert depth < 5
        assert len(menu.laid_out(offered, WIDTH)) <= lines or all(choice.move for choice in offered)
        labels = [choice.label.plain for choice in offered]
        assert len(set(labels)) == len(labels), labels
        for choice in offered:
            found += [choice.move] if choice.move else reached(scene, choice.moves, depth + 1)
        return found

    for match in positions(game, 4, 2):
        for seat in match.to_act[:1] if match.version % 3 else match.players:
            view = view_of(match, seat)
            legal = view[game.name]["legal"]
            found = reached(scene_of(view, game, "en"), legal)
            assert sorted(map(json.dumps, found)) == sorted(map(json.dumps, legal))


@EVERY_GAME
def test_a_view_over_grpc_draws_the_same_table(game: AnyGame):
    """The drawing does not depend on whether a view came as JSON or as a message."""
    for match in positions(game, 3, 4, 60):
        data = ViewEncoder(match).view_json(match.players[1])
        told = _as_json(wire.view_from_json(data))
        drawn = scene_of(json.loads(data), game, "de")
        assert text_of(scene_of(told, game, "de")) == text_of(drawn)


@EVERY_GAME
def test_a_catalogue_from_the_server_says_the_same(game: AnyGame):
    """Titles, groups and facts of cards are the same from the rules and from ListGames."""
    here, told = Catalogue.of(game), Catalogue.told(wire.catalogue([game]))
    assert (here.name, dict(here.titles), here.groups) == (told.name, told.titles, told.groups)
    assert {code: dict(titles) for code, titles in here.cards.items()} == told.cards
    assert {code: dict(extra) for code, extra in here.extra.items()} == told.extra


@EVERY_GAME
@EVERY_LANGUAGE
def test_a_hand_shows_titles(game: AnyGame, lang: Language):
    """A seat's own cards stand under its table by their titles, and no other seat's cards do."""
    if game.name in ("clever_gedreht", "bluffing_billionaires"):
        return  # grids and values, claimed below
    match = next(positions(game, 2, 5))
    for seat, other in ((0, 1), (1, 0)):
        view = view_of(match, seat)
        scene = scene_of(view, game, lang)
        shown = [line.plain for line in tables.hand(scene, WIDTH)]
        for code in view[game.name]["own"]["hand"]:
            assert any(scene.speaker.card(code).plain in line for line in shown)
        hand = "\n".join(shown)
        secret = set(view_of(match, other)[game.name]["own"]["hand"]) - set(view[game.name]["own"]["hand"])
        assert not any(f" {scene.speaker.card(code).plain} " in hand for code in secret)


def test_timos_twist_shows_colour_penalty_and_window():
    """The wanted colour, a penalty that is due, and who can be caught are on the table."""
    game, view = start("timos_twist")
    view["timos_twist"]["table"] |= {"top": "plus4", "color": "green", "pending": 4, "timo_window": 1, "direction": -1}
    shown = text_of(scene_of(view, game, "de"))
    assert "+4" in shown
    assert "Farbe Grün" in shown
    assert "Strafkarten: 4" in shown
    assert "gegen den Uhrzeigersinn" in shown
    assert re.search(r"Bob.*hat nicht „TIMO!“ gerufen", shown)


def test_timos_twist_has_its_colours():
    """A blue card is on blue, a black one on black."""
    speaker = Speaker(Catalogue.of(registry.newest("timos_twist")), "en", NAMES)
    assert "on blue" in str(speaker.card("blue-7").style)
    assert "grey" in str(speaker.card("wild").style)


def test_time_bluff_shows_due_hours_and_only_own_hidden_cards():
    """A pile says which hour is claimed next; a face-down card is readable for who laid it alone."""
    game, view = start("toms_time_bluff")
    part = view["toms_time_bluff"]
    hidden = {"card": None, "hour": None, "seat": 0}
    named = {"card": "joker", "hour": 12, "seat": 0}
    part["table"]["piles"][0]["cards"] = [{"card": "A5", "hour": None, "seat": None}, hidden, named]
    part["own"]["laid"] = [{"place": 0, "index": 1, "card": "R6"}]
    mine = text_of(scene_of(view, game, "en"))
    assert "Alarm clock 5 (Clock radio 6) Joker=12  → 1 o'clock" in mine
    part["own"]["laid"] = []
    theirs = text_of(scene_of(view, game, "en"))
    assert f"Alarm clock 5 {UNSEEN} Joker=12  → 1 o'clock" in theirs


def test_time_bluff_shows_who_has_answered():
    """In a challenge the seats that have answered are told apart from those that have not."""
    game, view = start("toms_time_bluff")
    view["toms_time_bluff"]["table"] |= {"phase": "challenge", "turn": 0, "answered": [2]}
    view["to_act"] = [1]
    shown = text_of(scene_of(view, game, "de"))
    assert re.search(r"▶ Bob +\d+ +\d+ *$", shown, re.MULTILINE)
    assert re.search(r"  Carla .*hat sich entschieden", shown)


def test_bombenziehen_shows_danger_knowledge_and_shields():
    """The gauge, what the seat knows of the pile, shields, owed draws and who is out are on the table."""
    game, view = start("bombenziehen", 4)
    table = view["bombenziehen"]["table"]
    table |= {"bombs": 2, "pile": 8, "shields": [False, True, False, False], "alive": [True, True, True, False]}
    table |= {"out": [3], "turn": 2, "owed": 2, "discard": ["peek", "bomb"]}
    view["bombenziehen"]["own"] = {"hand": ["dud", "dud", "cutter"], "known": [{"index": 1, "card": "bomb"}]}
    shown = text_of(scene_of(view, game, "en"))
    assert "2 of 8 cards: 25 %" in shown
    assert "█" * 5 + "░" in shown
    assert re.search(r"Bob +\d+ +shield", shown)
    assert re.search(r"Carla +\d+ +must still draw 2×", shown)
    assert re.search(r"Dora +out, place 4", shown)
    assert "2× Dud" in shown
    assert "2. Bomb" in shown
    assert "discards (2) Bomb Peek" in shown


def test_billionaires_shows_piles_votes_and_table_cards():
    """Bonus and discard piles, coins, who has voted, the last vote and what it turned up are on the table."""
    game, view = start("bluffing_billionaires")
    table = view["bluffing_billionaires"]["table"]
    table |= {"on_table": [True, True, False], "voters": [1, 2], "answered": [1], "turn": 0, "phase": "vote"}
    table["bonus"][2]["cards"] = [{"card": "10", "owner": 0}, {"card": "4", "owner": 1}]
    table["discards"][1] = {"known": ["3"], "hidden": 2}
    table["votes"] = [{"seat": 1, "challenge": True}, {"seat": 2, "challenge": False}]
    table["revealed"] = [{"seat": 0, "card": "7"}]
    view["bluffing_billionaires"]["own"] |= {"table_card": "7", "discarded": ["2"], "answer": None}
    shown = text_of(scene_of(view, game, "de"))
    assert re.search(rf"Anna \(du\) +10 +{UNSEEN}", shown)
    assert re.search(r"Bob .* 3 \+2 .*gestimmt", shown)
    assert re.search(r"Carla .*10 4 +6 ", shown)
    assert "Bob runter, Carla hoch" in shown
    assert "Anna: Vermögen 7" in shown
    assert "dein Tisch  Vermögen 7" in shown
    assert "ungesehen abgelegt 2" in shown


def test_clever_shows_grids_and_only_own_turned_cards():
    """Every slot has its number; a turned card shows its back, to its owner its number too."""
    game, view = start("clever_gedreht", 2)
    part = view["clever_gedreht"]
    part["table"]["grids"] = [{"cards": ["9", "", "flip", *"123456"]}, {"cards": ["", *"12345678"]}]
    part["table"] |= {"finisher": 1, "taken": "8"}
    part["own"] = {"turned": [{"slot": 1, "card": "7"}], "drawn": None}
    shown = text_of(scene_of(view, game, "de"))
    assert "1: 9  2:(7) 3:Um" in shown
    assert f"1:{UNSEEN}  2: 1  3: 2" in shown
    assert "ist fertig: letzte Runde" in shown
    assert "genommen  8" in shown
    assert "zählt 7" in shown


@EVERY_LANGUAGE
def test_a_game_from_outside_is_drawn_from_its_fields(outside: AnyGame, lang: Language):  # noqa: F811
    """A game without words is shown field by field, its moves can be chosen and its events are told."""
    match = next(positions(outside, 2, 0))
    seat = match.to_act[0]
    view = view_of(match, seat)
    scene = scene_of(view, outside, lang)
    shown = text_of(scene)
    part = view["generic"]
    assert all(scene.speaker.card(code).plain in shown for code in part["own"]["hand"])
    assert f"draw pile: {part['table']['draw_pile']}" in shown
    offered = menu.choices(scene, part["legal"], 30, WIDTH)
    assert [choice.move for choice in offered] == part["legal"]
    assert "round started" in scene.speaker.event(part["events"][0]).plain


def test_names_cannot_steer_the_terminal():
    """A name with characters that would turn the line around is shown with their numbers."""
    speaker = Speaker(Catalogue.of(registry.newest("timos_twist")), "en", ["Mallory\u202e", ""])
    assert speaker.name(0).plain == "Mallory\\u{202e}"
    assert speaker.name(1).plain == "#1"


@EVERY_GAME
def test_a_spectator_sees_the_table_alone(game: AnyGame):
    """For a spectator there is a table and no hand."""
    scene = scene_of(view_of(next(positions(game, 2, 0)), None), game, "en")
    assert tables.draw(scene, WIDTH)
    assert tables.hand(scene, WIDTH) == []


@EVERY_GAME
def test_hands_of_the_last_round_are_shown(game: AnyGame):
    """After a round everybody's hand can be looked at, in games that show them."""
    for match in positions(game, 2, 1, 4000):
        table = msgspec.json.decode(match.projection.table)
        if table.get("last_round"):
            scene = scene_of(view_of(match, 0), game, "en")
            shown = "\n".join(line.plain for line in tables.last_hands(scene, WIDTH))
            assert all(f"{name}:" in shown for name in NAMES[:2])
            return
    assert game.name == "bombenziehen"
