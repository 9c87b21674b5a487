"""The server seed at rest: what Redis holds of a running match tells nothing to who has not the key."""

from collections import Counter

import pytest
from pydantic import SecretStr

from services.sealing import KEY_ID, NONCE, TAG, Sealer, SealError
from services.settings import SettingsError, load
from tests.services.front import SEED_KEY, in_loop, intake, peek

KEY, OTHER = bytes(range(32)), bytes(range(32, 64))
MATCH, ANOTHER = "000" + "a" * 22, "000" + "b" * 22
SEED = b"s" * 32


def test_what_was_sealed_opens_and_does_not_show():
    sealed = Sealer(KEY).seal(MATCH, SEED)
    assert Sealer(KEY).open(MATCH, sealed) == SEED
    assert len(sealed) == KEY_ID + NONCE + len(SEED) + TAG
    assert SEED[:4] not in sealed
    assert KEY[:4] not in sealed


def test_the_same_seed_sealed_twice_looks_different():
    assert Sealer(KEY).seal(MATCH, SEED) != Sealer(KEY).seal(MATCH, SEED)


def test_a_seal_holds_for_one_match():
    """Who can write to Redis cannot put the seed of a match that he plays in the place of another's."""
    sealed = Sealer(KEY).seal(MATCH, SEED)
    with pytest.raises(SealError, match="not what was sealed"):
        Sealer(KEY).open(ANOTHER, sealed)


@pytest.mark.parametrize("place", range(KEY_ID, KEY_ID + NONCE + len(SEED) + TAG))
def test_no_bit_can_be_changed(place: int):
    sealed = bytearray(Sealer(KEY).seal(MATCH, SEED))
    sealed[place] ^= 1
    with pytest.raises(SealError):
        Sealer(KEY).open(MATCH, bytes(sealed))


@pytest.mark.parametrize("length", range(KEY_ID + NONCE + len(SEED) + TAG))
def test_what_was_cut_off_does_not_open(length: int):
    with pytest.raises(SealError):
        Sealer(KEY).open(MATCH, Sealer(KEY).seal(MATCH, SEED)[:length])


def test_another_key_is_named_by_its_id_and_not_shown():
    sealed = Sealer(OTHER).seal(MATCH, SEED)
    with pytest.raises(SealError) as caught:
        Sealer(KEY).open(MATCH, sealed)
    said = str(caught.value)
    assert sealed[:KEY_ID].hex() in said
    assert not any(secret.hex()[:8] in said for secret in (KEY, OTHER, SEED))


def test_keys_are_changed_while_both_open():
    old, new = Sealer(KEY), Sealer(OTHER)
    for sealing, opening in (
        (old, Sealer(KEY, OTHER)),
        (Sealer(OTHER, KEY), Sealer(KEY, OTHER)),
        (new, Sealer(OTHER, KEY)),
    ):
        assert opening.open(MATCH, sealing.seal(MATCH, SEED)) == SEED
    with pytest.raises(SealError):
        old.open(MATCH, Sealer(OTHER, KEY).seal(MATCH, SEED))


def test_keys_come_from_the_settings():
    settings = load(seed_key=OTHER.hex(), seed_key_other=KEY.hex())
    assert Sealer.of(settings).open(MATCH, Sealer(KEY).seal(MATCH, SEED)) == SEED
    assert Sealer(OTHER).open(MATCH, Sealer.of(settings).seal(MATCH, SEED)) == SEED
    with pytest.raises(SettingsError, match="CROUPIER_SEED_KEY"):
        Sealer.of(load())


# --- in Redis ------------------------------------------------------------------------------------------------------


@in_loop
async def test_redis_never_holds_the_seed_of_a_running_match(redis_url, nats_url):
    """Neither as it is nor in hex, in any key; and at the end it is in the journal, with nothing left beside it."""
    async with intake(redis_url, nats_url) as front:
        await front.owner()
        seats = await front.match(rules="bluffing_billionaires/1", games=1)
        seed = (await front.folded(seats[0].match)).seed
        assert seed is not None
        assert seed not in await everything(front)
        assert seed.hex().encode() not in await everything(front)
        while (await front.folded(seats[0].match)).status == "running":
            await front.play(seats, 1)
        assert seed.hex().encode() in await everything(front)
        assert (await front.recorded(seats[0].match)).seed is None


async def everything(front) -> bytes:
    found = []
    for keys in await front.store._servers.exchange.each(("KEYS", "*")):
        for key in map(bytes.decode, keys):
            reading = {
                b"stream": ("XRANGE", key, "-", "+"),
                b"hash": ("HGETALL", key),
                b"zset": ("ZRANGE", key, 0, -1),
                b"string": ("GET", key),
            }[await peek(front.store, "TYPE", key)]
            found += flat(await peek(front.store, *reading))
    return b"\n".join(found)


def flat(value) -> list[bytes]:
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return [part for one in value for part in flat(one)]
    return [value if isinstance(value, bytes) else str(value).encode()]


@in_loop
async def test_it_is_sealed_once_a_match_and_opened_once_a_cold_fold(redis_url, nats_url, monkeypatch):
    """And never for a move, so secrecy at rest costs a running match nothing."""
    calls = Counter()

    def counted(method):
        def call(*args):
            calls[method.__name__] += 1
            return method(*args)

        return call

    for method in (Sealer.seal, Sealer.open):
        monkeypatch.setattr(Sealer, method.__name__, counted(method))
    async with intake(redis_url, nats_url) as front:
        running = await front.owner()
        seats = await front.match()
        played = [await front.next_move(seats)]
        calls.clear()
        for _ in range(3):
            await front.done(played[-1][1])
            await front.view(seats[0].question())
            assert calls == {}
            played.append(await front.next_move(seats))
            calls.clear()  # the test itself looks into the journal
        running.worker._matches.clear()
        await front.done(played[-1][1])
        assert calls == {"open": 1}
        calls.clear()
        await front.lobby()
        assert calls == {"seal": 1}


@in_loop
async def test_a_match_goes_on_under_a_new_key_while_the_old_one_opens(redis_url, nats_url):
    async with intake(redis_url, nats_url) as front:
        old = await front.owner()
        seats = await front.match()
        await old.stop()
        await front.owner(seed_key=SecretStr("0" * 64), seed_key_other=SecretStr(SEED_KEY))
        await front.play(seats, 3)


@in_loop
async def test_under_a_foreign_key_a_match_is_refused_and_unharmed(redis_url, nats_url):
    """A wrong key is a mistake that can be mended: nothing is lost by it."""
    async with intake(redis_url, nats_url) as front:
        first = await front.owner()
        seats = await front.match()
        _, move = await front.next_move(seats)
        await first.stop()
        wrong = await front.owner(seed_key=SecretStr("0" * 64))
        assert await front.refused(move) == "NO_OWNER", "which a client tries again"
        assert wrong.count("matches_not_opened_total", reason="seed_key") >= 1
        assert wrong.count("replay_mismatches_total") == 0, "there is nothing wrong with the journal"
        await wrong.stop()
        await front.owner()
        await front.done(move)
