"""Redis: every key, every command. Nothing else in the project talks to Redis.

All keys of a partition share the hash tag `{p}`. A worker is the only writer of the journals of the partitions it owns;
the owner's epoch, raised at every acquisition, fences off a worker that has lost its lease without noticing.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from operator import attrgetter
from typing import Any, Literal, NamedTuple, Self, cast

from msgspec import Struct
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from engine.journal import ENDS, Line, read
from services.commands import Envelope, pack, partition_of
from services.exchange import IO_TIMEOUT_S, UNREACHABLE, Argument, Command, reading
from services.redis_servers import (
    CONFIRM_MS,
    NotDurable,
    StoreError,
    check_server,
    confirmation,
    exchange_for,
    is_confirmed,
)
from services.settings import Durability, Settings

LOST_FUNCTIONS = "Function not found"
START = "0-0"
"""Before the first command of every intake."""
WORKERS = "croupier:workers"
PARTITIONS = "croupier:partitions"
ARCHIVER = "croupier:archiver"
"""Who archives: like the owner of a partition."""
LOOKED_AT = 500
"""So many journals are looked at in one go."""
WAITS = -1
"""In place of a retention: the match stays until it is archived."""
COMMITTED_TOGETHER = 64
"""So many matches are committed by one call at most: while it runs Redis answers nobody else."""
_FUNCTIONS = files("services").joinpath("croupier.lua").read_text()


class Unreachable(RedisConnectionError):
    """The primary of some partitions is away; what was asked of the others may have been done."""

    def __init__(self, partitions: Collection[int], error: Exception) -> None:
        """Name the partitions and what came instead of an answer."""
        super().__init__(f"partitions {sorted(partitions)} cannot be reached: {error!r}")
        self.partitions = frozenset(partitions)


@cache
def moves_key(partition: int) -> str:
    """The intake stream."""
    return f"croupier:{{{partition}}}:moves"


def journal_key(match: str) -> str:
    """The journal of a match."""
    return f"croupier:{{{partition_of(match)}}}:journal:{match}"


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


class Lease(NamedTuple):
    """A partition owned since the acquisition with this epoch."""

    partition: int
    epoch: int


class Delivery(Struct, frozen=True, gc=False):
    """A command as read from the intake; `at` is the milliseconds of its id.

    `again`: it may have been read before, by this worker or another, and what came of it may be in the journal.
    """

    partition: int
    id: str
    at: int
    data: bytes
    again: bool = False


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


class Drop(NamedTuple):
    """A journal that is archived and may go at `at` (Unix ms); length and last hash say which one is meant."""

    match: str
    length: int
    head: bytes
    at: int


CommitResult = Literal["OK", "CONFLICT", "FENCED"]
_RESULTS: Mapping[bytes, CommitResult] = {b"OK": "OK", b"CONFLICT": "CONFLICT", b"FENCED": "FENCED"}


class Along:
    """A read without waiting that goes along with a commit, in the same round trip; in a cluster it finds nothing."""

    def __init__(self, partitions: Sequence[int]) -> None:
        """Read the intakes of these partitions."""
        self.partitions = partitions
        self.found: list[Delivery] = []
        """New commands, once the commit has returned."""


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
        self._exchange = exchange_for(settings)
        self._read_to: dict[int, str] = {}
        """The last command that was read of each partition's intake."""
        self._again_to: dict[int, str] = {}
        """Up to which command an intake may have been read before it was read from its start."""
        self._acknowledging: list[tuple[int, Command]] = []
        """What goes to Redis with the next read, by partition."""
        self.durability: Durability = settings.durability
        self._confirmation = confirmation(settings.durability)

    async def open(self, *, functions: bool = True) -> Self:
        """Check the servers and bring the functions and the number of partitions there.

        `functions`: False leaves the functions as they are, for who calls none or may load none (`deploy/redis.conf`).
        Raises StoreError; after any error nothing is left open.
        """
        try:
            for info in await self._infos():
                check_server(info, self.durability, cluster=self._settings.redis_cluster)
            if functions:
                await self.load_functions()
            await self._check_partitions()
        except BaseException:
            await self.close()
            raise
        return self

    async def close(self) -> None:
        """Close all connections."""
        await self._exchange.close()

    async def _infos(self) -> list[dict[str, str]]:
        """Return what each primary says of itself."""
        texts = _no_error(await self._exchange.each(("INFO",)))
        return [dict(line.split(":", 1) for line in text.decode().splitlines() if ":" in line) for text in texts]

    async def load_functions(self) -> None:
        """Load the function library into every primary that has not just this one."""
        _no_error(await self._exchange.each(("FUNCTION", "LOAD", "REPLACE", _FUNCTIONS)))

    async def _check_partitions(self) -> None:
        mine = self._settings.partitions
        [found] = await self._ask([("GET", PARTITIONS)])
        known = int(found or 0)
        if known > mine:
            raise StoreError(
                f"CROUPIER_PARTITIONS: is {mine}, but this Redis holds matches of {known}; allowed: {known} or more"
            )
        if known < mine:
            await self._ask([("SET", PARTITIONS, mine)])

    async def _ask(self, commands: Sequence[Command], partitions: Iterable[int] = ()) -> list[Any]:
        """Return the replies to commands, each of the partition at its place in `partitions` if that is given.

        A server that has lost the functions (a new primary, FUNCTION FLUSH) gets them again. Raises Unreachable, or the
        first error among the replies.
        """
        return _no_error(_no_partition_away(partitions, await self._ask_any(commands)))

    async def _ask_any(
        self, commands: Sequence[Command], timeout_s: float = IO_TIMEOUT_S, *, confirm: Command | None = None
    ) -> list[Any]:
        """As `_ask`, with errors left among the replies; behind these stand the ones to `confirm`."""
        if not commands:
            return []
        replies = await self._exchange(commands, timeout_s, confirm=confirm)
        if any(isinstance(reply, ResponseError) and LOST_FUNCTIONS in str(reply) for reply in replies):
            await self.load_functions()
            return await self._ask_any(commands, timeout_s, confirm=confirm)
        return replies

    # --- time and leases -----------------------------------------------------------------------------------------

    async def time(self) -> int:
        """Return the server's time in Unix milliseconds; in a cluster that of the primary which is most behind."""
        replies = await self._exchange.each(("TIME",))
        times = [reply for reply in replies if not isinstance(reply, UNREACHABLE)] or replies
        return min(int(seconds) * 1000 + int(micros) // 1000 for seconds, micros in _no_error(times))

    async def heartbeat(self, worker: str) -> list[str]:
        """Say that this worker lives for one lease more; return all live workers, ascending."""
        [live] = await self._ask([_call("croupier_heartbeat", [WORKERS], worker, self._settings.lease_ms)])
        return [name.decode() for name in live]

    async def retire(self, worker: str) -> None:
        """Take a worker off the list of live ones."""
        await self._ask([("ZREM", WORKERS, worker)])

    async def acquire(self, worker: str, partitions: Sequence[int]) -> list[Lease]:
        """Try to own partitions; return the ones got, each with a raised epoch.

        Those that cannot be reached are not got.
        """
        lease_ms = self._settings.lease_ms
        epochs = await self._ask_any([_call("croupier_acquire", [owner_key(p)], worker, lease_ms) for p in partitions])
        return [
            Lease(partition, int(epoch))
            for partition, epoch in zip(partitions, epochs, strict=True)
            if not isinstance(epoch, UNREACHABLE) and _no_error([epoch]) != [0]
        ]

    async def free(self, partitions: int) -> list[int]:
        """Return which of the first `partitions` partitions no worker holds now, ascending; none that is away."""
        owners = await self._ask_any([("HMGET", owner_key(p), "worker", "until") for p in range(partitions)])
        now = await self.time()
        return [
            partition
            for partition, owner in enumerate(owners)
            if not isinstance(owner, UNREACHABLE) and _is_free(_no_error([owner])[0], now)
        ]

    async def renew(self, worker: str, leases: Sequence[Lease]) -> list[Lease]:
        """Renew leases; return the ones that are lost. One that cannot be reached counts as lost."""
        lease_ms = self._settings.lease_ms
        renewed = await self._ask_any([
            _call("croupier_renew", [owner_key(lease.partition)], worker, lease.epoch, lease_ms) for lease in leases
        ])  # fmt: skip
        return [
            lease
            for lease, held in zip(leases, renewed, strict=True)
            if isinstance(held, UNREACHABLE) or _no_error([held]) == [0]
        ]

    async def release(self, worker: str, leases: Sequence[Lease]) -> None:
        """Give leases back; ones that are lost or cannot be reached stay as they are."""
        await self._ask_any([
            _call("croupier_release", [owner_key(lease.partition)], worker, lease.epoch) for lease in leases
        ])  # fmt: skip

    async def owns(self, worker: str, lease: Lease) -> bool:
        """Whether the lease is still this worker's."""
        [held] = await self._ask([("HMGET", owner_key(lease.partition), "worker", "epoch")], [lease.partition])
        return _holds(held, worker, lease)

    async def holds(self, worker: str, lease: Lease, match: str, length: int, head: bytes) -> bool | None:
        """Whether a match's journal has just this length and last hash; None if the lease is no longer this worker's.

        True promises that the journal is as durable as the setting asks. Raises NotDurable if that cannot be had.
        """
        if self._confirmation is not None:
            nothing = Commit(lease, match, length, head, [], None, None, ended=False, due={})
            [result] = await self.commit(worker, [nothing])
            return None if result == "FENCED" else result == "OK"
        held, actual = await self._ask(
            [("HMGET", owner_key(lease.partition), "worker", "epoch"), ("XLEN", journal_key(match))],
            [lease.partition] * 2,
        )
        return bool(actual == length) if _holds(held, worker, lease) else None

    # --- intake --------------------------------------------------------------------------------------------------

    async def append(
        self, envelopes: Sequence[tuple[int, Envelope]], measured: Collection[int] = ()
    ) -> dict[int, int | None]:
        """Append commands to the intake, in order; return the length after it of the `measured` partitions' intakes.

        None stands for a partition, measured or not, that cannot be reached: its commands may have been appended.
        """
        commands: list[Command] = [
            ("XADD", moves_key(partition), "*", "c", pack(envelope)) for partition, envelope in envelopes
        ]
        commands += [("XLEN", moves_key(partition)) for partition in measured]
        answers = await self._exchange(commands)
        lengths: dict[int, int | None] = dict(zip(measured, answers[len(envelopes) :], strict=True))
        for number, answer in enumerate(answers):
            if isinstance(answer, Exception):
                if not isinstance(answer, UNREACHABLE):
                    raise answer
                lengths[_partition(str(commands[number][1]).encode())] = None
        return lengths

    async def read(self, partitions: Sequence[int], block_ms: int) -> list[Delivery]:
        """Read on in the intakes of several partitions, at most `batch` commands each.

        Waits up to `block_ms` (0: not at all). What `acknowledge_later` left is acknowledged by the same call, before.
        Reading takes nothing away: a command is there for everybody until it is acknowledged.
        """
        if not partitions:
            return []
        acknowledging = self._acknowledging[:]
        commands = [command for _, command in acknowledging]
        try:
            found = await self._read(partitions, block_ms, commands)
        except UNREACHABLE:
            self._acknowledging.clear()  # to be delivered again; kept, a primary that is away would stop all others
            raise
        del self._acknowledging[: len(acknowledging)]
        return found

    async def read_pending(self, partitions: Sequence[int]) -> list[Delivery]:
        """Go back to the start of intakes: to all that is not acknowledged, whoever has read it.

        Returns the first of it, at most `batch` commands of each partition; `read` goes on behind them.
        """
        lasts = await self._ask([("XREVRANGE", moves_key(p), "+", "-", "COUNT", 1) for p in partitions], partitions)
        for partition, last in zip(partitions, lasts, strict=True):
            self._read_to.pop(partition, None)
            if last:
                self._again_to[partition] = last[0][0].decode()
        return await self._read(partitions, 0) if partitions else []

    async def _read(self, partitions: Sequence[int], block_ms: int, before: Sequence[Command] = ()) -> list[Delivery]:
        found = await self._exchange.read(self._behind(partitions), self._settings.batch, block_ms, before)
        _no_partition_away([_partition(stream) for stream, _ in found], [entries for _, entries in found])
        return self._found(found)

    def _behind(self, partitions: Sequence[int]) -> dict[str, str]:
        """Return intakes, each with the last command that was read of it."""
        return {moves_key(partition): self._read_to.get(partition, START) for partition in partitions}

    def _found(self, streams: Iterable[tuple[bytes, Any]]) -> list[Delivery]:
        """Take over what a read has found, in the order in which it came: no match waits longer for its partition."""
        deliveries: list[Delivery] = []
        for stream, entries in streams:
            partition = _partition(stream)
            again = partition in self._again_to and self._again(partition, entries)
            deliveries += [_delivery(partition, entry_id, fields, again) for entry_id, fields in entries]
            self._read_to[partition] = deliveries[-1].id
        deliveries.sort(key=attrgetter("at"))
        return deliveries

    def _again(self, partition: int, entries: Any) -> bool:
        """Whether entries of an intake may have been read before, or some of them."""
        if _order(entries[0][0].decode()) <= _order(self._again_to[partition]):
            return True
        del self._again_to[partition]
        return False

    async def forgotten(self, partitions: Sequence[int], in_hand: Iterable[Delivery] = ()) -> set[int]:
        """Return the partitions where a command that was read is neither acknowledged nor in hand.

        `in_hand` is what was read, in order, since the last time that nothing was.
        """
        hand: dict[int, str] = {}
        for delivery in in_hand:
            hand.setdefault(delivery.partition, delivery.id)
        firsts = await self._ask([("XRANGE", moves_key(p), "-", "+", "COUNT", 1) for p in partitions], partitions)
        forgotten = set()
        for partition, first in zip(partitions, firsts, strict=True):
            if first:
                at = _order(first[0][0].decode())
                read_to = _order(self._read_to.get(partition, START))
                if at < _order(hand[partition]) if partition in hand else at <= read_to:
                    forgotten.add(partition)
        return forgotten

    async def unacknowledged(self, partitions: Sequence[int]) -> dict[int, int]:
        """Return how many commands each intake holds: what waits, and what is being decided."""
        lengths = await self._ask([("XLEN", moves_key(p)) for p in partitions], partitions)
        return dict(zip(partitions, lengths, strict=True))

    def acknowledge_later(self, deliveries: Iterable[Delivery], settled: Mapping[int, Sequence[str]] = {}) -> None:
        """Leave to the next `read`, or to `acknowledge`, to acknowledge commands, and to remove members of `due` (by
        partition) whose entries are published: one round trip less for each batch.
        """
        by_partition: dict[int, list[str]] = {}
        for delivery in deliveries:
            by_partition.setdefault(delivery.partition, []).append(delivery.id)
        self._acknowledging += [(at, ("XDEL", moves_key(at), *ids)) for at, ids in by_partition.items()]
        self._acknowledging += [(at, ("ZREM", due_key(at), *members)) for at, members in settled.items() if members]

    @property
    def acknowledging(self) -> bool:
        """Whether `acknowledge_later` has left something."""
        return bool(self._acknowledging)

    async def acknowledge(
        self, deliveries: Iterable[Delivery] = (), settled: Mapping[int, Sequence[str]] = {}, *, durably: bool = False
    ) -> None:
        """Do now what `acknowledge_later` leaves to the next read, and has left.

        `durably`: on return that is as durable as the setting asks; raises NotDurable if it cannot be.
        """
        self.acknowledge_later(deliveries, settled)
        if acknowledging := self._acknowledging[:]:
            commands = [command for _, command in acknowledging]
            confirm = self._confirmation if durably else None
            try:
                await self._write(commands, [at for at, _ in acknowledging], confirm=confirm)
            except UNREACHABLE:
                self._acknowledging.clear()  # as in `read`
                raise
            del self._acknowledging[: len(acknowledging)]

    async def _write(
        self, commands: Sequence[Command], partitions: Sequence[int], *, confirm: Command | None
    ) -> list[Any]:
        """Return the replies to commands of partitions, once they are as durable as `confirm` has it.

        Raises Unreachable, NotDurable, or the first error among the replies.
        """
        timeout_s = IO_TIMEOUT_S if confirm is None else IO_TIMEOUT_S + CONFIRM_MS / 1000
        answers = _no_partition_away(partitions, await self._ask_any(commands, timeout_s, confirm=confirm))
        if not all(is_confirmed(self.durability, answer) for answer in answers[len(commands) :]):
            raise NotDurable(f"the commit is not as durable as {self.durability} asks")
        return _no_error(answers[: len(commands)])

    # --- journals ------------------------------------------------------------------------------------------------

    async def commit(self, worker: str, commits: Sequence[Commit], along: Along | None = None) -> list[CommitResult]:
        """Write the entries of several matches, each match all or nothing; return what became of each.

        On return everything that was committed, by these or by earlier calls, is as durable as the setting asks. Raises
        NotDurable if it cannot be; it may be written then. With `along` what `acknowledge_later` left is acknowledged,
        too; after an error nobody has it in hand, and it may be delivered again.
        """
        stays = WAITS if self._settings.archive else self._settings.retention_s
        calls = self._together(commits)
        commands = [_commit_call(worker, [commits[number] for number in numbers], stays) for numbers in calls]
        partitions = [commits[numbers[0]].lease.partition for numbers in calls]
        if along is None or not along.partitions or self._settings.redis_cluster:
            answers = await self._write(commands, partitions, confirm=self._confirmation)
        else:
            acknowledging, self._acknowledging = self._acknowledging, []
            commands += [command for _, command in acknowledging]
            commands.append(reading(self._behind(along.partitions), self._settings.batch))
            answers = await self._write(commands, partitions, confirm=self._confirmation)
            along.found += self._found(answers[-1] or ())
        results: dict[int, bytes] = {}
        for numbers, answer in zip(calls, answers, strict=False):
            results.update(zip(numbers, answer, strict=True))
        return [_RESULTS[results[number]] for number in range(len(commits))]

    def _together(self, commits: Sequence[Commit]) -> list[list[int]]:
        """Return which commits go in one call, by their numbers: in a cluster only those of one partition."""
        apart: dict[int, list[int]] = {}
        for number, commit in enumerate(commits):
            apart.setdefault(commit.lease.partition if self._settings.redis_cluster else 0, []).append(number)
        return [
            numbers[first : first + COMMITTED_TOGETHER]
            for numbers in apart.values()
            for first in range(0, len(numbers), COMMITTED_TOGETHER)
        ]

    async def load(self, matches: Sequence[str], *, seeds: bool = True) -> list[Recorded]:
        """Return what is recorded of matches; no lines for one that does not exist (any more).

        `seeds`: False asks for no seeds, for who may read none (`deploy/redis.conf`).
        """
        commands: list[Command] = [("XRANGE", journal_key(match), "-", "+") for match in matches]
        if seeds:
            commands += [("GET", seed_key(match)) for match in matches]
        answers = await self._ask(commands, [partition_of(match) for match in matches] * 2)
        found = answers[len(matches) :] if seeds else [None] * len(matches)
        return [Recorded(_lines(entries), seed) for entries, seed in zip(answers, found, strict=False)]

    async def lines(self, match: str, start: int = 0, count: int = 1000) -> list[bytes]:
        """Return up to `count` lines of a journal from version `start`."""
        command = ("XRANGE", journal_key(match), f"{start + 1}-0", "+", "COUNT", count)
        return _lines((await self._ask([command], [partition_of(match)]))[0])

    async def last_line(self, match: str) -> bytes | None:
        """Return the last line of a journal, None if there is no journal.

        It is as durable as the setting asks: who reads the end of a match reads its seed. Raises NotDurable.
        """
        commands: list[Command] = [("XREVRANGE", journal_key(match), "+", "-", "COUNT", 1)]
        if self._confirmation is not None:  # which waits for what its own connection has written
            commands.append(("SET", asked_key(partition_of(match)), ""))
        entries = (await self._write(commands, [partition_of(match)] * 2, confirm=self._confirmation))[0]
        return next(iter(_lines(entries)), None)

    async def matches(self, partition: int | None = None) -> list[str]:
        """Return the ids of all matches that Redis holds, or of those of a partition, ascending."""
        pattern = "croupier:{*}:journal:*" if partition is None else f"croupier:{{{partition}}}:journal:*"
        return sorted(key.decode().rpartition(":")[2] for key in await self._exchange.keys(pattern))

    async def ended_matches(self) -> list[str]:
        """Return the ids of all matches in Redis whose journals have ended, ascending."""
        known = await self.matches()
        ended: list[str] = []
        for first in range(0, len(known), LOOKED_AT):
            some = known[first : first + LOOKED_AT]
            answers = await self._ask([("XREVRANGE", journal_key(match), "+", "-", "COUNT", 1) for match in some])
            for match, entries in zip(some, answers, strict=True):
                ended += [match for line in _lines(entries) if isinstance(read(line).body, ENDS)]
        return ended

    # --- matches that have ended and wait for the archive ------------------------------------------------------------

    async def archiver(self, worker: str, lease_ms: int) -> int | None:
        """Become or remain the one who archives, for so long; return the epoch, None if another one is."""
        [epoch] = await self._ask([_call("croupier_acquire", [ARCHIVER], worker, lease_ms)])
        return int(epoch) or None

    async def no_archiver(self, worker: str, epoch: int) -> None:
        """Stop being the one who archives."""
        await self._ask([_call("croupier_release", [ARCHIVER], worker, epoch)])

    async def waiting(self, partitions: Sequence[int], until: int, count: int) -> list[str]:
        """Return up to `count` matches that wait for the archive since `until` (Unix ms) or longer."""
        options = ("-inf", until, "LIMIT", 0, count)
        answers = await self._ask([("ZRANGEBYSCORE", ended_key(p), *options) for p in partitions], partitions)
        return [match.decode() for found in answers for match in found][:count]

    async def count_waiting(self, partitions: Sequence[int]) -> int:
        """Return how many matches wait for the archive."""
        return sum(await self._ask([("ZCARD", ended_key(p)) for p in partitions], partitions))

    async def put_off(self, matches: Sequence[str], until: int) -> None:
        """Let matches wait until a time (Unix ms)."""
        partitions = [partition_of(match) for match in matches]
        waits = zip(partitions, matches, strict=True)
        await self._ask([("ZADD", ended_key(p), "XX", until, match) for p, match in waits], partitions)

    async def drop(self, drops: Sequence[Drop]) -> list[bool]:
        """Let archived journals go from Redis; return for each whether it was that journal that is (or was) there."""
        calls = [_call("croupier_drop", _archived_keys(one.match), *one) for one in drops]
        return [bool(gone) for gone in await self._ask(calls, [partition_of(one.match) for one in drops])]

    async def enlist(self, matches: Sequence[str]) -> int:
        """Let ended matches stay in Redis until they are archived; return how many of them are there."""
        calls = [_call("croupier_enlist", _archived_keys(match), match) for match in matches]
        return sum(await self._ask(calls, [partition_of(match) for match in matches]))

    # --- lobby index and due decisions ---------------------------------------------------------------------------

    async def lobby(self, partition: int) -> dict[str, bytes]:
        """Return the summaries of the partition's open matches by match id."""
        [found] = await self._ask([("HGETALL", open_key(partition))], [partition])
        return {match.decode(): summary for match, summary in zip(found[::2], found[1::2], strict=True)}

    async def lobby_entry(self, match: str) -> bytes | None:
        """Return the summary of an open match."""
        partition = partition_of(match)
        [found] = await self._ask([("HGET", open_key(partition), match)], [partition])
        return cast("bytes | None", found)

    async def next_due(self, partitions: Sequence[int], after: int = 0) -> dict[int, int]:
        """Return for each partition the earliest time (ms) not before `after` at which something is due, if any is."""
        options = (after, "+inf", "WITHSCORES", "LIMIT", 0, 1)
        answers = await self._ask([("ZRANGEBYSCORE", due_key(p), *options) for p in partitions], partitions)
        return {partition: int(found[1]) for partition, found in zip(partitions, answers, strict=True) if found}

    async def due(self, partitions: Sequence[int], now: int, count: int) -> dict[int, list[str]]:
        """Return the members that are due by `now` (ms), at most `count` a partition.

        Earliest first; decisions of the same time by prompt, then by seat.
        """
        options = ("-inf", now, "WITHSCORES", "LIMIT", 0, count)
        answers = await self._ask([("ZRANGEBYSCORE", due_key(p), *options) for p in partitions], partitions)
        return {partition: _by_turn(found) for partition, found in zip(partitions, answers, strict=True) if found}

    async def postpone(self, partition: int, due: Mapping[str, int]) -> None:
        """Set the time of due members."""
        if due:
            scores = [part for member, at in due.items() for part in (at, member)]
            await self._ask([("ZADD", due_key(partition), *scores)], [partition])


def _no_partition_away(partitions: Iterable[int], replies: list[Any]) -> list[Any]:
    """Return the replies, each of the partition at its place. Raises Unreachable."""
    away = {at: reply for at, reply in zip(partitions, replies, strict=False) if isinstance(reply, UNREACHABLE)}
    if away:
        raise Unreachable(away.keys(), next(iter(away.values())))
    return replies


def _call(function: str, keys: Sequence[str], *args: Argument) -> Command:
    return ("FCALL", function, len(keys), *keys, *args)


def _archived_keys(match: str) -> list[str]:
    return [journal_key(match), ended_key(partition_of(match))]


def _is_free(owner: Sequence[bytes | None], now: int) -> bool:
    worker, until = owner
    return not worker or int(until or 0) <= now


def _holds(owner: Sequence[bytes | None], worker: str, lease: Lease) -> bool:
    return list(owner) == [worker.encode(), str(lease.epoch).encode()]


def _by_turn(found: Sequence[bytes]) -> list[str]:
    """Return due members, each followed by its time, by time, and at the same time by prompt and seat."""
    timed = zip(found[::2], found[1::2], strict=True)
    return [member for _, _, member in sorted((int(at), *_turn(name.decode())) for name, at in timed)]


def _turn(member: str) -> tuple[tuple[int, ...], str]:
    """Return what orders due members of the same time: prompt and seat of `match:seat:prompt`; limits come first."""
    return tuple(int(number) for number in reversed(member.split(":")[1:]) if number.isdecimal()), member


def _no_error(answers: list[Any]) -> list[Any]:
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return answers


def _commit_call(worker: str, commits: Iterable[Commit], stays: int) -> Command:
    """Return the call that commits several matches, in a cluster all of one partition."""
    keys: list[Argument] = []
    args: list[Argument] = [worker]
    for commit in commits:
        (partition, epoch), lines, expected = commit.lease, commit.lines, commit.expected
        writes = _writes(commit, stays)
        keys += (owner_key(partition), journal_key(commit.match))
        args += (epoch, expected, commit.head if expected else b"", len(lines), len(writes))
        for line in lines:
            args += (line.data, line.hash)
        for name, key, first, second in writes:
            keys.append(key)
            args += (name, first, second)
    return ("FCALL", "croupier_commit", len(keys), *keys, *args)


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


def _lines(entries: Any) -> list[bytes]:
    return [fields[1] if fields[0] == b"line" else fields[3] for _, fields in entries or ()]


@cache
def _partition(key: bytes) -> int:
    return int(key[key.index(b"{") + 1 : key.index(b"}")])


def _delivery(partition: int, entry_id: bytes, fields: Sequence[bytes], again: bool) -> Delivery:
    text = entry_id.decode()
    data = fields[1] if len(fields) == 2 and fields[0] == b"c" else b""
    return Delivery(partition, text, int(text[: text.index("-")]), data, again)


def _order(entry_id: str) -> tuple[int, int]:
    millis, _, sequence = entry_id.partition("-")
    return int(millis), int(sequence)
