"""Computer players and game codes on running stacks."""

import asyncio
import contextlib
import os
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import redis

from croupier.v1 import match_service_pb2 as pb
from engine import codes
from services.client import Client, Seat
from services.commands import partition_of
from services.play_wish import setups
from services.stack import Stack
from tests.e2e.table import (
    Robot,
    api,
    audited,
    awaited,
    connected,
    creation,
    entries_of,
    refusal,
    until,
)
from tests.e2e.test_games import GAMES

SHORT: dict[str, dict[str, Any]] = {
    "timos_twist": {"target": 50},
    "toms_time_bluff": {"target": 10},
    "bombenziehen": {},
    "bluffing_billionaires": {"games": 1},
    "clever_gedreht": {"rounds": 1},
}
LEVELS = ("reckless", "clever", "ruthless")


class Steady(Robot):
    """Moves only when nobody else owes a move, and calls TIMO: so no other seat's time decides what comes first."""

    def see(self, seat: Seat) -> None:
        self.plays = seat.view["to_act"] == [seat.plays_as]
        super().see(seat)

    def choose(self, seat: Seat) -> dict[str, Any]:
        called = [move for move in seat.legal if any(fields.get("timo") for fields in move.values())]
        return self.chance.choice(called or seat.legal)


def request(game: str, kinds: Sequence[str], thinking_s: float = 0, **fields: Any) -> pb.CreateMatchRequest:
    made = creation(game, 0, SHORT[game], **fields)
    made.seats.extend(setups(kinds, thinking_s))
    return made


async def ended(stack: Stack, match: str) -> list[Any]:
    """The entries of a match, once it has ended."""
    return await until(lambda: [] if not (found := entries_of(stack, match)) or "seed" not in found[-1] else found, 60)


def moves_of(entries: Sequence[Any]) -> list[Any]:
    return [entry for entry in entries if entry["kind"] == "moved"]


def assert_each_decision_made_once(stack: Stack, match: str, last_hash: str) -> list[Any]:
    """Verified, every computer move computed again, and no decision of any seat answered twice."""
    verdict = audited(stack, match, last_hash)
    assert (verdict.outcome, verdict.difference) == ("verified", None)
    moves = moves_of(entries_of(stack, match))
    assert max(Counter((move["seat"], move["prompt"]) for move in moves).values()) == 1
    return moves


@pytest.mark.parametrize("game", GAMES)
@awaited
async def test_computer_players_play_a_match_to_its_end(stack: Stack, game: str) -> None:
    """All levels, with no time to think; it starts by itself, as nobody has to join."""
    async with connected(stack) as client, api(stack) as front:
        made = await client.send_create(request(game, LEVELS))
        entries = await ended(stack, made.match)
        view = await front.view((await front.stub.Spectate(pb.SpectateRequest(match=made.match))).token)
    assert [entry["kind"] for entry in entries[:2]] == ["created", "started"]
    assert view.status == "finished"
    moves = assert_each_decision_made_once(stack, made.match, view.hash)
    assert {move["by"] for move in moves} == {"bot"}
    assert {(move["seat"], move["bot"]["policy"]) for move in moves} == set(enumerate(LEVELS))
    assert all(move["bot"]["seen"] <= move["prompt"] for move in moves)
    assert "code" not in entries[0]
    assert not made.HasField("code")
    assert not view.HasField("code")


async def with_computers(client: Client, asked: pb.CreateMatchRequest) -> tuple[pb.CreateMatchResponse, Robot]:
    """Play one seat steadily against computer players, to the end."""
    made = await client.send_create(asked)
    robot = Steady("the same person")
    await client.join(made.match, "Ada", robot.see)
    await robot.over
    return made, robot


@pytest.mark.parametrize("game", GAMES)
@awaited
async def test_a_game_code_deals_the_same_match_to_the_same_computer_players(stack: Stack, game: str) -> None:
    """The same moves of the human get the same moves of the computers and the same digest after every entry."""
    async with connected(stack) as client:
        made, robot = await with_computers(client, request(game, ("open", "clever", "ruthless"), fresh_code=True))
        assert codes.decode(made.code).kinds == ("open", "clever", "ruthless")
        again = pb.CreateMatchRequest(request_id=os.urandom(16), code=made.code.lower())
        again.seats.extend(setups(("open", "clever", "ruthless"), 0))
        twin, robot_again = await with_computers(client, again)
    assert twin.match != made.match
    told = [
        [(entry["kind"], entry.get("move"), entry.get("bot"), entry["state"]) for entry in entries_of(stack, match)]
        for match in (made.match, twin.match)
    ]
    assert told[0] == told[1]
    assert {move["by"] for move in moves_of(entries_of(stack, made.match))} == {"player", "bot"}
    for match, one in ((made.match, robot), (twin.match, robot_again)):
        assert one.seat.view["code"] == entries_of(stack, match)[0]["code"] == made.code == twin.code
        assert_each_decision_made_once(stack, match, one.seat.view["hash"])


@awaited
async def test_a_code_alone_says_it_all(stack: Stack) -> None:
    """Game, rules, seats, levels and options; another request for a fresh code gets another one, a repeat the same."""
    async with api(stack) as front:
        kinds = ("open", "open", "reckless")
        asked = request("timos_twist", kinds, fresh_code=True)
        made = await front.stub.CreateMatch(asked, metadata=front.operator)
        assert (await front.stub.CreateMatch(asked, metadata=front.operator)).code == made.code
        asked.request_id = os.urandom(16)
        assert (await front.stub.CreateMatch(asked, metadata=front.operator)).code != made.code
        again = pb.CreateMatchRequest(request_id=os.urandom(16), code=made.code)
        told = await front.stub.CreateMatch(again, metadata=front.operator)
        assert told.view.rules == "timos_twist/1"
        assert told.view.options.timos_twist.target == 50
        assert [seat.kind for seat in told.view.seats] == list(kinds)
        assert told.view.code == made.code


@awaited
async def test_a_wrong_code_is_refused_with_the_reason(stack: Stack) -> None:
    """Mistyped, with a letter that codes have not, for a game that is not dealt here, against the request."""
    code = codes.encode(codes.Dealt("timos_twist/1", ("open", "clever"), {}, b"abcde", 1))
    swapped = code[:-3] + code[-2] + code[-3] + code[-1]
    assert swapped != code
    async with api(stack) as front:

        async def told(asked: pb.CreateMatchRequest) -> str:
            made = front.stub.CreateMatch(asked, metadata=front.operator)
            kind, reason, _ = await refusal(made)
            assert (kind, reason) == ("INVALID_ARGUMENT", "BAD_CODE")
            return str(await made.details())

        for wrong, why in [
            (swapped, "mistyped"),
            (code[:-1] + ("A" if code[-1] != "A" else "B"), "mistyped"),
            (code.replace(code[0], "U", 1), "'U' is no letter of a game code"),
            ("K9", "more letters, or fewer"),
        ]:
            assert why in await told(pb.CreateMatchRequest(request_id=os.urandom(16), code=wrong))
        assert "other seats" in await told(request("timos_twist", ("open", "ruthless"), code=code))
        assert "other options" in await told(request("timos_twist", ("open", "clever"), code=code))


class Forgetful(Robot):
    """Lays what it can, never calls TIMO and catches nobody."""

    def see(self, seat: Seat) -> None:
        self.plays = bool(seat.owes)
        super().see(seat)

    def choose(self, seat: Seat) -> dict[str, Any]:
        silent = [
            move
            for move in seat.legal
            if not {"catch", "call_timo"} & move.keys() and not any(fields.get("timo") for fields in move.values())
        ]
        return self.chance.choice([move for move in silent if {"play", "play_drawn"} & move.keys()] or silent)


@awaited
async def test_a_computer_player_catches_a_forgotten_timo(stack: Stack) -> None:
    """It is asked about what it may do, not only about what it must."""
    async with connected(stack) as client, api(stack) as front:
        asked = request("timos_twist", ("open", "open", "clever"))
        asked.options.timos_twist.target = 1000
        match = (await client.send_create(asked)).match
        humans = [Forgetful("Ada"), Forgetful("Ben")]
        for robot, name in zip(humans, ("Ada", "Ben"), strict=True):
            await client.join(match, name, robot.see)
        caught = await until(
            lambda: [move for move in moves_of(entries_of(stack, match)) if "catch" in move["move"]], 60
        )
        assert {(move["seat"], move["by"]) for move in caught} == {(2, "bot")}
        await front.abort(match)
        await asyncio.gather(*(robot.over for robot in humans))
    assert_each_decision_made_once(stack, match, humans[0].seat.view["hash"])


# --- stand-ins -------------------------------------------------------------------------------------------------------


@awaited
async def test_clever_plays_for_an_absent_human_until_his_own_move_takes_the_seat_back(stack: Stack) -> None:
    """After two timeouts in a row; everybody sees that he is absent, and that he is back."""
    async with connected(stack) as client, api(stack) as front:
        fields = {"absent_policy": "clever", "clock_ms": 300}
        match, _ = await client.create("timos_twist", 2, {"target": 1000}, **fields)
        present, away = Robot("present"), Robot("away")
        away.plays = False
        await client.join(match, "Ada", present.see)
        await client.join(match, "Ben", away.see)

        def his() -> list[Any]:
            return [move for move in moves_of(entries_of(stack, match)) if move["seat"] == 1]

        await until(lambda: len(his()) >= 3, 60)
        assert [(move["by"], move.get("bot", {}).get("policy")) for move in his()[:3]] == [
            ("clock", None),
            ("clock", None),
            ("bot", "clever"),
        ]
        await until(lambda: away.seat.view["seats"][1]["absent"])
        away.plays = True
        away.see(away.seat)
        await until(lambda: away.receipts, 60)
        version = min(away.receipts)
        await front.abort(match)
        await asyncio.gather(away.over, present.over)
        seen = [await front.view(away.seat.token, version=number) for number in (version - 1, version)]
        assert [view.seats[1].absent for view in seen] == [True, False]
    entries = entries_of(stack, match)
    mine = [entry for entry in moves_of(entries) if entry["seat"] == 1]
    back = next(place for place, move in enumerate(mine) if move["by"] == "player")
    assert mine[back]["v"] == version
    assert {move["by"] for move in mine[2:back]} == {"bot"}
    assert all(move["by"] != "bot" for move in mine[back + 1 : back + 3])
    assert_each_decision_made_once(stack, match, away.seat.view["hash"])


# --- a worker that dies while they think -----------------------------------------------------------------------------


@pytest.fixture
def whole(shaken_stack: Stack) -> Iterator[Stack]:
    yield shaken_stack
    for worker in shaken_stack.engines:
        worker.start()


def thinking_processes(stack: Stack) -> list[int]:
    """The processes in which the workers' computer players decide."""
    children = [
        child
        for worker in stack.engines
        for task in Path(f"/proc/{worker.pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]
    return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


@pytest.mark.timeout(180)
@awaited
async def test_a_worker_dies_while_a_computer_player_thinks(whole: Stack) -> None:
    """The other worker has the decision made again; the journal holds it once, and all matches end."""
    async with connected(whole) as client, api(whole) as front:
        made = [await client.send_create(request("timos_twist", LEVELS, 0.01)) for _ in range(12)]
        matches = [one.match for one in made]
        processes = await until(lambda: found if len(found := thinking_processes(whole)) == 2 else None)
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        stuck = await until(lambda: being_thought(whole, matches))
        dead, alive = whole.engines
        await asyncio.to_thread(dead.kill)
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)
        for match in matches:
            await ended(whole, match)
        assert alive.running
        assert not dead.running
        assert stuck
        for match in matches:
            view = await front.view((await front.stub.Spectate(pb.SpectateRequest(match=match))).token)
            assert_each_decision_made_once(whole, match, view.hash)


def being_thought(stack: Stack, matches: Sequence[str]) -> list[str]:
    """Decisions that were asked for and are not answered, if every match that has not ended waits for one.

    A decision that was asked for is due again only after a lease.
    """
    found = []
    with redis.Redis.from_url(stack.redis.url) as client:
        for match in matches:
            entries = entries_of(stack, match)
            if "seed" in entries[-1]:
                continue
            due = dict(client.zrange(f"croupier:{{{partition_of(match)}}}:due", 0, -1, withscores=True))
            asked = [
                member.decode()
                for member, at in due.items()
                if member.startswith(f"{match}:".encode()) and member.count(b":") == 2 and at > entries[-1]["at"] + 500
            ]
            if not asked:
                return []
            found += asked
    return found
