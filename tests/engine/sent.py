"""The games of the tests of a match, what it knows, and moves sent to it."""

import copy
import hashlib
from typing import Any

import pytest

from engine import journal, registry
from engine.match import Match
from tests.laws.matches import attributes

TIMO = registry.find("timos_twist/1")


VOTES = registry.find("bluffing_billionaires/1")


GAMES = registry.games()


every_game = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.rules)


CACHES = {"game", "appended", "_projection", "_legal", "_to_act", "max_entries"}


def everything(match: Match) -> dict[str, Any]:
    """All that a match knows, copied, without what it only keeps to be faster."""
    known = {name: copy.deepcopy(value) for name, value in attributes(match).items() if name not in CACHES}
    return {**known, "digest": match.digest, "legal": [match.legal(seat) for seat in match.players]}


def tenure(match: Match, seat: int) -> int:
    held = match.seats[seat].tenure
    assert held is not None
    return held


def send(match: Match, seat: int, prompt: int, move: bytes, at: int = 0) -> tuple[int, list[journal.Line]]:
    return match.move(seat, tenure(match, seat), prompt, move, at)


def some_move(match: Match, seat: int) -> bytes:
    return match.game.move_json.encode(match.legal(seat)[0])


def request(name: str) -> str:
    return hashlib.sha256(f"join {name}".encode()).hexdigest()
