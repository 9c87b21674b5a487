"""Clever gedreht: what the scenario files do not reach, above all who is told what."""

from functools import partial

import pytest
from msgspec.structs import replace

from engine.game import Cards
from engine.games.clever_gedreht import CleverGedreht
from engine.games.clever_gedreht_words import (
    DECK,
    Draw,
    Drew,
    Fizzled,
    Flip,
    LastLap,
    LastRound,
    Reject,
    Reshuffled,
    RoundEnded,
    RoundStarted,
    State,
    Swap,
    Swapped,
    Take,
    Took,
    Use,
    Used,
)
from engine.refusals import BadOptions, IllegalMove
from engine.scenario import ScriptedChance
from tests.games import playing

GAME = CleverGedreht()


def state(seats=3, pile="1", discards="5", **changes) -> State:
    """A state of round 1, seat 0 on turn, where every seat has the open cards 1 to 9."""
    return replace(
        State(
            options=GAME.options({}, seats),
            round=1,
            dealer=seats - 1,
            turn=0,
            phase="source",
            open=(tuple("123456789"),) * seats,
            turned=(("",) * 9,) * seats,
            draw_pile=tuple(pile.split()),
            discards=tuple(discards.split()),
            totals=(0,) * seats,
        ),
        **changes,
    )


play = partial(playing.play, GAME)
told = GAME.told


@pytest.mark.parametrize("seats", [2, 3, 6])
def test_rounds_default_to_the_number_of_seats(seats):
    """CG-19: each seat deals once unless the match says otherwise."""
    assert GAME.options({}, seats).rounds == seats
    assert GAME.options({"rounds": 1}, seats).rounds == 1


@pytest.mark.parametrize("rounds", [0, 13, None, True, "3"])
def test_rounds_out_of_range_are_refused(rounds):
    """3.1: an option out of its range never makes a match."""
    with pytest.raises(BadOptions):
        GAME.options({"rounds": rounds}, 2)


@pytest.mark.parametrize(("seats", "slots"), [(2, 9), (4, 9), (5, 7), (6, 7)])
def test_five_seats_get_seven_cards(seats, slots):
    """CG-3; and 3.2: cards go round from the dealer's left, one at a time."""
    dealt, _ = GAME.setup(GAME.options({}, seats), seats, ScriptedChance([1, list(DECK)]))
    first = 2 % seats
    assert dealt.open[first] == tuple(DECK[: slots * seats : seats])
    assert dealt.open[1] == tuple(DECK[seats - 1 : slots * seats : seats])
    assert dealt.discards[0] == DECK[slots * seats]


def test_a_drawn_number_is_told_to_the_drawer_alone():
    """3.6: the others learn only that a card was drawn."""
    _, events = play(state(pile="7"), Draw())
    assert told(events, 0) == [Drew(0, "7")]
    assert told(events, 1) == told(events, None) == [Drew(0, None)]


def test_a_drawn_card_that_is_turned_stays_secret():
    """3.6: the slot, the face and the replaced card are public, the card is its owner's."""
    _, events = play(state(pile="7"), Draw(), Use(2, "turned"))
    assert told(events, 0) == [Used(0, 2, "turned", "3", "7")]
    assert told(events, 2) == told(events, None) == [Used(0, 2, "turned", "3", None)]


def test_a_drawn_card_that_is_laid_open_is_public():
    """3.6."""
    _, events = play(state(pile="7"), Draw(), Use(2, "open"))
    assert told(events, 1) == [Used(0, 2, "open", "3", "7")]


def test_a_taken_card_is_public_though_turned():
    """3.6: everybody saw it on the discard pile."""
    _, events = play(state(), Take())
    assert events == [Took(0, "5")]
    _, events = play(state(), Take(), Use(0, "turned"))
    assert told(events, 1) == [Used(0, 0, "turned", "1", "5")]


def test_swapped_names_both_cards_as_they_lay_before():
    """Section 5: `card` is the one given away, `other_card` the one received."""
    after, events = play(state(pile="swap"), Draw(), Swap(0, 2, 8))
    assert events == [Swapped(0, 0, 2, 8, "1", "9")]
    assert (after.open[0][0], after.open[2][8]) == ("9", "1")
    assert (after.turn, after.phase) == (1, "source")


def test_an_action_card_without_target_fizzles_in_public():
    """CG-10, CG-11."""
    after, events = play(state(pile="flip"), Draw())
    assert told(events, 1) == [Drew(0, "flip"), Fizzled(0, "flip")]
    assert (after.discards[-1], after.turn) == ("flip", 1)


def test_covered_discards_are_shuffled_from_bottom_to_top():
    """CG-18: the top discard stays, and the move that needed the card goes on."""
    seen = []

    class Watching(ScriptedChance):
        def shuffle(self, items):
            seen.append(tuple(items))
            return super().shuffle(items)

    after, events = GAME.apply(state(pile="", discards="2 9 3 5"), 0, Draw(), Watching([["3", "2", "9"]]))
    assert seen == [("2", "9", "3")]
    assert told(events, 0) == [Reshuffled(3), Drew(0, "3")]
    assert (after.draw_pile, after.discards) == (("2", "9"), ("5",))


def test_the_turn_that_empties_a_grid_ends_before_the_last_lap_begins():
    """CG-16: the finisher is named, and no turn of his follows."""
    last = ("",) * 8 + ("9",)
    before = state(pile="7 1 1", open=(last, *state().open[1:]), turned=((*tuple("12345678"), ""), *state().turned[1:]))
    after, events = play(before, Draw(), Reject(8))
    assert events[-1] == LastLap(0)
    assert (after.finisher, after.turn) == (0, 1)


def end_of_lap(**changes) -> State:
    """Seat 1 finished with two nines and rubbish; seat 0 has the last turn of the lap."""
    grids = {"open": (tuple("123456789"), ("",) * 9), "turned": (("",) * 9, ("flip",) * 7 + ("9", "9"))}
    return state(2, finisher=1, **{**grids, **changes})


def test_a_flip_in_the_last_lap_costs_the_finisher_the_card_and_gives_no_turn():
    """CG-17; the round ends with the lap, and its dealer's left neighbour deals next (CG-20)."""
    after, events = play(end_of_lap(pile="flip"), Draw(), Flip(1, 8), chance=[list(DECK)])
    assert events[1:] == [RoundEnded(1, (0, 9)), RoundStarted(2, 0, DECK[18])]
    assert (after.round, after.dealer, after.turn, after.finisher) == (2, 0, 1, None)
    assert after.last_round == LastRound((0, 9), (Cards(tuple("123456789")), Cards(("flip",) * 7 + ("9", "9"))))


def test_a_protected_finisher_is_no_target():
    """CG-17, option `protect_finisher`: with nobody else to flip the card fizzles."""
    options = GAME.options({"protect_finisher": True, "rounds": 1}, 2)
    _, events = play(end_of_lap(pile="flip", options=options), Draw())
    assert events[1:] == [Fizzled(0, "flip"), RoundEnded(1, (0, 18))]


def test_the_table_keeps_its_last_values_when_the_match_is_over():
    """Section 5: phase, turn, finisher and grids stay, no card is in hand, and nobody is asked."""
    after, _ = play(end_of_lap(pile="7", options=GAME.options({"rounds": 1}, 2)), Draw(), Use(0, "turned"))
    table = GAME.table(after)
    assert (table.turn, table.phase, table.finisher, table.taken) == (0, "decide", 1, None)
    assert table.grids[0] == Cards(("", *"23456789"))
    assert table.totals == (7, 18)
    assert GAME.own(after, 0).drawn is None
    assert GAME.hidden(after).over
    assert GAME.legal(after, 0) == []


@pytest.mark.parametrize("move", [Use(-1, "open"), Use(9, "open"), Reject(-1), Reject(2**70)])
def test_slots_outside_the_grid_are_illegal(move):
    """A negative slot does not count from the end."""
    before, _ = play(state(pile="7"), Draw())
    with pytest.raises(IllegalMove):
        GAME.check(before, 0, move)


def test_copies_add_up_to_the_deck():
    """CG-2."""
    assert sum(GAME.count(card.code, 4) for card in GAME.cards) == len(DECK) == 110
