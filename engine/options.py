"""What a game's options are, read from its options type: for the catalogue, and for game codes."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from msgspec import Meta

from engine.game import Options

OptionType = Literal["int", "bool", "word"]


class OptionField(NamedTuple):
    """One option. `values` are all it can be, in order: the range of an `int`, false and true, or the words."""

    name: str
    type: OptionType
    values: range | tuple[bool, ...] | tuple[str, ...]
    titles: Mapping[str, str]


def option_fields(kind: type[Options]) -> tuple[OptionField, ...]:
    """Return a game's options in the order of their type."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(_field(name, hints[name]) for name in kind.__struct_fields__)


def _field(name: str, hint: Any) -> OptionField:
    meta = _find_meta(hint)
    titles: Mapping[str, str] = meta.extra or {}
    if (words := _find_words(hint)) is not None:
        return OptionField(name, "word", words, titles)
    if meta.ge is None or meta.le is None:
        return OptionField(name, "bool", (False, True), titles)
    return OptionField(name, "int", range(int(meta.ge), int(meta.le) + 1), titles)


def _find_meta(hint: Any) -> Meta:
    for meta in getattr(hint, "__metadata__", ()):
        if isinstance(meta, Meta):
            return meta
    for part in get_args(hint) if get_origin(hint) is not Literal else ():
        if (found := _find_meta(part)) != Meta():
            return found
    return Meta()


def _find_words(hint: Any) -> tuple[str, ...] | None:
    if get_origin(hint) is Literal:
        return get_args(hint)
    return next((found for part in get_args(hint) if (found := _find_words(part)) is not None), None)
