"""Tables as a person at a terminal sees them: lines of Rich text, drawn from the JSON of a view and nothing else.

`draw` is the table, `hand` what one seat sees of its own, `Speaker.event` what happened. `croupier play` puts them on
its screen, `croupier show` between the lines of its story.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol, cast

from rich.text import Text

from engine.bots import TITLES
from services.tables.scene import Json, Scene, aligned, flow
from services.words import SPOKEN, ByLanguage, Catalogue, Language, Speaker

__all__ = [
    "Catalogue",
    "Language",
    "Scene",
    "Speaker",
    "draw",
    "drawing",
    "facts",
    "hand",
    "last_hands",
    "level",
    "names",
    "options_of",
    "progress",
    "scene",
]

TURN = "▶"


class Drawing(Protocol):
    """What a game's module here has."""

    HEAD: Sequence[str]
    """Titles of the columns that `cells` fills, by their names in WORDS."""
    NUMBERS: frozenset[int]
    WORDS: ByLanguage

    def progress(self, scene: Scene) -> str: ...
    def cells(self, scene: Scene, seat: int) -> list[Text | str]: ...
    def board(self, scene: Scene, width: int) -> list[Text]: ...
    def hand(self, scene: Scene, own: Json, width: int) -> list[Text]: ...
    def facts(self, scene: Scene, name: str, fields: Json) -> dict[str, Any]: ...


def drawing(game: str) -> Drawing:
    """Return the module that draws a game; for one from outside the one that draws any."""
    return cast("Drawing", import_module(f"services.tables.{game if game in SPOKEN else 'outside'}"))


def scene(view: Json, speaker: Speaker, notes: Mapping[str, str]) -> Scene | None:
    """Return the scene of a view, None in the lobby. `notes` has the words for `absent`, `computer` and `you`."""
    game = str(view["rules"]).split("/", maxsplit=1)[0]
    arm = game if game in view else "generic"
    part = view.get(arm)
    if not part:
        return None
    said: dict[int, str] = {}
    me = None
    for seat in view["seats"]:
        number = seat.get("plays_as")
        if number is None:
            continue
        about = []
        if seat["seat"] == view.get("seat"):
            me = number
            about.append(notes["you"])
        elif seat["kind"] not in ("human", "open"):
            about.append(notes["computer"])
        if seat["absent"]:
            about.append(notes["absent"])
        said[number] = ", ".join(about)
    return Scene(
        speaker,
        part["table"],
        part.get("own"),
        me,
        options_of(view),
        frozenset(view["to_act"]),
        said,
        view.get("result"),
    )


def names(view: Json, lang: Language) -> list[str]:
    """Return who plays, by the numbers of the game: computer players by their levels, counted where two share one."""
    players = sorted((seat for seat in view["seats"] if seat.get("plays_as") is not None), key=_plays_as)
    told = [seat["name"] or level(seat["kind"], lang) for seat in players]
    unnamed = [not seat["name"] for seat in players]
    return [
        f"{name} {told[: place + 1].count(name)}" if unnamed[place] and told.count(name) > 1 else name
        for place, name in enumerate(told)
    ]


def level(kind: str, lang: Language) -> str:
    """Return what a level of computer players is called."""
    return TITLES[kind][lang] if kind in TITLES else kind


def _plays_as(seat: Json) -> int:
    return int(seat["plays_as"])


def options_of(view: Json) -> Json:
    """Return the options of a view's match by their names."""
    for arm, options in (view.get("options") or {}).items():
        if options is not None:
            return cast("Json", options["data"] if arm == "generic" else options)
    return {}


def draw(scene: Scene, width: int) -> list[Text]:
    """Return the table: a line for each seat, `▶` before those who owe a move, and what lies on it."""
    by = drawing(scene.speaker.catalogue.name)
    titles = by.WORDS.get(scene.speaker.lang, {})
    rows: list[list[Text | str]] = []
    for seat in scene.seats:
        name = Text.assemble((TURN if seat in scene.to_act else " ", "bold green"), " ", scene.speaker.name(seat))
        if note := scene.notes.get(seat):
            name.append(f" ({note})", "dim")
        rows.append([name, *by.cells(scene, seat)])
    head = ["", *(titles.get(name, name) for name in by.HEAD)]
    return [*aligned(rows, head, frozenset(place + 1 for place in by.NUMBERS)), *by.board(scene, width)]


def hand(scene: Scene, width: int) -> list[Text]:
    """Return what the scene's seat sees of its own; nothing for a spectator."""
    return [] if scene.own is None else drawing(scene.speaker.catalogue.name).hand(scene, scene.own, width)


def progress(scene: Scene) -> str:
    """Return how far the match has come, `round 2`."""
    return drawing(scene.speaker.catalogue.name).progress(scene)


def facts(scene: Scene, name: str, fields: Json) -> dict[str, Any]:
    """Return what the sentence for a move may say besides its fields."""
    return drawing(scene.speaker.catalogue.name).facts(scene, name, fields)


def last_hands(scene: Scene, width: int) -> list[Text]:
    """Return the hands that were shown when the last round ended; nothing before."""
    last = scene.table.get("last_round")
    if not last or "hands" not in last:
        return []
    lines = []
    for seat, held in enumerate(last["hands"]):
        cards = [scene.speaker.card(card) for card in held["cards"]] or [Text("–")]
        lines += flow(f"  {scene.speaker.name(seat).plain}:", cards, width, ", ")
    return lines
