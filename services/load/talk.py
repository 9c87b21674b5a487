"""How a coordinator and its workers talk: a line of JSON a message, over TCP.

Both prove that they know a secret, which itself never crosses the wire: each answers the other's random challenge with
an HMAC over both. What follows is neither encrypted nor signed, so it belongs on a network that is trusted. It holds no
key: the operator's is in the environment of each worker.
"""

import asyncio
import hashlib
import hmac
import secrets
from typing import Any, Self

import msgspec
from msgspec import Struct

from services.load.checks import Checked
from services.load.ending import Ended
from services.load.figures import Interval
from services.load.plan import Share, split

SECRET = "CROUPIER_LOAD_SECRET"  # noqa: S105 - the name of the variable that holds it
OPERATOR_KEY = "CROUPIER_OPERATOR_KEY"
NATS_USER = "CROUPIER_NATS_USER"
NATS_PASSWORD = "CROUPIER_NATS_PASSWORD"  # noqa: S105 - the name of a variable
MAX_LINE = 4 * 1024 * 1024
HANDSHAKE_S = 5.0
BEAT_S = 1.0
"""How often each side says that it is there."""
SILENT_S = 15.0
"""For how long one side may say nothing, before the other takes it for lost."""


class TalkError(ConnectionError):
    """The other side is gone, or is not who it should be."""


class Challenge(Struct, frozen=True, tag=True):
    """The coordinator's first word."""

    nonce: str


class Hello(Struct, frozen=True, tag=True):
    """A worker's answer."""

    nonce: str
    proof: str
    host: str
    pid: int
    cores: int


class Welcome(Struct, frozen=True, tag=True):
    """The coordinator knows the secret, too."""

    proof: str


class Work(Struct, frozen=True, tag=True):
    """Open these matches."""

    share: Share


class Opened(Struct, frozen=True, tag=True):
    """They are open."""


class Play(Struct, frozen=True, tag=True):
    """Let the players play."""


class Measure(Struct, frozen=True, tag=True):
    """What comes from now on counts."""


class Seen(Struct, frozen=True, tag=True):
    """What was seen since the last report; `measured`: after the worker was told to measure."""

    interval: Interval
    measured: bool


class Alive(Struct, frozen=True, tag=True):
    """Whoever says so is there, from either side."""


class Stop(Struct, frozen=True, tag=True):
    """Report for the last time, end all matches, look at the journals; `gone`: the server is, so wait for nothing."""

    gone: bool = False


class Stopped(Struct, frozen=True, tag=True):
    """Nothing is measured any more."""

    interval: Interval
    behind: int


class Checking(Struct, frozen=True, tag=True):
    """How many journals have been looked at, of how many."""

    done: int
    of: int


class Done(Struct, frozen=True, tag=True):
    """The end of a worker's work."""

    checked: Checked
    ended: Ended


class Failed(Struct, frozen=True, tag=True):
    """A worker gives up."""

    reason: str


Message = (
    Challenge
    | Hello
    | Welcome
    | Work
    | Opened
    | Play
    | Measure
    | Alive
    | Seen
    | Stop
    | Stopped
    | Checking
    | Done
    | Failed
)
_MESSAGES: Any = msgspec.json.Decoder(Message)


class Talk:
    """One connection, seen from either side."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Talk over a connection that is open."""
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, address: str) -> Self:
        """Connect to `host:port`. Raises OSError."""
        host, port = split(address)
        return cls(*await asyncio.open_connection(host, port, limit=MAX_LINE))

    def send(self, message: Message) -> None:
        """Send, sooner or later; lost if the other side is gone."""
        if not self._writer.is_closing():
            self._writer.write(msgspec.json.encode(message) + b"\n")

    async def receive(self) -> Any:
        """Return the next message. Raises TalkError."""
        try:
            line = await self._reader.readline()
            if not line.endswith(b"\n"):
                raise TalkError("the connection has ended")
            return _MESSAGES.decode(line)
        except (OSError, ValueError) as error:  # ValueError: a line too long, or no message
            raise TalkError(str(error)) from None

    async def close(self) -> None:
        """Send what is left, then close."""
        self._writer.close()
        try:
            async with asyncio.timeout(HANDSHAKE_S):
                await self._writer.wait_closed()
        except OSError:
            pass  # the other side was faster

    async def admit(self, secret: str) -> Hello:
        """As coordinator: let a worker in. Raises TalkError, TimeoutError."""
        nonce = secrets.token_hex(16)
        self.send(Challenge(nonce))
        async with asyncio.timeout(HANDSHAKE_S):
            hello = await self.receive()
        if not isinstance(hello, Hello) or not hmac.compare_digest(
            hello.proof, _proof(secret, "worker", nonce, hello.nonce)
        ):
            self.send(Failed(f"wrong {SECRET}"))
            raise TalkError("somebody without the secret knocked")
        self.send(Welcome(_proof(secret, "coordinator", nonce, hello.nonce)))
        return hello

    async def ask_in(self, secret: str, host: str, pid: int, cores: int) -> None:
        """As worker: be let in. Raises TalkError, TimeoutError."""
        async with asyncio.timeout(HANDSHAKE_S):
            try:
                challenge = await self.receive()
            except TalkError:
                challenge = None
            if not isinstance(challenge, Challenge):
                raise TalkError("whoever listens there is no coordinator of a load")
            nonce = secrets.token_hex(16)
            self.send(Hello(nonce, _proof(secret, "worker", challenge.nonce, nonce), host, pid, cores))
            welcome = await self.receive()
        if isinstance(welcome, Failed):
            raise TalkError(welcome.reason)
        proof = _proof(secret, "coordinator", challenge.nonce, nonce)
        if not isinstance(welcome, Welcome) or not hmac.compare_digest(welcome.proof, proof):
            raise TalkError("whoever listens there does not know the secret")


def _proof(secret: str, who: str, *nonces: str) -> str:
    return hmac.new(secret.encode(), " ".join((who, *nonces)).encode(), hashlib.sha256).hexdigest()
