"""Private matches: who has not the invite neither finds, joins nor watches one, and reads no journal of it."""

import asyncio
import json

import pytest

from croupier.v1 import match_service_pb2 as pb
from services.commands import invite_hash, invite_of, request_hash
from services.match.past import rematch_id
from services.settings import Settings
from tests.services.match_front import OPERATOR, Served, playing, reason, refused, secret, settings_for, timos

AS_OPERATOR = (("authorization", f"Bearer {OPERATOR}"),)
WRONG = (None, "", "x", "a" * 26, "é" * 26, "\U0001f0a1" * 1000)


@pytest.fixture
def settings(redis_url: str, nats_url: str) -> Settings:
    return settings_for(redis_url, nats_url, operator_key=OPERATOR)


async def create(served: Served, identity: bytes | None = None, seats: int = 2, **fields) -> pb.CreateMatchResponse:
    request = timos(identity, seats, private=True)
    return await served.stub.CreateMatch(request, metadata=AS_OPERATOR, **fields)


def join(served: Served, match: str, invite: str | None, **fields):
    fields.setdefault("request_id", secret())
    return served.stub.JoinMatch(pb.JoinMatchRequest(match=match, name="Änne", invite=invite, **fields))


def spectate(served: Served, match: str, invite: str | None):
    return served.stub.Spectate(pb.SpectateRequest(match=match, invite=invite))


async def listed(served: Served, **fields) -> list[str]:
    return [found.match for found in (await served.stub.ListMatches(pb.ListMatchesRequest(**fields))).matches]


async def journal(served: Served, match: str, invite: str | None) -> list[bytes]:
    answers = served.stub.GetJournal(pb.GetJournalRequest(match=match, invite=invite))
    return [line async for answer in answers for line in answer.lines]


def test_the_invite_comes_from_the_request_id_and_does_not_lead_back():
    identity = b"r" * 16
    assert invite_of(identity) == invite_of(identity) != invite_of(b"s" * 16)
    assert len(invite_of(identity)) == 26
    assert invite_hash(invite_of(identity)) not in (request_hash(identity), invite_hash(identity.hex()))


def test_a_repeated_create_gives_the_same_invite_and_a_public_match_has_none(settings):
    async def run():
        async with playing(settings) as served:
            identity = secret()
            first, again = await create(served, identity), await create(served, identity)
            assert (first.match, first.invite) == (again.match, again.invite)
            assert first.invite == invite_of(identity)
            public = await served.stub.CreateMatch(timos(), metadata=AS_OPERATOR)
            assert not public.HasField("invite")
            open_now = timos(identity)
            assert await reason(served.stub.CreateMatch(open_now, metadata=AS_OPERATOR)) == "REQUEST_REUSED"

    asyncio.run(run())


def test_with_the_invite_all_is_as_in_any_match_and_without_it_nothing_is(settings):
    """In the lobby, while it runs and after its end; no wrong invite changes anything."""

    async def run():
        async with playing(settings) as served:
            created = await create(served)
            match, invite = created.match, created.invite
            another = (await create(served)).invite
            for wrong in (*WRONG, another, invite[:-1], invite.upper(), created.host_token):
                assert await refused(join(served, match, wrong)) == (
                    "PERMISSION_DENIED",
                    "BAD_INVITE",
                    {"match": match},
                )
                assert await refused(spectate(served, match, wrong)) == (
                    "PERMISSION_DENIED", "BAD_INVITE", {"match": match},
                )  # fmt: skip
                assert await listed(served, match=match, invite=wrong) == []
            assert match not in await listed(served)
            assert match not in await listed(served, invite=invite)
            assert await listed(served, match=match, invite=invite) == [match]
            found = await served.stub.ListMatches(pb.ListMatchesRequest(match=match, invite=invite))
            looked = await spectate(served, match, invite)
            assert {found.matches[0].commitment, looked.view.commitment} == {created.commitment}, "told before joining"
            identity = secret()
            seat = await join(served, match, invite, request_id=identity)
            assert (seat.seat, seat.tenure) == (0, 1), "what was refused has left nothing"
            assert await reason(join(served, match, None, request_id=identity)) == "BAD_INVITE"
            assert (await join(served, match, invite, request_id=identity)).tenure == 1
            await join(served, match, invite)
            assert await reason(spectate(served, match, None)) == "BAD_INVITE"
            watching = await spectate(served, match, invite)
            assert watching.view.status == "running"
            for token in (watching.token, seat.token):  # which were given for the invite, and need it no more
                assert (await served.stub.GetView(pb.GetViewRequest(token=token))).view.status == "running"
            await served.stub.AbortMatch(pb.AbortMatchRequest(match=match, reason="x"), metadata=AS_OPERATOR)
            for wrong in (*WRONG, another):
                assert await reason(journal(served, match, wrong)) == "BAD_INVITE"
            lines = await journal(served, match, invite)
            assert json.loads(lines[0])["private"] is True
            assert not any(invite.encode() in line for line in lines)

    asyncio.run(run())


def test_a_public_match_needs_no_invite_and_takes_any(settings):
    async def run():
        async with playing(settings) as served:
            match = (await served.stub.CreateMatch(timos(), metadata=AS_OPERATOR)).match
            assert (await join(served, match, "whatever")).seat == 0
            assert (await spectate(served, match, "whatever")).view.status == "lobby"

    asyncio.run(run())


def test_an_unknown_match_is_unknown_whatever_the_invite(settings):
    async def run():
        async with playing(settings) as served:
            for invite in WRONG:
                assert await reason(join(served, "000" + "a" * 22, invite)) == "UNKNOWN_MATCH"
                assert await reason(spectate(served, "000" + "a" * 22, invite)) == "UNKNOWN_MATCH"

    asyncio.run(run())


def test_the_rematch_of_a_private_match_is_private_and_has_the_same_invite(settings):
    """Its id can be computed by anybody; without the invite it opens nothing, before and after it is created."""

    async def run():
        async with playing(settings) as served:
            created = await create(served)
            seats = [await join(served, created.match, created.invite) for _ in range(2)]
            await served.stub.AbortMatch(pb.AbortMatchRequest(match=created.match, reason="x"), metadata=AS_OPERATOR)
            following = rematch_id(created.match, settings.partitions)
            assert await reason(join(served, following, None)) == "UNKNOWN_MATCH"
            again = await served.stub.Rematch(pb.RematchRequest(token=seats[0].token, request_id=secret()))
            assert again.match == following
            assert await reason(join(served, following, None)) == "BAD_INVITE"
            assert await listed(served) == []
            assert (await spectate(served, following, created.invite)).view.status == "lobby"
            last = await served.stub.Rematch(pb.RematchRequest(token=seats[1].token, request_id=secret()))
            assert last.view.status == "running"

    asyncio.run(run())
