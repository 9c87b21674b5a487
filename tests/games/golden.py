"""Golden playthroughs: whole matches with all that every seat sees at each step, pinned byte for byte.

`python -m tests.games.golden` writes them anew, with GAME FOLDER behind it those of a game from outside. A change in
them is a change of what clients see, or of a replay, which takes a new rules version; the difference is there to be
read.

A file holds the matches of one game. The first line of a match is its set-up, each following one an entry: who moved
how, what that did (`told`: to seats that were told otherwise than the public), and then the table, each seat's own part
and legal moves, who is to act, and the digest of the state.
"""

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Raw

from engine.chance import Stream
from engine.game import Move, Step, encode
from engine.games import BUILT_IN
from engine.registry import AnyGame, newest

FOLDER = Path(__file__).parent / "golden"

ELSEWHERE: dict[str, Path] = {}
"""By the names of games from outside: the folder that has their `golden` and their `scenarios`."""


class Setup(NamedTuple):
    """A match to be shown; its seed is that of the deal, of the draws and of the players."""

    seats: int
    options: dict[str, Any]
    seed: int


MATCHES: dict[str, tuple[Setup, ...]] = {
    "timos_twist/1": (
        Setup(3, {"target": 100, "stack_equal": False, "twist_skips_two": False, "timo": "call"}, 100),
        Setup(4, {"target": 50}, 708),
    ),
    "bombenziehen/1": (
        Setup(3, {"duds_in_start_hand": False}, 586),
        Setup(2, {}, 132),
    ),
    "bluffing_billionaires/1": (Setup(3, {"games": 1}, 71),),
    "clever_gedreht/1": (
        Setup(3, {"rounds": 1}, 69),
        Setup(2, {"rounds": 1}, 126),
    ),
    "toms_time_bluff/1": (
        Setup(3, {"target": 10, "partner_cards": True}, 83),
        Setup(2, {"target": 20, "partner_cards": True, "manual_draw": True}, 655),
        Setup(2, {"target": 10}, 288),
        Setup(2, {"target": 10}, 141),
        Setup(2, {"target": 10, "partner_cards": True, "partner_match": "hour"}, 137),
    ),
}
"""By rules; chosen for being short and for showing, together, every move of the game. Another game shows one match."""


def path(game: AnyGame) -> Path:
    """Where a game's playthroughs are."""
    return (ELSEWHERE[game.name] / "golden" if game.name in ELSEWHERE else FOLDER) / file_name(game)


def file_name(game: AnyGame) -> str:
    """A game's name, from the second rules version on with that number."""
    version = "" if game.rules_version == 1 else f"_{game.rules_version}"
    return f"{game.name}{version}.jsonl"


def playthroughs(game: AnyGame) -> bytes:
    """All of a game's file."""
    setups = MATCHES.get(game.rules, (Setup(game.seats[0], {}, 0),))
    return b"".join(line + b"\n" for setup in setups for line in _match(game, setup))


def _match(game: AnyGame, setup: Setup) -> Iterator[bytes]:
    key = hashlib.sha256(encode([game.rules, *setup])).digest()
    options = game.options(setup.options, setup.seats)
    yield encode({"rules": game.rules, "seats": setup.seats, "options": options, "seed": setup.seed})
    step = game.setup(options, setup.seats, Stream(key, "game", 0))
    yield _line(game, setup.seats, {}, step)
    version = 0
    while game.to_act(step.state):
        version += 1
        seat, move = _choice(game, setup.seats, step.state, Stream(key, "golden", version))
        step = game.apply(step.state, seat, move, Stream(key, "game", version))
        moved = {"version": version, "seat": seat, "move": Raw(game.move_json.encode(move))}
        yield _line(game, setup.seats, moved, step)


def _choice(game: AnyGame, seats: int, state: Any, chance: Stream) -> tuple[int, Move]:
    """Any seat that may move; half the time the clock's move, if one is owed, else any legal one."""
    able = [seat for seat in range(seats) if game.legal(state, seat)]
    seat = able[chance.pick(len(able))]
    if seat in game.to_act(state) and chance.pick(2):
        return seat, game.default(state, seat)
    moves = game.legal(state, seat)
    return seat, moves[chance.pick(len(moves))]


def _line(game: AnyGame, seats: int, moved: dict[str, Any], step: Step[Any]) -> bytes:
    state = step.state
    public = game.event_json.encode_list(game.told(step.events, None))
    told = {str(seat): game.event_json.encode_list(game.told(step.events, seat)) for seat in range(seats)}
    table, hidden = encode(game.table(state)), encode(game.hidden(state))
    own = [encode(game.own(state, seat)) for seat in range(seats)]
    digest = hashlib.blake2b(b"[%b,[%b],%b]" % (table, b",".join(own), hidden), digest_size=32).hexdigest()
    shown = {
        **moved,
        "events": Raw(public),
        "told": {seat: Raw(events) for seat, events in told.items() if events != public},
        "table": Raw(table),
        "own": [Raw(part) for part in own],
        "legal": [Raw(game.move_json.encode_list(game.legal(state, seat))) for seat in range(seats)],
        "to_act": game.to_act(state),
        "result": game.result(state),
        "state": digest,
    }
    return encode(shown)


def main(name: str = "", folder: Path = FOLDER) -> None:
    """Write one game's file, or those of all built-in games."""
    folder.mkdir(exist_ok=True)
    for game in [newest(name)] if name else [kind() for kind in BUILT_IN]:
        (folder / file_name(game)).write_bytes(playthroughs(game))


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(Path, sys.argv[2:]))
