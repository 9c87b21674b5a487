"""Record journals that must verify for ever: a script, run once for every new game or rules version.

    python -m tests.histories.record                # records what is missing; an existing file is never written again
    python -m tests.histories.record GAME FOLDER    # the same for a game from outside, there

Play is random, drawn from a stream of its own, so a recording can be made again on any machine. The three journals of
a game differ in what else happens: nothing; a lobby with comings and goings, fewer seats than planned, other options,
timeouts and a seat that is left; everybody leaving. `NAME.hash` holds the hash of the last entry.
"""

import hashlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from engine import registry
from engine.chance import Stream, commitment
from engine.game import encode
from engine.games import BUILT_IN
from engine.journal import Created, Line, SeatPlan
from engine.match import OPEN, Match
from engine.refusals import BadOptions

FOLDER = Path(__file__).parent
START = 1_750_000_000_000


class Table:
    """A live match, its lines, and a clock that each command moves on."""

    def __init__(
        self,
        game: registry.AnyGame,
        seats: int,
        options: dict[str, Any] | None = None,
        label: str = "",
        clock: int | None = 30_000,
        max_entries: int = 20_000,
    ) -> None:
        self.game = game
        self.chance = Stream(hashlib.sha256(f"{game.rules} {label}".encode()).digest(), "players", 0)
        self.seed = hashlib.sha256(f"seed of {game.rules} {label}".encode()).digest()
        self.match = Match(self.seed, max_entries)
        self.lines: list[Line] = []
        self.at = START
        match_id = "007" + hashlib.sha256(label.encode()).hexdigest()[:22]
        self.add(
            self.match.create(
                Created(
                    match=match_id,
                    rules=game.rules,
                    options=msgspec.json.decode(encode(game.options(options or {}, seats))),
                    seats=(SeatPlan(OPEN),) * seats,
                    private=False,
                    commitment=commitment(self.seed, match_id, game.rules).hex(),
                    request=hashlib.sha256(f"create {label}".encode()).hexdigest(),
                    clock=UNSET if clock is None else clock,
                ),
                self.at,
            )
        )

    def add(self, lines: list[Line]) -> None:
        self.lines += lines
        self.at += 1 + self.chance.pick(5_000)

    @property
    def data(self) -> list[bytes]:
        return [line.data for line in self.lines]

    def join(self, name: str, seat: int | None = None) -> tuple[int, int]:
        tenure, lines = self.match.join(name, name.encode(), self.request(name), self.at, seat)
        self.add(lines)
        return tenure

    def request(self, name: str) -> str:
        return hashlib.sha256(f"join {name}".encode()).hexdigest()

    def fill(self) -> None:
        """Everybody joins; the last join starts the match."""
        for name in NAMES:
            if self.match.status == "lobby":
                self.join(name)

    def move(self, seat: int, move: bytes) -> None:
        tenure = self.match.seats[seat].tenure
        assert tenure is not None
        self.add(self.match.move(seat, tenure, self.match.prompts[seat], move, self.at)[1])

    def time_out(self, seat: int) -> None:
        self.add(self.match.time_out(seat, self.match.prompts[seat], self.at))

    def leave(self, seat: int) -> None:
        tenure = self.match.seats[seat].tenure
        assert tenure is not None
        self.add(self.match.leave(seat, tenure, self.at)[1])

    def step(self, timeouts: int = 0) -> None:
        """One random move of a seat that may move; one in `timeouts` is the clock's (0: none)."""
        match = self.match
        able = [seat for seat in match.players if match.legal(seat) and not match.seats[seat].left]
        owing = [seat for seat in match.to_act if match.seats[seat].left] or list(match.to_act)
        if not able or match.seats[owing[0]].left or (timeouts and self.chance.pick(timeouts) == 0):
            self.time_out(owing[self.chance.pick(len(owing))])
        else:
            seat = able[self.chance.pick(len(able))]
            legal = match.legal(seat)
            self.move(seat, self.game.move_json.encode(legal[self.chance.pick(len(legal))]))

    def play(self, entries: int = 1_000_000, timeouts: int = 0) -> None:
        """Random moves until the match is over or has so many entries."""
        while not self.match.over and self.match.version + 1 < entries:
            self.step(timeouts)


NAMES = ("Änne", "Bob", "Čeněk", "Đorđe", "Ἑλένη", "Fu-福", "Gül")


def other_options(game: registry.AnyGame, seats: int) -> dict[str, Any]:
    """Every option at another value than its default, as far as they go together."""
    options: dict[str, Any] = {}
    defaults = msgspec.json.decode(encode(game.options({}, seats)))
    for field in msgspec.inspect.type_info(game.options_type).fields:  # type: ignore[union-attr]
        for value in _values(field.type):
            try:
                game.options({**options, field.name: value}, seats)
            except BadOptions:
                continue
            if value != defaults[field.name]:
                options[field.name] = value
                break
    return options


def _values(kind: msgspec.inspect.Type) -> Iterator[Any]:
    match kind:
        case msgspec.inspect.Metadata(type=inner):
            yield from _values(inner)
        case msgspec.inspect.UnionType(types=types):
            for inner in types:
                yield from _values(inner)
        case msgspec.inspect.LiteralType(values=values):
            yield from reversed(values)
        case msgspec.inspect.BoolType():
            yield from (False, True)
        case msgspec.inspect.IntType(ge=ge, le=le):
            yield from range(ge or 0, 1 + (le if le is not None else (ge or 0) + 9))


def plain(game: registry.AnyGame) -> Table:
    """Everybody plays, nobody is late."""
    table = Table(game, min(game.seats[-1], 3), label="plain")
    table.fill()
    table.play()
    return table


def eventful(game: registry.AnyGame) -> Table:
    """A lobby with comings and goings, a start with fewer seats, other options, timeouts and a seat that is left."""
    planned = game.seats[-1]
    fewest = max(3, game.seats[0])
    table = Table(game, planned, other_options(game, fewest), "eventful", clock=10_000)
    match = table.match
    table.join("Kim", planned - 1)
    table.join("Zoë")
    table.leave(0)
    table.join("Zoë again", 0)
    while sum(seat.kind != OPEN for seat in match.seats) < min(fewest, planned - 1):
        table.join(NAMES[match.version])
    table.add(match.kick(planned - 1, None, table.at)[1])
    table.join("Lou", planned - 1)
    table.add(match.start(table.at)[1])
    table.play(match.version + 12, timeouts=4)
    if not match.over:
        table.leave(match.players[-1])
    table.play(timeouts=6)
    return table


def deserted(game: registry.AnyGame) -> Table:
    """Everybody leaves after a few moves."""
    table = Table(game, game.seats[0], label="deserted", clock=None)
    table.fill()
    table.play(table.match.version + 9)
    for seat in table.match.players:
        if not table.match.over:
            table.leave(seat)
    return table


RECORDINGS: tuple[Callable[[registry.AnyGame], Table], ...] = (plain, eventful, deserted)


def record(game: registry.AnyGame, folder: Path = FOLDER) -> None:
    """Write the journals of a game that are not there yet."""
    folder.mkdir(exist_ok=True)
    for number, recording in enumerate(RECORDINGS, 1 + len(RECORDINGS) * (game.rules_version - 1)):
        file = folder / f"{game.name}_{number}.jsonl"
        if file.exists():
            continue
        table = recording(game)
        file.write_bytes(b"".join(line.data + b"\n" for line in table.lines))
        file.with_suffix(".hash").write_text(f"{table.lines[-1].hash.hex()}\n")
        sys.stdout.write(f"{file.name}: {table.match.status}, {len(table.lines)} entries\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        record(registry.newest(sys.argv[1]), *map(Path, sys.argv[2:]))
    else:
        for kind in BUILT_IN:
            record(kind())
