"""`croupier arena`."""

import sys
from contextlib import closing
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from engine import bots, registry
from engine.bots import LEVELS
from engine.refusals import Refusal
from services.arena import Score, arena
from services.cli_exit import FAILED, INTERRUPTED, err, fail
from services.processes import until_interrupted

out = Console(highlight=False)


def arena_command(
    games: Annotated[list[str] | None, typer.Argument(help="Games; all that have these levels by default.")] = None,
    challenger: Annotated[str, typer.Option(help=f"Level on one seat: {', '.join(LEVELS)}.")] = "clever",
    rival: Annotated[str, typer.Option(help="Level on all other seats.")] = "reckless",
    seats: Annotated[list[int] | None, typer.Option(help="Numbers of seats; 2 and 4 by default.")] = None,
    matches: Annotated[int, typer.Option(min=1, help="Matches for each game and number of seats.")] = 1000,
    option: Annotated[list[str] | None, typer.Option(help="Option of the game, as name=value.")] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0: one a core.")] = 0,
    first: Annotated[int, typer.Option(min=0, help="Number of the first match: other deals.")] = 0,
) -> None:
    """Let computer players play each other and print win rates with 95 % intervals.

    Seats rotate and deals are seeded, so the same command prints the same rates everywhere. Exits with 1 if the
    challenger does not beat the rival somewhere, that is, if the interval does not lie above an even share.
    """
    options = dict(_option(text) for text in option or ())
    played = dict.fromkeys(game.name for game in registry.games())
    names = games or [name for name in played if {challenger, rival} <= bots.titles(name).keys()]
    lacking = [name for name in names if not {challenger, rival} <= bots.titles(name).keys()]
    if lacking or not names:
        who = f"{lacking[0]} has no" if lacking else "no game has"
        fail(f"{who} computer players of the levels {challenger} and {rival}")
    beaten = True
    head = f"| game | seats | matches | {challenger} wins | 95 % | even share | ms {challenger} | ms {rival} |"
    out.print(head, soft_wrap=True)
    out.print("| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: |")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    for name in names:
        for number in seats or (2, 4):
            score = Score(number)
            with Progress(*columns, console=err, transient=True, disable=not sys.stderr.isatty()) as progress:
                task = progress.add_task(f"{name}, {number} seats", total=matches)
                try:
                    with closing(
                        arena(
                            name,
                            challenger,
                            rival,
                            seats=number,
                            matches=matches,
                            options=options,
                            workers=workers,
                            first=first,
                        )
                    ) as scores:
                        for now in until_interrupted(scores):
                            score = now
                            progress.update(task, completed=now.matches)
                except KeyboardInterrupt:
                    fail("stopped", INTERRUPTED)
                except Refusal as refusal:
                    fail(refusal.detail)
            beaten = beaten and score.beats
            low, high = score.interval
            times = f"{score.milliseconds(challenger):.2f} | {score.milliseconds(rival):.2f}"
            figures = f"{score.rate:.1%} | {low:.1%}-{high:.1%} | {1 / number:.1%}"
            out.print(f"| {name} | {number} | {score.matches} | {figures} | {times} |", soft_wrap=True)
    if not beaten:
        raise typer.Exit(FAILED)


def _option(text: str) -> tuple[str, object]:
    name, _, value = text.partition("=")
    try:
        return name, msgspec.json.decode(value)
    except msgspec.DecodeError:
        return name, value
