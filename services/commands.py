"""What goes from a match service to the owner of a partition, and what comes back.

Commands travel through the intake stream as MessagePack; receipts, questions and answers over NATS likewise. None of it
is a public contract, but match services and workers of neighbouring releases must understand each other: fields are
only added, at the end and with defaults.
"""

import hashlib
from base64 import b32encode
from typing import Any

import msgspec
from msgspec import Struct

from engine.chance import length_prefixed
from engine.journal import SeatPlan


class Create(Struct, tag="create", array_like=True, frozen=True):
    """Open a match. `request` is `request_hash` of the creator's request id, of a private match of its invite."""

    match: str
    request: str
    rules: str
    options: dict[str, Any]
    seats: tuple[SeatPlan, ...]
    clock: int | None
    private: bool
    code: str | None = None
    absent: SeatPlan | None = None


class Join(Struct, tag="join", array_like=True, frozen=True):
    """Take a seat; `seat` None is the lowest open one. `invite` is the `invite_hash` of the one given."""

    match: str
    request: str
    name: str
    client_seed: bytes
    seat: int | None
    invite: str | None = None


class Leave(Struct, tag="leave", array_like=True, frozen=True):
    """Give a seat up."""

    match: str
    seat: int
    tenure: int


class Kick(Struct, tag="kick", array_like=True, frozen=True):
    """Free a seat of the lobby, if given only the tenure that is meant."""

    match: str
    seat: int
    tenure: int | None


class Start(Struct, tag="start", array_like=True, frozen=True):
    """Start with the seats that are taken."""

    match: str


class Abort(Struct, tag="abort", array_like=True, frozen=True):
    """End a match from outside."""

    match: str
    reason: str


class Submit(Struct, tag="submit", array_like=True, frozen=True):
    """A move: the one-key JSON of the game's contract, for a seat's prompt."""

    match: str
    seat: int
    tenure: int
    prompt: int
    move: bytes


Command = Create | Join | Leave | Kick | Start | Abort | Submit


class Envelope(Struct, array_like=True, frozen=True):
    """A command and where its receipt goes: to `receipts.<service>`, named by `id`."""

    service: str
    id: int
    command: Command


class Receipt(Struct, array_like=True, frozen=True):
    """What became of a command: the version of its entry, or a refusal (`reason`, `detail`, `fields`).

    `seat` and `tenure` answer a join; `view` (JSON) a create or join; `appended` tells that it was no repeat.
    """

    id: int
    version: int | None = None
    reason: str | None = None
    detail: str = ""
    fields: dict[str, str | int] = {}
    seat: int | None = None
    tenure: int | None = None
    view: bytes | None = None
    appended: bool = True


class ViewQuestion(Struct, tag="view", array_like=True, frozen=True):
    """What a seat (None: a spectator) sees now, and the events it missed since a version.

    `invite`: of one who has no token yet, the `invite_hash` of what he gave, empty for nothing; None: he has a token.
    """

    match: str
    seat: int | None
    tenure: int | None
    since: int | None
    invite: str | None = None


class OutcomeQuestion(Struct, tag="outcome", array_like=True, frozen=True):
    """What became of a command whose receipt did not come."""

    command: Command


Question = ViewQuestion | OutcomeQuestion


class ViewAnswer(Struct, array_like=True, frozen=True):
    """The present view and the missed events as JSON; `truncated`: more were missed than are remembered."""

    view: bytes = b""
    missed: list[bytes] = []
    truncated: bool = False
    reason: str | None = None
    detail: str = ""
    fields: dict[str, str | int] = {}


class OutcomeAnswer(Struct, array_like=True, frozen=True):
    """The receipt, or None while nothing is known of the command."""

    receipt: Receipt | None = None


ENVELOPES = msgspec.msgpack.Decoder(Envelope)
RECEIPTS = msgspec.msgpack.Decoder(list[Receipt])
QUESTIONS = msgspec.msgpack.Decoder(Question)
VIEW_ANSWERS = msgspec.msgpack.Decoder(ViewAnswer)
OUTCOME_ANSWERS = msgspec.msgpack.Decoder(OutcomeAnswer)
pack = msgspec.msgpack.Encoder().encode

MATCH_ID_LENGTH = 25
ANSWERS_TO_MATCH = "_INBOX.match"
"""Where a match service wants its questions answered; nothing is ever answered elsewhere."""


def request_hash(request_id: bytes) -> str:
    """Return what the journal keeps of a secret request id (hex)."""
    return hashlib.sha256(length_prefixed(b"croupier/request", request_id)).hexdigest()


def invite_of(request_id: bytes) -> str:
    """Return the invite of the private match that a create with this request id makes: 26 letters and digits.

    It is a hash of the request id, so it makes nobody the host; and what the journal keeps of a private match's request
    is the hash of the invite, so an owner knows an invite when he sees one.
    """
    digest = hashlib.sha256(length_prefixed(b"croupier/invite", request_id)).digest()
    return b32encode(digest[:16]).decode().lower().rstrip("=")


def invite_hash(invite: str) -> str:
    """Return what the journal of a private match keeps of its invite (hex)."""
    return request_hash(invite.encode(errors="replace"))


def match_id(request_id: bytes, partitions: int) -> str:
    """Return the id of the match that a create with this request id makes, the same everywhere.

    Three digits of the partition and 22 base-32 characters, all in [0-9a-z].
    """
    digest = hashlib.sha256(length_prefixed(b"croupier/match", request_id)).digest()
    partition = int.from_bytes(digest[:8], "big") % partitions
    return f"{partition:03d}{b32encode(digest[8:]).decode().lower()[:22]}"


def rematch_request(match: str) -> bytes:
    """Return the request id of the one rematch of a match: everybody finds the same."""
    return hashlib.sha256(length_prefixed(b"croupier/rematch", match.encode())).digest()


def code_seed_of(request_id: bytes, size: int) -> bytes:
    """Return the seed of the new game code that a create with this request id asks for, the same for a repeat."""
    return hashlib.sha256(length_prefixed(b"croupier/code-seed", request_id)).digest()[:size]


def client_seed_of(request_id: bytes) -> bytes:
    """Return the client seed of a join that gives none: secret until it is in the journal, the same for a repeat."""
    return hashlib.sha256(length_prefixed(b"croupier/client-seed", request_id)).digest()


def is_match_id(text: str) -> bool:
    """Return whether a text has the form of a match id; anything else must not reach a key or a subject."""
    return (
        len(text) == MATCH_ID_LENGTH and text[:3].isdecimal() and text.isascii() and text.isalnum() and text.islower()
    )


def partition_of(match: str) -> int:
    """Return the partition that a match id names."""
    return int(match[:3])


def view_subject(match: str, seat: int | None, tenure: int | None) -> str:
    """Return the NATS subject of a tenure's views; without a seat that of the spectators."""
    return f"view.{match}.table" if seat is None else f"view.{match}.{seat}.{tenure}"
