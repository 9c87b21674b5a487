"""What a player reads of a view: only what it takes to know whose turn it is, and to move."""

from typing import Any, Protocol, cast

import msgspec
from msgspec import Raw, Struct

from croupier.v1 import view_pb2
from services import wire

MAX_CACHED = 50_000
_LEGAL = msgspec.json.Decoder(list[Raw])


class Part(Struct, gc=False):
    """The game's part of a view: parsed, but kept as text until it is needed."""

    legal: Raw = Raw(b"[]")
    table: Raw = Raw(b"")


class View(Protocol):
    """A view as a player needs it."""

    version: int
    prompt: int | None
    status: str
    to_act: Any
    hash: str | None
    part: "Part | MessagePart | None"


class MessagePart:
    """The game's part as a message."""

    __slots__ = ("message",)

    def __init__(self, message: Any) -> None:
        """Keep the message."""
        self.message = message


class Sight:
    """Reads the views of one game."""

    def __init__(self, game: str) -> None:
        """Learn where the game's part stands in a view."""
        self.game = game
        self.arm = wire.arm(game)
        view = msgspec.defstruct(
            "JsonView",
            [
                ("version", int),
                ("status", str),
                ("to_act", tuple[int, ...]),
                ("prompt", int | None, None),
                ("hash", str | None, None),
                ("part", Part | None, None),
            ],
            rename={"part": self.arm},
            gc=False,  # it holds nothing that could hold it
        )
        self._view = view
        self.read: Any = msgspec.json.Decoder(view).decode
        """Returns the View that a message on NATS is. Raises msgspec.DecodeError."""
        self._moves: dict[bytes, bytes] = {}

    def of(self, message: view_pb2.View) -> View:
        """Return the View that a message of gRPC is."""
        part = getattr(message, self.arm) if message.HasField(self.arm) else None
        view = self._view(
            version=message.version,
            status=message.status,
            to_act=tuple(message.to_act),
            prompt=message.prompt if message.HasField("prompt") else None,
            hash=message.hash if message.HasField("hash") else None,
            part=None if part is None else MessagePart(part),
        )
        return cast("View", view)

    def legal(self, view: View) -> list[Any]:
        """Return the moves of a view, in either form that `move` takes."""
        part = view.part
        if part is None:
            return []
        if isinstance(part, MessagePart):
            return list(part.message.legal)
        return _LEGAL.decode(part.legal)

    def move(self, legal: Any) -> bytes:
        """Return the bytes of the GameMove that one of the moves is that `legal` gave."""
        if not isinstance(legal, Raw):
            if self.arm == wire.GENERIC:
                message = view_pb2.GameMove(generic=view_pb2.GenericGame(name=self.game, data=legal))
            else:
                message = view_pb2.GameMove(**{self.arm: legal})
            return message.SerializeToString()
        text = bytes(legal)
        move = self._moves.get(text)
        if move is None:
            if len(self._moves) >= MAX_CACHED:
                self._moves.clear()
            move = self._moves[text] = wire.move_from_json(self.game, text).SerializeToString()
        return move


def same_table(one: View, other: View) -> bool:
    """Whether two seats' views of one version show the same table; True if they came in forms that differ."""
    first, second = one.part, other.part
    if first is None or second is None:
        return first is second
    if isinstance(first, MessagePart):
        return not isinstance(second, MessagePart) or bool(first.message.table == second.message.table)
    return isinstance(second, MessagePart) or first.table == second.table
