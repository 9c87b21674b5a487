"""NATS' own tokens and keys, as far as auth callout needs them.

A server asks with a token that it has signed itself, and wants one signed by the issuer of its accounts back. If it has
a curve key, both travel in a sealed box. The formats: https://github.com/nats-io/jwt, https://github.com/nats-io/nkeys.
"""

import base64
import binascii
import hashlib
import json
import secrets
import time
from typing import Any, cast

import nkeys
from nacl.exceptions import BadSignatureError, CryptoError
from nacl.public import Box, PrivateKey, PublicKey
from nacl.signing import SigningKey, VerifyKey

ALGORITHM = "ed25519-nkey"
_SEALED = b"xkv1"
_NONCE_SIZE = 24
_KEY_SIZE = 32
_KEY_LENGTH = 64
"""Characters that no key has, nor a seed: those have 56 and 58."""
MAX_BYTES = 65_536
"""A question of a server is shorter: the lines of a connection that it lets in have 4 KB."""
_CURVE = 23 << 3
"""Makes a public key begin with X, a seed with SX."""


class NotNatsToken(ValueError):
    """Bytes are no token of NATS, are signed by somebody else, or cannot be opened; says which."""


def new_account_seed() -> str:
    """Return the seed of a new issuer (SA…)."""
    return cast("bytes", nkeys.encode_seed(secrets.token_bytes(_KEY_SIZE), nkeys.PREFIX_BYTE_ACCOUNT)).decode()


def new_curve_seed() -> str:
    """Return the seed of a new curve key (SX…)."""
    head = bytes([nkeys.PREFIX_BYTE_SEED | _CURVE >> 5, (_CURVE & 31) << 3])
    return _with_checksum(head + secrets.token_bytes(_KEY_SIZE))


class Issuer:
    """The key that signs who may do what, in the name of the server's accounts."""

    def __init__(self, seed: str) -> None:
        """Take the seed of an account key (SA…). Raises NotNatsToken if it is none."""
        raw = _decoded(seed)
        if len(raw) != _KEY_SIZE + 2 or not seed.startswith("SA"):
            raise NotNatsToken("this is no seed of an account (SA…)")
        self._key = SigningKey(raw[2:])
        self.public = _with_checksum(bytes([nkeys.PREFIX_BYTE_ACCOUNT]) + bytes(self._key.verify_key))
        """What the server's configuration calls `issuer`."""

    def sign(self, subject: str, audience: str, nats: dict[str, Any], expires: int | None = None) -> str:
        """Return a token about `subject` with these claims; `expires` in Unix seconds."""
        claims = {"iat": int(time.time()), "iss": self.public, "sub": subject, "aud": audience, "nats": nats}
        if expires is not None:
            claims["exp"] = expires
        digest = hashlib.sha256(json.dumps(claims, sort_keys=True).encode()).digest()
        claims["jti"] = base64.b32encode(digest).decode().rstrip("=")
        head = _as_part({"typ": "JWT", "alg": ALGORITHM})
        signed = head + b"." + _as_part(claims)
        return (signed + b"." + _base64(self._key.sign(signed).signature)).decode()


def read(token: bytes) -> dict[str, Any]:
    """Return the claims of a token that `iss`, whoever that is, has signed. Raises NotNatsToken."""
    if len(token) > MAX_BYTES:
        raise NotNatsToken("the token is too long")
    try:
        signed, _, signature = token.rpartition(b".")
        head, claims = (json.loads(_unbase64(part)) for part in signed.split(b"."))
        if head["alg"] != ALGORITHM:
            raise NotNatsToken("the token is signed in another way")
        issuer = _decoded(claims["iss"])[1:]
        VerifyKey(issuer).verify(signed, _unbase64(signature))
    except (BadSignatureError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise NotNatsToken(f"the token cannot be verified: {type(error).__name__}") from None
    return cast("dict[str, Any]", claims)


class CurveKey:
    """Opens what a server has sealed, and seals the answer for it."""

    def __init__(self, seed: str) -> None:
        """Take the seed of a curve key (SX…). Raises NotNatsToken if it is none."""
        raw = _decoded(seed)
        if len(raw) != _KEY_SIZE + 2 or not seed.startswith("SX"):
            raise NotNatsToken("this is no seed of a curve key (SX…)")
        self._key = PrivateKey(raw[2:])
        self.public = _with_checksum(bytes([_CURVE]) + bytes(self._key.public_key))
        """What the server's configuration calls `xkey`."""

    def open(self, sealed: bytes, sender: str) -> bytes:
        """Return what `sender`, a public curve key, has sealed for this key. Raises NotNatsToken."""
        if not sealed.startswith(_SEALED) or len(sealed) > MAX_BYTES:
            raise NotNatsToken("this is not sealed, or too long")
        nonce, box = sealed[4 : 4 + _NONCE_SIZE], sealed[4 + _NONCE_SIZE :]
        try:
            return Box(self._key, _curve(sender)).decrypt(box, nonce)
        except (CryptoError, ValueError) as error:
            raise NotNatsToken(f"the box does not open: {type(error).__name__}") from None

    def seal(self, data: bytes, receiver: str) -> bytes:
        """Return `data` so that only `receiver`, a public curve key, can open it. Raises NotNatsToken."""
        nonce = secrets.token_bytes(_NONCE_SIZE)
        return _SEALED + nonce + Box(self._key, _curve(receiver)).encrypt(data, nonce).ciphertext


def _curve(public: str) -> PublicKey:
    raw = _decoded(public)
    if raw[0] != _CURVE:
        raise NotNatsToken("this is no public curve key (X…)")
    return PublicKey(raw[1:])


def _with_checksum(raw: bytes) -> str:
    return base64.b32encode(raw + nkeys.crc16(bytearray(raw)).to_bytes(2, "little")).decode().rstrip("=")


def _decoded(key: object) -> bytes:
    """Return the bytes of a key without its checksum. Raises NotNatsToken."""
    if not isinstance(key, str) or len(key) > _KEY_LENGTH:
        raise NotNatsToken("this is no key of NATS")
    try:
        raw = base64.b32decode(key + "=" * (-len(key) % 8))
    except (binascii.Error, ValueError, TypeError):
        raise NotNatsToken("this is no key of NATS") from None
    if len(raw) < _KEY_SIZE + 3 or nkeys.crc16(bytearray(raw[:-2])).to_bytes(2, "little") != raw[-2:]:
        raise NotNatsToken("this is no key of NATS")
    return raw[:-2]


def _as_part(document: dict[str, Any]) -> bytes:
    return _base64(json.dumps(document, separators=(",", ":")).encode())


def _base64(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _unbase64(text: bytes) -> bytes:
    return base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
