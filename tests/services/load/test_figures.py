"""What a load measures, and when a move is due."""

import random
import time
from types import SimpleNamespace
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

from services.load.figures import Counts, Interval, Latency, Meter, histogram, quantile, sort
from services.load.pace import Closed, Schedule
from services.load.plan import Share
from tests.services.load.planned import plan

# --- figures ---------------------------------------------------------------------------------------------------------


def test_buckets_are_those_of_an_hdr_histogram():
    chance = random.Random(1)
    values = [chance.lognormvariate(-5, 2) for _ in range(5000)] + [0.0, 0.002047, 0.002048, 0.004095, 0.004096]
    straight = HdrHistogram(1, 3_600_000_000, 3)
    for value in values:
        straight.record_value(max(1, int(value * 1e6)))
    sorted_in = histogram(sort(values))
    for percent in (0, 10, 50, 90, 99, 99.9, 100):
        expected = straight.get_value_at_percentile(percent)
        assert straight.values_are_equivalent(expected, sorted_in.get_value_at_percentile(percent))
    assert straight.get_total_count() == sorted_in.get_total_count()


def test_workers_merged_are_as_one_worker_who_saw_it_all():
    chance = random.Random(2)
    parts = [[chance.random() for _ in range(300)] for _ in range(3)]
    merged = Interval()
    for part in parts:
        merged.add(Interval(Counts(moves=len(part), refused={"OVERLOADED": 1}), view=dict(sort(part))))
    assert Latency.of(sort(value for part in parts for value in part)) == Latency.of(merged.view)
    assert (merged.counts.moves, merged.counts.refused) == (900, {"OVERLOADED": 3})
    decoded = HdrHistogram.decode(Latency.of(merged.view).histogram)
    assert decoded.get_total_count() == 900


def test_a_percentile_of_buckets_is_the_value_below_which_that_share_lies():
    assert tuple(quantile({100: 50, 200: 49, 400: 1}, percent) for percent in (50, 99, 100)) == (0.1, 0.2, 0.4)
    assert quantile({}, 50) == 0


def test_what_was_reported_is_not_reported_again():
    meter = Meter()
    meter.view += [0.001, 0.001]
    meter.counts.moves = 2
    meter.refuse("OVERLOADED")
    first, second = meter.take(3), meter.take(3)
    assert (first.counts.moves, first.view, first.counts.refused, first.open) == (2, {1000: 2}, {"OVERLOADED": 1}, 3)
    assert (second.counts.moves, second.view, second.counts.refused) == (0, {}, {})


# --- pace ------------------------------------------------------------------------------------------------------------


def test_a_server_that_stops_for_a_second_shows_it_in_every_move_due_in_that_second():
    meter = Meter()
    pace = Schedule(Share(plan(matches=1, rate=10.0), 0, 1), meter)
    match: Any = SimpleNamespace(slot=0, touched=0.0)
    pace.start(100.0)
    begun = [pace.begin(match, 100.0)]
    match.touched = 101.0  # the first move's views came a second late; nine moves are due
    latencies = []
    for sent in (101.0, 101.01, 101.02, 101.03, 101.04, 101.05, 101.06, 101.07, 101.08, 101.09):
        begun.append(pace.begin(match, sent))
        latencies.append(sent + 0.005 - begun[-1])
        match.touched = sent + 0.005
    assert begun == pytest.approx([100 + i / 10 for i in range(11)])
    assert latencies == pytest.approx([0.905 - 0.09 * i for i in range(10)])
    assert max(meter.late) == pytest.approx(0.005)  # the client was ready, and late by that much; not by a second


def test_a_schedule_is_spread_over_matches_and_workers():
    wanted = plan(matches=4, rate=8.0)
    pace = Schedule(Share(wanted, 1, 2), Meter())
    now = time.perf_counter()
    pace.start(now)
    dues = [pace.begin(SimpleNamespace(slot=slot, touched=0.0), now) - now for slot in (1, 3, 1, 3)]
    assert dues == pytest.approx([0.125, 0.375, 0.625, 0.875])


def test_moves_due_while_a_match_is_opened_are_skipped_and_counted():
    meter = Meter()
    pace = Schedule(Share(plan(matches=1, rate=10.0), 0, 1), meter)
    pace.start(100.0)
    pace.enter(0, 100.25)
    assert meter.counts.skipped == 3
    assert pace.begin(SimpleNamespace(slot=0, touched=0.0), 100.3) == pytest.approx(100.3)
    assert tuple(pace.behind(now) for now in (100.35, 100.45, 100.55)) == (0, 1, 2)


def test_thinking_takes_between_half_and_one_and_a_half_of_its_time():
    match: Any = SimpleNamespace(chance=random.Random(3))
    delays = [Closed(100).delay(match) for _ in range(500)]
    assert 0.05 <= min(delays) < 0.06
    assert 0.14 < max(delays) <= 0.15
    assert Closed(0).delay(match) == 0
