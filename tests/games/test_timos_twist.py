"""Timo's Twist: what neither the scenario files nor the second reading reach."""

import pytest
from msgspec.structs import replace

from engine.game import UNSET
from engine.games.timos_twist import DECK, Play, State, TimosTwist
from engine.refusals import BadOptions, BadSeats
from engine.scenario import ScriptedChance

GAME = TimosTwist()


def test_catalogue():
    """The catalogue has the 54 cards of TT-1 in canonical order, each once, with the points of TT-21."""
    cards = {card.code: card for card in GAME.cards}
    assert tuple(cards) == DECK
    assert (len(DECK), {GAME.count(code, seats) for code in DECK for seats in GAME.seats}) == (54, {1})
    assert sum(card.extra["value"] for card in GAME.cards) == 4 * (45 + 3 * 20) + 2 * 50


def test_german_titles_are_those_of_the_printed_rules():
    """The game and its colours are called as in the box."""
    colors = [
        next(card.de.split()[0] for card in GAME.cards if card.group == c) for c in ("blue", "green", "orange", "pink")
    ]
    assert colors == ["Blau", "Grün", "Orange", "Rosa"]
    assert GAME.titles["de"] == "Timo's Twist"


@pytest.mark.parametrize("target", [50, 1000])
def test_the_ends_of_the_range_are_in_it(target):
    """3.1."""
    assert GAME.options({"target": target}, 2).target == target


@pytest.mark.parametrize(
    "options",
    [{"target": 49}, {"target": 1001}, {"timo": "never"}, {"stack_equal": 1}, {"must_play": None}, {"x": 1}],
)
def test_bad_options(options):
    """Options out of their range, of another type or unknown are refused."""
    with pytest.raises(BadOptions):
        GAME.options(options, 3)


@pytest.mark.parametrize("seats", [1, 7])
def test_bad_seats(seats):
    """TT-23."""
    with pytest.raises(BadSeats):
        GAME.options({}, seats)


def test_the_last_card_of_a_match_closes_an_open_window():
    """3.7 before 3.9; the target reached exactly is reached."""
    before = State(
        options=GAME.options({"target": 50}, 2),
        round=1,
        dealer=1,
        turn=0,
        phase="play",
        direction=1,
        color="blue",
        pending=0,
        draw_pile=("green-1",),
        discards=("blue-1",),
        hands=(("blue-2",), ("wild",)),
        totals=(0, 0),
        window=1,
    )
    after, _ = GAME.apply(before, 0, Play("blue-2"), ScriptedChance([]))
    assert (GAME.table(after).timo_window, GAME.result(after).scores) == (None, (50, 0))


def test_a_black_card_names_a_colour_unless_it_is_the_last():
    """TT-13."""
    hands = (("wild",), ("blue-2", "wild"))
    before = State(GAME.options({}, 2), 1, 1, 0, "play", 1, "blue", 0, ("green-1",), ("blue-1",), hands, (0, 0))
    for last, moment in ((True, before), (False, replace(before, turn=1))):
        for color in (UNSET, "blue"):
            assert GAME.allows(moment, moment.turn, Play("wild", color)) == ((color is UNSET) == last)
