"""What is sent to a worker again and again, and when a hook is to hold it up."""

from collections.abc import Sequence

from services.commands import Command
from services.store.commits import Commit
from services.store.intake import Along
from tests.services.front import Intake, Seat, encoded

NONSENSE = b'{"play":{"card":"purple-7"}}'


def writing(_worker: str, commits: Sequence[Commit], _along: Along) -> bool:
    return any(commit.lines for commit in commits)


def telling(messages: Sequence[tuple[str, bytes]]) -> bool:
    return bool(messages)


async def two_moves_of_one_seat(front: Intake) -> tuple[list[Seat], list[Command], int]:
    """A match in which a seat can move twice running, both moves, and the version of the first."""
    seats = await front.match(rules="clever_gedreht/1")
    while True:
        folded = await front.folded(seats[0].match)
        (number,) = folded.to_act
        for first in folded.legal(number):
            ahead = await front.folded(seats[0].match)
            moves: list[Command] = [seats[number].submit(ahead.prompts[number], encoded(ahead, first))]
            ahead.move(number, seats[number].tenure, moves[0].prompt, moves[0].move, ahead.at)
            if ahead.to_act == (number,):
                second = ahead.legal(number)[0]
                moves.append(seats[number].submit(ahead.prompts[number], encoded(ahead, second)))
                await front.settled()
                return seats, moves, folded.version + 1
        await front.play(seats)
