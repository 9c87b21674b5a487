"""The table of Bluffing Billionaires."""

from typing import Any

from rich.text import Text

from services.tables.scene import Json, Scene, card_row, flow
from services.words import UNSEEN, ByLanguage

WORDS: ByLanguage = {
    "de": {
        "cards": "Karten",
        "table": "Tisch",
        "bonus": "erbeutet",
        "coins": "Münzen",
        "discards": "Ablage",
        "points": "Punkte",
        "vote": "",
        "turn": "behauptet",
        "voted": "gestimmt",
        "votes": "Daumen",
        "revealed": "aufgedeckt",
        "game": "Spiel {0} von {1}",
        "hand": "Hand",
        "own table": "dein Tisch",
        "discarded": "ungesehen abgelegt",
        "answer": "deine Stimme: {0}",
    },
    "en": {
        "cards": "cards",
        "table": "table",
        "bonus": "won",
        "coins": "coins",
        "discards": "discards",
        "points": "points",
        "vote": "",
        "turn": "claims",
        "voted": "voted",
        "votes": "thumbs",
        "revealed": "turned up",
        "game": "game {0} of {1}",
        "hand": "hand",
        "own table": "your table",
        "discarded": "discarded unseen",
        "answer": "your vote: {0}",
    },
}

HEAD = ("cards", "table", "bonus", "coins", "discards", "points", "vote")
NUMBERS = frozenset({0, 3, 5})
BONUS, DISCARDS = 13, 9
"""Columns as wide as a line has room for; the coins say what the bonus cards come to."""


def progress(scene: Scene) -> str:
    """Return how far the match has come."""
    return WORDS[scene.speaker.lang]["game"].format(scene.table["game"], scene.options.get("games", 1))


def cells(scene: Scene, seat: int) -> list[Text | str]:
    """Return what stands behind a seat's name."""
    words, table = WORDS[scene.speaker.lang], scene.table
    bonus = [each["card"] for each in table["bonus"][seat]["cards"]]
    coins = sum(int(scene.speaker.catalogue.extra.get(card, {}).get("coins", 0)) for card in bonus)
    discards = table["discards"][seat]
    thrown = list(discards["known"]) + ([f"+{discards['hidden']}"] if discards["hidden"] else [])
    note = ""
    if seat in table["answered"]:
        note = words["voted"]
    elif table["turn"] == seat:
        note = words["turn"]
    lies = UNSEEN if table["on_table"][seat] else ""
    return [
        str(table["hand_sizes"][seat]),
        Text(lies, "yellow"),
        _short(bonus, BONUS, "bold yellow"),
        str(coins),
        _short(thrown, DISCARDS, ""),
        str(table["points"][seat]),
        Text(note, "dim"),
    ]


def board(scene: Scene, width: int) -> list[Text]:
    """Return the last vote and what it turned up."""
    words, table, speaker = WORDS[scene.speaker.lang], scene.table, scene.speaker
    lines = []
    if table["votes"]:
        lines += flow(words["votes"], [speaker.value("votes", vote) for vote in table["votes"]], width, ", ")
    if table["revealed"]:
        lines += flow(words["revealed"], [speaker.value("revealed", each) for each in table["revealed"]], width, ", ")
    return lines


def hand(scene: Scene, own: Json, width: int) -> list[Text]:
    """Return what only one seat sees."""
    words = WORDS[scene.speaker.lang]
    lines = flow(words["hand"], _values(own["hand"]), width)
    facts = []
    if own.get("table_card"):
        facts.append(Text.assemble((f"{words['own table']} ", "dim"), card_row(scene, [own["table_card"]])[0]))
    if own["discarded"]:
        facts.append(Text.assemble((f"{words['discarded']} ", "dim"), " ".join(own["discarded"])))
    if own.get("answer"):
        facts.append(Text(words["answer"].format(scene.speaker.word("answer", own["answer"])), "dim"))
    return lines + (flow("", facts, width, " · ") if facts else [])


def _short(words: list[str], width: int, style: str) -> Text:
    text = Text(" ".join(words), style)
    text.truncate(width, overflow="ellipsis")
    return text


def _values(codes: list[str]) -> list[Text]:
    return [Text(f" {code} ", "bold black on yellow") for code in codes]


def facts(scene: Scene, name: str, fields: Json) -> dict[str, Any]:
    """Return what the sentence for a move may say besides its fields: nothing."""
    del scene, name, fields
    return {}
