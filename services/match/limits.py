"""How much one address may ask of a match service: calls a second, open streams, open matches.

What is over a limit is refused at once and costs next to nothing, so that one who floods does not slow down the others.
Each match service counts for itself. Behind a proxy all callers have the proxy's address,
and the settings must allow for it.
"""

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from urllib.parse import unquote

from engine import journal
from services.match.pace import Pace
from services.match.refused import Refused
from services.settings import Settings
from services.store import Store

LOOK_AGAIN_S = 1.0
"""How long it is remembered that an address has all the matches it may have."""
MAX_ADDRESSES = 65_536
"""Addresses whose matches are counted; the ones seen first are forgotten first."""
IPV6_HOST_BITS = 64
"""One customer has at least so many bits of an IPv6 address to himself."""


@lru_cache(maxsize=4096)
def address_of(peer: str) -> str:
    """Return whom gRPC's name of a peer (`ipv4:1.2.3.4:567`) stands for: an address, or the network of an IPv6 one."""
    kind, _, rest = unquote(peer).partition(":")
    host = rest.rpartition(":")[0].strip("[]").partition("%")[0]
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return kind  # a Unix socket
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((int(address) >> IPV6_HOST_BITS << IPV6_HOST_BITS, 128 - IPV6_HOST_BITS)))
    return str(address)


class Limits:
    """What every address has used of its share; one a process."""

    def __init__(self, settings: Settings) -> None:
        """Take the limits from the settings."""
        self._pace = Pace(settings.address_rate)
        self._most_streams = settings.address_streams
        self._streams: Counter[str] = Counter()
        self._most_arriving = settings.address_rate
        self._arriving: Counter[str] = Counter()

    def call(self, peer: str) -> None:
        """Count a call. Raises Refused: RATE_LIMITED."""
        address, now = address_of(peer), asyncio.get_running_loop().time()
        if not self._pace.take(address, now):
            wait = self._pace.wait_ms(address, now)
            raise Refused("RATE_LIMITED", "too many calls come from this address", retry_ms=wait)

    @contextmanager
    def stream(self, peer: str) -> Iterator[None]:
        """Count a stream while it is open. Raises Refused: RATE_LIMITED, OVERLOADED for too many at once."""
        self.call(peer)
        with _one_more(self._streams, peer, self._most_streams, "OVERLOADED", "streams open"):
            yield

    def arriving(self, peer: str) -> AbstractContextManager[None]:
        """Count a call while its request is not there. Raises Refused: RATE_LIMITED for too many at once.

        There may be as many as the address may make in a second, which is what comes at once from who keeps to that.
        """
        what = "calls open whose request has not come"
        return _one_more(self._arriving, peer, self._most_arriving, "RATE_LIMITED", what)


@contextmanager
def _one_more(counts: Counter[str], peer: str, most: int, reason: str, what: str) -> Iterator[None]:
    address = address_of(peer)
    if counts[address] >= most:
        raise Refused(reason, f"this address has {most} {what}, and may have no more", retry_ms=1000)
    counts[address] += 1
    try:
        yield
    finally:
        counts[address] -= 1
        if not counts[address]:
            del counts[address]


class OpenMatches:
    """Which matches an address has opened that may not have ended; for servers on which everybody may open some."""

    def __init__(self, store: Store, most: int) -> None:
        """Let each address have `most` matches that have not ended."""
        self._store = store
        self._most = most
        self._matches: dict[str, set[str]] = {}
        self._full_until: dict[str, float] = {}
        self._looking = asyncio.Lock()

    async def admit(self, peer: str, match: str) -> None:
        """Count a match that is about to be opened; one that is repeated counts once. Raises Refused: TOO_MANY_MATCHES.

        Whether a match has ended is looked up when an address is at its limit, and then not more than once a second.
        """
        address = address_of(peer)
        mine = self._matches.setdefault(address, set())
        if len(self._matches) > MAX_ADDRESSES:
            oldest = next(iter(self._matches))
            del self._matches[oldest]
            self._full_until.pop(oldest, None)
        if match in mine:
            return
        async with self._looking:
            now = asyncio.get_running_loop().time()
            if len(mine) >= self._most and self._full_until.get(address, 0.0) <= now:
                mine -= {other for other in mine if await self._is_over(other)}
                self._full_until[address] = now + LOOK_AGAIN_S
            if len(mine) >= self._most:
                detail = f"this address has {self._most} matches that have not ended"
                raise Refused("TOO_MANY_MATCHES", detail, retry_ms=round(LOOK_AGAIN_S * 1000))
            mine.add(match)

    async def _is_over(self, match: str) -> bool:
        """Whether a match has ended, or was never created."""
        line = await self._store.last_line(match)
        return line is None or isinstance(journal.read(line).body, journal.ENDS)
