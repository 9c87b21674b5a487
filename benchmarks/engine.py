"""The engine alone, one core: `python -m benchmarks.engine [--seconds S] [GAME...]`.

rules   random play on the rules: chance, apply, legal moves of every seat, table, own parts and events made and encoded
live    the same through a live match, as a worker does it: prompts, digest, journal line and the views of all seats
fold    a recorded journal folded back, with its legality and every digest checked (what an audit does)
cold    the same without checks (what a worker does that takes a match over)
"""

import argparse
import random
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from engine import registry
from engine.chance import Stream, commitment
from engine.game import encode
from engine.journal import Created, Line, SeatPlan
from engine.match import Match
from services.commands import Submit
from services.views import ViewEncoder

MATCH = "000benchmarkbenchmarkbenc"


def rules(game: registry.AnyGame, seats: int, seed: int) -> Iterator[int]:
    """Play one match on the bare rules; yield after each move."""
    pick = random.Random(seed)  # noqa: S311 - play, not secrets
    options = game.options({}, seats)
    key = seed.to_bytes(32, "big")
    state = game.setup(options, seats, Stream(key, "game", 0)).state
    version = 0
    everybody = range(seats)
    legal = [game.legal(state, seat) for seat in everybody]
    while (to_act := game.to_act(state)) != ():
        seat = to_act[0]
        version += 1
        move = pick.choice(legal[seat])
        state, events = game.apply(state, seat, move, Stream(key, "game", version))
        legal = [game.legal(state, seat) for seat in everybody]
        encode(game.table(state))
        for seat in everybody:
            encode(game.own(state, seat))
            game.move_json.encode_list(legal[seat])
        game.tellings(events)
        yield 1


def start(
    game: registry.AnyGame,
    seats: int,
    seed: int,
    keep: Callable[[Line], None],
    *,
    name: str = MATCH,
    at: int = 0,
    given: Mapping[str, Any] = {},
) -> Match:
    """Return a match that has just started; `keep` gets its lines, `given` are options that are not the default."""
    options = game.options(given, seats)
    secret = seed.to_bytes(32, "big")
    match = Match(secret)
    match.appended = keep
    match.create(
        Created(
            match=name,
            rules=game.rules,
            options={name: getattr(options, name) for name in options.__struct_fields__},
            seats=(SeatPlan("open"),) * seats,
            private=False,
            commitment=commitment(secret, name, game.rules).hex(),
            request="00" * 32,
        ),
        at,
    )
    for seat in range(seats):
        match.join(f"Player {seat}", b"seed", f"{seat:064d}", at)
    return match


def play(match: Match, seed: int) -> Iterator[Submit]:
    """Play a match at random, as commands come to a worker; yield each command after its move."""
    pick = random.Random(seed)  # noqa: S311 - play, not secrets
    tenures = [seat.tenure or 0 for seat in match.seats]
    encode_move = match.game.move_json.encode
    while match.to_act:
        seat = match.to_act[0]
        move = encode_move(pick.choice(match.legal(seat)))
        command = Submit(match.id, seat, tenures[seat], match.prompts[seat], move)
        match.move(seat, command.tenure, command.prompt, move, match.at + 1)
        yield command


def live(game: registry.AnyGame, seats: int, seed: int) -> Iterator[int]:
    """Play one match with the views of all seats; yield after each move."""
    match = start(game, seats, seed, lambda _line: None)
    views = ViewEncoder(match)
    match.appended = lambda _line: views.all_views() and None
    for _ in play(match, seed):
        yield 1


def recorded(game: registry.AnyGame, seats: int, seed: int) -> list[bytes]:
    """Return the journal of one random match."""
    lines: list[bytes] = []
    for _ in play(start(game, seats, seed, lambda line: lines.append(line.data)), seed):
        pass
    return lines


def fold(lines: list[bytes], seed: int, *, verify: bool) -> int:
    """Fold a journal; return its entries."""
    match = Match(seed.to_bytes(32, "big"))
    for data in lines:
        match.replay(data, verify=verify)
    return len(lines)


def rate(work: Callable[[int], Iterator[int]], seconds: float) -> float:
    """Return how much of `work` is done a second of CPU time, match after match."""
    done, seed = 0, 0
    began = time.process_time()
    while time.process_time() - began < seconds:
        seed += 1
        for count in work(seed):
            done += count
    return done / (time.process_time() - began)


def main() -> None:
    """Print a line a game and number of seats."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", default=[game.name for game in registry.games()])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--seats", type=int, action="append")
    given = parser.parse_args()
    print(f"{'game':24}{'seats':>6}{'rules/s':>10}{'live/s':>10}{'fold/s':>10}{'cold/s':>10}")
    for name in given.games:
        game = registry.newest(name)
        for seats in given.seats or [4]:
            journal = recorded(game, seats, 1)
            figures = (
                rate(lambda seed: rules(game, seats, seed), given.seconds),  # noqa: B023 - called at once
                rate(lambda seed: live(game, seats, seed), given.seconds),  # noqa: B023
                rate(lambda _: iter([fold(journal, 1, verify=True)]), given.seconds),  # noqa: B023
                rate(lambda _: iter([fold(journal, 1, verify=False)]), given.seconds),  # noqa: B023
            )
            print(f"{name:24}{seats:>6}" + "".join(f"{figure:>10,.0f}" for figure in figures), flush=True)


if __name__ == "__main__":
    main()
