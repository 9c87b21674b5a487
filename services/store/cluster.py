"""The exchange with a Redis Cluster: each command goes to the primary of its slot, on connections of its own.

redis-py's cluster client is left out on purpose: its pipelines give one reply to a WAIT that concerns two primaries,
and errors other than redis' escape from it during a failover.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import structlog
from redis.crc import key_slot
from redis.exceptions import AskError, ClusterDownError, MovedError, RedisError, TryAgainError
from redis.exceptions import ConnectionError as RedisConnectionError

from services import tasks
from services.store.exchange import IO_TIMEOUT_S, UNREACHABLE, Command, Exchange, may_be_done, reading

log = structlog.get_logger()

HOPS = 8
"""How often a command is sent on: after a failover one primary names the next, a slot that moves asks to try again."""
HOP_PAUSE_S = 0.01
LOOK_TIMEOUT_S = 2.0
WATCH_MS = 30_000
WATCH_FAILED_S = 0.02

Address = tuple[str, int]


class _Part(NamedTuple):
    """What one primary answered: a reply to each command, and to the confirmation if one was asked for."""

    replies: list[Any]
    confirmation: list[Any]


class ClusterExchange:
    """As `Exchange`, for all primaries of a cluster at once.

    Commands of one slot keep their order. The commands of a primary that cannot be reached have an error of
    `exchange.UNREACHABLE` as their reply; a call raises redis' ConnectionError only if no node can be reached at all.
    """

    def __init__(self, nodes: Sequence[Address], connection: Callable[[str, int], Any]) -> None:
        """Find the cluster with the first call, through any of `nodes`."""
        self._named = list(nodes)
        self._connection = connection
        self._exchanges: dict[Address, Exchange] = {}
        self._slots: dict[int, Address] = {}
        """The primary of each slot that has one, as last seen."""
        self._nodes: list[Address] = []
        self._looking = asyncio.Lock()
        self._looks = 0
        self._watches: dict[str, tuple[Address, asyncio.Task[None]]] = {}

    async def __call__(
        self,
        commands: Sequence[Command],
        timeout_s: float = IO_TIMEOUT_S,
        *,
        confirm: Command | None = None,
        repeat: bool = True,
    ) -> list[Any]:
        """Return the replies in the order of the commands; behind them one to `confirm` of each primary that did some.

        A slot that has gone to another primary is followed there, also from one that is dead; with `repeat` False only
        if that one cannot have carried out the command.
        """
        if not self._slots:
            await self._look(self._looks, [])
        looks = self._looks
        replies: list[Any] = [None] * len(commands)
        confirmations: list[Any] = []
        asked: dict[int, Address] = {}
        waiting: Iterable[int] = range(len(commands))
        for hop in range(HOPS):
            parts: dict[Address | None, list[int]] = {}
            for number in waiting:
                address = asked.get(number) or self._slots.get(_slot(commands[number]))
                parts.setdefault(address, []).append(number)
            answers = await asyncio.gather(*[
                self._part(address, [(commands[at], at in asked) for at in numbers], timeout_s, confirm, repeat=repeat)
                for address, numbers in parts.items()
            ])  # fmt: skip
            asked, again, failed = {}, [], {}
            for (address, numbers), part in zip(parts.items(), answers, strict=True):
                confirmations += part.confirmation
                for number, reply in zip(numbers, part.replies, strict=True):
                    replies[number] = reply
                    if isinstance(reply, MovedError):
                        self._slots[reply.slot_id] = (reply.host, reply.port)
                    elif isinstance(reply, AskError):
                        asked[number] = (reply.host, reply.port)
                    if isinstance(reply, AskError | TryAgainError):  # MovedError is an AskError
                        again.append(number)
                    elif isinstance(reply, UNREACHABLE):
                        failed[number] = address
            if failed:
                await self._look(looks, failed.values())
                again += [
                    number
                    for number, at in failed.items()
                    if self._slots.get(_slot(commands[number])) != at and (repeat or not may_be_done(replies[number]))
                ]
            if not again:
                break
            waiting = sorted(again)
            await asyncio.sleep(HOP_PAUSE_S * hop)
        return replies + confirmations

    async def _part(
        self,
        address: Address | None,
        commands: Sequence[tuple[Command, bool]],
        timeout_s: float,
        confirm: Command | None = None,
        *,
        repeat: bool = True,
    ) -> _Part:
        """Send commands to one primary; those marked are sent where a slot is just going, which must be said before."""
        if address is None:
            return _Part([ClusterDownError("no primary has the slot")] * len(commands), [])
        sent: list[Command] = []
        for command, asking in commands:
            sent += [("ASKING",), command] if asking else [command]
        try:
            answers = await self._at(address)(sent, timeout_s, confirm=confirm, repeat=repeat)
        except UNREACHABLE as error:
            return _Part([error] * len(commands), [])
        confirmation = [] if confirm is None else [answers.pop()]
        asking_at = {number for number, command in enumerate(sent) if command[0] == "ASKING"}
        replies = [answer for number, answer in enumerate(answers) if number not in asking_at]
        if all(isinstance(reply, UNREACHABLE) for reply in replies):
            confirmation = []  # of a server that did nothing, and may be a replica by now
        return _Part(replies, confirmation)

    def _at(self, address: Address) -> Exchange:
        exchange = self._exchanges.get(address)
        if exchange is None:
            exchange = self._exchanges[address] = Exchange(lambda: self._connection(*address))
        return exchange

    async def _look(self, looks: int, failed: Iterable[Address | None]) -> None:
        """See which primary has which slots, unless that was seen after the look number `looks`.

        Nodes in `failed` are asked last. Raises redis' ConnectionError if no node answers, or none is of a cluster.
        """
        async with self._looking:
            if self._looks != looks:
                return
            last = set(failed)
            nodes = dict.fromkeys([*self._nodes, *self._named])
            problem: Exception | None = None
            for address in sorted(nodes, key=lambda node: node in last):
                try:
                    [ranges] = await self._at(address)([("CLUSTER", "SLOTS")], LOOK_TIMEOUT_S)
                    if isinstance(ranges, Exception):
                        raise ranges
                except RedisError as error:
                    problem = error
                    continue
                await self._take(ranges, address[0])
                return
            raise RedisConnectionError(f"no node of the Redis Cluster tells its slots: {problem}") from problem

    async def _take(self, ranges: Sequence[Any], asked_host: str) -> None:
        """Take over what CLUSTER SLOTS says: first and last slot, then the nodes (host, port, more), primary first."""
        slots: dict[int, Address] = {}
        found: dict[Address, None] = {}
        for first, last, *nodes in ranges:
            addresses = [(host.decode() if host else asked_host, int(port)) for host, port, *_ in nodes]
            slots.update(dict.fromkeys(range(first, last + 1), addresses[0]))
            found.update(dict.fromkeys(addresses))
        self._slots, self._nodes = slots, list(found)
        self._looks += 1
        for address in self._exchanges.keys() - {*found, *self._named}:
            await self._exchanges.pop(address).close()

    async def each(self, command: Command, timeout_s: float = IO_TIMEOUT_S) -> list[Any]:
        """Return the reply of every primary to one command, an error of `UNREACHABLE` from one that is away."""
        primaries, looks = await self._primaries(), self._looks
        parts = await asyncio.gather(*[self._part(at, [(command, False)], timeout_s) for at in primaries])
        replies = [part.replies[0] for part in parts]
        failed = [at for at, reply in zip(primaries, replies, strict=True) if isinstance(reply, UNREACHABLE)]
        if failed:
            await self._look(looks, failed)
        return replies

    async def keys(self, pattern: str) -> list[bytes]:
        """As `Exchange.keys`, of all primaries. Raises if one of them is away."""
        found = await asyncio.gather(*[self._at(address).keys(pattern) for address in await self._primaries()])
        return list({key for some in found for key in some})

    async def _primaries(self) -> list[Address]:
        if not self._slots:
            await self._look(self._looks, [])
        return list(dict.fromkeys(self._slots.values()))

    # --- reading streams -----------------------------------------------------------------------------------------

    async def read(
        self, after: Mapping[str, str], count: int, block_ms: int, before: Sequence[Command] = ()
    ) -> list[Any]:
        """As `Exchange.read`. A stream whose primary cannot be reached has an error in place of its entries.

        No command can wait for streams of several slots, so connections of their own watch each stream.
        """
        found = await self._read(after, count, before)
        if found or not block_ms:
            return found
        for stream, start in after.items():
            if not self._watched(stream):
                self._watch(stream, start)
        await self._forget(self._watches.keys() - after.keys())
        if self._watches:
            watching = [task for _, task in self._watches.values()]
            await asyncio.wait(watching, timeout=block_ms / 1000, return_when=asyncio.FIRST_COMPLETED)
        return await self._read(after, count)

    async def _read(self, after: Mapping[str, str], count: int, before: Sequence[Command] = ()) -> list[Any]:
        reads = [reading({stream: start}, count) for stream, start in after.items()]
        answers = await self([*before, *reads])
        found: list[Any] = []
        for answer in answers[: len(before)]:
            if isinstance(answer, Exception):
                raise answer
        for stream, answer in zip(after, answers[len(before) :], strict=True):
            found += [(stream.encode(), answer)] if isinstance(answer, Exception) else answer or ()
        return found

    def _watched(self, stream: str) -> bool:
        watch = self._watches.get(stream)
        return watch is not None and not watch[1].done() and watch[0] == self._slots.get(_slot_of_key(stream))

    def _watch(self, stream: str, after: str) -> None:
        address = self._slots.get(_slot_of_key(stream))
        old = self._watches.pop(stream, None)
        if old is not None:
            old[1].cancel()
        if address is not None:
            self._watches[stream] = address, asyncio.create_task(self._wait_for(address, stream, after))

    async def _wait_for(self, address: Address, stream: str, after: str) -> None:
        """Return when a stream may have an entry behind an id."""
        command = reading({stream: after}, 1, WATCH_MS)
        try:
            [answer] = await self._at(address)([command], WATCH_MS / 1000 + IO_TIMEOUT_S)
        except RedisError as error:
            answer = error
        if isinstance(answer, Exception):  # then a look at the stream tells more, but not again and again at once
            log.debug("watch_failed", stream=stream, error=repr(answer))
            await asyncio.sleep(WATCH_FAILED_S)

    async def _forget(self, streams: Iterable[str]) -> None:
        await tasks.end([self._watches.pop(stream)[1] for stream in list(streams)])

    async def close(self) -> None:
        """Close the connections that nobody uses, and end what watches streams."""
        await self._forget(self._watches)
        for exchange in self._exchanges.values():
            await exchange.close()


def _slot(command: Command) -> int:
    """Return the slot of a command: that of its first key."""
    name = command[0]
    if name == "FCALL":
        key = command[3]
    elif name == "XREAD":
        key = command[command.index("STREAMS") + 1]
    elif name == "MEMORY":
        key = command[2]
    else:
        key = command[1]
    return _slot_of_key(key)


def _slot_of_key(key: object) -> int:
    return int(key_slot(str(key).encode()))
