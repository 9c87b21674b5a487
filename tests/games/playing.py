"""What the tests of single games do with states: make moves, and play matches by chance."""

from engine.chance import Stream
from engine.scenario import ScriptedChance


def play(game, before, *moves, chance=()):
    """The state after some moves, and what the last of them did.

    A move stands for one of the seat on turn, a pair of a seat and a move for one of that seat.
    """
    script = ScriptedChance(chance)
    events: tuple = ()
    for each in moves:
        seat, move = each if isinstance(each, tuple) else (before.turn, each)
        game.check(before, seat, move)
        before, events = game.apply(before, seat, move, script)
    assert script.left == 0
    return before, list(events)


def playthrough(game, options, seats, number):
    """Every state of a match in which chance chooses seats and moves; `number` says which match."""
    chance, choice = Stream(b"deal", "test", number), Stream(b"choice", "test", number)
    now = game.setup(game.options(options, seats), seats, chance).state
    yield now
    while waiting := game.to_act(now):
        seat = waiting[choice.pick(len(waiting))]
        moves = game.legal(now, seat)
        now = game.apply(now, seat, moves[choice.pick(len(moves))], chance).state
        yield now
