"""Computer players of Lone Peak, a game of luck: they differ in what they look at, hardly in what they win.

Reckless lays any card. Clever lays the highest card whose twin cannot be laid against it, else its highest card.
"""

from typing import ClassVar

from lone_peak import Lay, Own, Table

from engine.bots import Bot, Seen
from engine.chance import Chance
from engine.game import Move


class LonePeakBot(Bot):
    game = "lone_peak"
    levels: ClassVar[tuple[str, ...]] = ("reckless", "clever")

    def decide(self, seen: Seen, level: str, chance: Chance) -> Move:
        if level == "reckless":
            return seen.legal[chance.pick(len(seen.legal))]
        table, own = seen.table, seen.own
        assert isinstance(table, Table)
        assert isinstance(own, Own)
        gone = {card for trail in table.trails for card in trail.cards}
        return Lay(max(own.hand, key=lambda card: (card in gone or own.hand.count(card) > 1, card)))
