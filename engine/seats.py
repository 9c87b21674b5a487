"""Seats: who may sit there, who does since when, and whether he is there to decide."""

import unicodedata
from typing import NamedTuple

from msgspec import Struct

MAX_NAME = 32
MAX_CLIENT_SEED = 64
TIMEOUTS_UNTIL_ABSENT = 2
OPEN = "open"
HUMAN = "human"


class Seat(Struct, frozen=True):
    """A seat: `open`, `human` or a computer level; while taken its tenure is the version at which its holder joined."""

    kind: str
    name: str = ""
    tenure: int | None = None
    client_seed: bytes = b""
    left: bool = False
    timeouts: int = 0
    """Answers in a row that the clock has given."""

    @property
    def absent(self) -> bool:
        """Whether decisions of this seat are due at once."""
        return self.left or self.timeouts >= TIMEOUTS_UNTIL_ABSENT


class Tenure(NamedTuple):
    """What a join request got."""

    seat: int
    tenure: int


def bad_join(name: str, client_seed: bytes) -> tuple[str, str] | None:
    """Return the field of a join that has the wrong form, and what is wrong.

    Whether a name is in NFC is left to the services: the answer depends on the version of Unicode, and a journal has to
    verify under every later one.
    """
    if len(name) > MAX_NAME or any(unicodedata.category(letter) == "Cc" for letter in name):
        return "name", f"a name has at most {MAX_NAME} characters and no control characters"
    if len(client_seed) > MAX_CLIENT_SEED:
        return "client_seed", f"a client seed has at most {MAX_CLIENT_SEED} bytes"
    return None
