"""What the services count, in a registry of their own, and the Prometheus endpoint that shows it.

Labels have few values, all known when the program is written: no match, seat, player or partition is one.
"""

import threading
from typing import Self
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, start_http_server
from redis.exceptions import RedisError

from services.store.trouble import TROUBLES, trouble

# Seconds. A commit is one Redis call, 0.2 ms on loopback to some ms with a disk or a replica to wait for; past 0.5 s
# leases are in danger.
COMMIT_BUCKETS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 3.0)
# Seconds. Intake ids count milliseconds, so nothing finer is measured; people notice 0.1 s; at 1 s a receipt is asked
# for, at 3 s a lease runs out, at 5 s a call's deadline.
END_TO_END_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
# Commands. Powers of two up to the largest `batch` that settings allow: a full bucket at the limit means more is due.
BATCH_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


# A counter that is not shown before it has counted once has grown by nothing, says Prometheus. Alerts look at these.
LEASE_CHANGES = ("taken", "given_back", "lost")
NOT_OPENED = ("seed_key", "rules")
ARCHIVE_FAILURES = ("unfit", "unverified", "changed", "storage")


class Endpoint:
    """A running Prometheus endpoint, at `/metrics`; a context manager that closes it."""

    def __init__(self, server: WSGIServer, thread: threading.Thread) -> None:
        self._server = server
        self._thread = thread
        self.port = server.server_port

    def close(self) -> None:
        """Stop listening; returns when the port is free again."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Metrics:
    """The metrics of one process. Each instance counts for itself, from zero."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)

        self.commands = self._counter("commands", "Commands decided, by kind and result.", "kind", "result")
        self.moves = self._counter("moves", "Moves decided, by game and result.", "game", "result")
        self.refused_calls = self._counter(
            "refused_calls", "gRPC calls refused before the intake, by reason.", "reason"
        )
        self.receipts = self._counter("receipts", "Commands answered by a match service, by result.", "result")
        self.receipt_queries = self._counter("receipt_queries", "Receipts that had to be asked for.")
        self.views_published = self._counter("views_published", "Views published, repeats included.")
        self.conflicts = self._counter("conflicts", "Commits that lost a race and were decided again.")
        self.lease_changes = self._counter("lease_changes", "Partitions taken, given back and lost.", "change")
        for change in LEASE_CHANGES:
            self.lease_changes.labels(change)
        self.store_failures = self._counter(
            "store_failures",
            "Times that Redis did not do what it was asked: full, disk (no room for its file), away, undurable, other.",
            "reason",
        )
        for reason in TROUBLES:
            self.store_failures.labels(reason)
        self.replay_mismatches = self._counter("replay_mismatches", "Journals that did not replay to their digests.")
        self.matches_not_opened = self._counter(
            "matches_not_opened",
            "Times that a worker lacked what a match needs: seed_key (the key of its seed), rules (their version).",
            "reason",
        )
        for reason in NOT_OPENED:
            self.matches_not_opened.labels(reason)
        self.internal_errors = self._counter("internal_errors", "Exceptions while deciding a command.")
        self.nats_logins = self._counter("nats_logins", "Connections to NATS asked about, by result.", "result")
        self.clock_moves = self._counter("clock_moves", "Moves made by the clock.")

        self.archived_matches = self._counter("archived_matches", "Matches verified in the archive.")
        self.archive_failures = self._counter(
            "archive_failures",
            "Times that matches could not be archived: unfit, unverified, changed, storage.",
            "reason",
        )
        for reason in ARCHIVE_FAILURES:
            self.archive_failures.labels(reason)

        self.commit_seconds = self._histogram("commit_seconds", "One pipeline of commits.", COMMIT_BUCKETS)
        self.end_to_end_seconds = self._histogram(
            "end_to_end_seconds", "From a command's intake id to its publication.", END_TO_END_BUCKETS
        )
        self.batch_size = self._histogram("batch_size", "Commands taken from the intake in one read.", BATCH_BUCKETS)

        self.intake_lag = self._gauge("intake_lag", "Commands waiting in all partitions owned.")
        self.intake_lag_max = self._gauge("intake_lag_max", "Commands waiting in the fullest partition owned.")
        self.partitions_owned = self._gauge("partitions_owned", "Partitions owned, by leases that have not run out.")
        self.serving = self._gauge("serving", "Whether a match or auth service reaches what it needs: 1 or 0.")
        self.cached_matches = self._gauge("cached_matches", "Matches in memory.")
        self.archive_waiting = self._gauge("archive_waiting", "Matches that wait for the archive.")
        self.open_streams = self._gauge("open_streams", "Open gRPC streams, by method.", "method")

    def store_failed(self, error: Exception) -> None:
        """Count an error of Redis; any other is somebody else's."""
        if isinstance(error, RedisError):
            self.store_failures.labels(trouble(error)).inc()

    def serve(self, host: str, port: int) -> Endpoint:
        """Show the metrics over HTTP, from a thread; with port 0 on a free one.

        Raises:
            OSError: the address cannot be had.
        """
        return Endpoint(*start_http_server(port, host, self.registry))

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(name, meaning, labels, namespace="croupier", registry=self.registry)

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(name, meaning, labels, namespace="croupier", registry=self.registry)

    def _histogram(self, name: str, meaning: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(name, meaning, namespace="croupier", registry=self.registry, buckets=buckets)
