"""When the next move of a match is made: at once, after thinking, or when the schedule says."""

import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from services.load.figures import Meter
    from services.load.match import OpenMatch
    from services.load.plan import Share


class Pace(Protocol):
    """Asked before and at each move."""

    def start(self, now: float) -> None:
        """Begin now."""

    def delay(self, match: "OpenMatch") -> float:
        """Return how many seconds the next move has to wait; 0 or less: none."""

    def begin(self, match: "OpenMatch", now: float) -> float:
        """Return from when the latency of a move counts that is sent now."""

    def enter(self, slot: int, now: float) -> None:
        """A new match is played in this slot from now on."""

    def behind(self, now: float) -> int:
        """Return how many moves should have been made by now and were not."""


class Closed:
    """The next move follows the last one, after a time of thinking between half and one and a half of the given one."""

    def __init__(self, think_ms: float) -> None:
        """Think for so long on average; 0: not at all."""
        self._think_s = think_ms / 1000

    def start(self, now: float) -> None:
        """Nothing is due."""

    def delay(self, match: "OpenMatch") -> float:
        """Think."""
        return self._think_s * (0.5 + match.chance.random()) if self._think_s else 0.0

    def begin(self, match: "OpenMatch", now: float) -> float:
        """Count from sending."""
        del match
        return now

    def enter(self, slot: int, now: float) -> None:
        """Nothing was missed."""

    def behind(self, now: float) -> int:
        """Never."""
        del now
        return 0


class Schedule:
    """Moves at fixed times, taken by the matches in turn, whatever becomes of the moves before.

    A move that cannot be sent at its time, since the one before is still in flight, is sent as soon as it can be; its
    latency counts from its time all the same. So a server that stops for a second shows it in every move that should
    have been made in that second, not in one.
    """

    def __init__(self, share: "Share", meter: "Meter") -> None:
        """Plan for a share's slots."""
        rate = share.plan.rate
        assert rate is not None
        self._step = share.plan.matches / rate
        self._due = {slot: slot / rate for slot in share.slots}
        self._meter = meter

    def start(self, now: float) -> None:
        """The first match's first move is due now."""
        self._due = {slot: now + due for slot, due in self._due.items()}

    def delay(self, match: "OpenMatch") -> float:
        """Wait until the move is due."""
        return self._due[match.slot] - time.perf_counter()

    def begin(self, match: "OpenMatch", now: float) -> float:
        """Count from when it was due."""
        due = self._due[match.slot]
        self._due[match.slot] = due + self._step
        self._meter.late.append(max(0.0, now - max(due, match.touched)))
        return due

    def enter(self, slot: int, now: float) -> None:
        """Skip what was due while there was no match."""
        missed = self._missed(slot, now)
        self._due[slot] += missed * self._step
        self._meter.counts.skipped += missed

    def behind(self, now: float) -> int:
        """Count what is due and was not sent."""
        return sum(self._missed(slot, now) for slot in self._due)

    def _missed(self, slot: int, now: float) -> int:
        due = self._due[slot]
        return int((now - due) / self._step) + 1 if due <= now else 0
