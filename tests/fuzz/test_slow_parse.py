"""No slow parse: reading takes work in proportion to what is read, at most, and none for what is over a limit.

Whatever a stranger can send is grown to eight times its size, up to the largest that a service takes; the work may grow
eight times with it. Work is counted in lines of Python. Where C reads, its time for the long text is compared with its
time for the short one, in the same process.
"""

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import msgspec
import pytest

from croupier.v1 import match_service_pb2 as pb
from engine import codes
from engine.chance import commitment
from engine.game import MAX_MOVE_BYTES
from engine.journal import Created, SeatPlan
from engine.match import Match
from engine.refusals import MAX_TOLD, Refusal
from engine.registry import games, newest
from services import wire
from services.auth import nats_jwt
from services.commands import Receipt, ViewAnswer, pack
from services.match import checks
from services.match.pace import Pace
from services.match.play import BREATH, MAX_UNREAD, PlayStream
from services.match.refused import Refused
from services.tokens import MAX_LENGTH
from tests.fuzz import targets
from tests.fuzz.targets import MATCH, TARGETS, TOKENS, examples
from tests.fuzz.work import doings, grows_too_fast

LARGEST = 256 * 1024
"""What a service takes in one message."""
Grow = Callable[[int], bytes]

# --- texts that grow -------------------------------------------------------------------------------------------------


def times(part: bytes, first: bytes = b"", last: bytes = b"") -> Grow:
    return lambda size: first + part * ((size - len(first) - len(last)) // len(part)) + last


def numbered(part: bytes, first: bytes, last: bytes) -> Grow:
    return lambda size: first + b",".join(part % number for number in range(size // (len(part) + 6))) + last


JSON: dict[str, Grow] = {
    "open arrays": times(b"["),
    "arrays": lambda size: b"[" * (size // 2) + b"]" * (size // 2),
    "open objects": times(b'{"a":'),
    "objects": lambda size: b'{"a":' * (size // 6) + b"1" + b"}" * (size // 6),
    "digits": times(b"9"),
    "negative digits": times(b"9", b"-"),
    "fraction": times(b"9", b"0."),
    "exponent": times(b"9", b"1e"),
    "zeros": times(b"0", b"1"),
    "keys": numbered(b'"%d":1', b"{", b"}"),
    "one key": numbered(b'"a":%d', b"{", b"}"),
    "numbers": numbered(b"%d", b"[", b"]"),
    "texts": numbered(b'"%d"', b"[", b"]"),
    "empty objects": times(b"{},", b"[", b"{}]"),
    "text": times(b"a", b'"', b'"'),
    "hex": times(b"0f", b'"', b'"'),
    "base 32": times(b"A", b'"U', b'"'),
    "escapes": times(b"\\u0001", b'"', b'"'),
    "surrogates": times(b"\\ud83c\\udca1", b'"', b'"'),
    "lone surrogates": times(b"\\ud83c", b'"', b'"'),
    "marks": times("e\u0323\u0301".encode(), b'"', b'"'),
    "open text": times(b"a", b'"'),
    "backslashes": times(b"\\", b'"'),
    "quotes": times(b'"'),
    "blanks": times(b" "),
}
TEXTS: dict[str, Grow] = {
    "letters": times(b"A"),
    "dots": times(b"."),
    "parts": times(b"eyJ."),
    "beginnings": times(b"-eyJ"),
    "beginnings and a dot": times(b"-eyJ", b"eyJ."),
    "credentials": times(b"a", b"://"),
    "many credentials": times(b"://a"),
    "hex": times(b"0f"),
    "hex but for the last": times(b"0f", last=b"g"),
    "dashes": times(b"-"),
    "lines": times(b"\n"),
    "zeros": times(b"\0"),
    "no text": times(b"\xff"),
    "marks": times("e\u0323\u0301".encode()),
    "capitals that grow": times("\u0149".encode()),
    "a digit of every script": times("\u0664".encode()),
}
PACKED: dict[str, Grow] = {
    "arrays": times(b"\x91"),
    "maps": times(b"\x81\xa1a"),
    "a great array": times(b"\0", b"\xdd\x7f\xff\xff\xff"),
    "a great map": times(b"\0", b"\xdf\x7f\xff\xff\xff"),
    "a great text": times(b"a", b"\xdb\x7f\xff\xff\xff"),
    "great integers": times(b"\xcf" + b"\xff" * 8),
    "receipts": lambda size: pack([Receipt(n, reason="STALE_PROMPT", fields={"a": 1}) for n in range(size // 30)]),
    "missed": lambda size: pack(ViewAnswer(b"x" * (size // 2), [b"{}"] * (size // 8))),
}


def holes(example: bytes, seen: set[str]) -> Iterator[tuple[str, bytes, bytes]]:
    """The fields of a JSON object that were not seen yet: where each is, what stands before and behind its value."""
    mark = "\0hole\0"

    def walk(value: Any, path: str) -> Iterator[tuple[str, bytes, bytes]]:
        if isinstance(value, list):
            for number, part in enumerate(value):
                yield from walk(part, f"{path}/{number}")
        elif isinstance(value, dict):
            for key, kept in list(value.items()):
                if key not in seen:
                    seen.add(key)
                    value[key] = mark
                    before, _, behind = json.dumps(document, separators=(",", ":")).partition(json.dumps(mark))
                    value[key] = kept
                    yield f"{path}/{key}", before.encode(), behind.encode()
                yield from walk(kept, f"{path}/{key}")

    document = json.loads(example)
    yield from walk(document, "")


def in_place(before: bytes, grow: Grow, behind: bytes) -> Grow:
    return lambda size: before + grow(size - len(before) - len(behind)) + behind


def documents(name: str) -> Iterator[tuple[str, Grow]]:
    """Junk, and junk in the place of every kind of value that good inputs have, each kind once."""
    yield from JSON.items()
    seen: set[str] = set()
    junk = itertools.cycle(JSON.items())
    for example in examples(name)[:9]:
        for path, before, behind in holes(example.split(b"\n")[0], seen):
            for label, grow in itertools.islice(junk, 3):
                yield f"{label} as {path}", in_place(before, grow, behind)


# --- journals and messages that grow ---------------------------------------------------------------------------------


def coming_and_going(size: int) -> bytes:
    """The journal of a lobby that players join and leave, again and again."""
    seed, rules = bytes(32), "timos_twist/1"
    match = Match(seed)
    options = msgspec.to_builtins(newest("timos_twist").options({}, 2))
    body = Created(MATCH, rules, options, (SeatPlan("open"),) * 2, False, commitment(seed, MATCH, rules).hex(), "r")
    lines = match.create(body, 1)
    for number in range(size // 600):
        tenure, joined = match.join("Ada", b"", f"request {number}", 1)
        lines += joined + match.leave(tenure.seat, tenure.tenure, 1)[1]
    lines += match.abort("enough", 1)
    return b"".join(line.data + b"\n" for line in lines)[:-2]  # cut, for a target wants nothing verified


def again(name: str, behind: bytes = b"") -> Grow:
    """A whole journal, and behind its end a line again and again."""
    file = next(file for file in examples("journal_file") if name.encode() in file)
    return times(behind, file) if behind else times(file)


JOURNALS: dict[str, Grow] = {
    "coming and going": coming_and_going,
    "a journal again and again": times(examples("journal_file")[0][:2000] + b"\n"),
    "ends that are none": times(b'{"kind":"finished"}\n'),
    "ends": times(b'{"v":0,"at":0,"state":"","prev":"","kind":"aborted","reason":"","seed":"0"}\n'),
    "lines": times(b"\n"),
    "behind the end": again("timos_twist", b'"finished"\n'),
}


def message(build: Callable[[int], Any]) -> Grow:
    return lambda size: build(size).SerializeToString()


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(depth):
        found = {"a": found}
    return found


def generic(size: int, each: int, value: Any) -> dict[str, Any]:
    return {f"key {number}": value for number in range(size // each)}


def creating(**fields: Any) -> pb.CreateMatchRequest:
    return pb.CreateMatchRequest(request_id=b"r" * 16, **fields)


def with_data(size: int, data: dict[str, Any]) -> pb.CreateMatchRequest:
    del size
    request = creating(seats=[{}, {}])
    request.options.generic.name = "somewhere_else"
    request.options.generic.data.update(data)
    return request


def moving(data: dict[str, Any]) -> pb.PlayRequest:
    request = targets._play()
    command = request.commands.add(id=9, handle=1, prompt=3)
    command.move.generic.name = "somewhere_else"
    command.move.generic.data.update(data)
    return request


def playing(card: str) -> pb.PlayRequest:
    request = targets._play()
    request.commands[0].move.timos_twist.play.card = card
    return request


TIMO = {"timos_twist": {"target": 50}}
SEAT = TOKENS.for_seat(targets.SeatClaim(MATCH, 1, 2, "timos_twist"))
CREATES: dict[str, Grow] = {
    "seats": times(pb.CreateMatchRequest(seats=[{}]).SerializeToString(), creating(options=TIMO).SerializeToString()),
    "computers": times(
        pb.CreateMatchRequest(seats=[{"kind": "clever"}]).SerializeToString(),
        creating(options=TIMO).SerializeToString(),
    ),
    "a kind": message(lambda size: creating(options=TIMO, seats=[{}, {"kind": "x" * size}])),
    "a stand-in": message(lambda size: creating(options=TIMO, seats=[{}, {}], absent_policy="x" * size)),
    "rules": message(lambda size: creating(options=TIMO, seats=[{}, {}], rules="\x01" * size)),
    "a code": message(lambda size: creating(code="0" * size)),
    "a request id": message(lambda size: pb.CreateMatchRequest(request_id=b"r" * size)),
    "options": message(lambda size: with_data(size, generic(size, 20, 1))),
    "a list of options": message(lambda size: with_data(size, {"a": [1] * (size // 11)})),
    "a text": message(lambda size: with_data(size, {"a": "\x01" * size})),
    "the same option": lambda size: with_data(size, {"a": 1}).SerializeToString() * (size // 60),
    "depth": message(lambda size: with_data(size, {"a": [nested(20)] * (size // 250)})),
}
JOINS: dict[str, Grow] = {
    "a name": message(lambda size: pb.JoinMatchRequest(request_id=b"r" * 16, name="e\u0323\u0301" * (size // 5))),
    "an invite": message(
        lambda size: pb.JoinMatchRequest(request_id=b"r" * 16, name="A", invite="\u0149" * (size // 2))
    ),
    "a seed": message(lambda size: pb.JoinMatchRequest(request_id=b"r" * 16, name="A", client_seed=b"s" * size)),
    "a match": message(lambda size: pb.JoinMatchRequest(request_id=b"r" * 16, match="0" * size)),
    "unknown fields": times(b"\xf8\x7f\x01"),
}
PLAYS: dict[str, Grow] = {
    "tokens that are none": times(pb.PlayRequest(attach=[{}]).SerializeToString()),
    "dots": message(lambda size: pb.PlayRequest(attach=[{"token": "eyJ." * (size // 4)}])),
    "good tokens": times(pb.PlayRequest(attach=[{"handle": 1, "token": SEAT}]).SerializeToString()),
    "handles": message(lambda size: pb.PlayRequest(attach=[{"handle": n, "token": SEAT} for n in range(size // 300)])),
    "commands of nobody": times(pb.PlayRequest(commands=[{}]).SerializeToString()),
    "commands": times(moving({"play": {"card": 1}}).SerializeToString()),
    "a move": message(lambda size: moving({"play": {"card": "\x01" * size}})),
    "a card": message(lambda size: playing("\x01" * size)),
    "a move of many names": message(lambda size: moving(generic(size, 20, 1))),
    "a move of many fields": message(lambda size: moving({"play": generic(size, 20, "x")})),
    "a list in a move": message(lambda size: moving({"play": {"card": [1] * (size // 11)}})),
}
SCENARIO = b'{"game":"timos_twist","players":2,'
SCENARIOS: dict[str, Grow] = {
    "chance": numbered(b"%d", SCENARIO + b'"steps":[],"chance":[', b"]}"),
    "a shuffle": numbered(b'"c%d"', SCENARIO + b'"steps":[],"chance":[[', b"]]}"),
    "options": numbered(b'"%d":1', SCENARIO + b'"steps":[],"chance":[],"options":{', b"}}"),
}


def scripted(step: Callable[[int], dict[str, Any]], *, once: bool = False) -> Grow:
    """A scenario that is good up to its last step, with a step again and again, or one that is long."""
    good = json.loads(next(data for data in examples("scenario_file") if b'"timos_twist"' in data))

    def grow(size: int) -> bytes:
        part = step(size)
        count = 1 if once else size // len(json.dumps(part))
        steps = [step for step in good["steps"][:1] if "expect" not in step]
        return json.dumps(good | {"steps": [*steps, *[part] * count]}).encode()

    return grow


def long_scripts() -> dict[str, Grow]:
    return {
        "expectations": scripted(lambda _: {"expect": {"to_act": [0], "table": {"round": 1}}}),
        "moves of nobody": scripted(lambda _: {"seat": 9, "move": {"draw": {}}, "error": "illegal"}),
        "malformed moves": scripted(lambda _: {"seat": 0, "move": {"a": [[[1]]]}, "error": "malformed"}),
        "notes": scripted(lambda _: {"seat": 9, "move": {}, "error": "malformed", "note": "x" * 50}),
        "expected moves": scripted(
            lambda size: {"expect": {"legal": {"0": [{"play": {"card": f"c{n}"}} for n in range(size // 30)]}}},
            once=True,
        ),
        "an expected table": scripted(lambda size: {"expect": {"table": generic(size, 20, [1])}}, once=True),
    }


def grown(name: str) -> Iterator[tuple[str, Grow]]:
    """What a target is given, by a name for the report."""
    match name:
        case "token" | "code" | "text":
            yield from TEXTS.items()
            for number, example in enumerate(examples(name)):
                yield f"behind example {number}", times(example, example)
        case "payload":
            yield from PACKED.items()
        case "create":
            yield from CREATES.items()
        case "join":
            yield from JOINS.items()
        case "play":
            yield from PLAYS.items()
        case _:
            yield from documents(name)
            yield from {"journal_file": JOURNALS, "scenario_file": SCENARIOS | long_scripts()}.get(name, {}).items()


# --- the claims ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TARGETS)
def test_work_grows_no_faster_than_what_is_read(name: str) -> None:
    read = TARGETS[name]
    slow = {}
    for label, grow in grown(name):
        if found := grows_too_fast(read, grow, LARGEST):
            slow[label] = found
    assert slow == {}


def test_a_text_that_costs_its_square_would_be_noticed() -> None:
    """In Python's lines, and in one line of C."""

    def by_lines(data: bytes) -> None:
        for _ in range(len(data) ** 2 // 2**20):
            pass

    def by_c(data: bytes) -> None:
        re.search(rb"(?:a+)b", data)

    assert "lines" in str(grows_too_fast(by_lines, times(b"a"), LARGEST))
    assert " s for " in str(grows_too_fast(by_c, times(b"a"), LARGEST // 8))


UNREAD: dict[str, tuple[int, Callable[[bytes], object]]] = {
    "a token": (MAX_LENGTH, lambda data: TOKENS.seat(data.decode())),
    "a game code": (codes.MAX_LETTERS * 2, lambda data: codes.decode(data.decode())),
    "a move": (MAX_MOVE_BYTES, newest("timos_twist").move_json.decode),
    "a move of a message": (MAX_MOVE_BYTES, lambda data: wire.move_from_json("timos_twist", data)),
    "a question of NATS": (nats_jwt.MAX_BYTES, nats_jwt.read),
    "a sealed question": (nats_jwt.MAX_BYTES, lambda data: targets.CURVE.open(b"xkv1" + data, targets.CURVE.public)),
    "a request id": (checks.MAX_REQUEST_ID, checks.request_id),
    "a match": (25, lambda data: checks.known_match(data.decode(), 4)),
}


@pytest.mark.parametrize("name", UNREAD)
def test_what_is_over_a_limit_is_refused_unread(name: str) -> None:
    """Exactly the same is done for a text just over the limit and for one a thousand times as long."""
    limit, read = UNREAD[name]

    def refused(data: bytes) -> None:
        with pytest.raises((Refusal, Refused, ValueError)):
            read(data)

    just, far = b"1" * (limit + 1), b"1" * (limit * 1000)
    assert doings(lambda: refused(just)) == doings(lambda: refused(far))


@pytest.mark.parametrize("count", [7, 100_000])
def test_seats_are_counted_before_they_are_looked_at(count: int) -> None:
    request = creating(options=TIMO, seats=[{"kind": "clever"}] * count)

    def refused() -> None:
        with pytest.raises(Refusal):
            checks.create(request, targets.SETTINGS)

    done = doings(refused)
    assert done
    assert not [step for step in done if "_computer" in step]


def test_a_message_of_many_parts_has_few_answers_waiting() -> None:
    """They leave while it is read, so that a short message cannot take much memory, nor the time to move it about."""
    waiting = []

    async def run() -> None:
        async def requests() -> AsyncIterator[pb.PlayRequest]:
            yield pb.PlayRequest.FromString(PLAYS["commands of nobody"](LARGEST))

        stream = PlayStream(TOKENS, targets.Nobody(), Pace(1), lambda: 0.0)

        async def write(answer: pb.PlayResponse) -> None:
            waiting.append(len(answer.receipts) + len(stream._receipts))

        await stream.run(requests(), write)

    asyncio.run(run())
    assert sum(waiting) >= LARGEST // 2
    assert max(waiting) <= MAX_UNREAD + BREATH


def test_a_refusal_repeats_little_of_what_was_sent() -> None:
    """So that it fits into a message, whatever was sent; and says how long that was."""
    found = []
    for refused in (
        lambda: checks.create(creating(options=TIMO, seats=[{}, {"kind": "\x01" * 100_000}]), targets.SETTINGS),
        lambda: checks.create(creating(options=TIMO, rules="x" * 100_000, seats=[{}, {}]), targets.SETTINGS),
        lambda: checks.create(with_data(0, {"x" * 100_000: 1}), targets.SETTINGS),
        lambda: newest("x" * 100_000),
    ):
        with pytest.raises((Refusal, Refused)) as caught:
            refused()
        found.append(caught.value)
        for told in (caught.value.detail, *map(str, caught.value.fields.values())):
            assert len(told) <= MAX_TOLD
    assert "characters)" in found[0].detail


def test_every_legal_move_of_the_recorded_matches_is_within_the_limit() -> None:
    """So the limit takes nothing from anybody: the longest is a fraction of it."""
    longest = max(len(line) for file in examples("journal_file") for line in file.split(b"\n") if b'"moved"' in line)
    assert longest * 4 < MAX_MOVE_BYTES
    assert len(games()) >= 5
