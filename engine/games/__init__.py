"""The built-in games, one file each."""

from engine.games.bluffing_billionaires import BluffingBillionaires
from engine.games.bombenziehen import Bombenziehen
from engine.games.clever_gedreht import CleverGedreht
from engine.games.timos_twist import TimosTwist
from engine.games.toms_time_bluff import TomsTimeBluff

BUILT_IN = (TimosTwist, Bombenziehen, BluffingBillionaires, CleverGedreht, TomsTimeBluff)
"""Every version of every built-in game, the newest of a game last."""
