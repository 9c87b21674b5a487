"""Tokens: who may speak for a seat, for the host, or watch.

A token is a JSON Web Token (HS256). It names a match and a role; a seat's token also the seat, the tenure and the game.
It says that the service has given it out, not that the tenure still holds: that is for the match's owner to say.
"""

import time
from typing import Any, Literal, NamedTuple

import jwt

from services.commands import is_match_id, partition_of
from services.match.refused import Refused

ALGORITHM = "HS256"
AUDIENCE = "croupier"
LEEWAY_S = 30
"""How far the clocks of two match services may be apart."""
MAX_LENGTH = 1024

Role = Literal["seat", "host", "table"]


class SeatClaim(NamedTuple):
    """A tenure, and the game that its moves have to be of."""

    match: str
    seat: int
    tenure: int
    game: str


class Tokens:
    """Writes and reads tokens with one key, which all match services share."""

    def __init__(self, key: str, ttl_s: int, partitions: int) -> None:
        """Give out tokens that hold for `ttl_s` seconds; accept those of matches of `partitions`."""
        self._key = key
        self._ttl_s = ttl_s
        self._partitions = partitions

    def for_seat(self, claim: SeatClaim) -> str:
        """Return a token that opens one tenure."""
        return self._write(
            {"role": "seat", "match": claim.match, "seat": claim.seat, "tenure": claim.tenure, "game": claim.game}
        )

    def for_host(self, match: str) -> str:
        """Return a token that opens StartMatch and KickSeat."""
        return self._write({"role": "host", "match": match})

    def for_table(self, match: str) -> str:
        """Return a token that opens the public view."""
        return self._write({"role": "table", "match": match})

    def seat(self, token: str) -> SeatClaim:
        """Return the tenure that a token opens. Raises Refused: BAD_TOKEN, NOT_YOUR_SEAT for one of another role."""
        claims = self._read(token)
        if claims["role"] != "seat":
            raise Refused("NOT_YOUR_SEAT", "this token is not for a seat")
        return _seat_claim(claims)

    def host(self, token: str) -> str:
        """Return the match whose host holds this token. Raises Refused: BAD_TOKEN, NOT_HOST for another role."""
        claims = self._read(token)
        if claims["role"] != "host":
            raise Refused("NOT_HOST", "this token is not the host's")
        return str(claims["match"])

    def viewer(self, token: str) -> tuple[str, int | None, int | None]:
        """Return match, seat and tenure of the view that a token opens; seat and tenure None is the public view.

        Raises Refused: BAD_TOKEN, NOT_YOUR_SEAT for a host's.
        """
        claims = self._read(token)
        match claims["role"]:
            case "seat":
                return _seat_claim(claims)[:3]
            case "table":
                return claims["match"], None, None
        raise Refused("NOT_YOUR_SEAT", "a host's token opens no view")

    def _write(self, claims: dict[str, object]) -> str:
        now = int(time.time())
        return jwt.encode({**claims, "aud": AUDIENCE, "iat": now, "exp": now + self._ttl_s}, self._key, ALGORITHM)

    def _read(self, token: str) -> dict[str, Any]:
        if not token:
            raise Refused("BAD_TOKEN", "the token is missing")
        if len(token) > MAX_LENGTH:
            raise _forged()
        try:
            claims: dict[str, Any] = jwt.decode(
                token, self._key, algorithms=[ALGORITHM], audience=AUDIENCE, leeway=LEEWAY_S,
                options={"require": ["exp", "iat", "aud"], "strict_aud": True},
            )  # fmt: skip
        except jwt.ExpiredSignatureError:
            raise Refused("BAD_TOKEN", "the token has expired; repeat the call that gave it") from None
        except (jwt.InvalidTokenError, ValueError):  # ValueError: text that has no bytes, as lone surrogates
            raise _forged() from None
        match = claims.get("match")
        if (
            claims.get("role") not in ("seat", "host", "table")
            or not isinstance(match, str)
            or not is_match_id(match)
            or partition_of(match) >= self._partitions
        ):
            raise _forged()
        return claims


def _seat_claim(claims: dict[str, Any]) -> SeatClaim:
    seat, tenure, game = claims.get("seat"), claims.get("tenure"), claims.get("game")
    if type(seat) is not int or type(tenure) is not int or not isinstance(game, str) or seat < 0 or tenure < 0:
        raise _forged()
    return SeatClaim(claims["match"], seat, tenure, game)


def _forged() -> Refused:
    return Refused("BAD_TOKEN", "this is no token of this server")
