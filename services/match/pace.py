"""How fast a seat or an address may send: a token bucket each, kept as one number."""

import math
from collections.abc import Hashable

BURST_S = 1.0
"""How much of its rate a seat may have saved up."""
_FEW = 4096


class Pace:
    """Buckets that hold `rate` commands and fill with `rate` a second. Full ones are forgotten, which bounds memory."""

    def __init__(self, rate: int) -> None:
        """Let every key pass `rate` times a second."""
        self._step = 1 / rate
        self._empty_until: dict[Hashable, float] = {}
        """When the bucket would be full again, were nothing taken from it any more."""
        self._sweep_at = _FEW

    def __len__(self) -> int:
        return len(self._empty_until)

    def take(self, key: Hashable, now: float) -> bool:
        """Whether a command may pass at `now` (seconds, never going back); if so it is counted."""
        full_at = max(self._empty_until.get(key, 0.0), now) + self._step
        if full_at - now > BURST_S + 1e-9:
            return False
        self._empty_until[key] = full_at
        if len(self._empty_until) > self._sweep_at:
            self._empty_until = {other: at for other, at in self._empty_until.items() if at > now}
            self._sweep_at = max(_FEW, 2 * len(self._empty_until))
        return True

    def wait_ms(self, key: Hashable, now: float) -> int:
        """Return in how many milliseconds the next command of a key may pass, at least 1."""
        return max(1, math.ceil((self._empty_until.get(key, 0.0) + self._step - BURST_S - now) * 1000))
