"""What is counted, and how it is added up: latency in histograms, so that workers can be merged without loss.

A worker keeps latencies as they come and sorts them into buckets when it reports. The buckets are those of an
HdrHistogram of three digits, each named by its lowest value, so a dictionary of them is that histogram without its
zeros: cheap to fill, to send and to add.
"""

import time
from collections import Counter
from collections.abc import Iterable, Mapping

from hdrh.histogram import HdrHistogram
from msgspec import Struct, field

LONGEST_US = 3_600_000_000
DIGITS = 3
_SUB_BUCKET_BITS = 11
PERCENTILES = (50.0, 90.0, 99.0, 99.9)

Buckets = dict[int, int]
"""How many values (microseconds) there were, by the lowest value of their bucket."""


def sort(seconds: Iterable[float]) -> Counter[int]:
    """Return the buckets of times in seconds."""
    return Counter(
        [
            (us >> shift) << shift if (shift := (us := int(value * 1e6)).bit_length() - _SUB_BUCKET_BITS) > 0 else us
            for value in seconds
        ]
    )


def histogram(buckets: Mapping[int, int]) -> HdrHistogram:
    """Return the histogram that these buckets are."""
    found = HdrHistogram(1, LONGEST_US, DIGITS)
    for value, count in buckets.items():
        found.record_value(min(max(value, 1), LONGEST_US), count)
    return found


class Latency(Struct, frozen=True):
    """A summary in milliseconds; `histogram` is an HdrHistogram in microseconds, encoded as its other tools read it."""

    count: int
    mean: float
    p50: float
    p90: float
    p99: float
    p99_9: float
    max: float
    histogram: str = ""

    @classmethod
    def of(cls, buckets: Mapping[int, int], *, encoded: bool = True) -> "Latency":
        """Summarise; all zeros without values."""
        count = sum(buckets.values())
        if not count:
            return cls(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        found = histogram(buckets)
        p50, p90, p99, p99_9 = (found.get_value_at_percentile(percent) / 1000 for percent in PERCENTILES)
        text = found.encode().decode() if encoded else ""
        mean, longest = round(found.get_mean_value() / 1000, 3), found.get_max_value() / 1000
        return cls(count, mean, p50, p90, p99, p99_9, longest, text)


def quantile(buckets: Mapping[int, int], percent: float) -> float:
    """Return a percentile in milliseconds straight from buckets; 0 without values."""
    wanted = sum(buckets.values()) * percent / 100
    passed = 0
    for value in sorted(buckets):
        passed += buckets[value]
        if passed >= wanted:
            return value / 1000
    return 0.0


class Counts(Struct):
    """What happened, in the measured time or in a part of it."""

    moves: int = 0
    """Moves that every seat has seen."""
    receipts: int = 0
    """Moves that were accepted."""
    refused: dict[str, int] = field(default_factory=dict)
    """Refusals by reason; those after which the same command was sent again included."""
    gaps: int = 0
    """How often a seat noticed that it may have missed views, and asked."""
    healed_views: int = 0
    """Views that did not come to a seat as they were published, and were made up for by the same or a newer one."""
    opened: int = 0
    ended: int = 0
    left: int = 0
    reconnects: int = 0
    skipped: int = 0
    """Moves on the schedule of a match that was just being opened, which nobody could make."""
    cpu: float = 0.0
    """CPU seconds of the worker."""

    def add(self, other: "Counts") -> None:
        """Add what another part counted."""
        for name in self.__struct_fields__:
            if name != "refused":
                setattr(self, name, getattr(self, name) + getattr(other, name))
        for reason, count in other.refused.items():
            self.refused[reason] = self.refused.get(reason, 0) + count


class Interval(Struct):
    """What a worker saw since it last reported."""

    counts: Counts = field(default_factory=Counts)
    receipt: Buckets = field(default_factory=dict)
    """From sending a move, or from when it should have been sent, to its receipt."""
    view: Buckets = field(default_factory=dict)
    """The same to every seat's view that includes it."""
    late: Buckets = field(default_factory=dict)
    """How much later than it should have been a move was sent although its match was ready: this client's own delay."""
    opening: Buckets = field(default_factory=dict)
    """From asking for a match to playing it."""
    open: int = 0
    """Matches open now."""
    seconds: float = 0.0

    def add(self, other: "Interval") -> None:
        """Merge what somebody else saw."""
        self.counts.add(other.counts)
        for name in ("receipt", "view", "late", "opening"):
            mine: Buckets = getattr(self, name)
            for value, count in getattr(other, name).items():
                mine[value] = mine.get(value, 0) + count


class Meter:
    """What one worker counts until it reports."""

    def __init__(self) -> None:
        """Start at nothing."""
        self.counts = Counts()
        self.receipt: list[float] = []
        self.view: list[float] = []
        self.late: list[float] = []
        self.opening: list[float] = []
        self.began = time.perf_counter()
        self.cpu = time.process_time()

    def take(self, open_matches: int) -> Interval:
        """Return all of it and start anew."""
        now, cpu = time.perf_counter(), time.process_time()
        self.counts.cpu = cpu - self.cpu
        taken = Interval(
            counts=self.counts,
            receipt=dict(sort(self.receipt)),
            view=dict(sort(self.view)),
            late=dict(sort(self.late)),
            opening=dict(sort(self.opening)),
            open=open_matches,
            seconds=now - self.began,
        )
        self.counts, self.began, self.cpu = Counts(), now, cpu
        for values in (self.receipt, self.view, self.late, self.opening):
            values.clear()
        return taken

    def refuse(self, reason: str) -> None:
        """Count a refusal."""
        self.counts.refused[reason] = self.counts.refused.get(reason, 0) + 1
