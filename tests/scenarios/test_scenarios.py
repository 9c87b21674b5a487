"""Every scenario file holds."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.scenario import Failure, files, run

FOLDER = Path(__file__).parent


@pytest.mark.parametrize("path", list(files([FOLDER])), ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_scenario(path: Path):
    """Played step by step, with its own chance, the match is at each expectation what the file says."""
    try:
        run(path.read_bytes())
    except Failure as failure:
        pytest.fail(f"{path.relative_to(FOLDER)}: {failure}", pytrace=False)


MOVE = {"seat": 0, "move": {"play": {"card": "10"}}}


@pytest.mark.parametrize(
    "step",
    [
        {**MOVE, "expect": {"to_act": [0]}},
        {**MOVE, "timeout": 0},
        {"timeout": 0, "expect": {"to_act": [1]}},
        {"timeout": 0, "error": "illegal"},
        {"expect": {"to_act": [0]}, "seat": 0},
        {"move": MOVE["move"]},
        {"seat": 0},
        {},
    ],
    ids=lambda step: " ".join(step) or "nothing",
)
def test_a_step_that_does_not_say_one_thing_fails(step: dict[str, Any]):
    """What stands beside an expectation or a timeout would not be played, and the file would seem to hold."""
    file = {"game": "bluffing_billionaires", "players": 2, "chance": [0], "steps": [step]}
    with pytest.raises(Failure, match="step 0: a step is a move of a seat, a timeout or an expectation, one of them"):
        run(json.dumps(file).encode())


def test_the_end_of_the_chance_may_be_a_step_of_its_own():
    """`chance_spent` asks nothing of the match."""
    file = {"game": "bluffing_billionaires", "players": 2, "chance": [0], "steps": [MOVE, {"chance_spent": True}]}
    run(json.dumps(file).encode())
