"""Golden playthroughs: what every seat saw in a recorded match it sees today."""

import json

from engine.registry import AnyGame
from tests.games.golden import path, playthroughs
from tests.laws.matches import GAMES


@GAMES
def test_playthroughs_are_as_recorded(game: AnyGame):
    """Byte for byte; `python -m tests.games.golden` writes what is shown today, for whoever means the change."""
    assert path(game).exists(), "run python -m tests.games.golden"
    recorded = path(game).read_bytes().splitlines()
    for number, (line, today) in enumerate(zip(recorded, playthroughs(game).splitlines(), strict=False), 1):
        assert json.loads(today) == json.loads(line), f"line {number} of {path(game).name}"
    assert playthroughs(game) == path(game).read_bytes()


@GAMES
def test_playthroughs_show_every_move(game: AnyGame):
    """What is never played is not pinned; and a playthrough ends with a result."""
    lines = [json.loads(line) for line in path(game).read_bytes().splitlines()]
    shown = {name for line in lines for name in line.get("move", ())}
    assert shown == set(game.move_json.names.values())
    assert lines[-1]["result"] is not None
