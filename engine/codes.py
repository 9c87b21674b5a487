"""Game codes: a few letters that people can read out and that deal a match again.

A code carries game, rules version, seats, levels, options and a seed. Its letters are 32 that cannot be taken for each
other (no I, L, O, U); whoever writes I, L or O for 1 or 0 is understood. The last letter is a check: it notices every
single wrong letter and every two neighbours swapped.

The letters are digits of one number in mixed radix. The first three tell the rules, by a hash of their name, so that
games registered from outside have codes too.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from engine import registry
from engine.bots import LEVELS
from engine.options import option_fields
from engine.refusals import BadCode, NoCode

LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
READ_AS = str.maketrans({"I": "1", "L": "1", "O": "0", "-": "", " ": ""})
SEED_BYTES = 5
TAG_LETTERS = 3
GROUP = 4
MAX_LETTERS = 80
OPEN = "open"
KINDS = (OPEN, *LEVELS)
POLICIES = 32
_FIELD = 0b100101  # x^5 + x^2 + 1: the field with 32 elements in which the check is computed


class Dealt(NamedTuple):
    """What a code says; `kinds` is one a seat: `open` or a level. `options` are all of them.

    `policy` is the version of the computer players, so that the same code meets the same ones; 0 without any.
    """

    rules: str
    kinds: tuple[str, ...]
    options: dict[str, Any]
    seed: bytes
    policy: int = 0


def encode(dealt: Dealt) -> str:
    """Return the code, in groups: `7QK-M4T2-9XZA-3CR5`. Raises UnknownGame, BadOptions, BadSeats, NoCode."""
    game = registry.find(dealt.rules)
    if len(dealt.seed) != SEED_BYTES:
        raise NoCode(f"a game code has a seed of {SEED_BYTES} bytes")
    settled = game.options(dealt.options, len(dealt.kinds))
    number = int.from_bytes(dealt.seed, "big")
    if settled == game.options({}, len(dealt.kinds)):
        number = number * 2
    else:
        for field in reversed(option_fields(game.options_type)):
            number = number * len(field.values) + field.values.index(getattr(settled, field.name))
        number = number * 2 + 1
    if dealt.policy not in range(POLICIES) or (dealt.policy == 0) != (set(dealt.kinds) <= {OPEN}):
        raise NoCode(f"a game code cannot name version {dealt.policy} of the computer players for these seats")
    if dealt.policy:
        number = number * POLICIES + dealt.policy
    for kind in reversed(dealt.kinds):
        if kind not in KINDS:
            raise NoCode(f"a game code cannot name the computer level {kind!r}")
        number = number * len(KINDS) + KINDS.index(kind)
    number = number * len(game.seats) + game.seats.index(len(dealt.kinds))
    letters = _tag(dealt.rules)
    while number:
        number, digit = divmod(number, len(LETTERS))
        letters += LETTERS[digit]
    letters += _check(letters)
    rest = letters[TAG_LETTERS:]
    return "-".join([letters[:TAG_LETTERS], *(rest[i : i + GROUP] for i in range(0, len(rest), GROUP))])


def decode(code: str) -> Dealt:
    """Return what a code says. Raises BadCode with the reason: a wrong letter, a mistyped code, an unknown game."""
    if len(code) > MAX_LETTERS * 2:
        raise BadCode("that is too long for a game code")
    letters = code.strip().upper().translate(READ_AS)
    if wrong := next((letter for letter in letters if letter not in LETTERS), None):
        raise BadCode(f"{wrong!r} is no letter of a game code")
    if not TAG_LETTERS + 2 <= len(letters) <= MAX_LETTERS:
        raise BadCode("a game code has more letters, or fewer")
    if _check(letters[:-1]) != letters[-1]:
        raise BadCode("the game code is mistyped: its last letter, the check, does not fit")
    game = next((game for game in registry.games() if _tag(game.rules) == letters[:TAG_LETTERS]), None)
    if game is None:
        raise BadCode("the game code is for a game, or a rules version, that is not dealt here")
    number = 0
    for letter in reversed(letters[TAG_LETTERS:-1]):
        number = number * len(LETTERS) + LETTERS.index(letter)
    dealt = _read(game, number)
    if encode(dealt).replace("-", "") != letters:
        raise BadCode("that is not the one right spelling of a game code")
    return dealt


def _read(game: registry.AnyGame, number: int) -> Dealt:
    number, at = divmod(number, len(game.seats))
    kinds: list[str] = []
    for _ in range(game.seats[at]):
        number, digit = divmod(number, len(KINDS))
        kinds.append(KINDS[digit])
    policy = 0
    if set(kinds) != {OPEN}:
        number, policy = divmod(number, POLICIES)
    number, given = divmod(number, 2)
    options: dict[str, Any] = {}
    if given:
        for field in option_fields(game.options_type):
            number, digit = divmod(number, len(field.values))
            options[field.name] = field.values[digit]
    if number >> (8 * SEED_BYTES):
        raise BadCode("the game code says more than a game code can")
    settled = game.options(options, len(kinds))
    complete = {field.name: getattr(settled, field.name) for field in option_fields(game.options_type)}
    return Dealt(game.rules, tuple(kinds), complete, number.to_bytes(SEED_BYTES, "big"), policy)


def contradiction(dealt: Dealt, rules: str, kinds: Sequence[str], options: Mapping[str, Any]) -> str | None:
    """Return in what a match differs from its code, None if in nothing."""
    if dealt.rules != rules:
        return "rules"
    if dealt.kinds != tuple(kinds):
        return "seats"
    return None if dealt.options == dict(options) else "options"


def _tag(rules: str) -> str:
    number = int.from_bytes(hashlib.sha256(b"croupier/code:" + rules.encode()).digest()[:4], "big")
    return "".join(LETTERS[number >> (5 * i) & 31] for i in range(TAG_LETTERS))


def _check(letters: str) -> str:
    """The letters as a polynomial's coefficients, evaluated at the field's x: no two positions weigh the same."""
    remainder = 0
    for letter in letters:
        remainder = _times_x(remainder) ^ LETTERS.index(letter)
    return LETTERS[_times_x(remainder)]


def _times_x(element: int) -> int:
    doubled = element << 1
    return doubled ^ _FIELD if doubled >= len(LETTERS) else doubled
