"""What the laws in Croupier's tests have to be told about Lone Peak; a plugin of pytest, never installed."""

import random
from pathlib import Path

from lone_peak import State
from msgspec.structs import replace

from tests.games.golden import ELSEWHERE
from tests.laws.redeal import PLACES, REDEALS, SEALED


def redeal(state: State, seat: int | None, rng: random.Random) -> State:
    """All that `seat` does not see comes from one pool: the others' hands and covered cards, and the rest."""
    others = [other for other in range(len(state.hands)) if other != seat]
    covered = [other for other in others if state.laid[other] is not None]
    pool = [*state.rest, *(card for other in others for card in state.hands[other])]
    pool += [card for other in covered if (card := state.laid[other])]
    rng.shuffle(pool)
    hands, laid = list(state.hands), list(state.laid)
    for other in others:
        hands[other] = tuple(sorted(pool.pop() for _ in hands[other]))
    for other in covered:
        laid[other] = pool.pop()
    return replace(state, hands=tuple(hands), laid=tuple(laid), rest=tuple(pool))


REDEALS["lone_peak/1"] = redeal
SEALED["lone_peak/1"] = {"lay": ("lay", ())}
PLACES["lone_peak"] = ("table.trails", "own.hand", "own.laid", "hidden.rest")
ELSEWHERE["lone_peak"] = Path(__file__).parent
