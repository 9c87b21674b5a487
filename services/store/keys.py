"""Every key in Redis and what it holds.

All keys of a partition share the hash tag `{p}`, so that a call may write several of them in a cluster, too.
"""

from functools import cache

from services.commands import partition_of

WORKERS = "croupier:workers"
"""The live workers, by the time until which they are (Unix ms)."""
PARTITIONS = "croupier:partitions"
"""For how many partitions there are matches."""
ARCHIVER = "croupier:archiver"
"""Who archives: like the owner of a partition."""


@cache
def moves_key(partition: int) -> str:
    """The intake stream."""
    return f"croupier:{{{partition}}}:moves"


def journal_key(match: str) -> str:
    """The journal of a match."""
    return f"croupier:{{{partition_of(match)}}}:journal:{match}"


def journals_pattern(partition: int | None = None) -> str:
    """What the journals' keys are like, those of all partitions or of one."""
    return f"croupier:{{{'*' if partition is None else partition}}}:journal:*"


def seed_key(match: str) -> str:
    """The server seed of a running match, sealed."""
    return f"croupier:{{{partition_of(match)}}}:seed:{match}"


@cache
def due_key(partition: int) -> str:
    """Decisions and limits by the time at which they are due."""
    return f"croupier:{{{partition}}}:due"


@cache
def open_key(partition: int) -> str:
    """The lobby index: a summary a match."""
    return f"croupier:{{{partition}}}:open"


@cache
def ended_key(partition: int) -> str:
    """Matches that have ended and wait for the archive, by the time at which they did (Unix ms)."""
    return f"croupier:{{{partition}}}:ended"


def asked_key(partition: int) -> str:
    """Written by whoever needs to know that what he has read is durable."""
    return f"croupier:{{{partition}}}:asked"


@cache
def owner_key(partition: int) -> str:
    """Who owns the partition: worker, epoch, until. Never expires, or epochs would restart."""
    return f"croupier:{{{partition}}}:owner"


@cache
def partition_in(key: bytes) -> int:
    """Return the partition of a key that has one."""
    return int(key[key.index(b"{") + 1 : key.index(b"}")])
