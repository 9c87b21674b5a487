"""Refusals of the match service, and how every refusal leaves a call."""

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn, Protocol, TypeVar

import grpc
import structlog
from google.protobuf.message import DecodeError
from grpc_status import rpc_status
from redis.exceptions import RedisError

from engine.refusals import Refusal
from services import wire
from services.commands import Receipt
from services.metrics import Metrics
from services.store.trouble import NO_ROOM, trouble

Context = grpc.aio.ServicerContext[Any, Any]
Handler = Any
"""What answers a call: gRPC's `RpcMethodHandler`, a named tuple which its types do not know as one."""
log = structlog.get_logger()

_UNTOLD = "INTERNAL"
NO_ROOM_RETRY_MS = 2000
"""After how long one should try again who was refused since the store is full: it takes an operator to change that."""
_OURS = frozenset({"INTERNAL", "INTERRUPTED", "NO_OWNER", "OUTCOME_UNKNOWN", "OVERLOADED"})
"""Reasons that an operator wants to hear of; all others are the client's affair."""


class Refused(Refusal):
    """A call is refused for a reason of the wire. `decided`: a receipt said so, and has been counted."""

    def __init__(self, reason: str, detail: str, **fields: str | int) -> None:
        super().__init__(detail, **fields)
        self.reason = reason
        self.decided = False


class Interrupted(Refused):
    """The service stops, or has lost what it stands on; whether a command took effect is open."""

    def __init__(self, detail: str) -> None:
        super().__init__("INTERRUPTED", detail)


class Unreadable:
    """Stands for a request whose bytes are no message of its call, or that never came."""

    def __init__(self, detail: str = "these bytes are no message of this call") -> None:
        """Stand for it, until somebody wants to read it."""
        self.detail = detail


Request = TypeVar("Request")


def legible(request: Request) -> Request:
    """Return a request that could be read. Raises Refused: MALFORMED_REQUEST for an Unreadable."""
    if isinstance(request, Unreadable):
        raise Refused("MALFORMED_REQUEST", request.detail)
    return request


def guarded(server: grpc.aio.Server, change: Callable[[str, Handler], Handler]) -> Any:
    """Return what stands for a server where a service adds its calls: how each is answered is changed once, there.

    Interceptors could do the same, at every call, which would pay for it. `change` is given a call's name and handler.
    """
    return _Guarded(server, change)


class _Guarded:
    def __init__(self, server: grpc.aio.Server, change: Callable[[str, Handler], Handler]) -> None:
        self._server = server
        self._change = change

    def add_generic_rpc_handlers(self, handlers: Iterable[grpc.GenericRpcHandler]) -> None:
        """Pass over what generated code gives `add_registered_method_handlers`, too, and there by name."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Handler]) -> None:
        """Add the calls of a service, changed."""
        changed = {name: self._change(f"/{service}/{name}", handler) for name, handler in handlers.items()}
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, changed),))


def begun(counted: "Counted") -> Callable[[str, Handler], Handler]:
    """Have calls counted from their first byte on, and let requests that cannot be read end with a typed refusal.

    By itself gRPC tells of a call with one request only once that is there: whoever opens calls and sends none could
    take all the room of the service without anybody having counted him. So such calls become ones that read their
    request themselves. And it would say but UNKNOWN of bytes that are no message.
    """

    def change(method: str, handler: Handler) -> Handler:
        read, write = _or_unreadable(handler.request_deserializer), handler.response_serializer
        if handler.unary_unary is not None:
            return grpc.stream_unary_rpc_method_handler(_reading(counted, handler.unary_unary, method), read, write)
        if handler.unary_stream is not None:
            return grpc.stream_stream_rpc_method_handler(_reading(counted, handler.unary_stream, method), read, write)
        return handler._replace(request_deserializer=read)

    return change


def _reading(counted: "Counted", answer: Any, method: str) -> Any:
    async def call(_requests: Any, context: Context) -> Any:
        try:
            with counted.limits.arriving(context.peer()):
                request = await context.read()
        except Refused as refused:
            await _abort(counted.metrics, method, context, refused)
        if request is grpc.aio.EOF:  # type: ignore[attr-defined]  # its types have forgotten it
            request = Unreadable("the call came without its request")
        return await answer(request, context)

    return call


def _or_unreadable(read: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    def attempt(data: bytes) -> Any:
        try:
            return read(data)
        except DecodeError:
            return Unreadable()

    return attempt


class Limits(Protocol):
    """What one caller may ask for."""

    def call(self, peer: str) -> None:
        """Count a call. Raises Refused."""

    def stream(self, peer: str) -> AbstractContextManager[None]:
        """Count a stream while it is open. Raises Refused."""

    def arriving(self, peer: str) -> AbstractContextManager[None]:
        """Count a call while its request is not there. Raises Refused."""


class Calls:
    """The calls that are being answered, so that those which have no answer when the service ends are told so."""

    def __init__(self) -> None:
        """Begin without any."""
        self._running: set[asyncio.Task[Any]] = set()
        self._stopping = asyncio.Event()
        self._over = asyncio.Event()
        self.turned_away = 0
        """How many came after `stop`."""

    def stop(self) -> None:
        """Refuse whatever comes from now on: INTERRUPTED."""
        self._stopping.set()

    def end(self) -> None:
        """Refuse whatever has no answer by now, too."""
        self._stopping.set()
        self._over.set()
        for task in self._running:
            task.cancel()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Answer one call, in the task that runs this. Raises Interrupted."""
        if self._stopping.is_set():
            self.turned_away += 1
            raise Interrupted("this server stops; call another one")
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if not self._over.is_set():
                raise  # the client is gone
            task.uncancel()
            raise Interrupted("this server stops before it has an answer; a command may have taken effect") from None
        finally:
            self._running.discard(task)


class Counted(Protocol):
    """A servicer whose refusals are counted, and whose callers have limits."""

    metrics: Metrics
    calls: Calls

    @property
    def limits(self) -> Limits:
        """What callers may ask for."""


def limited(counted: Counted) -> Callable[[str, Handler], Handler]:
    """Hold calls to the limits of an address: those of services that do not do so themselves, health and reflection.

    On a stream of theirs each message counts as a call.
    """

    def change(method: str, handler: Handler) -> Handler:
        kind = next(kind for kind in _KINDS if getattr(handler, kind) is not None)
        answer = _limited(counted, getattr(handler, kind), method, one=kind in _UNARY, many=kind == "stream_stream")
        return handler._replace(**{kind: answer})

    return change


def _limited(counted: Counted, answer: Any, method: str, *, one: bool, many: bool) -> Any:
    limits, metrics = counted.limits, counted.metrics

    @contextmanager
    def held(peer: str) -> Iterator[None]:
        if one:
            limits.call(peer)
            yield
        else:
            with limits.stream(peer):
                yield

    async def each(requests: AsyncIterator[Any], peer: str) -> AsyncIterator[Any]:
        async for request in requests:
            limits.call(peer)
            yield legible(request)

    def asked(request: Any, context: Context) -> Any:
        return each(request, context.peer()) if many else legible(request)

    async def call(request: Any, context: Context) -> Any:
        try:
            with held(context.peer()):
                return await answer(asked(request, context), context)
        except Refused as refused:
            await _abort(metrics, method, context, refused)

    async def generate(request: Any, context: Context) -> AsyncIterator[Any]:
        try:
            with held(context.peer()):
                async for response in answer(asked(request, context), context):
                    yield response
        except Refused as refused:
            await _abort(metrics, method, context, refused)

    return generate if inspect.isasyncgenfunction(answer) else call


_UNARY = ("unary_unary", "stream_unary")
_KINDS = (*_UNARY, "unary_stream", "stream_stream")


def accepted(receipt: Receipt, **fields: str | int) -> Receipt:
    """Return a receipt that is no refusal. Raises Refused, with `fields` beside the receipt's own."""
    if receipt.reason is not None:
        refused = Refused(receipt.reason, receipt.detail, **{**fields, **receipt.fields})
        refused.decided = True
        raise refused
    return receipt


S = TypeVar("S", bound=Counted)
Q = TypeVar("Q")
A = TypeVar("A")


def unary(method: Callable[[S, Q, Context], Awaitable[A]]) -> Callable[[S, Q, Context], Awaitable[A]]:
    """End a call that raises with the refusal in its trailers; what nobody expected leaves as INTERNAL, untold."""

    @functools.wraps(method)
    async def call(self: S, request: Q, context: Context) -> A:
        try:
            self.limits.call(context.peer())
            legible(request)
            with self.calls.one():
                return await method(self, request, context)
        except Exception as error:  # noqa: BLE001 - the border: nothing of an error may leave but its refusal
            await _abort(self.metrics, method.__name__, context, error)

    return call


def streaming(method: Callable[[S, Q, Context], Awaitable[None]]) -> Callable[[S, Q, Context], Any]:
    """As `unary`, for a call that writes its answers to the context; counts it while it is open.

    gRPC takes that as well as a generator, of which alone the types of generated code know.
    """

    @functools.wraps(method)
    async def call(self: S, request: Q, context: Context) -> None:
        streams = self.metrics.open_streams.labels(method=method.__name__)
        streams.inc()
        try:
            with self.limits.stream(context.peer()):
                legible(request)
                with self.calls.one():
                    await method(self, request, context)
        except Exception as error:  # noqa: BLE001 - as in `unary`
            await _abort(self.metrics, method.__name__, context, error)
        finally:
            streams.dec()

    return call


def _not_answered(error: RedisError) -> Refused:
    if trouble(error) in NO_ROOM:
        return Refused("OVERLOADED", "the store has no room left", retry_ms=NO_ROOM_RETRY_MS)
    return Interrupted("the store did not answer")


async def _abort(metrics: Metrics, method: str, context: Context, error: Exception) -> NoReturn:
    if isinstance(error, grpc.aio.AbortError | grpc.aio.BaseError):
        raise error
    if isinstance(error, RedisError):
        log.warning("redis_failed", method=method, error=error)
        metrics.store_failed(error)
        error = _not_answered(error)
    if isinstance(error, Refusal):
        reason, detail, fields = error.reason, error.detail, error.fields
        level = log.warning if reason in _OURS else log.debug
        level("call_refused", method=method, reason=reason)
    else:
        log.error("call_failed", method=method, exc_info=error)
        reason, detail, fields = _UNTOLD, "the server failed", {}
    if not (isinstance(error, Refused) and error.decided):
        metrics.refused_calls.labels(reason=reason).inc()
    status = rpc_status.to_status(wire.status(reason, detail, fields))
    await context.abort(status.code, status.details, status.trailing_metadata)
    raise AssertionError("abort returns never")
