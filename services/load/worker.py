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
from typing import Any

import uvloop

from services import collector
from services.load.checks import check
from services.load.crowd import Crowd
from services.load.ending import finish
from services.load.talk import (
    BEAT_S,
    NATS_PASSWORD,
    NATS_USER,
    OPERATOR_KEY,
    SILENT_S,
    Alive,
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
from services.play_stream import BROKEN, RefusedError
from services.processes import cores
from services.tasks import end

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
        return f"{address}: {str(error) or 'no coordinator answers there'}"
    if person:
        _say("joined: playing as the coordinator says; Ctrl-C ends this worker's matches, and the run")
    else:
        _say(json.dumps({"event": "ready", "coordinator": address}))
    worker = _Worker(talk)
    working = asyncio.create_task(worker.run())
    loop = asyncio.get_running_loop()
    told = 0

    def stop() -> None:
        nonlocal told
        told += 1
        if told > 1 or not worker.ending:  # the end of its matches is cut off only by a second signal
            working.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
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
        self.ending = False
        """Whether it does nothing any more but end its matches."""

    async def run(self) -> None:
        """Work until the end, or until the coordinator is gone: then only end the matches. Raises what went wrong."""
        talk = self._talk
        reason = "stopped"
        beating = asyncio.create_task(self._beat())
        try:
            message = await self._next()
            if not isinstance(message, Work):
                raise TalkError("the coordinator gave no work")
            user, password = os.environ.get(NATS_USER), os.environ.get(NATS_PASSWORD)
            login = (user, password) if user and password else None
            crowd = self._crowd = Crowd(message.share, os.environ.get(OPERATOR_KEY) or None, login)
            await self._take_part(crowd)
        except Exception as error:
            first = _first(error)
            reason = _advice(first, self._crowd)
            raise first from error
        finally:
            beating.cancel()
            self.ending = True
            if self._crowd is not None:
                await asyncio.shield(self._end(self._crowd, reason))
            await talk.close()

    async def _take_part(self, crowd: Crowd) -> None:
        talk = self._talk
        hearing = asyncio.create_task(self._hear(crowd))
        reporting = asyncio.create_task(self._report(crowd))
        opening = asyncio.create_task(crowd.open())
        try:
            await asyncio.wait({hearing, opening}, return_when=asyncio.FIRST_COMPLETED)
            if opening.done():
                await opening
                talk.send(Opened())
                collector.calm()
            await hearing
            reporting.cancel()
            talk.send(Stopped(crowd.report(), crowd.behind()))
            ended = await finish(crowd)  # which waits for the matches that are just being opened
        finally:
            await end([reporting, hearing, opening])
        if crowd.failure is not None:
            raise TalkError(f"a player broke down: {crowd.failure!r}")
        checked = await check(crowd, lambda done: talk.send(Checking(done, len(crowd.played))))
        talk.send(Done(checked, ended))
        self._crowd = None
        await crowd.close()

    async def _hear(self, crowd: Crowd) -> None:
        """Follow the coordinator until it says stop. Raises TalkError."""
        while True:
            match await self._next():
                case Play():
                    crowd.go()
                case Measure():
                    crowd.report()
                    self._measuring = True
                case Stop(gone):
                    if gone:
                        crowd.hurry()
                    return

    async def _next(self) -> Any:
        """Return what the coordinator says next. Raises TalkError, also when it says nothing for too long."""
        silent = 0.0
        while silent < SILENT_S:
            try:
                async with asyncio.timeout(BEAT_S):  # in parts: if it was this process that slept, one of them is over
                    message = await self._talk.receive()
            except TimeoutError:
                silent += BEAT_S
                continue
            if isinstance(message, Failed):
                raise TalkError(message.reason)
            if not isinstance(message, Alive):
                return message
            silent = 0.0
        raise TalkError(f"the coordinator has been silent for {SILENT_S:g} s")

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            self._talk.send(Alive())

    async def _report(self, crowd: Crowd) -> None:
        while True:
            await asyncio.sleep(REPORT_S)
            self._talk.send(Seen(crowd.report(), self._measuring))

    async def _end(self, crowd: Crowd, reason: str) -> None:
        """Leave no match behind."""
        self._talk.send(Failed(reason))
        with contextlib.suppress(RefusedError, OSError):
            await finish(crowd)
        await crowd.close()


def _advice(error: BaseException, crowd: Crowd | None) -> str:
    """Return what went wrong and with whom, and what to do where the whole run needs it."""
    said = str(error) or type(error).__name__
    if not isinstance(error, RefusedError) or crowd is None:
        return said
    if error.reason == "NOT_OPERATOR":
        return f"{said}; set {OPERATOR_KEY} to the server's key where each worker starts"
    if error.reason in ("NO_OWNER", "OUTCOME_UNKNOWN"):
        return f"{said}; does an engine worker run there, and reach Redis and NATS?"
    return f"the match service at {crowd.plan.server}: {said}" if error.reason in BROKEN else said


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
