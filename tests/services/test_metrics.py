import socket
import urllib.request

import pytest

from services.metrics import BATCH_BUCKETS, Metrics
from services.settings import Settings


def page(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return answer.read().decode()


def test_the_endpoint_shows_what_was_counted():
    metrics = Metrics()
    metrics.commands.labels(kind="move", result="accepted").inc()
    metrics.moves.labels(game="timos_twist", result="ILLEGAL_MOVE").inc(2)
    metrics.lease_changes.labels(change="taken").inc()
    metrics.end_to_end_seconds.observe(0.003)
    metrics.intake_lag.set(9)
    with metrics.serve("127.0.0.1", 0) as endpoint:
        lines = page(endpoint.port).splitlines()
    assert 'croupier_commands_total{kind="move",result="accepted"} 1.0' in lines
    assert 'croupier_moves_total{game="timos_twist",result="ILLEGAL_MOVE"} 2.0' in lines
    assert 'croupier_lease_changes_total{change="taken"} 1.0' in lines
    assert 'croupier_end_to_end_seconds_bucket{le="0.002"} 0.0' in lines
    assert 'croupier_end_to_end_seconds_bucket{le="0.005"} 1.0' in lines
    assert "croupier_intake_lag 9.0" in lines
    assert "croupier_replay_mismatches_total 0.0" in lines


def test_what_alerts_watch_is_shown_before_it_has_happened():
    """Prometheus takes the first value of a series for where it began: 32 leases lost at once would be none."""
    registry = Metrics().registry
    assert registry.get_sample_value("croupier_lease_changes_total", {"change": "lost"}) == 0
    assert registry.get_sample_value("croupier_archive_failures_total", {"reason": "storage"}) == 0


def test_two_instances_count_apart():
    first, second = Metrics(), Metrics()
    first.conflicts.inc()
    assert first.registry.get_sample_value("croupier_conflicts_total") == 1
    assert second.registry.get_sample_value("croupier_conflicts_total") == 0


def test_a_closed_endpoint_has_freed_its_port():
    endpoint = Metrics().serve("127.0.0.1", 0)
    endpoint.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", endpoint.port), timeout=10)
    Metrics().serve("127.0.0.1", endpoint.port).close()


def test_a_taken_address_is_an_error():
    with Metrics().serve("127.0.0.1", 0) as endpoint, pytest.raises(OSError, match="in use"):
        Metrics().serve("127.0.0.1", endpoint.port)


def test_no_label_names_a_match_a_seat_or_a_partition():
    labels = {label for metric in vars(Metrics()).values() for label in getattr(metric, "_labelnames", ())}
    assert labels == {"kind", "result", "game", "reason", "change", "method"}


def test_every_metric_says_what_it_counts_under_the_prefix_of_the_product():
    for metric in Metrics().registry.collect():
        assert metric.name.startswith(("croupier_", "process_"))
        assert metric.documentation.endswith(".")


def test_batches_are_told_apart_up_to_the_largest_that_settings_allow():
    largest = max(bound.le for bound in Settings.model_fields["batch"].metadata if hasattr(bound, "le"))
    assert BATCH_BUCKETS[-1] == largest
