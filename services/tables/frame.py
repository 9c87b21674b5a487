"""What stands around a table on a player's screen: heading, lobby, help, and who is to act."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.text import Text

from services.tables import Scene, level, options_of, progress
from services.words import Language, Speaker, printable
from services.words.screen import SAY

HURRY_S = 10
"""So little time left is shown in red."""

Words = Mapping[str, str]
View = Mapping[str, Any]


def heading(view: View, scene: Scene | None, speaker: Speaker, words: Words) -> Text:
    """Return the line at the top: game, how far the match has come, its id and what binds the deal."""
    head = Text(speaker.title, "bold")
    if scene is None:
        return head.append(f" · {words['match']} {view['match']}", "not bold dim")
    if how_far := progress(scene):
        head.append(f" · {how_far}", "not bold")
    head.append(f" · {words['match']} {view['match'][:6]}…", "not bold dim")
    if view.get("code"):
        return head.append(f" · {words['code']} {view['code']}", "not bold dim")
    return head.append(f" · {words['bound']} {view['commitment'][:8]}…", "not bold dim")


def lobby(view: View, lang: Language, invitation: Sequence[str], *, host: bool) -> list[Text]:
    """Return who is there, how others join, and that the host may start."""
    words = SAY[lang]
    taken = [seat for seat in view["seats"] if seat["kind"] != "open"]
    lines = [Text(words["lobby"].format(len(taken), len(view["seats"])), "yellow")]
    for seat in view["seats"]:
        name = printable(seat["name"]) or (words["free"] if seat["kind"] == "open" else level(seat["kind"], lang))
        line = Text.assemble(f"  {seat['seat'] + 1}. ", (name, "dim" if seat["kind"] == "open" else "bold"))
        lines.append(line.append(f" ({words['you']})" if seat["seat"] == view.get("seat") else "", "dim"))
    if invitation:
        lines += [Text(words["invite"]), *(Text(f"  {line}", "cyan") for line in invitation)]
    if host:
        lines.append(Text(words["start"], "dim"))
    return lines


def on_turn(scene: Scene, words: Words) -> Text:
    """Return who is to do what."""
    task = scene.speaker.phase(str(scene.table.get("phase") or "")) or "…"
    if scene.seat in scene.to_act:
        return Text.assemble(("▶ ", "bold green"), (words["yours"].format(task), "bold"))
    names = ", ".join(scene.speaker.name(seat).plain for seat in sorted(scene.to_act))
    return Text(words["turn" if len(scene.to_act) == 1 else "wait"].format(names, task))


def countdown(view: View, words: Words) -> Text:
    """Return how much time is left; nothing without a clock."""
    try:
        until = datetime.fromisoformat(view["deadline"])
    except (KeyError, TypeError, ValueError):
        return Text()
    left = max(round((until - datetime.now(UTC)).total_seconds()), 0)
    return Text(f" · {words['seconds'].format(left)}", "bold red" if left < HURRY_S else "yellow")


def help_page(view: View, speaker: Speaker, words: Words) -> list[Text]:
    """Return the keys, and the match's id, clock, options and commitment in full."""
    lines = [Text(line) for line in words["help"].split("\n")]
    lines += [Text(), Text(f"{words['match']} {view['match']}")]
    clock = view.get("clock")
    lines.append(Text(words["clock"].format(f"{clock / 1000:g}") if clock else words["no clock"]))
    told = [
        f"{name.replace('_', ' ')}: {speaker.word(name, value) if isinstance(value, str) else speaker.value('', value)}"
        for name, value in options_of(view).items()
        if value is not None
    ]
    if told:
        lines.append(Text(words["options"].format(", ".join(told))))
    if view.get("code"):
        return [*lines, Text(words["coded"].format(view["code"]))]
    return [*lines, Text(words["commitment"].format(view["commitment"]), "dim")]


def wrapped(line: Text, width: int) -> list[Text]:
    """Return a line broken at blanks into lines of at most `width` cells."""
    if line.cell_len <= width:
        return [line]
    lines = [Text()]
    for word in line.split(" "):
        if lines[-1] and lines[-1].cell_len + 1 + word.cell_len > width:
            lines.append(Text())
        lines[-1].append(" " if lines[-1] else "").append_text(word)
    return lines
