"""Players of all five games on one stack, over every road that moves and views have; and what became of their moves."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Sequence
from typing import Any

import grpc
import msgspec
from msgspec import Struct, field

from croupier.v1 import match_service_pb2 as pb
from engine.audit import audit
from services import wire
from services.load.checks import Checked, check
from services.load.crowd import Crowd
from services.load.ending import finish
from services.load.figures import Interval
from services.load.match import OpenMatch
from services.load.moves import submission
from services.load.nats_listener import NatsError
from services.load.plan import Plan, Share
from services.play_stream import BROKEN, TRY_AGAIN, RefusedError, refused

OPERATOR = "CROUPIER_OPERATOR_KEY"
GAMES: tuple[dict[str, Any], ...] = (
    {"game": "timos_twist", "seats": 3, "options": {"target": 100}, "connections": "seat"},
    {"game": "bluffing_billionaires", "seats": 4, "transport": "unary", "connections": "process"},
    {"game": "bombenziehen", "seats": 3, "views": "grpc", "connections": "process"},
    {"game": "clever_gedreht", "seats": 2, "streams": "match", "connections": "seat"},
    {"game": "toms_time_bluff", "seats": 4, "connections": "process"},
)
RECOVERY_S = 60.0
"""How long any match may stand still; beyond it the fault has stopped it for good."""
CLOCK_MS = 200
THINKING_MS = 20
LOOK_S = 0.02
AWAY = {NatsError.__name__, TimeoutError.__name__}
"""What a player meets who is not let in, or finds nobody; he tries again."""


class Row(Struct):
    """What a fault did: a line of the table."""

    fault: str
    injected: int = 0
    accepted: int = 0
    lost: int = 0
    duplicated: int = 0
    diverged: int = 0
    failed: int = 0
    """Calls that were refused for good, moves that never had an answer, journals that could not be looked at."""
    stuck: int = 0
    """Matches that did not go on."""
    pause_s: float = 0.0
    """The longest time from a move to the view that shows it to every seat."""
    told: list[str] = field(default_factory=list)
    """What was found, a sentence each."""
    skipped: str = ""

    @property
    def good(self) -> bool:
        harm = self.lost or self.duplicated or self.diverged or self.failed or self.stuck
        return bool(self.skipped) or (self.injected > 0 and self.accepted > 0 and not harm)


class Automatic:
    """A match that goes on by itself: computers play it, and the clock, for a human who never moves."""

    def __init__(self, match: str, token: str) -> None:
        self.match = match
        self.token = token
        self.version = 0
        self.ended = False

    @classmethod
    async def open(cls, crowd: Crowd, game: str) -> "Automatic":
        creating = pb.CreateMatchRequest(
            request_id=secrets.token_bytes(16),
            options=wire.options_to_proto(game, {}),
            seats=[pb.SeatSetup(kind="open")] + [pb.SeatSetup(kind="reckless", thinking_ms=THINKING_MS)] * 2,
            clock_ms=CLOCK_MS,
        )
        created = await crowd.call(crowd.stub.CreateMatch, creating, metadata=crowd.operator)
        joining = pb.JoinMatchRequest(match=created.match, request_id=secrets.token_bytes(16), name="Absent", seat=0)
        joined = await crowd.call(crowd.stub.JoinMatch, joining)
        return cls(created.match, joined.token)

    async def look(self, crowd: Crowd) -> Any:
        view = (await crowd.call(crowd.stub.GetView, pb.GetViewRequest(token=self.token))).view
        self.version, self.ended = view.version, view.status in ("finished", "aborted")
        return view


class Players:
    """All who play on a stack. They start with `open`; `end` ends their matches and looks at every journal."""

    def __init__(
        self,
        servers: Sequence[str],
        nats: str,
        operator_key: str,
        observer: tuple[str, str],
        *,
        matches: int = 2,
        think_ms: float = 25.0,
        games: Sequence[dict[str, Any]] = GAMES,
        automatic: int = 2,
        seed: int = 1,
        **plan: Any,
    ) -> None:
        """Prepare. `observer` may hear every view: those who share a connection; the others show their tokens."""
        self.crowds: list[Crowd] = []
        self.automatic: list[Automatic] = []
        self._automatic = [games[(seed + number) % len(games)]["game"] for number in range(automatic)]
        self._total = Interval()
        for number, game in enumerate(games):
            turned = [*servers[number % len(servers) :], *servers[: number % len(servers)]]
            fields = {"think_ms": think_ms, "seconds": 1.0, **game, **plan}
            server = f"ipv4:{','.join(turned)}"
            whole = Plan(server=server, nats=nats, matches=matches, seed=seed, **fields)
            whole.check()
            crowd = Crowd(Share(whole, 0, 1), operator_key, observer)
            crowd.grace_s = RECOVERY_S
            self.crowds.append(crowd)

    @property
    def matches(self) -> list[OpenMatch]:
        return [match for crowd in self.crowds for match in crowd.matches.values()]

    async def open(self) -> None:
        """Return once everybody plays."""
        await asyncio.gather(*(crowd.open() for crowd in self.crowds))
        for game in self._automatic:
            self.automatic.append(await Automatic.open(self.crowds[0], game))
        for crowd in self.crowds:
            crowd.go()

    @property
    def accepted(self) -> int:
        """Moves that have their receipt, up to now."""
        self._collect()
        return self._total.counts.receipts

    def _collect(self) -> None:
        for crowd in self.crowds:
            self._total.add(crowd.report())

    async def make(self, moves: int, within_s: float = RECOVERY_S) -> None:
        """Return after so many more moves. Raises TimeoutError."""
        until = self.accepted + moves
        async with asyncio.timeout(within_s):
            while self.accepted < until:  # noqa: ASYNC110 - what is waited for happens in other processes
                await asyncio.sleep(LOOK_S)

    async def standing(self, within_s: float) -> list[str]:
        """Wait until every match has gone on from where it is now; return those that have not in this time."""
        began = {id(match): (match, match.accepted.buffer_info()[1]) for match in self.matches}
        for one in self.automatic:
            with contextlib.suppress(RefusedError):
                await one.look(self.crowds[0])
        before = [(one, one.version) for one in self.automatic if not one.ended]
        until = time.monotonic() + within_s

        def waits(match: OpenMatch, moves: int) -> bool:
            there = match.crowd.matches.get(match.slot) is match
            return there and (match.accepted.buffer_info()[1] == moves or bool(match.sent)) and match.alone

        while time.monotonic() < until:
            began = {key: (match, moves) for key, (match, moves) in began.items() if waits(match, moves)}
            for one, version in list(before):
                with contextlib.suppress(RefusedError):
                    await one.look(self.crowds[0])
                if one.ended or one.version > version:
                    before.remove((one, version))
            if not began and not before:
                return []
            await asyncio.sleep(LOOK_S)
        return [
            *(f"{match.id} stands still: {_described(match)}" for match, _ in began.values()),
            *(f"{one.match} stands still at {version}: of computers and a clock" for one, version in before),
        ]

    async def end(self, row: Row) -> None:
        """End all matches and write into the row what became of their moves."""
        ended = await asyncio.gather(*(finish(crowd) for crowd in self.crowds))
        self._collect()
        checked = Checked()
        for crowd, end in zip(self.crowds, ended, strict=True):
            row.failed += end.unanswered + end.lost_views + len(end.problems)
            row.told += [f"{crowd.plan.game}: {problem}" for problem in end.problems]
            if end.unanswered:
                row.told.append(f"{crowd.plan.game}: {end.unanswered} moves never had an answer")
            if end.lost_views:
                row.told.append(f"{crowd.plan.game}: {end.lost_views} views never came")
            if crowd.failure is not None:
                row.failed += 1
                row.told.append(f"{crowd.plan.game}: a player broke down: {crowd.failure!r}")
            checked.add(await check(crowd, lambda _done: None))
        await self._check_automatic(row)
        counts = self._total.counts
        row.accepted += counts.receipts
        row.lost += checked.lost
        row.duplicated += checked.duplicated
        row.diverged += checked.diverged
        row.failed += checked.unchecked
        row.told += checked.examples
        final = {reason: n for reason, n in counts.refused.items() if reason not in TRY_AGAIN | BROKEN | AWAY}
        if final:
            row.failed += sum(final.values())
            row.told.append(f"refused for good: {final}")
        row.pause_s = max([row.pause_s, *(us / 1e6 for us in self._total.view)])

    async def _check_automatic(self, row: Row) -> None:
        crowd = self.crowds[0]
        for one in self.automatic:
            try:
                await one.look(crowd)
                if not one.ended:
                    with contextlib.suppress(RefusedError):  # it may end by itself just now
                        abort = pb.AbortMatchRequest(match=one.match, reason="the test is over")
                        await crowd.call(crowd.stub.AbortMatch, abort, metadata=crowd.operator)
                view = await one.look(crowd)
                verdict = audit(await crowd.journal(one.match), bytes.fromhex(view.hash))
            except RefusedError as refusal:
                row.failed += 1
                row.told.append(f"{one.match}: {refusal}")
                continue
            if verdict.outcome != "verified":
                row.diverged += 1
                row.told.append(f"{one.match}: {verdict.difference or verdict.outcome}")

    async def close(self) -> None:
        await asyncio.gather(*(crowd.close() for crowd in self.crowds))


def _described(match: OpenMatch) -> str:
    seats = [(seat.number, seat.version, seat.asking) for seat in match.seats]
    return f"{match.crowd.plan.game}, sent {match.sent}, awaited {match.awaited}, seats {seats}"


class FickleMoves:
    """Moves of clients that vanish: each call is cut off somewhere, then made again at another match service."""

    def __init__(self, crowd: Crowd, stubs: Sequence[Any]) -> None:
        self._crowd = crowd
        self._stubs = stubs
        self.vanished = 0

    def attach(self, seat: Any) -> None:
        pass

    def detach(self, seat: Any) -> None:
        pass

    def drop(self) -> None:
        pass

    async def close(self) -> None:
        pass

    def send(self, sent: Any) -> None:
        self._crowd.spawn(self._submit(sent))

    async def _submit(self, sent: Any) -> None:
        request = submission(sent.seat, sent.prompt, sent.move)
        chance = sent.seat.match.chance
        for attempt in range(1000):
            call = self._stubs[attempt % len(self._stubs)].SubmitMove(request, timeout=10, wait_for_ready=True)
            if chance.random() < 0.7 and attempt < 8:
                await asyncio.sleep(chance.random() * 0.02)
                if call.cancel():
                    self.vanished += 1
                    continue
            try:
                response = await call
            except grpc.aio.AioRpcError as error:
                refusal = refused(error)
                self._crowd.meter.refuse(refusal.reason)
                if not refusal.again:
                    sent.seat.match.refuse(sent)
                    return
                await asyncio.sleep(0.2)
            else:
                self._crowd.accepted(sent, response.version)
                return


async def return_with_old_versions(crowd: Crowd) -> tuple[int, list[str]]:
    """Let every seat come back as a client that last saw an old version; return how many did, and what was wrong."""
    wrong: list[str] = []
    seats = [seat for match in crowd.matches.values() for seat in match.seats if seat.version > 1]
    for seat in seats:
        held = seat.version
        since = seat.match.chance.randrange(max(0, held - 40), held)
        question = pb.GetViewRequest(token=seat.token, since=since)
        try:
            answer = await crowd.call(crowd.stub.GetView, question)
        except RefusedError as refusal:
            if refusal.reason not in ("NOT_YOUR_SEAT", "UNKNOWN_MATCH"):  # the seat was left meanwhile
                wrong.append(f"{seat.match.id}: {refusal}")
            continue
        told = [msgspec.json.decode(b"%d" % missed.version) for missed in answer.missed]
        if answer.view.version < held:
            wrong.append(f"{seat.match.id}: shown version {answer.view.version} after {held}")
        if not answer.truncated and told != list(range(since + 1, answer.view.version)):
            wrong.append(f"{seat.match.id}: told of {told} between {since} and {answer.view.version}")
    return len(seats), wrong
