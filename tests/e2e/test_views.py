"""Views: what spectators get, what was missed, matches that run, and clients to which NATS brings only a part."""

import asyncio
import json
import random

import pytest
from google.protobuf import json_format

from croupier.v1 import match_service_pb2 as pb
from croupier.v1 import view_pb2
from services import client as client_module
from services.bus import Access, Bus
from services.client import Seat
from services.stack import Stack
from tests.e2e.table import (
    Played,
    Robot,
    api,
    assert_sound,
    awaited,
    begin,
    connected,
    entries_of,
    kept,
    part,
    refusal,
    until,
)

GAMES = ["timos_twist", "toms_time_bluff", "bombenziehen", "bluffing_billionaires", "clever_gedreht"]


@pytest.mark.parametrize("game", GAMES)
@awaited
async def test_a_spectator_sees_the_table_and_nothing_of_a_seat(stack: Stack, game: str) -> None:
    """Over NATS and over WatchView the same views, one a version, to the last; none has a prompt, a hand or moves."""
    options = {"target": 50} if game == "timos_twist" else {}
    async with connected(stack) as client, api(stack) as front:
        match, _ = await client.create(game, 2, options)
        watching = await front.stub.Spectate(pb.SpectateRequest(match=match))
        assert watching.subject == f"view.{match}.table"
        sent: list[bytes] = []

        async def hear(message) -> None:
            sent.append(message.data)

        bus = await Bus.connect(stack.nats.url, "spectator", Access(token=lambda: watching.token))
        await bus.subscribe(watching.subject, hear)
        watched: list[pb.WatchViewResponse] = []

        async def watch() -> None:
            async for answer in front.stub.WatchView(pb.WatchViewRequest(token=watching.token)):
                watched.append(answer)  # noqa: PERF401 - the first one is waited for

        watcher = asyncio.create_task(watch())
        await until(lambda: watched)
        robots = [Robot(f"{game}/{number}") for number in range(2)]
        for number, robot in enumerate(robots):
            await client.join(match, f"Player {number}", robot.see)
        played = await Played(match, robots).end()
        await watcher
        last = played.seats[0].view["version"]
        await until(lambda: json.loads(sent[-1])["version"] == last)
        await bus.close()
    documents = [json.loads(data) for data in sent]
    assert [document["version"] for document in documents] == list(range(1, last + 1))
    for document in documents:
        assert (document["seat"], document["prompt"]) == (None, None)
        if document["status"] != "lobby":
            assert (document[game]["own"], document[game]["legal"]) == (None, [])
    for answer in watched:
        view = answer.view
        assert not view.HasField("seat")
        assert not view.HasField("prompt")
        if view.WhichOneof("game"):
            assert not part(view).HasField("own")
            assert not part(view).legal
    by_version = {view.version: view for view in (json_format.Parse(data, view_pb2.View()) for data in sent)}
    versions = [answer.view.version for answer in watched]
    assert versions == sorted(set(versions))
    assert versions[-1] == last
    assert all(by_version[answer.view.version] == answer.view for answer in watched if answer.view.version)
    told = {version for answer in watched for version in (answer.view.version, *(e.version for e in answer.missed))}
    assert told == set(range(last + 1)) or any(answer.truncated for answer in watched)


@awaited
async def test_a_running_match_keeps_its_journal(stack: Stack) -> None:
    """GetJournal and views of earlier versions are for matches that have ended; what is out of range is named."""
    async with api(stack) as front:
        created = await front.create()
        assert (await refusal(front.journal(created.match)))[:2] == ("FAILED_PRECONDITION", "MATCH_RUNNING")
        seats = [await front.join(created.match) for _ in range(2)]
        await front.advance([seat.token for seat in seats], lambda view: view.version > 8)
        assert (await refusal(front.journal(created.match)))[:2] == ("FAILED_PRECONDITION", "MATCH_RUNNING")
        early = front.view(seats[0].token, version=4)
        assert (await refusal(early))[:2] == ("FAILED_PRECONDITION", "MATCH_RUNNING")
        version = await front.abort(created.match)
        assert (await front.view(seats[0].token, version=4)).version == 4
        assert (await front.view(seats[0].token, version=version)).status == "aborted"
        assert len(await front.journal(created.match)) == version + 1
        assert await front.journal(created.match, from_version=5) == (await front.journal(created.match))[5:]
        for outside in (-1, version + 1):
            far = front.view(seats[0].token, version=outside)
            assert (await refusal(far))[:2] == ("OUT_OF_RANGE", "UNKNOWN_VERSION")
            beyond = front.journal(created.match, from_version=outside)
            assert (await refusal(beyond))[:2] == ("OUT_OF_RANGE", "UNKNOWN_VERSION")


@awaited
async def test_the_events_since_a_version_come_with_the_view(stack: Stack) -> None:
    """Those of each version between, as the views of that time had them; of more than 64 versions none."""
    async with api(stack) as front:
        seats = await front.started("timos_twist", 2, options={"target": 1000})
        token = seats[0].token
        seen = {}

        def note(view) -> bool:
            seen[view.version] = list(part(view).events)
            return view.version >= 90

        present = await front.advance([seat.token for seat in seats], note)
        for since in (present.version - 10, present.version - 2):
            answer = await front.stub.GetView(pb.GetViewRequest(token=token, since=since))
            assert [past.version for past in answer.missed] == list(range(since + 1, present.version))
            assert [list(past.timos_twist.events) for past in answer.missed] == [
                seen[version] for version in range(since + 1, present.version)
            ]
            assert (answer.view, answer.truncated) == (present, False)
        for since in (present.version - 1, present.version, present.version + 1000):
            answer = await front.stub.GetView(pb.GetViewRequest(token=token, since=since))
            assert (answer.view, list(answer.missed), answer.truncated) == (present, [], False)
        for since in (0, present.version - 66):
            answer = await front.stub.GetView(pb.GetViewRequest(token=token, since=since))
            assert (answer.view, list(answer.missed), answer.truncated) == (present, [], True)
        negative = front.stub.GetView(pb.GetViewRequest(token=token, since=-1))
        assert (await refusal(negative))[:2] == ("INVALID_ARGUMENT", "MALFORMED_REQUEST")


@awaited
async def test_views_that_nats_lost_are_asked_for(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients to which a part of the views never comes see every version's events once, and end with the same view."""
    monkeypatch.setattr(client_module, "SILENCE_S", 0.2)
    monkeypatch.setattr(client_module, "LONG_SILENCE_S", 0.5)
    monkeypatch.setattr(client_module, "WATCH_S", 0.1)
    chance = random.Random(1)
    receive = Seat.receive
    told: dict[int, list[int]] = {}
    lost = 0

    async def lossy(seat: Seat, message) -> None:
        nonlocal lost
        if chance.random() < 0.3:
            lost += 1
        else:
            await receive(seat, message)

    monkeypatch.setattr(Seat, "receive", lossy)
    take = Seat._take

    def noted(seat: Seat, view, missed, *, truncated: bool) -> None:
        told.setdefault(seat.number, []).extend([*(past["version"] for past in missed), view["version"]])
        take(seat, view, missed, truncated=truncated)

    monkeypatch.setattr(Seat, "_take", noted)
    async with connected(stack) as client:
        played = await (await begin(client, "bluffing_billionaires", 4)).end()
    assert_sound(stack, played)
    assert lost > 10
    assert sum(seat.gaps for seat in played.seats) > 5
    for seat in played.seats:
        versions = told[seat.number]
        assert versions == list(range(versions[0], len(kept(stack, played.match)))), seat.number


@awaited
async def test_a_view_that_is_asked_for_replaces_a_higher_one(stack: Stack) -> None:
    """What a client holds of versions that the server has lost gives way to what is there."""
    async with connected(stack) as client:
        match, _ = await client.create("timos_twist", 3)
        seat = await client.join(match, "Ada")
        before = dict(seat.view)
        seat.view = {**before, "version": 40}
        await seat.heal()
        assert (seat.view["version"], seat.view["status"]) == (1, "lobby")
        await client.join(match, "Bob")
        await until(lambda: seat.view["version"] == 2)


@awaited
async def test_a_removed_player_is_told(stack: Stack) -> None:
    """A seat whose tenure has ended is over, with the refusal; the client goes on."""
    async with connected(stack) as client:
        match, host_token = await client.create("timos_twist", 2)
        seat = await client.join(match, "Ada")
        await client.call(client.stub.KickSeat, pb.KickSeatRequest(host_token=host_token, seat=0))
        seat.heal_soon()
        await until(lambda: seat.over)
        assert seat.refusal is not None
        assert seat.refusal.reason in {"NOT_YOUR_SEAT", "TENURE_ENDED"}
        played = await (await begin(client, "bluffing_billionaires", 2)).end()
    assert_sound(stack, played)


# --- the clock -------------------------------------------------------------------------------------------------------


@awaited
async def test_the_clock_moves_for_a_seat_that_does_not(stack: Stack) -> None:
    """The default move is made; a late answer is told so with the entry that was made instead."""
    async with api(stack) as front:
        seats = await front.started("bluffing_billionaires", 2, clock_ms=400)
        views = [await front.view(seat.token) for seat in seats]
        mine, token = next((v, s.token) for v, s in zip(views, seats, strict=True) if v.seat in v.to_act)
        assert mine.HasField("deadline")
        made = await until_entries(stack, mine.match, lambda entry: entry["kind"] == "moved")
        assert (made["seat"], made["prompt"], made["by"]) == (mine.seat, mine.prompt, "clock")
        deadline = mine.deadline.ToMilliseconds()
        assert made["at"] >= deadline
        late = pb.SubmitMoveRequest(token=token, prompt=mine.prompt)
        late.move.bluffing_billionaires.CopyFrom(part(mine).legal[-1])
        code, reason, metadata = await refusal(front.stub.SubmitMove(late))
        assert (code, reason) == ("ABORTED", "TIMED_OUT")
        assert metadata["version"] == str(made["v"])
        await until_entries(stack, mine.match, lambda entry: entry["v"] >= made["v"] + 2)
        _, reason, metadata = await refusal(front.stub.SubmitMove(late))
        assert (reason, metadata["version"]) == ("TIMED_OUT", str(made["v"]))
        await front.abort(mine.match)


@awaited
async def test_a_seat_that_sleeps_twice_is_absent_until_it_moves(stack: Stack) -> None:
    """Then its decisions are made at once; the match of sleepers comes to its end by itself."""
    async with connected(stack) as client:
        sleeping = await begin(client, "bluffing_billionaires", 2, clock_ms=200)
        for robot in sleeping.robots:
            robot.plays = False
        await until(lambda: any(seat["absent"] for seat in sleeping.seats[0].view["seats"]))
        await sleeping.end()
    entries = entries_of(stack, sleeping.match)
    assert entries[-1]["kind"] == "finished"
    assert [entry["by"] for entry in entries if entry["kind"] == "moved"].count("clock") > 4


@awaited
async def test_who_moves_in_time_is_left_alone_by_the_clock(stack: Stack) -> None:
    async with connected(stack) as client:
        played = await (await begin(client, "bluffing_billionaires", 3, clock_ms=20_000)).end()
    assert_sound(stack, played)
    assert {entry["by"] for entry in entries_of(stack, played.match) if entry["kind"] == "moved"} == {"player"}


async def until_entries(stack: Stack, match: str, holds) -> dict:
    return await until(lambda: next(filter(holds, entries_of(stack, match)), None))
