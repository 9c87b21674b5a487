"""The computer players of Tom's Time Bluff: always legal, blind to what their seat cannot see, and not without wits."""

import random

import pytest
from msgspec.structs import replace

from engine.bots import seen
from engine.bots.toms_time_bluff import TomsTimeBluffBot
from engine.chance import Stream
from engine.games.toms_time_bluff import TomsTimeBluff
from engine.games.toms_time_bluff_words import (
    CODES,
    DECKS,
    Accept,
    Beam,
    Challenge,
    Decline,
    Draw,
    Entry,
    Hide,
    Laid,
    NameHour,
    Open,
    Partner,
    Pile,
    Place,
    Play,
    State,
)
from tests.laws.matches import cases, play

BOT = TomsTimeBluffBot()
GAME = TomsTimeBluff()
PLANNERS = pytest.mark.parametrize("level", ["clever", "ruthless"])
CASES = [case for case in cases(4) if case.values[0].game.name == GAME.name]


def stream(version: int = 0) -> Stream:
    return Stream(b"bots", "bot/0", version)


def choice(state: State, seat: int, level: str, version: int = 0):
    """What the seat does in this state, None if it has nothing to decide."""
    view = seen(GAME, state.options, len(state.hands), state, seat)
    return BOT.decide(view, level, stream(version)) if view else None


def choices(state: State, seat: int, level: str) -> list:
    """What the seat does with each of twenty streams of chance."""
    return [choice(state, seat, level, version) for version in range(20)]


def hand(cards: str) -> tuple[str, ...]:
    return tuple(sorted(cards.split(), key=CODES.index))


def state(*hands: str, tops: str = "R1 R5 R9", options=None, **changes) -> State:
    """Seat 0 is to hide a card; one open clock on each place; all other cards are in the draw pile."""
    held = tuple(hand(cards) for cards in hands)
    used = [*(card for cards in held for card in cards), *tops.split()]
    pile = list(DECKS[True])
    for card in used:
        pile.remove(card)
    start = State(
        options=GAME.options(options or {}, len(hands)),
        round=1,
        dealer=len(hands) - 1,
        turn=0,
        phase="hide",
        piles=tuple(Pile((Entry(card),)) for card in tops.split()),
        draw_pile=tuple(random.Random(1).sample(pile, len(pile))),
        hands=held,
        laid=((),) * len(hands),
        answers=(None,) * len(hands),
        totals=(0,) * len(hands),
        skips=(False,) * len(hands),
    )
    return replace(start, **changes)


def played(before: State, *moves) -> State:
    """The state after moves of seat 0."""
    for move in moves:
        GAME.check(before, 0, move)
        before = GAME.apply(before, 0, move, stream()).state
    return before


def test_every_phase_is_decided():
    """The positions above are of all kinds."""
    phases = {moment.state.phase for case in CASES for moment in play(case.values[0], 300)}
    assert phases == {"hide", "open", "beam", "vortex", "joker_hour", "draw", "challenge", "place"}


def test_reckless_now_and_then_does_anything():
    """It hides a wrong card beside a right one, it challenges and accepts, it forgets to draw."""
    hides = choices(state("A2 G7 S12", "A3 A4"), 0, "reckless")
    assert {move.card for move in hides} == {"A2", "G7", "S12"}
    window = played(state("A2 G7 S12", "A3 A4"), Hide(0, "A2"), Open("G7"))
    assert set(choices(window, 1, "reckless")) == {Challenge(), Accept()}
    forgetful = played(state("A2 G7 S12", "A3 A4", options={"manual_draw": True}), Hide(0, "A2"), Open("G7"))
    assert len(set(choices(forgetful, 0, "reckless"))) == 2


def test_clever_hides_a_right_clock_before_a_wild_card():
    assert set(choices(state("A2 A11 S4 G8 joker", "A3 A4"), 0, "clever")) == {Hide(0, "A2")}


def test_clever_bluffs_with_what_is_worth_nothing():
    """The cuckoo goes first if no card is right, on one of the smallest piles."""
    piles = (Pile((Entry("R1"),)), Pile((Entry("R5"), Entry(None, None, 1), Entry("S3"))), Pile((Entry("R9"),)))
    bluff = state("A1 S11 cuckoo", "A3 A7", piles=piles, laid=((), (Laid(1, 1, "S8"),)))
    assert {(move.card, move.place) for move in choices(bluff, 0, "clever")} <= {("cuckoo", 0), ("cuckoo", 2)}


@PLANNERS
def test_who_sees_every_card_that_would_be_right_challenges(level: str):
    """Four clocks of the due hour on table and hand, jokers and vortexes too: the hidden card is a bluff."""
    own = "A2 R2 S2 G2 joker joker joker vortex vortex vortex"
    window = played(state("A7 G8 S12 S4 S5 S6", own), Hide(0, "A7"), Open("G8"))
    assert set(choices(window, 1, level)) == {Challenge()}


@PLANNERS
def test_a_layer_with_many_cards_whose_hour_nobody_has_seen_is_believed(level: str):
    """And a big pile is not worth the risk."""
    pile = Pile((Entry("R1"), Entry(None, None, 1), Entry("S3"), Entry(None, None, 1), Entry("S1")))
    laid = ((), (Laid(0, 1, "S8"), Laid(0, 3, "S9")))
    before = state(
        "A2 G8 S12 S4 S5 S6", "A3 A4 A5", piles=(pile, Pile((Entry("R5"),)), Pile((Entry("R9"),))), laid=laid
    )
    assert set(choices(played(before, Hide(0, "A2"), Open("G8")), 1, level)) == {Accept()}


@PLANNERS
def test_partners_shed_three_cards(level: str):
    """A partner is laid with its clock where it can be."""
    open_phase = played(state("A2 A7 S12 S4 kaputt", "A3 A4 A5"), Hide(0, "A2"))
    assert {type(move) for move in choices(open_phase, 0, level)} == {Partner}


@PLANNERS
def test_the_worst_card_is_beamed_to_who_holds_fewest(level: str):
    beam = played(state("A2 S7 G12 cuckoo beam", "A3 A4 A5", "A6", "A8 A9"), Hide(0, "A2"), Partner("beam", "S7"))
    assert set(choices(beam, 0, level)) == {Beam("cuckoo", 2)}


@PLANNERS
def test_a_vortex_brings_the_smaller_hand(level: str):
    """Hands that move left come from the right, and the other way round."""
    vortex = played(state("A2 S7 G12 vortex", "A3 A4 A5", "A6", "A8"), Hide(0, "A2"), Open("vortex"))
    assert {move.to for move in choices(vortex, 0, level)} == {"left"}
    vortex = played(state("A2 S7 G12 vortex", "A3", "A6", "A8 A9 A10"), Hide(0, "A2"), Open("vortex"))
    assert {move.to for move in choices(vortex, 0, level)} == {"right"}


@PLANNERS
def test_a_named_hour_is_the_one_before_an_own_card(level: str):
    play = Play(0, 1, "vortex")
    pile = Pile((Entry("R1"), Entry(None, None, 0), Entry("joker")))
    named = state("A4 joker", "A3 A7", phase="joker_hour", play=play, laid=((Laid(0, 1, "A2"),), ()))
    named = replace(named, piles=(pile, *named.piles[1:]))
    assert set(choices(named, 0, level)) == {NameHour(3)}


@PLANNERS
def test_a_due_card_is_never_forgotten(level: str):
    draw = played(state("A2 G7 S12", "A3 A4", options={"manual_draw": True}), Hide(0, "A2"), Open("G7"))
    assert set(choices(draw, 0, level)) == {Draw()}


@PLANNERS
def test_the_last_card_is_placed(level: str):
    """Whoever may place his last card goes out."""
    place = state("A7 S12 S4", "A3", phase="place", play=Play(0, 1, "G8", challenger=1, right=False))
    place = replace(place, piles=(Pile(), *place.piles[1:]))
    assert set(choices(place, 1, level)) == {Place("A3")}
    assert GAME.apply(place, 1, Place("A3"), stream()).state.round == 2


@PLANNERS
def test_a_placement_is_sometimes_declined(level: str):
    """Two seats that always place can pass the same cards to and fro for ever."""
    place = state("A7 S12 S4", "A3 A4 A10", phase="place", play=Play(0, 1, "G8", challenger=1, right=False))
    place = replace(place, piles=(Pile(), *place.piles[1:]))
    assert Decline() in choices(place, 1, level)


def test_ruthless_goes_out_with_a_right_card_hidden():
    """Of its last two cards the right one lies hidden, where a challenger would take the pile."""
    for last in ("A2 G12", "G7 joker", "S3 vortex"):
        move = choice(state(last, "A3 A4 A5"), 0, "ruthless")
        assert move.card == {"A2 G12": "A2", "G7 joker": "joker", "S3 vortex": "vortex"}[last]


def test_ruthless_takes_a_small_hand_with_a_vortex():
    """With many cards against one it opens the vortex."""
    swap = played(state("A2 A7 S12 S4 S7 G7 G10 vortex", "A3"), Hide(0, "A2"))
    assert choice(swap, 0, "ruthless") == Open("vortex")
