"""What errors of Redis come down to, for those who count them, alert on them, and tell clients."""

from redis.exceptions import OutOfMemoryError, RedisError, ResponseError

from services.store.exchange import UNREACHABLE

TROUBLES = ("full", "disk", "away", "undurable", "other")
"""full: no memory is left below `maxmemory`. disk: its append-only file cannot be written. away: no answer came.
undurable: what was written is not as durable as the settings ask."""
NO_ROOM = ("full", "disk")
"""Nothing is written then, and no function run that would write."""


def trouble(error: Exception) -> str:
    """Return which of TROUBLES an error of Redis tells of."""
    if isinstance(error, OutOfMemoryError):
        return "full"
    if isinstance(error, ResponseError) and str(error).startswith("MISCONF"):
        return "disk"
    if isinstance(error, UNREACHABLE):
        return "away"
    return "undurable" if isinstance(error, RedisError) and isinstance(error, RuntimeError) else "other"
