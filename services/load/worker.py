"""One process of players: `croupier load --join HOST:PORT`. It does what the coordinator says, and reports."""

import asyncio
import contextlib
import json
import os
import resource
import signal
import socket
import sys
import time

import uvloop

from services import collector
from services.load.checks import check
from services.load.crowd import Crowd
from services.load.talk import (
    NATS_PASSWORD,
    NATS_USER,
    OPERATOR_KEY,
    Checking,
    Done,
    Failed,
    Measure,
    Opened,
    Play,
    Seen,
    Stop,
    Stopped,
    Talk,
    TalkError,
    Work,
)
from services.play_stream import RefusedError
from services.processes import cores

REPORT_S = 0.5
KNOCK_S = 30.0
"""How long a worker tries to reach its coordinator, which may be started after it."""


def work(address: str, secret: str) -> str | None:
    """Take part in a run; return None, or what went wrong."""
    with contextlib.suppress(ValueError, OSError):  # a connection for each seat takes many files
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return uvloop.run(_work(address, secret))


async def _work(address: str, secret: str) -> str | None:
    talk: Talk | None = None
    person = sys.stdout.isatty()  # else whoever started this process
    if person:
        _say(f"knocking at {address} for up to {KNOCK_S:g} s")
    try:
        talk = await _knock(address)
        await talk.ask_in(secret, socket.gethostname(), os.getpid(), cores())
    except (OSError, TimeoutError) as error:
        if talk is not None:
            await talk.close()
        return f"{address}: {str(error) or 'no answer'}"
    if person:
        _say("joined: playing as the coordinator says; Ctrl-C ends this worker's matches, and the run")
    else:
        _say(json.dumps({"event": "ready", "coordinator": address}))
    working = asyncio.create_task(_Worker(talk).run())
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told.set)
    stopping = asyncio.create_task(told.wait())
    await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if not working.done():
        working.cancel()
    stopping.cancel()
    try:
        await working
    except asyncio.CancelledError:
        return "stopped"
    except (RefusedError, OSError) as error:
        return str(error)
    if person:
        _say("done: the coordinator has the report")
    return None


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def _knock(address: str) -> Talk:
    until = time.monotonic() + KNOCK_S
    while True:
        try:
            return await Talk.connect(address)
        except OSError:
            if time.monotonic() > until:
                raise
        await asyncio.sleep(0.2)


class _Worker:
    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._crowd: Crowd | None = None
        self._measuring = False

    async def run(self) -> None:
        """Work until the end, or until the coordinator is gone: then only end the matches. Raises what went wrong."""
        talk = self._talk
        reason = "stopped"
        try:
            message = await talk.receive()
            if not isinstance(message, Work):
                raise TalkError("the coordinator gave no work")
            user, password = os.environ.get(NATS_USER), os.environ.get(NATS_PASSWORD)
            login = (user, password) if user and password else None
            crowd = self._crowd = Crowd(message.share, os.environ.get(OPERATOR_KEY) or None, login)
            await self._take_part(crowd)
        except Exception as error:
            first = _first(error)
            reason = _advice(first)
            raise first from error
        finally:
            if self._crowd is not None:
                await asyncio.shield(self._end(self._crowd, reason))
            await talk.close()

    async def _take_part(self, crowd: Crowd) -> None:
        talk = self._talk
        hearing = asyncio.create_task(self._hear(crowd))
        reporting = asyncio.create_task(self._report(crowd))
        try:
            async with asyncio.TaskGroup() as group:
                opening = group.create_task(crowd.open())
                await asyncio.wait({hearing, opening}, return_when=asyncio.FIRST_COMPLETED)
                if hearing.done():
                    opening.cancel()
            if not opening.cancelled():
                talk.send(Opened())
            collector.calm()
            await hearing
        finally:
            reporting.cancel()
            hearing.cancel()
        talk.send(Stopped(crowd.report(), crowd.behind()))
        unanswered = await crowd.finish()
        if crowd.failure is not None:
            raise TalkError(f"a player broke down: {crowd.failure!r}")
        checked = await check(crowd, lambda done: talk.send(Checking(done, len(crowd.played))))
        talk.send(Done(checked, unanswered))
        self._crowd = None
        await crowd.close()

    async def _hear(self, crowd: Crowd) -> None:
        """Follow the coordinator until it says stop. Raises TalkError."""
        while True:
            match await self._talk.receive():
                case Play():
                    crowd.go()
                case Measure():
                    crowd.report()
                    self._measuring = True
                case Stop(gone):
                    if gone:
                        crowd.hurry()
                    return

    async def _report(self, crowd: Crowd) -> None:
        while True:
            await asyncio.sleep(REPORT_S)
            self._talk.send(Seen(crowd.report(), self._measuring))

    async def _end(self, crowd: Crowd, reason: str) -> None:
        """Leave no match behind."""
        self._talk.send(Failed(reason))
        with contextlib.suppress(RefusedError, OSError):
            await crowd.finish()
        await crowd.close()


def _advice(error: BaseException) -> str:
    """Return what went wrong, and what to do where the whole run needs it."""
    said = str(error) or type(error).__name__
    if isinstance(error, RefusedError) and error.reason == "NOT_OPERATOR":
        return f"{said}; set {OPERATOR_KEY} to the server's key where each worker starts"
    return said


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
