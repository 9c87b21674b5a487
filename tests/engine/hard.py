"""Computer players for tests: `hard` takes the last legal move, `easy` the first; neither does what it need not."""

import json

from msgspec import UNSET

from engine import bots, registry
from engine.bots import Bot, Seen
from engine.chance import Chance, commitment
from engine.game import Move, encode
from engine.journal import Created, SeatPlan
from engine.match import Match

POLICY = 9
TIMO = registry.find("timos_twist/1")


class HardBot(Bot):
    """They draw one number each time, so that their stream matters."""

    game = "timos_twist"
    version = POLICY
    levels = ("easy", "hard")

    def decide(self, seen: Seen, level: str, chance: Chance) -> Move | None:
        if not seen.owes:
            return None
        first = chance.pick(len(seen.legal)) if level == "easy" else len(seen.legal) - 1
        return seen.legal[first]


bots.register(HardBot())


def computers(*kinds: str, absent: str | None = None, **fields: str) -> Match:
    """A match of Timo's Twist to 50 with these seats; `lines` has its journal."""
    match = Match(bytes(32))
    match.lines = []
    match.appended = lambda line: match.lines.append(line.data)
    plans = tuple(SeatPlan("open") if kind == "open" else SeatPlan(kind, 0, POLICY) for kind in kinds)
    options = json.loads(encode(TIMO.options({"target": 50}, len(kinds))))
    promise = commitment(bytes(32), "m", TIMO.rules).hex()
    stand_in = UNSET if absent is None else SeatPlan(absent, 0, POLICY)
    match.create(Created("m", TIMO.rules, options, plans, False, promise, "", absent=stand_in, **fields), 5)
    return match


def let_computers_move(match: Match) -> None:
    """Ask every seat that a computer decides for, until none has anything to do."""
    asked = set()
    while True:
        questions = [match.question(seat) for seat in match.players]
        fresh = [each for each in questions if each and (each.seat, each.version) not in asked]
        if not fresh:
            return
        asked.add((fresh[0].seat, fresh[0].version))
        match.bot_move(fresh[0], bots.answer(fresh[0]), match.at + 1)
