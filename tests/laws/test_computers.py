"""The law of secrecy for computer players: what one is asked, and so what it does, depends on nothing it cannot see."""

import base64
import random
from typing import Any

import msgspec
import pytest

from engine import bots
from engine.bots import Bot, Question
from engine.chance import bot_key, commitment
from engine.game import encode
from engine.journal import Created, SeatPlan
from engine.match import Match
from tests.laws.matches import Case, Moment, cases, sample
from tests.laws.redeal import REDEALS

POSITIONS = {"reckless": 25, "clever": 25, "ruthless": 4}
"""Moments of a match at which a level is asked; it costs up to some milliseconds each time."""
CASES = [parameter for parameter in cases(2) if bots.versions(parameter.values[0].game.name)]


def begun(case: Case, bot: Bot, level: str) -> Match:
    """A match with this level on every seat, as a worker holds it."""
    match = Match(bytes(32))
    options = msgspec.to_builtins(case.game.options(case.options, case.seats))
    seats = (SeatPlan(level, 0, bot.version),) * case.seats
    promise = commitment(bytes(32), "law", case.game.rules).hex()
    match.create(Created("law", case.game.rules, options, seats, False, promise, ""), 0)
    return match


def question(match: Match, state: Any, moment: Moment, seat: int) -> Question | None:
    """What the worker would ask for a seat if the match stood so."""
    match.state = state
    match._asked = {number: match.game.asked(state, number) for number in match.players}
    match._asked_in = dict.fromkeys(match.players, state)
    match.prompts = dict.fromkeys(match.players, moment.version)
    return match.question(seat)


@pytest.mark.parametrize("case", CASES)
def test_a_computer_player_is_asked_and_does_the_same_whatever_it_cannot_see(case: Case):
    """Of every version and level, also where it may do nothing: byte for byte the same question, the same legal answer.

    All that a decision gets is in the question; it is what travels to the process that decides.
    """
    rng = random.Random(case.seed)
    for bot in bots.versions(case.game.name):
        for level in bot.levels:
            match, asked = begun(case, bot, level), 0
            for moment in sample(case, POSITIONS.get(level, 25)):
                for seat in range(case.seats):
                    twin = REDEALS[case.game.rules](moment.state, seat, rng)
                    one, two = [question(match, state, moment, seat) for state in (moment.state, twin)]
                    assert (one is None) == (two is None)
                    if one is None or two is None:
                        continue
                    asked += 1
                    assert encode(one) == encode(two)
                    move = bots.answer(one)
                    assert move in one.seen.legal or (move is None and not one.seen.owes)
                    assert bots.answer(two) == move
            assert asked


@pytest.mark.parametrize("case", CASES)
def test_a_question_holds_the_seats_view_and_no_key_to_the_deal(case: Case):
    """Table, own part and legal moves as every client of that seat gets them; the match's own key stays behind."""
    game = case.game
    for bot in bots.versions(game.name):
        match = begun(case, bot, bot.levels[0])
        for moment in sample(case, 25):
            for seat in range(case.seats):
                asked = question(match, moment.state, moment, seat)
                if asked is None:
                    continue
                seen = asked.seen
                assert seen.table == game.table(moment.state)
                assert seen.own == game.own(moment.state, seat)
                assert list(seen.legal) == game.legal(moment.state, seat)
                assert (seen.seat, seen.seats, seen.owes) == (seat, case.seats, seat in game.to_act(moment.state))
                assert asked.key == bot_key(match._key)
                assert base64.b64encode(match._key) not in encode(asked)
