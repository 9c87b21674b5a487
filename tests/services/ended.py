"""Short matches that have ended, each with an id, a deal and a length of its own, and what puts them into Redis."""

import random
from collections.abc import Iterable, Sequence

import msgspec
import redis

from engine import registry
from engine.chance import commitment
from engine.journal import Created, SeatPlan, entry_hash
from engine.match import Match
from services.archive import Ended
from services.commands import match_id, partition_of
from services.store.keys import ended_key, journal_key

START = 1_700_000_000_000
"""2023-11-14, 22:13 UTC: longer ago than any retention that a test does not set itself."""
DAY_MS = 86_400_000
GAMES = [game.name for game in registry.games()]


def ended(number: int, *, moves: int | None = None, partitions: int = 4, **changes: object) -> Ended:
    """A match at random moves, aborted after some of them; every third ended on the next day."""
    rng = random.Random(number)
    game = registry.newest(GAMES[number % len(GAMES)])
    name = match_id(number.to_bytes(16, "big"), partitions)
    seed = number.to_bytes(32, "big")
    match = Match(seed)
    lines: list[bytes] = []
    match.appended = lambda line: lines.append(line.data)
    at = START + (number % 3 == 2) * DAY_MS
    fields = {
        "match": name,
        "rules": game.rules,
        "options": msgspec.to_builtins(game.options({}, 2)),
        "seats": (SeatPlan("open"),) * 2,
        "private": False,
        "commitment": commitment(seed, name, str(changes.get("rules", game.rules))).hex(),
        "request": "aa",
    }
    match.create(Created(**(fields | changes)), at)
    for seat in range(2):
        match.join(f"Player {seat}", b"seed", f"{seat:064d}", at)
    for _ in range(rng.randrange(1, 8) if moves is None else moves):
        if match.over:
            break
        seat = match.to_act[0]
        move = match.game.move_json.encode(rng.choice(match.legal(seat)))
        match.move(seat, match.seats[seat].tenure, match.prompts[seat], move, at)
    if not match.over:
        match.abort("enough", at)
    return Ended.of(name, lines)


def put(url: str, matches: Iterable[Ended]) -> None:
    """Write journals to Redis as a worker leaves them that has an archive."""
    with redis.Redis.from_url(url) as client:
        pipeline = client.pipeline(transaction=False)
        for one in matches:
            put_lines(pipeline, one.match, one.lines)
            pipeline.zadd(ended_key(partition_of(one.match)), {one.match: 1})
        pipeline.execute()


def put_lines(client: redis.Redis, match: str, lines: Sequence[bytes]) -> None:
    head = bytes(32)
    for version, line in enumerate(lines):
        head = entry_hash(head, line)
        client.xadd(journal_key(match), {"line": line, "hash": head}, id=f"{version + 1}-0")


def in_redis(url: str) -> set[str]:
    """The ids of the matches whose journals are in Redis."""
    with redis.Redis.from_url(url) as client:
        return {key.decode().rpartition(":")[2] for key in client.scan_iter("croupier:*:journal:*", count=1000)}


def waiting(url: str) -> set[str]:
    """The ids of the matches that wait for the archive."""
    with redis.Redis.from_url(url) as client:
        return {match.decode() for key in client.scan_iter("croupier:*:ended") for match in client.zrange(key, 0, -1)}
