"""Asking computer players about states of random matches, and about whole matches among themselves."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from inspect import getsourcefile
from pathlib import Path
from typing import Any, NamedTuple

import engine
from engine.bots import Bot, find, seen
from engine.bots.match import play as play_match
from engine.chance import Stream
from engine.game import Move
from engine.registry import newest
from engine.scenario import ScriptedChance
from tests.laws.matches import Case, cases, sample
from tests.laws.redeal import REDEALS
from tests.laws.test_determinism import Recording, test_rules_calculate_in_integers, test_rules_import_only_what_is_pure

ROOT = Path(engine.__file__).parent.parent


def stream(version: int) -> Stream:
    return Stream(b"bots", "bot/0", version)


def cases_of(name: str) -> Sequence[Any]:
    """Random matches of one game, all numbers of seats, four sets of options each."""
    return [case for case in cases(4) if case.values[0].game.name == name]


def choice(
    bot: Bot, state: Any, seats: int, seat: int, level: str, version: int = 0, options: Any = None
) -> Move | None:
    """What the seat does in a state, None if it has nothing to decide."""
    game = newest(bot.game)
    view = seen(game, game.options(options or {}, seats), seats, state, seat)
    return bot.decide(view, level, stream(version)) if view else None


def choices(bot: Bot, state: Any, seats: int, seat: int, level: str) -> set[Move | None]:
    """What the seat does with any of twenty streams of chance."""
    return {choice(bot, state, seats, seat, level, version) for version in range(20)}


class Asked(NamedTuple):
    """One choice in a random match: what it was, what it is where all that is unseen differs, and what was legal."""

    move: Move | None
    twin: Move | None
    legal: Sequence[Move]
    replayed: Move | None
    """The same choice, made with nothing but the answers of chance that the first one got."""
    left: int
    """How many of these answers were not asked for."""


def asked(bot: Bot, case: Case, level: str, count: int) -> Iterator[Asked]:
    """Ask a level about some moments of a match that is played at random."""
    game, rng = case.game, random.Random(case.seed)
    options = game.options(case.options, case.seats)
    for moment in sample(case, count):
        for seat in game.to_act(moment.state):
            view = seen(game, options, case.seats, moment.state, seat)
            twin = seen(game, options, case.seats, REDEALS[game.rules](moment.state, seat, rng), seat)
            record = Recording(stream(moment.version))
            move = bot.decide(view, level, record)
            script = ScriptedChance(record.script)
            replayed = bot.decide(view, level, script)
            yield Asked(move, bot.decide(twin, level, stream(moment.version)), view.legal, replayed, script.left)


def assert_pure(bot: Bot) -> None:
    """The file of these computer players imports nothing impure and calculates in integers."""
    path = Path(getsourcefile(type(bot)) or "")
    test_rules_import_only_what_is_pure(path)
    test_rules_calculate_in_integers(path)


def match_of(name: str, levels: Sequence[str], options: dict[str, Any]) -> list[str]:
    """What these levels of version 1 do in one match, as JSON of the moves in order."""
    told = []
    game, bot = newest(name), find(name, 1)

    class Told(type(bot)):
        def decide(self, seen, level, chance):
            move = super().decide(seen, level, chance)
            told.append(f"{level} {game.move_json.encode(move).decode() if move else None}")
            return move

    play_match(game, Told(), levels, b"levels" * 6, options)
    return told


def under_hash_seeds(name: str, levels: Sequence[str], options: dict[str, Any]) -> list[list[str]]:
    """That match, played by processes with two seeds of Python's hashes."""
    script = f"from tests.bots.asking import match_of as m; print('\\n'.join(m({name!r}, {levels!r}, {options!r})))"
    running = [
        subprocess.Popen(
            (sys.executable, "-c", script),
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    return [process.communicate()[0].splitlines() for process in running]
