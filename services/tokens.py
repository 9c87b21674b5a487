"""Tokens: who may speak for a seat, for the host or for the operator, or watch.

A token is a JSON Web Token (HS256). Its audience says what it opens: `croupier/play` a view (and for a seat its moves),
`croupier/host` the lobby of a match, `croupier/operator` what only operators do. It says that the service has given it
out, not that a tenure still holds: that is for the match's owner to say.

Two keys are good at once, so that a key can be replaced while tokens of the old one are about: the first one signs,
both are accepted, and a token names its key in its header (`kid`). Operators' tokens are signed with the operator's own
keys, which nothing else is: who holds the other keys can make no operator of himself.
"""

import hashlib
import hmac
import time
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Self

import jwt

from engine.chance import length_prefixed
from engine.refusals import NotYourSeat, Refusal
from services.commands import is_match_id, partition_of
from services.settings import Settings, key_pair

ALGORITHM = "HS256"
LEEWAY_S = 30
"""How far the clocks of two services may be apart."""
SHORTEST_S = 60
"""No token holds for less, unless the settings say so."""
MAX_LENGTH = 1024
REMEMBERED = 8192
"""Tokens that need not be verified again, those used last; each takes a kilobyte or two."""

Role = Literal["seat", "table", "host", "operator"]
AUDIENCES: dict[Role, str] = {
    "seat": "croupier/play",
    "table": "croupier/play",
    "host": "croupier/host",
    "operator": "croupier/operator",
}


class BadToken(Refusal):
    """The token is missing, forged, signed with a key that is not good any more, or for another audience."""

    reason = "BAD_TOKEN"


class TokenExpired(Refusal):
    """The token was good; the call that gave it gives another one."""

    reason = "TOKEN_EXPIRED"


class NotHost(Refusal):
    """The token is good, but not the host's."""

    reason = "NOT_HOST"


class NotOperator(Refusal):
    """The credential is not the operator's."""

    reason = "NOT_OPERATOR"


class SeatClaim(NamedTuple):
    """A tenure, and the game that its moves have to be of."""

    match: str
    seat: int
    tenure: int
    game: str


class ViewClaim(NamedTuple):
    """A view that a token opens until `expires` (Unix seconds); seat and tenure None: the public one."""

    match: str
    seat: int | None
    tenure: int | None
    expires: int


def key_id(key: str) -> str:
    """Return the name of a key in the headers of its tokens; it tells nothing of the key."""
    return hashlib.sha256(length_prefixed(b"croupier/token-key", key.encode())).hexdigest()[:16]


class _Keys:
    """One or two keys: the first signs, each opens what it has signed."""

    def __init__(self, *keys: str | None) -> None:
        given = [key for key in keys if key is not None]
        self.first = given[0] if given else None
        self._known = {key_id(key): key for key in given}

    def sign(self, role: Role, claims: dict[str, object], ttl_s: int, until: int | None = None) -> str:
        assert self.first is not None
        now = int(time.time())
        expires = now + ttl_s if until is None else min(now + ttl_s, max(until, now + SHORTEST_S))
        claims = {"role": role, **claims, "aud": AUDIENCES[role], "iat": now, "exp": expires}
        return jwt.encode(claims, self.first, ALGORITHM, headers={"kid": key_id(self.first)})

    def read(self, token: str) -> dict[str, Any]:
        """Return the claims of a token whose role and audience belong together. Raises BadToken, TokenExpired."""
        if not token:
            raise BadToken("the token is missing")
        if len(token) > MAX_LENGTH:
            raise _forged()
        try:
            key = self._known.get(jwt.get_unverified_header(token).get("kid", ""))
            if key is None:
                raise _forged()
            claims: dict[str, Any] = jwt.decode(
                token, key, algorithms=[ALGORITHM], audience=set(AUDIENCES.values()), leeway=LEEWAY_S,
                options={"require": ["exp", "iat", "aud"]},
            )  # fmt: skip
        except jwt.ExpiredSignatureError:
            raise _expired() from None
        except (jwt.InvalidTokenError, ValueError, TypeError, RecursionError):
            # ValueError: text that has no bytes, as lone surrogates. RecursionError: JSON nested without end.
            raise _forged() from None
        role = claims.get("role")
        if not isinstance(role, str) or claims["aud"] != AUDIENCES.get(role):  # type: ignore[call-overload]  # any text
            raise _forged()
        return claims


class Tokens:
    """Writes and reads tokens with keys that all services share."""

    def __init__(self, key: str, ttl_s: int, partitions: int, other_key: str | None = None) -> None:
        """Give out tokens that hold for `ttl_s` seconds; accept those of either key for matches of `partitions`."""
        self._keys = _Keys(key, other_key)
        self._ttl_s = ttl_s
        self._partitions = partitions
        self._verified = lru_cache(REMEMBERED)(self._verify)
        """Remembers what was good, and nothing that was refused."""

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Take keys and times from the settings. Raises SettingsError without a key."""
        key, other = key_pair(settings, "token_key")
        return cls(key, settings.token_ttl_s, settings.partitions, other)

    def for_seat(self, claim: SeatClaim, until: int | None = None) -> str:
        """Return a token that opens one tenure, if `until` is given up to then (Unix seconds) or for a minute more."""
        claims: dict[str, object] = {
            "match": claim.match,
            "seat": claim.seat,
            "tenure": claim.tenure,
            "game": claim.game,
        }
        return self._keys.sign("seat", claims, self._ttl_s, until)

    def for_host(self, match: str) -> str:
        """Return a token that opens StartMatch and KickSeat."""
        return self._keys.sign("host", {"match": match}, self._ttl_s)

    def for_table(self, match: str) -> str:
        """Return a token that opens the public view."""
        return self._keys.sign("table", {"match": match}, self._ttl_s)

    def seat(self, token: str) -> SeatClaim:
        """Return the tenure that a token opens.

        Raises BadToken, TokenExpired, NotYourSeat for a token of another role.
        """
        claims = self._read(token)
        if claims["role"] != "seat":
            raise NotYourSeat("this token is not for a seat")
        return _seat_claim(claims)

    def host(self, token: str) -> str:
        """Return the match whose host holds this token. Raises BadToken, TokenExpired, NotHost for another role."""
        claims = self._read(token)
        if claims["role"] != "host":
            raise NotHost("this token is not the host's")
        return str(claims["match"])

    def view(self, token: str) -> ViewClaim:
        """Return the view that a token opens. Raises BadToken, TokenExpired, NotYourSeat for a host's."""
        claims = self._read(token)
        expires = int(claims["exp"])
        match claims["role"]:
            case "seat":
                return ViewClaim(*_seat_claim(claims)[:3], expires)
            case "table":
                return ViewClaim(claims["match"], None, None, expires)
        raise NotYourSeat("a host's token opens no view")

    def _read(self, token: str) -> dict[str, Any]:
        claims = self._verified(token)
        if int(claims["exp"]) <= time.time() - LEEWAY_S:  # it was good when it was verified
            raise _expired()
        return claims

    def _verify(self, token: str) -> dict[str, Any]:
        claims = self._keys.read(token)
        match = claims.get("match")
        if (
            claims["role"] == "operator"  # which is signed with other keys
            or not isinstance(match, str)
            or not is_match_id(match)
            or partition_of(match) >= self._partitions
        ):
            raise _forged()
        return claims


class Operators:
    """Knows operators: by the key itself, or by a token that was signed with it and holds for a while."""

    def __init__(self, key: str | None, other_key: str | None = None) -> None:
        """Accept either key; without any nobody is an operator."""
        self._texts = [text.encode() for text in (key, other_key) if text is not None]
        self._keys = _Keys(key, other_key)

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Take the keys from the settings."""
        given = (settings.operator_key, settings.operator_key_other)
        return cls(*(key.get_secret_value() if key else None for key in given))

    def __bool__(self) -> bool:
        return bool(self._texts)

    def token(self, ttl_s: int) -> str:
        """Return a token that makes its holder an operator for `ttl_s` seconds; only where there is a key."""
        return self._keys.sign("operator", {}, ttl_s)

    def admit(self, credential: str) -> None:
        """Return for an operator's key or token. Raises NotOperator, TokenExpired."""
        given = credential.encode(errors="replace")
        if any([hmac.compare_digest(given, text) for text in self._texts]):  # noqa: C419 - all, so that time tells nothing
            return
        try:
            if self._keys.read(credential)["role"] == "operator":
                return
        except BadToken:
            pass
        raise NotOperator("only the operator may do this")


def _seat_claim(claims: dict[str, Any]) -> SeatClaim:
    seat, tenure, game = claims.get("seat"), claims.get("tenure"), claims.get("game")
    if type(seat) is not int or type(tenure) is not int or not isinstance(game, str) or seat < 0 or tenure < 0:
        raise _forged()
    return SeatClaim(claims["match"], seat, tenure, game)


def _forged() -> BadToken:
    return BadToken("this is no token of this server")


def _expired() -> TokenExpired:
    return TokenExpired("the token has expired; repeat the call that gave it")
