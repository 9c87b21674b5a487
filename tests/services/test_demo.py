"""The demo's players."""

import asyncio
import random
from typing import Any

from services.demo import Player, Tally


class Asked:
    """A seat that owes a move, and notes which prompts are answered."""

    over, owes = False, True
    legal = ({"draw": {}},)

    def __init__(self) -> None:
        self.view = {"prompt": 3}
        self.answered: list[int] = []

    async def move(self, _move: dict[str, Any], prompt: int | None = None) -> int:
        self.answered.append(self.view["prompt"] if prompt is None else prompt)
        return len(self.answered)


def test_a_move_answers_the_prompt_that_it_was_chosen_for_though_the_next_view_comes_before_it_is_sent():
    async def run():
        seat, player = Asked(), Player(Tally(1), random.Random(1))
        player.see(seat)
        seat.view = {"prompt": 5}
        player.see(seat)
        player.over.set_result(None)
        await player.end()
        assert seat.answered == [3, 5]

    asyncio.run(run())
