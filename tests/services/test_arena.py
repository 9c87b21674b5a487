"""`croupier arena`: the same matches give the same rates, whoever plays them, and a script can tell who won."""

import pytest
from typer.testing import CliRunner

from services.arena import Score, arena
from services.cli import app


def last(workers: int, first: int = 0) -> Score:
    scores = arena(
        "clever_gedreht", "clever", "reckless", seats=2, matches=12, options={}, workers=workers, first=first
    )
    *_, score = scores
    return score


def test_the_same_arguments_give_the_same_rate_on_any_number_of_processes():
    one, two = last(1), last(2)
    assert (one.matches, one.wins) == (two.matches, two.wins)
    assert one.decisions == two.decisions
    assert last(1, first=1000).decisions != one.decisions


@pytest.mark.parametrize(
    ("wins", "low", "high"), [(0, 0.0, 0.0370), (50, 0.4038, 0.5962), (100, 0.9630, 1.0), (75, 0.6570, 0.8245)]
)
def test_the_interval_is_wilsons(wins, low, high):
    """The figures are those of the formula's usual tables for n = 100."""
    score = Score(2, matches=100, wins=wins)
    assert score.interval == (pytest.approx(low, abs=5e-4), pytest.approx(high, abs=5e-4))
    assert score.beats == (low > 1 / 2)


def test_the_exit_code_says_whether_the_challenger_won():
    play = ["arena", "clever_gedreht", "--matches", "40", "--seats", "2", "--workers", "1"]
    runner = CliRunner()
    better = runner.invoke(app, [*play, "--challenger", "clever", "--rival", "reckless"])
    worse = runner.invoke(app, [*play, "--challenger", "reckless", "--rival", "clever"])
    assert (better.exit_code, worse.exit_code) == (0, 1)
    assert "| clever_gedreht | 2 | 40 |" in better.stdout


@pytest.mark.parametrize(
    "args", [("no_game",), ("clever_gedreht", "--challenger", "nobody"), ("clever_gedreht", "--option", "rounds=-1")]
)
def test_an_arena_that_cannot_be_is_refused_in_a_line(args):
    result = CliRunner().invoke(app, ["arena", *args, "--matches", "2", "--seats", "2", "--workers", "1"])
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
