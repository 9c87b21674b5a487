"""The computer players of Clever gedreht: always legal, blind to what their seat cannot see, each in its way."""

import pytest

from engine.bots import seen
from engine.bots.clever_gedreht import CleverGedrehtBot, Line, _worlds, play_on
from engine.games.clever_gedreht import CleverGedreht
from engine.games.clever_gedreht_words import (
    DECK,
    VALUE,
    CleverGedrehtOptions,
    Draw,
    Flip,
    Reject,
    State,
    Swap,
    Take,
    Use,
)
from tests.bots.asking import cases_of, choices, stream
from tests.laws.matches import Case, sample

BOT = CleverGedrehtBot()
GAME = CleverGedreht()
PLANNERS = pytest.mark.parametrize("level", ["clever", "ruthless"])
CASES = pytest.mark.parametrize("case", cases_of(GAME.name))


def state(*grids: str, top: str = "1", **changes) -> State:
    """Seat 0 is on turn. A grid has nine cards, the turned ones in brackets."""
    words = [grid.split() for grid in grids]
    assert {len(grid) for grid in words} == {9}
    rest = list(DECK)
    for code in [word.strip("()") for grid in words for word in grid] + [top]:
        rest.remove(code)
    for code in changes.values():
        if code in rest:
            rest.remove(code)
    fields = {
        "options": CleverGedrehtOptions(rounds=1),
        "round": 1,
        "dealer": 0,
        "turn": 0,
        "phase": "source",
        "open": tuple(tuple("" if word[0] == "(" else word for word in grid) for grid in words),
        "turned": tuple(tuple(word[1:-1] if word[0] == "(" else "" for word in grid) for grid in words),
        "draw_pile": tuple(rest[:40]),
        "discards": (*rest[40:], top),
        "totals": (0,) * len(grids),
    }
    return State(**{**fields, **changes})


def moves(position: State, level: str) -> set:
    """What seat 0 does, with any of twenty streams of chance."""
    return choices(BOT, position, len(position.open), 0, level)


NEW = "3 4 5 6 7 8 9 2 5"
OLD = "(7) (8) (9) (5) 3 4 5 6 7"


def test_reckless_plays_without_a_plan():
    """It takes a worthless card and lays a nine where the highest one is."""
    assert moves(state(NEW, NEW, top="1"), "reckless") == {Draw(), Take()}
    assert len(moves(state(NEW, NEW, phase="use", taken="9"), "reckless")) > 8


@PLANNERS
def test_nobody_with_a_plan_leaves_a_nine_or_takes_a_one(level: str):
    assert moves(state(NEW, NEW, top="9"), level) == {Take()}
    assert moves(state(NEW, NEW, top="1"), level) == {Draw()}


@PLANNERS
def test_a_nine_goes_turned_where_the_lowest_card_lies(level: str):
    assert moves(state(NEW, NEW, phase="use", taken="9"), level) == {Use(7, "turned")}


@PLANNERS
def test_a_worthless_draw_turns_the_highest_card(level: str):
    assert moves(state(NEW, NEW, phase="decide", drawn="1"), level) == {Reject(6)}


@PLANNERS
def test_the_last_open_card_makes_way_for_any_better_one(level: str):
    """In the last turn of a round."""
    last = "(7) (8) (9) (5) (5) (5) (5) (5) 3"
    position = state(last, last.replace("3", "(3)"), phase="decide", drawn="4", finisher=1)
    assert moves(position, level) == {Use(8, "turned")}


def test_clever_swaps_its_lowest_card_for_the_highest_in_sight():
    """Of the next seat, if several have one."""
    position = state(NEW, OLD, NEW, NEW, phase="swap", top="swap")
    assert moves(position, "clever") == {Swap(7, 2, 6)}


def test_clever_flips_a_card_of_the_seat_that_has_turned_most():
    position = state(NEW, "(9) " + NEW[2:], OLD, OLD, phase="flip", top="flip")
    assert moves(position, "clever") == {Flip(2, 0)}


def test_ruthless_gives_no_points_away_in_its_last_turn():
    """It turns a nine; clever fills a place by its rule, and the nine is lost."""
    mine = "(5) (5) (5) (5) (5) (5) (5) 2 9"
    position = state(mine, "(7) (7) (7) (7) (7) (7) (7) (7) (7)", phase="decide", drawn="4", finisher=1)
    assert moves(position, "ruthless") == {Reject(8)}
    assert moves(position, "clever") == {Use(7, "turned")}


def test_ruthless_flips_who_can_win():
    """In its last turn, and not the finisher, who has turned most and is far behind."""
    leader, last = "(9) (9) (9) (9) (8) (8) (8) (7) 6", "(1) (1) (1) (1) (1) (1) (1) (1) (1)"
    position = state(OLD, last, leader, phase="flip", top="flip", totals=(50, 0, 60), finisher=1)
    assert moves(position, "clever") == {Flip(1, 0)}
    assert moves(position, "ruthless") == {Flip(2, 0)}


@CASES
def test_imagined_worlds_hold_the_cards_out_of_sight(case: Case):
    """With what is seen they make up the deck; every other seat has as many turned cards as on the table."""
    for moment in sample(case, 10):
        position = moment.state
        view = seen(GAME, position.options, case.seats, position, position.turn)
        table, own = view.table, view.own
        visible = [code for grid in table.grids for code in grid.cards if code]
        visible += [card.card for card in own.turned] + [code for code in (table.top, table.taken, own.drawn) if code]
        for world in _worlds(view, 3, stream(0)):
            turned = [grid.cards.count("") for grid in table.grids]
            assert [len(cards) for cards in world.turned] == [*turned[: view.seat], 0, *turned[view.seat + 1 :]]
            dealt = [card for cards in world.turned for card in cards] + [max(card, 0) for card in world.pile]
            assert sorted(dealt + [VALUE[code] for code in visible]) == sorted(VALUE[code] for code in DECK)


def test_rounds_are_played_on_by_the_rules():
    """Seat 0 draws a nine for its only card and ends the round; seat 1 takes what lies there, the higher one last."""
    opens, turned = [[2], [1, 3]], [[5], [5]]
    play_on(opens, turned, [4, 9], Line((), 0, (), -1, 0, 0, -1, take=False))
    assert (opens, turned) == ([[], [3]], [[5, 9], [5, 4]])


def test_a_protected_finisher_is_not_flipped_when_rounds_are_played_on():
    """Seat 0 is the finisher and has turned most; the flip hits seat 2 instead, or nobody."""
    opens, turned = [[], [1], [2]], [[9, 9, 9], [5], [7]]
    play_on(opens, turned, [-1], Line((), 0, (), -1, 0, 1, 0, take=False), protected=True)
    assert (turned[0], opens[2], turned[2]) == ([9, 9, 9], [2, 7], [])
    opens, turned = [[], [1], [2]], [[9, 9, 9], [5], [7]]
    play_on(opens, turned, [-1], Line((), 0, (), -1, 0, 1, 0, take=False))
    assert (opens[0], turned[0]) == ([9], [9, 9])
