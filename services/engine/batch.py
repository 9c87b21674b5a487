"""What a batch of the worker holds: what is to be decided, match by match, and what follows once it is committed."""

from collections.abc import Sequence

from msgspec import Struct

from services.commands import Envelope, Receipt
from services.engine.leases import Held
from services.engine.live import Live, Message
from services.engine.thinkers import Decision
from services.store.commits import Commit
from services.store.intake import Delivery

Counted = tuple[str, str | None, str]
"""What is counted of a command: its kind, for a move its game, and its result."""


class Item(Struct):
    """Something to decide: a command, a member of `due`, or what a computer player decided on one."""

    delivery: Delivery | None
    envelope: Envelope | None
    member: str = ""
    redelivered: bool = False
    decision: Decision | None = None


class Group(Struct):
    """What a batch holds for one match, in order, and what was decided."""

    match: str
    held: Held
    items: list[Item] = []
    live: Live | None = None
    shut: str = ""
    """Why the match cannot be brought into memory by this worker, although nothing may be wrong with it."""
    receipts: list[tuple[Item, Receipt]] = []
    again: list[Message] = []
    """Views of entries that were committed before, but may not have been published."""
    settled: list[str] = []
    """Members of `due` that can go once everything is published."""
    postponed: dict[str, int] = {}
    poisoned: set[int] = set()
    commit: Commit | None = None
    sent: int = 0
    """Views of versions below it are on their way, or have arrived."""


class Outcome(Struct):
    """What a batch that is committed leaves to be published, and what to be done after that."""

    done: Sequence[Group]
    messages: list[Message] = []
    views: int = 0
    refused: list[Delivery] = []
    accepted: list[Delivery] = []
    settled: dict[int, list[str]] = {}
    """By partition: members of `due` that can go."""
    counts: dict[Counted, int] = {}
