"""The fair deal on the wire: promised before anybody joins, said in every view, revealed and signed at the end."""

import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from croupier.v1 import match_service_pb2 as pb
from engine.audit import Audited, audit
from engine.chance import commitment
from services.bus import Bus
from services.commands import view_subject
from services.settings import load
from services.signatures import checked, read_key, signer
from services.stack import Stack
from tests.e2e.table import Api, Robot, access, api, awaited, connected, kept, until
from tests.verify.javascript import NODE, verdicts

SECRET_UNTIL_THE_END = ("result", "seed", "hash", "signature")


def public_key(stack: Stack) -> str:
    seed = stack.environment["CROUPIER_SIGNING_KEY"]
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(seed)).public_key().public_bytes_raw().hex()


async def promised(front: Api, **fields: object) -> tuple[str, str]:
    """Create a match; return it with the promise that everybody gets who looks at it before joining."""
    created = await front.create("timos_twist", 2, **fields)
    listed = await front.stub.ListMatches(pb.ListMatchesRequest(game="timos_twist", page_size=100))
    watching = await front.stub.Spectate(pb.SpectateRequest(match=created.match))
    told = {
        created.commitment,
        created.view.commitment,
        watching.view.commitment,
        *(one.commitment for one in listed.matches if one.match == created.match),
    }
    assert any(one.match == created.match for one in listed.matches)
    assert len(told) == 1
    assert len(bytes.fromhex(created.commitment)) == 32
    return created.match, created.commitment


@asynccontextmanager
async def heard(stack: Stack, match: str) -> AsyncIterator[list[tuple[str, dict]]]:
    """What goes over NATS about a match, as it comes: subject and view."""
    messages: list[tuple[str, dict]] = []

    async def hear(message) -> None:
        messages.append((message.subject, json.loads(message.data)))

    bus = await Bus.connect(stack.nats.url, "everybody", access(stack, "observer"))
    await bus.subscribe(f"view.{match}.>", hear)
    try:
        yield messages
    finally:
        await bus.close()


def assert_revealed(stack: Stack, match: str, promise: str, last: dict) -> None:
    """The last view keeps the promise, and its signature makes the journal verified, for the server and a stranger."""
    assert commitment(bytes.fromhex(last["seed"]), match, last["rules"]).hex() == promise
    lines = [line for line, _ in kept(stack, match)]
    key = public_key(stack)
    consistent = Audited(match, audit(lines))
    assert consistent.verdict.outcome == "consistent"
    given = {match: bytes.fromhex(last["signature"])}
    assert checked(consistent, read_key(key), given).verdict.outcome == "verified"
    assert checked(consistent, read_key("ab" * 31 + "0a"), given).verdict.difference.field == "signature"
    if NODE is not None:
        [verdict] = verdicts([lines], signature=last["signature"], key=key)
        assert verdict["outcome"] == "verified"
        assert verdict["seed"] == last["seed"]


@awaited
async def test_the_promise_stands_in_every_view_and_is_kept_in_the_last(stack: Stack) -> None:
    async with connected(stack) as client, api(stack) as front:
        match, promise = await promised(front, options={"target": 50})
        async with heard(stack, match) as messages:
            robots = [Robot(f"fair/{number}") for number in range(2)]
            seeds = [b"\x00", secrets.token_bytes(64)]
            for number, (robot, seed) in enumerate(zip(robots, seeds, strict=True)):
                await client.join(match, f"Player {number}", robot.see, client_seed=seed)
            for robot in robots:
                await robot.over
            last = robots[0].seat.view
            subjects = {view_subject(match, seat["seat"], seat["tenure"]) for seat in last["seats"]}
            subjects.add(view_subject(match, None, None))
            ends = await until(lambda: [one for one in messages if one[1]["status"] == "finished"][2:] and messages)
            assert {view["commitment"] for _, view in messages} == {promise}
            assert {subject for subject, view in ends if view["status"] == "finished"} == subjects
            for _, view in messages:
                told = {name: view[name] for name in SECRET_UNTIL_THE_END}
                over = view["status"] == "finished"
                assert told == ({name: last[name] for name in SECRET_UNTIL_THE_END} if over else dict.fromkeys(told))
            entered = [json.loads(line)["client_seed"] for line, _ in kept(stack, match) if b'"joined"' in line]
            assert entered == [seed.hex() for seed in seeds]
            assert_revealed(stack, match, promise, last)


@pytest.mark.parametrize("players", [0, 1, 2], ids=["empty lobby", "lobby", "running"])
@awaited
async def test_an_aborted_match_reveals_too(stack: Stack, players: int) -> None:
    """Its spectators, and whoever sat there, get the seed and a signature."""
    async with api(stack) as front:
        match, promise = await promised(front)
        watching = await front.stub.Spectate(pb.SpectateRequest(match=match))
        seats = [await front.join(match, f"Player {number}") for number in range(players)]
        await front.abort(match)
        for token in (watching.token, *(seat.token for seat in seats)):
            view = await front.view(token)
            assert view.status == "aborted"
            last = {name: getattr(view, name) for name in ("seed", "hash", "signature", "rules")}
            assert_revealed(stack, match, promise, last)


def test_the_workers_sign_with_the_key_of_the_settings(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROUPIER_SIGNING_KEY", stack.environment["CROUPIER_SIGNING_KEY"])
    sign = signer(load())
    assert sign is not None
    read_key(public_key(stack)).verify(sign(bytes(32)), bytes(32))
