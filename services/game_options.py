"""Options of a game as a person gives them on a command line: `target=200`."""

from collections.abc import Mapping, Sequence
from typing import Any

from croupier.v1 import match_service_pb2 as pb
from engine import registry
from services import wire
from services.words import Language, printable
from services.words.screen import SAY


class OptionError(Exception):
    """The game has no such option, or not with that value; says what there is, in the person's language."""


def options_of(game: str, given: Sequence[str]) -> dict[str, Any]:
    """Return options of the newest rules of a game known here. Raises OptionError and UnknownGame."""
    return parsed_options(wire.catalogue([registry.newest(game)]), given, "en")


def parsed_options(info: pb.GameInfo, given: Sequence[str], lang: Language) -> dict[str, Any]:
    """Return options from `key=value`, each as the catalogue wants it. Raises OptionError."""
    words = SAY[lang]
    known = {option.name: option for option in info.options}
    options: dict[str, Any] = {}
    for each in given:
        name, _, text = each.partition("=")
        name = name.strip().replace("-", "_")
        if name not in known:
            title = getattr(info.titles, lang) or info.name
            raise OptionError(words["unknown option"].format(title, printable(name), ", ".join(known) or "–"))
        value = _option_value(known[name], text.strip().lower())
        if value is None:
            wanted = _wanted(known[name], words)
            raise OptionError(words["bad option"].format(name, wanted, printable(text)))
        options[name] = value
    return options


def _option_value(option: pb.OptionInfo, text: str) -> bool | int | str | None:
    match option.type:
        case "bool":
            return {"true": True, "yes": True, "ja": True, "1": True}.get(
                text, False if text in ("false", "no", "nein", "0") else None
            )
        case "int":
            try:
                number = int(text)
            except ValueError:
                return None
            inside = not option.HasField("range") or option.range.min <= number <= option.range.max
            return number if inside else None
    return text if text in option.words else None


def _wanted(option: pb.OptionInfo, words: Mapping[str, str]) -> str:
    match option.type:
        case "bool":
            return words["truth"]
        case "int":
            return words["number"].format(option.range.min, option.range.max)
    return words["words"].format(", ".join(option.words))
