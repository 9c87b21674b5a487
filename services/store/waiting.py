"""The archive's waiting list: matches that have ended, and who archives them."""

from collections.abc import Sequence
from typing import NamedTuple

from services.commands import partition_of
from services.store.keys import ARCHIVER, ended_key, journal_key
from services.store.servers import Servers, call


class Drop(NamedTuple):
    """A journal that is archived and may go at `at` (Unix ms); length and last hash say which one is meant."""

    match: str
    length: int
    head: bytes
    at: int


class Waiting:
    """Where an archive is set a match that has ended stays in Redis until it is dropped from here."""

    def __init__(self, servers: Servers) -> None:
        """Prepare."""
        self._servers = servers

    async def acquire(self, worker: str, lease_ms: int) -> int | None:
        """Become or remain the one who archives, for so long; return the epoch, None if another one is."""
        [epoch] = await self._servers.ask([call("croupier_acquire", [ARCHIVER], worker, lease_ms)])
        return int(epoch) or None

    async def release(self, worker: str, epoch: int) -> None:
        """Stop being the one who archives."""
        await self._servers.ask([call("croupier_release", [ARCHIVER], worker, epoch)])

    async def since(self, until: int, partitions: Sequence[int], count: int) -> list[str]:
        """Return up to `count` matches that wait since `until` (Unix ms) or longer."""
        options = ("-inf", until, "LIMIT", 0, count)
        answers = await self._servers.ask([("ZRANGEBYSCORE", ended_key(p), *options) for p in partitions], partitions)
        return [match.decode() for found in answers for match in found][:count]

    async def count(self, partitions: Sequence[int]) -> int:
        """Return how many matches wait."""
        return sum(await self._servers.ask([("ZCARD", ended_key(p)) for p in partitions], partitions))

    async def put_off(self, matches: Sequence[str], until: int) -> None:
        """Let matches wait until a time (Unix ms)."""
        partitions = [partition_of(match) for match in matches]
        waits = zip(partitions, matches, strict=True)
        await self._servers.ask([("ZADD", ended_key(p), "XX", until, match) for p, match in waits], partitions)

    async def drop(self, drops: Sequence[Drop]) -> list[bool]:
        """Let archived journals go from Redis; return for each whether it was that journal that is (or was) there."""
        calls = [call("croupier_drop", _keys(one.match), *one) for one in drops]
        return [bool(gone) for gone in await self._servers.ask(calls, [partition_of(one.match) for one in drops])]

    async def enlist(self, matches: Sequence[str]) -> int:
        """Let ended matches stay in Redis until they are archived; return how many of them are there."""
        calls = [call("croupier_enlist", _keys(match), match) for match in matches]
        return sum(await self._servers.ask(calls, [partition_of(match) for match in matches]))


def _keys(match: str) -> list[str]:
    return [journal_key(match), ended_key(partition_of(match))]
