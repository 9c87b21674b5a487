"""The end of a run: every journal is fetched, compared with what the players were promised, and audited."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct, field

from engine.audit import audit
from services.load.crowd import Crowd, Played
from services.play_stream import BROKEN, RefusedError

AHEAD = 4
"""Journals that are fetched at the same time."""
EXAMPLES = 20


class Checked(Struct):
    """What the journals say."""

    matches: int = 0
    verified: int = 0
    """Consistent, with the last hash that the players were told."""
    moves: int = 0
    """Receipts that were looked up."""
    lost: int = 0
    """Receipts whose move is not where they say."""
    duplicated: int = 0
    """Moves of players beyond the first that answer the same prompt of a seat."""
    diverged: int = 0
    """Matches whose seats were shown different things, or whose journal does not hold."""
    unchecked: int = 0
    """Matches whose journal could not be fetched."""
    unchecked_moves: int = 0
    """Receipts of those matches."""
    examples: list[str] = field(default_factory=list)
    """Some of what was found, a sentence each."""

    @property
    def good(self) -> bool:
        """Whether nothing was found, and everything looked at."""
        return not (self.lost or self.duplicated or self.diverged or self.unchecked)

    def add(self, other: "Checked") -> None:
        """Add what another worker found."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        del self.examples[EXAMPLES:]


class _Entry(Struct):
    kind: str
    seat: int = -1
    prompt: int = -1
    by: str = ""


_ENTRIES = msgspec.json.Decoder(_Entry)


def examine(played: Played, lines: Sequence[bytes]) -> Checked:
    """Return what one journal says of one match."""
    found = Checked(matches=1, moves=len(played.accepted) // 2)
    entries = [_ENTRIES.decode(line) for line in lines]
    for version, promised in zip(played.accepted[::2], played.accepted[1::2], strict=True):
        seat, prompt = promised >> 32, promised & 0xFFFFFFFF
        entry = entries[version] if version < len(entries) else _Entry("missing")
        if (entry.kind, entry.seat, entry.prompt, entry.by) != ("moved", seat, prompt, "player"):
            found.lost += 1
            where = f"answer of seat {seat} to prompt {prompt}, promised as entry {version}"
            found.examples.append(f"{played.match}: lost the {where}: there it is {entry}")
    answers = Counter((entry.seat, entry.prompt) for entry in entries if entry.by == "player" and entry.kind == "moved")
    for (seat, prompt), count in answers.items():
        if count > 1:
            found.duplicated += count - 1
            found.examples.append(f"{played.match}: prompt {prompt} of seat {seat} was answered {count} times")
    verdict = audit(lines, bytes.fromhex(played.hash) if played.hash else None)
    found.verified = int(verdict.outcome == "verified")
    if verdict.difference is not None or played.parted:
        found.diverged = 1
        found.examples.append(f"{played.match}: {played.parted or verdict.difference}")
    del found.examples[EXAMPLES:]
    return found


def _unchecked(played: Played, *why: str) -> Checked:
    return Checked(matches=1, unchecked=1, unchecked_moves=len(played.accepted) // 2, examples=list(why))


async def check(crowd: Crowd, progress: Callable[[int], None]) -> Checked:
    """Fetch and examine the journals of all matches that the crowd has played; tell how many are done."""
    found = Checked()
    matches = iter(crowd.played)
    patience_s = crowd.patience_s
    skipped = 0

    async def some() -> None:
        nonlocal patience_s, skipped
        for played in matches:
            if crowd.gone:
                skipped += 1
                found.add(_unchecked(played))
                continue
            try:
                one = examine(played, await crowd.journal(played.match, patience_s))
            except RefusedError as refusal:
                if refusal.reason in BROKEN and not await crowd.answers(crowd.grace_s):
                    crowd.gone = f"the match service at {crowd.plan.server} is gone: it gave no answer"
                elif refusal.again:
                    patience_s = 0.0  # it is there, but does not get at journals
                one = _unchecked(played, f"{played.match}: no journal: {refusal}")
            found.add(one)
            progress(found.matches)
            await asyncio.sleep(0)

    await asyncio.gather(*(some() for _ in range(AHEAD)))
    if skipped:
        found.examples.append(f"{skipped:,} journals were not looked at: {crowd.gone}")
    return found
