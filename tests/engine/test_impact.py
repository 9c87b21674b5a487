"""A second version of a game's rules beside the first: what it would have made of matches that were played."""

import msgspec
import pytest
from typer.testing import CliRunner

from engine import journal, registry
from engine.audit import audit
from engine.games.timos_twist import TimosTwist
from engine.impact import impact
from engine.match import Match
from services.archive import Archive
from services.cli import app
from tests.services.ended import ended

TIMO = [ended(5 * number + registry_index, moves=8) for registry_index in range(5) for number in range(4)]


class Shorter(TimosTwist):
    """Timo's Twist, second version: nobody may make the last of his legal moves if he has more than one."""

    rules_version = 2

    def legal(self, state, seat):
        moves = super().legal(state, seat)
        return moves[:-1] if len(moves) > 1 else moves


class Same(TimosTwist):
    """A third version that changes nothing."""

    rules_version = 3


@pytest.fixture
def versions():
    games = Shorter(), Same()
    for game in games:
        registry.register(game)
    yield games
    for game in games:
        registry._registered().pop(game.rules)


def of_timo():
    return [one for one in TIMO if one.game == "timos_twist"]


def test_a_version_that_changes_nothing_parts_nowhere(versions):
    for one in of_timo():
        assert impact(one.lines, versions[1]).field is None


def test_the_first_divergence_is_named(versions):
    for one in of_timo():
        found = impact(one.lines, versions[0])
        match = Match(journal.revealed(one.lines))
        for line in one.lines:
            match.replay(line)
            if any(len(match.legal(seat)) > 1 for seat in match.players):
                break
        assert (found.field, found.version) == ("legal", match.version)


def test_the_old_version_stays_runnable_beside_the_new_one(versions):
    assert registry.newest("timos_twist").rules == "timos_twist/3"
    for one in of_timo():
        assert audit(one.lines, one.head).outcome == "verified"
    newer = ended(GAME, rules="timos_twist/2")
    verdict = audit(newer.lines, newer.head)
    assert (verdict.rules, verdict.outcome) == ("timos_twist/2", "verified")


GAME = next(number for number in range(5) if ended(number).game == "timos_twist")


def test_a_journal_that_is_no_journal_is_said_to_be_none(versions):
    lines = list(of_timo()[0].lines)
    assert impact([lines[0], b"{"], versions[0]).field == "journal"
    assert impact([], versions[0]).field is None


def test_the_command_lists_each_match_of_an_archive_and_sums_up(versions, tmp_path):
    Archive.at(str(tmp_path)).write(TIMO)
    run = CliRunner().invoke
    result = run(app, ["impact", "--from", "timos_twist/1", "--to", "timos_twist/2", str(tmp_path)])
    assert result.exit_code == 1
    assert (
        result.stdout.splitlines()[-1] == f"{len(of_timo())} matches, {len(of_timo())} part: {len(of_timo())} in legal"
    )
    result = run(app, ["impact", "--from", "timos_twist/1", "--to", "timos_twist/3", str(tmp_path)])
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, f"{len(of_timo())} matches, 0 part")
    assert run(app, ["impact", "--from", "timos_twist/1", "--to", "timos_twist/9", str(tmp_path)]).exit_code == 2
    assert run(app, ["impact", "--from", "timos_twist/2", "--to", "timos_twist/3", str(tmp_path)]).exit_code == 2
    assert msgspec.json.encode(impact(of_timo()[0].lines, versions[1]))
