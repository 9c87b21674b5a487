"""Laws about cards: none is lost, none appears, and views and hidden part together are the whole state."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from engine.game import encode
from engine.registry import AnyGame
from tests.laws.matches import GAMES, Case, cases, known, play, sample
from tests.laws.redeal import PLACES, REDEALS


def elsewhere(game: AnyGame, table: dict[str, Any]) -> Counter[str]:
    """Cards that lie in no field and that the table counts or implies."""
    if game.name == "toms_time_bluff":
        return Counter(vortex=table["removed"])
    if game.name == "bombenziehen" and table["phase"] == "place_bomb":
        return Counter(bomb=1)
    return Counter()


def codes(value: Any, wanted: set[str]) -> Iterator[str]:
    """Every card code in a JSON value."""
    if isinstance(value, str) and value in wanted:
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from codes(item, wanted)
    elif isinstance(value, dict):
        for item in value.values():
            yield from codes(item, wanted)


def in_play(game: AnyGame, state: Any, seats: int) -> Counter[str]:
    """How many there are of each card, going by what the views and the hidden part say."""
    wanted = {card.code for card in game.cards}
    table = json.loads(encode(game.table(state)))
    parts = {
        "table": [table],
        "own": [json.loads(encode(game.own(state, seat))) for seat in range(seats)],
        "hidden": [json.loads(encode(game.hidden(state)))],
    }
    found = elsewhere(game, table)
    for place in PLACES[game.name]:
        part, field = place.split(".")
        for one in parts[part]:
            found.update(codes(one[field], wanted))
    return +found


@pytest.mark.parametrize("case", cases(3))
def test_cards_are_conserved(case: Case):
    """After every entry table, own and hidden hold each card that was dealt, and hold it once."""
    game = case.game
    dealt = in_play(game, case.start().state, case.seats)
    full = {card.code: game.count(card.code, case.seats) for card in game.cards}
    assert set(dealt.items()) <= set(full.items()), "a card is in play in all its copies or, by an option, not at all"
    if not case.options:
        assert dealt == full
    for moment in play(case, 500):
        if game.to_act(moment.step.state):
            assert in_play(game, moment.step.state, case.seats) == dealt


@pytest.mark.parametrize("case", cases(2))
def test_views_and_hidden_part_determine_the_state(case: Case):
    """Two states of a match that differ differ in the bytes of which the digest is taken, however alike they are.

    So do states that a seat, or a spectator, could not tell apart.
    """
    game, rng, redeal = case.game, random.Random(case.seed), REDEALS[case.game.rules]
    states: dict[bytes, Any] = {}
    for moment in sample(case, 40, entries=1500):
        near = [moment.state, moment.step.state]
        near += [redeal(moment.state, seat, rng) for seat in (None, *range(case.seats)) for _ in range(4)]
        for seat in range(case.seats):
            for move in game.legal(moment.state, seat)[:12]:
                step = game.apply(moment.state, seat, move, case.chance(moment.version))
                near.append(step.state)
                near += [
                    game.apply(step.state, other, answer, case.chance(moment.version)).state
                    for other in game.to_act(step.state)
                    for answer in game.legal(step.state, other)[:4]
                ]
        for state in near:
            assert states.setdefault(known(game, state, case.seats), state) == state


@GAMES
def test_every_game_says_where_its_cards_lie(game: AnyGame):
    """Without that the law above would hold of nothing."""
    assert game.name in PLACES
