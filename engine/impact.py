"""What another rules version would have made of a match: the same deal and the same moves under both.

Keys come from the rules that the match was played by, so that both versions draw the same cards.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from engine import journal
from engine.chance import Stream
from engine.game import encode
from engine.journal import Moved, Started
from engine.match import Match
from engine.refusals import Refusal
from engine.registry import AnyGame


class Impact(Struct, frozen=True):
    """The first entry at which two rules versions part, and in what; `field` is null where they never do.

    `options`: the new rules refuse the match's options. `deal`, `state`: its start, or what a move does, is another.
    `legal`: a seat may make other moves after the entry. `move`: the move is not legal. `result`: it ends otherwise.
    `rules failed`: the new rules broke down. `journal`: it has not ended, or does not replay under its own rules.
    `file`: it cannot be read.
    """

    match: str
    entries: int
    version: int | None = None
    field: str | None = None
    detail: str = ""


def impact(lines: Sequence[bytes], to: AnyGame) -> Impact:
    """Return where a journal that has ended parts from what `to` makes of it. Never raises.

    Of a match that has not ended nothing is said: what other rules would allow tells of its hidden cards.
    """
    match = Match(journal.revealed(lines))
    state: Any = None
    options: Any = None

    def parted(version: int, field: str, detail: str) -> Impact:
        return Impact(match.id, len(lines), version, field, detail[:400])

    for version, data in enumerate(lines):
        try:
            match.replay(data)
            body = journal.read(data).body
        except Exception as error:  # noqa: BLE001 - any bytes may come
            return parted(version, "journal", f"{type(error).__name__}: {error}")
        if match.seed is None:
            return parted(len(lines), "journal", "it stops before its end, or that does not reveal the seed")
        try:
            match body:
                case Started():
                    options = to.options(msgspec.to_builtins(match.options), len(match.players))
                    state = to.setup(options, len(match.players), Stream(match._key, "game", version)).state  # noqa: SLF001
                case Moved():
                    i = match.players.index(body.seat)
                    move = to.move_json.decode(bytes(body.move))
                    if move not in to.legal(state, i):
                        return parted(version, "move", f"{bytes(body.move).decode()} of seat {body.seat} is not legal")
                    state = to.apply(state, i, move, Stream(match._key, "game", version)).state  # noqa: SLF001
                case _:
                    continue
            if differs := _difference(match, to, state):
                where, detail = differs
                return parted(version, "deal" if isinstance(body, Started) and where == "state" else where, detail)
        except Refusal as refusal:
            return parted(version, "move" if isinstance(body, Moved) else "options", refusal.detail)
        except Exception as error:  # noqa: BLE001 - rules that are tried out may break down
            return parted(version, "rules failed", f"{type(error).__name__}: {error}")
    if not match.over:
        return parted(len(lines), "journal", "it stops before its end")
    return Impact(match.id, len(lines))


def _difference(match: Match, to: AnyGame, state: Any) -> tuple[str, str] | None:
    game, old = match.game, match.state
    seats = range(len(match.players))
    parts = [("table", game.table(old), to.table(state)), ("hidden", game.hidden(old), to.hidden(state))]
    parts += [(f"own part of seat {match.players[i]}", game.own(old, i), to.own(state, i)) for i in seats]
    for name, before, after in parts:
        if encode(before) != encode(after):
            return "state", f"the {name} differs{_fields(before, after)}"
    if encode(game.result(old)) != encode(to.result(state)):
        return "result", f"expected {encode(game.result(old)).decode()}, got {encode(to.result(state)).decode()}"
    for i in seats:
        moves = game.move_json.encode_list(game.legal(old, i))
        if moves != to.move_json.encode_list(to.legal(state, i)):
            return "legal", f"seat {match.players[i]} may make other moves"
    return None


def _fields(before: Any, after: Any) -> str:
    old, new = msgspec.to_builtins(before), msgspec.to_builtins(after)
    if not isinstance(old, dict) or not isinstance(new, dict):
        return ""
    return ": " + ", ".join(sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name)))
