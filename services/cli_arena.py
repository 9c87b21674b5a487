"""`croupier arena`."""

import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from engine import bots, registry
from engine.bots import LEVELS
from engine.refusals import Refusal, UnknownGame
from services.arena import Score, arena
from services.cli_exit import FAILED, INTERRUPTED, err, fail
from services.processes import until_interrupted
from services.words import printable

out = Console(highlight=False)
SEATS = (2, 4)
"""Numbers of seats that are played if none are named."""


def arena_command(
    games: Annotated[
        list[str] | None,
        typer.Argument(metavar="GAME", help="Engine names; all games that have these levels by default."),
    ] = None,
    challenger: Annotated[str, typer.Option(help=f"Level on one seat: {', '.join(LEVELS)}.")] = "clever",
    rival: Annotated[str, typer.Option(help="Level on all other seats.")] = "reckless",
    seats: Annotated[
        list[int] | None, typer.Option(help="Number of seats; may be repeated; 2 and 4 by default.")
    ] = None,
    matches: Annotated[int, typer.Option(min=1, help="Matches for each game and number of seats.")] = 1000,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="An option of the game; may be repeated.")
    ] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0: one a core.")] = 0,
    first: Annotated[int, typer.Option(min=0, help="Number of the first match: other deals.")] = 0,
) -> None:
    """Let computer players play each other and print win rates with 95 % intervals.

    Seats rotate and deals are seeded, so the same command prints the same rates everywhere. Exits with 1 if the
    challenger does not beat the rival somewhere, that is, if the interval does not lie above an even share; with 2 if
    it was asked wrongly, with 130 after Ctrl-C.
    """
    plans = _planned(games or [], {challenger, rival}, seats or [], option or [])
    beaten = True
    head = f"| game | seats | matches | {challenger} wins | 95 % | even share | ms {challenger} | ms {rival} |"
    out.print(head, soft_wrap=True)
    out.print("| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: |")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    for name, numbers, options in plans:
        for number in numbers:
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


def _planned(
    games: Sequence[str], levels: set[str], seats: Sequence[int], given: Sequence[str]
) -> list[tuple[str, Sequence[int], dict[str, Any]]]:
    """Return games, each with its numbers of seats and its options; exit where one cannot be played so."""
    from services.game_options import OptionError, options_of  # noqa: PLC0415 - protobuf loads only where it is needed

    known = dict.fromkeys(game.name for game in registry.games())
    names = games or [name for name in known if levels <= bots.titles(name).keys()]
    plans = []
    for name in names:
        try:
            game = registry.newest(name)
            options = options_of(name, given)
        except UnknownGame as refusal:
            fail(refusal.detail)
        except OptionError as error:
            fail(str(error))
        there = bots.titles(name)
        for level in levels - there.keys():
            fail(
                f"{name} has no computer players of the level {printable(level)}; it has: {', '.join(there) or 'none'}"
            )
        for number in seats:
            if number not in game.seats:
                fail(f"--seats: {name} has {game.seats[0]} to {game.seats[-1]} seats, not {number}")
        usual = [number for number in SEATS if number in game.seats] or game.seats[:1]
        plans.append((name, seats or usual, options))
    if not plans:
        fail(f"no game has computer players of the levels {' and '.join(map(printable, sorted(levels)))}")
    return plans
