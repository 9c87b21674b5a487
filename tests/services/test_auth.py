"""The auth service on real NATS servers with the configuration that is handed out to operators."""

import asyncio
import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from services.auth import nats_jwt
from services.auth.callout import Callout
from services.auth.nats_jwt import CurveKey, Issuer, NotNatsToken
from services.auth.rights import SERVICES
from services.auth.service import serve
from services.bus import Access, Bus
from services.commands import ANSWERS_TO_MATCH, match_id, view_subject
from services.local import NatsServer, nats_program
from services.metrics import Metrics
from services.settings import load
from services.tokens import SeatClaim, Tokens
from tests.services.front import in_loop, until

DEPLOY = Path(__file__).parents[2] / "deploy"
MATCH = match_id(b"a" * 16, 4)
TOKENS = Tokens("k" * 32, 600, 4)


@pytest.fixture
def keys(monkeypatch) -> dict[str, str]:
    """What `croupier nats-keys` prints and passwords, all in the environment of the servers that a test starts."""
    printed = subprocess.run(
        [sys.executable, "-m", "services.cli", "nats-keys"], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    found = dict(line.split("=", 1) for line in printed.splitlines())
    found |= {f"NATS_{name.upper()}_PASSWORD": f"p{secrets.token_hex(16)}" for name in SERVICES}
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    return found


def access(keys: dict[str, str], name: str, **more) -> Access:
    return Access(user=name, password=keys[f"NATS_{name.upper()}_PASSWORD"], **more)


def test_the_configuration_in_deploy_is_one_that_nats_takes(keys):
    done = subprocess.run(
        [nats_program(), "-t", "-c", DEPLOY / "nats.conf"], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr


@in_loop
async def test_with_the_configuration_in_deploy_each_service_can_do_its_part(keys, tmp_path):
    """Views, receipts, questions and answers get through; a seat's token opens its view, another's not."""
    config = (DEPLOY / "nats_access.conf").read_text()
    issuer, curve = Issuer(keys["CROUPIER_NATS_ISSUER_SEED"]), CurveKey(keys["CROUPIER_NATS_CURVE_SEED"])
    subject = view_subject(MATCH, 0, 1)
    heard: list[str] = []

    async def hear(message) -> None:
        heard.append(message.subject)

    with NatsServer(tmp_path, config_extra=config) as server:
        auth = await Bus.connect(server.url, "auth", access(keys, "auth"))
        await Callout(TOKENS, issuer, curve, "CROUPIER", Metrics()).listen(auth)
        token = TOKENS.for_seat(SeatClaim(MATCH, 0, 1, "timos_twist"))
        seat = await Bus.connect(server.url, "seat", Access(token=lambda: token))
        match = await Bus.connect(server.url, "match", access(keys, "match", inbox=ANSWERS_TO_MATCH))
        engine = await Bus.connect(server.url, "engine", access(keys, "engine"))
        observer = await Bus.connect(server.url, "observer", access(keys, "observer"))
        for bus, name in ((seat, subject), (match, subject), (match, "receipts.a"), (observer, "view.>")):
            await bus.subscribe(name, hear)

        async def answer(message) -> None:
            await engine.send(message.reply, b"yes")

        await engine.subscribe("query.3", answer)
        assert await match.request("query.3", b"?", 5) == b"yes"
        await engine.publish([(subject, b"{}"), ("receipts.a", b""), (view_subject(MATCH, 1, 2), b"{}")])
        await until(lambda: len(heard) == 5)
        assert sorted(heard) == sorted([subject] * 3 + ["receipts.a", view_subject(MATCH, 1, 2)])
        assert not [bus.refused for bus in (auth, seat, match, engine, observer) if bus.refused]
        await seat.subscribe(view_subject(MATCH, 1, 2), hear)
        await until(lambda: "permissions violation" in seat.refused)
        for bus in (seat, match, engine, observer, auth):
            await bus.close()


@in_loop
async def test_a_fresh_token_is_asked_for_when_the_old_one_is_refused(keys, tmp_path):
    """A client whose token has expired comes back by itself."""
    issuer, curve = Issuer(keys["CROUPIER_NATS_ISSUER_SEED"]), CurveKey(keys["CROUPIER_NATS_CURVE_SEED"])
    claim = SeatClaim(MATCH, 0, 1, "timos_twist")
    tokens = [Tokens("k" * 32, -28, 4).for_seat(claim)]  # for two seconds more

    async def renew() -> None:
        tokens.append(TOKENS.for_seat(claim))

    with NatsServer(tmp_path, config_extra=(DEPLOY / "nats_access.conf").read_text()) as server:
        auth = await Bus.connect(server.url, "auth", access(keys, "auth"))
        await Callout(TOKENS, issuer, curve, "CROUPIER", Metrics()).listen(auth)
        seat = await Bus.connect(server.url, "seat", Access(token=lambda: tokens[-1], renew=renew))
        first = seat.generation
        await until(lambda: len(tokens) == 2 and seat.connected and seat.generation > first)
        await seat.close()
        await auth.close()


@in_loop
async def test_the_service_shows_whether_nats_can_ask_it(keys, tmp_path):
    settings = {name: keys[f"CROUPIER_NATS_{name.upper()}"] for name in ("issuer_seed", "curve_seed")}
    said: list[dict[str, object]] = []
    with NatsServer(tmp_path, config_extra=(DEPLOY / "nats_access.conf").read_text()) as server:
        service = asyncio.create_task(
            serve(
                load(
                    nats_url=server.url, nats_user="auth", nats_password=keys["NATS_AUTH_PASSWORD"], metrics_port=0,
                    token_key="k" * 32, **{f"nats_{name}": seed for name, seed in settings.items()},
                ),
                said.append,
            )
        )  # fmt: skip
        await until(lambda: said)

        async def serving() -> str:
            page = await asyncio.to_thread(lambda: urllib.request.urlopen(str(said[0]["metrics"]), timeout=5).read())
            return next(line for line in page.decode().splitlines() if line.startswith("croupier_serving "))

        async def shows(value: str) -> bool:
            return await serving() == f"croupier_serving {value}"

        await until(lambda: shows("1.0"))
        server.kill()
        await until(lambda: shows("0.0"))
        server.start()
        await until(lambda: shows("1.0"))
        os.kill(os.getpid(), signal.SIGTERM)
        await service


# --- questions that no server asks -----------------------------------------------------------------------------------


def question(signer: Issuer, server: str, token: str = "x") -> bytes:
    nats = {"server_id": {"id": server}, "user_nkey": "UA", "connect_opts": {"auth_token": token}}
    return signer.sign("subject", "nats-authorization-request", nats).encode()


def test_only_what_a_server_has_signed_itself_is_answered():
    """An account's key is no server's; another's name, a changed text or a missing seal is no question."""
    issuer, curve = Issuer(nats_jwt.new_account_seed()), CurveKey(nats_jwt.new_curve_seed())
    asker = Issuer(nats_jwt.new_account_seed())
    open_ = Callout(TOKENS, issuer, None, "CROUPIER", Metrics())
    sealed = Callout(TOKENS, issuer, curve, "CROUPIER", Metrics())
    good = question(asker, asker.public)
    for data in (good, question(asker, "NAAA"), good[:-4] + b"AAAA", b"", b"a.b", b"a.b.c", b"\xff\xfe.\x00.x", b"{}"):
        assert open_.answer(data, None) is None
        assert sealed.answer(data, None) is None
        assert sealed.answer(data, curve.public) is None
        assert sealed.answer(curve.seal(data, curve.public), "XAAA") is None


def test_what_is_sealed_opens_for_its_receiver_only():
    ada, bob, eve = (CurveKey(nats_jwt.new_curve_seed()) for _ in range(3))
    box = ada.seal(b"token", bob.public)
    assert bob.open(box, ada.public) == b"token"
    for key, sender in ((eve, ada.public), (bob, eve.public)):
        with pytest.raises(NotNatsToken):
            key.open(box, sender)
    with pytest.raises(NotNatsToken):
        bob.open(box[:-1] + bytes([box[-1] ^ 1]), ada.public)


def test_a_token_of_an_issuer_is_read_with_its_claims_until_a_byte_differs():
    issuer = Issuer(nats_jwt.new_account_seed())
    token = issuer.sign("UX", "CROUPIER", {"type": "user"}, int(time.time()) + 5).encode()
    claims = nats_jwt.read(token)
    assert (claims["iss"], claims["sub"], claims["aud"]) == (issuer.public, "UX", "CROUPIER")
    for place in range(0, len(token) - 1, 7):
        changed = token[:place] + (b"A" if token[place : place + 1] != b"A" else b"B") + token[place + 1 :]
        with pytest.raises(NotNatsToken):
            nats_jwt.read(changed)


@pytest.mark.parametrize("seed", ["", "SA", "SUAAA", "S" + "A" * 57, "\N{SNOWMAN}" * 58])
def test_what_is_no_seed_is_refused(seed):
    for kind in (Issuer, CurveKey):
        with pytest.raises(NotNatsToken):
            kind(seed)
