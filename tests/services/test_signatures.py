"""Signatures on last hashes: what export lays beside a journal, and what the audit makes of it."""

import json
import shutil
from pathlib import Path

import pytest
import redis
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner, Result

from engine import journal
from services.cli import app
from services.settings import load
from services.signatures import public_key, read_key, read_signature
from services.store.keys import journal_key

REFERENCE = Path(__file__).parents[1] / "histories" / "timos_twist_reference.jsonl"
LINES = journal.split(REFERENCE.read_bytes())
HASH = bytes.fromhex(REFERENCE.with_suffix(".hash").read_text())
MATCH = "025sv64h4mddscxqmocoirec5"
SEED = "42" * 32
KEY = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(SEED))
PUBLIC = KEY.public_key().public_bytes_raw().hex()
SIGNATURE = KEY.sign(HASH).hex()


def croupier(*args: object) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """The reference journal with nothing beside it."""
    return Path(shutil.copy(REFERENCE, tmp_path / "x.jsonl"))


def verdict(*args: object) -> tuple[int, str, str | None]:
    """The exit code, the outcome and the field of the only journal asked for."""
    result = croupier("audit", "--json", *args)
    [line] = json.loads(result.stdout)["journals"]
    difference = line["verdict"]["difference"]
    return result.exit_code, line["verdict"]["outcome"], difference and difference["field"]


def test_a_signature_beside_a_journal_verifies_it_with_the_key_and_with_no_other(alone, tmp_path):
    alone.with_suffix(".sig").write_text(SIGNATURE + "\n")
    in_file = tmp_path / "operator.pub"
    in_file.write_text(PUBLIC + "\n")
    assert verdict(alone, "--key", PUBLIC) == (0, "verified", None)
    assert verdict(alone, "--key", in_file) == (0, "verified", None)
    assert verdict(alone) == (0, "consistent", None)
    other = Ed25519PrivateKey.generate().public_key().public_bytes_raw().hex()
    assert verdict(alone, "--key", other) == (1, "different", "signature")


def test_without_a_signature_a_key_adds_nothing(alone):
    assert verdict(alone, "--key", PUBLIC) == (0, "consistent", None)


def test_a_signature_is_on_the_last_hash_of_the_whole_journal(alone):
    alone.with_suffix(".sig").write_text(KEY.sign(bytes(32)).hex())
    assert verdict(alone, "--key", PUBLIC) == (1, "different", "signature")


def test_a_journal_that_differs_stays_different_under_a_signature(alone):
    alone.write_bytes(alone.read_bytes().replace(b"blue-3", b"pink-9", 1))
    alone.with_suffix(".sig").write_text(SIGNATURE)
    assert verdict(alone, "--key", PUBLIC) == (1, "different", "legality")


def test_a_good_hash_does_not_excuse_a_bad_signature(alone):
    alone.with_suffix(".hash").write_text(HASH.hex())
    alone.with_suffix(".sig").write_text("00" * 64)
    assert verdict(alone) == (0, "verified", None)
    assert verdict(alone, "--key", PUBLIC) == (1, "different", "signature")


@pytest.mark.parametrize("text", ["", "no hex", "00", "ä"])
def test_a_file_that_holds_no_signature_is_named(alone, text):
    alone.with_suffix(".sig").write_text(text, "utf-8")
    assert verdict(alone, "--key", PUBLIC) == (1, "different", "file")


def test_a_signature_may_be_given_by_hand(alone):
    assert verdict(alone, "--key", PUBLIC, "--signature", f"{MATCH}={SIGNATURE}") == (0, "verified", None)
    assert verdict(alone, "--key", PUBLIC, "--signature", f"{MATCH}={'00' * 64}") == (1, "different", "signature")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--key", "12"), "a public key is 64 hex digits"),
        (("--key", PUBLIC, "--signature", MATCH), "it is MATCH=HEX"),
        (("--key", PUBLIC, "--signature", f"{MATCH}=12"), "a signature is 128 hex digits"),
        (("--key", PUBLIC, "--signature", f"={SIGNATURE}"), "it is MATCH=HEX"),
        (("--signature", f"{MATCH}={SIGNATURE}"), "--key"),
    ],
)
def test_a_key_or_signature_of_no_such_form_is_told(alone, args, said):
    result = croupier("audit", alone, *args)
    assert (result.exit_code, said in result.stderr) == (2, True)


def test_export_lays_the_signature_beside_the_journal(redis_url, monkeypatch, tmp_path):
    monkeypatch.setenv("CROUPIER_REDIS_URL", redis_url)
    monkeypatch.setenv("CROUPIER_DATA_DIR", str(tmp_path / "none"))
    with redis.Redis.from_url(redis_url) as client:
        for version, line in enumerate(LINES):
            client.xadd(journal_key(MATCH), {"line": line, "hash": b"h" * 32}, id=f"{version + 1}-0")
    assert croupier("export", MATCH, "--out", tmp_path / "unsigned").exit_code == 0
    assert [file.suffix for file in (tmp_path / "unsigned").iterdir()] == [".jsonl"]
    monkeypatch.setenv("CROUPIER_SIGNING_KEY", SEED)
    assert croupier("export", MATCH, "--out", tmp_path / "signed").exit_code == 0
    assert (tmp_path / "signed" / f"{MATCH}.sig").read_text() == SIGNATURE + "\n"
    assert verdict(tmp_path / "signed", "--key", PUBLIC) == (0, "verified", None)


def test_the_public_key_is_that_of_the_settings(monkeypatch, tmp_path):
    monkeypatch.setenv("CROUPIER_DATA_DIR", str(tmp_path))
    result = croupier("public-key")
    assert (result.exit_code, "CROUPIER_SIGNING_KEY" in result.stderr) == (2, True)
    monkeypatch.setenv("CROUPIER_SIGNING_KEY", SEED)
    result = croupier("public-key")
    assert (result.exit_code, result.stdout) == (0, PUBLIC + "\n")
    assert SEED not in result.stdout
    assert public_key(load()) == PUBLIC == read_key(PUBLIC).public_bytes_raw().hex()


def test_the_public_key_of_a_stack_is_that_of_its_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("CROUPIER_DATA_DIR", str(tmp_path))
    (tmp_path / "signing_key.secret").write_text(SEED)
    assert croupier("public-key").stdout == PUBLIC + "\n"


def test_a_signature_is_read_in_either_case():
    assert read_signature(f" {SIGNATURE.upper()}\n").hex() == SIGNATURE
