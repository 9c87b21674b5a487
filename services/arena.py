"""`croupier arena`: computer players against each other, on all cores, seats rotated, seeded; win rates with intervals.

In a match of n seats one seat is the challenger's, all others the rival's. An even share is 1/n of the wins; a shared
win counts in equal parts. The interval is Wilson's at 95 %.
"""

import math
import time
from collections.abc import Generator
from concurrent.futures import as_completed
from dataclasses import dataclass, field

from engine import bots, registry
from engine.bots.match import play
from services.processes import Processes, cores

Z = 1.959964


@dataclass(slots=True)
class Score:
    """What a challenger has won so far; decision times in seconds, by level."""

    seats: int
    matches: int = 0
    wins: float = 0.0
    took: dict[str, float] = field(default_factory=dict)
    decisions: dict[str, int] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """The challenger's share of the wins."""
        return self.wins / self.matches if self.matches else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the rate."""
        if not self.matches:
            return 0.0, 1.0
        n, p = self.matches, self.rate
        middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
        half = Z / (1 + Z * Z / n) * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
        return max(0.0, middle - half), min(1.0, middle + half)

    @property
    def beats(self) -> bool:
        """Whether the interval lies above an even share."""
        return self.interval[0] > 1 / self.seats

    def milliseconds(self, level: str) -> float:
        """The average time of a level's decisions, in milliseconds."""
        return self.took.get(level, 0.0) / max(1, self.decisions.get(level, 0)) * 1000


def one(
    name: str, challenger: str, rival: str, seats: int, options: dict[str, object], number: int
) -> tuple[float, dict[str, float], dict[str, int]]:
    """Play match `number`; return the challenger's share of the win, and times and numbers of decisions by level."""
    game = registry.newest(name)
    bot = bots.newest(name)
    place = number % seats
    levels = [challenger if seat == place else rival for seat in range(seats)]
    took: dict[str, float] = {}
    decisions: dict[str, int] = {}
    last = time.process_time()

    def timed(seat: int, _version: int) -> None:
        nonlocal last
        now = time.process_time()
        took[levels[seat]] = took.get(levels[seat], 0.0) + now - last
        decisions[levels[seat]] = decisions.get(levels[seat], 0) + 1
        last = now

    result = play(game, bot, levels, number.to_bytes(32, "big"), options, timed)
    return (place in result.winners) / len(result.winners), took, decisions


def arena(
    name: str,
    challenger: str,
    rival: str,
    *,
    seats: int,
    matches: int,
    options: dict[str, object],
    workers: int = 0,
    first: int = 0,
) -> Generator[Score, None, None]:
    """Yield the score after every match, from `first` on; the same arguments give the same last rate everywhere."""
    score = Score(seats)
    with Processes(workers or cores()) as pool:
        runs = [
            pool.submit(one, name, challenger, rival, seats, options, number)
            for number in range(first, first + matches)
        ]
        for run in as_completed(runs):
            share, took, decisions = run.result()
            score.matches += 1
            score.wins += share
            for level, seconds in took.items():
                score.took[level] = score.took.get(level, 0.0) + seconds
                score.decisions[level] = score.decisions.get(level, 0) + decisions[level]
            yield score
