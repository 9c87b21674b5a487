"""Non-interference on the wire: matches that differ only in what seat A cannot know give A the same bytes.

The first half drives both matches through the code by which a worker decides and encodes, at thousands of positions;
the second through a whole worker, match service, Redis and NATS. What is compared is all that goes to A: his views,
the answers to his questions with the events that he missed, the receipts of what he tries, whether refused or not, how
many messages there are and how long they are.
"""

import asyncio
import copy
import itertools
import json
import random
from collections import deque
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import grpc
import msgspec
import pytest
import redis

from croupier.v1 import match_service_pb2 as pb
from engine.journal import SeatPlan
from engine.refusals import Refusal
from engine.registry import games
from services import wire
from services.commands import Create, Join, Submit, ViewAnswer, ViewQuestion, pack, view_subject
from services.engine import live as live_module
from services.engine.live import Limits, Live
from services.engine.queries import view as answer_view
from services.views import ViewEncoder
from tests.laws.matches import Case, Moment, attributes, cases
from tests.laws.redeal import PASSING, REDEALS
from tests.laws.test_secrecy import alike, ends_round, told, view
from tests.services.match_front import Served, refusal_of, serving, settings_for, working
from tests.services.match_front import until as until_true

SEED = b"\x5e" * 32
MATCH = "000" + "m" * 22
FAR = 10**12
LIMITS = Limits(FAR, FAR, FAR, 20_000)
POSITIONS = 20
"""Positions of each match that are looked at, for each seat and a spectator."""
CASES = cases(1)


# --- a match as a worker has it ------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _one_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server seed is what it is in both matches: A knows its commitment."""
    monkeypatch.setattr(live_module, "secrets", SimpleNamespace(token_bytes=lambda size: SEED[:size]))


def committed(live: Live) -> Live:
    """The match once the worker has committed and published what was appended."""
    live.committed, live.head, live.lines = live.match.version + 1, live.match.head, []
    live.due = live.wanted()
    live.outbox.clear()
    return live


def begun(case: Case) -> Live:
    """A match in its first decision, brought there by the commands that bring any match there."""
    live = Live.empty(None, LIMITS, None)
    options = msgspec.to_builtins(case.game.options(case.options, case.seats))
    seats = (SeatPlan("open"),) * case.seats
    live.decide(1, Create(MATCH, "r", case.game.rules, options, seats, 60_000, private=False), 1000, 0)
    for seat in range(case.seats):
        live.decide(2, Join(MATCH, f"j{seat}", f"Player {seat}", f"{case.seed}{seat}".encode()[-64:], seat), 1000, 0)
        committed(live)
    assert live.match.status == "running"
    return live


def fork(live: Live, state: Any = None) -> Live:
    """The same match, to be gone on with apart; with `state` in place of its own."""
    match = copy.copy(live.match)
    for name, value in attributes(match).items():
        if isinstance(value, dict):
            setattr(match, name, {key: dict(part) if isinstance(part, dict) else part for key, part in value.items()})
    if state is not None:
        match.state, match._projection, match._legal, match._to_act = state, None, {}, (-1, ())
    apart = Live(match, live.limits, None, live.committed, live.head)
    apart.recent = deque(live.recent, live.recent.maxlen)
    apart.due = dict(live.due)
    match.appended = apart._appended
    return apart


class Position(NamedTuple):
    """A match before a move that was made, and how it went on."""

    live: Live
    moment: Moment


def positions(case: Case, count: int) -> Iterator[Position]:
    """So many positions of as many matches as it takes."""
    matches = (
        position
        for number in itertools.count()
        for position in positions_of_one(case._replace(seed=f"{case.seed} {number}"), count)
    )
    return itertools.islice(matches, count)


def positions_of_one(case: Case, count: int) -> Iterator[Position]:
    """Some positions of a match at random; one move in three is the default, as the clock would make it."""
    rng = random.Random(case.seed)
    live, game = begun(case), case.game
    every = rng.randrange(3, 8)
    for number in range(count * every):
        match = live.match
        if match.over:
            return
        owing = game.to_act(match.state)
        seat, style = rng.choice(owing), rng.randrange(3)
        if style == 0:
            seat = rng.choice([other for other in range(case.seats) if game.legal(match.state, other)])
        move = game.default(match.state, seat) if style == 1 else rng.choice(game.legal(match.state, seat))
        before = fork(live)
        submit(live, seat, game.move_json.encode(move))
        if number % every == 0 and not match.over:
            step = SimpleNamespace(state=match.state, events=match.events)
            yield Position(before, Moment(match.version, before.match.state, seat, move, step))
        committed(live)


def submit(live: Live, seat: int, move: bytes, prompt: int | None = None, tenure: int | None = None) -> bytes:
    """Send a move as the worker gets it; return the receipt as it goes to the match service."""
    match = live.match
    prompt = match.prompts[seat] if prompt is None else prompt
    tenure = match.seats[seat].tenure or 0 if tenure is None else tenure
    return pack([live.decide(7, Submit(MATCH, seat, tenure, prompt, move), match.at + 5, 0)])


# --- what A gets ---------------------------------------------------------------------------------------------------


def subject_of(live: Live, seat: int | None) -> str:
    return view_subject(MATCH, seat, None if seat is None else live.match.seats[seat].tenure)


def messages(live: Live, seat: int | None) -> list[bytes]:
    """The views of entries not published yet that go to A, in order."""
    mine = subject_of(live, seat)
    return [data for version in sorted(live.outbox) for subject, data in live.outbox[version] if subject == mine]


def asked(live: Live, seat: int | None, since: int | None) -> tuple[bytes, bytes]:
    """The owner's answer to a question of A, and what gRPC makes of it."""
    tenure = None if seat is None else live.match.seats[seat].tenure
    try:
        answer = answer_view(live, ViewQuestion(MATCH, seat, tenure, since))
    except Refusal as refusal:
        answer = ViewAnswer(reason=refusal.reason, detail=refusal.detail, fields=dict(refusal.fields))
    response = pb.GetViewResponse(
        view=wire.view_from_json(answer.view),
        missed=[wire.past_events_from_json(events) for events in answer.missed],
        truncated=answer.truncated,
    )
    return pack(answer), response.SerializeToString(deterministic=True)


def without_passing(game: Any, message: bytes) -> Any:
    """A view whose events are told as the laws compare them: without what is public for a moment only."""
    document = json.loads(message)
    part = document[game.name]
    part["events"] = [
        [name, sorted((field, _plain(value)) for field, value in event.items() if f"{name}.{field}" not in passing)]
        for passing in [PASSING.get(game.rules, set())]
        for one in part["events"]
        for name, event in one.items()
    ]
    return document


def _plain(value: Any) -> str:
    cards = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return json.dumps(sorted(value) if cards else value)


def tries(case: Case, seat: int, rng: random.Random, catalogue: Sequence[bytes]) -> Iterator[tuple[bytes, int, int]]:
    """What A may send: moves legal or not, malformed ones, old and future prompts, a tenure that is not his."""
    for move in rng.sample(catalogue, min(3, len(catalogue))):
        yield move, 0, 0
    yield rng.choice((b'{"no_such_move":{}}', b"\xff{")), 0, 0
    yield (rng.choice(catalogue), *rng.choice(((-1, 0), (-4, 0), (10**6, 0), (0, 1))))


# --- the proof -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_what_a_seat_cannot_know_changes_no_byte_that_it_gets(case: Case) -> None:
    """Views, answers, missed events; receipts and refusals of whatever A tries; and A's views of what the others do, as
    long as he cannot tell the two matches apart by the rules."""
    game, rng, redeal = case.game, random.Random(case.seed), REDEALS[case.game.rules]
    found = list(positions(case, POSITIONS))
    catalogue = sorted({
        game.move_json.encode(move)
        for position in found
        for seat in range(case.seats)
        for move in game.legal(position.moment.state, seat)[:8]
    })  # fmt: skip
    compared = differing = accepted = refused = followed = 0
    for position in found:
        for seat in (None, *range(case.seats)):
            twin_state = redeal(position.moment.state, seat, rng)
            one, two = fork(position.live), fork(position.live, twin_state)
            compared += 1
            differing += one.match.digest != two.match.digest
            for since in (None, rng.randrange(one.match.version)):
                assert asked(one, seat, since) == asked(two, seat, since)
            if seat is not None:
                legal = [(game.move_json.encode(move), 0, 0) for move in one.match.legal(seat)[:1]]
                for move, later, tenure in (*legal, *tries(case, seat, rng, catalogue)):
                    pair = [fork(one), fork(two, twin_state)]
                    prompt = one.match.prompts[seat] + later
                    first, second = (
                        submit(each, seat, move, prompt, (each.match.seats[seat].tenure or 0) + tenure) for each in pair
                    )
                    assert first == second
                    done = pair[0].match.version > one.match.version
                    accepted, refused = accepted + done, refused + (not done)
                    if not done:
                        assert [each.outbox for each in pair] == [{}, {}]
                    followed += same_if_alike(case, seat, *pair)
            if not ends_round(game, position.moment):
                for move in alike(game, position.moment, seat, twin_state)[:3]:
                    pair = [fork(one), fork(two, twin_state)]
                    submit(pair[0], position.moment.seat, game.move_json.encode(position.moment.move))
                    submit(pair[1], position.moment.seat, game.move_json.encode(move))
                    followed += same_if_alike(case, seat, *pair)
    assert compared == POSITIONS * (case.seats + 1)
    assert differing > compared / 2, "most pairs differ, else nothing is shown"
    assert accepted > 10
    assert refused > 100
    assert followed > 20


def same_if_alike(case: Case, seat: int | None, one: Live, two: Live) -> bool:
    """Assert that a seat which cannot tell two matches apart after a move was sent the same; whether it was so."""
    game = case.game
    if one.match.version != two.match.version or one.match.over or two.match.over:
        return False
    if one.match.reason or view(game, one.match.state, seat) != view(game, two.match.state, seat):
        return False
    first, second = messages(one, seat), messages(two, seat)
    if told(game, one.match.events, seat) == told(game, two.match.events, seat):
        assert [len(first), *map(len, first)] == [len(second), *map(len, second)] or passing(game, first, second)
        assert first == second or passing(game, first, second)
        return bool(first)
    return False


def passing(game: Any, first: Sequence[bytes], second: Sequence[bytes]) -> bool:
    """Whether messages differ at most in what everybody saw for a moment, or in the order of cards drawn together."""
    return [without_passing(game, one) for one in first] == [without_passing(game, two) for two in second]


@pytest.mark.parametrize("game", games(), ids=lambda game: game.rules)
def test_a_leak_would_be_noticed(game: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Views that tell but a digest of what is hidden do not pass, in any game."""
    case = next(parameter.values[0] for parameter in CASES if parameter.values[0].game is game)
    whole = ViewEncoder._view

    def leaking(self: ViewEncoder, public: Any, seat: int | None) -> bytes:
        return whole(self, public, seat).replace(b'"reason":null', b'"reason":"%b"' % self.match.digest.encode(), 1)

    monkeypatch.setattr(ViewEncoder, "_view", leaking)
    with pytest.raises(AssertionError, match="reason"):
        test_what_a_seat_cannot_know_changes_no_byte_that_it_gets(case)


# --- through the whole stack ---------------------------------------------------------------------------------------


class Heard:
    """Everything that A gets in one run, in order for each road."""

    def __init__(self) -> None:
        self.views: list[bytes] = []
        self.answers: list[Any] = []


async def run_once(
    served: Served, worker: Any, case: Case, script: random.Random, twin: Any, catalogue: list[bytes]
) -> Heard:
    """Play some moves, exchange the state if `twin` is given, then let A look and try; return what A heard.

    What he tries is put into `catalogue` the first time.
    """
    heard = Heard()
    game = case.game
    options = wire.options_to_proto(game.name, case.options)
    create = pb.CreateMatchRequest(
        request_id=b"c" * 16, options=options, seats=[pb.SeatSetup(kind="open")] * case.seats
    )
    match = (await served.stub.CreateMatch(create)).match
    seats = [
        await served.stub.JoinMatch(
            pb.JoinMatchRequest(match=match, request_id=b"join%012d" % seat, name=f"Player {seat}", seat=seat)
        )
        for seat in range(case.seats)
    ]
    live = worker._matches._cache[match]
    for _ in range(script.randrange(4, 20)):
        state = live.match.state
        seat = game.to_act(state)[0]
        move = game.move_json.encode(script.choice(game.legal(state, seat)))
        await served.stub.SubmitMove(
            pb.SubmitMoveRequest(
                token=seats[seat].token, prompt=live.match.prompts[seat], move=wire.move_from_json(game.name, move)
            )
        )
        if live.match.over:
            return heard
    before = live.match.state
    if twin is not None:
        live.match.state, live.match._projection, live.match._legal = twin(before), None, {}
        live.match._to_act = (-1, ())
        live._views = None

    async def hear(message: Any) -> None:
        heard.views.append(message.data)

    subscription = await served.bus.subscribe(seats[0].subject, hear)
    token, prompt = seats[0].token, live.match.prompts[0]
    for since in (None, 0, live.match.version - 1):
        response = await served.stub.GetView(pb.GetViewRequest(token=token, since=since))
        heard.answers.append(response.SerializeToString(deterministic=True))
    stream = served.stub.Play()
    await stream.write(pb.PlayRequest(attach=[pb.Attach(handle=1, token=token)]))
    heard.answers.append((await stream.read()).SerializeToString(deterministic=True))
    legal = set(map(game.move_json.encode, game.legal(live.match.state, 0)))
    others = {game.move_json.encode(move) for seat in range(case.seats) for move in game.legal(before, seat)}
    if twin is None:
        catalogue += sorted(others - legal)[:6]
    for number, move in enumerate(catalogue):
        request = pb.SubmitMoveRequest(token=token, prompt=prompt, move=wire.move_from_json(game.name, move))
        heard.answers.append(await outcome(served.stub.SubmitMove(request)))
        for late in (prompt, prompt - 1, prompt + 100):
            command = pb.Command(id=number, handle=1, prompt=late, move=request.move)
            await stream.write(pb.PlayRequest(commands=[command]))
            heard.answers.append((await stream.read()).SerializeToString(deterministic=True))
    journal = served.stub.GetJournal(pb.GetJournalRequest(match=match))
    heard.answers.append(await outcome(journal.read()))
    rematch = pb.RematchRequest(token=token, request_id=b"r" * 16)
    heard.answers.append(await outcome(served.stub.Rematch(rematch)))
    version = live.match.version
    await served.stub.LeaveMatch(pb.LeaveMatchRequest(token=seats[-1].token))
    await until_true(lambda: len(heard.views) > 0)
    assert live.match.version > version
    stream.cancel()
    await served.bus.unsubscribe(subscription)
    return heard


async def outcome(call: Any) -> Any:
    """What a call answers, or the refusal with all of its trailers that are told."""
    try:
        return (await call).SerializeToString(deterministic=True)
    except grpc.aio.AioRpcError as error:
        return refusal_of(error)


@pytest.mark.parametrize("game", games(), ids=lambda game: game.rules)
def test_what_a_seat_cannot_know_changes_nothing_on_the_real_wire(game: Any, redis_url: str, nats_url: str) -> None:
    """The same requests with the same request ids, twice from an empty Redis; the second time everything that A cannot
    see is dealt anew before A looks, tries what is refused, and another seat leaves."""
    case = Case(game, game.seats[0] + 1, {}, f"wire {game.rules}")
    redeal = REDEALS[game.rules]
    settings = settings_for(redis_url, nats_url, partitions=1)

    catalogue: list[bytes] = []

    async def run(twin: Any) -> Heard:
        with redis.Redis.from_url(redis_url) as client:
            client.flushall()
        async with working(settings) as worker, serving(settings) as served:
            return await run_once(served, worker, case, random.Random(case.seed), twin, catalogue)

    first = asyncio.run(run(None))
    second = asyncio.run(run(lambda state: redeal(state, 0, random.Random(1))))
    assert first.answers
    assert first.answers == second.answers
    assert first.views == second.views
