"""Laws of determinism: chance comes in by one door, and nothing else differs from one machine to the next."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from inspect import getsourcefile
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.registry import games
from engine.scenario import ScriptedChance
from tests.laws.matches import Case, cases, fingerprints, known, play

ENGINE = Path(engine.__file__).parent
ROOT = ENGINE.parent
ALLOWED = {
    *("abc", "collections", "enum", "functools", "itertools", "math", "operator", "re", "string", "types", "typing"),
    *("hashlib", "hmac", "struct"),
    *("engine", "msgspec"),
}
"""What rules may import: nothing in it reads a clock, a file, a network or a source of randomness."""
IMPURE = {
    *("hash", "id", "open", "input", "print", "eval", "exec", "compile", "__import__", "globals", "locals", "vars"),
    *("float", "complex", "round"),
}
"""Names that no rules call: what they give differs between processes, or is no value of a game."""


class Recording:
    """Chance that writes down its answers as a scenario's script."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.script: list[Any] = []

    def pick(self, k: int) -> int:
        self.script.append(self.source.pick(k))
        return self.script[-1]

    def shuffle(self, items: Sequence[str]) -> tuple[str, ...]:
        shuffled = self.source.shuffle(items)
        self.script.append(list(shuffled))
        return shuffled


@pytest.mark.parametrize("case", cases(2))
def test_the_answers_of_chance_are_all_that_a_replay_needs(case: Case):
    """The same moves with the same answers give the same states and events, and no answer is left over."""
    game = case.game
    deal = Recording(case.chance(0))
    options = game.options(case.options, case.seats)
    state = game.setup(options, case.seats, deal).state
    assert game.setup(options, case.seats, ScriptedChance(deal.script)).state == state
    for moment in play(case, 400):
        record = Recording(case.chance(moment.version))
        step = game.apply(moment.state, moment.seat, moment.move, record)
        again = ScriptedChance(record.script)
        assert game.apply(moment.state, moment.seat, moment.move, again) == step == moment.step
        assert again.left == 0


def test_hash_order_changes_nothing():
    """The same matches have the same states, events, moves and questions whatever seeds Python's hashes."""
    command = (
        sys.executable,
        "-c",
        "from tests.laws.matches import fingerprints; import json;print(json.dumps(fingerprints()))",
    )
    running = [
        subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, stdout=subprocess.PIPE)
        for seed in ("1", "2")
    ]
    outputs = [json.loads(process.communicate()[0]) for process in running]
    assert outputs == [fingerprints()] * 2


def imports(path: Path) -> set[str]:
    """The modules that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports name the whole path"
            found.add(node.module or "")
    return found


def modules() -> list[Path]:
    """The files of all games, and those of the engine that they import, directly or not."""
    todo = [Path(getsourcefile(type(game)) or "") for game in games()]
    found = set()
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            parts = [name.split(".") for name in imports(path) if name.startswith("engine.")]
            todo += [file for part in parts if (file := ROOT.joinpath(*part).with_suffix(".py")).exists()]
    return sorted(found)


MODULES = pytest.mark.parametrize("path", modules(), ids=lambda path: path.stem)


@MODULES
def test_rules_import_only_what_is_pure(path: Path):
    """No I/O, no clock, no global randomness, no threads, no services, by name of the module imported."""
    assert {name.split(".")[0] for name in imports(path)} <= ALLOWED


@MODULES
def test_rules_calculate_in_integers(path: Path):
    """No float, no true division, and no call whose answer a process decides."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float | complex)), ast.unparse(node)
        assert not (isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div)), ast.unparse(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in IMPURE, ast.unparse(node)


@pytest.mark.parametrize("case", cases(1))
def test_a_match_is_not_its_neighbour(case: Case):
    """Another seed deals another match: chance is asked at all."""
    start = known(case.game, case.start().state, case.seats)
    others = (case._replace(seed=f"{case.seed} again {number}").start().state for number in range(20))
    assert any(known(case.game, other, case.seats) != start for other in others)
