"""How moves reach the server: over `Play` streams, or one unary call each."""

import asyncio
from typing import TYPE_CHECKING, Any

import grpc

from croupier.v1 import match_service_pb2 as pb
from services.load.match import Seat, Sent
from services.play_stream import RETRY_S, TRY_AGAIN, refused

if TYPE_CHECKING:
    from services.load.crowd import Crowd

COMMANDS_TOGETHER = 256


class MoveStream:
    """One `Play` stream, opened again when it breaks; commands without a receipt are then sent again."""

    def __init__(self, crowd: "Crowd") -> None:
        """Start at once."""
        self._crowd = crowd
        self._seats: dict[int, Seat] = {}
        self._free: list[int] = []
        self._sent: dict[int, Sent] = {}
        self._attach: list[pb.Attach] = []
        self._unsent: list[Sent] = []
        self._wake = asyncio.Event()
        self._call: Any = None
        self._running = asyncio.create_task(self._run())

    def attach(self, seat: Seat) -> None:
        """Name a seat on the stream; commands may follow at once."""
        seat.handle = self._free.pop() if self._free else len(self._seats) + 1
        self._seats[seat.handle] = seat
        self._attach.append(pb.Attach(handle=seat.handle, token=seat.token))
        self._wake.set()

    def detach(self, seat: Seat) -> None:
        """Use the seat's name for another."""
        if self._seats.pop(seat.handle, None) is not None:
            self._free.append(seat.handle)

    def send(self, sent: Sent) -> None:
        """Send a move with the next message."""
        self._sent[sent.id] = sent
        self._unsent.append(sent)
        self._wake.set()

    def drop(self) -> None:
        """Break the stream, as a network would."""
        if self._call is not None:
            self._call.cancel()

    async def close(self) -> None:
        """End for good."""
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            call = self._call = self._crowd.stub.Play(wait_for_ready=True)
            # All of it anew: nobody knows what the last stream took before it broke.
            self._attach = [pb.Attach(handle=handle, token=seat.token) for handle, seat in self._seats.items()]
            self._unsent = list(self._sent.values())
            self._wake.set()
            writing = asyncio.create_task(self._write(call))
            reading = asyncio.create_task(self._read(call))
            try:
                await asyncio.wait({reading})
            finally:
                call.cancel()
                writing.cancel()
                reading.cancel()
                await asyncio.gather(writing, reading, return_exceptions=True)
            await asyncio.sleep(RETRY_S)

    async def _write(self, call: Any) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            attach, self._attach = self._attach, []
            unsent, self._unsent = self._unsent[:COMMANDS_TOGETHER], self._unsent[COMMANDS_TOGETHER:]
            if self._unsent:
                self._wake.set()
            if attach or unsent:
                request = pb.PlayRequest(attach=attach)
                add = request.commands.add  # in its place, and the move as bytes: a message given would be copied
                for sent in unsent:
                    command = add(id=sent.id, handle=sent.seat.handle, prompt=sent.prompt)
                    command.move.MergeFromString(sent.move)
                await call.write(request)

    async def _read(self, call: Any) -> None:
        crowd = self._crowd
        try:
            while isinstance(response := await call.read(), pb.PlayResponse):
                for receipt in response.receipts:
                    sent = self._sent.get(receipt.id)
                    if sent is None:
                        continue
                    if receipt.HasField("version"):
                        del self._sent[receipt.id]
                        crowd.accepted(sent, receipt.version)
                    else:
                        self._refused(sent, receipt.refusal.reason)
                for attached in response.attached:
                    if attached.HasField("refusal"):
                        crowd.meter.refuse(_name(attached.refusal.reason))
        except grpc.aio.AioRpcError as error:
            crowd.meter.refuse(refused(error).reason)

    def _refused(self, sent: Sent, reason: int) -> None:
        name = _name(reason)
        self._crowd.meter.refuse(name)
        if name in TRY_AGAIN:
            asyncio.get_running_loop().call_later(RETRY_S, self._again, sent.id)
        else:
            del self._sent[sent.id]
            sent.seat.match.refuse(sent)

    def _again(self, number: int) -> None:
        if sent := self._sent.get(number):
            self.send(sent)


class UnaryMoves:
    """A call of its own for each move."""

    def __init__(self, crowd: "Crowd") -> None:
        """Share the crowd's channel."""
        self._crowd = crowd

    def attach(self, seat: Seat) -> None:
        """Nothing to prepare."""

    def detach(self, seat: Seat) -> None:
        """Nothing to forget."""

    def drop(self) -> None:
        """Nothing stays open between calls."""

    async def close(self) -> None:
        """Nothing to close."""

    def send(self, sent: Sent) -> None:
        """Call, in the background."""
        self._crowd.spawn(self._submit(sent))

    async def _submit(self, sent: Sent) -> None:
        request = submission(sent.seat, sent.prompt, sent.move)
        while True:
            try:
                response = await self._crowd.stub.SubmitMove(request, timeout=10, wait_for_ready=True)
            except grpc.aio.AioRpcError as error:
                refusal = refused(error)
                self._crowd.meter.refuse(refusal.reason)
                if not refusal.again:
                    sent.seat.match.refuse(sent)
                    return
                await asyncio.sleep(RETRY_S)
            else:
                self._crowd.accepted(sent, response.version)
                return


def _name(reason: int) -> str:
    names = pb.RefusalReason
    return names.Name(reason) if reason in names.values() else str(reason)


def submission(seat: Seat, prompt: int, move: bytes) -> pb.SubmitMoveRequest:
    """Return the request that makes a seat's move, given as the bytes of a GameMove."""
    request = pb.SubmitMoveRequest(token=seat.token, prompt=prompt)
    request.move.MergeFromString(move)
    return request
