"""Redis. Nothing outside this package talks to it.

Every key stands in `keys`; what happens all or not at all in `croupier.lua`. `Store` has the journals, the lobby index
and what is due; `intake`, `leases` and `waiting` (for the archive) are parts of it. `commits` is what a commit is and
how Redis is told; `servers`, `exchange` and `cluster` are the road to it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self, cast

from redis.exceptions import RedisError

from engine.journal import ENDS, read
from services.commands import partition_of
from services.settings import Settings
from services.store.commits import RESULTS, WAITS, Commit, CommitResult, commit_call, together
from services.store.exchange import Command
from services.store.intake import Along, Intake
from services.store.keys import (
    PARTITIONS,
    asked_key,
    due_key,
    journal_key,
    journals_pattern,
    open_key,
    owner_key,
    seed_key,
)
from services.store.leases import Lease, PartitionLeases, is_held
from services.store.servers import Servers, StoreError, unusable
from services.store.waiting import Waiting

LOOKED_AT = 500
"""So many journals are looked at in one go."""


class Recorded(NamedTuple):
    """What Redis holds of a match: its lines in order, and while it runs its seed, sealed."""

    lines: list[bytes]
    seed: bytes | None


class Store:
    """The operations on a server or a cluster. Every method raises redis' errors when it is away.

    In a cluster some of whose primaries are there that is `Unreachable`, unless a method says otherwise.
    """

    def __init__(self, settings: Settings) -> None:
        """Prepare; nothing is connected before `open`."""
        self._settings = settings
        self._servers = Servers(settings)
        self.intake = Intake(settings, self._servers)
        self.leases = PartitionLeases(settings, self._servers)
        self.waiting = Waiting(self._servers)

    async def open(self, *, functions: bool = True) -> Self:
        """Check the servers and bring the functions and the number of partitions there.

        `functions`: False leaves the functions as they are, for who calls none or may load none (`deploy/redis.conf`).
        Raises StoreError, also for a Redis that is not there or lets nobody in; after any error nothing is left open.
        """
        try:
            await self._servers.check()
            if functions:
                await self._servers.load_functions()
            await self._check_partitions()
        except BaseException as error:
            await self.close()
            if isinstance(error, RedisError):
                raise unusable(error) from None
            raise
        return self

    async def close(self) -> None:
        """Close all connections."""
        await self._servers.close()

    async def _check_partitions(self) -> None:
        mine = self._settings.partitions
        [found] = await self._servers.ask([("GET", PARTITIONS)])
        known = int(found or 0)
        if known > mine:
            raise StoreError(
                f"CROUPIER_PARTITIONS: is {mine}, but this Redis holds matches of {known}; allowed: {known} or more"
            )
        if known < mine:
            await self._servers.ask([("SET", PARTITIONS, mine)])

    async def time(self) -> int:
        """Return the server's time in Unix milliseconds; in a cluster that of the primary which is most behind."""
        return await self._servers.time()

    # --- journals ------------------------------------------------------------------------------------------------

    async def commit(self, worker: str, commits: Sequence[Commit], along: Along | None = None) -> list[CommitResult]:
        """Write the entries of several matches, each match all or nothing; return what became of each.

        On return everything that was committed, by these or by earlier calls, is as durable as the setting asks. Raises
        NotDurable if it cannot be; it may be written then. With `along` what `acknowledge_later` left is acknowledged,
        too; after an error nobody has it in hand, and it may be delivered again.
        """
        stays = WAITS if self._settings.archive else self._settings.retention_s
        if self.intake.acknowledging and (due := {member for commit in commits for member in commit.due}):
            self.intake.due_again(due)
        calls = together(commits, cluster=self._settings.redis_cluster)
        commands = [commit_call(worker, [commits[number] for number in numbers], stays) for numbers in calls]
        partitions = [commits[numbers[0]].lease.partition for numbers in calls]
        if along is None or not along.partitions or self._settings.redis_cluster:
            answers = await self._servers.write(commands, partitions)
        else:
            commands += self.intake.along(along.partitions)
            answers = await self._servers.write(commands, partitions)
            along.found += self.intake.found(answers[-1] or ())
        results: dict[int, bytes] = {}
        for numbers, answer in zip(calls, answers, strict=False):
            results.update(zip(numbers, answer, strict=True))
        return [RESULTS[results[number]] for number in range(len(commits))]

    async def holds(self, worker: str, lease: Lease, match: str, length: int, head: bytes) -> bool | None:
        """Whether a match's journal has just this length and last hash; None if the lease is no longer this worker's.

        True promises that the journal is as durable as the setting asks. Raises NotDurable if that cannot be had.
        """
        if self._servers.confirmation is not None:
            nothing = Commit(lease, match, length, head, [], None, None, ended=False, due={})
            [result] = await self.commit(worker, [nothing])
            return None if result == "FENCED" else result == "OK"
        held, last = await self._servers.ask(
            [
                ("HMGET", owner_key(lease.partition), "worker", "epoch"),
                ("XREVRANGE", journal_key(match), "+", "-", "COUNT", 1),
            ],
            [lease.partition] * 2,
        )
        return _continues(last, length, head) if is_held(held, worker, lease) else None

    async def load(self, matches: Sequence[str], *, seeds: bool = True) -> list[Recorded]:
        """Return what is recorded of matches; no lines for one that does not exist (any more).

        One that ends meanwhile comes with its seed or with its end, which reveals it. `seeds`: False asks for no seeds,
        for who may read none (`deploy/redis.conf`).
        """
        journals: list[Command] = [("XRANGE", journal_key(match), "-", "+") for match in matches]
        if not seeds:
            answers = await self._servers.ask(journals, [partition_of(match) for match in matches])
            return [Recorded(_lines(entries), None) for entries in answers]
        # Seeds first: the end of a match, which takes its seed away, may come between any two commands.
        commands: list[Command] = [("GET", seed_key(match)) for match in matches]
        answers = await self._servers.ask(commands + journals, [partition_of(match) for match in matches] * 2)
        found = zip(answers, answers[len(matches) :], strict=False)
        return [Recorded(_lines(entries), seed) for seed, entries in found]

    async def lines(self, match: str, start: int = 0, count: int = 1000) -> list[bytes]:
        """Return up to `count` lines of a journal from version `start`."""
        command = ("XRANGE", journal_key(match), f"{start + 1}-0", "+", "COUNT", count)
        return _lines((await self._servers.ask([command], [partition_of(match)]))[0])

    async def last_line(self, match: str) -> bytes | None:
        """Return the last line of a journal, None if there is no journal.

        It is as durable as the setting asks: who reads the end of a match reads its seed. Raises NotDurable.
        """
        commands: list[Command] = [("XREVRANGE", journal_key(match), "+", "-", "COUNT", 1)]
        if self._servers.confirmation is not None:  # which waits for what its own connection has written
            commands.append(("SET", asked_key(partition_of(match)), ""))
        entries = (await self._servers.write(commands, [partition_of(match)] * 2))[0]
        return next(iter(_lines(entries)), None)

    async def matches(self, partition: int | None = None) -> list[str]:
        """Return the ids of all matches that Redis holds, or of those of a partition, ascending."""
        keys = await self._servers.exchange.keys(journals_pattern(partition))
        return sorted(key.decode().rpartition(":")[2] for key in keys)

    async def ended_matches(self) -> list[str]:
        """Return the ids of all matches in Redis whose journals have ended, ascending."""
        known = await self.matches()
        ended: list[str] = []
        for first in range(0, len(known), LOOKED_AT):
            some = known[first : first + LOOKED_AT]
            lasts = [("XREVRANGE", journal_key(match), "+", "-", "COUNT", 1) for match in some]
            for match, entries in zip(some, await self._servers.ask(lasts), strict=True):
                ended += [match for line in _lines(entries) if isinstance(read(line).body, ENDS)]
        return ended

    # --- lobby index and due decisions ---------------------------------------------------------------------------

    async def lobby(self, partition: int) -> dict[str, bytes]:
        """Return the summaries of the partition's open matches by match id."""
        [found] = await self._servers.ask([("HGETALL", open_key(partition))], [partition])
        return {match.decode(): summary for match, summary in zip(found[::2], found[1::2], strict=True)}

    async def lobby_entry(self, match: str) -> bytes | None:
        """Return the summary of an open match."""
        partition = partition_of(match)
        [found] = await self._servers.ask([("HGET", open_key(partition), match)], [partition])
        return cast("bytes | None", found)

    async def next_due(self, partitions: Sequence[int], after: int = 0) -> dict[int, int]:
        """Return for each partition the earliest time (ms) not before `after` at which something is due, if any is."""
        options = (after, "+inf", "WITHSCORES", "LIMIT", 0, 1)
        answers = await self._servers.ask([("ZRANGEBYSCORE", due_key(p), *options) for p in partitions], partitions)
        return {partition: int(found[1]) for partition, found in zip(partitions, answers, strict=True) if found}

    async def due(self, partitions: Sequence[int], now: int, count: int) -> dict[int, list[str]]:
        """Return the members that are due by `now` (ms), at most `count` a partition.

        Earliest first; decisions of the same time by prompt, then by seat.
        """
        options = ("-inf", now, "WITHSCORES", "LIMIT", 0, count)
        answers = await self._servers.ask([("ZRANGEBYSCORE", due_key(p), *options) for p in partitions], partitions)
        return {partition: _by_turn(found) for partition, found in zip(partitions, answers, strict=True) if found}

    async def postpone(self, partition: int, due: Mapping[str, int]) -> None:
        """Set the time of due members."""
        if due:
            scores = [part for member, at in due.items() for part in (at, member)]
            await self._servers.ask([("ZADD", due_key(partition), *scores)], [partition])


def _by_turn(found: Sequence[bytes]) -> list[str]:
    """Return due members, each followed by its time, by time, and at the same time by prompt and seat."""
    timed = zip(found[::2], found[1::2], strict=True)
    return [member for _, _, member in sorted((int(at), *_turn(name.decode())) for name, at in timed)]


def _turn(member: str) -> tuple[tuple[int, ...], str]:
    """Return what orders due members of the same time: prompt and seat of `match:seat:prompt`; limits come first."""
    return tuple(int(number) for number in reversed(member.split(":")[1:]) if number.isdecimal()), member


def _continues(last: Sequence[Any], length: int, head: bytes) -> bool:
    """Whether a journal with this last entry, if any, has just this length and last hash; as in `croupier.lua`."""
    if not last:
        return length == 0
    [(entry_id, fields)] = last
    return bool(entry_id == b"%d-0" % length and head == (fields[1] if fields[0] == b"hash" else fields[3]))


def _lines(entries: Any) -> list[bytes]:
    return [fields[1] if fields[0] == b"line" else fields[3] for _, fields in entries or ()]
