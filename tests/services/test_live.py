"""A match in a worker's memory: when its computer players are due."""

import msgspec

from engine import bots, registry
from engine.chance import commitment
from engine.journal import Created, SeatPlan
from engine.match import Match
from services.commands import Leave
from services.engine.live import Limits, Live

GAME = registry.newest("bombenziehen")
THINKING = 5_000
START = 1_796_005_974_123


def began(*humans: str, computers: int) -> Live:
    """A match of Bombenziehen in which the humans sit on the first seats."""
    seats = (SeatPlan("open"),) * len(humans) + (SeatPlan("clever", THINKING, 1),) * computers
    match = Match(bytes(32))
    options = msgspec.to_builtins(GAME.options({}, len(seats)))
    promise = commitment(bytes(32), "m", GAME.rules).hex()
    match.create(Created("m", GAME.rules, options, seats, False, promise, ""), START)
    for name in humans:
        match.join(name, b"", name, START)
    return Live(match, Limits(60_000, 60_000, 60_000, 1000), None)


def step(live: Live) -> None:
    """Whoever is on turn draws, or does what a computer player does."""
    match = live.match
    [seat] = match.to_act
    question = match.question(seat)
    if question is not None:
        live.conclude(question, bots.answer(question), match.at + 10)
    else:
        match.time_out(seat, match.prompts[seat], match.at + 10)


def due_in(live: Live) -> int:
    """How long after it was asked the computer player on turn is due."""
    [seat] = live.match.to_act
    return live.wanted()[f"m:{seat}:{live.match.prompts[seat]}"] - live.match.prompt_at[seat]


def test_computers_take_their_time_while_a_human_can_still_move_and_none_when_only_they_are_left():
    """A seat that is out of the match is asked nothing any more; the human on it waits for the end alone."""
    live = began("Kim", "Lou", computers=3)
    match = live.match
    times: dict[int, set[int]] = {0: set(), 1: set(), 2: set()}
    while not match.over:
        if match.computer(match.to_act[0]) is not None:
            out = sum(seat in GAME.out(match.state) for seat in (0, 1))
            assert match.only_computers == (out == 2)
            times[out].add(due_in(live))
        step(live)
    assert times == {0: {THINKING}, 1: {THINKING}, 2: {0}}


def test_a_human_who_has_left_is_not_waited_for():
    live = began("Kim", "Lou", computers=2)
    match = live.match
    while 0 not in GAME.out(match.state):
        step(live)
    while match.computer(match.to_act[0]) is None:
        step(live)
    assert due_in(live) == THINKING
    live.decide(9, Leave("m", 1, match.seats[1].tenure or 0), match.at, 0)
    assert match.over or due_in(live) == 0


def test_computers_among_themselves_take_their_time():
    """Whoever set them against each other said how long they think."""
    live = began(computers=3)
    assert not live.match.only_computers
    assert due_in(live) == THINKING


def test_a_decision_on_a_prompt_that_is_answered_already_publishes_the_answer_once_more():
    """Its member of `due` goes with it, and whoever was asked first may have died before the views were out."""
    live = began("Kim", computers=3)
    while (question := live.match.question(live.match.to_act[0])) is None:
        step(live)
    move = bots.answer(question)
    live._listen()
    assert not live.conclude(question, move, live.match.at)
    answered, version = live.views.all_views(), live.match.version
    step(live)
    again = live.conclude(question, move, live.match.at)
    assert again == answered + live.views.all_views()
    assert live.match.version == version + 1
