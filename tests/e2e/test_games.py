"""Whole matches, played by clients in other processes."""

import asyncio
import json
import os
import subprocess
import sys

import pytest
import redis

from engine.audit import audit
from services.commands import partition_of
from services.stack import Stack
from tests.e2e.table import Played, api, assert_sound, awaited, begin, connected, kept, until

GAMES = ["timos_twist", "toms_time_bluff", "bombenziehen", "bluffing_billionaires", "clever_gedreht"]


@pytest.mark.parametrize("game", GAMES)
def test_a_client_in_another_process_plays_a_match_to_its_end(stack: Stack, game: str) -> None:
    """The journal that GetJournal gives is the one in Redis, byte for byte, and verified against the hash in the
    players' last views."""
    output = subprocess.run(
        [sys.executable, "-m", "tests.e2e.player", stack.grpc, stack.nats.url, game, "3"],
        env={**os.environ, **stack.environment},
        check=True,
        capture_output=True,
        text=True,
        timeout=90,
    ).stdout
    played = json.loads(output.splitlines()[0])
    (last_hash,) = {view["hash"] for view in played["views"]}

    @awaited
    async def fetch() -> None:
        async with api(stack) as front:
            lines.extend(await front.journal(played["match"]))
            rest.extend(await front.journal(played["match"], from_version=len(lines) - 1))

    lines: list[bytes] = []
    rest: list[bytes] = []
    fetch()
    in_redis = kept(stack, played["match"])
    assert lines == [line for line, _ in in_redis]
    assert rest == lines[-1:]
    assert in_redis[-1][1].hex() == last_hash
    verdict = audit(lines, bytes.fromhex(last_hash))
    assert (verdict.outcome, verdict.status, verdict.difference) == ("verified", "finished", None)
    assert verdict.match == played["match"]
    assert {(view["status"], view["version"], str(view["result"])) for view in played["views"]} == {
        ("finished", len(lines) - 1, str(json.loads(lines[-1])["result"]))
    }


@awaited
async def test_many_matches_at_once_over_one_client_and_over_two(stack: Stack, second_match_service: str) -> None:
    """Matches of all games with every number of seats, over two match services at once, end sound."""
    async with connected(stack) as first, connected(stack, second_match_service) as second:
        options = {"timos_twist": {"target": 50}}
        running: list[Played] = await asyncio.gather(*(
            begin((first, second), game, seats, options.get(game)) for game in GAMES for seats in (2, 4)
        ))  # fmt: skip
        await asyncio.gather(*(played.end() for played in running))
    for played in running:
        assert_sound(stack, played)


@awaited
async def test_what_is_asked_for_is_what_was_sent(stack: Stack) -> None:
    """A view from GetView says the same as the one that came over NATS for that version."""
    async with connected(stack) as client:
        running = [await begin(client, game, 3) for game in GAMES]
        await asyncio.gather(*(played.end() for played in running))
        for played in running:
            for seat in played.seats:
                sent = seat.view
                seat.view = {}
                await seat.heal()
                assert seat.view == {**sent, "deadline": seat.view["deadline"]}


@awaited
async def test_a_match_that_ended_leaves_its_journal_alone(stack: Stack) -> None:
    """The seed's key is gone, nothing of it is due any more, and the journal has an expiry."""
    async with connected(stack) as client:
        played = await (await begin(client, "bluffing_billionaires", 2)).end()
    partition = partition_of(played.match)
    with redis.Redis.from_url(stack.redis.url) as store:
        keys = [key.decode() for key in store.keys(f"*{played.match}*")]
        assert keys == [f"croupier:{{{partition}}}:journal:{played.match}"]
        assert store.ttl(keys[0]) > 0

        def due() -> list[bytes]:
            members = store.zrange(f"croupier:{{{partition}}}:due", 0, -1)
            return [member for member in members if played.match.encode() in member]

        await until(lambda: not due())
