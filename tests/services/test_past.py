"""Matches that have ended, of every game: each version can be seen as each seat saw it while it ran."""

import asyncio
import json

import pytest
import redis

from engine import registry
from services.archive import Archive, Ended
from services.match.past import Past
from services.settings import load
from services.store import Store
from services.views import ViewEncoder
from tests.histories.record import Table, other_options
from tests.services.ended import put_lines

GAMES = [game for game in registry.games() if registry.is_built_in(game.name)]
LOOKED_AT = 10
"""Versions of each match, spread evenly."""


class Watched(Table):
    """A match whose views are kept as they were published: by version, and by seat (None: of spectators)."""

    def __init__(self, *args, **fields) -> None:
        self.seen: dict[int, dict[int | None, dict]] = {}
        super().__init__(*args, **fields)

    def add(self, lines) -> None:
        super().add(lines)
        encoder = ViewEncoder(self.match)
        everybody = (None, *range(len(self.match.seats)))
        self.seen[self.match.version] = {seat: shown(encoder.view_json(seat)) for seat in everybody}


def shown(view: bytes) -> dict:
    """A view without what the clock makes of it: when something was due is not asked any more."""
    return {**json.loads(view), "deadline": None}


@pytest.mark.parametrize("archived", [False, True], ids=["in Redis", "archived"])
@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_every_seat_sees_again_what_it_saw(game, archived, redis_url, tmp_path):
    match = Watched(game, 3, other_options(game, 3), label="000" + "p" * 22)
    match.fill()
    match.play(60)
    if not match.match.over:
        match.add(match.match.abort("operator", match.at))
    name, last = match.match.id, match.match.version
    if archived:
        Archive.at(str(tmp_path)).write([Ended.of(name, match.data)])
    else:
        with redis.Redis.from_url(redis_url) as client:
            put_lines(client, name, match.data)
    versions = [version for version in match.seen if version < last]

    async def look() -> None:
        store = await Store(load(redis_url=redis_url, partitions=8)).open()
        past = Past(store, Archive.at(str(tmp_path)))
        try:
            for version in {*versions[:: max(1, len(versions) // LOOKED_AT)], versions[-1]}:
                for seat, view in match.seen[version].items():
                    again = await past.view_at(name, seat, version)
                    assert shown(again) == view
                    assert json.loads(again)["seed"] is None
        finally:
            await store.close()

    asyncio.run(look())
