"""What a match may be created from: rules, options, seats and computer players that there are, or a game code."""

from typing import Any

from msgspec import UNSET

from engine import bots, codes, registry
from engine.game import encode
from engine.journal import Created, Drift
from engine.seats import HUMAN, OPEN


def checked(body: Created) -> tuple[registry.AnyGame, Any, bytes | None]:
    """Return the game, its options, and the seed of the game code, if a match is dealt from one.

    Raises UnknownGame, BadOptions, BadSeats, BadCode, or Drift for what no match service would have written.
    """
    game = registry.find(body.rules)
    options = game.options(body.options, len(body.seats))
    if any(plan.kind == HUMAN for plan in body.seats):
        raise Drift("seats", "a seat is planned as open or for a computer")
    if encode(options) != encode(body.options):
        raise Drift("options", f"not all options in order: {encode(body.options).decode()}")
    for plan in (*body.seats, *(() if body.absent is UNSET else (body.absent,))):
        if plan.kind != OPEN and plan.policy is UNSET:
            raise Drift("seats", f"a computer player is named with its policy, {plan.kind!r} is not")
        if plan.kind != OPEN and plan.kind not in bots.find(game.name, plan.policy or 0).levels:
            raise Drift("seats", f"there is no computer level {plan.kind!r}")
    return game, options, None if body.code is UNSET else _dealt_from(body)


def _dealt_from(body: Created) -> bytes:
    """Return the seed of a match's game code. Raises BadCode, Drift if the code says another match."""
    assert body.code is not UNSET
    dealt = codes.decode(body.code)
    policies = {plan.policy for plan in body.seats if plan.kind != OPEN}
    if wrong := codes.contradiction(dealt, body.rules, [plan.kind for plan in body.seats], body.options):
        raise Drift("code", f"the game code says other {wrong}")
    if policies - {dealt.policy}:
        raise Drift("code", f"the game code says version {dealt.policy} of the computer players")
    if codes.encode(dealt) != body.code:
        raise Drift("code", f"expected {codes.encode(dealt)}, got {body.code}")
    return dealt.seed
