"""The table of Clever gedreht."""

from typing import Any

from rich.text import Text

from services.tables.scene import Json, Scene, card_row, flow, padded
from services.words import UNSEEN, ByLanguage

WORDS: ByLanguage = {
    "de": {
        "open": "offen",
        "points": "Punkte",
        "dealer": "Geber",
        "finisher": "ist fertig: letzte Runde",
        "round": "Runde {0} von {1}",
        "top": "Ablage",
        "none": "leer",
        "taken": "genommen",
        "drawn": "gezogen",
        "piles": "Nachziehstapel {0} · abgelegt {1}",
        "turned": "umgedreht",
        "sum": "zählt {0}",
    },
    "en": {
        "open": "open",
        "points": "points",
        "dealer": "dealer",
        "finisher": "is done: last lap",
        "round": "round {0} of {1}",
        "top": "discard",
        "none": "empty",
        "taken": "taken",
        "drawn": "drawn",
        "piles": "draw pile {0} · discarded {1}",
        "turned": "turned",
        "sum": "counts {0}",
    },
}

HEAD = ("open", "points", "")
NUMBERS = frozenset({0, 1})
COLUMNS = 3
CELL = 6
GRID = COLUMNS * CELL
GAP = 2


def progress(scene: Scene) -> str:
    """Return how far the match has come."""
    rounds = scene.options.get("rounds") or len(scene.seats)
    return WORDS[scene.speaker.lang]["round"].format(scene.table["round"], rounds)


def cells(scene: Scene, seat: int) -> list[Text | str]:
    """Return what stands behind a seat's name."""
    words, table = WORDS[scene.speaker.lang], scene.table
    note = Text(words["dealer"] if table["dealer"] == seat else "", "dim")
    if table.get("finisher") == seat:
        note = Text(words["finisher"], "bold red")
    opened = sum(1 for card in table["grids"][seat]["cards"] if card)
    return [str(opened), str(table["totals"][seat]), note]


def board(scene: Scene, width: int) -> list[Text]:
    """Return all grids side by side, and the piles."""
    words, table = WORDS[scene.speaker.lang], scene.table
    beside = max(1, (width + GAP) // (GRID + GAP))
    seats = list(scene.seats)
    lines: list[Text] = []
    for first in range(0, len(seats), beside):
        group = [_grid(scene, seat) for seat in seats[first : first + beside]]
        lines += [Text(" " * GAP).join(row) for row in zip(*group, strict=True)]
    facts = [card_row(scene, [table["top"]])[0] if table.get("top") else Text(words["none"])]
    if table.get("taken"):
        facts.append(Text.assemble((f"{words['taken']} ", "dim"), card_row(scene, [table["taken"]])[0]))
    facts.append(Text(words["piles"].format(table["draw_pile"], table["discard_pile"])))
    return lines + flow(words["top"], facts, width, "   ")


def _grid(scene: Scene, seat: int) -> list[Text]:
    cards = scene.table["grids"][seat]["cards"]
    mine = {each["slot"]: each["card"] for each in (scene.own or {}).get("turned", ()) if scene.seat == seat}
    rows = [padded(scene.speaker.name(seat), GRID)]
    for first in range(0, len(cards), COLUMNS):
        row = Text()
        for slot in range(first, min(first + COLUMNS, len(cards))):
            row.append(f"{slot + 1}:", "dim").append_text(_cell(scene, cards[slot], mine.get(slot)))
        rows.append(padded(row, GRID))
    return rows


def _cell(scene: Scene, card: str, mine: str | None) -> Text:
    """Return a card in four cells: open, turned, or turned and one's own."""
    if card:
        return Text.assemble((f"{_short(scene, card):^3}", f"{scene.speaker.style(card)} reverse"), " ")
    if mine:
        return padded(Text(f"({_short(scene, mine)})", "green"), 4)
    return padded(Text(UNSEEN, "dim"), 4)


def _short(scene: Scene, card: str) -> str:
    return scene.speaker.card(card).plain[:2]


def hand(scene: Scene, own: Json, width: int) -> list[Text]:
    """Return what only one seat sees: what its turned cards count, and the card it drew."""
    words = WORDS[scene.speaker.lang]
    facts = []
    if own.get("drawn"):
        facts.append(Text.assemble((f"{words['drawn']} ", "dim"), card_row(scene, [own["drawn"]])[0]))
    if own["turned"]:
        extra = scene.speaker.catalogue.extra
        value = sum(int(extra.get(each["card"], {}).get("value", 0)) for each in own["turned"])
        cards = " ".join(f"{int(each['slot']) + 1}:{_short(scene, each['card'])}" for each in own["turned"])
        facts.append(Text.assemble((f"{words['turned']} ", "dim"), cards, f" – {words['sum'].format(value)}"))
    return flow("", facts, width, "   ") if facts else []


def facts(scene: Scene, name: str, fields: Json) -> dict[str, Any]:
    """Return what the sentence for a move may say besides its fields: the cards in the slots it names."""
    grids = scene.table["grids"]
    known: dict[str, Any] = {"top": scene.table.get("top")} if name == "take" else {}
    if scene.seat is not None and "slot" in fields and name != "flip":
        known["own_card"] = grids[scene.seat]["cards"][fields["slot"]]
    if "seat" in fields and "other_slot" in fields:
        known["other_card"] = grids[fields["seat"]]["cards"][fields["other_slot"]]
    return known
