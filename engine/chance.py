"""CROUPIER-RNG-1: the one source of chance of a match.

Everything here is SHA-256 and HMAC-SHA256 over length-prefixed parts, so that a stranger can compute it again from a
journal's reveal. A stream belongs to one label and one version and never outlives it: a draw more in one move shifts
nothing later. The recorded vectors are in tests/test_chance.py.
"""

import hashlib
import hmac
import struct
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Protocol, TypeVar

T = TypeVar("T")
_TWO_64 = 1 << 64
_VERSION_AND_BLOCK = struct.Struct(">2Q").pack
_FOUR_NUMBERS = struct.Struct(">4Q").unpack


class Chance(Protocol):
    """What rules may ask of chance, and nothing else."""

    def pick(self, k: int) -> int:
        """Return a uniform integer in 0..k-1 (k >= 1; k = 1 counts as a call)."""

    def shuffle(self, items: Sequence[T]) -> tuple[T, ...]:
        """Return the items in a new order: Fisher-Yates from the end, on `pick`."""


def length_prefixed(*parts: bytes) -> bytes:
    """Return every part behind its length (u32, big-endian), so that no two part lists share bytes."""
    return b"".join(struct.pack(">I", len(part)) + part for part in parts)


def commitment(server_seed: bytes, match_id: str, rules: str) -> bytes:
    """Return the 32 bytes that bind a server seed before anyone joins; `rules` as in `timos_twist/1`."""
    return hashlib.sha256(
        length_prefixed(b"croupier-rng-1/commit", match_id.encode(), rules.encode(), server_seed)
    ).digest()


def match_key(server_seed: bytes, match_id: str, rules: str, client_seeds: Sequence[bytes]) -> bytes:
    """Return the key of a match; `client_seeds` in seat order of the seats that play."""
    parts = length_prefixed(b"croupier-rng-1/key", match_id.encode(), rules.encode(), *client_seeds)
    return hmac.digest(server_seed, parts, "sha256")


def code_key(code_seed: bytes, rules: str) -> bytes:
    """Return the key of a match dealt from a game code: without match id and client seeds, so it deals again."""
    return hmac.digest(code_seed, length_prefixed(b"croupier-rng-1/code", rules.encode()), "sha256")


def bot_key(key: bytes) -> bytes:
    """Return the key of the computer players' streams; the deck cannot be computed from it."""
    return hmac.digest(key, length_prefixed(b"croupier-rng-1/bots"), "sha256")


@lru_cache(1024)
def _keyed(key: bytes) -> "tuple[hashlib._Hash, hashlib._Hash]":
    """The inner and the outer SHA-256 of HMAC (RFC 2104), each with its key taken in.

    To copy them for each block takes less than half of the time of `hmac.digest`.
    """
    size = hashlib.sha256().block_size
    padded = (hashlib.sha256(key).digest() if len(key) > size else key).ljust(size, b"\0")
    return hashlib.sha256(bytes(byte ^ 0x36 for byte in padded)), hashlib.sha256(bytes(byte ^ 0x5C for byte in padded))


@cache
def _prefix(label: str) -> bytes:
    """What every block of a label begins with, up to the version."""
    return length_prefixed(b"croupier-rng-1/draw", label.encode(), bytes(8))[:-8]


@cache
def _even(k: int) -> int:
    """How many of the 64-bit numbers, from 0, fall evenly on 0..k-1."""
    return _TWO_64 - _TWO_64 % k


class Stream:
    """Chance from a key, for one label and one version."""

    __slots__ = ("_block", "_key", "_label", "_numbers", "_version")

    def __init__(self, key: bytes, label: str, version: int) -> None:
        """Begin at block 0."""
        self._key = key
        self._label = label
        self._version = version
        self._block = 0
        self._numbers: list[int] = []

    def _draw(self) -> None:
        """Add the next block's four numbers, the last one first."""
        inner, outer = _keyed(self._key)
        inner, outer = inner.copy(), outer.copy()
        inner.update(_prefix(self._label) + _VERSION_AND_BLOCK(self._version, self._block))
        outer.update(inner.digest())
        self._numbers += reversed(_FOUR_NUMBERS(outer.digest()))
        self._block += 1

    def u64(self) -> int:
        """Return the next 64 bits of the stream."""
        if not self._numbers:
            self._draw()
        return self._numbers.pop()

    def pick(self, k: int) -> int:
        """Return a uniform integer in 0..k-1, rejecting the uneven rest of the 64-bit range."""
        while (number := self.u64()) >= _even(k):
            pass
        return number % k

    def shuffle(self, items: Sequence[T]) -> tuple[T, ...]:
        """Return the items shuffled: for i = n-1 .. 1 swap item i with item pick(i + 1)."""
        shuffled, pick = list(items), self.pick
        for i in range(len(shuffled) - 1, 0, -1):
            j = pick(i + 1)
            shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
        return tuple(shuffled)
