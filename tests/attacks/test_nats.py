"""Attacks on NATS of a running stack, by whoever holds a token of his own, or none."""

import asyncio
import base64
import json
import secrets
import time

import jwt
import pytest

from croupier.v1 import match_service_pb2 as pb
from services.commands import ANSWERS_TO_MATCH, ViewQuestion, pack, partition_of
from services.local import COOKIE
from services.stack import Stack
from services.tokens import SeatClaim, Tokens, key_id
from tests.attacks.wire import Attacker, Refused
from tests.e2e.table import (
    Api,
    access,
    api,
    awaited,
    first_move,
    kept,
    number_in_game,
    part,
    refusal,
    until,
)

ALLOWED = ""


def tokens_of(stack: Stack, ttl_s: int = 3600) -> Tokens:
    return Tokens(stack.environment["CROUPIER_TOKEN_KEY"], ttl_s, int(stack.environment["CROUPIER_PARTITIONS"]))


def place(match: str, token: str) -> tuple[int, int]:
    claims = jwt.decode(token, options={"verify_signature": False})
    assert claims["match"] == match
    return claims["seat"], claims["tenure"]


async def refused(stack: Stack, **options) -> str:
    with pytest.raises(Refused) as caught:
        await Attacker.connect(stack.nats.url, **options)
    return str(caught.value)


async def make_views(front: Api, match: str, tokens: list[str], count: int = 3) -> None:
    """Play on, so that every seat and the table are shown something."""
    start = (await front.view(tokens[0])).version
    await front.advance(tokens, lambda view: view.version >= start + count)


# --- who is let in ---------------------------------------------------------------------------------------------------


@awaited
async def test_who_shows_no_good_token_is_not_let_in(stack: Stack) -> None:
    """None, another's, forged, expired, of another audience or role, of no match: deny is the default."""
    async with api(stack) as front:
        match = (await front.create()).match
    key = stack.environment["CROUPIER_TOKEN_KEY"]
    now = int(time.time())
    good = {
        "role": "seat", "match": match, "seat": 0, "tenure": 1, "game": "timos_twist", "aud": "croupier/play",
        "iat": now, "exp": now + 600,
    }  # fmt: skip

    def signed(with_key: str = key, algorithm: str = "HS256", kid: str = "", **changes) -> str:
        return jwt.encode(good | changes, with_key, algorithm, headers={"kid": kid or key_id(with_key)})

    async with await Attacker.connect(stack.nats.url, auth_token=signed()):
        pass  # so the others below are refused for what they change
    head, claims, signature = signed().split(".")
    other = base64.urlsafe_b64encode(json.dumps(good | {"seat": 1}).encode()).rstrip(b"=").decode()
    bad = {
        "nothing": {},
        "empty": {"auth_token": ""},
        "no token": {"auth_token": "x"},
        "long": {"auth_token": "x" * 3000},
        "forged": {"auth_token": signed("f" * 64)},
        "forged under the right name": {"auth_token": signed("f" * 64, kid=key_id(key))},
        "unsigned": {"auth_token": f"{head}.{claims}."},
        "algorithm none": {"auth_token": jwt.encode(good, None, "none", headers={"kid": key_id(key)})},
        "another algorithm": {"auth_token": signed(algorithm="HS512")},
        "another seat written in": {"auth_token": f"{head}.{other}.{signature}"},
        "expired": {"auth_token": signed(exp=now - 60)},
        "another audience": {"auth_token": signed(aud="somebody")},
        "the host's audience": {"auth_token": signed(aud="croupier/host")},
        "no audience": {"auth_token": jwt.encode({k: v for k, v in good.items() if k != "aud"}, key)},
        "the host's": {"auth_token": tokens_of(stack).for_host(match)},
        "the operator's": {"auth_token": signed(role="operator", aud="croupier/operator")},
        "the operator's key": {"auth_token": stack.environment["CROUPIER_OPERATOR_KEY"]},
        "a wildcard as seat": {"auth_token": signed(seat="*")},
        "a wildcard as tenure": {"auth_token": signed(tenure=">")},
        "a wildcard as match": {"auth_token": signed(match="*")},
        "a dot in the match": {"auth_token": signed(match=match[:-2] + ".0")},
        "a service's name": {"user": "match", "pass": "match"},
        "a service's name and a token": {"user": "engine", "pass": signed()},
        "the callout's name": {"user": "auth", "pass": ""},
        "a token as user": {"user": signed()},
        "an nkey": {"nkey": "U" + "A" * 55, "sig": "AA=="},
        "a user of its own signing": {"jwt": signed(), "sig": "AA=="},
    }
    answers = await asyncio.gather(*(refused(stack, **options) for options in bad.values()))
    told = dict(zip(bad, answers, strict=True))
    assert {name: said for name, said in told.items() if "Authorization Violation" not in said} == {}
    assert not [said for said in answers if "eyJ" in said]


@awaited
async def test_a_token_disconnects_when_it_expires(stack: Stack) -> None:
    async with api(stack) as front:
        match = (await front.create()).match
    token = tokens_of(stack, ttl_s=-27).for_seat(SeatClaim(match, 0, 1, "timos_twist"))  # accepted for 30 s beyond
    async with await Attacker.connect(stack.nats.url, auth_token=token) as attacker:
        assert await attacker.subscribe(f"view.{match}.0.1") == ALLOWED
        assert "User Authentication Expired" in await attacker.closed()


# --- what may be heard -----------------------------------------------------------------------------------------------


@awaited
async def test_a_seat_hears_its_own_tenure_and_nothing_else(stack: Stack) -> None:
    """By whatever name: other seats and tenures, the table, wildcards, queue groups, answers, receipts, questions."""
    async with api(stack) as front:
        ada, bob = await front.started()
        match = (await front.view(ada.token)).match
        seat, tenure = place(match, ada.token)
        other = next(joined for joined in (ada, bob) if joined is not ada)
        partition = partition_of(match)
        forbidden = [
            other.subject, f"view.{match}.table", f"view.{match}.{seat}.{tenure + 1}", f"view.{match}.{seat}",
            f"view.{match}.*.*", f"view.{match}.{seat}.*", f"view.{match}.*.{tenure}", f"view.{match}.>",
            "view.>", "view.*.*.*", "*.*.*.*", ">", "*", f"VIEW.{match}.{seat}.{tenure}",
            "receipts.>", "receipts.*", f"query.{partition}", "query.*", "query.>",
            "_INBOX.>", "_INBOX.*", f"{ANSWERS_TO_MATCH}.>", f"_INBOX.{match}.>", f"_INBOX.{match}.*.{tenure}.>",
            f"_INBOX.{match}.{1 - seat}.{tenure}.>", "_R_.>",
            "$SYS.>", "$SYS.REQ.USER.AUTH", "$SYS._INBOX.>", "$SYS.ACCOUNT.*.CONNECT", "$SYS.REQ.SERVER.PING",
            "$JS.API.>", "$JS.>", "$KV.>", "$O.>", "$G.>", "$SRV.PING",
        ]  # fmt: skip
        async with await Attacker.connect(stack.nats.url, auth_token=ada.token) as attacker:
            said = {subject: await attacker.subscribe(subject, 2) for subject in forbidden}
            said |= {
                f"{subject} in a group": await attacker.subscribe(subject, 3, queue)
                for subject in (other.subject, f"view.{match}.>", f"query.{partition}", "$SYS.REQ.USER.AUTH")
                for queue in ("croupier-auth", "engine")
            }
            let = {
                name: answer for name, answer in said.items() if "Permissions Violation for Subscription" not in answer
            }
            assert let == {}
            assert await attacker.subscribe(ada.subject, 4) == ALLOWED
            assert await attacker.subscribe(f"_INBOX.{match}.{seat}.{tenure}.>", 5) == ALLOWED, "its own inbox"
            await make_views(front, match, [ada.token, bob.token])
            await attacker.until(lambda: len(attacker.heard) >= 2)
            assert {subject for subject, _ in attacker.heard} == {ada.subject}
            assert {json.loads(body)["seat"] for _, body in attacker.heard} == {seat}
        await front.abort(match)


@awaited
async def test_a_spectator_hears_the_table_and_nothing_else(stack: Stack) -> None:
    async with api(stack) as front:
        ada, bob = await front.started()
        match = (await front.view(ada.token)).match
        watching = await front.stub.Spectate(pb.SpectateRequest(match=match))
        async with await Attacker.connect(stack.nats.url, auth_token=watching.token) as attacker:
            for subject in (ada.subject, bob.subject, f"view.{match}.*", f"view.{match}.>", "view.*.table", "_INBOX.>"):
                assert "Permissions Violation" in await attacker.subscribe(subject, 2), subject
            assert await attacker.subscribe(watching.subject) == ALLOWED
            await make_views(front, match, [ada.token, bob.token])
            await attacker.until(lambda: len(attacker.heard) >= 2)
            for subject, body in attacker.heard:
                view = json.loads(body)
                assert (subject, view["seat"], view["prompt"]) == (watching.subject, None, None)
                assert (view["timos_twist"]["own"], view["timos_twist"]["legal"]) == (None, [])
        await front.abort(match)


@awaited
async def test_who_comes_back_as_a_spectator_is_shown_no_card_that_lies_face_down(stack: Stack) -> None:
    """Neither another's nor his own of before; not now, not as what he missed, not over NATS; with his old token
    nothing."""
    async with api(stack) as front:
        seats = await front.started("bluffing_billionaires", 3)
        match, tokens = (await front.view(seats[0].token)).match, [seat.token for seat in seats]
        for _ in range(2):  # a card of one seat, then whatever the next is asked
            views = [(token, await front.view(token)) for token in tokens]
            token, view = next((token, view) for token, view in views if number_in_game(view) in view.to_act)
            await front.submit(token, *first_move(view))
        assert [part(await front.view(token)).own.table_card for token in tokens].count("") < 3
        leaver = seats[2]
        await front.stub.LeaveMatch(pb.LeaveMatchRequest(token=leaver.token))
        assert (await refusal(front.view(leaver.token)))[1] == "NOT_YOUR_SEAT"
        watching = await front.stub.Spectate(pb.SpectateRequest(match=match))
        async with await Attacker.connect(stack.nats.url, auth_token=watching.token) as spectator:
            assert await spectator.subscribe(watching.subject) == ALLOWED
            assert "Permissions Violation" in await spectator.subscribe(leaver.subject, 2)
            await front.advance(tokens[:2], lambda view: bool(part(view).table.votes) or view.version > 9)
            await spectator.ping()
            heard = [json.loads(body)["bluffing_billionaires"] for _, body in spectator.heard]
        answer = await front.stub.GetView(pb.GetViewRequest(token=watching.token, since=0))
        assert not part(answer.view).HasField("own")
        entries = [line for line in kept(stack, match) if b'"play"' in line[0]]
        assert entries, "a card was laid"
        played = [(one["own"], event["played"]) for one in heard for event in one["events"] if "played" in event]
        assert all(own is None and told["card"] is None for own, told in played)
        missed = [event for past in answer.missed for event in past.bluffing_billionaires.events]
        laid = [event.played for event in missed if event.WhichOneof("event") == "played"]
        assert laid
        assert not [event for event in laid if event.HasField("card")]
        await front.abort(match)


@awaited
async def test_after_leaving_nothing_more_is_heard(stack: Stack) -> None:
    """The tenure that has ended is published nothing: not while the lobby goes on, not to whoever sits there next."""
    async with api(stack) as front:
        created = await front.create(seats=3)
        ada, bob = [await front.join(created.match, name) for name in ("Ada", "Bob")]
        async with await Attacker.connect(stack.nats.url, auth_token=ada.token) as attacker:
            assert await attacker.subscribe(ada.subject) == ALLOWED
            await front.stub.LeaveMatch(pb.LeaveMatchRequest(token=ada.token))
            heard = len(attacker.heard)
            eve = await front.join(created.match, "Eve")
            assert (eve.seat, eve.subject != ada.subject) == (ada.seat, True)
            dan = await front.join(created.match, "Dan")
            await make_views(front, created.match, [eve.token, bob.token, dan.token])
            await attacker.ping()
            assert attacker.heard[heard:] == []
            assert "Permissions Violation" in await attacker.subscribe(eve.subject)
        await front.abort(created.match)


# --- what may be said ------------------------------------------------------------------------------------------------


@awaited
async def test_holders_of_tokens_publish_nothing(stack: Stack) -> None:
    """No view, receipt, question or answer of theirs reaches anybody, by any subject."""
    async with api(stack) as front:
        ada, bob = await front.started()
        match = (await front.view(ada.token)).match
        watching = await front.stub.Spectate(pb.SpectateRequest(match=match))
        partition = partition_of(match)
        heard: list[tuple[str, bytes]] = []
        for token in (ada.token, watching.token):
            async with (
                await Attacker.connect(stack.nats.url, auth_token=token) as attacker,
                await Attacker.connect(stack.nats.url, auth_token=bob.token) as victim,
            ):
                assert await victim.subscribe(bob.subject) == ALLOWED
                for subject in (
                    ada.subject, bob.subject, watching.subject, "receipts.x", f"query.{partition}", "a", "_INBOX.a",
                    f"{ANSWERS_TO_MATCH}.a.b", "$SYS.REQ.USER.AUTH", "$SYS.REQ.SERVER.PING", "$JS.API.INFO",
                    "$SRV.PING",
                ):  # fmt: skip
                    assert "Permissions Violation for Publish" in await attacker.publish(subject, b"{}"), subject
                question = pack(ViewQuestion(match, *place(match, bob.token), None))
                # The answer would be a view: published by the worker, on a subject that the asker chooses.
                for reply in (ada.subject, bob.subject, f"_INBOX.{match}.0.1.x", "receipts.x"):
                    assert "Permissions Violation" in await attacker.publish(f"query.{partition}", question, reply), (
                        reply
                    )
                await victim.ping()
                heard += victim.heard
        assert heard == []
        await front.abort(match)


@awaited
async def test_an_owner_answers_only_where_match_services_listen(stack: Stack) -> None:
    """Whoever may ask chooses the reply subject; it must not make the worker publish somebody's view elsewhere."""
    async with api(stack) as front:
        ada, bob = await front.started()
        match = (await front.view(ada.token)).match
        question = pack(ViewQuestion(match, *place(match, bob.token), None))
        subject = f"query.{partition_of(match)}"
        login = access(stack, "match")
        async with (
            await Attacker.connect(stack.nats.url, auth_token=ada.token) as spy,
            await Attacker.connect(stack.nats.url, user=login.user, **{"pass": login.password}) as asker,
        ):
            assert await spy.subscribe(ada.subject) == ALLOWED
            assert await asker.subscribe(f"{ANSWERS_TO_MATCH}.test.*") == ALLOWED
            for reply in (
                ada.subject,
                f"view.{match}.table",
                "receipts.test",
                ANSWERS_TO_MATCH,
                f"x{ANSWERS_TO_MATCH}.a",
            ):
                assert await asker.publish(subject, question, reply) == ALLOWED
            assert await asker.publish(subject, question, f"{ANSWERS_TO_MATCH}.test.1") == ALLOWED
            await asker.until(lambda: asker.heard)
            await spy.ping()
            assert [name for name, _ in asker.heard] == [f"{ANSWERS_TO_MATCH}.test.1"]
            assert spy.heard == []
        await front.abort(match)


# --- services --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("service", "subscribes", "publishes"),
    [
        ("match", "query.0 query.* > view.> $SYS.> _INBOX.>", "view.a.0.1 receipts.a _INBOX.match.a"),
        ("engine", "view.> view.a.0.1 receipts.* _INBOX.match.> > $SYS.>", "query.0 _INBOX.a $SYS.REQ.USER.AUTH"),
        ("observer", "receipts.* query.* _INBOX.> > $SYS.>", "view.a.0.1 receipts.a query.0 a"),
        ("auth", "view.> > $SYS.REQ.USER.AUTH $SYS.> _INBOX.>", "view.a.0.1 receipts.a query.0 $SYS.REQ.USER.AUTH"),
    ],
)  # fmt: skip
@awaited
async def test_a_service_may_do_nothing_but_its_part(
    stack: Stack, service: str, subscribes: str, publishes: str
) -> None:
    login = access(stack, service)
    async with await Attacker.connect(stack.nats.url, user=login.user, **{"pass": login.password}) as attacker:
        for subject in subscribes.split():
            assert "Permissions Violation for Subscription" in await attacker.subscribe(subject), subject
        for subject in publishes.split():
            assert "Permissions Violation for Publish" in await attacker.publish(subject, b"{}"), subject


# --- browsers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cookie", [False, True], ids=["token", "cookie"])
@awaited
async def test_a_browser_hears_its_seat_over_websocket(stack: Stack, cookie: bool) -> None:
    """With the token in the connect message or in the cookie; with a bad one it is refused."""
    async with api(stack) as front:
        ada, bob = await front.started()
        match = (await front.view(ada.token)).match
        url = stack.nats.websocket_url
        assert url is not None

        def showing(token: str) -> dict:
            return {"headers": {"Cookie": f"{COOKIE}={token}"}} if cookie else {"auth_token": token}

        async with await Attacker.connect(url, **showing(ada.token)) as browser:
            assert await browser.subscribe(ada.subject) == ALLOWED
            assert "Permissions Violation" in await browser.subscribe(bob.subject, 2)
            await make_views(front, match, [ada.token, bob.token])
            await browser.until(lambda: len(browser.heard) >= 2)
            assert {subject for subject, _ in browser.heard} == {ada.subject}
        with pytest.raises(Refused, match="Authorization Violation"):
            await Attacker.connect(url, **showing(ada.token[:-2]))
        await front.abort(match)


@awaited
async def test_a_page_of_another_site_cannot_use_the_cookie(stack: Stack) -> None:
    """A browser sends cookies along wherever a page comes from, and its origin with them."""
    async with api(stack) as front:
        ada, _ = await front.started()
    url = stack.nats.websocket_url
    assert url is not None
    cookie = {"Cookie": f"{COOKIE}={ada.token}"}
    same = url.replace("ws://", "http://")
    async with await Attacker.connect(url, headers=cookie | {"Origin": same}):
        pass
    with pytest.raises(Exception, match="403"):
        await Attacker.connect(url, headers=cookie | {"Origin": "https://evil.example"})


# --- the callout itself ----------------------------------------------------------------------------------------------


@awaited
async def test_without_an_auth_service_nobody_new_gets_in_and_with_two_one_may_die(stack: Stack) -> None:
    """Connections that are open go on."""
    async with api(stack) as front:
        ada, bob = await front.started()
        match = (await front.view(ada.token)).match
        with stack.service("auth", f"auth-{secrets.token_hex(4)}"):
            stack.auth.kill()
            for _ in range(10):
                async with await Attacker.connect(stack.nats.url, auth_token=ada.token):
                    pass
            old = await Attacker.connect(stack.nats.url, auth_token=ada.token)
        try:
            assert await refused(stack, auth_token=ada.token)
            assert await old.subscribe(ada.subject) == ALLOWED
            await make_views(front, match, [ada.token, bob.token])
            await old.until(lambda: old.heard)
        finally:
            await old.close()
            await asyncio.to_thread(stack.auth.start)
        async with await Attacker.connect(stack.nats.url, auth_token=ada.token):
            pass
        await front.abort(match)


@awaited
async def test_no_token_is_in_a_log_or_a_file_of_the_stack(stack: Stack) -> None:
    """Whether it was let in or not; passwords of services are in files that only their owner can read."""
    async with api(stack) as front:
        ada, _ = await front.started()
        async with await Attacker.connect(stack.nats.url, auth_token=ada.token):
            pass
        bad = tokens_of(stack, ttl_s=-600).for_table((await front.view(ada.token)).match)
        await refused(stack, auth_token=bad)
    await until(lambda: "nats_login_refused" in (stack.folder / "auth.log").read_text())
    passwords = [stack.access.password(name) for name in ("match", "engine", "observer", "auth")]
    for path in filter(lambda path: path.is_file(), stack.folder.rglob("*")):
        data = path.read_bytes()
        assert ada.token.encode() not in data, path
        assert bad.encode() not in data, path
        if any(password.encode() in data for password in passwords):
            assert path.stat().st_mode & 0o077 == 0, path
    assert not any(password in (stack.folder / "addresses.json").read_text() for password in passwords)
