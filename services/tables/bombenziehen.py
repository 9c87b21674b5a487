"""The table of Bombenziehen."""

from typing import Any

from rich.text import Text

from services.tables.scene import Json, Scene, card_row, counted, flow
from services.words import ByLanguage

WORDS: ByLanguage = {
    "de": {
        "cards": "Karten",
        "owed": "muss noch {0}× ziehen",
        "shield": "Schild",
        "out": "ausgeschieden, Platz {0}",
        "danger": "Gefahr",
        "gauge": "{0} von {1} Karten: {2} %",
        "discards": "Ablage ({0})",
        "more": "…",
        "hand": "Hand",
        "known": "du weißt",
        "known place": "{0}.",
        "left": "{0} im Spiel",
    },
    "en": {
        "cards": "cards",
        "owed": "must still draw {0}×",
        "shield": "shield",
        "out": "out, place {0}",
        "danger": "danger",
        "gauge": "{0} of {1} cards: {2} %",
        "discards": "discards ({0})",
        "more": "…",
        "hand": "hand",
        "known": "you know",
        "known place": "{0}.",
        "left": "{0} left",
    },
}

HEAD = ("cards", "")
NUMBERS = frozenset({0})
GAUGE = 20
HIGH = 25
"""From so many percent on the gauge is red."""


def progress(scene: Scene) -> str:
    """Return how far the match has come."""
    return WORDS[scene.speaker.lang]["left"].format(sum(scene.table["alive"]))


def cells(scene: Scene, seat: int) -> list[Text | str]:
    """Return what stands behind a seat's name."""
    words, table = WORDS[scene.speaker.lang], scene.table
    if not table["alive"][seat]:
        place = len(table["alive"]) - table["out"].index(seat)
        return ["", Text(words["out"].format(place), "red")]
    note = Text()
    if table["shields"][seat]:
        note.append(words["shield"], "bold blue")
    if table["turn"] == seat and table["owed"] > 1:
        note.append(" · " if note else "").append(words["owed"].format(table["owed"]), "yellow")
    return [str(table["hand_sizes"][seat]), note]


def board(scene: Scene, width: int) -> list[Text]:
    """Return the danger gauge and the last discards."""
    words, table = WORDS[scene.speaker.lang], scene.table
    percent = round(100 * table["bombs"] / table["pile"]) if table["pile"] else 0
    filled = min(GAUGE, round(GAUGE * percent / 100))
    style = "bold red" if percent >= HIGH else "bold yellow"
    gauge = Text.assemble(
        (f"{words['danger']} ", "dim"),
        ("█" * filled, style),
        ("░" * (GAUGE - filled), "dim"),
        (f" {words['gauge'].format(table['bombs'], table['pile'], percent)}", style),
    )
    discards = table["discard"]
    if not discards:
        return [gauge]
    label = words["discards"].format(len(discards))
    shown = [scene.speaker.card(code) for code in reversed(discards)]
    [line, *rest] = flow(label, shown, width - 2)
    return [gauge, line.append(" …") if rest else line]


def hand(scene: Scene, own: Json, width: int) -> list[Text]:
    """Return what only one seat sees: its cards, and what it knows of the pile."""
    words = WORDS[scene.speaker.lang]
    lines = flow(words["hand"], counted(scene, own["hand"]), width)
    if own["known"]:
        places = [
            Text.assemble(words["known place"].format(int(each["index"]) + 1), card_row(scene, [each["card"]])[0])
            for each in own["known"]
        ]
        lines += flow(words["known"], places, width)
    return lines


def facts(scene: Scene, name: str, fields: Json) -> dict[str, Any]:
    """Return what the sentence for a move may say besides its fields: nothing."""
    del scene, name, fields
    return {}
