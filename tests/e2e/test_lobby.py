"""From the lobby to the end: create, join, leave, kick, start, abort, rematch, over one or two match services."""

import asyncio
import secrets

import pytest
import redis

from croupier.v1 import match_service_pb2 as pb
from services.bus import Bus
from services.stack import Stack
from tests.e2e.table import (
    Api,
    access,
    api,
    audited,
    awaited,
    connected,
    creation,
    entries_of,
    first_move,
    number_in_game,
    operator_key,
    refusal,
    until,
)

ENDED = {("PERMISSION_DENIED", "NOT_YOUR_SEAT"), ("PERMISSION_DENIED", "TENURE_ENDED")}


async def left(front: Api, token: str) -> int:
    return (await front.stub.LeaveMatch(pb.LeaveMatchRequest(token=token))).version


async def start(front: Api, host_token: str) -> int:
    return (await front.stub.StartMatch(pb.StartMatchRequest(host_token=host_token))).version


async def kick(front: Api, host_token: str, seat: int, tenure: int | None = None) -> int:
    request = pb.KickSeatRequest(host_token=host_token, seat=seat, tenure=tenure)
    return (await front.stub.KickSeat(request)).version


async def move_for(front: Api, tokens: list[str]) -> None:
    """Make the first legal move of a seat that owes one, if one of these does."""
    for token in tokens:
        view = await front.view(token)
        if view.status == "running" and number_in_game(view) in view.to_act:
            await front.submit(token, *first_move(view))
            return


@awaited
async def test_a_create_repeated_finds_the_same_match(stack: Stack, second_match_service: str) -> None:
    """At any service, with a host token that opens it; with other parameters it is refused, and nothing changes."""
    request = creation("timos_twist", 3, {"target": 100}, clock_ms=60_000)
    async with api(stack) as one, api(stack, second_match_service) as other:
        made = await asyncio.gather(*(
            front.stub.CreateMatch(request, metadata=front.operator) for front in (one, other, one, other)
        ))  # fmt: skip
        assert len({(answer.match, answer.commitment) for answer in made}) == 1
        assert [entry["kind"] for entry in entries_of(stack, made[0].match)] == ["created"]
        for changed in (
            creation("timos_twist", 2, {"target": 100}, clock_ms=60_000, request_id=request.request_id),
            creation("timos_twist", 3, {"target": 150}, clock_ms=60_000, request_id=request.request_id),
            creation("timos_twist", 3, {"target": 100}, request_id=request.request_id),
            creation("bombenziehen", 3, clock_ms=60_000, request_id=request.request_id),
        ):
            again = other.stub.CreateMatch(changed, metadata=other.operator)
            assert (await refusal(again))[:2] == ("ALREADY_EXISTS", "REQUEST_REUSED")
        await one.join(made[0].match)
        await kick(other, made[1].host_token, 0)
        assert [entry["kind"] for entry in entries_of(stack, made[0].match)] == ["created", "joined", "left"]


@awaited
async def test_only_the_operator_creates_where_a_key_is_set(stack: Stack) -> None:
    async with api(stack) as front:
        for metadata in ((), [("authorization", "Bearer nobody")], [("authorization", operator_key(stack))]):
            call = front.stub.CreateMatch(creation("timos_twist", 2), metadata=metadata)
            assert (await refusal(call))[:2] == ("PERMISSION_DENIED", "NOT_OPERATOR")


@awaited
async def test_a_join_repeated_finds_the_same_seat(stack: Stack, second_match_service: str) -> None:
    """At any service and at the same moment, with a fresh token that opens it; with other parameters it is refused."""
    identity = secrets.token_bytes(16)
    async with api(stack) as one, api(stack, second_match_service) as other:
        match = (await one.create(seats=3)).match
        joined = await asyncio.gather(*(
            front.join(match, "Ada", request_id=identity) for front in (one, other, one, other)
        ))  # fmt: skip
        assert {(answer.seat, answer.tenure, answer.subject) for answer in joined} == {(0, 1, f"view.{match}.0.1")}
        views = [await one.view(answer.token) for answer in joined]
        assert {(view.seat, view.version) for view in views} == {(0, 1)}
        for name, fields in (("Bob", {}), ("Ada", {"seat": 2}), ("Ada", {"client_seed": b"mine"})):
            again = other.join(match, name, request_id=identity, **fields)
            assert (await refusal(again))[:2] == ("ALREADY_EXISTS", "REQUEST_REUSED")
        await one.join(match)
        await one.join(match)
        late = await other.join(match, "Ada", request_id=identity)
        assert (late.seat, late.tenure, late.view.status) == (0, 1, "running")
        full = [await refusal(one.join(match)), await refusal(one.join(match, seat=1))]
        assert {code for code, _, _ in full} == {"FAILED_PRECONDITION"}


@awaited
async def test_a_seat_that_was_left_is_taken_anew(stack: Stack) -> None:
    """The new holder has a tenure of his own; the old token and the old request open nothing any more."""
    identity = secrets.token_bytes(16)
    async with api(stack) as front:
        match = (await front.create(seats=3)).match
        old = await front.join(match, "Ada", request_id=identity)
        version = await left(front, old.token)
        assert await left(front, old.token) == version == 2
        new = await front.join(match, "Bob")
        assert (new.seat, new.tenure) == (old.seat, 3)
        assert (await refusal(front.view(old.token)))[:2] in ENDED
        again = front.join(match, "Ada", request_id=identity)
        assert (await refusal(again))[:2] == ("PERMISSION_DENIED", "TENURE_ENDED")
        await front.join(match)
        await front.join(match)
        view = await front.view(new.token)
        assert view.status == "running"
        draw = pb.SubmitMoveRequest(move={"timos_twist": {"draw": {}}}).move
        assert (await refusal(front.submit(old.token, view.prompt, draw)))[:2] in ENDED
        assert view.seats[0].name == "Bob"


@awaited
async def test_the_host_frees_a_seat_in_the_lobby_only(stack: Stack) -> None:
    async with api(stack) as front:
        created = await front.create(seats=2)
        seat = await front.join(created.match)
        request = pb.KickSeatRequest(host_token=seat.token, seat=0)
        assert (await refusal(front.stub.KickSeat(request)))[:2] == ("PERMISSION_DENIED", "NOT_HOST")
        assert await kick(front, created.host_token, 0, seat.tenure) == 2
        assert (await refusal(front.view(seat.token)))[:2] in ENDED
        back = await front.join(created.match)
        assert await kick(front, created.host_token, 0, seat.tenure) == 2, "a repeat hits nobody who came later"
        assert (await front.view(back.token)).seats[0].tenure == 3
        await front.join(created.match)
        late = kick(front, created.host_token, 0)
        assert (await refusal(late))[:2] == ("FAILED_PRECONDITION", "MATCH_STARTED")


@awaited
async def test_the_host_starts_with_fewer_seats(stack: Stack) -> None:
    """Tokens, subjects and requests keep their numbers; the game counts only the seats that play."""
    async with connected(stack) as client, api(stack) as front:
        created = await front.create("bluffing_billionaires", 5)
        watching = await front.stub.Spectate(pb.SpectateRequest(match=created.match))
        taken = {number: await front.join(created.match, f"P{number}", seat=number) for number in (1, 4, 3)}
        version = await start(front, created.host_token)
        assert await start(front, created.host_token) == version
        late = front.join(created.match)
        assert (await refusal(late))[:2] == ("FAILED_PRECONDITION", "MATCH_STARTED")
        for number, joined in taken.items():
            assert joined.subject == f"view.{created.match}.{number}.{joined.tenure}"
            view = await front.view(joined.token)
            assert view.seat == number
            plays_as = [seat.plays_as if seat.HasField("plays_as") else None for seat in view.seats]
            assert plays_as == [None, 0, None, 1, 2]
        tokens = [joined.token for joined in taken.values()]
        end = await front.advance(tokens, lambda view: view.status != "running")
        assert end.status == "finished"
        assert len(end.result.scores) == 3
        assert {entry["seat"] for entry in entries_of(stack, created.match) if entry["kind"] == "moved"} == {1, 3, 4}
        table = await front.view(watching.token)
        assert (table.version, table.result) == (end.version, end.result)
        assert audited(stack, created.match, end.hash).outcome == "verified"
        assert client


@awaited
async def test_one_seat_is_too_few(stack: Stack) -> None:
    async with api(stack) as front:
        created = await front.create(seats=3)
        await front.join(created.match)
        code, reason, _ = await refusal(start(front, created.host_token))
        assert (code, reason) == ("FAILED_PRECONDITION", "NOT_ENOUGH_PLAYERS")
        assert len(entries_of(stack, created.match)) == 2


@awaited
async def test_a_match_goes_on_without_a_seat_that_was_left(stack: Stack) -> None:
    """It is absent for good, its default moves are made at once, and the others play to the end."""
    async with api(stack) as front:
        seats = await front.started("bluffing_billionaires", 3)
        gone, *rest = [seat.token for seat in seats]
        version = await left(front, gone)
        assert await left(front, gone) == version
        assert (await refusal(front.view(gone)))[:2] in ENDED
        assert [seat.absent for seat in (await front.view(rest[0])).seats] == [True, False, False]
        while (view := await front.view(rest[0])).status == "running":
            await move_for(front, rest)
        assert view.status == "finished"
        moved = [(entry["seat"], entry["by"]) for entry in entries_of(stack, view.match) if entry["kind"] == "moved"]
        assert {by for seat, by in moved if seat == 0} == {"clock"}
        assert {by for seat, by in moved if seat != 0} == {"player"}
        assert audited(stack, view.match, view.hash).outcome == "verified"


@awaited
async def test_a_match_that_all_have_left_is_aborted(stack: Stack) -> None:
    async with api(stack) as front:
        seats = await front.started("timos_twist", 2)
        watching = await front.stub.Spectate(pb.SpectateRequest(match=seats[0].view.match))
        for seat in seats:
            await left(front, seat.token)
        view = await front.view(watching.token)
        assert (view.status, view.reason) == ("aborted", "all_left")
        assert audited(stack, view.match, view.hash).outcome == "verified"


@pytest.mark.parametrize("running", [False, True])
@awaited
async def test_the_operator_aborts_and_nobody_else(stack: Stack, running: bool) -> None:
    """The reason and the reveal are in everybody's last view."""
    async with api(stack) as front:
        created = await front.create(seats=2)
        match = created.match
        seat = await front.join(match)
        if running:
            await front.join(match)
        for metadata in ((), [("authorization", "Bearer nobody")], [("authorization", f"Bearer {seat.token}")]):
            assert (await refusal(front.abort(match, metadata=metadata)))[:2] == ("PERMISSION_DENIED", "NOT_OPERATOR")
        version = await front.abort(match, "a power cut")
        assert await front.abort(match, "a power cut") == version
        assert (await refusal(front.abort(match, "no time")))[:2] == ("FAILED_PRECONDITION", "MATCH_OVER")
        view = await front.view(seat.token)
        assert (view.status, view.reason, view.version) == ("aborted", "a power cut", version)
        assert audited(stack, match, view.hash).outcome == "verified"
        late = front.submit(seat.token, 0, pb.SubmitMoveRequest(move={"timos_twist": {"draw": {}}}).move)
        assert (await refusal(late))[:2] == ("FAILED_PRECONDITION", "MATCH_OVER")
        assert (await refusal(front.join(match)))[:2] == ("FAILED_PRECONDITION", "MATCH_OVER")


@awaited
async def test_all_seats_find_one_rematch(stack: Stack, second_match_service: str) -> None:
    """Asked for at the same moment at two services: one match, the old seats, one host; it starts by itself."""
    async with api(stack) as one, api(stack, second_match_service) as other:
        seats = await one.started("timos_twist", 3, options={"target": 150})
        match = seats[0].view.match
        asks = [pb.RematchRequest(token=seat.token, request_id=secrets.token_bytes(16)) for seat in seats]
        assert (await refusal(one.stub.Rematch(asks[0])))[:2] == ("FAILED_PRECONDITION", "MATCH_RUNNING")
        await one.abort(match)
        fronts = [one, other, other]
        found = await asyncio.gather(*(
            front.stub.Rematch(ask) for front, ask in zip(fronts, asks, strict=True)
        ))  # fmt: skip
        again = [await one.stub.Rematch(ask) for ask in asks]
        assert {answer.match for answer in (*found, *again)} == {found[0].match}
        assert found[0].match != match
        assert [answer.seat for answer in found] == [answer.seat for answer in again] == [0, 1, 2]
        assert sum(bool(answer.host_token) for answer in found) == 1
        view = await other.view(found[1].token)
        assert (view.status, view.rules) == ("running", "timos_twist/1")
        assert view.options.timos_twist.target == 150
        assert [seat.name for seat in view.seats] == ["Player 0", "Player 1", "Player 2"]


@awaited
async def test_an_unknown_match_is_unknown_to_every_call(stack: Stack) -> None:
    async with api(stack) as front:
        for call in calls_about(front, "000" + "a" * 22):
            assert (await refusal(call))[:2] == ("NOT_FOUND", "UNKNOWN_MATCH")
        assert not (await front.stub.ListMatches(pb.ListMatchesRequest(match="000" + "a" * 22))).matches


def calls_about(front: Api, match: str) -> list:
    async def journal() -> None:
        await front.journal(match)

    return [
        front.join(match),
        front.stub.Spectate(pb.SpectateRequest(match=match)),
        journal(),
        front.abort(match),
    ]


@awaited
async def test_what_is_no_match_id_reaches_neither_redis_nor_nats(stack: Stack) -> None:
    """Wildcards, dots, other letters and lengths are unknown matches; no key or subject is ever made of them."""
    evil = [
        "", "*", ">", "000*", "000" + "*" * 22, "000" + ">" * 22, "000." + "a" * 21, "000 " + "a" * 21,
        "000{1}" + "a" * 19, "000" + "A" * 22, "000\n" + "a" * 21, "00a" + "a" * 22, "\u0660" * 3 + "a" * 22,
        "999" + "a" * 22, "000" + "a" * 23, "../" * 9, "canary" * 2000, "000" + "é" * 22,
    ]  # fmt: skip
    heard: list[str] = []
    spoken: list[str] = []

    async def hear(message) -> None:
        heard.append(message.subject)

    buses = []
    for name, subject in (("observer", "view.>"), ("match", "receipts.*"), ("engine", "query.*")):
        buses.append(await Bus.connect(stack.nats.url, "listener", access(stack, name)))
        await buses[-1].subscribe(subject, hear)
    with redis.Redis.from_url(stack.redis.url) as store, store.monitor() as monitor:
        async with api(stack) as front:
            for match in evil:
                for call in calls_about(front, match):
                    assert (await refusal(call))[:2] == ("NOT_FOUND", "UNKNOWN_MATCH"), match[:40]
                answer = await front.stub.ListMatches(pb.ListMatchesRequest(match=match))
                assert not answer.matches
            mark = await front.create()
            await until(lambda: any(subject.endswith(".table") for subject in heard))
        await asyncio.to_thread(_read_until, monitor, mark.match, spoken)
    for bus in buses:
        await bus.close()
    for match in filter(None, evil):
        if len(match) > 3:
            assert not [line for line in (*heard, *spoken) if match in line]
    assert all("*" not in subject and ">" not in subject for subject in heard)
    assert not [line for line in spoken if "canary" in line or "999aaa" in line]


def _read_until(monitor, mark: str, spoken: list[str]) -> None:
    while not any(mark in line and "FCALL" in line.upper() for line in spoken[-1:]):
        spoken.append(monitor.next_command()["command"])


@awaited
async def test_the_lobby_is_listed_by_filters_and_in_pages(stack: Stack) -> None:
    """Pages together hold every open match once, and no other."""
    async with api(stack) as front:
        made = {
            (game, seats, clock): (await front.create(game, seats, **({"clock_ms": clock} if clock else {}))).match
            for game in ("clever_gedreht", "toms_time_bluff")
            for seats in (2, 4)
            for clock in (None, 20_000, 40_000)
        }
        await front.join(made["clever_gedreht", 4, None])
        begun = (await front.started("clever_gedreht", 2))[0].view.match
        ended = (await front.create("clever_gedreht", 2)).match
        await front.abort(ended)

        async def found(**filters) -> set[str]:
            matches: list[str] = []
            token = ""
            while True:
                request = pb.ListMatchesRequest(page_size=2, page_token=token, **filters)
                page = await front.stub.ListMatches(request)
                assert len(page.matches) <= 2
                matches += [summary.match for summary in page.matches]
                token = page.next_page_token
                if not token:
                    assert len(matches) == len(set(matches))
                    return set(matches)

        everything = await found()
        assert set(made.values()) <= everything
        assert not {begun, ended} & everything
        mine = {id_: key for key, id_ in made.items()}

        async def keys(**filters) -> set:
            return {mine[match] for match in await found(**filters) if match in mine}

        assert await keys(game="clever_gedreht") == {key for key in made if key[0] == "clever_gedreht"}
        assert await keys(rules="toms_time_bluff/1") == {key for key in made if key[0] == "toms_time_bluff"}
        assert await keys(min_open_seats=4) == {key for key in made if key[1] == 4} - {("clever_gedreht", 4, None)}
        assert await keys(min_clock_ms=30_000) == {key for key in made if key[2] != 20_000}
        assert await keys(max_clock_ms=30_000) == {key for key in made if key[2] == 20_000}
        assert await keys(game="clever_gedreht", max_clock_ms=40_000, min_clock_ms=21_000, min_open_seats=3) == {
            ("clever_gedreht", 4, 40_000)
        }
        one = made["toms_time_bluff", 4, 40_000]
        assert await found(match=one) == {one}
        summary = (await front.stub.ListMatches(pb.ListMatchesRequest(match=one))).matches[0]
        assert (summary.rules, summary.clock_ms, len(summary.seats)) == ("toms_time_bluff/1", 40_000, 4)
        assert summary.options.WhichOneof("options") == "toms_time_bluff"
        bad = front.stub.ListMatches(pb.ListMatchesRequest(page_token="*"))
        assert (await refusal(bad))[:2] == ("INVALID_ARGUMENT", "MALFORMED_REQUEST")
