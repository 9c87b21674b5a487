"""What a batch of the worker holds: what is to be decided, match by match, and what follows once it is committed."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from services.commands import Envelope, Receipt
from services.engine.leases import Held
from services.engine.live import Live, Message
from services.engine.thinkers import Decision
from services.store.commits import Commit
from services.store.intake import Delivery

Counted = tuple[str, str | None, str]
"""What is counted of a command: its kind, for a move its game, and its result."""


@dataclass(slots=True)
class Item:
    """Something to decide: a command, a member of `due`, or what a computer player decided on one."""

    delivery: Delivery | None
    envelope: Envelope | None
    member: str = ""
    redelivered: bool = False
    decision: Decision | None = None


@dataclass(slots=True)
class Group:
    """What a batch holds for one match, in order, and what was decided."""

    match: str
    held: Held
    items: list[Item] = field(default_factory=list)
    live: Live | None = None
    shut: str = ""
    """Why the match cannot be brought into memory by this worker, although nothing may be wrong with it."""
    receipts: list[tuple[Item, Receipt]] = field(default_factory=list)
    again: list[Message] = field(default_factory=list)
    """Views of entries that were committed before, but may not have been published."""
    settled: list[str] = field(default_factory=list)
    """Members of `due` that can go once everything is published."""
    postponed: dict[str, int] = field(default_factory=dict)
    poisoned: set[int] = field(default_factory=set)
    commit: Commit | None = None
    sent: int = 0
    """Views of versions below it are on their way, or have arrived."""


@dataclass(slots=True)
class Outcome:
    """What a batch that is committed leaves to be published, and what to be done after that."""

    done: Sequence[Group]
    messages: list[Message] = field(default_factory=list)
    views: int = 0
    refused: list[Delivery] = field(default_factory=list)
    accepted: list[Delivery] = field(default_factory=list)
    settled: dict[int, list[str]] = field(default_factory=dict)
    """By partition: members of `due` that can go."""
    counts: dict[Counted, int] = field(default_factory=dict)
