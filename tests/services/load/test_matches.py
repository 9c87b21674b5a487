"""How a match is played under load: when the next move follows, and what is seen to be missing."""

import asyncio
import random
from types import SimpleNamespace
from typing import Any

from croupier.v1 import match_service_pb2 as pb
from croupier.v1 import view_pb2
from services import wire
from services.load.figures import Meter
from services.load.match import OpenMatch, Seat, Sent
from services.load.moves import MoveStream
from services.load.pace import Closed
from services.load.sight import Sight, same_table
from services.views import ViewEncoder
from tests.services import played
from tests.services.load.planned import plan, timo
from tests.services.played import EVERY_GAME, create, join, move, outside  # noqa: F401 - the fixture


class FakeCrowd:
    """Takes what a match asks of its crowd."""

    def __init__(self) -> None:
        self.plan = plan(optional=0.0)
        self.sight = Sight("timos_twist")
        self.meter = Meter()
        self.pace = Closed(0)
        self.leave = 0.0
        self.paused = False
        self.last_id = 0
        self.sent: list[Sent] = []
        self.healed: list[int] = []
        self.over: list[str | None] = []

    def send(self, sent: Sent) -> None:
        self.sent.append(sent)

    def heal(self, seat: Seat) -> None:
        self.healed.append(seat.number)

    def ended(self, _match: OpenMatch, last_hash: str | None) -> None:
        self.over.append(last_hash)


def playing(crowd: FakeCrowd) -> tuple[OpenMatch, Any]:
    """A match of two seats that has started, beside the one that the server would have."""
    real, _ = create(played.GAMES[0] if played.GAMES[0].name == "timos_twist" else timo(), ["open", "open"], {}, None)
    join(real, "Anna")
    match = OpenMatch(crowd, 0, real.id, crowd, random.Random(1))  # type: ignore[arg-type]
    match.seats = [Seat(match, number, "token", 2) for number in range(2)]
    join(real, "Bob")
    for seat in match.seats:
        seat.take(ViewEncoder(real).view_json(seat.number))
    match.begin()
    return match, real


def decide(real: Any, sent: Sent) -> int:
    """Do what the server would: return the version of the entry."""
    _, text = wire.move_to_json(view_pb2.GameMove.FromString(sent.move))
    number = sent.seat.number
    return real.move(number, real.seats[number].tenure, sent.prompt, text, real.at + 1)[0]


def test_the_next_move_follows_when_every_seat_has_seen_the_last_and_not_before():
    crowd = FakeCrowd()
    match, real = playing(crowd)
    (first,) = crowd.sent
    decide(real, first)
    views = ViewEncoder(real)
    match.seats[0].take(views.view_json(0))
    assert (len(crowd.sent), crowd.meter.counts.moves) == (1, 0)
    match.seats[1].take(views.view_json(1))
    assert (len(crowd.sent), crowd.meter.counts.moves) == (2, 1)
    assert len(crowd.meter.view) == 1


def test_with_a_seat_left_to_the_server_only_the_receipt_tells_which_entry_is_the_move():
    crowd = FakeCrowd()
    match, real = playing(crowd)
    match.alone = False
    (first,) = crowd.sent
    version = decide(real, first)
    for seat in match.seats:
        seat.take(ViewEncoder(real).view_json(seat.number))
    assert len(crowd.sent) == 1
    match.accept(first, version)
    assert (len(crowd.sent), crowd.meter.counts.moves) == (2, 1)


def test_a_gap_is_healed_a_repeat_is_dropped():
    crowd = FakeCrowd()
    match, real = playing(crowd)
    decide(real, crowd.sent[0])
    seat, other = match.seats
    other.take(ViewEncoder(real).view_json(1))
    before = other.version
    other.take(ViewEncoder(real).view_json(1))
    assert (before, []) == (other.version, crowd.healed)
    seat.version -= 1
    seat.take(ViewEncoder(real).view_json(0))
    assert crowd.healed == [0]


def test_views_that_a_newer_one_came_in_the_place_of_are_healed_unless_they_were_heard_too():
    crowd = FakeCrowd()
    match, real = playing(crowd)
    seat = match.seats[0]
    views = []
    for _ in range(4):
        decide(real, crowd.sent[-1])
        views.append(ViewEncoder(real).view_json(0))
        for other in match.seats[1:]:
            other.take(ViewEncoder(real).view_json(other.number))
        match.sent = 0
        match.awaited = 0
        seat.view, seat.version = seat.sight.read(views[-1]), real.version
        match.go_on()
    seat.version -= 4
    seat.asking = True
    seat.take(views[1])
    seat.asking = False
    seat.replace(seat.sight.read(views[3]), asked=True)
    assert (seat.version, crowd.meter.counts.healed_views) == (real.version, 3), "of four one was heard"
    seat.later.clear()
    seat.replace(seat.sight.read(views[0]), asked=True)
    assert (seat.version, crowd.meter.counts.healed_views) == (real.version - 3, 3), "a lower one replaces, too"
    seat.replace(seat.sight.read(views[2]), asked=False)
    assert crowd.meter.counts.healed_views == 4, "a stream's own view was heard, the one before was not"


def test_views_that_no_seat_lacks_are_not_lost_and_those_of_a_known_end_are():
    crowd = FakeCrowd()
    match, real = playing(crowd)
    assert match.lost_views() == 0
    match.accept(crowd.sent[0], real.version + 1)
    assert match.lost_views() == 2, "both seats lack the view of a move that was accepted"
    decide(real, crowd.sent[0])
    match.seats[0].take(ViewEncoder(real).view_json(0))
    assert match.lost_views() == 1
    match.last = real.version + 2
    assert match.lost_views() == 2 + 3


def test_views_missed_before_a_match_is_played_are_no_gap():
    """Others join while NATS is still being told of a seat's subscription."""
    crowd = FakeCrowd()
    real, _ = create(timo(), ["open", "open"], {}, None)
    join(real, "Anna")
    match = OpenMatch(crowd, 0, real.id, crowd, random.Random(1))  # type: ignore[arg-type]
    seat = Seat(match, 0, "token", real.version)
    match.seats = [seat]
    join(real, "Bob")
    assert real.version > seat.version + 1
    seat.take(ViewEncoder(real).view_json(0))
    assert (seat.version, crowd.healed) == (real.version, [])


def test_after_a_refusal_every_seat_looks_anew_and_play_goes_on():
    crowd = FakeCrowd()
    match, _ = playing(crowd)
    match.refuse(crowd.sent[0])
    assert crowd.healed == [0, 1]
    match.go_on()
    assert len(crowd.sent) == 2


def test_seats_that_see_different_tables_or_ends_are_found():
    crowd = FakeCrowd()
    match, real = playing(crowd)
    decide(real, crowd.sent[0])
    views = [ViewEncoder(real).view_json(number) for number in range(2)]
    match.seats[0].take(views[0])
    match.seats[1].take(views[1].replace(b'"table":{', b'"table":{"x":1,'))
    assert "see different tables" in match.parted
    match.parted = ""
    real.abort("enough", real.at)
    crowd.sent.clear()
    for seat, ending in zip(match.seats, (b'"hash":"', b'"hash":"ff'), strict=True):
        seat.take(ViewEncoder(real).view_json(seat.number).replace(b'"hash":"', ending))
    assert "different last hashes" in match.parted
    assert len(crowd.over) == 1


def test_a_paused_crowd_moves_no_more():
    crowd = FakeCrowd()
    match, real = playing(crowd)
    crowd.paused = True
    decide(real, crowd.sent[0])
    for seat in match.seats:
        seat.take(ViewEncoder(real).view_json(seat.number))
    assert (len(crowd.sent), crowd.meter.counts.moves) == (1, 1)


@EVERY_GAME
def test_both_forms_of_a_view_say_the_same(game, outside):  # noqa: F811 - the fixture
    sight = Sight(game.name)
    real, _ = create(game, ["open"] * 3, {})
    for name in ("Anna", "Bob", "Carla"):
        join(real, name)
    chance = random.Random(5)
    for _ in range(25):
        if real.over:
            break
        for seat in range(3):
            data = ViewEncoder(real).view_json(seat)
            text, message = sight.read(data), sight.of(wire.view_from_json(data))
            fields = ("version", "status", "to_act", "prompt", "hash")
            assert [getattr(text, name) for name in fields] == [getattr(message, name) for name in fields]
            moves = [sight.move(legal) for legal in sight.legal(text)]
            assert moves == [sight.move(legal) for legal in sight.legal(message)]
            assert len(moves) == len(real.legal(seat))
            assert same_table(text, text)
            assert same_table(message, message)
        seat = chance.choice([seat for seat in real.players if real.legal(seat)])
        move(real, seat, chance.choice(real.legal(seat)))


def test_a_stream_writes_what_was_sent_and_once_more_when_it_opens_again():
    async def run() -> None:
        wrote: asyncio.Queue[pb.PlayRequest] = asyncio.Queue()

        class Call:
            def __init__(self) -> None:
                self.broken = asyncio.Event()

            async def write(self, request: pb.PlayRequest) -> None:
                wrote.put_nowait(pb.PlayRequest.FromString(request.SerializeToString()))

            async def read(self) -> None:
                await self.broken.wait()

            def cancel(self) -> None:
                self.broken.set()

        crowd: Any = SimpleNamespace(stub=SimpleNamespace(Play=lambda **_: Call()))
        stream = MoveStream(crowd)
        match: Any = SimpleNamespace(crowd=SimpleNamespace(sight=None))
        seat = Seat(match, 0, "token", 1)
        stream.attach(seat)
        move = wire.move_from_json("timos_twist", b'{"play":{"card":"blue-7"}}')
        stream.send(Sent(5, seat, 3, move.SerializeToString(), 0.0))

        expected = pb.PlayRequest(
            attach=[pb.Attach(handle=1, token="token")], commands=[pb.Command(id=5, handle=1, prompt=3, move=move)]
        )
        async with asyncio.timeout(10):
            assert expected == await wrote.get()
            stream.drop()
            assert expected == await wrote.get()
        await stream.close()

    asyncio.run(run())
