"""CROUPIER-RNG-1 against its recorded vectors, and the few properties that rules build on."""

import hmac
from collections import Counter

import pytest

from engine.chance import Stream, bot_key, code_key, commitment, length_prefixed, match_key

RULES = "timos_twist/1"
SEED = bytes(range(32))
KEY = match_key(SEED, "m1", RULES, [b"alice", b"bob"])


def test_the_commitment_is_the_recorded_one():
    expected = "d89c3ecf3e6dd27dbde6f06723ec504e1acf31f15361e6e6c82a56a886116ddd"
    assert expected == commitment(SEED, "m1", RULES).hex()


def test_the_match_key_is_the_recorded_one():
    assert KEY.hex() == "152e102cf1e0f8318cba3d43c77a454e785c1530270ac16591b8463abc1bbafb"


def test_the_code_key_is_the_recorded_one():
    expected = "150bfc057ccdc6bdec41a11131aa4e71695fdb8008eae9c39e82cc7c6cf868c9"
    assert expected == code_key(bytes(range(8)), RULES).hex()


def test_the_words_of_a_stream_are_the_recorded_ones_across_the_border_of_a_block():
    stream = Stream(KEY, "game", 0)
    assert [f"{stream.u64():016x}" for _ in range(5)] == [
        "b79d38f18d63be8b",
        "550d5d82da5dbf13",
        "b21eb082a6eafdf4",
        "57fe79d03084f964",
        "3bcce40267aba4f2",
    ]


@pytest.mark.parametrize("length", [0, 1, 32, 63, 64, 65, 200])
def test_a_block_is_the_hmac_of_the_standard_library_whatever_the_length_of_the_key(length):
    key = bytes(range(length))
    parts = length_prefixed(b"croupier-rng-1/draw", b"game", (5).to_bytes(8, "big")) + (0).to_bytes(8, "big")
    stream = Stream(key, "game", 5)
    assert b"".join(stream.u64().to_bytes(8, "big") for _ in range(4)) == hmac.digest(key, parts, "sha256")


def test_the_picks_of_twelve_versions_are_the_recorded_ones():
    assert [Stream(KEY, "game", version).pick(6) for version in range(12)] == [3, 1, 5, 0, 5, 3, 1, 2, 3, 5, 1, 5]


def test_the_shuffled_deck_is_the_recorded_one():
    # fmt: off
    expected = (
        33, 34, 37, 5, 36, 23, 18, 40, 50, 8, 38, 10, 19, 2, 41, 43, 7, 4, 6, 16, 44, 12, 28, 46, 1, 9, 11, 32, 29, 3,
        0, 49, 17, 27, 35, 53, 42, 14, 47, 25, 22, 21, 51, 39, 15, 13, 52, 30, 31, 48, 26, 24, 20, 45,
    )
    # fmt: on
    assert expected == Stream(KEY, "game", 0).shuffle(range(54))


def test_the_picks_of_a_computer_player_are_the_recorded_ones():
    assert [Stream(bot_key(KEY), "bot/1", 7).pick(k) for k in (2, 10, 100)] == [0, 6, 46]


def test_a_pick_of_one_uses_up_a_word():
    """`pick(1)` counts as a call, so that what follows does not depend on how many there were to pick from."""
    one, many = Stream(KEY, "game", 0), Stream(KEY, "game", 0)
    assert one.pick(1) == 0
    many.pick(1000)
    assert one.u64() == many.u64()


def test_a_word_from_the_uneven_rest_is_thrown_away(monkeypatch):
    """Just below 2^64 a modulus would favour small numbers: such words are drawn again, the last good one is not."""
    k = 3 << 62
    stream = Stream(KEY, "game", 0)
    words = iter([(1 << 64) - 1, k, k - 1])
    monkeypatch.setattr(stream.__class__, "u64", lambda _self: next(words))
    assert stream.pick(k) == k - 1


@pytest.mark.parametrize("count", [0, 1])
def test_a_shuffle_of_fewer_than_two_uses_up_nothing(count):
    stream = Stream(KEY, "game", 0)
    assert stream.shuffle(range(count)) == tuple(range(count))
    assert stream.u64() == Stream(KEY, "game", 0).u64()


def test_a_shuffle_keeps_every_copy_and_leaves_its_argument_alone():
    cards = ["a", "a", "b", "c"]
    assert Counter(Stream(KEY, "game", 3).shuffle(cards)) == Counter(cards)
    assert cards == ["a", "a", "b", "c"]


def test_every_order_of_three_comes_up_about_as_often_as_the_others():
    orders = Counter(Stream(KEY, "game", version).shuffle("abc") for version in range(6000))
    assert len(orders) == 6
    assert all(900 < times < 1100 for times in orders.values())


def test_a_stream_depends_on_key_label_and_version():
    streams = [Stream(KEY, "game", 0), Stream(SEED, "game", 0), Stream(KEY, "bot/0", 0), Stream(KEY, "game", 1)]
    assert len({stream.u64() for stream in streams}) == len(streams)


def test_a_match_key_depends_on_every_part_and_on_the_order_of_the_clients():
    keys = {
        KEY,
        match_key(bytes(32), "m1", RULES, [b"alice", b"bob"]),
        match_key(SEED, "m2", RULES, [b"alice", b"bob"]),
        match_key(SEED, "m1", "timos_twist/2", [b"alice", b"bob"]),
        match_key(SEED, "m1", RULES, [b"bob", b"alice"]),
        match_key(SEED, "m1", RULES, [b"alice", b"bob", b""]),
        match_key(SEED, "m1", RULES, [b"alicebob"]),
    }
    assert len(keys) == 7


def test_two_lists_of_parts_never_share_bytes():
    assert length_prefixed(b"ab", b"c") == b"\0\0\0\2ab\0\0\0\1c"
    assert length_prefixed(b"ab", b"c") != length_prefixed(b"a", b"bc")
