"""The table of Timo's Twist."""

from typing import Any

from rich.text import Text

from services.tables.scene import Json, Scene, card_row, flow
from services.words import ByLanguage

WORDS: ByLanguage = {
    "de": {
        "cards": "Karten",
        "points": "Punkte",
        "dealer": "Geber",
        "round": "Runde {0} bis {1} Punkte",
        "timo": "hat nicht „TIMO!“ gerufen",
        "top": "offen",
        "color": "Farbe",
        "any": "jede",
        "pending": "Strafkarten: {0}",
        "piles": "Nachziehstapel {0} · Ablage {1}",
        "1": "↻ im Uhrzeigersinn",
        "-1": "↺ gegen den Uhrzeigersinn",
        "hand": "Hand",
        "drawn": "gezogen",
    },
    "en": {
        "cards": "cards",
        "points": "points",
        "dealer": "dealer",
        "round": "round {0} up to {1} points",
        "timo": "has not called “TIMO!”",
        "top": "open",
        "color": "colour",
        "any": "any",
        "pending": "penalty cards: {0}",
        "piles": "draw pile {0} · discards {1}",
        "1": "↻ clockwise",
        "-1": "↺ anticlockwise",
        "hand": "hand",
        "drawn": "drawn",
    },
}

HEAD = ("cards", "points", "")
NUMBERS = frozenset({0, 1})


def progress(scene: Scene) -> str:
    """Return how far the match has come."""
    return WORDS[scene.speaker.lang]["round"].format(scene.table["round"], scene.options.get("target", 300))


def cells(scene: Scene, seat: int) -> list[Text | str]:
    """Return what stands behind a seat's name."""
    words, table = WORDS[scene.speaker.lang], scene.table
    notes = [words["dealer"]] if table["dealer"] == seat else []
    note = Text(" · ".join(notes), "dim")
    if table.get("timo_window") == seat:
        note = Text(words["timo"], "bold red")
    return [str(table["hand_sizes"][seat]), str(table["totals"][seat]), note]


def board(scene: Scene, width: int) -> list[Text]:
    """Return the piles."""
    words, table, speaker = WORDS[scene.speaker.lang], scene.table, scene.speaker
    color = table.get("color")
    wanted = Text(speaker.word("color", color), speaker.words.STYLES[color]) if color else Text(words["any"])
    facts = [card_row(scene, [table["top"]])[0], Text.assemble((f"{words['color']} ", "dim"), wanted)]
    if table["pending"]:
        facts.append(Text(words["pending"].format(table["pending"]), "bold red"))
    facts.append(Text(words["piles"].format(table["draw_pile"], table["discard_pile"])))
    facts.append(Text(words[f"{table['direction']:g}"]))
    return flow(words["top"], facts, width, "   ")


def hand(scene: Scene, own: Json, width: int) -> list[Text]:
    """Return what only one seat sees."""
    words = WORDS[scene.speaker.lang]
    lines = flow(words["hand"], card_row(scene, own["hand"]), width)
    if own.get("drawn"):
        lines += flow(words["drawn"], card_row(scene, [own["drawn"]]), width)
    return lines


def facts(scene: Scene, name: str, fields: Json) -> dict[str, Any]:
    """Return what the sentence for a move may say besides its fields."""
    del fields
    match name:
        case "take":
            return {"pending": scene.table["pending"]}
        case "catch":
            return {"timo_window": scene.table.get("timo_window")}
        case "play_drawn" if scene.own:
            return {"drawn": scene.own.get("drawn")}
    return {}
