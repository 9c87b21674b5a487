"""The table of any game that has no drawing here: what its JSON says, field by field."""

from typing import Any

from rich.text import Text

from services.tables.scene import Json, Scene, flow
from services.words import PER_SEAT

HEAD = ("",)
NUMBERS: frozenset[int] = frozenset()
WORDS: dict[str, dict[str, str]] = {}


def progress(scene: Scene) -> str:
    """Return how far the match has come: nobody knows."""
    del scene
    return ""


def cells(scene: Scene, seat: int) -> list[Text | str]:
    """Return what the table says seat by seat in numbers."""
    size = len(scene.seats)
    told = []
    for name, value in scene.table.items():
        if isinstance(value, list | tuple) and len(value) == size and (name in PER_SEAT or name.endswith("_sizes")):
            told.append(f"{name.replace('_', ' ')} {value[seat]}")
    return [Text(", ".join(told), "dim")]


def board(scene: Scene, width: int) -> list[Text]:
    """Return the fields of the table."""
    return _fields(scene, scene.table, width)


def hand(scene: Scene, own: Json, width: int) -> list[Text]:
    """Return the fields that only one seat sees."""
    return _fields(scene, own, width)


def _fields(scene: Scene, fields: Json, width: int) -> list[Text]:
    told = [
        Text.assemble((f"{name.replace('_', ' ')}: ", "dim"), scene.speaker.value(name, value))
        for name, value in fields.items()
        if value is not None and value not in ([], "")
    ]
    return flow("", told, width, " · ") if told else []


def facts(scene: Scene, name: str, fields: Json) -> dict[str, Any]:
    """Return what the sentence for a move may say besides its fields: nothing."""
    del scene, name, fields
    return {}
