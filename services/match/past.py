"""Matches that have ended: their journals, views of earlier versions, and the match that follows one.

Nothing of them is secret any more, so that what a running match's owner alone may do can be done here.
"""

import asyncio
import hashlib
from base64 import b32encode
from collections.abc import AsyncIterator

from engine import journal
from engine.chance import length_prefixed
from engine.journal import Created, Joined
from engine.match import load
from services.match.refused import Refused
from services.store import Store
from services.views import ViewEncoder

LINES = 500
"""Lines read at once, and sent in one message: well below what a gRPC client takes by default."""
FOLDED_TOGETHER = 2

_folds = asyncio.Semaphore(FOLDED_TOGETHER)


async def end_of(store: Store, match: str) -> journal.Entry:
    """Return the entry that ended a match. Raises Refused: UNKNOWN_MATCH, MATCH_RUNNING."""
    data = await store.last_line(match)
    if data is None:
        raise Refused("UNKNOWN_MATCH", "there is no such match, or no longer", match=match)
    last = journal.read(data)
    if not isinstance(last.body, journal.ENDS):
        raise Refused("MATCH_RUNNING", "the match has not ended", match=match)
    return last


async def lines_of(store: Store, match: str, start: int, stop: int) -> AsyncIterator[list[bytes]]:
    """Give the lines of versions from `start` to before `stop`, some at a time.

    Raises Refused (UNKNOWN_MATCH) if the journal expires under way.
    """
    while start < stop:
        lines = await store.lines(match, start, min(LINES, stop - start))
        if not lines:
            raise Refused("UNKNOWN_MATCH", "the match is past its retention", match=match)
        yield lines
        start += len(lines)


async def view_at(store: Store, match: str, seat: int | None, version: int) -> bytes | None:
    """Return the JSON of a view right after a version of a match that has ended; None for the last, which is signed.

    Raises Refused: UNKNOWN_MATCH, MATCH_RUNNING, UNKNOWN_VERSION, NOT_YOUR_SEAT for a seat that did not play.
    """
    last = await end_of(store, match)
    if version == last.version:
        return None
    if not 0 <= version < last.version:
        raise Refused("UNKNOWN_VERSION", f"the match has the versions 0 to {last.version}", version=last.version)
    assert isinstance(last.body, journal.ENDS)
    lines = [line async for some in lines_of(store, match, 0, version + 1) for line in some]
    async with _folds:
        return await asyncio.to_thread(_view, lines, bytes.fromhex(last.body.seed), seat)


def _view(lines: list[bytes], seed: bytes, seat: int | None) -> bytes:
    folded = load(lines, seed)
    if seat is not None and folded.state is not None and folded.plays_as(seat) is None:
        raise Refused("NOT_YOUR_SEAT", "this seat did not play", seat=seat)
    return ViewEncoder(folded).view_json(seat)


async def created_as(store: Store, match: str) -> Created:
    """Return a match's first entry. Raises Refused (UNKNOWN_MATCH)."""
    body = await _body(store, match, 0)
    if not isinstance(body, Created):
        raise Refused("UNKNOWN_MATCH", "there is no such match, or no longer", match=match)
    return body


async def admit(store: Store, match: str, invite: str) -> None:
    """Return if the invite of this hash opens a match. Raises Refused: UNKNOWN_MATCH, BAD_INVITE."""
    created = await created_as(store, match)
    if created.private and invite != created.request:
        raise Refused("BAD_INVITE", "the match is private, and this is not its invite", match=match)


async def joined_as(store: Store, match: str, seat: int, tenure: int) -> Joined:
    """Return the entry that began a tenure. Raises Refused (NOT_YOUR_SEAT)."""
    body = await _body(store, match, tenure)
    if not isinstance(body, Joined) or body.seat != seat:
        raise Refused("NOT_YOUR_SEAT", "this is no tenure of the seat", match=match, seat=seat)
    return body


async def _body(store: Store, match: str, version: int) -> journal.Body | None:
    lines = await store.lines(match, version, 1)
    return journal.read(lines[0]).body if lines else None


def rematch_id(match: str, partitions: int) -> str:
    """Return the id of the one match that follows another.

    It does not pass through `match_id`: ids are no secrets, so anybody could name the request id that leads there, and
    take the place of the rematch with a match of his own.
    """
    digest = hashlib.sha256(length_prefixed(b"croupier/rematch", match.encode())).digest()
    partition = int.from_bytes(digest[:8], "big") % partitions
    return f"{partition:03d}{b32encode(digest[8:]).decode().lower()[:22]}"
