"""Redis: every key, every command. Nothing else in the project talks to Redis.

All keys of a partition share the hash tag `{p}`. A worker is the only writer of the journals of the partitions it owns;
the owner's epoch, raised at every acquisition, fences off a worker that has lost its lease without noticing.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, Literal, NamedTuple, Self, cast

import redis.asyncio as aioredis
from redis.exceptions import ResponseError

from engine.journal import ENDS, Line, read
from services.commands import Envelope, pack, partition_of
from services.exchange import Argument, Command, Exchange
from services.settings import Durability, Settings

LOST_FUNCTIONS = "Function not found"
GROUP = "engine"
CONSUMER = "owner"
"""One consumer a partition's group, whichever worker reads: a new owner finds what its predecessor left."""
WORKERS = "croupier:workers"
PARTITIONS = "croupier:partitions"
ARCHIVER = "croupier:archiver"
"""Who archives: like the owner of a partition."""
MIN_REDIS = (7, 0)
MIN_VALKEY = (8, 0)
MIN_REDIS_FSYNC = (7, 2)
CONFIRM_MS = 5_000
"""How long a commit may take to become as durable as the settings ask."""
_FUNCTIONS = files("services").joinpath("croupier.lua").read_text()
IO_TIMEOUT_S = 10.0
LOOKED_AT = 500
"""So many journals are looked at in one go."""
WAITS = -1
"""In place of a retention: the match stays until it is archived."""


class StoreError(RuntimeError):
    """The server cannot be used; says which setting or which server is wrong and what to do."""


def moves_key(partition: int) -> str:
    """The intake stream."""
    return f"croupier:{{{partition}}}:moves"


def journal_key(match: str) -> str:
    """The journal of a match."""
    return f"croupier:{{{partition_of(match)}}}:journal:{match}"


def seed_key(match: str) -> str:
    """The server seed of a running match, sealed."""
    return f"croupier:{{{partition_of(match)}}}:seed:{match}"


def due_key(partition: int) -> str:
    """Decisions and limits by the time at which they are due."""
    return f"croupier:{{{partition}}}:due"


def open_key(partition: int) -> str:
    """The lobby index: a summary a match."""
    return f"croupier:{{{partition}}}:open"


def ended_key(partition: int) -> str:
    """Matches that have ended and wait for the archive, by the time at which they did (Unix ms)."""
    return f"croupier:{{{partition}}}:ended"


def owner_key(partition: int) -> str:
    """Who owns the partition: worker, epoch, until. Never expires, or epochs would restart."""
    return f"croupier:{{{partition}}}:owner"


class Lease(NamedTuple):
    """A partition owned since the acquisition with this epoch."""

    partition: int
    epoch: int


class Delivery(NamedTuple):
    """A command as read from the intake; `at` is the milliseconds of its id."""

    partition: int
    id: str
    at: int
    data: bytes


class Commit(NamedTuple):
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


class Recorded(NamedTuple):
    """What Redis holds of a match: its lines in order, and while it runs its seed, sealed."""

    lines: list[bytes]
    seed: bytes | None


class Store:
    """A connection pool and the operations on it. Every method raises redis' errors when Redis is away."""

    def __init__(self, settings: Settings) -> None:
        """Prepare; nothing is connected before `open`."""
        self._settings = settings
        self._redis = aioredis.Redis.from_url(
            settings.redis_url,
            username=settings.redis_user,
            password=None if settings.redis_password is None else settings.redis_password.get_secret_value(),
            protocol=2,
            socket_timeout=IO_TIMEOUT_S,
            socket_connect_timeout=5.0,
            health_check_interval=15,
        )
        self._write = Exchange(self._redis)
        self._reader = Exchange(self._redis)
        self._acknowledging: list[Command] = []
        """What goes to Redis with the next read."""
        self.durability: Durability = settings.durability

    async def open(self) -> Self:
        """Check the server and bring the functions and the number of partitions there. Raises StoreError."""
        await self._check_server()
        await self.load_functions()
        await self._check_partitions()
        return self

    async def close(self) -> None:
        """Close all connections."""
        await self._write.close()
        await self._reader.close()
        await self._redis.aclose()

    async def _check_server(self) -> None:
        info = await self._redis.info("server")
        memory = await self._redis.info("memory")
        policy = str(memory.get("maxmemory_policy", "noeviction"))
        if policy != "noeviction":
            raise StoreError(f"Redis may evict keys (maxmemory-policy {policy}); set it to noeviction")
        fsync = self.durability.mode == "fsync"
        name, floor = ("redis", MIN_REDIS_FSYNC if fsync else MIN_REDIS)
        version = str(info["redis_version"])
        if "valkey_version" in info:
            name, floor, version = "valkey", MIN_VALKEY, str(info["valkey_version"])
        if tuple(map(int, version.split(".")[:2])) < floor:
            raise StoreError(f"{name} {version} is too old; {'.'.join(map(str, floor))} or newer is needed")
        if fsync and not (await self._redis.info("persistence")).get("aof_enabled"):
            raise StoreError(
                "CROUPIER_DURABILITY: fsync needs a server with an append-only file; set appendonly to yes"
            )

    async def load_functions(self) -> None:
        """Load the function library if the server has not just this one."""
        await self._redis.function_load(_FUNCTIONS, replace=True)

    async def _check_partitions(self) -> None:
        mine = self._settings.partitions
        known = int(await self._redis.get(PARTITIONS) or 0)
        if known > mine:
            raise StoreError(
                f"CROUPIER_PARTITIONS: is {mine}, but this Redis holds matches of {known}; allowed: {known} or more"
            )
        if known < mine:
            await self._redis.set(PARTITIONS, mine)

    async def _call(self, *calls: Sequence[Any]) -> list[Any]:
        """Call functions, each given by its name, its key or keys and its arguments; return what they return.

        A server that has lost the functions (a new primary, FUNCTION FLUSH) gets them again.
        """
        pipeline = self._redis.pipeline(transaction=False)
        for function, keys, *args in calls:
            named = (keys,) if isinstance(keys, str) else keys
            pipeline.fcall(function, len(named), *named, *args)
        try:
            return list(await pipeline.execute())
        except ResponseError as error:
            if LOST_FUNCTIONS not in str(error):
                raise
            await self.load_functions()
            return await self._call(*calls)

    # --- time and leases -----------------------------------------------------------------------------------------

    async def time(self) -> int:
        """Return the server's time in Unix milliseconds."""
        seconds, micros = await self._redis.time()
        return int(seconds) * 1000 + int(micros) // 1000

    async def heartbeat(self, worker: str) -> list[str]:
        """Say that this worker lives for one lease more; return all live workers, ascending."""
        (live,) = await self._call(("croupier_heartbeat", WORKERS, worker, self._settings.lease_ms))
        return [name.decode() for name in live]

    async def retire(self, worker: str) -> None:
        """Take a worker off the list of live ones."""
        await self._redis.zrem(WORKERS, worker)

    async def acquire(self, worker: str, partitions: Sequence[int]) -> list[Lease]:
        """Try to own partitions; return the ones got, each with a raised epoch and an intake group that exists."""
        if not partitions:
            return []
        lease_ms = self._settings.lease_ms
        epochs = await self._call(*[("croupier_acquire", owner_key(p), worker, lease_ms) for p in partitions])
        leases = [Lease(partition, int(epoch)) for partition, epoch in zip(partitions, epochs, strict=True) if epoch]
        groups = self._redis.pipeline(transaction=False)
        for lease in leases:
            groups.xgroup_create(moves_key(lease.partition), GROUP, id="0", mkstream=True)
        for outcome in await groups.execute(raise_on_error=False):
            if isinstance(outcome, Exception) and "BUSYGROUP" not in str(outcome):
                raise outcome
        return leases

    async def free(self, partitions: int) -> list[int]:
        """Return which of the first `partitions` partitions no worker holds now, ascending."""
        calls = self._redis.pipeline(transaction=False)
        for partition in range(partitions):
            calls.hmget(owner_key(partition), ["worker", "until"])
        answers = await calls.execute()
        now = await self.time()
        return [partition for partition, (worker, until) in enumerate(answers) if not worker or int(until or 0) <= now]

    async def renew(self, worker: str, leases: Sequence[Lease]) -> list[Lease]:
        """Renew leases; return the ones that are lost."""
        if not leases:
            return []
        lease_ms = self._settings.lease_ms
        renewed = await self._call(
            *[("croupier_renew", owner_key(lease.partition), worker, lease.epoch, lease_ms) for lease in leases]
        )
        return [lease for lease, held in zip(leases, renewed, strict=True) if not held]

    async def release(self, worker: str, leases: Sequence[Lease]) -> None:
        """Give leases back; ones that are lost already stay as they are."""
        if leases:
            await self._call(
                *[("croupier_release", owner_key(lease.partition), worker, lease.epoch) for lease in leases]
            )

    async def owns(self, worker: str, lease: Lease) -> bool:
        """Whether the lease is still this worker's."""
        held = await self._redis.hmget(owner_key(lease.partition), ["worker", "epoch"])
        return held == [worker.encode(), str(lease.epoch).encode()]

    async def holds(self, worker: str, lease: Lease, match: str, length: int) -> bool | None:
        """Whether a match's journal has just this length; None if the lease is no longer this worker's."""
        calls = self._redis.pipeline(transaction=False)
        calls.hmget(owner_key(lease.partition), ["worker", "epoch"])
        calls.xlen(journal_key(match))
        held, actual = await calls.execute()
        if held != [worker.encode(), str(lease.epoch).encode()]:
            return None
        return bool(actual == length)

    # --- intake --------------------------------------------------------------------------------------------------

    async def append(self, envelopes: Sequence[tuple[int, Envelope]], measured: Collection[int] = ()) -> dict[int, int]:
        """Append commands to the intake, in order; return the length after it of the `measured` partitions' intakes."""
        commands: list[Command] = [
            ("XADD", moves_key(partition), "*", "c", pack(envelope)) for partition, envelope in envelopes
        ]
        commands += [("XLEN", moves_key(partition)) for partition in measured]
        answers = _no_error(await self._write(commands, IO_TIMEOUT_S))
        return dict(zip(measured, answers[len(envelopes) :], strict=True))

    async def read(self, partitions: Sequence[int], block_ms: int) -> list[Delivery]:
        """Read new commands of several partitions, at most `batch` each; wait up to `block_ms` (0: not at all).

        What `acknowledge_later` left is acknowledged by the same call, before the read.
        """
        if not partitions:
            return []
        return await self._read(self._reader, dict.fromkeys(partitions, ">"), block_ms)

    async def read_pending(self, partitions: Sequence[int]) -> list[Delivery]:
        """Read all that was delivered but not acknowledged, whoever read it: the consumer belongs to the partition."""
        found: list[Delivery] = []
        after = dict.fromkeys(partitions, "0")
        while after:
            batch = await self._read(self._write, after, 0)
            found += batch
            last = {delivery.partition: delivery.id for delivery in batch}
            after = {partition: last[partition] for partition in after if partition in last}
        return found

    async def _read(self, client: Exchange, after: Mapping[int, str], block_ms: int) -> list[Delivery]:
        block: tuple[Argument, ...] = ("BLOCK", block_ms) if block_ms else ()
        streams = [moves_key(partition) for partition in after]
        command = (
            "XREADGROUP", "GROUP", GROUP, CONSUMER, "COUNT", self._settings.batch, *block,
            "STREAMS", *streams, *after.values(),
        )  # fmt: skip
        acknowledging = self._acknowledging if client is self._reader else []
        *_, answer = _no_error(await client([*acknowledging, command], block_ms / 1000 + IO_TIMEOUT_S))
        del self._acknowledging[: len(acknowledging)]
        return [delivery for stream, entries in answer or () for delivery in _deliveries(stream, entries)]

    async def unacknowledged(self, partitions: Sequence[int]) -> dict[int, int]:
        """Return for each partition how many commands were delivered and not acknowledged."""
        calls = self._redis.pipeline(transaction=False)
        for partition in partitions:
            calls.xpending(moves_key(partition), GROUP)
        return {
            partition: int(summary["pending"])
            for partition, summary in zip(partitions, await calls.execute(), strict=True)
        }

    def acknowledge_later(self, deliveries: Iterable[Delivery], settled: Mapping[int, Sequence[str]] = {}) -> None:
        """Leave to the next `read`, or to `acknowledge`, to acknowledge commands, and to remove members of `due` (by
        partition) whose entries are published: one round trip less for each batch.
        """
        by_partition: dict[int, list[str]] = {}
        for delivery in deliveries:
            by_partition.setdefault(delivery.partition, []).append(delivery.id)
        self._acknowledging += [("XACK", moves_key(partition), GROUP, *ids) for partition, ids in by_partition.items()]
        self._acknowledging += [
            ("ZREM", due_key(partition), *members) for partition, members in settled.items() if members
        ]

    @property
    def acknowledging(self) -> bool:
        """Whether `acknowledge_later` has left something."""
        return bool(self._acknowledging)

    async def acknowledge(self, deliveries: Iterable[Delivery] = (), settled: Mapping[int, Sequence[str]] = {}) -> None:
        """Do now what `acknowledge_later` leaves to the next read, and has left."""
        self.acknowledge_later(deliveries, settled)
        if acknowledging := self._acknowledging[:]:
            _no_error(await self._write(acknowledging, IO_TIMEOUT_S))
            del self._acknowledging[: len(acknowledging)]

    async def trim(self, partitions: Sequence[int]) -> dict[int, int]:
        """Drop acknowledged commands from the intakes; return what is left in each: what waits or is being decided."""
        looks = self._redis.pipeline(transaction=False)
        for partition in partitions:
            looks.xpending(moves_key(partition), GROUP)
            looks.xinfo_groups(moves_key(partition))
        answers = await looks.execute()
        trims = self._redis.pipeline(transaction=False)
        for partition, pending, groups in zip(partitions, answers[::2], answers[1::2], strict=True):
            low = pending["min"] or _after(groups[0]["last-delivered-id"])
            trims.xtrim(moves_key(partition), minid=low, approximate=False)
            trims.xlen(moves_key(partition))
        return dict(zip(partitions, (await trims.execute())[1::2], strict=True))

    # --- journals ------------------------------------------------------------------------------------------------

    async def commit(self, worker: str, commits: Sequence[Commit]) -> list[CommitResult]:
        """Write the entries of several matches, each match all or nothing; return what became of each.

        On return everything that was committed, by these or by earlier calls, is as durable as the setting asks. Raises
        StoreError if it cannot be.
        """
        if not commits:
            return []
        stays = WAITS if self._settings.archive else self._settings.retention_s
        commands: list[Command] = [_commit_call(worker, commit, stays) for commit in commits]
        if self.durability.mode == "fsync":
            commands.append(("WAITAOF", 1, 0, CONFIRM_MS))
        elif self.durability.mode == "replicas":
            commands.append(("WAIT", self.durability.replicas, CONFIRM_MS))
        answers = await self._write(commands, IO_TIMEOUT_S + CONFIRM_MS / 1000)
        results = answers[: len(commits)]
        for answer in results:
            if isinstance(answer, Exception):
                if LOST_FUNCTIONS not in str(answer):
                    raise answer
                await self.load_functions()
                return await self.commit(worker, commits)
        self._confirm(answers[len(commits) :])
        return [cast("CommitResult", answer.decode()) for answer in results]

    def _confirm(self, answers: Sequence[Any]) -> None:
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
            reached = answer[0] if self.durability.mode == "fsync" else answer
            if reached < (self.durability.replicas or 1):
                raise StoreError(f"the commit is not as durable as {self.durability} asks")

    async def load(self, matches: Sequence[str]) -> list[Recorded]:
        """Return what is recorded of matches; no lines for one that does not exist (any more)."""
        calls = self._redis.pipeline(transaction=False)
        for match in matches:
            calls.execute_command("XRANGE", journal_key(match), "-", "+")
            calls.get(seed_key(match))
        answers = await calls.execute()
        return [Recorded(_lines(entries), seed) for entries, seed in zip(answers[::2], answers[1::2], strict=True)]

    async def lines(self, match: str, start: int = 0, count: int = 1000) -> list[bytes]:
        """Return up to `count` lines of a journal from version `start`."""
        entries = await self._redis.execute_command("XRANGE", journal_key(match), f"{start + 1}-0", "+", "COUNT", count)
        return _lines(entries)

    async def last_line(self, match: str) -> bytes | None:
        """Return the last line of a journal, None if there is no journal."""
        entries = await self._redis.execute_command("XREVRANGE", journal_key(match), "+", "-", "COUNT", 1)
        return next(iter(_lines(entries)), None)

    async def matches(self, partition: int | None = None) -> list[str]:
        """Return the ids of all matches that Redis holds, or of those of a partition, ascending."""
        pattern = "croupier:{*}:journal:*" if partition is None else f"croupier:{{{partition}}}:journal:*"
        return sorted([key.decode().rpartition(":")[2] async for key in self._redis.scan_iter(pattern, count=1000)])

    async def ended_matches(self) -> list[str]:
        """Return the ids of all matches in Redis whose journals have ended, ascending."""
        known = await self.matches()
        ended: list[str] = []
        for first in range(0, len(known), LOOKED_AT):
            calls = self._redis.pipeline(transaction=False)
            for match in known[first : first + LOOKED_AT]:
                calls.execute_command("XREVRANGE", journal_key(match), "+", "-", "COUNT", 1)
            for match, entries in zip(known[first:], await calls.execute(), strict=False):
                ended += [match for line in _lines(entries) if isinstance(read(line).body, ENDS)]
        return ended

    # --- matches that have ended and wait for the archive ------------------------------------------------------------

    async def archiver(self, worker: str, lease_ms: int) -> int | None:
        """Become or remain the one who archives, for so long; return the epoch, None if another one is."""
        (epoch,) = await self._call(("croupier_acquire", ARCHIVER, worker, lease_ms))
        return int(epoch) or None

    async def no_archiver(self, worker: str, epoch: int) -> None:
        """Stop being the one who archives."""
        await self._call(("croupier_release", ARCHIVER, worker, epoch))

    async def waiting(self, partitions: Sequence[int], until: int, count: int) -> list[str]:
        """Return up to `count` matches that wait for the archive since `until` (Unix ms) or longer."""
        calls = self._redis.pipeline(transaction=False)
        for partition in partitions:
            calls.zrangebyscore(ended_key(partition), "-inf", until, start=0, num=count)
        return [match.decode() for found in await calls.execute() for match in found][:count]

    async def count_waiting(self, partitions: Sequence[int]) -> int:
        """Return how many matches wait for the archive."""
        calls = self._redis.pipeline(transaction=False)
        for partition in partitions:
            calls.zcard(ended_key(partition))
        return sum(await calls.execute())

    async def put_off(self, matches: Sequence[str], until: int) -> None:
        """Let matches wait until a time (Unix ms)."""
        calls = self._redis.pipeline(transaction=False)
        for match in matches:
            calls.zadd(ended_key(partition_of(match)), {match: until}, xx=True)
        await calls.execute()

    async def drop(self, drops: Sequence[Drop]) -> list[bool]:
        """Let archived journals go from Redis; return for each whether it was that journal that is (or was) there."""
        calls = [
            ("croupier_drop", (journal_key(one.match), ended_key(partition_of(one.match))), *one) for one in drops
        ]  # fmt: skip
        return [bool(gone) for gone in await self._call(*calls)] if calls else []

    async def enlist(self, matches: Sequence[str]) -> int:
        """Let ended matches stay in Redis until they are archived; return how many of them are there."""
        calls = [
            ("croupier_enlist", (journal_key(match), ended_key(partition_of(match))), match) for match in matches
        ]  # fmt: skip
        return sum(await self._call(*calls)) if calls else 0

    # --- lobby index and due decisions ---------------------------------------------------------------------------

    async def lobby(self, partition: int) -> dict[str, bytes]:
        """Return the summaries of the partition's open matches by match id."""
        found = await self._redis.hgetall(open_key(partition))
        return {cast("bytes", match).decode(): cast("bytes", summary) for match, summary in found.items()}

    async def lobby_entry(self, match: str) -> bytes | None:
        """Return the summary of an open match."""
        found = await self._redis.hget(open_key(partition_of(match)), match)
        return cast("bytes | None", found)

    async def next_due(self, partitions: Sequence[int], after: int = 0) -> dict[int, int]:
        """Return for each partition the earliest time (ms) not before `after` at which something is due, if any is."""
        calls = self._redis.pipeline(transaction=False)
        for partition in partitions:
            calls.zrangebyscore(due_key(partition), after, "+inf", start=0, num=1, withscores=True)
        answers = await calls.execute()
        return {partition: int(found[0][1]) for partition, found in zip(partitions, answers, strict=True) if found}

    async def due(self, partitions: Sequence[int], now: int, count: int) -> dict[int, list[str]]:
        """Return the members that are due by `now` (ms), at most `count` a partition.

        Earliest first; decisions of the same time by prompt, then by seat.
        """
        calls = self._redis.pipeline(transaction=False)
        for partition in partitions:
            calls.zrangebyscore(due_key(partition), "-inf", now, start=0, num=count, withscores=True)
        answers = await calls.execute()
        return {
            partition: [member for _, _, member in sorted((at, *_turn(name.decode())) for name, at in found)]
            for partition, found in zip(partitions, answers, strict=True)
            if found
        }

    async def postpone(self, partition: int, due: Mapping[str, int]) -> None:
        """Set the time of due members."""
        if due:
            await self._redis.zadd(due_key(partition), dict(due))


def _turn(member: str) -> tuple[tuple[int, ...], str]:
    """Return what orders due members of the same time: prompt and seat of `match:seat:prompt`; limits come first."""
    return tuple(int(number) for number in reversed(member.split(":")[1:]) if number.isdecimal()), member


def _no_error(answers: list[Any]) -> list[Any]:
    for answer in answers:
        if isinstance(answer, ResponseError):
            raise answer
    return answers


def _commit_call(worker: str, commit: Commit, stays: int) -> Command:
    partition = commit.lease.partition
    lobby: bytes | str = b"" if commit.lobby is None else "x" if commit.lobby == "remove" else commit.lobby
    args: list[Any] = [
        worker, commit.lease.epoch, commit.expected, commit.head if commit.expected else b"", commit.match,
        commit.seed or b"", lobby, stays if commit.ended else 0, len(commit.lines),
    ]  # fmt: skip
    for line in commit.lines:
        args += (line.data, line.hash)
    for member, score in commit.due.items():
        args += (score, member)
    keys = (
        journal_key(commit.match), owner_key(partition), seed_key(commit.match), open_key(partition),
        due_key(partition), ended_key(partition),
    )  # fmt: skip
    return ("FCALL", "croupier_commit", len(keys), *keys, *args)


def _lines(entries: Any) -> list[bytes]:
    return [fields[b"line"] for _, fields in entries or ()]


def _deliveries(stream: bytes, entries: Any) -> Iterable[Delivery]:
    partition = int(stream[stream.index(b"{") + 1 : stream.index(b"}")])
    for entry_id, fields in entries:
        text = entry_id.decode()
        known = dict(zip(fields[::2], fields[1::2], strict=True)) if fields else {}
        yield Delivery(partition, text, int(text.partition("-")[0]), known.get(b"c", b""))


def _after(entry_id: bytes | str) -> str:
    text = entry_id.decode() if isinstance(entry_id, bytes) else entry_id
    millis, sequence = text.split("-")
    return f"{millis}-{int(sequence) + 1}"
