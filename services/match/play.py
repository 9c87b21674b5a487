"""The stream of moves: many seats, several commands and receipts a message.

Nothing here waits for one command: receipts come when they come, and those that are ready together leave together.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple

from croupier.v1 import match_service_pb2
from engine.refusals import MalformedMove, Refusal
from services import wire
from services.commands import Receipt, Submit
from services.match.pace import Pace
from services.match.receipts import RETRY_MS, Courier
from services.match.refused import Interrupted, Refused, legible
from services.tokens import SeatClaim, Tokens

MAX_IN_FLIGHT = 1024
"""Commands of one stream that have no receipt yet."""
MAX_UNREAD = 4096
"""Answers that wait for a slow reader, from which on nothing more is read from him."""
MAX_TOGETHER = 1024
"""Receipts in one message, so that it is one that every client takes."""
MAX_HANDLES = 16_384
BREATH = 256
"""After so many parts of one message others have their turn."""


class Outcome(NamedTuple):
    """A refusal that is made here, before the intake."""

    reason: str
    detail: str
    fields: dict[str, str | int] = {}  # noqa: RUF012 - never changed


def submit(seat: SeatClaim, command: match_service_pb2.Command | match_service_pb2.SubmitMoveRequest) -> Submit:
    """Return the command for a move of a seat. Raises MalformedMove."""
    game, move = wire.move_to_json(command.move)
    if game != seat.game:
        raise MalformedMove(f"this is a move of {game}, the match is one of {seat.game}")
    return Submit(seat.match, seat.seat, seat.tenure, command.prompt, move)


class PlayStream:
    """One open stream; the sink of its commands' receipts."""

    def __init__(
        self,
        tokens: Tokens,
        courier: Courier,
        pace: Pace,
        deadline: Callable[[], float],
        stray: Callable[[], None] = lambda: None,
    ) -> None:
        """Serve nobody yet; `deadline` is that of a command that is sent now.

        `stray` is told of whatever no seat stands behind: an attach whose token is none, a command without a seat, an
        empty message. If it raises Refused, that ends the stream.
        """
        self._stray = stray
        self._tokens = tokens
        self._courier = courier
        self._pace = pace
        self._deadline = deadline
        self._seats: dict[int, SeatClaim] = {}
        self._in_flight = 0
        self._receipts: list[tuple[int, int | Outcome | None]] = []
        """Ids of commands with the version of their entry, or with the refusal."""
        self._attached: list[match_service_pb2.Attached] = []
        self._ready = asyncio.Event()
        self._drained = asyncio.Event()
        self._reader: asyncio.Task[None] | None = None
        self._stopping = False

    def stop(self) -> None:
        """Read no more; the stream ends when what is in flight is answered."""
        self._stopping = True
        if self._reader is not None:
            self._reader.cancel()

    async def run(
        self,
        requests: AsyncIterator[match_service_pb2.PlayRequest],
        write: Callable[[match_service_pb2.PlayResponse], Awaitable[object]],
    ) -> None:
        """Write the answers to requests until these end and all is answered.

        Raises Interrupted at the end of a stream that was stopped. What was sent goes its way also when the stream
        breaks.
        """
        reader = self._reader = asyncio.create_task(self._read(requests))
        reader.add_done_callback(self._on_read)
        if self._stopping:
            reader.cancel()
        try:
            while True:
                await self._ready.wait()
                self._ready.clear()
                while self._receipts or self._attached:
                    await write(self._take())
                if reader.done() and not self._in_flight:
                    break
        finally:
            reader.cancel()
        if self._stopping:
            raise Interrupted("this server stops; play on at another one")
        reader.result()

    def _on_read(self, reader: asyncio.Task[None]) -> None:
        if not reader.cancelled():
            reader.exception()  # also where nobody is there to raise it any more
        self._ready.set()

    def _take(self) -> match_service_pb2.PlayResponse:
        receipts, attached = self._receipts, self._attached
        self._receipts, self._attached = receipts[MAX_TOGETHER:], attached[MAX_TOGETHER:]
        self._drained.set()
        response = match_service_pb2.PlayResponse(attached=attached[:MAX_TOGETHER])
        add = response.receipts.add
        for tag, outcome in receipts[:MAX_TOGETHER]:
            if isinstance(outcome, Outcome):
                add(id=tag, refusal=wire.refusal(*outcome))
            else:
                add(id=tag, version=outcome)
        return response

    # --- in ------------------------------------------------------------------------------------------------------

    async def _read(self, requests: AsyncIterator[match_service_pb2.PlayRequest]) -> None:
        async for request in requests:
            legible(request)
            if not request.attach and not request.commands:
                self._stray()
            for number, attach in enumerate(request.attach, 1):
                self._attach(attach)
                if number % BREATH == 0:
                    await self._breathe()
            loop = asyncio.get_running_loop()
            now, deadline = loop.time(), self._deadline()
            for number, command in enumerate(request.commands, 1):
                if number % BREATH == 0:
                    await self._breathe()
                    now, deadline = loop.time(), self._deadline()
                if refused := self._send(command, now, deadline):
                    self._receipts.append((command.id, refused))
            await self._drain()

    async def _breathe(self) -> None:
        """Let others have their turn within a message of many parts, which has as many answers."""
        await self._drain()
        await asyncio.sleep(0)

    async def _drain(self) -> None:
        """Have what is answered sent, and wait for a slow reader."""
        if self._receipts or self._attached:
            self._ready.set()
        while len(self._receipts) + len(self._attached) > MAX_UNREAD:
            self._drained.clear()
            await self._drained.wait()

    def _attach(self, attach: match_service_pb2.Attach) -> None:
        answer = match_service_pb2.Attached(handle=attach.handle)
        try:
            seat = self._tokens.seat(attach.token)
            if len(self._seats) >= MAX_HANDLES and attach.handle not in self._seats:
                raise Refused("OVERLOADED", f"a stream has at most {MAX_HANDLES} handles")
        except Refusal as refused:
            answer.refusal.CopyFrom(wire.refusal(refused.reason, refused.detail, refused.fields))
            if refused.reason == "BAD_TOKEN":
                self._stray()
        else:
            self._seats[attach.handle] = seat
            answer.seat.match, answer.seat.seat, answer.seat.tenure = seat[:3]
        self._attached.append(answer)

    def _send(self, command: match_service_pb2.Command, now: float, deadline: float) -> Outcome | None:
        seat = self._seats.get(command.handle)
        if seat is None:
            self._stray()
            return Outcome("UNKNOWN_HANDLE", f"no seat is attached as {command.handle}")
        if self._in_flight >= MAX_IN_FLIGHT:
            fields: dict[str, str | int] = {"retry_ms": RETRY_MS}
            return Outcome("OVERLOADED", "too many commands of this stream wait for their receipts", fields)
        if not self._pace.take(seat, now):
            return Outcome("RATE_LIMITED", "this seat sends too fast", {"retry_ms": self._pace.wait_ms(seat, now)})
        try:
            move = submit(seat, command)
        except MalformedMove as malformed:
            return Outcome(malformed.reason, malformed.detail, malformed.fields)
        if refusal := self._courier.send(move, deadline, self, command.id):
            return Outcome(refusal.reason or "INTERNAL", refusal.detail, refusal.fields)
        self._in_flight += 1
        return None

    # --- out -----------------------------------------------------------------------------------------------------

    def settle(self, tag: int, receipt: Receipt) -> None:
        """Take the receipt of the command with this id."""
        self._in_flight -= 1
        refused = None if receipt.reason is None else Outcome(receipt.reason, receipt.detail, receipt.fields)
        self._receipts.append((tag, refused or receipt.version))
        self._ready.set()
