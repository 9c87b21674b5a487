"""The JSON of views: what each seat, and a spectator, may know of a match right after an entry.

What the index of the lobby says of an open match is here, too.

The keys are the fields of `croupier.v1.View` in its order, nulls written. What everybody may know is encoded once an
entry; a seat's view differs from it in `seat`, `prompt`, `own`, `legal` and, if something was whispered, `events`.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, NamedTuple, Self

from msgspec import UNSET, Struct

from engine.game import Told, encode
from engine.match import HUMAN, Match
from services import wire
from services.commands import view_subject

Signer = Callable[[bytes], bytes]
"""Signs the 32 bytes of a journal's last hash."""


class SeatInfo(Struct, frozen=True):
    """A seat as everybody sees it; fields as in `croupier.v1.SeatInfo`."""

    seat: int
    name: str
    kind: str
    absent: bool
    tenure: int | None
    plays_as: int | None


def seat_infos(match: Match) -> tuple[SeatInfo, ...]:
    """Return all seats of a match, ascending."""
    numbers = {seat: i for i, seat in enumerate(match.players)}
    return tuple(
        SeatInfo(number, seat.name, seat.kind, seat.absent, seat.tenure, numbers.get(number))
        for number, seat in enumerate(match.seats)
    )


class Summary(Struct, frozen=True):
    """What the lobby index says of an open match; `created` is Unix milliseconds."""

    match: str
    rules: str
    options: dict[str, Any]
    seats: tuple[SeatInfo, ...]
    clock: int | None
    commitment: str
    created: int
    private: bool

    @classmethod
    def of(cls, match: Match) -> Self:
        """Return what there is to say of a match now."""
        created = match.created
        clock = None if created.clock is UNSET else created.clock
        return cls(
            match.id,
            created.rules,
            created.options,
            seat_infos(match),
            clock,
            created.commitment,
            match.created_at,
            created.private,
        )


class _Public(NamedTuple):
    """What the views of one entry are put together from."""

    version: int
    text: bytes
    """From `"status"` to the key `"own"`, or to the end where the game's part is null."""
    events: bytes
    """The telling for everybody, a list."""
    own: tuple[bytes, ...]
    """Not public, but made with it: every player's own part."""
    whispered: Mapping[int, bytes]
    """The telling for seats of the game that are told more."""


class ViewEncoder:
    """Encodes the views of one match at its present version; kept beside the match, whose constant parts it keeps."""

    def __init__(self, match: Match, sign: Signer | None = None) -> None:
        """Serve a match that has its first entry; with `sign` the last view carries the operator's signature."""
        self.match = match
        self._sign = sign
        created = match.created
        arm = wire.arm(match.game.name)
        self._arm = arm.encode()
        self._name = b'"name":%b,' % encode(match.game.name) if arm == wire.GENERIC else b""
        self._table_subject = view_subject(match.id, None, None)
        self._head = b'{"match":%b,"seat":' % encode(match.id)
        self._constant = b'"rules":%b,"options":%b,"clock":%b,"commitment":%b,"code":%b' % (
            encode(created.rules),
            wire.options_to_json(match.game.name, match.options),
            b"null" if created.clock is UNSET else encode(created.clock),
            encode(created.commitment),
            b"null" if created.code is UNSET else encode(created.code),
        )
        self._seats: tuple[object, object] | None = None
        self._seats_json = b""
        self._holders: list[tuple[int, str]] = []
        self._public: _Public | None = None

    def all_views(self) -> list[tuple[str, bytes]]:
        """Return the subject and the view of every human seat whose tenure holds, ascending, and of spectators last."""
        public = self._now()
        views = [(subject, self._view(public, seat)) for seat, subject in self._holders]
        views.append((self._table_subject, self._view(public, None)))
        return views

    def view_json(self, seat: int | None) -> bytes:
        """Return the view of a seat by its token number, or for None the public one."""
        return self._view(self._now(), seat)

    def past_events(self, version: int, events: Sequence[Told] | None, seat: int | None) -> bytes:
        """Return the JSON of PastEvents for one earlier entry as a seat, or for None a spectator, may know it.

        `events` is what `match.events` was right after that entry, None for an entry of the lobby.
        """
        if events is None:
            return b'{"version":%d,"%b":null}' % (version, self._arm)
        game = self.match.game
        plays_as = None if seat is None else self.match.plays_as(seat)
        told = game.event_json.encode_list(game.told(events, plays_as))
        return b'{"version":%d,"%b":{%b"events":%b}}' % (version, self._arm, self._name, told)

    def _view(self, public: _Public, seat: int | None) -> bytes:
        match = self.match
        if match.state is None:
            number = b"null" if seat is None else b"%d" % seat
            return b'%b%b,"version":%d,"prompt":null,%b' % (self._head, number, public.version, public.text)
        if seat is None:
            return b'%bnull,"version":%d,"prompt":null,%bnull,"legal":[],"events":%b}}' % (
                self._head,
                public.version,
                public.text,
                public.events,
            )
        i = match.plays_as(seat)
        if i is None:
            raise ValueError(f"seat {seat} does not play")
        return b'%b%d,"version":%d,"prompt":%d,%b%b,"legal":%b,"events":%b}}' % (
            self._head,
            seat,
            public.version,
            match.prompts[seat],
            public.text,
            public.own[i],
            match.game.move_json.encode_list(match.legal(seat)) if match.is_asked(seat) else b"[]",
            public.whispered.get(i, public.events),
        )

    def _now(self) -> _Public:
        if self._public is None or self._public.version != self.match.version:
            self._public = self._encode_public()
        return self._public

    def _encode_public(self) -> _Public:
        match = self.match
        game = match.game
        to_act = match.to_act
        if self._seats is None or self._seats[0] is not match.seats or self._seats[1] is not match.players:
            self._encode_seats()
        text = b'"status":"%b","reason":%b,"to_act":%b,"deadline":%b,"seats":%b,%b,%b,"%b":' % (
            match.status.encode(),
            b"null" if match.reason is None else encode(match.reason),
            encode([match.plays_as(seat) for seat in to_act]),
            self._deadline(to_act) if to_act else b"null",
            self._seats_json,
            self._constant,
            self._end() if match.over else b'"result":null,"seed":null,"hash":null,"signature":null',
            self._arm,
        )
        if match.state is None:
            return _Public(match.version, text + b"null}", b"[]", (), {})
        events, whispered = game.tellings(match.events)
        projection = match.projection
        return _Public(
            match.version,
            b'%b{%b"table":%b,"own":' % (text, self._name, projection.table),
            events,
            projection.own,
            whispered,
        )

    def _encode_seats(self) -> None:
        match = self.match
        self._seats_json = encode(seat_infos(match))
        self._holders = [
            (number, view_subject(match.id, number, seat.tenure))
            for number, seat in enumerate(match.seats)
            if seat.kind == HUMAN and not seat.left
        ]
        self._seats = match.seats, match.players

    def _deadline(self, to_act: Sequence[int]) -> bytes:
        """The first moment at which the clock moves for one of these seats; computers have no clock."""
        match = self.match
        clock = match.created.clock
        if clock is UNSET:
            return b"null"
        first = None
        for number in to_act:
            seat = match.seats[number]
            if seat.kind == HUMAN:
                at = match.prompt_at[number] + (0 if seat.absent else clock)
                first = at if first is None or at < first else first
        return b"null" if first is None else b'"%b"' % timestamp(first).encode()

    def _end(self) -> bytes:
        match = self.match
        return b'"result":%b,"seed":%b,"hash":"%b","signature":%b' % (
            encode(match.result),
            encode(match.seed and match.seed.hex()),
            match.head.hex().encode(),
            encode(self._sign and self._sign(match.head).hex()),
        )


def timestamp(at: int) -> str:
    """Return Unix milliseconds as RFC 3339 in UTC with three decimals: `2026-11-30T02:32:54.123Z`."""
    seconds, thousandths = divmod(at, 1000)
    return f"{_second(seconds)}.{thousandths:03}Z"


@lru_cache(maxsize=256)
def _second(seconds: int) -> str:
    days, rest = divmod(seconds, 86_400)
    minutes, second = divmod(rest, 60)
    hour, minute = divmod(minutes, 60)
    return f"{date(1970, 1, 1) + timedelta(days=days)}T{hour:02}:{minute:02}:{second:02}"
