"""Numbered choices from the legal moves, in steps where all at once would not fit."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from services.tables import facts
from services.tables.scene import Scene, padded

Move = dict[str, Any]
GAP = 3
MORE = " …"


@dataclass(frozen=True)
class Choice:
    """What a number stands for: a move, or several of which one is chosen next."""

    label: Text
    moves: tuple[Move, ...]

    @property
    def move(self) -> Move | None:
        """The move, None if there is more to choose."""
        return self.moves[0] if len(self.moves) == 1 else None


def choices(scene: Scene, moves: Sequence[Move], lines: int, width: int) -> list[Choice]:
    """Return the choices for `moves`, none left out, in their order; as few steps as fit into so many lines."""
    flat = [_choice(scene, (move,), moves) for move in moves]
    if _rows(flat, width) <= lines:
        return flat
    groups = _split(moves)
    while True:
        shown = [_choice(scene, group, moves) for group in groups]
        finer = _finer(groups, lambda tried: _rows([_choice(scene, group, moves) for group in tried], width) <= lines)
        if finer is None:
            return shown
        groups = finer


def laid_out(offered: Sequence[Choice], width: int) -> list[Text]:
    """Return the numbered choices in as many columns as fit, read downwards."""
    wide, columns = _columns(offered, width)
    rows = math.ceil(len(offered) / columns)
    digits = len(str(len(offered)))
    lines = []
    for row in range(rows):
        line = Text()
        for place in range(row, len(offered), rows):
            label = offered[place].label
            last = place + rows >= len(offered)
            line.append(f"{place + 1:{digits}}) ", "bold green")
            line.append_text(label if last else padded(label, wide)).append("" if last else " " * GAP)
        lines.append(line)
    return lines


def _choice(scene: Scene, group: tuple[Move, ...], among: Sequence[Move]) -> Choice:
    """Return a group with what its moves have in common as its label; in a later step only what is still open."""
    [(name, fields)] = group[0].items()
    common = {
        key: value for key, value in fields.items() if all(move.get(name, {}).get(key) == value for move in group)
    }
    speaker = scene.speaker
    step = ""
    if len({next(iter(move)) for move in among}) == 1 and len(among) > 1:
        step = next((key for key in fields if any(move[name].get(key) != fields[key] for move in among)), "")
    sentences = speaker.words.MOVES.get(speaker.lang, {})
    if f"{name}.{step}" in sentences:
        label = speaker.say(sentences[f"{name}.{step}"], {**facts(scene, name, common), **common})
    else:
        label = speaker.move({name: common}, facts(scene, name, common))
    return Choice(label if len(group) == 1 else label.append(MORE), group)


def _split(moves: Sequence[Move]) -> list[tuple[Move, ...]]:
    """Return the moves by their names; all of one name, by the first field in which they differ."""
    names = {next(iter(move)) for move in moves}
    if len(names) > 1:
        return _by(moves, lambda move: next(iter(move)))
    [name] = names
    keys = list(dict.fromkeys(key for move in moves for key in move[name]))
    for key in keys:
        groups = _by(moves, lambda move, key=key: repr(move[name].get(key)))  # type: ignore[misc]
        if len(groups) > 1:
            return groups
    return [(move,) for move in moves]


def _by(moves: Sequence[Move], key: Callable[[Move], str]) -> list[tuple[Move, ...]]:
    groups: dict[str, list[Move]] = {}
    for move in moves:
        groups.setdefault(key(move), []).append(move)
    return [tuple(group) for group in groups.values()]


def _finer(
    groups: list[tuple[Move, ...]], fits: Callable[[list[tuple[Move, ...]]], bool]
) -> list[tuple[Move, ...]] | None:
    """Return the groups with all those of one move split once more, the fewest first; None if nothing more fits."""
    sizes: dict[str, int] = {}
    for group in groups:
        if len(group) > 1:
            name = next(iter(group[0]))
            sizes[name] = sizes.get(name, 0) + len(group)
    for name in sorted(sizes, key=sizes.__getitem__):
        tried: list[tuple[Move, ...]] = []
        for group in groups:
            tried += _split(group) if len(group) > 1 and name in group[0] else [group]
        if fits(tried):
            return tried
    return None


def _columns(offered: Sequence[Choice], width: int) -> tuple[int, int]:
    wide = max((choice.label.cell_len for choice in offered), default=1)
    number = len(str(len(offered))) + 2
    return wide, max(1, (width + GAP) // (wide + number + GAP))


def _rows(offered: Sequence[Choice], width: int) -> int:
    return math.ceil(len(offered) / _columns(offered, width)[1])
