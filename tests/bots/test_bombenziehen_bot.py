"""The computer players of Bombenziehen: always legal, blind to what their seat cannot see, each with its character."""

import pytest
from msgspec.structs import replace

from engine.bots.bombenziehen import BombenziehenBot
from engine.games.bombenziehen import ORDER, Bombenziehen, Draw, Known, Place, PlaceRandom, Play, State
from tests.bots.asking import choices

BOT = BombenziehenBot()
GAME = Bombenziehen()
PLANNERS = pytest.mark.parametrize("level", ["clever", "ruthless"])


def state(*hands: str, pile: str = "dud dud dud dud bomb dud dud dud dud dud", known: str = "", **changes) -> State:
    """Seat 0 is on turn and owes one draw; it knows the kinds `known`, from the top."""
    held = tuple(tuple(sorted(cards.split(), key=ORDER.__getitem__)) for cards in hands)
    info = tuple(Known(index, card) for index, card in enumerate(known.split()))
    start = State(
        turn=0,
        phase="act",
        owed=1,
        pile=tuple(pile.split()),
        alive=(True,) * len(held),
        shields=(False,) * len(held),
        hands=held,
        infos=(info, *((),) * (len(held) - 1)),
    )
    return replace(start, **changes)


def moves(position: State, level: str) -> set:
    """What seat 0 does, with any of twenty streams of chance."""
    return choices(BOT, position, len(position.hands), 0, level)


BOMB_ON_TOP = {"pile": "bomb dud dud dud dud dud", "known": "bomb dud dud"}


def test_reckless_plays_without_a_plan():
    """It draws a bomb that it has seen, and wastes what could save it."""
    assert moves(state("dodge shuffle steal", "dud", **BOMB_ON_TOP), "reckless") == {
        Play("dodge"),
        Play("steal", 1),
        Play("shuffle"),
        Draw(),
    }


def test_reckless_leaves_it_to_chance_where_a_bomb_goes():
    assert moves(state("cutter", "cutter", phase="place_bomb"), "reckless") == {PlaceRandom()}


@PLANNERS
@pytest.mark.parametrize("escape", ["dodge", "shove", "shuffle", "bottom"])
def test_nobody_with_a_plan_draws_a_known_bomb(level: str, escape: str):
    """Not while a card is in hand that leads around it."""
    assert moves(state(escape, "dud", **BOMB_ON_TOP), level) == {Play(escape)}


@PLANNERS
def test_a_card_from_the_bottom_is_no_way_out_of_a_pile_of_one(level: str):
    assert moves(state("bottom cutter", "dud", pile="bomb", known="bomb"), level) == {Draw()}


@PLANNERS
def test_a_card_known_to_be_safe_is_drawn(level: str):
    """No escape is burnt for it."""
    safe = state("dodge shove bottom shuffle peek cutter", "dud", known="dud dud dud")
    assert moves(safe, level) == {Draw()}


@PLANNERS
def test_without_a_cutter_it_steals(level: str):
    """From the seat with the most cards."""
    assert moves(state("steal dodge", "dud", "dud cutter", "dud"), level) == {Play("steal", 2)}


def test_clever_dodges_a_known_bomb_before_anything_else():
    assert moves(state("dodge shove steal peek", "dud", **BOMB_ON_TOP), "clever") == {Play("dodge")}


def test_clever_peeks_when_the_danger_is_high():
    """From one in four on, also with a cutter; below that a cutter is enough."""
    assert moves(state("peek cutter", "dud", pile="dud bomb dud dud"), "clever") == {Play("peek")}
    assert moves(state("peek cutter", "dud", pile="dud bomb dud dud dud"), "clever") == {Draw()}


def test_clever_puts_a_bomb_far_down():
    places = moves(state("cutter", "cutter", phase="place_bomb", pile="dud " * 10), "clever")
    assert len(places) > 2
    assert all(move.index >= 5 for move in places)


def test_ruthless_puts_a_bomb_on_top_for_the_next_seat():
    assert moves(state("dud", "cutter", phase="place_bomb"), "ruthless") == {Place(0)}


def test_ruthless_does_not_draw_its_own_bomb():
    """Owing another draw it puts the bomb under the card it has to take, unless it can pass it on."""
    assert moves(state("dud", "cutter", phase="place_bomb", owed=2), "ruthless") == {Place(1)}
    assert moves(state("dud", "cutter", phase="place_bomb", owed=2, pile=""), "ruthless") == {Place(0)}
    assert moves(state("shove", "cutter", phase="place_bomb", owed=2), "ruthless") == {Place(0)}


def test_ruthless_likes_to_shove():
    """A known bomb goes to a seat that owes two draws, but a shove is not wasted on a marker."""
    assert moves(state("dodge shove", "dud", **BOMB_ON_TOP), "ruthless") == {Play("shove")}
    assert moves(state("dodge shove", "dud", shields=(False, True), **BOMB_ON_TOP), "ruthless") == {Play("dodge")}


def test_a_shove_is_for_the_next_living_seat():
    """The marker of a seat further on does not matter."""
    position = state("dodge shove", "", "dud", "dud", **BOMB_ON_TOP)
    position = replace(position, alive=(True, False, True, True), out=(1,))
    assert moves(replace(position, shields=(False, False, False, True)), "ruthless") == {Play("shove")}
    assert moves(replace(position, shields=(False, False, True, False)), "ruthless") == {Play("dodge")}


def test_ruthless_sheds_both_draws_with_one_shove():
    """Even where a marker stops it: its own turn is over."""
    position = state("dodge shove", "dud", owed=2, shields=(False, True), **BOMB_ON_TOP)
    assert moves(position, "ruthless") == {Play("shove")}


def test_ruthless_suspects_a_bomb_that_was_just_returned():
    """With a cutter as the last discard the top is avoided, or looked at; clever has not thought of it."""
    position = state("dodge", "dud", discard=("peek", "cutter"), pile="bomb" + " dud" * 19)
    assert moves(position, "ruthless") == {Play("dodge")}
    assert moves(replace(position, discard=("cutter", "peek")), "ruthless") == {Draw()}
    looked = state("peek cutter", "dud cutter", discard=("peek", "cutter"), pile="bomb" + " dud" * 19)
    assert moves(looked, "ruthless") == {Play("peek")}
    assert moves(looked, "clever") == {Draw()}


def test_ruthless_steals_where_no_marker_is():
    position = state("steal cutter", "dud dud dud", "dud dud", "dud", shields=(False, True, False, False))
    assert moves(position, "ruthless") == {Play("steal", 2)}


def test_ruthless_is_never_without_its_marker():
    assert moves(state("shield steal peek", "dud"), "ruthless") == {Play("shield")}
