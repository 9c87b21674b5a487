"""The projection of a state to the JSON of what everybody, each player, and nobody may see; and its digest."""

import hashlib

from msgspec import Struct


class Projection(Struct, frozen=True):
    """The JSON of table, of every player's own part, and of what is hidden, at one version."""

    table: bytes
    own: tuple[bytes, ...]
    hidden: bytes

    def whole(self) -> bytes:
        """Return the JSON `[table,[own of seat 0,...],hidden]`."""
        return b"[%b,[%b],%b]" % (self.table, b",".join(self.own), self.hidden)


LOBBY = Projection(b"null", (), b"null")


def digest(whole: bytes) -> str:
    """Return BLAKE2b-256 (hex) of a whole projection."""
    return hashlib.blake2b(whole, digest_size=32).hexdigest()
