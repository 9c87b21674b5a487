"""What a drawing is made from, and the ways in which lines are laid out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text

from services.words import Speaker

Json = Mapping[str, Any]
GAP = 2


@dataclass(frozen=True)
class Scene:
    """A table as somebody sees it: the JSON of `table`, of `own` for a player, and what the view says of the seats."""

    speaker: Speaker
    table: Json
    own: Json | None = None
    seat: int | None = None
    """Whose `own` it is, by the game's numbering."""
    options: Json = field(default_factory=dict)
    to_act: frozenset[int] = frozenset()
    notes: Mapping[int, str] = field(default_factory=dict)
    """What is to be said of a seat behind its name: absent, a computer level."""
    result: Json | None = None

    @property
    def seats(self) -> range:
        """The seats of the game."""
        return range(len(self.speaker.names))

    def of(self, seat: int, own: Json) -> "Scene":
        """Return the same table as another seat sees it."""
        return Scene(self.speaker, self.table, own, seat, self.options, self.to_act, self.notes, self.result)


def flow(label: str, items: Iterable[Text | str], width: int, gap: str = " ") -> list[Text]:
    """Return the items behind a label, broken into lines of at most `width` cells where they allow it."""
    indent = " " * (Text(label).cell_len + 1 if label else 0)
    lines = [Text.assemble((f"{label} " if label else "", "dim"))]
    full = False
    for item in items:
        if full and lines[-1].cell_len + len(gap) + _cells(item) > width:
            lines.append(Text(indent))
            full = False
        if full:
            lines[-1].append(gap)
        lines[-1].append_text(item) if isinstance(item, Text) else lines[-1].append(item, "default")
        full = True
    return lines


def _cells(item: Text | str) -> int:
    return item.cell_len if isinstance(item, Text) else Text(item).cell_len


def padded(item: Text | str, width: int, *, right: bool = False) -> Text:
    """Return a text of exactly `width` cells, cut off or filled with blanks."""
    text = item.copy() if isinstance(item, Text) else Text(item)
    text.truncate(max(width, 0), overflow="ellipsis")
    blank = " " * (width - text.cell_len)
    return Text(blank).append_text(text) if right else text.append(blank, "default")


def aligned(
    rows: Sequence[Sequence[Text | str]], head: Sequence[str] = (), numbers: frozenset[int] = frozenset()
) -> list[Text]:
    """Return rows whose columns stand one below the other; `numbers` are the columns that stand to the right."""
    all_rows: list[Sequence[Text | str]] = [[Text(title, "dim") for title in head], *rows] if any(head) else list(rows)
    columns = max(map(len, all_rows), default=0)
    widths = [max((_cells(row[place]) for row in all_rows if place < len(row)), default=0) for place in range(columns)]
    lines = []
    for row in all_rows:
        line = Text()
        for place, item in enumerate(row):
            line.append(" " * GAP if place else "")
            line.append_text(padded(item, widths[place], right=place in numbers))
        line.rstrip()
        lines.append(line)
    return lines


def card_row(scene: Scene, codes: Sequence[str | None]) -> list[Text]:
    """Return cards with a blank on either side in their colour, as they lie on a table."""
    return [_tile(scene, code) for code in codes]


def _tile(scene: Scene, code: str | None) -> Text:
    card = scene.speaker.card(code)
    return Text(f" {card.plain} ", card.style)


def counted(scene: Scene, codes: Sequence[str]) -> list[Text]:
    """Return each card once, with how many there are: `2× Dud`."""
    tiles = []
    for code in dict.fromkeys(codes):
        number = codes.count(code)
        tile = _tile(scene, code)
        tiles.append(Text.assemble(f"{number}×", tile) if number > 1 else tile)
    return tiles
