"""Tom's Time Bluff: what the scenario files do not reach, above all who is told what, and when."""

from collections import Counter
from functools import partial
from itertools import permutations
from random import Random

import pytest
from msgspec.structs import replace

from engine.chance import Stream
from engine.game import Step, Whispered
from engine.games.toms_time_bluff import TomsTimeBluff
from engine.games.toms_time_bluff_words import (
    DECKS,
    Accept,
    Accepted,
    Answered,
    Beam,
    Beamed,
    Challenge,
    Challenged,
    Decline,
    Direction,
    Draw,
    DrawInstead,
    Drew,
    EndTurn,
    Entry,
    HandsMoved,
    Hid,
    Hide,
    NameHour,
    Open,
    Partner,
    Pile,
    Place,
    Placed,
    Replaced,
    RoundEnded,
    RoundStarted,
    State,
    TookPile,
    Turned,
)
from engine.refusals import BadOptions, IllegalMove
from tests.games import playing

GAME = TomsTimeBluff()


def state(*hands, draw_pile="A1 A2 A3 A4", tops="R1 R5 R12", options=None, **changes) -> State:
    """A state of round 1 with seat 0 on turn, one open clock on each place and the given hands."""
    n = len(hands)
    return replace(
        State(
            options=GAME.options(options or {}, n),
            round=1,
            dealer=n - 1,
            turn=0,
            phase="hide",
            piles=tuple(Pile((Entry(top),)) for top in tops.split()),
            draw_pile=tuple(draw_pile.split()),
            hands=tuple(tuple(hand.split()) for hand in hands),
            laid=((),) * n,
            answers=(None,) * n,
            totals=(0,) * n,
            skips=(False,) * n,
        ),
        **changes,
    )


play = partial(playing.play, GAME)


def random_match(seed: int, seats: int, **options):
    """Yield every step of a match in which random legal moves are made."""
    random, chance = Random(seed), Stream(bytes(32), "test", seed)
    step: Step[State] = GAME.setup(GAME.options(options, seats), seats, chance)
    while True:
        yield step
        seats_due = GAME.to_act(step.state)
        if not seats_due:
            return
        seat = random.choice(seats_due)
        step = GAME.apply(step.state, seat, random.choice(GAME.legal(step.state, seat)), chance)


def window(seats: int) -> State:
    """The state in which everybody else owes an answer to seat 0's right card R2."""
    hands = ["R2 S9 G1 G2 G3 G4 G5 G6", *(["S1 S2"] * (seats - 1))]
    return play(state(*hands), (0, Hide(0, "R2")), (0, Open("S9")))[0]


@pytest.mark.parametrize("words", ["aaa", "aca", "caa", "aac", "cca", "ccc", "acc"])
def test_order_of_answers(words):
    """Sealed answers come to the same state in whatever order they arrive."""
    answers = {seat: Challenge() if word == "c" else Accept() for seat, word in enumerate(words, 1)}
    outcomes = set()
    for order in permutations(answers):
        now = window(4)
        for seat in order:
            if now.phase == "challenge" and seat in GAME.to_act(now):
                now, _ = play(now, (seat, answers[seat]))
        outcomes.add(now)
    assert len(outcomes) == 1


def test_sealed():
    """Until the window closes nobody but its giver can tell a challenge from an acceptance."""
    before = window(4)
    challenged, told_challenged = play(before, (2, Challenge()))
    accepted, told_accepted = play(before, (2, Accept()))

    assert told_challenged == told_accepted == [Answered(2)]
    assert GAME.table(challenged) == GAME.table(accepted)
    assert GAME.table(challenged).answered == (2,)
    assert GAME.to_act(challenged) == GAME.to_act(accepted) == (1, 3)
    for seat in range(4):
        assert GAME.legal(challenged, seat) == GAME.legal(accepted, seat)
        assert GAME.asked(challenged, seat) == GAME.asked(accepted, seat) == GAME.asked(before, seat)
    assert [GAME.own(challenged, seat).answer for seat in range(4)] == [None, None, "challenge", None]
    assert [GAME.own(accepted, seat).answer for seat in range(4)] == [None, None, "accept", None]


def test_asked():
    """The layer is asked its turn in every phase, the others only the window, a challenger what it has won."""
    now = window(3)
    assert [GAME.asked(now, seat) for seat in range(3)] == [("challenge", 1, 0), ("window", 1, 0), ("window", 1, 0)]
    lost, _ = play(now, (1, Challenge()))
    assert [GAME.asked(lost, seat) for seat in range(3)] == [("place", 1, 0), None, None]
    won, _ = play(play(state("A9 A3 A4", "S1", "S2"), (0, Hide(0, "A9")), (0, Open("A3")))[0], (1, Challenge()))
    assert [GAME.asked(won, seat) for seat in range(3)] == [("place", 1, 0), ("place", 1, 0), None]


def test_snooze_as_last_cards():
    """Going out with snooze marks the next seat, but nobody draws any more."""
    before = state("A2 R9 snooze", "S1", "S2")
    now, events = play(before, (0, Hide(0, "A2")), (0, Partner("snooze", "R9")))
    assert (now.skips, len(events), now.phase) == ((False, True, False), 1, "challenge")


def test_answer_once():
    """A seat that has answered cannot answer again, nor can the layer."""
    now, _ = play(window(3), (2, Accept()))
    for seat in (0, 2):
        with pytest.raises(IllegalMove):
            GAME.check(now, seat, Challenge())


def test_nearest_challenger():
    """The window closes at once when the nearest seat challenges; later wishes lapse unseen (check case 9)."""
    now, events = play(window(4), (3, Challenge()), (1, Challenge()))
    assert events[:2] == [Answered(1), Challenged(1, 0, "R2", right=True)]
    assert now.answers == (None,) * 4
    assert GAME.table(now).answered == ()
    assert GAME.to_act(now) == (0,)


def test_all_accept():
    """When nobody challenges the card stays hidden, and only its layer goes on knowing it."""
    now, events = play(window(3), (2, Accept()), (1, Accept()))
    assert events == [Answered(1), Accepted(0)]
    assert GAME.table(now).piles[0].cards[1] == Entry(None, None, 0)
    assert [len(GAME.own(now, seat).laid) for seat in range(3)] == [1, 0, 0]
    assert GAME.to_act(now) == (1,)


def test_hid():
    """Only the layer is told which card it has hidden."""
    _, events = play(state("A2 A3 A4", "S1", "S2"), (0, Hide(0, "A2")))
    assert [GAME.told(events, seat) for seat in (0, 1, 2, None)] == [[Hid(0, 0, "A2")], *[[Hid(0, 0, None)]] * 3]


def test_hidden_card_moves_nothing():
    """Seats that cannot see the hidden card get the same view whichever card it was."""
    one, other = "A2 A3 A4 A5", "A3 A4 A5 cuckoo"
    first, told_first = play(state(one, "S1", "S2"), (0, Hide(0, "A2")))
    second, told_second = play(state(other, "S1", "S2"), (0, Hide(0, "cuckoo")))
    assert GAME.table(first) == GAME.table(second)
    for seat in (1, 2):
        assert GAME.own(first, seat) == GAME.own(second, seat)
        assert GAME.told(told_first, seat) == GAME.told(told_second, seat)


def test_beamed():
    """Giver and receiver are told the beamed card, and the drawer what it drew."""
    before = state("A2 A3 A4 S9 beam", "S1", "S2")
    _, events = play(before, (0, Hide(0, "A2")), (0, Partner("beam", "S9")), (0, Beam("A3", 2)))
    assert GAME.told(events, 0) == [Beamed(0, 2, "A3"), Drew(0, 1, "turn", ("A1",))]
    assert GAME.told(events, 1) == [Beamed(0, 2, None), Drew(0, 1, "turn", ())]
    assert GAME.told(events, 2) == [Beamed(0, 2, "A3"), Drew(0, 1, "turn", ())]
    assert GAME.told(events, None) == GAME.told(events, 1)


def test_took_pile():
    """The taker alone is told the cards of the pile, in canonical order, other seats' hidden ones among them."""
    now, _ = play(window(2), (1, Accept()), (1, Hide(0, "S1")), (1, Open("S2")))
    now, events = play(now, (0, Challenge()))
    assert events[1] == Challenged(0, 0, "S1", right=False)
    pile = ("R1", "R2", "S1", "S2", "S9")
    assert GAME.told(events, 1)[2:] == [TookPile(1, 0, 5, pile)]
    assert GAME.told(events, 0)[2:] == GAME.told(events, None)[2:] == [TookPile(1, 0, 5, ())]
    assert now.hands[1] == pile
    assert now.laid == ((), ())
    assert (GAME.table(now).revealed, GAME.to_act(now)) == ("S1", (0,))


def test_revealed_is_cleared():
    """The card shown by a challenge is on the table until the next turn begins."""
    now, _ = play(window(2), (1, Challenge()))
    assert GAME.table(now).revealed == "R2"
    now, events = play(now, (0, Place("G6")))
    assert events == [Placed(0, 0, "G6", None)]
    assert (GAME.table(now).revealed, now.phase, now.turn, GAME.hidden(now).play) == (None, "hide", 1, None)


def test_wrong_vortex():
    """A hidden vortex under a joker is wrong; its challenger directs it before the layer takes the pile (case 3)."""
    before = state("vortex joker A7 A8 A9 A10 A11 A12", "S1", "S2 S3", draw_pile="cuckoo A1")
    now, events = play(before, (0, Hide(0, "vortex")), (0, Open("joker", 5)), (1, Challenge()))
    assert events == [Answered(1), Challenged(1, 0, "vortex", right=False)]
    assert (GAME.to_act(now), GAME.asked(now, 1)) == ((1,), ("vortex", 1, 0))

    now, events = play(now, (1, Direction("left")))
    assert events[:2] == [HandsMoved(1, "left"), Replaced(0, 1, "cuckoo", ())]
    assert now.hands == (("R1", "S2", "S3", "joker", "cuckoo"), ("A7", "A8", "A9", "A10", "A11", "A12"), ("S1",))
    assert (now.removed, now.phase, GAME.to_act(now)) == (1, "place", (1,))


@pytest.mark.parametrize(
    ("top", "hidden", "over", "right"),
    [
        (Entry("R1"), "joker", Open("A9"), True),
        (Entry("R1"), "joker", Open("vortex"), True),
        (Entry("R1"), "joker", Open("joker", 9), False),
        (Entry("joker", 1, 1), "joker", Open("A9"), False),
        (Entry("joker", 1, 1), "vortex", Open("A9"), True),
        (Entry("R1"), "vortex", Open("joker", 9), False),
        (Entry("joker", 1, 1), "A2", Open("joker", 9), True),
        (Entry("R12"), "A1", Open("A9"), True),
        (Entry("R1"), "A3", Open("A9"), False),
        (Entry("R1"), "kaputt", Open("A9"), False),
        (Entry("R1"), "cuckoo", Open("A9"), False),
    ],
)
def test_right(top, hidden, over, right):
    """A hidden card is right by its hour or as a wild card, and jokers next to jokers are caught (TB-8, TB-9)."""
    hand = sorted({hidden, over.card, "A4", "A5"}) + ([hidden] if hidden == over.card else [])
    before = state(" ".join(hand), "S1", "S2", draw_pile="A6 A7 A8", piles=(Pile((top,)), Pile(), Pile()))
    now, _ = play(before, (0, Hide(0, hidden)), (0, over))
    if over.card == "vortex":
        now, _ = play(now, (0, Direction("left")))
    _, events = play(now, (1, Challenge()))
    assert events[1] == Challenged(1, 0, hidden, right)


def test_set_aside_cards_go_under_the_pile():
    """Cards set aside are appended in the order turned before the pile is shuffled."""

    class Unshuffled:
        def shuffle(self, items):
            return tuple(items)

    before = state("vortex A1 A2", "S1", draw_pile="cuckoo kaputt A5 A6 A7")
    now, _ = play(before, (0, Hide(1, "A1")), (0, Open("vortex")))
    now, _ = GAME.apply(now, 0, Direction("left"), Unshuffled())
    assert now.hands[0] == ("A6", "S1")
    assert now.draw_pile == ("A7", "cuckoo", "kaputt")


def test_open_vortex_replaced():
    """What is turned and set aside for a vortex is told to everybody, shuffled in, and a joker gets its hour."""
    before = state("A1 A2 vortex", "S1", "S2 S3", draw_pile="cuckoo kaputt joker A5")
    now, events = play(
        before,
        (0, Hide(1, "A1")),
        (0, Open("vortex")),
        (0, Direction("right")),
        chance=[["kaputt", "A5", "cuckoo"]],
    )
    assert events == [HandsMoved(0, "right"), Replaced(1, 2, "joker", ("cuckoo", "kaputt"))]
    assert (now.draw_pile, now.phase) == (("kaputt", "A5", "cuckoo"), "joker_hour")
    assert now.hands == (("S1",), ("S2", "S3"), ("A2",))

    now, _ = play(now, (0, NameHour(7)))
    assert GAME.table(now).piles[1].cards[2] == Entry("joker", 7)
    assert (now.phase, now.hands[0]) == ("challenge", ("S1", "kaputt"))


def test_beam_goes_out():
    """Beaming the last card is going out: nothing is drawn, and all accepting wins the round (check case 6)."""
    before = state("A2 A3 S9 beam", "S1", "vortex", options={"target": 10})
    now, events = play(before, (0, Hide(2, "A2")), (0, Partner("beam", "S9")), (0, Beam("A3", 1)))
    assert (len(events), now.phase) == (1, "challenge")
    now, events = play(now, (1, Accept()), (2, Accept()))
    assert events == [Answered(2), Accepted(2), RoundEnded(0, (0, 2, 10))]
    assert GAME.result(now).winners == (0,)
    assert (GAME.to_act(now), GAME.legal(now, 0), GAME.asked(now, 0)) == ((), [], None)


def test_dead_end():
    """Without a card that may lie open the only move is to draw (check case 12)."""
    before = state("kaputt cuckoo", "S1", draw_pile="snooze A5 A6")
    assert GAME.legal(before, 0) == [DrawInstead()]
    now, _ = play(before, (0, DrawInstead()))
    assert (now.turn, now.phase, now.hands[0]) == (1, "hide", ("kaputt", "snooze", "cuckoo"))


def test_forgetting_runs_out():
    """The penalty for forgetting takes what the pile has, then the round ends without a winner."""
    before = state("A2 A3 A4", "S1", draw_pile="A1", options={"manual_draw": True, "target": 10}, totals=(9, 0))
    now, events = play(before, (0, Hide(0, "A2")), (0, Open("A3")), (0, EndTurn()))
    assert isinstance(events[0], Whispered)
    assert events[0].private == Drew(0, 1, "forgot", ("A1",))
    assert events[1:] == [RoundEnded(None, (2, 1))]
    assert GAME.result(now).scores == (11, 1)


def test_manual_draw():
    """With six cards left there is nothing to draw, only a turn to end."""
    before = state("A2 A3 A4 A5 A6 A7 A8 A9", "S1", options={"manual_draw": True})
    now, _ = play(before, (0, Hide(0, "A2")), (0, Open("A3")))
    assert GAME.legal(now, 0) == [EndTurn()]
    assert GAME.legal(replace(now, hands=(("A4",), ("S1",))), 0) == [Draw(), EndTurn()]


def test_legal_order():
    """Identical cards are one move; jokers name hours upwards; partners come after single cards."""
    now, _ = play(state("A1 A2 joker joker vortex kaputt", "S1"), (0, Hide(0, "vortex")))
    hours = [Open("joker", hour) for hour in range(1, 13)]
    partners = [Partner("kaputt", "A1"), Partner("kaputt", "A2")]
    assert GAME.legal(now, 0) == [Open("A1"), Open("A2"), *hours, *partners]


def test_place_held_without_a_card():
    """The winner of a challenge is asked for a card also if he has none to lay."""
    before = state("A9 A3 A4", "vortex cuckoo")
    now, _ = play(before, (0, Hide(0, "A9")), (0, Open("A3")), (1, Challenge()))
    assert (GAME.to_act(now), GAME.legal(now, 1)) == ((1,), [Decline()])


def test_next_round():
    """The round after is dealt within the same move: ended, started, and a pile started on each place."""
    before = state("A2 A3", "S1 S2", draw_pile="A1 A5")
    deck = list(DECKS[True])
    now, events = play(before, (0, Hide(0, "A2")), (0, Open("A3")), (1, Accept()), chance=[deck])
    assert events == [
        Answered(1),
        Accepted(0),
        RoundEnded(0, (0, 2)),
        RoundStarted(2, 0),
        *(Turned(place, f"R{place + 1}", ()) for place in range(3)),
    ]
    assert (now.turn, now.totals, now.last_round.scores, now.laid) == (1, (0, 2), (0, 2), ((), ()))


@pytest.mark.parametrize("seats", [2, 4, 6])
@pytest.mark.parametrize("options", [{}, {"partner_match": "hour", "manual_draw": True}, {"partner_cards": False}])
def test_views_and_hidden_determine_the_state(seats, options):
    """At every step the table, the seats' own views and the hidden part are enough to build the state again."""
    for now, _ in random_match(seats, seats, **options):
        table, hidden = GAME.table(now), GAME.hidden(now)
        owns = [GAME.own(now, seat) for seat in range(seats)]
        rebuilt = State(
            options=now.options,
            round=table.round,
            dealer=table.dealer,
            turn=table.turn,
            phase=table.phase,
            piles=table.piles,
            draw_pile=hidden.draw_pile,
            hands=tuple(own.hand for own in owns),
            laid=tuple(own.laid for own in owns),
            answers=tuple(own.answer for own in owns),
            totals=table.totals,
            skips=table.skips,
            removed=table.removed,
            revealed=table.revealed,
            play=hidden.play,
            last_round=table.last_round,
            result=GAME.result(now),
        )
        assert rebuilt == now


@pytest.mark.parametrize("seats", range(2, 7))
def test_no_card_is_lost(seats):
    """In a match of random moves every card is at any time in a hand, a pile, the draw pile or removed."""
    deck = Counter(DECKS[True])
    for now, _ in random_match(100 + seats, seats):
        cards = Counter(now.draw_pile)
        for hand, laid in zip(now.hands, now.laid, strict=True):
            cards.update((*hand, *(down.card for down in laid)))
        for pile in now.piles:
            cards.update(entry.card for entry in pile.cards if entry.card is not None)
        cards["vortex"] += now.removed
        assert +cards == deck


@pytest.mark.parametrize("seats", range(2, 7))
def test_what_differs_by_seat(seats):
    """Only `hid`, `drew`, `beamed` and `took_pile` differ by seat; what lies open is told to everybody alike."""
    for _, events in random_match(200 + seats, seats):
        whispered = {type(event.public) for event in events if isinstance(event, Whispered)}
        assert whispered <= {Hid, Drew, Beamed, TookPile}
        assert not any(isinstance(event, Hid | Drew | Beamed | TookPile) for event in events)


def test_clock_alone_ends_a_match():
    """Default moves are legal and bring a match to its end."""
    chance = Stream(bytes(32), "test", 0)
    now, _ = GAME.setup(GAME.options({}, 5), 5, chance)
    while seats := GAME.to_act(now):
        move = GAME.default(now, seats[-1])
        GAME.check(now, seats[-1], move)
        now, _ = GAME.apply(now, seats[-1], move, chance)
    assert max(GAME.result(now).scores) >= now.options.target


@pytest.mark.parametrize(
    "options",
    [{"target": 9}, {"target": 201}, {"partner_match": "clock"}, {"partner_cards": 1}, {"manual_draw": None}, {"x": 1}],
)
def test_bad_options(options):
    """Options out of their range, of another type or unknown are refused."""
    with pytest.raises(BadOptions):
        GAME.options(options, 3)


def test_catalogue():
    """The catalogue counts 59 cards in canonical order, 55 of them without partners."""
    counted = tuple(card.code for card in GAME.cards for _ in range(GAME.count(card.code, 4)))
    assert counted == DECKS[True]
    assert (len(DECKS[True]), len(DECKS[False])) == (59, 55)
    assert {card.group for card in GAME.cards if card.code not in DECKS[False]} == {"partner"}
