"""Bluffing Billionaires: what the scenario files do not reach, above all who is told what."""

from functools import partial
from itertools import permutations

import pytest
from msgspec.structs import replace

from engine.game import encode
from engine.games.bluffing_billionaires import (
    CODES,
    Approve,
    BluffingBillionaires,
    Bonus,
    BonusPile,
    Challenge,
    Compared,
    Discarded,
    GameEnded,
    GameStarted,
    Hidden,
    Play,
    Played,
    Revealed,
    Shown,
    State,
    Took,
    Vote,
    Voted,
    VotesShown,
)
from engine.refusals import BadOptions, BadSeats, IllegalMove
from engine.scenario import ScriptedChance
from tests.games import playing

GAME = BluffingBillionaires()


def state(seats=3, cards=(), **changes) -> State:
    """The first game, seat 0 on turn, `cards` lying in front of the seats (`""`: none) and out of their hands."""
    fresh = GAME.setup(GAME.options({}, seats), seats, ScriptedChance([0])).state
    lying = tuple(cards) or ("",) * seats
    hands = tuple(tuple(code for code in CODES if code != card) for card in lying)
    return replace(replace(fresh, hands=hands, table_cards=tuple(card or None for card in lying)), **changes)


play = partial(playing.play, GAME)
told = GAME.told


def looks(now: State, seat) -> bytes:
    """All that a seat, or a spectator (None), may know of a state."""
    return encode([GAME.table(now), [] if seat is None else [GAME.own(now, seat), GAME.legal(now, seat)]])


@pytest.mark.parametrize("games", [0, 13, None, True, "2"])
def test_options_and_seats_are_bounded(games):
    """3.1, BB-1."""
    with pytest.raises(BadOptions):
        GAME.options({"games": games}, 2)
    with pytest.raises(BadSeats):
        GAME.options({}, 7)


def test_the_catalogue_tells_coins_and_one_card_of_each_code_a_seat():
    """BB-2, BB-3: 22 coins a set."""
    assert [card.extra["coins"] for card in GAME.cards] == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4]
    assert {GAME.count(card.code, 6) for card in GAME.cards} == {6}


@pytest.mark.parametrize("seats", GAME.seats)
def test_every_seat_keeps_its_ten_cards_somewhere(seats):
    """BB-4: hands, table, discards and bonus piles hold one set a seat at all times."""
    for number in range(3):
        for now in playing.playthrough(GAME, {"games": 2}, seats, number):
            for seat in range(seats):
                won = [bonus.card for pile in now.bonus for bonus in pile.cards if bonus.owner == seat]
                lying = [card for card in now.table_cards[seat : seat + 1] if card]
                places = [now.hands[seat], now.seen_discards[seat], now.unseen_discards[seat], won, lying]
                assert sorted((card for place in places for card in place), key=int) == list(CODES)


@pytest.mark.parametrize("seats", GAME.seats)
def test_the_views_alone_determine_the_state(seats):
    """Nothing is hidden from all seats, so the digest over the views covers all there is."""
    for number in range(3):
        for now in playing.playthrough(GAME, {"games": 2}, seats, number):
            table, owns = GAME.table(now), [GAME.own(now, seat) for seat in range(seats)]
            again = State(
                options=now.options,
                game=table.game,
                start=table.start,
                turn=table.turn,
                phase=table.phase,
                hands=tuple(own.hand for own in owns),
                table_cards=tuple(own.table_card for own in owns),
                seen_discards=tuple(pile.known for pile in table.discards),
                unseen_discards=tuple(own.discarded for own in owns),
                bonus=table.bonus,
                points=table.points,
                coins=table.coins,
                voters=table.voters,
                answers=tuple(Vote(seat, own.answer == "challenge") for seat, own in enumerate(owns) if own.answer),
                votes=table.votes,
                revealed=table.revealed,
                last_round=table.last_round,
                result=GAME.result(now),
            )
            assert again == now
            assert GAME.hidden(now) == Hidden()


def test_sealed_answers_give_the_same_outcome_in_any_order():
    """BB-8: neither state nor events nor chance depend on who answers first."""
    opened, _ = play(state(4, ("", "5", "8", "9")), (0, Play("7")))
    answers = [(1, Challenge()), (2, Challenge()), (3, Approve())]
    outcomes = [play(opened, *order, chance=[0, 0]) for order in permutations(answers)]
    assert (
        len({encode([GAME.table(after), *(GAME.own(after, seat) for seat in range(4))]) for after, _ in outcomes}) == 1
    )
    assert len({GAME.event_json.encode_list(told(events[1:], None)) for _, events in outcomes}) == 1


@pytest.mark.parametrize("other", [0, 2, 3, None])
def test_an_answer_is_known_to_its_voter_alone_until_all_are_in(other):
    """3.7: table, other views, decisions and events are the same for either answer."""
    opened, _ = play(state(4, ("", "5", "8", "9")), (0, Play("7")))
    approved, quiet = play(opened, (1, Approve()))
    challenged, loud = play(opened, (1, Challenge()))
    assert looks(approved, other) == looks(challenged, other)
    assert told(quiet, other) == told(loud, other) == [Voted(1)]
    assert [GAME.asked(approved, seat) for seat in range(4)] == [GAME.asked(challenged, seat) for seat in range(4)]
    assert GAME.table(approved).answered == (1,)
    assert (GAME.own(approved, 1).answer, GAME.own(challenged, 1).answer) == ("approve", "challenge")


def test_an_answer_leaves_the_question_of_the_other_voters_as_it_was():
    """Section 5: a voter is asked that vote, however many have answered, until he has."""
    opened, _ = play(state(3, ("", "5", "8")), (0, Play("7")))
    after, _ = play(opened, (2, Approve()))
    assert GAME.asked(after, 1) == GAME.asked(opened, 1) is not None
    assert GAME.asked(after, 2) is None
    with pytest.raises(IllegalMove):
        GAME.check(after, 2, Challenge())


def test_a_face_down_card_and_the_one_it_replaces_are_told_to_their_owner_alone():
    """BB-6, BB-19."""
    after, events = play(state(3, ("10", "", "")), (0, Play("3")))
    assert told(events, 0) == [Played(0, "3"), Discarded(0, "10")]
    assert told(events, 1) == told(events, None) == [Played(0, None), Discarded(0, None)]
    assert GAME.own(after, 0).discarded == ("10",)
    assert GAME.table(after).discards[0].known == ()
    assert GAME.table(after).discards[0].hidden == 1


def test_without_a_table_card_elsewhere_nobody_votes():
    """BB-7."""
    after, _ = play(state(3), (0, Play("3")))
    assert (after.phase, after.turn) == ("play", 1)


def test_a_lone_challenger_wins_a_tie_and_takes_two_cards():
    """BB-12, BB-14; the approver's card stays face down."""
    opened, _ = play(state(3, ("", "6", "9")), (0, Play("6")))
    after, events = play(opened, (2, Approve()), (1, Challenge()), chance=[8])
    assert told(events, None) == [
        Voted(1),
        VotesShown((Vote(1, True), Vote(2, False))),
        Revealed((Shown(0, "6"), Shown(1, "6"))),
        Compared(0, 1, 1),
        Took(1, 0, "10", "hand"),
        Took(1, 0, "6", "table"),
    ]
    assert after.bonus[1] == BonusPile((Bonus("10", 0), Bonus("6", 0)))
    assert after.seen_discards == ((), ("6",), ())
    assert after.table_cards == (None, None, "9")


def test_challengers_are_handled_clockwise_from_the_active_seat():
    """BB-11, BB-13: the nearest takes the last hand card, for the next there is none and no chance is drawn."""
    before = state(3, ("9", "", "8"), turn=1)
    opened, _ = play(replace(before, hands=(before.hands[0], ("1", "2"), before.hands[2])), (1, Play("1")))
    after, events = play(opened, (0, Challenge()), (2, Challenge()), chance=[0])
    assert told(events, 0)[3:] == [Compared(1, 2, 2), Took(2, 1, "2", "hand"), Compared(1, 0, 0)]
    assert after.seen_discards == (("9",), ("1",), ("8",))
    assert after.turn == 2


def test_a_turn_that_begins_with_an_empty_hand_ends_the_game():
    """BB-10: no sooner than that turn begins, and it is that seat's turn that ended it."""
    after, events = play(state(2, ("", ""), hands=(("4", "9"), ())), (0, Play("4")))
    assert told(events, 1)[-1] == GameEnded(1, (9, 0), (0, 0))
    assert after.turn == 1
    assert after.result is not None
    assert after.result.winners == (0,)


def test_the_last_hand_card_ends_the_game_without_a_vote_and_scores_nothing():
    """BB-9, BB-17: hand values and bonus coins count, the table card does not."""
    bonus = (BonusPile(), BonusPile((Bonus("10", 0), Bonus("3", 0))))
    after, events = play(state(2, hands=(("10",), ("4", "9")), table_cards=(None, "5"), bonus=bonus), (0, Play("10")))
    assert told(events, None) == [Played(0, None), GameEnded(1, (0, 18), (0, 5))]
    assert (GAME.table(after).phase, GAME.table(after).turn, GAME.table(after).voters) == ("play", 0, ())


@pytest.mark.parametrize(("lost", "winners"), [("9", (0, 1)), ("6", (0,))])
def test_equal_points_are_decided_by_coins_and_then_shared(lost, winners):
    """BB-18: the coins of the bonus piles."""
    hand = ("2",) if lost == "9" else ("3",)
    bonus = (BonusPile((Bonus("8", 2),)), BonusPile((Bonus(lost, 2),)), BonusPile())
    after, _ = play(state(3, hands=(("2",), hand, ("1",)), turn=2, bonus=bonus), (2, Play("1")))
    assert after.result is not None
    assert after.result.scores == (5, 5, 0)
    assert after.result.winners == winners


def test_the_next_game_starts_one_seat_further_with_full_hands():
    """BB-16: points and coins are added up, the last hands become public, the vote is forgotten."""
    before = state(2, hands=(("10",), ("9",)), options=GAME.options({"games": 2}, 2), votes=(Vote(1, False),))
    after, events = play(before, (0, Play("10")))
    assert told(events, None)[1:] == [GameEnded(1, (0, 9), (0, 0)), GameStarted(2, 1)]
    assert (after.turn, after.hands, after.points, after.votes) == (1, (CODES, CODES), (0, 9), ())
    assert after.last_round is not None
    assert [hand.cards for hand in after.last_round.hands] == [(), ("9",)]
    assert after.result is None


def test_ten_is_the_highest_card_and_the_clock_plays_the_lowest():
    """Section 5, canonical order; 3.6."""
    before = state(2, hands=(("2", "9", "10"), CODES))
    assert GAME.legal(before, 0) == [Play("2"), Play("9"), Play("10")]
    assert GAME.default(before, 0) == Play("2")
