"""The server seeds of running matches in Redis, encrypted: whoever can read Redis cannot look into a hand.

ChaCha20-Poly1305 with a random nonce. What is sealed for one match opens for no other: its id is bound in as associated
data. In front stands the id of the key, so that keys can be changed while two are good: the first one seals, both open.
"""

import hashlib
import secrets
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from engine.chance import length_prefixed
from services.settings import Settings, key_pair

KEY_ID = 8
NONCE = 12
TAG = 16


class SealError(Exception):
    """A sealed seed does not open: its key is not among the settings', or it is not what was sealed."""


class UnknownKey(SealError):
    """A seed was sealed with a key that the settings do not have. Nothing is wrong with it."""


class Sealer:
    """Seals and opens with one or two keys of 32 bytes; nothing is kept between calls."""

    def __init__(self, key: bytes, other_key: bytes | None = None) -> None:
        """Seal with `key`; open what either has sealed."""
        self._first = _key_id(key)
        self._ciphers = {_key_id(each): ChaCha20Poly1305(each) for each in (other_key, key) if each is not None}

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Take the keys from the settings. Raises SettingsError without one."""
        key, other = key_pair(settings, "seed_key")
        return cls(bytes.fromhex(key), bytes.fromhex(other) if other else None)

    def seal(self, match: str, seed: bytes) -> bytes:
        """Return key id, nonce, ciphertext and tag: 36 bytes more than there were."""
        nonce = secrets.token_bytes(NONCE)
        return self._first + nonce + self._ciphers[self._first].encrypt(nonce, seed, _bound(match))

    def open(self, match: str, sealed: bytes) -> bytes:
        """Return the seed that was sealed for this match. Raises SealError, which tells nothing of it; UnknownKey."""
        cipher = self._ciphers.get(sealed[:KEY_ID])
        if cipher is None:
            raise UnknownKey(
                f"the seed of {match} was sealed with the key {sealed[:KEY_ID].hex()}; the settings have "
                f"{' and '.join(sorted(known.hex() for known in self._ciphers))}"
            )
        try:
            return cipher.decrypt(sealed[KEY_ID : KEY_ID + NONCE], sealed[KEY_ID + NONCE :], _bound(match))
        except (InvalidTag, ValueError):  # ValueError: a nonce that was cut off
            raise SealError(f"what Redis has as the seed of {match} is not what was sealed") from None


def _key_id(key: bytes) -> bytes:
    return hashlib.sha256(length_prefixed(b"croupier/seal-key", key)).digest()[:KEY_ID]


def _bound(match: str) -> bytes:
    return length_prefixed(b"croupier/sealed", b"seed", match.encode())
