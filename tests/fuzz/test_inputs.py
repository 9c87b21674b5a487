"""Bytes from outside, damaged or made up: each reader refuses in its own words, and soon."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import TARGETS, examples

QUICK = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None)
JUNK = (
    b"\x00",
    b"\xff\xfe",
    b"\\u0000",
    b"null",
    b"-1",
    b"9" * 400,
    b"[" * 3000,
    b'{"a":' * 3000,
    b'"',
    b"}",
    b",",
    b"\n",
)


@st.composite
def damaged(draw: st.DrawFn, good: tuple[bytes, ...]) -> bytes:
    """A good input with a few cuts, repeats and insertions."""
    data = draw(st.sampled_from(good))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 40))
        match draw(st.integers(0, 3)):
            case 0:
                data = data[:start] + data[start + length :]
            case 1:
                data = data[:start] + draw(st.sampled_from(JUNK)) + data[start + length :]
            case 2:
                data = data[:start] + data[start : start + length] * 2 + data[start + length :]
            case _:
                data = data[:start] + draw(st.binary(max_size=6)) + data[start + 1 :]
    return data


@pytest.mark.parametrize("name", TARGETS)
def test_anything_is_read_or_refused(name: str) -> None:
    @QUICK
    @given(st.one_of(damaged(examples(name)), damaged(examples(name)), st.binary(max_size=300)))
    def check(data: bytes) -> None:
        TARGETS[name](data)

    check()


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize(
    "junk", [b"[" * 200_000, b'{"a":' * 100_000, b"9" * 300_000, b"A-" * 100_000, b"\x91" * 200_000]
)
def test_what_is_deep_or_long_is_refused_too(name: str, junk: bytes) -> None:
    """Depth is no way to the end of the stack, and length none to quadratic time."""
    TARGETS[name](junk)


@pytest.mark.parametrize("name", TARGETS)
def test_the_examples_are_good_ones(name: str) -> None:
    for data in examples(name):
        TARGETS[name](data)
