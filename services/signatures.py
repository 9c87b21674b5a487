"""The operator's signature on last hashes: workers make it, `export` lays it beside a journal, the audit checks it.

A last hash binds a whole journal. Who keeps one can prove that a journal is the one that was played; with the
operator's signature on it everybody can, without having been there. Signatures are Ed25519 over the 32 bytes.
"""

from collections.abc import Mapping
from functools import reduce
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec.structs import replace

from engine import journal
from engine.audit import Audited, Difference, Verdict
from services.settings import Settings
from services.views import Signer

SIGNATURE_SUFFIX = ".sig"
"""Beside NAME.jsonl: 128 hex digits."""
_KEY_BYTES, _SIGNATURE_BYTES = 32, 64


def signer(settings: Settings) -> Signer | None:
    """Return what signs last hashes with the operator's key, None if none is set."""
    key = _private(settings)
    return None if key is None else key.sign


def public_key(settings: Settings) -> str | None:
    """Return the public key of the operator's key in hex, None if none is set."""
    key = _private(settings)
    return None if key is None else key.public_key().public_bytes_raw().hex()


def _private(settings: Settings) -> Ed25519PrivateKey | None:
    if settings.signing_key is None:
        return None
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(settings.signing_key.get_secret_value()))


def read_key(given: str) -> Ed25519PublicKey:
    """Return the public key in 64 hex digits, or in a file that holds them. Raises ValueError."""
    try:
        text = Path(given).read_text("ascii", errors="replace") if Path(given).is_file() else given
    except OSError as error:
        raise ValueError(f"{given} cannot be read: {error.strerror}") from None
    return Ed25519PublicKey.from_public_bytes(_bytes(text, _KEY_BYTES, "a public key"))


def read_signature(text: str) -> bytes:
    """Return the 64 bytes of a signature in hex. Raises ValueError."""
    return _bytes(text, _SIGNATURE_BYTES, "a signature")


def _bytes(text: str, size: int, what: str) -> bytes:
    try:
        data = bytes.fromhex(text.strip())
    except ValueError:
        data = b""
    if len(data) != size:
        raise ValueError(f"{what} is {2 * size} hex digits")
    return data


def last_hash(lines: tuple[bytes, ...]) -> bytes:
    """Return the hash of the last entry of a journal, given as its lines."""
    return reduce(journal.entry_hash, lines, journal.NO_HASH)


def checked(audited: Audited, key: Ed25519PublicKey, given: Mapping[str, bytes]) -> Audited:
    """Return what a verdict becomes by the operator's signature: one in `given`, by match id, or beside the file.

    Without a signature, and where something differs already, it stays as it is.
    """
    name, verdict = audited
    if verdict.difference is not None:
        return audited
    try:
        signature = given.get(verdict.match) or _beside(name)
    except (OSError, ValueError) as error:
        return _different(audited, "file", f"the file with its signature cannot be used: {error}")
    if signature is None:
        return audited
    try:
        key.verify(signature, bytes.fromhex(verdict.head))
    except InvalidSignature:
        return _different(audited, "signature", f"the signature is not this key's on the last hash {verdict.head}")
    return Audited(name, replace(verdict, outcome="verified"))


def _beside(name: str) -> bytes | None:
    """Return the signature beside a journal's file; None without one, and for a match that is in no file."""
    if not name:
        return None
    path = Path(name).with_suffix(SIGNATURE_SUFFIX)
    if not (Path(name).is_file() and path.is_file()):
        return None
    return read_signature(path.read_text("ascii", errors="replace"))


def _different(audited: Audited, field: str, detail: str) -> Audited:
    verdict: Verdict = audited.verdict
    difference = Difference(max(0, verdict.entries - 1), field, detail)
    return Audited(audited.name, replace(verdict, outcome="different", difference=difference))
