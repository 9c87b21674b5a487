"""The end of a worker's play: no more moves, every match ended, and nobody waited for who is gone for good.

While it is played a server that goes away is waited for, since it may come back. Once nobody plays any more, a server
that gives no sign of life for `grace_s` is gone for good, and what has not become less for so long is given up.
"""

import asyncio
import time
from collections.abc import Callable, Iterable

from msgspec import Struct

from services.load.crowd import Crowd
from services.load.match import OpenMatch
from services.play_stream import RefusedError
from services.tasks import end

TOGETHER = 8
"""Matches that are ended at the same time."""
LOOK_S = 0.02
MOST_S = 1.0
"""What counts at most between two looks: if it was more, this process slept."""


class Ended(Struct, frozen=True):
    """What the end of play showed."""

    unanswered: int = 0
    """Moves that never had a receipt, or that some seat never saw."""
    lost_views: int = 0
    """Views that a seat never held although they were there, nor a newer one in their place."""
    problems: list[str] = []
    """Who is gone, and what could not be ended: a sentence each."""


async def finish(crowd: Crowd) -> Ended:
    """Stop moving and end all matches; `crowd.gone` says afterwards whether the match service is gone."""
    crowd.paused = crowd.ending = True
    for match in crowd.matches.values():
        match.stop_waiting()
    problems = await _look(crowd)
    unanswered = sum(bool(match.sent) for match in crowd.matches.values())
    if not crowd.gone:
        refused = await _end_all(crowd)
        if refused:
            problems.append(f"{len(refused):,} matches could not be ended: {next(iter(refused.values()))}")

        def ending() -> list[OpenMatch]:
            return [match for match in crowd.matches.values() if match.id not in refused]

        await _settled(crowd, lambda: len(ending()), ending)
    lost = 0
    for match in list(crowd.matches.values()):
        lost += match.lost_views()
        crowd.ended(match, None)
    return Ended(unanswered, lost, problems)


async def _look(crowd: Crowd) -> list[str]:
    """Wait for what is in flight, and see meanwhile who is there; return who is not, and wait less for the others."""

    def in_flight() -> int:
        return crowd.opening + sum(bool(match.sent or match.leaving) for match in crowd.matches.values())

    def unsettled() -> list[OpenMatch]:
        return [match for match in crowd.matches.values() if match.sent]

    if not crowd.matches and not crowd.opening:
        return []  # nothing is wanted of anybody, unless it is journals
    grace_s = crowd.grace_s
    answers, silent, _ = await asyncio.gather(
        crowd.answers(grace_s), crowd.views.silent(grace_s), _settled(crowd, in_flight, unsettled)
    )
    problems = []
    if not answers:
        crowd.gone = f"the match service at {crowd.plan.server} is gone"
        problems.append(f"{crowd.gone}: it gave no answer for {grace_s:g} s after the last move")
    if silent:
        problems.append(f"{silent} for {grace_s:g} s after the last move")
    crowd.patience_s = 0.0 if problems else min(crowd.patience_s, grace_s)
    crowd.call_s = min(crowd.call_s, grace_s)
    return problems


async def _end_all(crowd: Crowd) -> dict[str, RefusedError | str]:
    """End all matches; return those of which that was not confirmed, and why."""
    waiting = list(crowd.matches.values())
    refused: dict[str, RefusedError | str] = {
        match.id: "nobody decided in time: are engine workers and Redis there?" for match in waiting
    }

    async def some() -> None:
        while waiting:
            match = waiting.pop()
            try:
                await crowd.abort(match)
            except RefusedError as refusal:
                if refusal.reason != "MATCH_OVER":  # of which the news has not come here
                    refused[match.id] = refusal
                    continue
            del refused[match.id]

    tasks = [asyncio.create_task(some()) for _ in range(TOGETHER)]
    try:
        await _settled(crowd, lambda: 0 if all(task.done() for task in tasks) else len(refused) + len(waiting))
    finally:
        await end(tasks)
    return refused


async def _settled(
    crowd: Crowd, left: Callable[[], int], unsure: Callable[[], Iterable[OpenMatch]] = lambda: ()
) -> None:
    """Wait until nothing is left, or for as long as the crowd waits nothing has become less.

    After half of that time the seats of the matches that are `unsure` ask for their views, which may have been missed.
    """
    least, silence, asked = left(), 0.0, False
    before = time.monotonic()
    while least and silence < crowd.grace_s:
        if silence > crowd.grace_s / 2 and not asked:
            asked = True
            for match in unsure():
                for seat in match.seats:
                    crowd.heal(seat)
        await asyncio.sleep(LOOK_S)
        now = time.monotonic()
        silence += min(now - before, MOST_S)
        before = now
        if (fewer := left()) < least:
            least, silence, asked = fewer, 0.0, False
