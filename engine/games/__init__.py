"""The built-in games, one file each."""

from engine.games.timos_twist import TimosTwist

BUILT_IN = (TimosTwist,)
"""Every version of every built-in game, the newest of a game last."""
