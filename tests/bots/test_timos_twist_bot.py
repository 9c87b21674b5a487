"""The computer players of Timo's Twist: always legal, blind to what their seat cannot see, awake or not at windows."""

import pytest

from engine.bots import seen
from engine.bots.timos_twist import (
    BIT,
    DRAW,
    FITS,
    KEEP,
    LADDER,
    OPEN,
    STACKS,
    Line,
    TimosTwistBot,
    _worlds,
    cards,
    play_on,
)
from engine.chance import Stream
from engine.games.timos_twist import (
    COLOR,
    COLORS,
    DECK,
    ORDER,
    CallTimo,
    Catch,
    Draw,
    Keep,
    Play,
    PlayDrawn,
    State,
    Take,
    TimosTwist,
    TimosTwistOptions,
    playable,
)
from tests.bots.asking import cases_of, choices, stream
from tests.laws.matches import Case, play, sample

BOT = TimosTwistBot()
GAME = TimosTwist()
LEVELS = pytest.mark.parametrize("level", BOT.levels)
PLANNERS = pytest.mark.parametrize("level", ["clever", "ruthless"])
CASES = pytest.mark.parametrize("case", cases_of(GAME.name))
WINDOWS = [parameter.values[0] for parameter in cases_of(GAME.name)]


def state(*hands: str, top: str = "green-5", **changes) -> State:
    """Seat 0 is on turn. Other hands may be given by their sizes, the cards out of sight lie anywhere."""
    held = [() if hand.isdigit() else tuple(sorted(hand.split(), key=ORDER.__getitem__)) for hand in hands]
    rest = [code for code in DECK if code != top and not any(code in hand for hand in held)]
    for seat, hand in enumerate(hands):
        if hand.isdigit():
            held[seat], rest = tuple(rest[: int(hand)]), rest[int(hand) :]
    fields = {
        "options": TimosTwistOptions(),
        "round": 1,
        "dealer": 0,
        "turn": 0,
        "phase": "play",
        "direction": 1,
        "color": COLOR.get(top),
        "pending": 0,
        "draw_pile": tuple(rest[:8]),
        "discards": (*rest[8:], top),
        "hands": tuple(held),
        "totals": (0,) * len(hands),
    }
    return State(**{**fields, **changes})


def moves(position: State, level: str, seat: int = 0) -> set:
    """What a seat does, with any of twenty streams of chance."""
    return choices(BOT, position, len(position.hands), seat, level)


@LEVELS
def test_every_seat_answers_while_a_window_is_open(level: str):
    """Where nothing is owed it may do nothing, but only reckless does."""
    moments = [(case, moment) for case in WINDOWS for moment in play(case, 300) if moment.state.window is not None]
    assert len(moments) > 50
    for case, moment in moments:
        position, options = moment.state, GAME.options(case.options, case.seats)
        for seat in range(case.seats):
            view = seen(GAME, options, case.seats, position, seat)
            move = BOT.decide(view, level, stream(moment.version))
            assert move in view.legal or (move is None and not view.owes and level == "reckless")
            if level != "reckless":
                assert move == (CallTimo() if seat == position.window else Catch())


def test_reckless_forgets_timo_and_seldom_watches():
    hand = state("green-9 orange-2", "7")
    assert moves(hand, "reckless") == {Play("green-9"), Play("green-9", timo=True)}
    window = state("7", "blue-9", "7", window=1)
    assert moves(window, "reckless", seat=2) == {None, Catch()}
    assert moves(window, "reckless", seat=1) == {None, CallTimo()}


@PLANNERS
def test_nobody_with_a_plan_forgets_timo(level: str):
    assert moves(state("green-9 orange-2", "7"), level) == {Play("green-9", timo=True)}
    drawn = state("green-9 orange-2", "7", "7", phase="drawn", drawn="green-9")
    assert moves(drawn, level) == {PlayDrawn(timo=True)}


@PLANNERS
def test_a_forgotten_timo_is_caught(level: str):
    """Before the own turn, and out of turn."""
    window = state("green-9 green-2", "7", "blue-9", window=2)
    assert moves(window, level, seat=0) == {Catch()}
    assert moves(window, level, seat=1) == {Catch()}
    assert moves(window, level, seat=2) == {CallTimo()}


@PLANNERS
@pytest.mark.parametrize("seats", [2, 4])
def test_the_last_card_is_laid(level: str, seats: int):
    for options in (TimosTwistOptions(), TimosTwistOptions(must_play=False)):
        assert moves(state("wild", *["7"] * (seats - 1), options=options), level) == {Play("wild")}


@PLANNERS
@pytest.mark.parametrize("seats", [2, 4])
def test_black_cards_are_kept_for_later(level: str, seats: int):
    position = state("wild plus4 green-2 orange-3 pink-9 blue-1", *["7"] * (seats - 1))
    assert moves(position, level) == {Play("green-2")}


@PLANNERS
def test_a_wild_card_names_the_colour_that_is_held_most(level: str):
    position = state("wild pink-9 pink-2 pink-3 blue-1", "7", "7", "7", top="green-5")
    assert moves(position, level) == {Play("wild", "pink")}


@PLANNERS
@pytest.mark.parametrize("seats", [2, 4])
def test_a_pending_draw_is_passed_on(level: str, seats: int):
    position = state("orange-plus2 blue-3 blue-4", *["7"] * (seats - 1), top="green-plus2", phase="pending", pending=2)
    assert moves(position, level) == {Play("orange-plus2")}


def test_clever_lays_the_dearest_card():
    assert moves(state("green-2 green-9 green-4 orange-skip", "7"), "clever") == {Play("green-9")}
    assert moves(state("green-2 green-9 green-plus2 orange-skip", "7"), "clever") == {Play("green-plus2")}


def test_clever_draws_only_without_a_card_that_fits():
    free = TimosTwistOptions(must_play=False)
    assert moves(state("green-2 blue-9", "7", options=free), "clever") == {Play("green-2", timo=True)}
    assert moves(state("pink-2 blue-9", "7", options=free), "clever") == {Draw()}
    assert moves(state("pink-2 blue-9", "7", phase="drawn", drawn="pink-2"), "clever") == {Keep()}
    assert moves(state("pink-2", "7", top="plus4", color="pink", phase="pending", pending=4), "clever") == {Take()}


def test_ruthless_holds_attacks_back():
    """Until the next seat is about to go out; clever wastes them."""
    hand = "green-plus2 green-3 orange-3 pink-7 pink-8"
    assert moves(state(hand, "7", "7", "7"), "ruthless") == {Play("green-3")}
    assert moves(state(hand, "1", "7", "7"), "ruthless") == {Play("green-plus2")}
    assert moves(state(hand, "7", "7", "7"), "clever") == {Play("green-plus2")}


def test_ruthless_keeps_black_cards_till_somebody_is_about_to_go_out():
    hand = "wild green-2 pink-1 pink-3 pink-4 pink-6 pink-7"
    assert moves(state(hand, "7", "7", "7"), "ruthless") == {Play("green-2")}
    assert moves(state(hand, "7", "7", "2"), "ruthless") == {Play("wild", "pink")}


def test_ruthless_turns_the_direction_away_from_a_short_hand():
    """And leaves it where the short hand lies behind."""
    hand = "green-twist green-8 orange-3 pink-7 pink-8 pink-1"
    assert moves(state(hand, "2", "7", "7", "7"), "ruthless") == {Play("green-twist")}
    assert moves(state(hand, "7", "7", "7", "2"), "ruthless") == {Play("green-8")}
    assert moves(state(hand, "7", "7", "7", "2", direction=-1), "ruthless") == {Play("green-twist")}


def test_ruthless_goes_out_in_one_turn_if_it_can():
    """Two seats: skip and twist keep the turn, the last card follows; laying the nine first would let go of it."""
    position = state("green-skip green-twist green-9", "1")
    assert not moves(position, "ruthless") & {Play("green-9")}


def test_ruthless_stops_a_seat_that_has_one_card():
    assert moves(state("green-plus2 green-9 orange-4 blue-7", "1"), "ruthless") == {Play("green-plus2")}


@pytest.mark.parametrize("stack_equal", [False, True])
def test_the_tables_of_what_fits_say_what_the_rules_say(stack_equal: bool):
    options = TimosTwistOptions(stack_equal=stack_equal)
    for top in LADDER:
        for color in (*COLORS, None):
            position = state("7", "7", top=top, color=color, options=options)
            fits = FITS[COLORS.index(color) if color else len(COLORS)][BIT[top]]
            assert fits == cards(*(code for code in DECK if playable(position, code)))
        if top == "plus4" or top.endswith("plus2"):
            position = state("7", "7", top=top, phase="pending", pending=2, options=options)
            assert STACKS[stack_equal][BIT[top]] == cards(*(code for code in DECK if playable(position, code)))


@pytest.mark.parametrize("twist_skips_two", [False, True])
@pytest.mark.parametrize("stack_equal", [False, True])
def test_rounds_are_played_on_as_clever_plays_them(twist_skips_two: bool, stack_equal: bool):
    """The rules with clever at both seats give the same winner and the same cards in hand."""
    ends = set()
    for number in range(60):
        options = TimosTwistOptions(1000, stack_equal, twist_skips_two)
        start = position = GAME.setup(options, 2, Stream(b"round", "game", number)).state
        first = None
        while position.round == 1 and len(position.draw_pile) > 8:
            view = seen(GAME, options, 2, position, position.turn)
            move = BOT.decide(view, "clever", stream(0))
            first = first or move
            position = GAME.apply(position, position.turn, move, Stream(b"round", "game", 1000)).state
        if position.round == 1:
            continue
        hands = [cards(*hand) for hand in start.hands]
        line = Line(
            top=BIT[start.discards[-1]],
            color=COLORS.index(start.color) if start.color else len(COLORS),
            pending=0,
            turn=start.turn,
            card=DRAW if isinstance(first, Draw) else BIT[first.card],
            named=COLORS.index(first.color) if isinstance(first, Play) and first.color else OPEN,
        )
        winner = play_on(hands, [BIT[code] for code in reversed(start.draw_pile)], [], line, options)
        assert not hands[winner]
        assert hands == [cards(*hand.cards) for hand in position.last_round.hands]
        ends.add(winner)
    assert ends == {0, 1}


def test_a_colour_is_named_once():
    """Seat 1 answers a wild card with plus4, names what it holds itself and goes out with it."""
    hands = [cards("wild", "green-1"), cards("plus4", "pink-1")]
    line = Line(BIT["green-5"], COLORS.index("green"), 0, 0, BIT["wild"], COLORS.index("blue"))
    pile = ["blue-1", "blue-2", "blue-3", "blue-4"]
    assert play_on(hands, [BIT[code] for code in pile], [], line, TimosTwistOptions()) == 1
    assert hands == [cards("green-1", *pile), 0]


@CASES
def test_imagined_worlds_hold_the_cards_out_of_sight(case: Case):
    """Every card once, the own hand as it is, and every other hand and pile in its size."""
    for moment in sample(case, 10):
        position = moment.state
        view = seen(GAME, position.options, case.seats, position, position.turn)
        for world in _worlds(view, 3, stream(0)):
            assert world.hands[position.turn] == cards(*view.own.hand)
            assert tuple(hand.bit_count() for hand in world.hands) == view.table.hand_sizes
            assert (len(world.pile), len(world.covered) + 1) == (view.table.draw_pile, view.table.discard_pile)
            held = [code for code in DECK if any(hand >> BIT[code] & 1 for hand in world.hands)]
            lying = [LADDER[card] for card in (*world.pile, *world.covered, BIT[view.table.top])]
            assert sorted(held + lying) == sorted(DECK)


def test_a_kept_card_passes_the_turn_on():
    """Seat 1 goes out with what it has; nothing is drawn."""
    hands = [cards("pink-1"), cards("green-1")]
    line = Line(BIT["green-5"], COLORS.index("green"), 0, 0, KEEP, OPEN)
    assert play_on(hands, [BIT["blue-1"]], [], line, TimosTwistOptions()) == 1
    assert hands == [cards("pink-1"), 0]
