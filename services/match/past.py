"""Matches that have ended: their journals, views of earlier versions, and the match that follows one.

Nothing of them is secret any more, so that what a running match's owner alone may do can be done here.
"""

import asyncio
import hashlib
from base64 import b32encode
from collections import OrderedDict
from collections.abc import AsyncIterator

import structlog

from engine import journal
from engine.chance import length_prefixed
from engine.journal import Created, Joined
from engine.match import HUMAN, load
from services.archive import Archive, ArchiveDamaged
from services.match.refused import Refused
from services.store import Store
from services.views import Signer, ViewEncoder

LINES = 500
"""Lines read at once, and sent in one message: well below what a gRPC client takes by default."""
FOLDED_TOGETHER = 2
FOLDS_WAITING = 32
"""Views of matches that have ended that wait for their turn, from which on more are refused: each folds a journal."""
KEPT = 16
"""So many journals from the archive stay in memory: a view at one version is often followed by the next one's."""

log = structlog.get_logger()


class _Turns:
    """Lets a few fold at a time, some wait, and refuses the others at once."""

    def __init__(self) -> None:
        self._folding = asyncio.Semaphore(FOLDED_TOGETHER)
        self._waiting = 0

    async def __aenter__(self) -> None:
        if self._waiting >= FOLDS_WAITING:
            raise Refused("OVERLOADED", "too many views of matches that have ended are asked for", retry_ms=1000)
        self._waiting += 1
        try:
            await self._folding.acquire()
        finally:
            self._waiting -= 1

    async def __aexit__(self, *_: object) -> None:
        self._folding.release()


class Past:
    """Matches that have ended: in Redis for their retention, in the archive (if there is one) for good."""

    def __init__(self, store: Store, archive: Archive | None = None, sign: Signer | None = None) -> None:
        """Look in an open store first, then in the archive; `sign` signs last views as an owner does."""
        self._store = store
        self._archive = archive
        self._sign = sign
        self._read: OrderedDict[str, list[bytes]] = OrderedDict()
        self._turns = _Turns()

    async def end_of(self, match: str) -> journal.Entry:
        """Return the entry that ended a match. Raises Refused: UNKNOWN_MATCH, MATCH_RUNNING."""
        data = await self._store.last_line(match)
        if data is None:
            data = next(reversed(await self._archived(match)), None)
        if data is None:
            raise Refused("UNKNOWN_MATCH", "there is no such match, or no longer", match=match)
        last = journal.read(data)
        if not isinstance(last.body, journal.ENDS):
            raise Refused("MATCH_RUNNING", "the match has not ended", match=match)
        return last

    async def lines_of(self, match: str, start: int, stop: int) -> AsyncIterator[list[bytes]]:
        """Give the lines of versions from `start` to before `stop`, some at a time.

        Raises Refused (UNKNOWN_MATCH) if the journal expires under way.
        """
        while start < stop:
            lines = await self._lines(match, start, min(LINES, stop - start))
            if not lines:
                raise Refused("UNKNOWN_MATCH", "the match is past its retention", match=match)
            yield lines
            start += len(lines)

    async def view_at(self, match: str, seat: int | None, version: int) -> bytes | None:
        """Return the JSON of a view right after a version of a match that has ended; None for the last: it is signed.

        Raises Refused: UNKNOWN_MATCH, MATCH_RUNNING, UNKNOWN_VERSION, NOT_YOUR_SEAT for a seat that did not play.
        """
        last = await self.end_of(match)
        if version == last.version:
            return None
        if not 0 <= version < last.version:
            raise Refused("UNKNOWN_VERSION", f"the match has the versions 0 to {last.version}", version=last.version)
        assert isinstance(last.body, journal.ENDS)
        async with self._turns:
            lines = [line async for some in self.lines_of(match, 0, version + 1) for line in some]
            return await asyncio.to_thread(_view, lines, bytes.fromhex(last.body.seed), seat)

    async def last_view(
        self, match: str, seat: int | None, tenure: int | None, invite: str | None = None
    ) -> bytes | None:
        """Return the JSON of the last view of a match that has left Redis; None if the archive has it not.

        `invite` as in `ViewQuestion`. Raises Refused: BAD_INVITE, NOT_YOUR_SEAT for a tenure that has ended.
        """
        lines = await self._archived(match)
        if not lines:
            return None
        if invite is not None:
            await self.admit(match, invite)
        async with self._turns:
            return await asyncio.to_thread(_last_view, lines, seat, tenure, self._sign)

    async def created_as(self, match: str) -> Created:
        """Return a match's first entry. Raises Refused (UNKNOWN_MATCH)."""
        body = await self._body(match, 0)
        if not isinstance(body, Created):
            raise Refused("UNKNOWN_MATCH", "there is no such match, or no longer", match=match)
        return body

    async def admit(self, match: str, invite: str) -> None:
        """Return if the invite of this hash opens a match. Raises Refused: UNKNOWN_MATCH, BAD_INVITE."""
        created = await self.created_as(match)
        if created.private and invite != created.request:
            raise Refused("BAD_INVITE", "the match is private, and this is not its invite", match=match)

    async def joined_as(self, match: str, seat: int, tenure: int) -> Joined:
        """Return the entry that began a tenure. Raises Refused (NOT_YOUR_SEAT)."""
        body = await self._body(match, tenure)
        if not isinstance(body, Joined) or body.seat != seat:
            raise Refused("NOT_YOUR_SEAT", "this is no tenure of the seat", match=match, seat=seat)
        return body

    async def _body(self, match: str, version: int) -> journal.Body | None:
        lines = await self._lines(match, version, 1)
        return journal.read(lines[0]).body if lines else None

    async def _lines(self, match: str, start: int, count: int) -> list[bytes]:
        return await self._store.lines(match, start, count) or (await self._archived(match))[start : start + count]

    async def _archived(self, match: str) -> list[bytes]:
        """Return all lines that the archive has of a match; none if it has not got it. The last few are kept."""
        if match in self._read:
            self._read.move_to_end(match)
            return self._read[match]
        if self._archive is None:
            return []
        try:
            lines = await asyncio.to_thread(self._archive.read, match)
        except (ArchiveDamaged, OSError) as error:
            log.exception("archive_unreadable", match=match)
            raise Refused("INTERNAL", "the archive cannot be read at the moment", match=match) from error
        if lines:
            self._read[match] = lines
            while len(self._read) > KEPT:
                self._read.popitem(last=False)
        return lines or []


def _view(lines: list[bytes], seed: bytes, seat: int | None) -> bytes:
    folded = load(lines, seed)
    if seat is not None and folded.state is not None and folded.plays_as(seat) is None:
        raise Refused("NOT_YOUR_SEAT", "this seat did not play", seat=seat)
    return ViewEncoder(folded).view_json(seat)


def _last_view(lines: list[bytes], seat: int | None, tenure: int | None, sign: Signer | None) -> bytes:
    seed = journal.revealed(lines)
    assert seed is not None
    folded = load(lines, seed)
    if seat is not None:
        held = folded.seats[seat] if seat in range(len(folded.seats)) else None
        if held is None or held.kind != HUMAN or held.tenure != tenure or held.left:
            raise Refused("NOT_YOUR_SEAT", f"the tenure {tenure} of seat {seat} has ended", seat=seat)
    return ViewEncoder(folded, sign).view_json(seat)


def rematch_id(match: str, partitions: int) -> str:
    """Return the id of the one match that follows another.

    It does not pass through `match_id`: ids are no secrets, so anybody could name the request id that leads there, and
    take the place of the rematch with a match of his own.
    """
    digest = hashlib.sha256(length_prefixed(b"croupier/rematch", match.encode())).digest()
    partition = int.from_bytes(digest[:8], "big") % partitions
    return f"{partition:03d}{b32encode(digest[8:]).decode().lower()[:22]}"
