"""The coordinator of a run: lets workers in, hands out the plan, says when, and adds up what they report."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from services.load.checks import Checked
from services.load.cpu import Processes
from services.load.figures import Interval, quantile
from services.load.plan import Plan, Share
from services.load.talk import (
    BEAT_S,
    MAX_LINE,
    SILENT_S,
    Alive,
    Checking,
    Done,
    Failed,
    Hello,
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

POINTS = 300
"""Points of a curve over time, at most."""
OPENING_S = 60.0
OPENING_MATCH_S = 0.25
ENDING_S = 90.0
CHECKING_MATCH_S = 1.0
"""How long workers may take for matches: the worst that is waited for."""
TICK_S = 0.1

PhaseName = Literal["waiting for workers", "opening", "warming up", "measuring", "ending", "checking journals", "done"]


class Point(Struct, frozen=True):
    """A part of the measured time: when it began, in seconds; figures of it alone, latency in milliseconds."""

    at: float
    moves_per_s: float
    p50: float
    p99: float
    receipt_p50: float
    refused: int
    open: int


class Hand(Struct):
    """A worker, as the coordinator knows it."""

    talk: Any
    hello: Hello
    opened: bool = False
    stopped: bool = False
    done: bool = False
    failed: str = ""
    open: int = 0
    checked: int = 0
    to_check: int = 0
    silent: float = 0.0
    """Seconds since it was heard."""
    cpu: float = 0.0
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """Host and process."""
        return f"{self.hello.host}/{self.hello.pid}"


class Coordinator:
    """One run. `total`, `points` and `checked` hold what came out."""

    def __init__(self, plan: Plan, secret: str, processes: Processes) -> None:
        """Listen nowhere yet."""
        self.plan = plan
        self.phase: PhaseName = "waiting for workers"
        self.since = time.monotonic()
        """When the phase began."""
        self.workers = 0
        """How many there are to be."""
        self.gone = False
        """Whether the server is known to be gone for good, so that nothing of it is to be waited for."""
        self.hands: list[Hand] = []
        self.total = Interval()
        self.last = Interval()
        """The last part of the curve that is complete."""
        self.points: list[Point] = []
        self.checked = Checked()
        self.unanswered = 0
        self.lost_views = 0
        self.behind = 0
        self.problems: list[str] = []
        self.strangers = 0
        """Connections that were turned away, since they did not know the secret."""
        self.cpu: dict[str, float] = {}
        """CPU seconds of the server's processes in the measured time, by name."""
        self.stop = asyncio.Event()
        """Set to end the measurement before its time."""
        self.interrupted = False
        """Whether that was so."""
        self._secret = secret
        self._processes = processes
        self._server: asyncio.Server | None = None
        self._changed = asyncio.Event()
        self._closed = False
        self._began = 0.0
        self._width = max(1.0, plan.seconds / POINTS)
        self._part = Interval()
        self._listening: set[asyncio.Task[None]] = set()
        self._said = 0.0
        """Seconds since the workers were told that this is there."""
        self._told: dict[str, list[Hand]] = {}
        """What workers had to say at their end, and who said it."""

    # --- workers -------------------------------------------------------------------------------------------------

    async def listen(self, host: str, port: int) -> str:
        """Listen for workers; return where. Raises OSError."""
        self._server = await asyncio.start_server(self._knocked, host, port, limit=MAX_LINE)
        found = self._server.sockets[0].getsockname()
        return f"{found[0]}:{found[1]}"

    async def close(self) -> None:
        """Listen no more, and let all workers go."""
        self._closed = True
        if self._server is not None:
            self._server.close()
        for hand in self.hands:
            await hand.talk.close()
        for task in self._listening:
            task.cancel()
        await asyncio.gather(*self._listening, return_exceptions=True)

    async def _knocked(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._listening.add(task)
        task.add_done_callback(self._listening.discard)
        talk = Talk(reader, writer)
        try:
            hello = await talk.admit(self._secret)
        except (TalkError, TimeoutError):
            self.strangers += 1
            await talk.close()
            return
        if self.phase != "waiting for workers":
            talk.send(Failed("the run has begun without this worker"))
            await talk.close()
            return
        hand = Hand(talk, hello)
        self.hands.append(hand)
        self._changed.set()
        await self._follow(hand)

    async def _follow(self, hand: Hand) -> None:
        try:
            while not hand.done:
                self._take(hand, await hand.talk.receive())
                self._changed.set()
        except TalkError as error:
            if not self._closed:
                self._lose(hand, str(error))
        self._changed.set()

    def _lose(self, hand: Hand, reason: str) -> None:
        if not hand.failed:
            hand.failed = reason
            unseen = "; the journals of its matches were not looked at" if hand.opened else ""
            self.problems.append(f"worker {hand.name}: {reason}{unseen}")

    def _take(self, hand: Hand, message: Any) -> None:
        hand.silent = 0.0
        match message:
            case Opened():
                hand.opened = True
            case Seen(interval, measured):
                self._add(hand, interval, measured=measured)
            case Stopped(interval, behind):
                self._add(hand, interval, measured=bool(self._began), last=True)
                hand.stopped = True
                self.behind += behind
            case Checking(done, of):
                hand.checked, hand.to_check = done, of
            case Done(checked, ended):
                self.checked.add(checked)
                self.unanswered += ended.unanswered
                self.lost_views += ended.lost_views
                for problem in ended.problems:
                    self._told.setdefault(problem, []).append(hand)
                hand.done = True
            case Failed(reason):
                self._lose(hand, reason)

    # --- figures -------------------------------------------------------------------------------------------------

    def _add(self, hand: Hand, interval: Interval, *, measured: bool, last: bool = False) -> None:
        hand.open = interval.open
        if not measured:
            self.last = interval
            return
        if not last and time.monotonic() - self._began > self._width * (len(self.points) + 1):
            self._close_part()
        hand.cpu += interval.counts.cpu
        hand.seconds += interval.seconds
        self._part.add(interval)
        self._part.seconds += interval.seconds
        self.total.add(interval)

    def _close_part(self) -> None:
        part = self.last = self._part
        self._part = Interval()
        if not part.seconds:
            return
        workers = sum(not hand.failed for hand in self.hands) or 1
        self.points.append(
            Point(
                round(len(self.points) * self._width, 3),
                round(part.counts.moves * workers / part.seconds, 1),
                quantile(part.view, 50),
                quantile(part.view, 99),
                quantile(part.receipt, 50),
                sum(part.counts.refused.values()),
                self.open,
            )
        )

    @property
    def measured(self) -> float:
        """For how many seconds the workers have measured, on average."""
        return sum(hand.seconds for hand in self.hands) / len(self.hands) if self.hands else 0.0

    @property
    def open(self) -> int:
        """Matches open now."""
        return sum(hand.open for hand in self.hands)

    # --- the run -------------------------------------------------------------------------------------------------

    async def run(self, workers: int, within_s: float, tick: Callable[[], None]) -> None:
        """Run all phases with so many workers, which must have come in time; `tick` is called ten times a second.

        Ends early, with what there is, when `stop` is set or a worker is lost.
        """
        self.workers = workers
        if not await self._until(lambda: len(self.hands) >= workers, within_s, tick):
            self.interrupted = self.stop.is_set()
            why = f"{len(self.hands)} of {workers} workers came within {within_s:g} s"
            if not self.interrupted:
                self.problems.append(why)
            self._closed = True  # whoever has come goes now
            self._tell(Failed("the run was stopped before it began" if self.interrupted else why))
            return
        self._enter("opening")
        for index, hand in enumerate(self.hands):
            hand.talk.send(Work(Share(self.plan, index, len(self.hands))))
        longest = OPENING_S + OPENING_MATCH_S * self.plan.matches
        if await self._until(lambda: all(hand.opened for hand in self.hands), longest, tick):
            await self._measure(tick)
        elif not self.stop.is_set() and not self._lost:
            self.problems.append(f"not all matches could be opened within {longest:.0f} s")
        await self._finish(tick)
        self._enter("done")

    def _enter(self, phase: PhaseName) -> None:
        self.phase, self.since = phase, time.monotonic()

    @property
    def _lost(self) -> bool:
        return any(hand.failed for hand in self.hands)

    async def _measure(self, tick: Callable[[], None]) -> None:
        self._enter("warming up")
        self._tell(Play())
        await self._until(lambda: False, self.plan.warm_up, tick)
        if self.stop.is_set() or self._lost:
            return
        self._enter("measuring")
        self._part = Interval()
        self._tell(Measure())
        before = self._processes.read()
        self._began = time.monotonic()
        await self._until(lambda: False, self.plan.seconds, tick)
        after = self._processes.read()
        if before.keys() == after.keys():  # without a group that has ended their sum would be too small
            self.cpu = {name: after[name] - before[name] for name in before}

    async def _finish(self, tick: Callable[[], None]) -> None:
        self.interrupted = self.stop.is_set()
        self._enter("ending")
        self._tell(Stop(self.gone))

        def still(what: str) -> list[Hand]:
            return [hand for hand in self.hands if not getattr(hand, what) and not hand.failed]

        await self._until(lambda: not still("stopped"), ENDING_S, tick, stoppable=False)
        self._close_part()
        await self._until(lambda: all(h.to_check for h in still("done")), ENDING_S, tick, stoppable=False)
        self._enter("checking journals")
        longest = ENDING_S + CHECKING_MATCH_S * sum(hand.to_check for hand in self.hands)
        await self._until(lambda: not still("done"), longest, tick, stoppable=False)
        for hand in still("done"):
            self._lose(hand, "did not finish in time")
        for problem, hands in self._told.items():
            some = len(hands) < len(self.hands)
            self.problems.append(f"{', '.join(hand.name for hand in hands)}: {problem}" if some else problem)

    def _beat(self, passed: float) -> None:
        """Say now and then that this is there, and lose workers who say nothing for too long."""
        self._said += passed
        if self._said >= BEAT_S:
            self._said = 0.0
            self._tell(Alive())
        for hand in self.hands:
            hand.silent += passed
            if hand.silent > SILENT_S and not hand.done:
                self._lose(hand, f"silent for {SILENT_S:g} s")

    def _tell(self, message: Any) -> None:
        for hand in self.hands:
            hand.talk.send(message)

    async def _until(
        self, reached: Callable[[], bool], within_s: float, tick: Callable[[], None], *, stoppable: bool = True
    ) -> bool:
        """Wait; return whether it was reached. Also returns when the run is to stop, or a worker is lost."""
        until = time.monotonic() + within_s
        before = time.monotonic()
        while not reached():
            left = until - time.monotonic()
            if left <= 0 or (stoppable and (self.stop.is_set() or self._lost)):
                return reached()
            tick()
            now = time.monotonic()
            self._beat(min(now - before, TICK_S))  # not more: it may be this process that slept
            before = now
            self._changed.clear()
            try:
                async with asyncio.timeout(min(TICK_S, left)):
                    await self._changed.wait()
            except TimeoutError:
                pass
        return True
