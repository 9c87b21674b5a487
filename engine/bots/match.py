"""A match of computer players on the bare rules, for measuring their strength and testing them."""

from collections.abc import Callable, Sequence

from engine.bots.bot import Bot, seen
from engine.chance import Stream, bot_key
from engine.game import Result
from engine.registry import AnyGame

MAX_MOVES = 20_000


def _still(game: AnyGame, state: object, seat: int, question: object) -> object:
    """The question a seat was asked, None if it is another one now: the same one may come again."""
    return question if game.asked(state, seat) == question else None


def play(
    game: AnyGame,
    bot: Bot,
    levels: Sequence[str],
    key: bytes,
    options: dict[str, object],
    timed: Callable[[int, int], None] = lambda _seat, _version: None,
) -> Result:
    """Play one match to its end, a level a seat, dealt from `key`; `timed` is called after each decision.

    A seat is asked when the decision it faces has changed, seats that owe nothing first, as a worker asks them.
    """
    seats = len(levels)
    settled = game.options(options, seats)
    secret = bot_key(key)
    version = 0
    state = game.setup(settled, seats, Stream(key, "game", version)).state
    asked: list[object] = [None] * seats
    while (result := game.result(state)) is None and version < MAX_MOVES:
        order = sorted(range(seats), key=lambda seat: (seat in game.to_act(state), seat))
        for seat in order:
            question = game.asked(state, seat)
            if question is None or question == asked[seat]:
                continue
            view = seen(game, settled, seats, state, seat)
            asked[seat] = question
            if view is None:
                continue
            move = bot.decide(view, levels[seat], Stream(secret, f"bot/{seat}", version))
            timed(seat, version)
            if move is None:
                continue
            game.check(state, seat, move)
            version += 1
            state = game.apply(state, seat, move, Stream(key, "game", version)).state
            asked = [None if other == seat else _still(game, state, other, asked[other]) for other in range(seats)]
            break
        else:
            raise RuntimeError(f"{game.name}: nobody moves, though seats {game.to_act(state)} owe a move")
    if result is None:
        raise RuntimeError(f"{game.name}: no end after {MAX_MOVES} moves")
    return result
