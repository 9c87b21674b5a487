"""The table of Tom's Time Bluff."""

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from services.tables.scene import Json, Scene, card_row, flow, padded
from services.words import UNSEEN, ByLanguage

WORDS: ByLanguage = {
    "de": {
        "cards": "Karten",
        "points": "Strafpunkte",
        "dealer": "Geber",
        "turn": "legt",
        "skip": "setzt aus",
        "answered": "hat sich entschieden",
        "round": "Runde {0} bis {1} Strafpunkte",
        "pile": "Stapel {0}",
        "empty": "leer",
        "due": "→ {0} Uhr",
        "piles": "Nachziehstapel {0}",
        "removed": "Zeitstrudel aus dem Spiel: {0}",
        "revealed": "aufgedeckt:",
        "hand": "Hand",
        "answer": "deine Antwort: {0}",
    },
    "en": {
        "cards": "cards",
        "points": "penalty points",
        "dealer": "dealer",
        "turn": "lays",
        "skip": "misses a turn",
        "answered": "has decided",
        "round": "round {0} up to {1} penalty points",
        "pile": "pile {0}",
        "empty": "empty",
        "due": "→ {0} o'clock",
        "piles": "draw pile {0}",
        "removed": "vortexes out of the round: {0}",
        "revealed": "turned up:",
        "hand": "hand",
        "answer": "your answer: {0}",
    },
}

HEAD = ("cards", "points", "")
NUMBERS = frozenset({0, 1})
JOIN = " "


def progress(scene: Scene) -> str:
    """Return how far the match has come."""
    return WORDS[scene.speaker.lang]["round"].format(scene.table["round"], scene.options.get("target", 50))


def cells(scene: Scene, seat: int) -> list[Text | str]:
    """Return what stands behind a seat's name."""
    words, table = WORDS[scene.speaker.lang], scene.table
    notes = [words["dealer"]] if table["dealer"] == seat else []
    if table["turn"] == seat:
        notes.append(words["turn"])
    if table["skips"][seat]:
        notes.append(words["skip"])
    if seat in table["answered"]:
        notes.append(words["answered"])
    return [str(table["hand_sizes"][seat]), str(table["totals"][seat]), Text(" · ".join(notes), "dim")]


def board(scene: Scene, width: int) -> list[Text]:
    """Return the three piles from bottom to top, as much of them as fits, with the hour that comes next."""
    words, table = WORDS[scene.speaker.lang], scene.table
    lines = [_pile(scene, place, width) for place in range(len(table["piles"]))]
    facts = [Text(words["piles"].format(table["draw_pile"]))]
    if table["removed"]:
        facts.append(Text(words["removed"].format(table["removed"])))
    if table.get("revealed"):
        facts.append(Text.assemble((f"{words['revealed']} ", "dim"), card_row(scene, [table["revealed"]])[0]))
    return [*lines, *flow("", facts, width, " · ")]


def _pile(scene: Scene, place: int, width: int) -> Text:
    words = WORDS[scene.speaker.lang]
    pile = scene.table["piles"][place]["cards"]
    line = Text.assemble((words["pile"].format(place + 1), "dim"), f" {len(pile):2} ")
    if not pile:
        return line.append(words["empty"], "dim")
    known = {laid["index"]: laid["card"] for laid in (scene.own or {}).get("laid", ()) if laid["place"] == place}
    due = Text("  ").append(words["due"].format(due_hour(scene, place) or "?"), "bold")
    entries = [_entry(scene, entry, known.get(index)) for index, entry in enumerate(pile)]
    room = width - line.cell_len - due.cell_len
    shown = Text(JOIN).join(entries)
    while len(entries) > 1 and shown.cell_len > room:
        entries = entries[1:]
        shown = Text.assemble("… ", Text(JOIN).join(entries))
    return line.append_text(padded(shown, min(room, shown.cell_len))).append_text(due)


def _entry(scene: Scene, entry: Json, known: str | None) -> Text:
    card = entry.get("card")
    if card:
        text = scene.speaker.card(card)
        return text.append(f"={entry['hour']:g}") if entry.get("hour") else text
    if known:
        return Text(f"({scene.speaker.card(known).plain})", "italic dim")
    return Text(UNSEEN, "dim")


def due_hour(scene: Scene, place: int) -> int | None:
    """Return the hour that a hidden card on this pile is to show; None if none lies open on top."""
    shown = [entry for entry in scene.table["piles"][place]["cards"] if entry.get("card")]
    if not shown:
        return None
    hour = shown[-1].get("hour") or scene.speaker.catalogue.extra.get(shown[-1]["card"], {}).get("hour")
    return int(hour) % 12 + 1 if hour else None


def hand(scene: Scene, own: Json, width: int) -> list[Text]:
    """Return what only one seat sees; its hidden cards are shown in the piles."""
    words, speaker = WORDS[scene.speaker.lang], scene.speaker
    lines = flow(words["hand"], card_row(scene, own["hand"]), width)
    if own.get("answer"):
        lines.append(Text(words["answer"].format(speaker.word("answer", own["answer"])), "dim"))
    return lines


def facts(scene: Scene, name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the sentence for a move may say besides its fields."""
    return {"due": due_hour(scene, fields["place"])} if name == "hide" and "place" in fields else {}
