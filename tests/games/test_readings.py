"""The rules read twice: the engine and an independent second implementation agree at every step of many matches.

A reading (`tests/games/readings/`) is written from the text of the rules alone, without a look at the engine's code.
Compared are calls of chance, table, own parts, hidden cards, legal moves in order, who is to act, the clock's moves,
what every seat is told, when a seat's prompt changes, and the result.
"""

import inspect
import json
import re
from collections.abc import Iterator
from random import Random
from types import ModuleType
from typing import Any

import pytest

from engine.game import encode
from engine.registry import find
from tests.games.readings import bluffing_billionaires, bombenziehen, clever_gedreht, timos_twist, toms_time_bluff

ENTRIES = 700
OPEN_ENDED = {"phase", "piles", "draw_pile", "skips", "removed", "turn"}
"""Of the table of Tom's Time Bluff: what may be mid-effect when the match is over, and means nothing then."""

SELDOM = {
    "bluffing_billionaires/1": (779,),
    "bombenziehen/1": (),
    "clever_gedreht/1": (34, 61),
    "timos_twist/1": (175, 1836, 2835),
    "toms_time_bluff/1": (164, 365, 665, 982, 1614, 1670, 2104, 2242),
}
"""Seeds of matches in which all that happens seldom does; found by looking through the marks of the first 3000."""


class Chance:
    """Chance that remembers what it was asked."""

    def __init__(self, seed: int) -> None:
        self.random, self.calls = Random(seed), []

    def pick(self, k: int) -> int:
        self.calls.append(k)
        return self.random.randrange(k)

    def shuffle(self, items: Any) -> tuple[Any, ...]:
        self.calls.append(tuple(items))
        return tuple(self.random.sample(items, len(items)))


class Habit:
    """A player whose taste is drawn by lot: what hardly anybody does is what somebody has to do all the time."""

    def __init__(self, random: Random, special: set[str]) -> None:
        self.random, self.special, self.names = random, special, {}
        self.taste = random.choice([0.02, 0.2, 1, 1, 5, 40])

    def choose(self, moves: list[tuple[int, dict[str, Any]]]) -> tuple[int, dict[str, Any]]:
        return self.random.choices(moves, [self._weight(move) for _, move in moves])[0]

    def _weight(self, move: dict[str, Any]) -> float:
        ((name, fields),) = move.items()
        likes = self.names.setdefault(name, self.random.choice([0.05, 0.3, 1, 1, 1, 3, 20]))
        return likes * (self.taste if self.special & set(map(str, fields.values())) else 1)


class Both:
    """A match in the engine and in a reading of its rules."""

    def __init__(self, rules: str, module: ModuleType, seed: int) -> None:
        self.random, self.game = Random(f"{rules} {seed}"), find(rules)
        self.n = self.random.choice([seats for seats in (2, 2, 3, 4, 5, 6) if seats in self.game.seats])
        taken = [name for name in module.OPTIONS if self.random.random() < 0.7]
        options = {name: self.random.choice(module.OPTIONS[name]) for name in taken}
        self.chances = Chance(seed), Chance(seed)
        self.reading = module.Reading(self.n, options, self.chances[0])
        self.step = self.game.setup(self.game.options(options, self.n), self.n, self.chances[1])
        self.prompts = {seat: [0, 0] for seat in range(self.n)}
        self.asked = {seat: self._asked(seat) for seat in range(self.n)}
        self.habits = [Habit(self.random, module.SPECIAL) for _ in range(2)]

    def _asked(self, seat: int) -> tuple[object, object]:
        return self.reading.asked(seat), self.game.asked(self.step.state, seat)

    def play(self) -> None:
        for version in range(1, ENTRIES):
            self.compare()
            if self.reading.result is not None:
                return
            seats = range(self.n)
            moves = [(seat, move) for seat in seats for move in self.reading.legal(seat)]
            seat, move = self.habits[self.random.random() < 0.1].choose(moves)
            if self.random.random() < 0.05:
                seat = self.random.choice(self.reading.to_act())
                move = self.reading.default(seat)
            self.reading.apply(seat, move)
            made = self.game.move_json.convert(move)
            self.game.check(self.step.state, seat, made)
            self.step = self.game.apply(self.step.state, seat, made, self.chances[1])
            for other in seats:
                before, self.asked[other] = self.asked[other], self._asked(other)
                for side, now in enumerate(self.asked[other]):
                    if other == seat or (now is not None and now != before[side]):
                        self.prompts[other][side] = version

    def compare(self) -> None:
        game, state, reading = self.game, self.step.state, self.reading
        assert self.chances[1].calls == self.chances[0].calls
        over = OPEN_ENDED if reading.result and game.name == "toms_time_bluff" else set()
        table = plain(game.table(state))
        assert list(table) == list(reading.table())
        assert without(table, over) == without(reading.table(), over)
        hidden = plain(game.hidden(state))
        if not over:
            assert {name: hidden[name] for name in reading.hidden()} == reading.hidden()
        assert list(game.to_act(state)) == reading.to_act()
        assert plain(game.result(state)) == reading.result
        for seat in range(self.n):
            assert plain(game.own(state, seat)) == reading.own(seat)
            legal = [json.loads(game.move_json.encode(move)) for move in game.legal(state, seat)]
            assert legal == reading.legal(seat)
            assert not legal or self.prompts[seat][0] == self.prompts[seat][1]
        for seat in reading.to_act():
            assert json.loads(game.move_json.encode(game.default(state, seat))) == reading.default(seat)
        for seat in (None, *range(self.n)):
            told = json.loads(game.event_json.encode_list(game.told(self.step.events, seat)))
            assert told == list(heard(reading.told, seat))


def plain(value: object) -> Any:
    return json.loads(encode(value))


def without(fields: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


def heard(told: list[Any], seat: int | None) -> Iterator[dict[str, Any]]:
    """What a seat hears; private fields are null or empty for the others."""
    for name, public, private, seats in told:
        kept = {field: [] if isinstance(value, list) else None for field, value in private.items()}
        yield {name: public | (private if seat in seats else kept)}


@pytest.mark.parametrize(
    ("rules", "module"),
    [
        ("bluffing_billionaires/1", bluffing_billionaires),
        ("bombenziehen/1", bombenziehen),
        ("clever_gedreht/1", clever_gedreht),
        ("timos_twist/1", timos_twist),
        ("toms_time_bluff/1", toms_time_bluff),
    ],
    ids=["bluffing_billionaires", "bombenziehen", "clever_gedreht", "timos_twist", "toms_time_bluff"],
)
def test_the_engine_plays_as_the_rules_read(rules: str, module: ModuleType):
    """At every step of these matches, and among the steps is everything that a reading marks as seldom."""
    marks: set[str] = set()
    for seed in (*range(25), *SELDOM[rules]):
        both = Both(rules, module, seed)
        both.play()
        marks |= both.reading.marks
    assert marks == set(re.findall(r'self\.mark\("([^"]+)"', inspect.getsource(module)))
