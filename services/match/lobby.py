"""Matches in the lobby, from the index that the owners of the partitions keep."""

import contextlib

import msgspec
import structlog
from google.protobuf.timestamp_pb2 import Timestamp

from croupier.v1 import match_service_pb2
from engine.match import OPEN
from services import wire
from services.commands import MATCH_ID_LENGTH, is_match_id, partition_of
from services.match import checks
from services.match.checks import malformed
from services.match.past import Past
from services.match.refused import Refused
from services.store import Store
from services.views import Summary

PAGE = 50
MAX_PAGE = 200
LOOKED_AT = 2_000
"""After so many entries of the index a page ends with its partition, full or not: what nobody is shown costs, too."""

log = structlog.get_logger()


_SUMMARIES = msgspec.json.Decoder(Summary)


async def find(
    store: Store, request: match_service_pb2.ListMatchesRequest, partitions: int
) -> match_service_pb2.ListMatchesResponse:
    """Return a page of the open matches that pass the request's filters, ascending by match id.

    Ids begin with their partition, so an id is all that the next page has to know. Raises MALFORMED_REQUEST.
    """
    size = _page_size(request.page_size)
    after = request.page_token
    if after and not (is_match_id(after) and partition_of(after) < partitions):
        raise malformed("page_token", "this is no page of this server")
    if request.HasField("match"):
        return await _one(store, request, partitions)
    found: list[match_service_pb2.MatchSummary] = []
    looked_at = 0
    for partition in range(partition_of(after) if after else 0, partitions):
        lobby = await store.lobby(partition)
        behind = sorted(match for match in lobby if match > after)
        for match in behind:
            summary = _read(match, lobby[match])
            if summary is None or summary.private or not _wanted(summary, request):
                continue
            if len(found) == size:
                return match_service_pb2.ListMatchesResponse(matches=found, next_page_token=found[-1].match)
            found.append(_message(summary))
        looked_at += len(behind)
        if looked_at >= LOOKED_AT and partition + 1 < partitions:
            return match_service_pb2.ListMatchesResponse(matches=found, next_page_token=_before(partition + 1))
    return match_service_pb2.ListMatchesResponse(matches=found)


def _before(partition: int) -> str:
    """Return a token that stands before every match of a partition, and names none: no id has a 0 behind its number."""
    return f"{partition:03}{'a':0>{MATCH_ID_LENGTH - 3}}"


def _page_size(given: int) -> int:
    if given < 0:
        raise malformed("page_size", "a page has no negative size")
    return min(given, MAX_PAGE) or PAGE


async def _one(
    store: Store, request: match_service_pb2.ListMatchesRequest, partitions: int
) -> match_service_pb2.ListMatchesResponse:
    """Return the match that is asked for, if it is open, passes the filters, and its invite is known if need be."""
    match, invite = request.match, checks.invite(request)
    found = match_service_pb2.ListMatchesResponse()
    if is_match_id(match) and partition_of(match) < partitions:
        data = await store.lobby_entry(match)
        summary = None if data is None else _read(match, data)
        if summary is not None and _wanted(summary, request) and await _shown(store, summary, invite):
            found.matches.append(_message(summary))
    return found


def _read(match: str, data: bytes) -> Summary | None:
    try:
        return _SUMMARIES.decode(data)
    except msgspec.DecodeError as error:
        log.warning("summary_unreadable", match=match, error=error)
        return None


async def _shown(store: Store, summary: Summary, invite: str) -> bool:
    """Whether somebody with the invite of this hash may see the match."""
    if not summary.private:
        return True
    if invite:
        with contextlib.suppress(Refused):
            await Past(store).admit(summary.match, invite)
            return True
    return False


def _wanted(summary: Summary, request: match_service_pb2.ListMatchesRequest) -> bool:
    given = request.HasField
    if given("game") and summary.rules.split("/")[0] != request.game:
        return False
    if given("rules") and summary.rules != request.rules:
        return False
    if given("min_open_seats") and sum(seat.kind == OPEN for seat in summary.seats) < request.min_open_seats:
        return False
    if given("min_clock_ms") and summary.clock is not None and summary.clock < request.min_clock_ms:
        return False
    return not given("max_clock_ms") or (summary.clock is not None and summary.clock <= request.max_clock_ms)


def _message(summary: Summary) -> match_service_pb2.MatchSummary:
    created = Timestamp()
    created.FromMilliseconds(summary.created)
    return match_service_pb2.MatchSummary(
        match=summary.match,
        rules=summary.rules,
        options=wire.options_to_proto(summary.rules.split("/")[0], summary.options),
        seats=[msgspec.structs.asdict(seat) for seat in summary.seats],
        clock_ms=summary.clock,
        commitment=summary.commitment,
        created=created,
        private=summary.private,
    )
