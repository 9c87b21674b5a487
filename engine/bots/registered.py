"""Every version of every game's computer players, the newest of a game last."""

from engine.bots.bot import Bot

BOTS: tuple[type[Bot], ...] = ()
