"""What happens at a table in words, German or English: events, moves, phases, cards and the names of who plays.

Each game has a module here with its sentences. A sentence is a template: `{card}` stands for a field, `{place+}` for a
number counted from one, `{count:card|cards}` for a number with its noun. `[, naming {color}]` is said only if all its
fields are given, `[timo? and calls TIMO]` only if that field is true, `[!hour?…]` if it is not, `[to=left?…]` if it has
that word.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, Protocol, cast

from rich.text import Text

from croupier.v1 import match_service_pb2 as pb
from engine.registry import AnyGame

Language = Literal["de", "en"]
Fields = Mapping[str, Any]
Sentences = Mapping[str, str]
ByLanguage = Mapping[str, Sentences]

SEATS = frozenset(
    {"seat", "turn", "dealer", "start", "by", "target", "active", "challenger", "winner", "loser", "owner"}
    | {"finisher", "timo_window", "winners", "answered", "voters", "out"}
)
"""Fields that hold a seat of the game, or several."""

CARDS = frozenset(
    {"card", "cards", "top", "aside", "partner", "clock", "replaced", "other_card", "own_card", "drawn", "taken"}
    | {"hand", "revealed", "discarded", "table_card", "discard"}
)
"""Fields whose strings are codes of cards."""

PER_SEAT = frozenset({"scores", "coins", "points", "totals"})
"""Fields with a number for each seat."""

NAME = "bold"
UNSEEN = "▒▒"
"""A card that one cannot see."""

_PART = re.compile(r"\[(?:(?P<if>!?\w+(?:=\w+)?)\?)?(?P<then>[^\]]*)\]|(?P<text>[^\[\]]+)")
_FIELD = re.compile(r"\{(?P<name>\w+)(?P<plus>\+)?(?::(?P<one>[^|}]*)\|(?P<many>[^}]*))?\}")


def printable(text: str) -> str:
    """Return text that cannot steer a terminal or turn a line around."""
    return "".join(letter if letter.isprintable() else f"\\u{{{ord(letter):x}}}" for letter in text)


@dataclass(frozen=True)
class Catalogue:
    """What a game says of itself: its titles, and of every card its titles and what group it belongs to."""

    name: str
    titles: Mapping[str, str]
    cards: Mapping[str, Mapping[str, str]]
    groups: Mapping[str, str]
    extra: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, game: AnyGame) -> "Catalogue":
        """Return the catalogue of rules that run here."""
        return cls(
            game.name,
            game.titles,
            {card.code: {"de": card.de, "en": card.en} for card in game.cards},
            {card.code: card.group for card in game.cards},
            {card.code: card.extra for card in game.cards},
        )

    @classmethod
    def told(cls, info: pb.GameInfo) -> "Catalogue":
        """Return the catalogue that a server tells."""
        return cls(
            info.name,
            {"de": info.titles.de, "en": info.titles.en},
            {card.code: {"de": card.titles.de, "en": card.titles.en} for card in info.cards},
            {card.code: card.group for card in info.cards},
            {card.code: dict(card.extra) for card in info.cards},
        )


class GameWords(Protocol):
    """What a game's module here has: sentences by language and by the name of the event, move, phase or word."""

    EVENTS: ByLanguage
    MOVES: ByLanguage
    """By name; `"open.hour"` is what is said of a move where only its hour is still to be chosen."""
    PHASES: ByLanguage
    VALUES: ByLanguage
    """By field and word, `"reason.penalty"`; `"result.scores"` is what the scores of the result are, if not points."""
    RULES: Sentences
    """A summary of the rules; a blank line parts paragraphs."""
    STYLES: Mapping[str, str]
    """How cards look, by group of the catalogue or by code."""


@dataclass
class _Unspoken:
    """The words of a game that was registered from outside: none."""

    EVENTS: ByLanguage = field(default_factory=dict)
    MOVES: ByLanguage = field(default_factory=dict)
    PHASES: ByLanguage = field(default_factory=dict)
    VALUES: ByLanguage = field(default_factory=dict)
    RULES: Sentences = field(default_factory=dict)
    STYLES: Mapping[str, str] = field(default_factory=dict)


SPOKEN = ("timos_twist", "toms_time_bluff", "bombenziehen", "bluffing_billionaires", "clever_gedreht")
"""The games that have a module of words here and one of drawings in `services.tables`."""


def game_words(game: str) -> GameWords:
    """Return the words of a game."""
    if game not in SPOKEN:
        return _Unspoken()
    return cast("GameWords", import_module(f"services.words.{game}"))


class Speaker:
    """Tells one match in one language."""

    def __init__(self, catalogue: Catalogue, lang: Language, names: Sequence[str]) -> None:
        """`names` are those who play, by their seats in the game."""
        self.lang = lang
        self.names = [printable(name) or f"#{seat}" for seat, name in enumerate(names)]
        self.catalogue = catalogue
        self.words = game_words(catalogue.name)

    @property
    def title(self) -> str:
        """The game's title."""
        return self.catalogue.titles.get(self.lang) or self.catalogue.name

    def event(self, event: Fields) -> Text:
        """Return the sentence for an event, a one-key object."""
        return self._one_key(self.words.EVENTS, event, {})

    def move(self, move: Fields, facts: Fields) -> Text:
        """Return what a move does; `facts` are what its sentence may say besides its own fields.

        Works with a part of the fields too, for a choice in steps.
        """
        return self._one_key(self.words.MOVES, move, facts)

    def phase(self, word: str) -> str:
        """Return what is to be done in a phase."""
        return self.words.PHASES.get(self.lang, {}).get(word, word.replace("_", " "))

    def rules(self) -> str:
        """Return a summary of the rules, a line a paragraph; empty for a game without words."""
        paragraphs = self.words.RULES.get(self.lang, "").split("\n\n")
        return "\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs)

    def name(self, seat: int) -> Text:
        """Return who plays a seat of the game."""
        return Text(self.names[seat] if 0 <= seat < len(self.names) else f"#{seat}", NAME)

    def card(self, code: str | None) -> Text:
        """Return a card's title in its colours; a hidden one for None."""
        if not code:
            return Text(UNSEEN, "dim")
        titles = self.catalogue.cards.get(code, {})
        return Text(printable(titles.get(self.lang) or code), self.style(code))

    def style(self, code: str) -> str:
        """Return how a card looks."""
        styles = self.words.STYLES
        return styles.get(code) or styles.get(self.catalogue.groups.get(code, ""), "bold")

    def word(self, name: str, word: str) -> str:
        """Return the word of a field, `word("color", "blue")`."""
        return self.words.VALUES.get(self.lang, {}).get(f"{name}.{word}", printable(word.replace("_", " ")))

    def say(self, template: str, fields: Fields) -> Text:
        """Return a template with its fields filled in."""
        said = Text()
        for part in _PART.finditer(template):
            if part["text"] is not None:
                self._fill(said, part["text"], fields)
            elif self._holds(part["if"], part["then"], fields):
                self._fill(said, part["then"], fields)
        return said

    def value(self, name: str, value: Any) -> Text:
        """Return a value of JSON in words: cards by their titles, seats by their names."""
        match value:
            case None:
                return Text("–")
            case bool():
                return Text({"de": ("nein", "ja"), "en": ("no", "yes")}[self.lang][value])
            case int() | float():
                return self.name(int(value)) if name in SEATS else Text(f"{value:g}")
            case str():
                card = name in CARDS or (isinstance(self.words, _Unspoken) and value in self.catalogue.cards)
                return self.card(value) if card else Text(self.word(name, value))
            case {"seat": int(seat), "challenge": doubts}:
                return self.name(seat).append(f" {self.word('challenge', 'yes' if doubts else 'no')}")
            case {"seat": int(seat), "card": str(card)}:
                return Text.assemble(self.name(seat), ": ", self.card(card))
            case {"cards": cards, **rest} if not rest:
                return self.value("cards", cards)
            case {**given}:
                parts = (Text.assemble(f"{key}: ", self.value(str(key), each)) for key, each in given.items())
                return Text("(").append_text(Text(", ").join(parts)).append(")")
            case [*values] if name in PER_SEAT:
                return Text(", ").join(Text.assemble(self.name(seat), f" {each:g}") for seat, each in enumerate(values))
            case [*values]:
                between = " | " if isinstance(values[0] if values else None, dict) else ", "
                return Text(between).join(self.value(name, each) for each in values)
        return Text(printable(str(value)))

    def _one_key(self, sentences: ByLanguage, said: Fields, facts: Fields) -> Text:
        [(name, fields)] = said.items()
        template = sentences.get(self.lang, {}).get(name)
        if template is not None:
            return self.say(template, {**facts, **fields})
        told = Text(printable(name.replace("_", " ")))
        for key, value in fields.items():
            if value is not None and value is not False and value not in ("", []):
                told.append(f" · {printable(key.replace('_', ' '))} ").append_text(self.value(key, value))
        return told

    def _fill(self, said: Text, template: str, fields: Fields) -> None:
        end = 0
        for found in _FIELD.finditer(template):
            said.append(template[end : found.start()])
            end = found.end()
            name, value = found["name"], fields.get(found["name"])
            if found["plus"] and value is not None:
                said.append(f"{int(value) + 1}")
            elif found["one"] is not None and value is not None:
                said.append(f"{value:g} {found['one'] if value == 1 else found['many']}")
            else:
                said.append_text(self.value(name, value))
        said.append(template[end:])

    def _holds(self, condition: str | None, then: str, fields: Fields) -> bool:
        if condition is None:
            return all(self._given(found["name"], fields) for found in _FIELD.finditer(then))
        if condition.startswith("!"):
            return not self._given(condition[1:], fields)
        name, equals, word = condition.partition("=")
        return fields.get(name) == word if equals else self._given(name, fields)

    def _given(self, name: str, fields: Fields) -> bool:
        value = fields.get(name)
        if isinstance(value, str):
            return bool(value) and (name in CARDS or bool(self.word(name, value)))
        return value is not None and value is not False and value != []
