"""Answers NATS' question who may connect: a token of this server's opens its own view, everything else nothing.

The server asks on a subject of an account that only this service is in, and waits. Without an answer it lets nobody in.
What a connection may do is decided once, when it is made: no message is looked at.
"""

from typing import Any, NamedTuple

import structlog
from nats.aio.msg import Msg

from engine.refusals import Refusal
from services.auth import nats_jwt, rights
from services.auth.nats_jwt import CurveKey, Issuer, NotNatsToken
from services.bus import Bus
from services.metrics import Metrics
from services.tokens import LEEWAY_S, Tokens

SERVER_KEY = "Nats-Server-Xkey"
SUBSCRIPTIONS = 8
"""Most that a token's holder may have at once."""
USER_KEY_LENGTH = 56
PAYLOAD = 1024
"""Bytes of the largest message that it may send; it may send none."""

log = structlog.get_logger()


class _Asked(NamedTuple):
    """What of a server's question matters."""

    server: str
    """Its public key, for which the answer is."""
    user: str
    """The key that the connection is known by; new for each."""
    token: str


class Callout:
    """Answers one server's, or a cluster's, questions."""

    def __init__(self, tokens: Tokens, issuer: Issuer, curve: CurveKey | None, account: str, metrics: Metrics) -> None:
        """Prepare; `account` is the one that token holders are let into."""
        self._tokens = tokens
        self._issuer = issuer
        self._curve = curve
        self._account = account
        self._metrics = metrics

    async def listen(self, bus: Bus) -> None:
        """Answer from now on, in turn with other callout services."""

        async def asked(message: Msg) -> None:
            answer = self.answer(message.data, (message.headers or {}).get(SERVER_KEY))
            if answer is not None:
                await bus.send(message.reply, answer)

        await bus.subscribe(rights.CALLOUT_SUBJECT, asked, queue=rights.CALLOUT_QUEUE)

    def answer(self, question: bytes, server_key: str | None) -> bytes | None:
        """Return the answer to a server's question, sealed if the question was; None to one that no server asks."""
        try:
            asked = self._open(question, server_key)
        except NotNatsToken as error:
            log.error("callout_not_understood", error=str(error))  # noqa: TRY400 - where it was raised says nothing
            return None
        try:
            nats = {"jwt": self._user(asked), "error": ""}
            self._metrics.nats_logins.labels(result="allowed").inc()
        except Refusal as refusal:
            log.info("nats_login_refused", reason=refusal.reason, why=refusal.detail)
            self._metrics.nats_logins.labels(result=refusal.reason).inc()
            nats = {"jwt": "", "error": f"{refusal.reason}: {refusal.detail}"}
        nats |= {"type": "authorization_response", "version": 2}  # type: ignore[dict-item]  # a number among strings
        answer = self._issuer.sign(asked.user, asked.server, nats).encode()
        return answer if self._curve is None or server_key is None else self._curve.seal(answer, server_key)

    def _open(self, question: bytes, server_key: str | None) -> _Asked:
        """Raise NotNatsToken unless the question is one of a NATS server, sealed as agreed."""
        if self._curve is not None:
            if server_key is None:
                raise NotNatsToken("the server does not seal what it asks, although this service has a key for it")
            question = self._curve.open(question, server_key)
        claims = nats_jwt.read(question)
        try:
            nats = claims["nats"]
            server, user, options = nats["server_id"]["id"], nats["user_nkey"], nats["connect_opts"]
            asked = _Asked(server, user, str(options.get("auth_token") or ""))
        except (KeyError, TypeError, AttributeError):
            raise NotNatsToken("this asks something else") from None
        if claims["iss"] != server or not server.startswith("N") or not _is_user(user):
            raise NotNatsToken("the question is not signed by the server that it names")
        return asked

    def _user(self, asked: _Asked) -> str:
        """Return the user that a token's holder is, until the token expires. Raises Refusal."""
        match, seat, tenure, expires = self._tokens.view(asked.token)
        allowed = rights.of_view(match, seat, tenure)
        return self._issuer.sign(asked.user, self._account, _user_claims(allowed.subscribe), expires + LEEWAY_S)


def _is_user(key: object) -> bool:
    return isinstance(key, str) and key.startswith("U") and len(key) <= USER_KEY_LENGTH


def _user_claims(subscribe: tuple[str, ...]) -> dict[str, Any]:
    return {
        "type": "user",
        "version": 2,
        "subs": SUBSCRIPTIONS,
        "data": -1,
        "payload": PAYLOAD,
        "pub": {"deny": [">"]},  # nothing listed would mean that everything may be published
        "sub": {"allow": list(subscribe)},
        "allowed_connection_types": ["STANDARD", "WEBSOCKET"],
    }
