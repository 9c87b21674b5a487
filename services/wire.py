"""The engine's values as protobuf, joined by their equal names.

A game whose messages are in `croupier.v1` has an arm of its own in every oneof; all others share the arm `generic`.
"""

from collections.abc import Mapping
from typing import Any

from croupier.v1 import view_pb2
from engine.game import Options, encode

GENERIC = "generic"
"""The arm of games that were registered from outside."""

_ARMS = frozenset(field.name for field in view_pb2.View.DESCRIPTOR.oneofs_by_name["game"].fields) - {GENERIC}


def arm(game: str) -> str:
    """Return the name under which a game's part stands in every oneof."""
    return game if game in _ARMS else GENERIC


def options_to_json(game: str, options: Options | Mapping[str, Any]) -> bytes:
    """Return the JSON of GameOptions: the options under the game's arm."""
    if arm(game) == GENERIC:
        return encode({GENERIC: {"name": game, "data": options}})
    return encode({game: options})
