"""Bombenziehen: what the scenario files do not reach, above all who is told what."""

from collections import Counter
from functools import partial

import pytest
from msgspec.structs import replace

from engine.chance import Stream
from engine.game import UNSET
from engine.games.bombenziehen import (
    BombDrawn,
    Bombenziehen,
    BombReturned,
    Draw,
    Drew,
    Eliminated,
    Known,
    Peeked,
    Place,
    PlaceRandom,
    Play,
    Played,
    Shuffled,
    Started,
    State,
    Stole,
    Won,
)
from engine.refusals import BadOptions, BadSeats, IllegalMove, MalformedMove
from tests.games import playing

GAME = Bombenziehen()


def state(pile="dud dud dud bomb", hands=("dud", "dud", "dud"), **changes) -> State:
    """A state with seat 0 on turn and nothing discarded; hands and pile as words."""
    seats = len(hands)
    return replace(
        State(
            turn=0,
            phase="act",
            owed=1,
            pile=tuple(pile.split()),
            alive=(True,) * seats,
            shields=(False,) * seats,
            hands=tuple(tuple(hand.split()) for hand in hands),
            infos=((),) * seats,
        ),
        **changes,
    )


play = partial(playing.play, GAME)
told = GAME.told


def test_seats_and_options_are_bounded():
    """BZ-1, 3.1."""
    with pytest.raises(BadSeats):
        GAME.options({}, 6)
    with pytest.raises(BadOptions):
        GAME.options({"duds_in_start_hand": 1}, 3)


@pytest.mark.parametrize(("seats", "total", "in_pile"), [(2, 29, 19), (3, 40, 25), (4, 52, 32), (5, 63, 38)])
def test_the_deck_grows_with_the_seats(seats, total, in_pile):
    """BZ-2: the table of totals and piles."""
    dealt, events = GAME.setup(GAME.options({}, seats), seats, Stream(b"deal", "test", 0))
    assert sum(GAME.count(card.code, seats) for card in GAME.cards) == total
    assert len(dealt.pile) == in_pile
    assert [len(hand) for hand in dealt.hands] == [5] * seats
    assert told(events, None) == [Started(dealt.turn)]


@pytest.mark.parametrize("seats", GAME.seats)
def test_no_card_is_ever_lost(seats):
    """BZ-24, and BZ-19: before every draw the pile holds one bomb less than seats live."""
    deck = Counter({card.code: GAME.count(card.code, seats) for card in GAME.cards})
    for number in range(5):
        for now in playing.playthrough(GAME, {"duds_in_start_hand": number % 2 == 1}, seats, number):
            waiting = ["bomb"] if now.phase == "place_bomb" else []
            places = [now.pile, now.discard, waiting, *now.hands]
            assert sum(map(Counter, places), Counter()) == deck
            if now.result is None:
                assert now.pile.count("bomb") + len(waiting) == sum(now.alive) - 1


@pytest.mark.parametrize("seats", GAME.seats)
def test_infos_are_true_and_views_with_the_pile_determine_the_state(seats):
    """3.6; and nothing else is remembered: the digest over views and hidden covers all there is."""
    for number in range(5):
        for now in playing.playthrough(GAME, {"duds_in_start_hand": number % 2 == 1}, seats, number):
            table, owns, hidden = GAME.table(now), [GAME.own(now, seat) for seat in range(seats)], GAME.hidden(now)
            assert all(now.pile[entry.index] == entry.card for own in owns for entry in own.known)
            again = State(
                turn=table.turn,
                phase=table.phase,
                owed=table.owed,
                pile=hidden.pile,
                alive=table.alive,
                shields=table.shields,
                hands=tuple(own.hand for own in owns),
                infos=tuple(own.known for own in owns),
                discard=table.discard,
                out=table.out,
                result=GAME.result(now),
            )
            assert again == now


def test_decisions_of_a_seat_have_different_names():
    """`asked`: a turn, a phase and the moves made in it never come back."""
    names = [
        (now.turn, GAME.asked(now, now.turn))
        for now in playing.playthrough(GAME, {"duds_in_start_hand": True}, 4, 1)
        if GAME.to_act(now)
    ]
    assert len(set(names)) == len(names)


def test_a_peek_is_told_to_the_peeker_alone():
    """3.7: the others learn that somebody peeked."""
    after, events = play(state(pile="bomb peek dud dud", hands=("peek", "dud", "dud")), Play("peek"))
    assert told(events, 0) == [Played(0, "peek", None, False), Peeked(0, ("bomb", "peek", "dud"))]
    assert told(events, 1) == told(events, None) == [Played(0, "peek", None, False), Peeked(0, ())]
    assert GAME.own(after, 1).known == ()


def test_a_peek_into_a_small_pile_shows_what_is_there():
    """BZ-12."""
    after, _ = play(state(pile="bomb dud", hands=("peek", "dud")), Play("peek"))
    assert after.infos[0] == (Known(0, "bomb"), Known(1, "dud"))


def test_a_peek_keeps_what_is_known_further_down():
    """3.6: only the positions that it shows are written."""
    deep = (Known(3, "dud"), Known(4, "bomb"))
    before = state(pile="dud dud dud dud bomb", hands=("peek", "dud"), infos=(deep, ()))
    assert play(before, Play("peek"))[0].infos[0][3:] == deep


def test_a_draw_from_the_bottom_drops_the_last_place_alone():
    """3.6: of several noted places only the one that is gone, in every map; the others neither go nor shift."""
    top, middle, last = Known(0, "dud"), Known(1, "bomb"), Known(2, "peek")
    infos = ((top, middle, last), (middle, last), (last,), (top, middle))
    before = state(pile="dud bomb peek", hands=("bottom", "dud", "dud", "dud"), infos=infos)
    after, _ = play(before, Play("bottom"))
    assert after.pile == ("dud", "bomb")
    assert after.infos == ((top, middle), (middle,), (), (top, middle))


def test_a_safe_card_is_told_to_the_drawer_alone():
    """3.7."""
    _, events = play(state(pile="peek bomb"), Draw())
    assert told(events, 0) == [Drew(0, "top", "peek")]
    assert told(events, 1) == told(events, None) == [Drew(0, "top", None)]


def test_a_stolen_card_is_told_to_thief_and_victim():
    """BZ-11: the card is picked from the victim's ordered hand."""
    after, events = play(state(hands=("steal", "peek cutter", "dud")), Play("steal", 1), chance=[1])
    assert told(events, 0) == told(events, 1) == [Played(0, "steal", 1, False), Stole(0, 1, "cutter")]
    assert told(events, 2) == told(events, None) == [Played(0, "steal", 1, False), Stole(0, 1, None)]
    assert after.hands == (("cutter",), ("peek",), ("dud",))


def test_a_blocked_steal_takes_nothing_and_draws_no_chance():
    """BZ-11: card and marker are spent."""
    before = state(hands=("steal", "peek", "dud"), shields=(False, True, False))
    after, events = play(before, Play("steal", 1))
    assert told(events, 2) == [Played(0, "steal", 1, True)]
    assert after.shields == (False, False, False)
    assert after.turn == 0


@pytest.mark.parametrize(("shield", "owed"), [(False, 2), (True, 1)])
def test_a_shove_ends_the_turn_and_its_event_names_whom_it_hits(shield, owed):
    """BZ-7, BZ-10: it sets what the next seat owes, whatever the shover owed."""
    before = state(hands=("shove", "dud", "dud"), shields=(False, shield, False), owed=2)
    after, events = play(before, Play("shove"))
    assert told(events, None) == [Played(0, "shove", 1, shield)]
    assert (after.turn, after.owed, after.shields[1]) == (1, owed, False)


def test_the_place_of_a_returned_bomb_is_told_to_the_placer_alone():
    """BZ-14: also of one that chance placed, and nobody else sees who chose."""
    before = state(pile="bomb dud dud", hands=("cutter", "dud", "dud"))
    _, chosen = play(before, Draw(), Place(1))
    after, random = play(before, Draw(), PlaceRandom(), chance=[1])
    assert chosen == random
    assert told(random, 0) == [BombReturned(0, 1)]
    assert told(random, 1) == told(random, None) == [BombReturned(0, None)]
    assert after.pile == ("dud", "bomb", "dud")
    assert after.infos == ((Known(1, "bomb"),), (), ())


def test_a_drawn_bomb_is_in_no_collection_until_it_is_returned():
    """Section 5, phase `place_bomb`; the cutter is discarded already."""
    after, events = play(state(pile="dud bomb", hands=("bottom cutter", "dud")), Play("bottom"))
    table = GAME.table(after)
    assert told(events, 1) == [Played(0, "bottom", None, False), BombDrawn(0, "bottom", True)]
    assert (table.phase, table.pile, table.bombs, table.discard) == ("place_bomb", 1, 0, ("bottom", "cutter"))
    assert GAME.legal(after, 0) == [Place(0), Place(1), PlaceRandom()]


def test_a_shuffle_clears_the_infos_of_all_seats():
    """BZ-13: the shuffler's too."""
    infos = ((Known(0, "dud"),), (Known(1, "bomb"),))
    after, events = play(
        state(pile="dud bomb", hands=("shuffle", "dud"), infos=infos), Play("shuffle"), chance=[["bomb", "dud"]]
    )
    assert after.infos == ((), ())
    assert told(events, 1) == [Played(0, "shuffle", None, False), Shuffled(0)]


def test_who_draws_a_bomb_without_a_cutter_is_out():
    """BZ-18: hand and bomb are discarded, the marker falls, what was owed lapses."""
    before = state(pile="bomb dud bomb", hands=("peek dud", "dud", "dud"), owed=2, shields=(True, False, False))
    after, events = play(before, Draw())
    left = ("peek", "dud", "bomb")
    assert told(events, None) == [BombDrawn(0, "top", False), Eliminated(0, left)]
    assert (after.discard, after.alive, after.out, after.shields[0]) == (left, (False, True, True), (0,), False)
    assert (after.turn, after.owed) == (1, 1)
    assert (GAME.out(before), GAME.out(after)) == ((), (0,))


def test_the_last_living_seat_wins_and_the_others_rank_by_how_long_they_lived():
    """BZ-18; the survivor keeps hand, infos and marker."""
    info = (Known(1, "dud"),)
    before = state(
        pile="bomb dud",
        hands=("dud", "peek", ""),
        alive=(True, True, False),
        out=(2,),
        shields=(False, True, False),
        infos=((), info, ()),
    )
    after, events = play(before, Draw())
    assert told(events, 1)[-1] == Won(1)
    assert after.result is not None
    assert (after.result.scores, after.result.winners) == ((2, 1, 3), (1,))
    assert (after.turn, after.phase, after.owed) == (0, "act", 0)
    assert (after.hands[1], after.infos[1], after.shields[1]) == (("peek",), (Known(0, "dud"),), True)
    assert [GAME.legal(after, seat) for seat in range(3)] == [[], [], []]


@pytest.mark.parametrize("move", [Play("steal"), Play("steal", 0), Play("peek", 1), Play("dud"), Play("cutter")])
def test_a_target_stands_exactly_for_a_steal_and_duds_and_cutters_are_not_played(move):
    """Section 5; BZ-16."""
    with pytest.raises(IllegalMove):
        GAME.check(state(hands=("peek steal dud cutter", "dud")), 0, move)


@pytest.mark.parametrize(
    "move", ['{"place":{}}', '{"place":{"index":null}}', '{"place":{"index":true}}', '{"play":{}}']
)
def test_a_required_field_is_an_integer_or_code_and_is_there(move):
    """Section 5: presence is explicit."""
    with pytest.raises(MalformedMove):
        GAME.move_json.decode(move.encode())


def test_an_absent_target_is_left_out_of_the_json():
    """Section 5: a move never carries null."""
    assert GAME.move_json.encode(Play("peek", UNSET)) == b'{"play":{"card":"peek"}}'
    assert GAME.move_json.encode(Play("steal", 0)) == b'{"play":{"card":"steal","target":0}}'
