"""Every version of every game's computer players, the newest of a game last."""

from engine.bots.bluffing_billionaires import BluffingBillionairesBot
from engine.bots.bombenziehen import BombenziehenBot
from engine.bots.bot import Bot
from engine.bots.clever_gedreht import CleverGedrehtBot
from engine.bots.timos_twist import TimosTwistBot
from engine.bots.toms_time_bluff import TomsTimeBluffBot

BOTS: tuple[type[Bot], ...] = (
    BombenziehenBot,
    BluffingBillionairesBot,
    TomsTimeBluffBot,
    CleverGedrehtBot,
    TimosTwistBot,
)
