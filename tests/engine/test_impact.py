"""A second version of a game's rules beside the first: what it would have made of matches that were played."""

import msgspec
import pytest

from engine import journal, registry
from engine.audit import audit
from engine.impact import impact
from engine.match import Match
from tests.services.ended import ended
from tests.services.rules_versions import GAME, of_timo, registered


@pytest.fixture
def versions():
    with registered() as games:
        yield games


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
        verdict = audit(one.lines, one.head)
        assert (verdict.rules, verdict.outcome) == ("timos_twist/1", "verified")
    newer = ended(GAME, rules="timos_twist/2")
    verdict = audit(newer.lines, newer.head)
    assert (verdict.rules, verdict.outcome) == ("timos_twist/2", "verified")


def test_a_match_that_runs_under_the_old_version_is_played_on_under_it(versions):
    """Folded anew where there is a newer version by now, as by a worker that was restarted with it."""
    one = of_timo(1)[0]
    match = Match(journal.revealed(one.lines))
    written = []
    match.appended = lambda line: written.append(line.data)
    entries = [journal.read(line) for line in one.lines]
    half = next(number for number, entry in enumerate(entries) if isinstance(entry.body, journal.Moved)) + 3
    for line in one.lines[:half]:
        match.replay(line)
    assert match.game.rules == "timos_twist/1"
    for entry in entries[half:-1]:
        seat = entry.body.seat
        match.move(seat, match.seats[seat].tenure, entry.body.prompt, bytes(entry.body.move), entry.at)
    match.abort("enough", entries[-1].at)
    assert written == list(one.lines[half:])


@pytest.mark.parametrize("lines", [[], [b"{"], [*of_timo(1)[0].lines[:1], b"{"]])
def test_a_journal_that_is_no_journal_is_said_to_be_none(versions, lines):
    assert impact(lines, versions[0]).field == "journal"


def test_of_a_match_that_has_not_ended_nothing_is_said(versions):
    """What other rules would allow tells of hidden cards."""
    one = of_timo(1)[0]
    found = impact(one.lines[:-1], versions[0])
    assert (found.match, found.version, found.field) == (one.match, len(one.lines) - 1, "journal")


def test_the_impact_can_be_written_as_json(versions):
    assert msgspec.json.encode(impact(of_timo()[0].lines, versions[1]))
