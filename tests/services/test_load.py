"""Claims about `croupier load` without a server: what is counted, when moves are made, what journals show."""

import asyncio
import io
import random
import re
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, get_args

import msgspec
import pytest
import typer
from hdrh.histogram import HdrHistogram
from rich.console import Console
from typer.testing import CliRunner

from croupier.v1 import match_service_pb2 as pb
from croupier.v1 import view_pb2
from engine import journal
from engine.registry import AnyGame
from services import wire
from services.bus import Connection
from services.cli import app
from services.load import nats_listener, talk
from services.load.checks import Checked, examine
from services.load.coordinator import Coordinator, PhaseName
from services.load.cpu import Processes
from services.load.crowd import Played
from services.load.ending import Ended
from services.load.figures import Counts, Interval, Latency, Meter, histogram, quantile, sort
from services.load.match import OpenMatch, Seat, Sent
from services.load.moves import MoveStream
from services.load.nats_listener import Listener, NatsError
from services.load.pace import Closed, Schedule
from services.load.page import page
from services.load.plan import Plan, PlanError, Share, seconds
from services.load.progress import Progress, row
from services.load.report import OwnStack, remarks, report, settings, summary
from services.load.run import Wish, dialled
from services.load.sight import Sight, same_table
from services.load.viewers import NatsViews
from services.load.worker import _advice, work
from services.local import NatsServer, free_port
from services.play_stream import RefusedError
from services.settings import Durability
from services.views import ViewEncoder
from tests.services import played
from tests.services.played import EVERY_GAME, OUTSIDE, create, join, move, outside  # noqa: F401 - the fixture

PLAN = Plan(server="127.0.0.1:1", nats="nats://127.0.0.1:2", game="timos_twist", matches=4, seats=2, seconds=5)
SECRET = "knock knock"


def plan(**changes: Any) -> Plan:
    return msgspec.structs.replace(PLAN, **changes)


# --- plans -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"), [("60s", 60), ("1.5m", 90), ("500ms", 0.5), ("2h", 7200), ("7", 7), (" 3s ", 3)]
)
def test_times_are_read_with_their_unit(text, expected):
    assert expected == seconds(text)


@pytest.mark.parametrize("text", ["", "s", "-1s", "1 hour", "1e9", "inf", "nan"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(PlanError, match="no time such as 60s"):
        seconds(text)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"matches": 0}, "--matches"),
        ({"matches": 100_001}, "--matches"),
        ({"seconds": 0}, "--for"),
        ({"seconds": 90_000}, "--for"),
        ({"seats": 9}, "2 to 6 seats"),
        ({"game": "poker"}, "poker"),
        ({"options": {"target": -1}}, "target"),
        ({"rate": 0}, "--rate"),
        ({"rate": 5, "think_ms": 5}, "--think"),
        ({"leave": 1.1}, "--leave"),
        ({"reconnect_s": 0.01}, "--reconnect-every"),
        ({"server": "match.example.com"}, "--server: 'match.example.com' is no HOST:PORT"),
        ({"nats": "wss://127.0.0.1"}, "no nats:// or tls:// URL"),
        ({"nats": "nats://127.0.0.1,ws://127.0.0.1"}, "ws://127.0.0.1"),
    ],
)
def test_a_plan_without_bounds_or_sense_is_refused_by_name(changes, said):
    with pytest.raises(PlanError, match=re.escape(said)):
        plan(**changes).check()


def test_shares_are_the_whole_plan_and_do_not_overlap():
    slots = [slot for index in range(3) for slot in Share(plan(matches=10), index, 3).slots]
    assert list(range(10)) == sorted(slots)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--for 60s"),
        (["--for", "soon"], "'soon'"),
        (["--for", "1s", "--rate", "5", "--closed"], "one of them"),
        (["--for", "1s", "--matches", "1", "--processes", "2"], "--processes"),
        (["--for", "1s", "--workers", "1"], "CROUPIER_LOAD_SECRET"),
        (["--for", "1s", "--pid", "redis=0"], "no process 0"),
        (["--for", "1s", "--option", "target"], "option target is a number"),
        (["--for", "1s", "--nats", "nats://127.0.0.1"], "--nats is of a --server"),
        (["--for", "1s", "--server", "127.0.0.1:1", "--durability", "fsync"], "of a stack of its own"),
        (["--for", "1s", "--server", "127.0.0.1:1", "--engines", "2"], "of a stack of its own"),
        (["--join", "nowhere"], "HOST:PORT"),
    ],
)
def test_the_command_refuses_nonsense_before_it_starts_anything(arguments, said, monkeypatch):
    monkeypatch.delenv("CROUPIER_LOAD_SECRET", raising=False)
    if "--join" in arguments:
        monkeypatch.setenv("CROUPIER_LOAD_SECRET", SECRET)
    result = CliRunner().invoke(app, ["load", *arguments])
    assert (result.exit_code, said in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "engines", "durability"),
    [
        ([], Wish(plan=PLAN).engines, Wish(plan=PLAN).durability),
        (["--engines", "3", "--durability", "fsync"], 3, Durability("fsync")),
    ],
)
def test_a_stack_of_its_own_is_as_the_command_says_or_else_as_wished_for_by_default(
    arguments, engines, durability, monkeypatch
):
    wishes: list[Wish] = []

    def run(wish: Wish, _console: Console) -> NoReturn:
        wishes.append(wish)
        raise PlanError("enough")

    monkeypatch.setattr("services.load.run.run", run)
    assert CliRunner().invoke(app, ["load", "--for", "1s", *arguments]).exit_code == 2
    assert [(wish.engines, wish.durability) for wish in wishes] == [(engines, durability)]


def test_the_help_says_the_defaults_of_a_stack_of_its_own():
    options = {name: one for one in typer.main.get_command(app).commands["load"].params for name in one.opts}
    wish = Wish(plan=PLAN)
    assert f"by default {wish.durability}." in options["--durability"].help
    assert (wish.engines, "by default one" in options["--engines"].help) == (1, True)


def test_the_guide_speaks_only_of_options_that_the_command_has_and_the_command_has_all_that_a_load_needs():
    command = typer.main.get_command(app).commands["load"]
    known = {name for parameter in command.params for name in parameter.opts}
    guide = (Path(__file__).parents[2] / "docs" / "load_testing.md").read_text("utf-8")
    assert set(re.findall(r"--[a-z][a-z-]*", guide)) - known == set()
    needed = (
        "game matches seats rate closed for processes transport views think leave reconnect-every slow join html json"
    )
    assert {f"--{name}" for name in needed.split()} <= known


# --- figures ---------------------------------------------------------------------------------------------------------


def test_buckets_are_those_of_an_hdr_histogram():
    chance = random.Random(1)
    values = [chance.lognormvariate(-5, 2) for _ in range(5000)] + [0.0, 0.002047, 0.002048, 0.004095, 0.004096]
    straight = HdrHistogram(1, 3_600_000_000, 3)
    for value in values:
        straight.record_value(max(1, int(value * 1e6)))
    sorted_in = histogram(sort(values))
    for percent in (0, 10, 50, 90, 99, 99.9, 100):
        expected = straight.get_value_at_percentile(percent)
        assert straight.values_are_equivalent(expected, sorted_in.get_value_at_percentile(percent))
    assert straight.get_total_count() == sorted_in.get_total_count()


def test_workers_merged_are_as_one_worker_who_saw_it_all():
    chance = random.Random(2)
    parts = [[chance.random() for _ in range(300)] for _ in range(3)]
    merged = Interval()
    for part in parts:
        merged.add(Interval(Counts(moves=len(part), refused={"OVERLOADED": 1}), view=dict(sort(part))))
    assert Latency.of(sort(value for part in parts for value in part)) == Latency.of(merged.view)
    assert (merged.counts.moves, merged.counts.refused) == (900, {"OVERLOADED": 3})
    decoded = HdrHistogram.decode(Latency.of(merged.view).histogram)
    assert decoded.get_total_count() == 900


def test_a_percentile_of_buckets_is_the_value_below_which_that_share_lies():
    assert tuple(quantile({100: 50, 200: 49, 400: 1}, percent) for percent in (50, 99, 100)) == (0.1, 0.2, 0.4)
    assert quantile({}, 50) == 0


def test_what_was_reported_is_not_reported_again():
    meter = Meter()
    meter.view += [0.001, 0.001]
    meter.counts.moves = 2
    meter.refuse("OVERLOADED")
    first, second = meter.take(3), meter.take(3)
    assert (first.counts.moves, first.view, first.counts.refused, first.open) == (2, {1000: 2}, {"OVERLOADED": 1}, 3)
    assert (second.counts.moves, second.view, second.counts.refused) == (0, {}, {})


# --- pace ------------------------------------------------------------------------------------------------------------


def test_a_server_that_stops_for_a_second_shows_it_in_every_move_due_in_that_second():
    meter = Meter()
    pace = Schedule(Share(plan(matches=1, rate=10.0), 0, 1), meter)
    match: Any = SimpleNamespace(slot=0, touched=0.0)
    pace.start(100.0)
    begun = [pace.begin(match, 100.0)]
    match.touched = 101.0  # the first move's views came a second late; nine moves are due
    latencies = []
    for sent in (101.0, 101.01, 101.02, 101.03, 101.04, 101.05, 101.06, 101.07, 101.08, 101.09):
        begun.append(pace.begin(match, sent))
        latencies.append(sent + 0.005 - begun[-1])
        match.touched = sent + 0.005
    assert begun == pytest.approx([100 + i / 10 for i in range(11)])
    assert latencies == pytest.approx([0.905 - 0.09 * i for i in range(10)])
    assert max(meter.late) == pytest.approx(0.005)  # the client was ready, and late by that much; not by a second


def test_a_schedule_is_spread_over_matches_and_workers():
    wanted = plan(matches=4, rate=8.0)
    pace = Schedule(Share(wanted, 1, 2), Meter())
    now = time.perf_counter()
    pace.start(now)
    dues = [pace.begin(SimpleNamespace(slot=slot, touched=0.0), now) - now for slot in (1, 3, 1, 3)]
    assert dues == pytest.approx([0.125, 0.375, 0.625, 0.875])


def test_moves_due_while_a_match_is_opened_are_skipped_and_counted():
    meter = Meter()
    pace = Schedule(Share(plan(matches=1, rate=10.0), 0, 1), meter)
    pace.start(100.0)
    pace.enter(0, 100.25)
    assert meter.counts.skipped == 3
    assert pace.begin(SimpleNamespace(slot=0, touched=0.0), 100.3) == pytest.approx(100.3)
    assert tuple(pace.behind(now) for now in (100.35, 100.45, 100.55)) == (0, 1, 2)


def test_thinking_takes_between_half_and_one_and_a_half_of_its_time():
    match: Any = SimpleNamespace(chance=random.Random(3))
    delays = [Closed(100).delay(match) for _ in range(500)]
    assert 0.05 <= min(delays) < 0.06
    assert 0.14 < max(delays) <= 0.15
    assert Closed(0).delay(match) == 0


# --- matches ---------------------------------------------------------------------------------------------------------


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


def timo() -> AnyGame:
    return next(game for game in played.GAMES if game.name == "timos_twist")


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


# --- journals --------------------------------------------------------------------------------------------------------


def receipts(lines: Iterable[bytes]) -> "Iterator[int]":
    """What a crowd would have been promised, had it made all moves of players."""
    for line in lines:
        entry = journal.read(line)
        if isinstance(entry.body, journal.Moved) and entry.body.by == "player":
            yield from (entry.version, entry.body.seat << 32 | entry.body.prompt)


def promised(lines: list[bytes]) -> Played:
    from array import array

    real = list(played.replayed(lines))[-1]
    return Played(real.id, array("q", receipts(lines)), real.head.hex(), "")


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    return played.journal(timo(), 3)


def test_a_journal_that_holds_all_promises_is_verified(lines):
    found = examine(promised(lines), lines)
    assert found.good
    assert found.moves > 10
    assert (found.matches, found.verified) == (1, 1)


def test_a_promised_move_that_is_not_there_is_lost(lines):
    match = promised(lines)
    match.accepted.extend((len(lines) + 5, 1 << 32 | 7))
    match.accepted[1] += 1  # another prompt than the entry's
    found = examine(match, lines)
    assert (found.lost, found.duplicated, found.diverged) == (2, 0, 0)
    assert f"{match.match}: lost" in found.examples[0]


def test_a_move_that_is_there_twice_is_duplicated_and_the_audit_diverges(lines):
    version = next(receipts(lines))
    twice = [*lines[: version + 1], lines[version], *lines[version + 1 :]]
    found = examine(promised(lines), twice)
    assert found.duplicated == 1
    assert found.diverged == 1


def test_another_end_than_the_players_were_told_diverges(lines):
    found = examine(promised(lines)._replace(hash="00" * 32), lines)
    assert (found.lost, found.diverged) == (0, 1)
    assert "last hash" in found.examples[0]


def test_seats_that_saw_different_things_diverge_though_the_journal_holds(lines):
    found = examine(promised(lines)._replace(parted="seats 0 and 1 differ"), lines)
    assert (found.diverged, found.good) == (1, False)
    assert "seats 0 and 1 differ" in found.examples[0]


# --- NATS ------------------------------------------------------------------------------------------------------------


def test_messages_are_told_apart_however_the_bytes_arrive():
    stream = (
        b'INFO {"auth_required":true}\r\nPING\r\nMSG view.a.0 1 5\r\nhello\r\n+OK\r\nMSG view.b 2 _INBOX.x 0\r\n\r\n'
        b"PONG\r\nMSG view.a.0 1 6\r\nM\r\nPI\n\r\n-ERR 'Slow Consumer'\r\nMSG gone 9 2\r\nno\r\n"
    )

    async def parsed(cuts: list[int]) -> tuple[list[tuple[int, bytes]], str, bool, bytes]:
        listener = Listener(["nats://x"], lambda: None)
        got: list[tuple[int, bytes]] = []
        listener.takers = {sid: lambda data, sid=sid: got.append((sid, data)) for sid in (1, 2)}
        wire_ = nats_listener._Wire(listener)
        answers: list[bytes] = []
        wire_.write = answers.append  # type: ignore[method-assign]
        pong = asyncio.get_running_loop().create_future()
        wire_.pongs.append(pong)
        for start, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True):
            wire_.data_received(stream[start:stop])
        assert (await wire_.info)["auth_required"]
        return got, wire_.error, pong.done(), b"".join(answers)

    expected = ([(1, b"hello"), (2, b""), (1, b"M\r\nPI\n")], "-ERR 'Slow Consumer'", True, b"PONG\r\n")
    assert expected == asyncio.run(parsed([]))
    for cut in range(1, len(stream)):
        assert expected == asyncio.run(parsed([cut]))
    assert expected == asyncio.run(parsed(list(range(1, len(stream)))))


def test_a_listener_comes_back_by_itself_and_says_so(tmp_path):
    async def scene(url: str) -> list[bytes]:
        got: list[bytes] = []
        back = asyncio.Event()
        listener = Listener([url], back.set)
        await listener.connect()
        sid = listener.subscribe("view.a", got.append)
        await listener.flush()
        client = Connection()
        await client.connect(url)
        async with client:
            await client.publish("view.a", b"one")
            await client.flush()
            await listener.flush()
            listener.drop()
            async with asyncio.timeout(10):
                await back.wait()
            await client.publish("view.a", b"two")
            await client.flush()
            await listener.flush()
            listener.unsubscribe(sid)
            await listener.flush()
            await client.publish("view.a", b"three")
            await client.flush()
            await listener.flush()
        listener.close()
        with pytest.raises(NatsError):
            await listener.flush()
        return got

    with NatsServer(tmp_path) as server:
        assert asyncio.run(scene(server.url)) == [b"one", b"two"]


def test_a_place_whose_connection_could_not_be_made_gets_another_one_when_nats_is_back(tmp_path):
    server = NatsServer(tmp_path)
    with server:
        url = server.url
    crowd: Any = SimpleNamespace(plan=plan(nats=url), share=Share(plan(), 0, 1), login=None)
    match: Any = SimpleNamespace(slot=0, crowd=SimpleNamespace(sight=None))
    seat = Seat(match, 0, "", 1)

    async def scene() -> None:
        views = NatsViews(crowd)
        with pytest.raises(NatsError, match="cannot be listened to"):
            await views.show(seat, "view.a")
        with server:
            await views.show(seat, "view.a")
            await views.flush([seat])
            assert await views.silent(5.0) == ""
            await views.close()

    asyncio.run(scene())


def test_a_listener_shows_a_token_where_one_is_needed_and_says_why_it_was_not_let_in(tmp_path):
    async def connect(url: str, token: str | None) -> Listener:
        listener = Listener([url], lambda: None)
        await listener.connect(token)
        listener.close()
        return listener

    with NatsServer(tmp_path, config_extra='authorization { token: "seat" }') as server:
        assert asyncio.run(connect(server.url, "seat")).needs_token
        with pytest.raises(NatsError, match="Authorization Violation"):
            asyncio.run(connect(server.url, "forged"))


# --- coordinator and workers -----------------------------------------------------------------------------------------


async def knock(address: str, secret: str) -> talk.Talk:
    found = await talk.Talk.connect(address)
    try:
        await found.ask_in(secret, "host", 7, 2)
    except talk.TalkError:
        await found.close()
        raise
    return found


def test_who_does_not_know_the_secret_is_not_let_in_and_never_hears_of_the_plan():
    async def scene() -> Coordinator:
        coordinator = Coordinator(PLAN, SECRET, Processes({}))
        address = await coordinator.listen("127.0.0.1", 0)
        with pytest.raises(talk.TalkError, match="wrong CROUPIER_LOAD_SECRET"):
            await knock(address, "guess")
        await coordinator.close()
        return coordinator

    coordinator = asyncio.run(scene())
    assert (coordinator.hands, coordinator.strangers) == ([], 1)
    assert "turned away" in remarks(report(coordinator))[0]


def test_a_worker_does_not_believe_a_coordinator_without_the_secret():
    async def impostor(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        other = talk.Talk(reader, writer)
        other.send(talk.Challenge("00"))
        await other.receive()
        other.send(talk.Welcome("00"))
        await other.close()

    async def scene() -> None:
        server = await asyncio.start_server(impostor, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        with pytest.raises(talk.TalkError, match="does not know the secret"):
            await knock(f"{host}:{port}", SECRET)
        server.close()
        await server.wait_closed()

    asyncio.run(scene())


async def fake_worker(address: str, fails: str = "", tells: str = "") -> list[range]:
    """Do as a worker does, with figures made up; return which slots it was given."""
    worker = await knock(address, SECRET)
    work = await worker.receive()
    worker.send(talk.Opened())
    assert isinstance(await worker.receive(), talk.Play)
    worker.send(talk.Seen(Interval(Counts(moves=1000), view={9_000_000: 1000}), measured=False))
    assert isinstance(await worker.receive(), talk.Measure)
    if fails:
        worker.send(talk.Failed(fails))
        await worker.close()
        return [work.share.slots]
    for _ in range(2):
        worker.send(talk.Seen(Interval(Counts(moves=10, cpu=0.1), view={1000: 10}, seconds=0.5), measured=True))
    assert isinstance(await worker.receive(), talk.Stop)
    worker.send(talk.Stopped(Interval(Counts(moves=5), view={4000: 5}, seconds=0.5), behind=3))
    worker.send(talk.Checking(1, 2))
    ended = Ended(unanswered=1, lost_views=2, problems=[tells] if tells else [])
    worker.send(talk.Done(Checked(matches=2, verified=2, moves=25), ended))
    await worker.close()
    return [work.share.slots]


def conducted(*workers: dict[str, str], processes: Processes | None = None) -> tuple[Coordinator, list[range]]:
    async def scene() -> tuple[Coordinator, list[range]]:
        coordinator = Coordinator(plan(seconds=0.5, warm_up=0.1), SECRET, processes or Processes({}))
        address = await coordinator.listen("127.0.0.1", 0)
        working = [asyncio.create_task(fake_worker(address, **more)) for more in workers]
        await coordinator.run(len(workers), 5, lambda: None)
        await coordinator.close()
        return coordinator, [slots for worker in working for slots in await worker]

    return asyncio.run(scene())


def test_what_workers_saw_is_added_up_without_the_warm_up():
    coordinator, slots = conducted({}, {})
    assert sorted(slot for share in slots for slot in share) == [0, 1, 2, 3]
    found = report(coordinator)
    assert (found.moves, found.behind, found.checked.matches, found.checked.moves) == (50, 6, 4, 50)
    assert found.view.max == pytest.approx(4, rel=0.001)
    assert found.seconds == pytest.approx(1.5)
    assert found.moves_per_s == pytest.approx(50 / 1.5, rel=0.01)
    assert found.good
    assert any("6 moves were due" in remark for remark in remarks(msgspec.structs.replace(found, plan=plan(rate=9.0))))


def test_a_worker_that_breaks_down_ends_the_run_and_is_named():
    coordinator, _ = conducted({}, {"fails": "out of luck"})
    found = report(coordinator)
    assert not found.good
    assert found.problems == ["worker host/7: out of luck; the journals of its matches were not looked at"]
    assert found.checked.matches == 2


def test_what_all_workers_found_at_the_end_is_said_once_and_what_one_did_is_said_of_him():
    both, _ = conducted({"tells": "NATS is gone"}, {"tells": "NATS is gone"})
    assert (both.problems, both.unanswered, both.lost_views) == (["NATS is gone"], 2, 4)
    assert not report(both).good
    one, _ = conducted({"tells": "NATS is gone"}, {})
    assert one.problems == ["host/7: NATS is gone"]


def test_workers_elsewhere_are_told_a_name_that_they_can_reach():
    assert dialled("0.0.0.0:7070", "bigbox") == "bigbox:7070"
    assert dialled("10.0.0.5:7070", "bigbox") == "10.0.0.5:7070"


@pytest.mark.parametrize("person", [True, False])
def test_a_person_who_joins_is_told_how_it_goes_and_a_program_that_it_is_ready(person, monkeypatch, capsys):
    port = free_port()

    async def let_one_in_and_go() -> None:
        coordinator = Coordinator(PLAN, SECRET, Processes({}))
        await coordinator.listen("127.0.0.1", port)
        await coordinator.run(2, 60, lambda: coordinator.stop.set() if coordinator.hands else None)
        await coordinator.close()

    monkeypatch.setattr("sys.stdout.isatty", lambda: person)
    coordinating = threading.Thread(target=lambda: asyncio.run(let_one_in_and_go()))
    coordinating.start()
    assert work(f"127.0.0.1:{port}", SECRET) == "the run was stopped before it began"
    coordinating.join()
    said = capsys.readouterr().out
    assert (said.startswith("knocking at") and "joined: " in said) == person
    assert ('"event": "ready"' in said) != person


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("DEADLINE_EXCEEDED", "the match service at 127.0.0.1:1: DEADLINE_EXCEEDED: said"),
        ("NO_OWNER", "NO_OWNER: said; does an engine worker run there, and reach Redis and NATS?"),
        ("NOT_OPERATOR", "NOT_OPERATOR: said; set CROUPIER_OPERATOR_KEY to the server's key where each worker starts"),
        ("BAD_OPTIONS", "BAD_OPTIONS: said"),
    ],
)
def test_what_a_run_cannot_begin_without_is_named_with_who_or_what_is_missing(reason, expected):
    crowd: Any = SimpleNamespace(plan=PLAN)
    assert _advice(RefusedError(reason, "said", {}, again=False), crowd) == expected


def test_who_joins_early_waits_for_the_others_and_is_told_if_they_do_not_come():
    port = free_port()

    async def wait_in_vain() -> None:
        coordinator = Coordinator(PLAN, SECRET, Processes({}))
        await coordinator.listen("127.0.0.1", port)
        await coordinator.run(2, 2.5, lambda: None)  # it says meanwhile that it is there
        await coordinator.close()

    coordinating = threading.Thread(target=lambda: asyncio.run(wait_in_vain()))
    coordinating.start()
    assert work(f"127.0.0.1:{port}", SECRET) == "1 of 2 workers came within 2.5 s"
    coordinating.join()


def test_who_says_nothing_for_too_long_is_lost_on_either_side(monkeypatch):
    monkeypatch.setattr("services.load.coordinator.SILENT_S", 0.3)
    monkeypatch.setattr("services.load.worker.SILENT_S", 0.3)
    monkeypatch.setattr("services.load.worker.BEAT_S", 0.1)

    async def silent_worker() -> Coordinator:
        coordinator = Coordinator(PLAN, SECRET, Processes({}))
        worker = asyncio.create_task(knock(await coordinator.listen("127.0.0.1", 0), SECRET))
        await coordinator.run(1, 5, lambda: None)
        await coordinator.close()
        await (await worker).close()
        return coordinator

    assert asyncio.run(silent_worker()).problems == ["worker host/7: silent for 0.3 s"]

    said = threading.Event()
    port = free_port()

    async def silent_coordinator() -> None:
        coordinator = Coordinator(PLAN, SECRET, Processes({}))
        await coordinator.listen("127.0.0.1", port)
        await asyncio.to_thread(said.wait)
        await coordinator.close()

    coordinating = threading.Thread(target=lambda: asyncio.run(silent_coordinator()))
    coordinating.start()
    assert work(f"127.0.0.1:{port}", SECRET) == "the coordinator has been silent for 0.3 s"
    said.set()
    coordinating.join()


def test_whoever_listens_but_coordinates_no_load_is_told_apart(tmp_path):
    with NatsServer(tmp_path) as server:
        address = server.url.removeprefix("nats://")
        assert work(address, SECRET) == f"{address}: whoever listens there is no coordinator of a load"


@pytest.mark.parametrize(("phase", "interrupted"), [("measuring", True), ("ending", False)])
def test_only_a_stop_before_its_time_interrupts_a_run(phase, interrupted):
    async def scene() -> Coordinator:
        coordinator = Coordinator(plan(seconds=0.5, warm_up=0.1), SECRET, Processes({}))
        working = asyncio.create_task(fake_worker(await coordinator.listen("127.0.0.1", 0)))
        enter = coordinator._enter

        def entered(now: PhaseName) -> None:
            enter(now)
            if now == phase:
                coordinator.stop.set()

        coordinator._enter = entered  # type: ignore[method-assign]
        await coordinator.run(1, 5, lambda: None)
        await coordinator.close()
        await working
        return coordinator

    assert report(asyncio.run(scene())).interrupted == interrupted


def test_workers_that_do_not_come_are_not_waited_for_for_ever():
    async def scene() -> Coordinator:
        coordinator = Coordinator(PLAN, SECRET, Processes({}))
        await coordinator.listen("127.0.0.1", 0)
        await coordinator.run(2, 0.2, lambda: None)
        await coordinator.close()
        return coordinator

    assert asyncio.run(scene()).problems == ["0 of 2 workers came within 0.2 s"]


# --- the report ------------------------------------------------------------------------------------------------------


def test_the_page_needs_nothing_else_and_escapes_what_others_wrote():
    coordinator, _ = conducted({}, {})
    coordinator.problems.append("<script>alert(1)</script>")
    text = page(report(coordinator))
    assert "&lt;script&gt;" in text
    for outside_resource in ("<script", "src=", "href=", "@import", "url(", "http://", "https://"):
        assert outside_resource not in text
    assert text.count("<svg") == 3  # the CPU was not measured
    assert "not measured" in text


def test_the_report_says_what_was_measured_and_repeats_what_others_wrote_as_it_is():
    coordinator, _ = conducted({})
    coordinator.problems.append("[/red] it said [bold]")
    found = report(coordinator, OwnStack(engines=2, durability="fsync"), "on [dim]glass")
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(summary(found))
    shown = console.export_text()
    for said in (
        "timos_twist, 4 matches of 2 seats, closed loop",
        "Play streams (one a process), NATS connections (one a seat)",
        "own stack: 2 workers, durability fsync",
        "on [dim]glass",
    ):
        assert said in shown
        assert said in page(found)
    assert "[/red] it said [bold]" in shown
    assert "server: at 127.0.0.1:1;" in page(report(coordinator))


def test_the_page_does_not_carry_the_text_of_the_ca():
    coordinator, _ = conducted({})
    found = msgspec.structs.replace(report(coordinator), plan=plan(ca="-----BEGIN CERTIFICATE-----"))
    assert "CERTIFICATE" not in page(found)
    assert settings(found.plan)["ca"] == "given"


def test_a_group_of_processes_that_has_ended_leaves_no_sum_without_it():
    class Ending(Processes):
        def read(self) -> dict[str, float]:
            self.reads = getattr(self, "reads", 0) + 1
            return {"match": 1.0} if self.reads > 1 else {"match": 0.0, "engine": 0.0}

    coordinator, _ = conducted({}, processes=Ending({}))
    assert report(coordinator).cpu_us == {}


@pytest.mark.parametrize("phase", get_args(PhaseName))
def test_progress_is_two_lines_of_80_columns_in_every_phase(phase):
    coordinator = Coordinator(plan(seconds=3600, warm_up=300), SECRET, Processes({}))
    coordinator.phase = phase
    coordinator.since -= 1800
    coordinator.total.counts = Counts(moves=1_234_567, healed_views=123, refused={"OVERLOADED": 12_345})
    coordinator.last.view = {1_234_567: 1}
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(row(coordinator))
    lines = console.export_text().splitlines()
    assert len(lines) == 2
    assert "…" not in "".join(lines)
    assert lines[1].split()[-4:] == ["1234.6", "1234.6", "12,345", "123"]


def test_progress_is_said_where_there_is_no_terminal(monkeypatch):
    coordinator = Coordinator(PLAN, SECRET, Processes({}))
    lines = Console(width=80, record=True, file=io.StringIO())
    with Progress(coordinator, Console(quiet=True), lines) as progress:
        phases: tuple[PhaseName, ...] = ("opening", "measuring", "measuring", "ending")
        for phase in phases:
            coordinator.phase = phase
            progress.tick()
        monkeypatch.setattr("services.load.progress.SAY_S", 0.0)
        progress.tick()
        coordinator.phase = "measuring"
        progress.tick()
        progress.tick()
    first = ["opening 4 matches", "measuring for 5 s", "ending", "ending, 0 matches open", "measuring for 5 s"]
    *said, last = lines.export_text().splitlines()
    assert said == first
    assert re.fullmatch(r"measuring \d+/5 s, 0 matches open: p50 0.0 ms, p99 0.0 ms", last)


def test_a_report_of_nothing_is_still_a_page_and_json():
    found = report(Coordinator(PLAN, SECRET, Processes({})))
    assert not found.good
    assert "nothing to draw" in page(found)
    assert msgspec.json.decode(found.json())["moves"] == 0


def test_a_url_with_a_password_is_refused_without_repeating_it():
    with pytest.raises(PlanError, match="CROUPIER_NATS_PASSWORD") as raised:
        plan(nats="nats://h1:1,nats://me:geheim@h2:2").check()
    assert "geheim" not in str(raised.value)


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
