"""The pool in which computer players decide: real processes, answers in the order of the questions."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from engine import registry
from engine.bots import Question, answer, seen
from engine.chance import Stream
from services.engine.thinkers import Decision, Thinkers

PATIENCE_S = 60


@pytest.fixture
def thinkers() -> Iterator[Thinkers]:
    pool = Thinkers(2)
    yield pool
    pool.close()


def question(level: str, seat: int = 0, version: int = 3) -> Question:
    """What the seat on turn is asked in a match of Clever gedreht; ruthless thinks for milliseconds about it."""
    game = registry.newest("clever_gedreht")
    state = game.setup(game.options({}, 4), 4, Stream(b"thinkers", "game", version)).state
    [turn] = game.to_act(state)
    view = seen(game, game.options({}, 4), 4, state, turn)
    assert view is not None
    return Question(game.name, 1, level, view, bytes(32), seat, version)


async def taken(thinkers: Thinkers, count: int) -> list[Decision]:
    decided: list[Decision] = []
    async with asyncio.timeout(PATIENCE_S):
        while len(decided) < count:
            decided += thinkers.take()
            await asyncio.sleep(0.001)
    return decided


def test_answers_of_a_match_come_in_the_order_of_its_questions(thinkers: Thinkers):
    """Though another process has answered the later and easier ones long before."""

    async def ask() -> None:
        thinkers.ask("warm", "warm:0:1", question("ruthless"))
        thinkers.ask("warm", "warm:1:1", question("ruthless"))
        await taken(thinkers, 2)
        for number in range(10):
            match = f"match{number}"
            asked = [question("ruthless", 0, number), question("reckless", 1, number), question("reckless", 2, number)]
            for one in asked:
                thinkers.ask(match, f"{match}:{one.seat}:{number}", one)
            decided = await taken(thinkers, 3)
            assert [one.question.seat for one in decided] == [0, 1, 2]
            assert [one.move for one in decided] == [answer(one) for one in asked]
        assert not thinkers.busy

    asyncio.run(ask())


def test_a_question_that_is_being_answered_is_not_asked_again(thinkers: Thinkers):
    async def ask() -> None:
        for _ in range(3):
            thinkers.ask("m", "m:0:3", question("ruthless"))
        assert len(await taken(thinkers, 1)) == 1
        await asyncio.sleep(0.1)
        assert thinkers.take() == []

    asyncio.run(ask())


def test_what_a_process_took_to_its_grave_is_not_awaited_and_can_be_asked_again(thinkers: Thinkers):
    """The answers behind it are not given out of order; a new pool answers them all."""

    async def ask() -> None:
        thinkers.ask("warm", "warm:0:1", question("reckless"))
        await taken(thinkers, 1)
        assert thinkers._pool is not None
        processes = list(thinkers._pool._processes)
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        asked = [question("ruthless", seat) for seat in range(3)]
        for one in asked:
            thinkers.ask("m", f"m:{one.seat}:3", one)
        for process in processes:
            os.kill(process, signal.SIGKILL)
        async with asyncio.timeout(PATIENCE_S):
            while thinkers.busy:
                assert thinkers.take() == []
                await asyncio.sleep(0.001)
        for one in asked:
            thinkers.ask("m", f"m:{one.seat}:3", one)
        assert [one.question.seat for one in await taken(thinkers, 3)] == [0, 1, 2]

    asyncio.run(ask())
