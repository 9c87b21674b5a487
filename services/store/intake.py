"""The intake: the stream of a partition's commands. Match services append to it, its owner reads and acknowledges."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from msgspec import Struct

from services.commands import Envelope, pack
from services.settings import Settings
from services.store.exchange import UNREACHABLE, Command, reading
from services.store.keys import due_key, moves_key, partition_in
from services.store.servers import Servers, no_partition_away
from services.store.trouble import NO_ROOM, trouble

START = "0-0"
"""Before the first command of every intake."""
MIN_ARGUMENTS = 2
"""A command that acknowledges has more: behind its name and its key stands what goes."""


class Delivery(Struct, frozen=True, gc=False):
    """A command as read from the intake; `at` is the milliseconds of its id.

    `again`: it may have been read before, by this worker or another, and what came of it may be in the journal.
    """

    partition: int
    id: str
    at: int
    data: bytes
    again: bool = False


class Along:
    """A read without waiting that goes along with a commit, in the same round trip; in a cluster it finds nothing."""

    def __init__(self, partitions: Sequence[int]) -> None:
        """Read the intakes of these partitions."""
        self.partitions = partitions
        self.found: list[Delivery] = []
        """New commands, once the commit has returned."""


class Intake:
    """The intakes of all partitions, and how far they have been read here."""

    def __init__(self, settings: Settings, servers: Servers) -> None:
        """Begin at the start of every intake; at most `batch` commands of each are read at a time."""
        self._batch = settings.batch
        self._servers = servers
        self._exchange = servers.exchange
        self._read_to: dict[int, str] = {}
        """The last command that was read of each partition's intake."""
        self._again_to: dict[int, str] = {}
        """Up to which command an intake may have been read before it was read from its start."""
        self._acknowledging: list[tuple[int, Command]] = []
        """What goes to Redis with the next read, by partition."""

    async def append(
        self,
        envelopes: Sequence[tuple[int, Envelope]],
        measured: Collection[int] = (),
        refused: dict[int, Exception] | None = None,
    ) -> dict[int, int | None]:
        """Append commands to the intake, in order; return the length after it of the `measured` partitions' intakes.

        No command is appended twice: of two copies one could be refused and, after something else, the other accepted.
        None stands for a partition, measured or not, that cannot be reached: its commands may have been appended, as
        they may after any error. `refused` is filled with the errors of commands, by their place, that were certainly
        not appended since Redis is full or cannot write its file; without it the first such error is raised.
        """
        commands: list[Command] = [
            ("XADD", moves_key(partition), "*", "c", pack(envelope)) for partition, envelope in envelopes
        ]
        commands += [("XLEN", moves_key(partition)) for partition in measured]
        answers = await self._exchange(commands, repeat=False)
        lengths: dict[int, int | None] = dict(zip(measured, answers[len(envelopes) :], strict=True))
        for number, answer in enumerate(answers):
            if isinstance(answer, Exception):
                if refused is not None and number < len(envelopes) and trouble(answer) in NO_ROOM:
                    refused[number] = answer
                    continue
                if not isinstance(answer, UNREACHABLE):
                    raise answer
                lengths[partition_in(str(commands[number][1]).encode())] = None
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
        lasts = [("XREVRANGE", moves_key(p), "+", "-", "COUNT", 1) for p in partitions]
        for partition, last in zip(partitions, await self._servers.ask(lasts, partitions), strict=True):
            self._read_to.pop(partition, None)
            if last:
                self._again_to[partition] = last[0][0].decode()
        return await self._read(partitions, 0) if partitions else []

    async def _read(self, partitions: Sequence[int], block_ms: int, before: Sequence[Command] = ()) -> list[Delivery]:
        found = await self._exchange.read(self._behind(partitions), self._batch, block_ms, before)
        no_partition_away([partition_in(stream) for stream, _ in found], [entries for _, entries in found])
        return self.found(found)

    def along(self, partitions: Sequence[int]) -> list[Command]:
        """Return what goes along with a commit: what `acknowledge_later` left, and last a read, for `found`."""
        acknowledging, self._acknowledging = self._acknowledging, []
        return [*(command for _, command in acknowledging), reading(self._behind(partitions), self._batch)]

    def _behind(self, partitions: Sequence[int]) -> dict[str, str]:
        """Return intakes, each with the last command that was read of it."""
        return {moves_key(partition): self._read_to.get(partition, START) for partition in partitions}

    def found(self, streams: Iterable[tuple[bytes, Any]]) -> list[Delivery]:
        """Take over what a read has found, in the order in which it came: no match waits longer for its partition."""
        deliveries: list[Delivery] = []
        for stream, entries in streams:
            partition = partition_in(stream)
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
        firsts = [("XRANGE", moves_key(p), "-", "+", "COUNT", 1) for p in partitions]
        forgotten = set()
        for partition, first in zip(partitions, await self._servers.ask(firsts, partitions), strict=True):
            if first:
                at = _order(first[0][0].decode())
                read_to = _order(self._read_to.get(partition, START))
                if at < _order(hand[partition]) if partition in hand else at <= read_to:
                    forgotten.add(partition)
        return forgotten

    async def unacknowledged(self, partitions: Sequence[int]) -> dict[int, int]:
        """Return how many commands each intake holds: what waits, and what is being decided."""
        lengths = await self._servers.ask([("XLEN", moves_key(p)) for p in partitions], partitions)
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

    def due_again(self, members: Collection[str]) -> None:
        """Let `acknowledge_later` remove none of these members of `due`: a commit adds them anew."""
        kept = [(at, [part for part in command if part not in members]) for at, command in self._acknowledging]
        self._acknowledging = [(at, command) for at, command in kept if len(command) > MIN_ARGUMENTS]

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
            try:
                await self._servers.write(commands, [at for at, _ in acknowledging], durably=durably)
            except UNREACHABLE:
                self._acknowledging.clear()  # as in `read`
                raise
            del self._acknowledging[: len(acknowledging)]


def _delivery(partition: int, entry_id: bytes, fields: Sequence[bytes], again: bool) -> Delivery:
    text = entry_id.decode()
    data = fields[1] if len(fields) == 2 and fields[0] == b"c" else b""
    return Delivery(partition, text, int(text[: text.index("-")]), data, again)


def _order(entry_id: str) -> tuple[int, int]:
    millis, _, sequence = entry_id.partition("-")
    return int(millis), int(sequence)
