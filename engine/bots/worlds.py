"""Deals of the cards out of sight, for players that imagine many of them.

One draw of chance seeds all deals of a decision: a shuffle by `chance.shuffle` takes longer than a round played on.
"""

import hashlib
import struct
from collections.abc import Iterator, Sequence

from engine.chance import Chance


def deals(chance: Chance, cards: Sequence[int], count: int) -> Iterator[list[int]]:
    """Yield the cards `count` times, each time in another random order."""
    shape = struct.Struct(f">{len(cards)}I")
    seed, places = chance.pick(1 << 64), range(len(cards))
    for number in range(count):
        keys = shape.unpack(hashlib.shake_128(struct.pack(">QI", seed, number)).digest(shape.size))
        yield [cards[place] for place in sorted(places, key=keys.__getitem__)]
