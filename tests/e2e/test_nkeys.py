"""Services that show NATS a key pair of their own instead of a password: `CROUPIER_NATS_SEED`."""

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import nkeys
import pytest

from services.auth.rights import SERVICES
from services.auth.server_config import ServerAccess
from services.local import NatsServer
from services.settings import PREFIX
from services.stack import Stack
from tests.attacks.wire import Attacker, Refused
from tests.e2e.conftest import environment
from tests.e2e.table import awaited, begin, connected, until


class NkeyAccess(ServerAccess):
    """Knows services by their public keys; there is no password that could get out."""

    seeds: dict[str, bytes]

    @classmethod
    def generate(cls) -> Self:
        made = super().generate()
        made.seeds = {name: nkeys.encode_seed(secrets.token_bytes(32), nkeys.PREFIX_BYTE_USER) for name in SERVICES}
        return made

    def public(self, service: str) -> str:
        return nkeys.from_seed(bytearray(self.seeds[service])).public_key.decode()

    def environment(self, service: str) -> dict[str, str]:
        with_password = super().environment(service)
        for name in ("NATS_USER", "NATS_PASSWORD"):
            with_password.pop(f"{PREFIX}{name}", None)
        return with_password | ({f"{PREFIX}NATS_SEED": self.seeds[service].decode()} if service in SERVICES else {})

    def config(self) -> str:
        text = super().config()
        for name in SERVICES:
            text = text.replace(f'user: "{name}", password: "{self.password(name)}"', f'nkey: "{self.public(name)}"')
        known = json.dumps([self.public(name) for name in SERVICES])
        return text.replace(f"auth_users: {json.dumps(list(SERVICES))}", f"auth_users: {known}")


class NkeyStack(Stack):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, engines=1, env=environment())
        self.access: NkeyAccess = NkeyAccess.generate()
        self.nats = NatsServer(folder, config_extra=self.access.config())


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NkeyStack]:
    with NkeyStack(tmp_path_factory.mktemp("nkeys")) as running:
        yield running


@awaited
async def test_a_match_is_played_by_services_that_sign_in_with_their_keys(stack: NkeyStack) -> None:
    """The auth service among them: it lets the players in, and the worker's views and receipts get through."""
    assert "password" not in stack.access.config()
    async with connected(stack) as client:
        played = await begin(client, "bluffing_billionaires", 2)
        await until(lambda: played.version > 12)
        assert {seat.gaps for seat in played.seats} == {0}


@awaited
async def test_who_has_not_the_key_is_not_let_in(stack: NkeyStack) -> None:
    """Neither with a service's public key, nor with its name, nor with a signature of another key or another nonce."""
    other = nkeys.from_seed(bytearray(nkeys.encode_seed(secrets.token_bytes(32), nkeys.PREFIX_BYTE_USER)))
    mine = stack.access.public("match")
    signature = other.sign(b"nonce")
    for options in (
        {"nkey": mine},
        {"nkey": mine, "sig": _base64(signature)},
        {"nkey": other.public_key.decode(), "sig": _base64(signature)},
        {"nkey": mine, "sig": _base64(nkeys.from_seed(bytearray(stack.access.seeds["match"])).sign(b"another nonce"))},
        {"user": "match", "pass": stack.access.password("match")},
        {"user": mine},
    ):
        with pytest.raises(Refused, match="Authorization Violation"):
            await Attacker.connect(stack.nats.url, **options)


def test_no_key_is_in_a_log(stack: NkeyStack) -> None:
    for path in stack.folder.rglob("*.log"):
        for seed in stack.access.seeds.values():
            assert seed not in path.read_bytes(), path


def _base64(data: bytes) -> str:
    import base64

    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
