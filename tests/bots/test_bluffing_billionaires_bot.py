"""The computer players of Bluffing Billionaires: legal, blind to what is covered, each level with its own wits."""

from msgspec.structs import replace

from engine.bots.bluffing_billionaires import BluffingBillionairesBot
from engine.games.bluffing_billionaires import (
    CODES,
    Approve,
    BluffingBillionaires,
    BluffingBillionairesOptions,
    BonusPile,
    Challenge,
    Play,
    State,
    Vote,
)
from tests.bots.asking import choices

BOT = BluffingBillionairesBot()
GAME = BluffingBillionaires()


def state(*seats: str, **changes) -> State:
    """Seat 0 is to play. A seat is `hand/table card/shown`, as far as there is any; the rest is discarded."""
    parts = [(*seat.split("/"), "", "")[:3] for seat in seats]
    hands = tuple(tuple(sorted(hand.split(), key=CODES.index)) for hand, _, _ in parts)
    shown = tuple(tuple(cards.split()) for _, _, cards in parts)
    zeros = (0,) * len(seats)
    start = State(
        options=BluffingBillionairesOptions(),
        game=1,
        start=0,
        turn=0,
        phase="play",
        hands=hands,
        table_cards=tuple(card or None for _, card, _ in parts),
        seen_discards=shown,
        unseen_discards=tuple(
            tuple(code for code in CODES if code not in {*hands[seat], parts[seat][1], *shown[seat]})
            for seat in range(len(seats))
        ),
        bonus=(BonusPile(),) * len(seats),
        points=zeros,
        coins=zeros,
    )
    return replace(start, **changes)


def vote(*seats: str, **changes) -> State:
    """Seat 0 has played, the others are to answer."""
    voters = tuple(seat for seat in range(1, len(seats)) if "/" in seats[seat])
    return state(*seats, phase="vote", voters=voters, **changes)


def moves(position: State, level: str, seat: int = 0) -> set:
    """What a seat does, with any of twenty streams of chance."""
    return choices(BOT, position, len(position.hands), seat, level)


def without(*codes: str) -> str:
    return " ".join(code for code in CODES if code not in codes)


def test_reckless_plays_any_card_and_gives_any_answer():
    assert moves(state("2 5 9", without("4") + "/4"), "reckless") == {Play("2"), Play("5"), Play("9")}
    assert moves(vote(without("1") + "/1", without("10") + "/10"), "reckless", 1) == {Approve(), Challenge()}


def test_clever_challenges_with_a_card_that_beats_more_than_half():
    """Six of the ten values are not above a 6."""
    for card, answer in (("5", Approve()), ("6", Challenge())):
        assert moves(vote(without("1") + "/1", f"{without(card)}/{card}"), "clever", 1) == {answer}


def test_clever_counts_the_cards_that_were_shown():
    """With the low cards gone a 6 beats few of the rest, with the high ones gone a 4 beats most."""
    assert moves(vote("5 7 8 9/10/1 2 3 4 6", without("6") + "/6"), "clever", 1) == {Approve()}
    assert moves(vote("1 2 5 6/3/4 7 8 9 10", without("4") + "/4"), "clever", 1) == {Challenge()}


def test_clever_plays_its_weakest_card_where_nobody_can_doubt_it():
    assert moves(state("2 5 9", "1 3 4"), "clever") == {Play("2")}


def test_clever_shows_strength_to_voters():
    """And bluffs now and then."""
    played = moves(state("2 5 9", "1 3 4/6"), "clever")
    assert {Play("9")} < played


def test_ruthless_leads_with_a_card_that_can_challenge():
    """Nobody can doubt it now, and whoever plays next has to fear it."""
    assert moves(state(without(), without()), "ruthless") == {Play("10")}


def test_ruthless_spends_no_more_than_it_takes():
    """One value is left for the card on the table: the lowest that beats it is enough."""
    known = "1 2/3/4 5 6 7 8 9 10"
    assert moves(state("1 2 4 10/5/3 6 7 8 9", known), "ruthless") == {Play("4")}


def test_ruthless_keeps_its_points_when_the_game_is_about_to_end():
    """The next seat ends it with its last card, on which there is no vote: high cards are for the score."""
    assert moves(state("8 9 10", "4"), "ruthless") == {Play("8")}


def test_ruthless_reads_an_approval():
    """Who let the last play pass holds no strong card, so less than the highest is strong enough."""
    seats = (f"{without('7')}/7", f"{without('9')}/9", f"{without('9')}/9", f"{without('10')}/10")
    approved = (Vote(1, False), Vote(2, False))
    assert moves(state(*seats), "ruthless") == {Play("10")}
    assert moves(state(*seats, votes=approved), "ruthless") & {Play("8"), Play("9")}


def test_ruthless_does_not_doubt_a_hand_that_must_be_strong():
    """With only high cards left in the active seat's set, only the highest challenges for certain."""
    strong = "8 9 10/7/1 2 3 4 5 6"
    for card in ("6", "7"):
        assert moves(vote(strong, f"{without(card)}/{card}"), "ruthless", 1) == {Approve()}
    assert moves(vote(strong, f"{without('10')}/10"), "ruthless", 1) == {Challenge()}
