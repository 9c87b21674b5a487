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


def without_null(value: Any) -> Any:
    """What is expected, with the fields that are null left out."""
    if isinstance(value, dict):
        return {name: without_null(field) for name, field in value.items() if field is not None}
    return [without_null(item) for item in value] if isinstance(value, list) else value


def expectations(file: Any) -> list[dict[str, Any]]:
    return [step["expect"] for step in file["steps"] if "expect" in step]


def test_a_field_that_is_null_may_be_left_out_of_what_is_expected():
    """In views null and absent mean the same (rules/README); a value that is there may not be left out."""
    thinned = 0
    for path in files([FOLDER / "toms_time_bluff"]):
        file = json.loads(path.read_bytes())
        for expected in expectations(file):
            table = without_null(expected.get("table", {}))
            thinned += table != expected.get("table", {})
            expected["table"] = table
        run(json.dumps(file).encode())
    assert thinned


def test_a_value_may_not_be_left_out_of_what_is_expected():
    """Of what is named all is compared, however deep it lies."""
    for path in files([FOLDER / "toms_time_bluff"]):
        file = json.loads(path.read_bytes())
        piles = [
            expected["table"]["piles"] for expected in expectations(file) if expected.get("table", {}).get("piles")
        ]
        cards = [card for pile in piles for one in pile for card in one["cards"]]
        if cards:
            cards[0].pop(next(name for name, value in cards[0].items() if value is not None))
            with pytest.raises(Failure, match=r"table\.piles: expected"):
                run(json.dumps(file).encode())
            return
    pytest.fail("no scenario expects a card in a pile")
