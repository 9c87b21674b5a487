"""The law of order: nothing leaks through the order of legal moves, and every client can rely on it."""

from collections.abc import Callable
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from msgspec import UNSET

from engine.game import Move
from engine.registry import AnyGame
from tests.laws.matches import Case, cases, play

WORDS = {
    "timos_twist": ("blue", "green", "orange", "pink"),
    "toms_time_bluff": ("left", "right"),
    "clever_gedreht": ("open", "turned"),
}
"""Words of moves that are no card, in the order of the rules' section 5."""


def literal_words(hint: Any) -> tuple[str, ...]:
    """The words of a `Literal`, at whatever depth of the annotation, as declared."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    return tuple(word for part in get_args(hint) for word in literal_words(part))


@cache
def ranks(game: AnyGame) -> dict[type[Move], tuple[int, list[Callable[[Any], int]]]]:
    """For each kind of move its place in the order, and for each field how its values are ordered."""
    codes = {card.code: place for place, card in enumerate(game.cards)}
    extra = {word: place for place, word in enumerate(WORDS.get(game.name, ()))}

    def rank(words: tuple[str, ...]) -> Callable[[Any], int]:
        declared = {word: place for place, word in enumerate(words)}

        def place(value: Any) -> int:
            if value is UNSET:
                return -1
            if isinstance(value, int):
                return int(value)
            return (declared or (codes | extra))[value]

        return place

    return {
        kind: (place, [rank(literal_words(get_type_hints(kind)[name])) for name in kind.__struct_fields__])
        for place, kind in enumerate(game.moves)
    }


def key(game: AnyGame, move: Move) -> tuple[int, ...]:
    """Where a move stands: name, then fields; cards canonical, numbers and words ascending, absent before present."""
    place, fields = ranks(game)[type(move)]
    values = (getattr(move, name) for name in move.__struct_fields__)
    return (place, *(rank(value) for rank, value in zip(fields, values, strict=True)))


@pytest.mark.parametrize("case", cases(3))
def test_legal_moves_ascend_and_none_comes_twice(case: Case):
    """rules/README, Order: by name, then by field; identical cards are one move."""
    for moment in play(case, 400):
        for seat in range(case.seats):
            keys = [key(case.game, move) for move in case.game.legal(moment.state, seat)]
            assert keys == sorted(set(keys))
