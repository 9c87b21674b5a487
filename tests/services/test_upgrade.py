"""An upgrade that brings new rules of a game: what runs goes on by the rules that it began with."""

import pytest

from engine.audit import audit
from services.commands import Abort, partition_of
from tests.services.front import Intake, creation, in_loop, intake
from tests.services.rules_versions import Shorter, registered

pytestmark = pytest.mark.containers


async def begun(front: Intake, rules: str):
    command = creation(rules=rules)
    await front.done(command)
    return await front.seated(command.match, 2)


@in_loop
async def test_a_match_runs_on_by_its_old_rules_beside_those_of_new_ones(redis_url, nats_url):
    async with intake(redis_url, nats_url) as front:
        old = await front.owner()
        first = await begun(front, "timos_twist/1")
        await front.play(first, 3)
        await old.stop()
        with registered(Shorter()):
            new = await front.owner()
            second = await begun(front, "timos_twist/2")
            for seats in (first, second):
                await front.play(seats, 5)
            assert new.count("replay_mismatches_total") == 0
            for seats, rules in ((first, b'"timos_twist/1"'), (second, b'"timos_twist/2"')):
                await front.done(Abort(seats[0].match, "enough"))
                lines = (await front.recorded(seats[0].match)).lines
                assert rules in lines[0]
                assert audit(lines).difference is None


@in_loop
async def test_a_worker_without_the_rules_of_a_match_leaves_it_to_one_that_has_them(redis_url, nats_url):
    """Nothing is wrong with the journal, and it is not said to be; the match goes on where it was."""
    async with intake(redis_url, nats_url) as front:
        with registered(Shorter()):
            new = await front.owner()
            seats = await begun(front, "timos_twist/2")
            await front.play(seats, 3)
            _, move = await front.next_move(seats)
            await new.stop()
        old = await front.owner()
        others = await begun(front, "timos_twist/1")
        assert await front.refused(move) == "NO_OWNER", "which a client tries again"
        await front.store.postpone(partition_of(move.match), {f"{move.match}:idle": 1})
        await front.play(others, 2)
        assert old.count("matches_not_opened_total", reason="rules") >= 1
        assert old.count("replay_mismatches_total") == 0
        await old.stop()
        with registered(Shorter()):
            await front.owner()
            await front.done(move)
            await front.play(seats, 2)
