import time

import jwt
import pytest

from services.commands import match_id
from services.match.refused import Refused
from services.match.tokens import SeatClaim, Tokens

KEY = "k" * 32
MATCH = match_id(b"r" * 16, 4)
SEAT = SeatClaim(MATCH, 1, 7, "timos_twist")


def tokens(**changes) -> Tokens:
    return Tokens(**({"key": KEY, "ttl_s": 60, "partitions": 4} | changes))


def written(algorithm: str = "HS256", key: str = KEY, drop: str = "", **changes) -> str:
    """A token as the service writes them, but for the changes."""
    now = int(time.time())
    claims = {
        "role": "seat", "match": MATCH, "seat": 1, "tenure": 7, "game": "timos_twist",
        "aud": "croupier", "iat": now, "exp": now + 60,
    } | changes  # fmt: skip
    claims.pop(drop, None)
    return jwt.encode(claims, key, algorithm)


def reason(read, token: str) -> str:
    with pytest.raises(Refused) as caught:
        read(token)
    return caught.value.reason


def test_a_token_says_what_it_was_given_out_for():
    assert tokens().seat(tokens().for_seat(SEAT)) == SEAT
    assert tokens().viewer(tokens().for_seat(SEAT)) == (MATCH, 1, 7)
    assert tokens().viewer(tokens().for_table(MATCH)) == (MATCH, None, None)
    assert tokens().host(tokens().for_host(MATCH)) == MATCH


def test_the_handwritten_token_of_these_tests_is_a_good_one():
    assert tokens().seat(written()) == SEAT


def test_a_token_opens_nothing_but_its_role():
    given = tokens()
    assert reason(given.seat, given.for_table(MATCH)) == "NOT_YOUR_SEAT"
    assert reason(given.seat, given.for_host(MATCH)) == "NOT_YOUR_SEAT"
    assert reason(given.viewer, given.for_host(MATCH)) == "NOT_YOUR_SEAT"
    assert reason(given.host, given.for_seat(SEAT)) == "NOT_HOST"
    assert reason(given.host, given.for_table(MATCH)) == "NOT_HOST"


@pytest.mark.parametrize(
    "token",
    [
        "",
        "nonsense",
        "a.b.c",
        "é" * 10,
        "\ud800",
        "x" * 100_000,
        written(key="o" * 32),
        written(algorithm="HS384", key=KEY * 2),
        written(algorithm="HS512", key=KEY * 2),
        jwt.encode({"role": "host", "match": MATCH}, "", "none"),
        written(aud="another"),
        written(aud=["croupier", "another"]),
        written(exp=int(time.time()) - 300),
        written(iat=int(time.time()) + 300),
        written(exp="soon"),
        *(written(drop=claim) for claim in ("aud", "exp", "iat", "role", "match", "seat", "tenure", "game")),
        written(role="operator"),
        written(role=["seat"]),
        written(match="../moves"),
        written(match=match_id(b"r" * 16, 4)[:-1]),
        written(match="004" + MATCH[3:]),
        written(match=3),
        written(seat=True),
        written(seat="1"),
        written(seat=-1),
        written(tenure=None),
        written(tenure=1.0),
        written(game=None),
    ],
)
def test_any_other_text_is_a_bad_token(token: str):
    assert reason(tokens().seat, token) == "BAD_TOKEN"


def test_a_token_holds_for_its_time_and_not_longer():
    past = Tokens(KEY, -31, 4).for_seat(SEAT)
    assert reason(tokens().seat, past) == "BAD_TOKEN"
    assert Tokens(KEY, 1, 4).seat(Tokens(KEY, 1, 4).for_seat(SEAT)) == SEAT
