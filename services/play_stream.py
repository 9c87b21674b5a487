"""What a client sends over `Play`: one stream for many seats, opened again when it breaks.

Whatever has no receipt is then sent again, and answered with what became of the first.
"""

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, NamedTuple, Protocol

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from croupier.v1 import match_service_pb2 as pb

RETRY_S = 0.2
COMMANDS_TOGETHER = 256
"""Commands in one message, which the server takes only up to a size."""

RENEWABLE = frozenset({"BAD_TOKEN", "TOKEN_EXPIRED"})
"""Refusals of a token after which a fresh one may be had; the first where the server's keys were changed."""
TRY_AGAIN = frozenset({"OUTCOME_UNKNOWN", "INTERRUPTED", "NO_OWNER", "OVERLOADED", "RATE_LIMITED"})
"""Refusals after which the same command is sent again: it has had no effect, or is answered with what it had."""
BROKEN = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "INTERNAL", "UNKNOWN"})
"""The same for calls that end without a typed refusal, as they do where a connection breaks."""


_WRITTEN_TO_ITS_END = "Internal error from Core"
"""What grpc.aio says, as INTERNAL, where a write meets the end of its stream: in the place of what the server said."""


class RefusedError(Exception):
    """A typed refusal: `reason` is the name of the enum value, `metadata` its facts.

    `again`: the same command may be sent again, and will be answered with what became of this one.
    """

    def __init__(self, reason: str, detail: str, metadata: dict[str, str], *, again: bool) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
        self.metadata = metadata
        self.again = again
        wait_ms = metadata.get("retry_ms", "")
        self.wait_s = max(RETRY_S, int(wait_ms) / 1000) if wait_ms.isdecimal() else RETRY_S
        """How long to wait before it is sent again."""


def refused(error: grpc.aio.AioRpcError) -> RefusedError:
    """Return what a failed call says in its trailers; a bare gRPC error by its code."""
    status = rpc_status.from_call(error)  # type: ignore[arg-type]  # typed for sync calls; reads only what both have
    for detail in status.details if status else ():
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info):
            return RefusedError(info.reason, status.message, dict(info.metadata), again=info.reason in TRY_AGAIN)
    if error.details() == _WRITTEN_TO_ITS_END:
        return RefusedError("UNAVAILABLE", "the stream ended while it was written to", {}, again=True)
    code = error.code().name
    return RefusedError(code, error.details() or "", {}, again=code in BROKEN)


def _refusal(refusal: pb.Refusal) -> RefusedError:
    reason = _reason(refusal)
    return RefusedError(reason, refusal.message, dict(refusal.metadata), again=reason in TRY_AGAIN)


def _reason(refusal: pb.Refusal) -> str:
    """Return the reason's name, for one that this client is too old to know its number."""
    names = pb.RefusalReason
    return names.Name(refusal.reason) if refusal.reason in names.values() else str(int(refusal.reason))


class Attachable(Protocol):
    """A seat, as far as a stream knows it."""

    token: str

    async def renew(self) -> None:
        """Get a fresh token. Raises RefusedError."""


class _Sent(NamedTuple):
    """A command without a receipt."""

    seat: Attachable
    command: pb.Command
    receipt: asyncio.Future[int]


class PlayStream:
    """One `Play` stream, opened again when it breaks; commands without a receipt are then sent again."""

    def __init__(self, stub: Any, spawn: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        """Start at once; `spawn` runs what has to go on in the background."""
        self._stub = stub
        self._spawn = spawn
        self._ids = itertools.count(1)
        self._handles: dict[Attachable, int] = {}
        self._attaching: dict[int, tuple[Attachable, asyncio.Future[None]]] = {}
        self._sent: dict[int, _Sent] = {}
        self._unattached: dict[int, Attachable] = {}
        self._unsent: dict[int, pb.Command] = {}
        self._wake = asyncio.Event()
        spawn(self._run())

    def close(self) -> None:
        """Cancel whoever waits for a receipt."""
        for waiting in self._waiting():
            waiting.cancel()

    async def attach(self, seat: Attachable) -> None:
        """Return when the seat can move. Raises RefusedError."""
        handle = self._handles[seat] = next(self._ids)
        attached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._attaching[handle] = seat, attached
        self._unattached[handle] = seat
        self._wake.set()
        try:
            await attached
        except BaseException:
            self.detach(seat)
            raise
        finally:
            del self._attaching[handle]

    def detach(self, seat: Attachable) -> None:
        """Attach the seat no more; the present stream still knows it."""
        handle = self._handles.pop(seat, 0)
        self._unattached.pop(handle, None)

    async def submit(self, seat: Attachable, prompt: int, move: Any) -> int:
        """Return the version of the move's entry. Raises RefusedError."""
        if seat not in self._handles:
            raise RefusedError("MATCH_OVER", "this seat is not played any more", {}, again=False)
        number = next(self._ids)
        command = pb.Command(id=number, handle=self._handles[seat], prompt=prompt, move=move)
        receipt: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._sent[number] = _Sent(seat, command, receipt)
        self._send(number)
        try:
            return await receipt
        finally:
            self._sent.pop(number, None)
            self._unsent.pop(number, None)

    def _send(self, number: int) -> None:
        if number in self._sent:
            self._unsent[number] = self._sent[number].command
            self._wake.set()

    def _waiting(self) -> "Iterable[asyncio.Future[Any]]":
        return [*(future for _, future in self._attaching.values()), *(sent.receipt for sent in self._sent.values())]

    async def _run(self) -> None:
        while True:
            call = self._stub.Play(wait_for_ready=True)
            # All of it anew: nobody knows what the last stream took before it broke.
            attached = {sent.seat: sent.command.handle for sent in self._sent.values()} | self._handles
            self._unattached = {handle: seat for seat, handle in attached.items()}
            self._unsent = {number: sent.command for number, sent in self._sent.items()}
            self._wake.set()
            writing = asyncio.create_task(self._write(call))
            try:
                while isinstance(response := await call.read(), pb.PlayResponse):
                    self._take(response)
            except grpc.aio.AioRpcError as error:
                refusal = refused(error)
                if not refusal.again:
                    self._fail(refusal)
            finally:
                call.cancel()
                writing.cancel()
                await asyncio.gather(writing, return_exceptions=True)
            await asyncio.sleep(RETRY_S)

    async def _write(self, call: Any) -> None:
        """Write until the stream breaks, which its reader notices, too."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            attach = [pb.Attach(handle=handle, token=seat.token) for handle, seat in self._unattached.items()]
            numbers = list(self._unsent)[:COMMANDS_TOGETHER]
            commands = [self._unsent.pop(number) for number in numbers]
            self._unattached = {}
            if self._unsent:
                self._wake.set()
            if attach or commands:
                await call.write(pb.PlayRequest(attach=attach, commands=commands))

    def _take(self, response: pb.PlayResponse) -> None:
        for attached in response.attached:
            self._take_attached(attached)
        for receipt in response.receipts:
            sent = self._sent.get(receipt.id)
            if sent is None or sent.receipt.done():
                continue
            if receipt.WhichOneof("outcome") != "refusal":
                sent.receipt.set_result(receipt.version)
                continue
            refusal = _refusal(receipt.refusal)
            if refusal.again:
                asyncio.get_running_loop().call_later(refusal.wait_s, self._send, receipt.id)
            elif refusal.reason != "UNKNOWN_HANDLE":  # that one is told after its attach was refused
                sent.receipt.set_exception(refusal)

    def _take_attached(self, attached: pb.Attached) -> None:
        waiting = self._attaching.get(attached.handle)
        refusal = _refusal(attached.refusal) if attached.WhichOneof("outcome") == "refusal" else None
        if waiting is not None and not waiting[1].done():
            if refusal is None:
                waiting[1].set_result(None)
            else:
                waiting[1].set_exception(refusal)
        elif refusal is not None:  # on a new stream
            seat = next((seat for seat, handle in self._handles.items() if handle == attached.handle), None)
            if seat is not None and refusal.reason in RENEWABLE:
                self._spawn(self._renew(seat, attached.handle))
            else:
                self._fail(refusal, attached.handle)

    async def _renew(self, seat: Attachable, handle: int) -> None:
        try:
            await seat.renew()
        except RefusedError as refusal:
            self._fail(refusal, handle)
            return
        self._unattached[handle] = seat
        for number, sent in self._sent.items():
            if sent.command.handle == handle:
                self._send(number)
        self._wake.set()

    def _fail(self, refusal: RefusedError, handle: int | None = None) -> None:
        """Answer whoever waits, for this handle or at all, with a refusal."""
        if handle is None:
            waiting = self._waiting()
        else:
            waiting = [sent.receipt for sent in self._sent.values() if sent.command.handle == handle]
        for future in waiting:
            if not future.done():
                future.set_exception(refusal)
