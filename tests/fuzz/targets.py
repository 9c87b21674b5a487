"""What is fuzzed without a server: each target takes bytes from outside and may raise nothing but its own refusals."""

import contextlib
import functools
from collections.abc import Callable
from pathlib import Path

import msgspec

from engine import codes, journal, registry, scenario
from engine.audit import audit
from engine.refusals import Refusal
from services import wire
from services.commands import (
    ENVELOPES,
    OUTCOME_ANSWERS,
    QUESTIONS,
    RECEIPTS,
    VIEW_ANSWERS,
    Envelope,
    Join,
    OutcomeAnswer,
    OutcomeQuestion,
    Receipt,
    Submit,
    ViewAnswer,
    ViewQuestion,
    pack,
)
from services.tokens import Operators, SeatClaim, Tokens

ROOT = Path(__file__).parents[1]
KEY = "f" * 32
TOKENS = Tokens(KEY, 600, 4)
MATCH = "000" + "f" * 22


def token(data: bytes) -> None:
    text = data.decode(errors="surrogateescape")
    for read in (TOKENS.seat, TOKENS.view, TOKENS.host, Operators(KEY).admit):
        with contextlib.suppress(Refusal):
            read(text)


def code(data: bytes) -> None:
    with contextlib.suppress(Refusal):
        codes.decode(data.decode(errors="surrogateescape"))


def scenario_file(data: bytes) -> None:
    with contextlib.suppress(scenario.Failure):
        scenario.run(data)


def journal_line(data: bytes) -> None:
    with contextlib.suppress(journal.NotAnEntry):
        journal.read(data)


def journal_file(data: bytes) -> None:
    """An audit has a verdict on anything, and it is never a good one on what was damaged."""
    verdict = audit(journal.split(data))
    assert verdict.difference is not None or data.strip() in _good_journals()


@functools.cache
def _good_journals() -> frozenset[bytes]:
    return frozenset(path.read_bytes().strip() for path in (ROOT / "histories").glob("*.jsonl"))


def move(data: bytes) -> None:
    """The JSON of a move, as the intake carries it, for every game."""
    for game in registry.games():
        with contextlib.suppress(Refusal):
            game.move_json.decode(data)
        with contextlib.suppress(Refusal):
            wire.move_from_json(game.name, data)


def payload(data: bytes) -> None:
    """What comes over NATS or lies in the intake."""
    for decoder in (ENVELOPES, RECEIPTS, QUESTIONS, VIEW_ANSWERS, OUTCOME_ANSWERS):
        with contextlib.suppress(msgspec.DecodeError):
            decoder.decode(data)


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target for target in (token, code, scenario_file, journal_line, journal_file, move, payload)
}


@functools.cache
def examples(name: str) -> tuple[bytes, ...]:
    """Good inputs, to be damaged."""
    match name:
        case "token":
            claim = SeatClaim(MATCH, 1, 2, "timos_twist")
            given = (TOKENS.for_seat(claim), TOKENS.for_host(MATCH), TOKENS.for_table(MATCH), Operators(KEY).token(60))
            return tuple(text.encode() for text in given)
        case "code":
            return tuple(
                codes.encode(codes.Dealt(game.rules, ("open",) * game.seats[0], {}, b"abcde")).encode()
                for game in registry.games()
            )
        case "scenario_file":
            return tuple(path.read_bytes() for path in sorted((ROOT / "scenarios").rglob("*.json"))[::5])
        case "journal_line" | "journal_file":
            found = [path.read_bytes() for path in sorted((ROOT / "histories").glob("*_1.jsonl"))]
            return tuple(
                found if name == "journal_file" else [line for file in found for line in file.split(b"\n")[:9]]
            )
        case "move":
            return (b'{"play":{"card":"blue-7"}}', b'{"draw":{}}', b'{"hide":{"card":"A1","place":0}}')
    submit = Submit(MATCH, 1, 2, 3, b'{"draw":{}}')
    join = Join(MATCH, "r", "Ada", b"seed", None)
    return (
        pack(Envelope("s", 1, submit)),
        pack(Envelope("s", 1, join)),
        pack([Receipt(1, 2), Receipt(3, reason="STALE_PROMPT", fields={"seat": 1})]),
        pack(ViewQuestion(MATCH, 1, 2, 3)),
        pack(OutcomeQuestion(submit)),
        pack(ViewAnswer(b"{}", [b"{}"])),
        pack(OutcomeAnswer(Receipt(1, 2))),
    )
