"""Imagined deals: whole, seeded by one draw of chance, the same everywhere, and even."""

from pathlib import Path

import engine
from engine.bots.worlds import deals
from engine.chance import Stream
from engine.scenario import ScriptedChance
from tests.laws.test_determinism import test_rules_calculate_in_integers, test_rules_import_only_what_is_pure


def test_every_deal_has_all_cards():
    cards = (1, 1, 2, 3, 5, 8, -1)
    assert [sorted(deal) for deal in deals(Stream(b"key", "deals", 0), cards, 50)] == [sorted(cards)] * 50


def test_one_draw_of_chance_makes_all_deals():
    chance = ScriptedChance([7])
    assert list(deals(chance, range(5), 3)) == [[1, 2, 0, 4, 3], [0, 3, 1, 2, 4], [2, 3, 0, 1, 4]]
    assert chance.left == 0


def test_deals_are_even():
    """Every card lies on top about as often, whatever its place."""
    tops = [deal[0] for deal in deals(Stream(b"key", "deals", 0), range(10), 10_000)]
    assert all(900 < tops.count(card) < 1100 for card in range(10))


def test_it_is_pure():
    path = Path(engine.__file__).parent / "bots" / "worlds.py"
    test_rules_import_only_what_is_pure(path)
    test_rules_calculate_in_integers(path)
