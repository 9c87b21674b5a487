"""What a forger may do to the journal of any game, shown on a short one of each."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from engine import journal
from tests.engine.tampered import Lines, chained

HISTORIES = Path(__file__).parents[1] / "histories"
GAMES = sorted({file.stem.rpartition("_")[0] for file in HISTORIES.glob("*_1.jsonl")})


def shortest(game: str) -> Path:
    """The recorded journal of a game with the fewest entries that came to its own end."""
    files = [file for file in HISTORIES.glob(f"{game}_[0-9].jsonl") if b'"kind":"finished"' in file.read_bytes()]
    return min(files, key=lambda file: file.stat().st_size)


def _other(digit: bytes) -> bytes:
    return b"1" if digit != b"1" else b"2"


def changed(version: int, pattern: bytes) -> Callable[[Lines], Lines]:
    """Another digit where the first group of a pattern stands in an entry."""

    def change(lines: Lines) -> Lines:
        found = re.search(pattern, lines[version])
        assert found is not None
        at = found.start(1)
        data = lines[version]
        return [*lines[:version], data[:at] + _other(data[at : at + 1]) + data[at + 1 :], *lines[version + 1 :]]

    return change


def forgeries(lines: Sequence[bytes]) -> dict[str, tuple[Lines, str]]:
    """Each forged journal by what was done, and the field in which it differs if its chain stays as it was."""
    lines = list(lines)
    last = len(lines) - 1
    kinds = [re.search(rb'"kind":"(\w+)"', line)[1] for line in lines]
    joined, started = kinds.index(b"joined"), kinds.index(b"started")
    moved = [version for version, kind in enumerate(kinds) if kind == b"moved"]
    middle = moved[len(moved) // 2]
    done = {
        "the promise": (changed(0, rb'"commitment":"(\w)'), "commitment"),
        "a client seed": (changed(joined, rb'"client_seed":"\w(\w)'), "chain"),
        "the deal": (changed(started, rb'"state":"(\w)'), "deal"),
        "a prompt": (changed(middle, rb'"prompt":(\d)'), "prompt"),
        "a digest": (changed(middle, rb'"state":"(\w)'), "digest"),
        "the chain": (changed(middle, rb'"prev":"(\w)'), "chain"),
        "the result": (changed(last, rb'"result":\{[^}]*?(\d)'), "result"),
        "the reveal": (changed(last, rb'"seed":"(\w)'), "commitment"),
        "no reveal": (lambda all_: [*all_[:-1], re.sub(rb',"seed":"\w*"', b"", all_[-1])], "reveal"),
        "a missing end": (lambda all_: all_[:-1], "tail"),
        "a missing move": (lambda all_: [*all_[:middle], *all_[middle + 1 :]], "order"),
    }
    return {name: (forge(lines), field) for name, (forge, field) in done.items()}


def forged_journals(game: str) -> list[tuple[Lines, str | None]]:
    """Every forgery of a game, as it is and with the chain recomputed (None: whatever the audit says)."""
    found = forgeries(journal.split(shortest(game).read_bytes()))
    mended = [(chained(lines), None) for name, (lines, _) in found.items() if name != "the chain"]
    return [*found.values(), *mended]
