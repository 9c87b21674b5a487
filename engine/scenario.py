"""Scenario files: a scripted match with expectations (rules/README, Scenario files).

Chance is scripted too: an integer answers one `pick`, a list is the outcome of one `shuffle`.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path  # noqa: TID251 - finds the files to run; playing them is pure
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from engine.game import Step, encode
from engine.refusals import IllegalMove, MalformedMove, MatchOver, Refusal
from engine.registry import AnyGame, find, newest

T = TypeVar("T")


class Failure(Exception):
    """A scenario does not hold; the message names the step and the difference."""


class ScriptedChance:
    """Chance that answers what a script says, in order."""

    def __init__(self, script: Sequence[int | list[str]]) -> None:
        """Take the script; every call consumes one item."""
        self._script = list(script)
        self._used = 0

    def _next(self, call: str) -> int | list[str]:
        if self._used == len(self._script):
            raise Failure(f"chance has run out at {call}")
        self._used += 1
        return self._script[self._used - 1]

    def pick(self, k: int) -> int:
        """Return the next item, which must be an integer in 0..k-1."""
        answer = self._next(f"pick({k})")
        if not isinstance(answer, int) or not 0 <= answer < k:
            raise Failure(f"pick({k}) cannot be {answer!r}")
        return answer

    def shuffle(self, items: Sequence[T]) -> tuple[T, ...]:
        """Return the next item, which must be a list of the same cards."""
        answer = self._next(f"shuffle of {len(items)}")
        if not isinstance(answer, list) or Counter(answer) != Counter(items):
            raise Failure(f"a shuffle of {sorted(map(str, items))} cannot be {answer!r}")
        return tuple(answer)  # type: ignore[arg-type]  # the same cards, so the same type

    @property
    def left(self) -> int:
        """How many items are unused."""
        return len(self._script) - self._used


class Expect(Struct, forbid_unknown_fields=True):
    """What must hold; only what is named is compared."""

    to_act: list[int] | UnsetType = UNSET
    result: dict[str, Any] | UnsetType | None = UNSET
    table: dict[str, Any] | UnsetType = UNSET
    own: dict[str, dict[str, Any]] | UnsetType = UNSET
    legal: dict[str, list[Any]] | UnsetType = UNSET


class ScenarioStep(Struct, forbid_unknown_fields=True):
    """A move (with the error it must get), a timeout, or an expectation."""

    seat: int | UnsetType = UNSET
    move: Any = UNSET
    error: str | UnsetType = UNSET
    timeout: int | UnsetType = UNSET
    expect: Expect | UnsetType = UNSET
    chance_spent: bool = False
    note: str = ""


class Scenario(Struct, forbid_unknown_fields=True):
    """A whole file; the newest rules of the game, unless it names others in `rules`."""

    game: str
    players: int
    chance: list[int | list[str]]
    steps: list[ScenarioStep]
    options: dict[str, Any] = {}
    rules: str = ""
    note: str = ""
    chance_spent: bool = False


def files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the scenario files under the given files and folders, sorted by name within a folder."""
    for path in paths:
        if path.is_dir():
            yield from sorted(path.rglob("*.json"))
        else:
            yield path


def run(data: bytes) -> None:
    """Play a scenario to its end. Raises Failure at the first thing that does not hold."""
    try:
        scenario = msgspec.json.decode(data, type=Scenario)
        game = find(scenario.rules) if scenario.rules else newest(scenario.game)
        options = game.options(scenario.options, scenario.players)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Failure(f"not a scenario file: {error}") from None
    except Refusal as refusal:
        raise Failure(f"set-up: {refusal.detail}") from None
    chance = ScriptedChance(scenario.chance)
    place = "set-up"
    try:
        state = game.setup(options, scenario.players, chance).state
        for number, step in enumerate(scenario.steps):
            place = f"step {number}"
            state = _step(game, scenario.players, state, step, chance)
        if chance.left and (scenario.chance_spent or (scenario.steps and scenario.steps[-1].chance_spent)):
            raise Failure(f"{chance.left} items of chance are left over")
    except Failure as failure:
        raise Failure(f"{place}: {failure}") from None


def _step(game: AnyGame, players: int, state: Any, step: ScenarioStep, chance: ScriptedChance) -> Any:
    _check_form(step)
    if step.expect is not UNSET:
        _compare(game, players, state, step.expect)
        return state
    if step.timeout is not UNSET:
        if step.timeout not in game.to_act(state):
            raise Failure(f"seat {step.timeout} owes nothing, so it cannot time out")
        seat, move = step.timeout, game.default(state, step.timeout)
        return _apply(game, state, seat, move, chance).state
    if step.seat is UNSET:
        return state
    try:
        if step.seat not in range(players):
            raise IllegalMove(f"there is no seat {step.seat}")
        move = game.move_json.convert(step.move)
        after = _apply(game, state, step.seat, move, chance).state
    except (IllegalMove, MalformedMove, MatchOver) as refusal:
        if step.error is UNSET:
            raise Failure(f"seat {step.seat} {encode(step.move).decode()}: {refusal.detail}") from None
        return state
    if step.error is not UNSET:
        raise Failure(f"seat {step.seat} {encode(step.move).decode()} was accepted, but must be {step.error}")
    return after


def _check_form(step: ScenarioStep) -> None:
    """Raise Failure unless a step says one thing: what stood beside it would be passed over, as if it held."""
    said = [name for name in ("seat", "move", "error", "timeout", "expect") if getattr(step, name) is not UNSET]
    if said in (["seat", "move"], ["seat", "move", "error"], ["timeout"], ["expect"]):
        return
    if said or not step.chance_spent:
        raise Failure("a step is a move of a seat, a timeout or an expectation, one of them")


def _apply(game: AnyGame, state: Struct, seat: int, move: Any, chance: ScriptedChance) -> Step[Any]:
    game.check(state, seat, move)
    return game.apply(state, seat, move, chance)


def _compare(game: AnyGame, players: int, state: Struct, expect: Expect) -> None:
    def plain(value: object) -> Any:
        return msgspec.json.decode(encode(value))

    if expect.to_act is not UNSET:
        _same("to_act", expect.to_act, plain(game.to_act(state)))
    if expect.result is not UNSET:
        _same("result", expect.result, plain(game.result(state)))
    if expect.table is not UNSET:
        _fields("table", expect.table, plain(game.table(state)))
    for key, own in (expect.own or {}).items():
        _fields(f"own of seat {key}", own, plain(game.own(state, _seat(key, players))))
    for key, legal in (expect.legal or {}).items():
        moves = game.legal(state, _seat(key, players))
        actual = {game.move_json.encode(move): None for move in moves}
        wanted = {encode(_ordered(game, move)): None for move in legal}
        missing = [text.decode() for text in wanted if text not in actual]
        surplus = [text.decode() for text in actual if text not in wanted]
        if missing or surplus:
            raise Failure(f"legal moves of seat {key}: missing {missing}, surplus {surplus}")


def _ordered(game: AnyGame, move: object) -> object:
    try:
        return {game.move_json.names[type(value := game.move_json.convert(move))]: value}
    except MalformedMove as refusal:
        raise Failure(f"the expected move {encode(move).decode()} is malformed: {refusal.detail}") from None


def _seat(key: str, players: int) -> int:
    if key not in map(str, range(players)):
        raise Failure(f"there is no seat {key}")
    return int(key)


def _fields(what: str, wanted: dict[str, Any], actual: dict[str, Any]) -> None:
    for field, value in wanted.items():
        if field not in actual:
            raise Failure(f"{what} has no field {field!r}")
        _same(f"{what}.{field}", value, actual[field])


def _alike(wanted: object, actual: object) -> bool:
    """Whether two JSON values are one. In views null and absent fields mean the same (rules/README); true is not 1."""
    if isinstance(wanted, dict) and isinstance(actual, dict):
        return all(_alike(wanted.get(name), actual.get(name)) for name in actual.keys() | wanted.keys())
    if isinstance(wanted, list) and isinstance(actual, list):
        return len(wanted) == len(actual) and all(map(_alike, wanted, actual))
    return encode(wanted) == encode(actual)


def _same(what: str, wanted: object, actual: object) -> None:
    if not _alike(wanted, actual):
        raise Failure(f"{what}: expected {encode(wanted).decode()}, got {encode(actual).decode()}")
