"""Journals held against what players were promised."""

from collections.abc import Iterable, Iterator

import pytest

from engine import journal
from services.load.checks import examine
from services.load.crowd import Played
from tests.services import played
from tests.services.load.planned import timo


def receipts(lines: Iterable[bytes]) -> "Iterator[int]":
    """What a crowd would have been promised, had it made all moves of players."""
    for line in lines:
        entry = journal.read(line)
        if isinstance(entry.body, journal.Moved) and entry.body.by == "player":
            yield from (entry.version, entry.body.seat << 32 | entry.body.prompt)


def promised(lines: list[bytes]) -> Played:
    from array import array

    real = list(played.replayed(lines))[-1]
    return Played(real.id, array("q", receipts(lines)), real.head.hex(), "")


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    return played.journal(timo(), 3)


def test_a_journal_that_holds_all_promises_is_verified(lines):
    found = examine(promised(lines), lines)
    assert found.good
    assert found.moves > 10
    assert (found.matches, found.verified) == (1, 1)


def test_a_promised_move_that_is_not_there_is_lost(lines):
    match = promised(lines)
    match.accepted.extend((len(lines) + 5, 1 << 32 | 7))
    match.accepted[1] += 1  # another prompt than the entry's
    found = examine(match, lines)
    assert (found.lost, found.duplicated, found.diverged) == (2, 0, 0)
    assert f"{match.match}: lost" in found.examples[0]


def test_a_move_that_is_there_twice_is_duplicated_and_the_audit_diverges(lines):
    version = next(receipts(lines))
    twice = [*lines[: version + 1], lines[version], *lines[version + 1 :]]
    found = examine(promised(lines), twice)
    assert found.duplicated == 1
    assert found.diverged == 1


def test_another_end_than_the_players_were_told_diverges(lines):
    found = examine(promised(lines)._replace(hash="00" * 32), lines)
    assert (found.lost, found.diverged) == (0, 1)
    assert "last hash" in found.examples[0]


def test_seats_that_saw_different_things_diverge_though_the_journal_holds(lines):
    found = examine(promised(lines)._replace(parted="seats 0 and 1 differ"), lines)
    assert (found.diverged, found.good) == (1, False)
    assert "seats 0 and 1 differ" in found.examples[0]
