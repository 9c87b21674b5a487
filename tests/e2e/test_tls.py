"""A stack whose wires all speak TLS with a private CA: players, loads and the services themselves."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from services.auth.server_config import ServerAccess
from services.client import Client
from services.local import NatsServer
from services.play import _addresses
from services.play_wish import Wish
from services.stack import Stack
from tests.certificates import certificates
from tests.e2e.conftest import environment
from tests.e2e.table import awaited, begin, operator_key, until


class TlsStack(Stack):
    """NATS and the match service take TLS only; the services know the CA."""

    def __init__(self, folder: Path, files: Path) -> None:
        super().__init__(folder, engines=1, env=environment())
        self.files = files
        self.access = ServerAccess.generate()
        tls = f'tls {{ cert_file: "{files / "server.crt"}", key_file: "{files / "server.key"}" }}'
        self.nats = NatsServer(folder, config_extra=f"{self.access.config()}\n{tls}")

    @property
    def nats_url(self) -> str:
        return self.nats.url.replace("nats://", "tls://")

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {
            "CROUPIER_NATS_URL": self.nats_url,
            "CROUPIER_NATS_TLS_CA": str(self.files / "ca.crt"),
            "CROUPIER_GRPC_TLS_CERT": str(self.files / "server.crt"),
            "CROUPIER_GRPC_TLS_KEY": str(self.files / "server.key"),
        }


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsStack]:
    files = certificates(tmp_path_factory.mktemp("certificates"))
    with TlsStack(tmp_path_factory.mktemp("tls"), files) as running:
        yield running


@awaited
async def test_players_hear_their_views_over_tls_from_servers_that_their_ca_has_signed(stack: TlsStack) -> None:
    """As `croupier play --ca` connects; with a nats:// URL too, since the server asks for TLS."""
    ca = (stack.files / "ca.crt").read_bytes()
    for url in (stack.nats_url, stack.nats.url):
        client = await Client.connect(stack.grpc, url, operator_key(stack), ca)
        try:
            played = await begin(client, "bluffing_billionaires", 2)
            await until(lambda played=played: played.version > 12)
            assert {seat.gaps for seat in played.seats} == {0}, "views came over NATS, none had to be asked for"
        finally:
            await client.close()


@pytest.mark.parametrize("by", ["nats", "grpc"])
def test_a_load_plays_and_checks_its_journals_over_tls(stack: TlsStack, tmp_path: Path, by: str) -> None:
    report = tmp_path / "report.json"
    command = [
        sys.executable, "-m", "services.cli", "load", "--game", "bluffing_billionaires", "--matches", "2",
        "--seats", "2", "--for", "1s", "--warm-up", "0s", "--closed", "--server", stack.grpc, "--nats", stack.nats_url,
        "--ca", str(stack.files / "ca.crt"), "--views", by, "--json", str(report),
    ]  # fmt: skip
    env = {"CROUPIER_OPERATOR_KEY": operator_key(stack)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=_here() | env)
    assert done.returncode == 0, done.stdout + done.stderr
    found = msgspec.json.decode(report.read_bytes())
    assert "bluffing_billionaires" in report.read_text()
    assert found


def _here() -> dict[str, str]:
    import os

    return {name: value for name, value in os.environ.items() if not name.startswith("CROUPIER_")}


def test_with_a_ca_nats_is_spoken_to_over_tls_unless_its_url_says_not() -> None:
    """So that no token goes over the wire in the clear because an option was forgotten."""
    for ca, nats, expected in (
        (b"ca", None, "tls://cards.example:4222"),
        (b"ca", "nats://other:1", "nats://other:1"),
        (None, None, "nats://cards.example:4222"),
    ):
        wish = Wish(server="cards.example:50051", nats=nats, ca=ca)
        assert _addresses(wish, None)[1] == expected


@pytest.mark.parametrize("command", ["play", "load"])
def test_a_ca_or_a_url_that_is_none_is_named(command: str, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from services.cli import app

    (tmp_path / "none.crt").write_text("no certificate")
    (tmp_path / "empty.crt").touch()
    cases = [(["--ca", str(tmp_path / "none.crt")], "--ca is of a --server")]
    cases.append((["--server", "127.0.0.1:1", "--nats", "wss://a:1"], "nats:// or tls:// URL"))
    cases.append((["--server", "127.0.0.1:1", "--ca", str(tmp_path / "none.crt")], "no certificate in PEM"))
    cases.append((["--server", "127.0.0.1:1", "--ca", str(tmp_path / "empty.crt")], "no certificate in PEM"))
    for arguments, said in cases:
        extra = ["--for", "1s"] if command == "load" else ["timos_twist"]
        result = CliRunner().invoke(app, [command, *extra, *arguments], env={"COLUMNS": "200"})
        assert (result.exit_code, said in result.output) == (2, True), result.output
