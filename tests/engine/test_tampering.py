"""Whatever is changed in a journal is named.

A change is made twice: as it is, and with the chain recomputed behind it, as somebody would who can write the whole
file. With the last hash known from elsewhere neither verifies.
"""

import json
import re

import pytest
from msgspec.structs import replace

from engine import bots, registry
from engine.audit import FIELDS, Difference, audit
from engine.journal import Body
from tests.engine.hard import computers, let_computers_move
from tests.engine.tampered import ANCHOR, LAST, LINES, TAMPERS, chained, renumbered, rewritten
from tests.histories.record import Table

# --- tampering -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TAMPERS)
def test_what_was_changed_in_a_journal_is_named(name):
    tamper, expected, _ = TAMPERS[name]
    difference = audit(tamper(LINES)).difference
    assert difference is not None
    assert (difference.version, difference.field) == expected
    assert difference.field in FIELDS


@pytest.mark.parametrize("name", TAMPERS)
def test_what_was_changed_is_named_also_behind_a_recomputed_chain(name):
    """None: what no rule reads, or what other rules would have played to the same end, is held by the chain alone."""
    tamper, _, expected = TAMPERS[name]
    difference = audit(chained(tamper(LINES))).difference
    assert (difference and (difference.version, difference.field)) == expected


@pytest.mark.parametrize("rechain", [list, chained], ids=["as it is", "chain recomputed"])
@pytest.mark.parametrize("name", sorted(set(TAMPERS) - {"a hash of the chain"}))
def test_with_the_last_hash_nothing_that_was_changed_verifies(name, rechain):
    tamper, plain, behind_chain = TAMPERS[name]
    verdict = audit(rechain(tamper(LINES)), ANCHOR)
    assert verdict.outcome == "different"
    if rechain is chained and behind_chain is None:
        assert (verdict.difference.version, verdict.difference.field) == (LAST, "last hash")
    else:
        expected = plain if rechain is list else behind_chain
        assert (verdict.difference.version, verdict.difference.field) == expected


def test_a_whole_journal_made_anew_stays_consistent_and_only_the_last_hash_tells():
    """Who owns the server may draw another seed and play again: nothing inside such a journal is wrong."""
    game = registry.find("timos_twist/1")
    forged = Table(game, 2, {"target": 50}, label="forged")
    forged.fill()
    forged.play()
    assert audit(forged.data).outcome == "consistent"
    assert audit(forged.data, ANCHOR).difference.field == "last hash"


def test_a_client_seed_changed_with_all_digests_recomputed_shows_in_the_moves():
    """Another seed deals other cards, so that the recorded moves can no longer be made."""

    def edit(version: int, body: Body) -> Body:
        return replace(body, client_seed="00") if version == 2 else body

    with pytest.raises(Exception):  # noqa: B017 - the forger's own fold breaks down over the first impossible move
        rewritten(LINES, edit)
    verdict = audit(rewritten(LINES[:4], edit) + LINES[4:])
    assert (verdict.difference.version, verdict.difference.field) == (4, "chain")
    verdict = audit(chained(rewritten(LINES[:4], edit) + LINES[4:]))
    assert (verdict.difference.version, verdict.difference.field) == (4, "legality")


def test_a_name_changed_with_everything_recomputed_stays_consistent():
    """Names are in no state. The chain holds them, and the chain is held by an anchor."""
    forged = rewritten(LINES, lambda version, body: replace(body, name="Eve") if version == 1 else body)
    assert audit(forged).outcome == "consistent"
    assert audit(forged, ANCHOR).difference.field == "last hash"


def test_a_result_changed_with_everything_recomputed_is_found():
    table = Table(registry.find("timos_twist/1"), 2, {"target": 50}, label="result")
    table.fill()
    table.play()
    scores = json.dumps(table.match.result.scores[::-1]).replace(" ", "").encode()
    forged = [*table.data[:-1], re.sub(rb'"scores":\[[\d,]+\]', b'"scores":' + scores, table.data[-1])]
    assert audit(chained(forged)).difference.field == "result"


# --- who made a move -------------------------------------------------------------------------------------------------


def test_after_everybody_has_left_nothing_but_the_abort_may_follow():
    table = Table(registry.find("timos_twist/1"), 2, label="left")
    table.fill()
    table.leave(0)
    table.leave(1)
    assert audit(table.data).difference is None
    without = table.data[:-1]
    assert audit(without, seed=table.seed).difference is None
    joined = table.data[1]
    late = renumbered([*without, re.sub(rb'"at":\d+', b'"at":%d' % table.at, joined)])
    assert audit(chained(late), seed=table.seed).difference == Difference(
        len(without), "order", f"entry {len(without) - 1} has to be followed by `aborted`"
    )


def test_a_player_who_has_left_makes_no_more_moves():
    table = Table(registry.find("timos_twist/1"), 2, label="ghost")
    table.fill()
    [seat] = table.match.to_act
    table.leave(seat)
    table.time_out(seat)
    data = table.data
    forged = [*data[:-1], data[-1].replace(b'"by":"clock"', b'"by":"player"')]
    assert audit(forged, seed=table.seed).difference == Difference(len(data) - 1, "by", f"no player holds seat {seat}")


def test_the_clock_moves_for_nobody_who_owes_no_move():
    """Catching the seat that forgot TIMO is a right, never the clock's business."""
    table = Table(registry.find("timos_twist/1"), 3, label="windows")
    table.fill()
    while not any(b'"catch"' in data for data in table.data):
        table.step()
    data = table.data
    forged = [*data[:-1], data[-1].replace(b'"by":"player"', b'"by":"clock"')]
    difference = audit(forged, seed=table.seed).difference
    assert (difference.version, difference.field) == (len(data) - 1, "clock")
    assert difference.detail.endswith("owes no move")


def test_the_host_sends_nobody_away_from_a_running_match():
    table = Table(registry.find("timos_twist/1"), 3, label="host")
    table.fill()
    table.leave(0)
    forged = [*table.data[:-1], table.data[-1].replace(b'"by":"player"', b'"by":"host"')]
    difference = audit(forged, seed=table.seed).difference
    assert (difference.version, difference.field) == (len(forged) - 1, "by")


def computer_match() -> list[bytes]:
    """The journal of a match of two computers, finished."""
    match = computers("hard", "easy")
    let_computers_move(match)
    return match.lines


def test_the_moves_of_computers_are_computed_again():
    lines = computer_match()
    assert audit(lines).outcome == "consistent"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"policy":"hard"', b'"policy":"easy"'),
        (b'"version":9', b'"version":8'),
        (b'"seen":1}', b'"seen":0}'),
        (b'"by":"bot"', b'"by":"clock"'),
    ],
)
def test_a_computers_move_is_its_own_and_made_on_what_it_saw(old, new):
    lines = computer_match()
    at = next(number for number, line in enumerate(lines) if old in line)
    lines[at] = lines[at].replace(old, new, 1)
    difference = audit(lines).difference
    assert (difference.version, difference.field) == (at, "computer move")


@pytest.mark.parametrize(("kinds", "absent"), [(("hard", "easy"), None), (("open", "open"), "hard")])
def test_the_clock_moves_for_no_seat_that_a_computer_decides_for(kinds, absent):
    """An operator could slip in default moves for a computer's."""
    match = computers(*kinds, absent=absent)
    for number in range(kinds.count("open")):
        match.join(f"human {number}", b"", f"request {number}", 6)
    [seat] = match.to_act
    if absent:
        match.leave(seat, match.seats[seat].tenure, 7)
    assert match.question(seat) is not None
    assert match.time_out(seat, match.prompts[seat], 8) == []
    match._moved(seat, match.game.default(match.state, match.plays_as(seat)), 8, "clock")
    difference = audit(match.lines, seed=bytes(32)).difference
    assert difference == Difference(match.version, "by", f"a computer player decides for seat {seat}")


def test_another_legal_move_of_a_computer_is_named_though_the_chain_fits():
    match = computers("hard", "easy")
    question = match.question(match.to_act[0])
    other = next(move for move in question.seen.legal if move != bots.answer(question))
    match.bot_move(question, other, match.at)
    difference = audit(match.lines, seed=bytes(32)).difference
    assert (difference.version, difference.field) == (2, "computer move")
