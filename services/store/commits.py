"""A commit: the entries of one match and what is written with them, and the call of `croupier.lua` that does it."""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from engine.journal import Line
from services.store.exchange import Argument, Command
from services.store.keys import due_key, ended_key, journal_key, open_key, owner_key, seed_key
from services.store.leases import Lease

WAITS = -1
"""In place of a retention: the match stays until it is archived."""
COMMITTED_TOGETHER = 64
"""So many matches are committed by one call at most: while it runs Redis answers nobody else."""


class Commit(Struct, frozen=True):
    """The entries of one match that are written together, or not at all.

    `expected` and `head` are length and last hash of the journal they continue. `seed` is sealed. `lobby`: None keeps
    the index as it is.
    """

    lease: Lease
    match: str
    expected: int
    head: bytes
    lines: Sequence[Line]
    seed: bytes | None
    lobby: bytes | Literal["remove"] | None
    ended: bool
    due: Mapping[str, int]


CommitResult = Literal["OK", "CONFLICT", "FENCED"]
RESULTS: Mapping[bytes, CommitResult] = {b"OK": "OK", b"CONFLICT": "CONFLICT", b"FENCED": "FENCED"}


def together(commits: Sequence[Commit], *, cluster: bool) -> list[list[int]]:
    """Return which commits go in one call, by their numbers: in a cluster only those of one partition."""
    apart: dict[int, list[int]] = {}
    for number, commit in enumerate(commits):
        apart.setdefault(commit.lease.partition if cluster else 0, []).append(number)
    return [
        numbers[first : first + COMMITTED_TOGETHER]
        for numbers in apart.values()
        for first in range(0, len(numbers), COMMITTED_TOGETHER)
    ]


def commit_call(worker: str, commits: Sequence[Commit], stays: int) -> Command:
    """Return the call that commits several matches which go `together`.

    `stays`: the seconds after which the journal of a match that ends expires, or WAITS. A server that is full
    refuses it unless nothing new is written.
    """
    new = False
    keys: list[Argument] = []
    args: list[Argument] = [worker]
    for commit in commits:
        (partition, epoch), lines, expected = commit.lease, commit.lines, commit.expected
        writes = _writes(commit, stays)
        new = new or bool(lines or writes)
        keys += (owner_key(partition), journal_key(commit.match))
        args += (epoch, expected, commit.head if expected else b"", len(lines), len(writes))
        for line in lines:
            args += (line.data, line.hash)
        for name, key, first, second in writes:
            keys.append(key)
            args += (name, first, second)
    return ("FCALL", "croupier_commit" if new else "croupier_confirm", len(keys), *keys, *args)


def _writes(commit: Commit, stays: int) -> list[tuple[str, str, Argument, Argument]]:
    """Return what else a commit writes: what it is, as `croupier.lua` names it, to which key, and two arguments."""
    if commit.lobby is None and not (commit.due or commit.seed or commit.ended):
        return []
    partition, match = commit.lease.partition, commit.match
    writes: list[tuple[str, str, Argument, Argument]] = []
    if commit.seed:
        writes.append(("seed", seed_key(match), commit.seed, ""))
    if commit.lobby == "remove":
        writes.append(("close", open_key(partition), match, ""))
    elif commit.lobby is not None:
        writes.append(("open", open_key(partition), match, commit.lobby))
    writes += [("due", due_key(partition), member, at) for member, at in commit.due.items()]
    if commit.ended and stays == WAITS:
        writes.append(("ended", ended_key(partition), match, ""))
    elif commit.ended:
        writes.append(("expire", journal_key(match), stays, ""))
    if commit.ended:
        writes.append(("reveal", seed_key(match), "", ""))
    return writes
