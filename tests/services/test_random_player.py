"""Players who move at random, on a seat that notes what it is told."""

import asyncio
from typing import Any

import pytest

from services.play_stream import RefusedError
from services.random_player import RandomPlayer


class Asked:
    """A seat that owes a move; `refusals` says how its first answers are refused."""

    owes = True
    legal = ({"draw": {}},)

    def __init__(self, *refusals: str) -> None:
        self.over = False
        self.view = {"prompt": 3}
        self.answered: list[int] = []
        self.refusals = list(refusals)
        self.asked_anew = 0

    async def move(self, _move: dict[str, Any], prompt: int) -> int:
        if self.refusals:
            raise RefusedError(self.refusals.pop(0), "", {}, again=False)
        self.answered.append(prompt)
        return len(self.answered)

    async def heal(self) -> None:
        self.asked_anew += 1


async def settled(seat: Asked, player: RandomPlayer) -> None:
    for _ in range(10):
        await asyncio.sleep(0)
    seat.over = True
    player.see(seat)
    await player.end()


def test_a_prompt_is_answered_once_and_one_that_has_passed_before_its_answer_is_sent_is_not():
    async def run():
        seat, player = Asked(), RandomPlayer()
        player.see(seat)
        seat.view = {"prompt": 5}
        player.see(seat)
        player.see(seat)
        await settled(seat, player)
        assert seat.answered == [5]

    asyncio.run(run())


@pytest.mark.parametrize("stubborn", [False, True])
def test_what_came_too_late_is_chosen_anew_on_the_present_view(stubborn: bool):
    async def run():
        seat, player = Asked("STALE_PROMPT", "ILLEGAL_MOVE"), RandomPlayer(stubborn=stubborn)
        player.see(seat)
        await settled(seat, player)
        assert (seat.answered, seat.asked_anew) == ([3], 2)

    asyncio.run(run())


def test_any_other_refusal_ends_a_player_who_is_not_stubborn():
    async def run():
        seat, player = Asked("MALFORMED_MOVE"), RandomPlayer()
        player.see(seat)
        with pytest.raises(RefusedError, match="MALFORMED_MOVE"):
            await settled(seat, player)
        assert seat.answered == []
        seat, player = Asked("MALFORMED_MOVE"), RandomPlayer(stubborn=True)
        player.see(seat)
        await settled(seat, player)
        assert seat.answered == [3]

    asyncio.run(run())
