import time

import jwt
import pytest

from engine.refusals import Refusal
from services.commands import match_id
from services.settings import SettingsError, load
from services.tokens import BadToken, NotOperator, Operators, SeatClaim, TokenExpired, Tokens, ViewClaim, key_id

KEY = "k" * 32
OTHER = "j" * 32
MATCH = match_id(b"r" * 16, 4)
SEAT = SeatClaim(MATCH, 1, 7, "timos_twist")


def tokens(**changes) -> Tokens:
    return Tokens(**({"key": KEY, "ttl_s": 60, "partitions": 4} | changes))


LASTING = tokens(ttl_s=3600)
"""What writes tokens long before the test that shows them."""


def written(algorithm: str = "HS256", key: str = KEY, drop: str = "", kid: str = "", **changes) -> str:
    """A token as the service writes them, but for the changes."""
    now = int(time.time())
    claims = {
        "role": "seat", "match": MATCH, "seat": 1, "tenure": 7, "game": "timos_twist",
        "aud": "croupier/play", "iat": now, "exp": now + 3600,  # some are written long before their test runs
    } | changes  # fmt: skip
    claims.pop(drop, None)
    return jwt.encode(claims, key, algorithm, {} if drop == "kid" else {"kid": key_id(kid or key)})


def reason(read, token: str) -> str:
    with pytest.raises(Refusal) as caught:
        read(token)
    return caught.value.reason


def test_a_token_says_what_it_was_given_out_for():
    assert tokens().seat(tokens().for_seat(SEAT)) == SEAT
    assert tokens().view(tokens().for_seat(SEAT))[:3] == (MATCH, 1, 7)
    assert tokens().view(tokens().for_table(MATCH))[:3] == (MATCH, None, None)
    assert tokens().host(tokens().for_host(MATCH)) == MATCH


def test_the_handwritten_token_of_these_tests_is_a_good_one():
    assert tokens().seat(written()) == SEAT


def test_a_token_opens_nothing_but_its_role():
    given = tokens()
    assert reason(given.seat, given.for_table(MATCH)) == "NOT_YOUR_SEAT"
    assert reason(given.seat, given.for_host(MATCH)) == "NOT_YOUR_SEAT"
    assert reason(given.view, given.for_host(MATCH)) == "NOT_YOUR_SEAT"
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
        written(key="o" * 32, kid=KEY),
        written(kid=OTHER),
        written(drop="kid"),
        jwt.encode({}, KEY, "HS256", {"kid": "x" * 900}),
        written(algorithm="HS384", key=KEY * 2),
        written(algorithm="HS512", key=KEY * 2),
        jwt.encode({"role": "host", "match": MATCH}, "", "none", {"kid": key_id(KEY)}),
        written(aud="another"),
        written(aud="croupier/host"),
        written(aud="croupier/operator"),
        written(aud=["croupier/play", "another"]),
        written(aud=["croupier/play"]),
        written(role="host"),
        written(role="operator", aud="croupier/operator"),
        written(exp="soon"),
        *(written(drop=claim) for claim in ("aud", "exp", "iat", "role", "match", "seat", "tenure", "game")),
        written(role="operator"),
        written(role=["seat"]),
        written(role=None),
        written(match="../moves"),
        written(match=match_id(b"r" * 16, 4)[:-1]),
        written(match="004" + MATCH[3:]),
        written(match=3),
        written(seat=True),
        written(seat="1"),
        written(seat=-1),
        written(tenure=None),
        written(tenure=-1),
        written(tenure=1.0),
        written(game=None),
    ],
)
def test_any_other_text_is_a_bad_token(token: str):
    assert reason(tokens().seat, token) == "BAD_TOKEN"


def test_a_call_without_a_token_is_told_that_it_has_none():
    with pytest.raises(BadToken, match="missing"):
        tokens().seat("")


def test_a_token_given_out_in_the_future_is_a_bad_token():
    assert reason(tokens().seat, written(iat=int(time.time()) + 300)) == "BAD_TOKEN"


def test_a_token_holds_for_its_time_and_not_longer():
    """And then says that it was good: its holder may have another one."""
    past = Tokens(KEY, -31, 4).for_seat(SEAT)
    assert reason(tokens().seat, past) == "TOKEN_EXPIRED"
    assert reason(tokens(key="o" * 32).seat, past) == "BAD_TOKEN", "that a forged one has expired is not told"
    assert Tokens(KEY, 1, 4).seat(Tokens(KEY, 1, 4).for_seat(SEAT)) == SEAT


def test_a_token_that_was_good_before_expires_all_the_same(monkeypatch):
    given = tokens()
    token = given.for_seat(SEAT)
    assert given.seat(token) == given.seat(token) == SEAT
    expires = given.view(token).expires
    monkeypatch.setattr(time, "time", lambda: expires + 29)
    assert given.seat(token) == SEAT, "the clocks of two services may be so far apart"
    monkeypatch.setattr(time, "time", lambda: expires + 30)
    assert {reason(read, token) for read in (given.seat, given.view, given.host)} == {"TOKEN_EXPIRED"}


def test_a_token_that_was_good_before_opens_nothing_but_its_role():
    given = tokens()
    seat, host = given.for_seat(SEAT), given.for_host(MATCH)
    assert (given.seat(seat), given.host(host)) == (SEAT, MATCH)
    assert (reason(given.host, seat), reason(given.seat, host)) == ("NOT_HOST", "NOT_YOUR_SEAT")
    for forged in (seat[:-2] + "AA", seat + "A", host.rpartition(".")[0] + "." + seat.rpartition(".")[2]):
        assert reason(given.seat, forged) == "BAD_TOKEN"


def test_a_token_is_verified_once(monkeypatch):
    """Verifying takes longer than all else that a match service does for a move."""
    given, verified = tokens(), []
    decode = jwt.decode
    monkeypatch.setattr(jwt, "decode", lambda *args, **kwargs: verified.append(args) or decode(*args, **kwargs))
    seats = [SeatClaim(MATCH, number, 7, "timos_twist") for number in range(3)]
    read = [given.for_seat(seat) for seat in seats] * 4
    assert [given.seat(token) for token in read] == seats * 4
    assert len(verified) == len(seats)
    for _ in range(2):
        assert reason(given.seat, "x" + read[0]) == "BAD_TOKEN", "what was refused is not remembered"


def test_a_view_is_open_until_its_token_expires():
    before = int(time.time())
    view = tokens().view(tokens().for_seat(SEAT))
    assert view == ViewClaim(MATCH, 1, 7, view.expires)
    assert before + 60 <= view.expires <= time.time() + 60


def test_keys_are_changed_in_three_steps_and_at_each_all_tokens_are_good():
    """Both accept the new one; both sign with it; the old one goes once its tokens have expired."""
    old, both, turned, new = tokens(), tokens(other_key=OTHER), tokens(key=OTHER, other_key=KEY), tokens(key=OTHER)
    for signing, accepting in ((old, both), (both, old), (both, turned), (turned, both), (turned, new), (new, turned)):
        assert accepting.seat(signing.for_seat(SEAT)) == SEAT
    assert reason(new.seat, old.for_seat(SEAT)) == "BAD_TOKEN"
    assert reason(old.seat, new.for_seat(SEAT)) == "BAD_TOKEN"


def test_a_token_names_its_key_and_tells_nothing_of_it():
    header = jwt.get_unverified_header(tokens().for_host(MATCH))
    assert header == {"alg": "HS256", "typ": "JWT", "kid": key_id(KEY)}
    assert KEY not in key_id(KEY)


def test_keys_and_times_come_from_the_settings():
    settings = load(partitions=4, token_key=OTHER, token_key_other=KEY)
    assert Tokens.of(settings).seat(tokens().for_seat(SEAT)) == SEAT
    with pytest.raises(SettingsError, match="CROUPIER_TOKEN_KEY"):
        Tokens.of(load(partitions=4))


# --- operators -----------------------------------------------------------------------------------------------------


def test_an_operator_shows_one_of_the_keys_or_a_token_of_one():
    operators = Operators(KEY, OTHER)
    for credential in (KEY, OTHER, Operators(KEY).token(60), Operators(OTHER).token(60)):
        operators.admit(credential)


def test_an_operators_token_holds_for_its_time():
    with pytest.raises(TokenExpired):
        Operators(KEY).admit(Operators(KEY).token(-31))


@pytest.mark.parametrize(
    "credential",
    ["", "None", KEY[:-1], KEY + "k", "\ud800", "a.b.c", LASTING.for_host(MATCH), LASTING.for_seat(SEAT), written(),
     Operators(OTHER).token(3600)],
)  # fmt: skip
def test_nobody_else_is_an_operator(credential: str):
    """Not even with a good token of another role that is signed with the very same key."""
    with pytest.raises(NotOperator):
        Operators(KEY).admit(credential)


@pytest.mark.parametrize("credential", ["", "None", KEY, Operators(KEY).token(3600)])
def test_without_a_key_nobody_is_an_operator(credential: str):
    assert not Operators(None)
    with pytest.raises(NotOperator):
        Operators(None).admit(credential)


def test_an_operators_token_opens_nothing_else():
    """Also if somebody has set both keys to the same."""
    given = Operators(KEY).token(60)
    assert {reason(read, given) for read in (tokens().seat, tokens().view, tokens().host)} == {"BAD_TOKEN"}


def test_the_command_line_makes_an_operators_token(monkeypatch, tmp_path):
    """With the key of the settings, else with that of a stack's folder; and says so if there is none."""
    from typer.testing import CliRunner

    from services.cli import app

    monkeypatch.setenv("CROUPIER_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("CROUPIER_OPERATOR_KEY", raising=False)
    none = CliRunner().invoke(app, ["operator-token"])
    assert (none.exit_code, none.stdout) == (2, "")
    (tmp_path / "operator_key.secret").write_text(OTHER + "\n")
    Operators(OTHER).admit(CliRunner().invoke(app, ["operator-token"]).stdout.strip())
    monkeypatch.setenv("CROUPIER_OPERATOR_KEY", KEY)
    Operators(KEY).admit(CliRunner().invoke(app, ["operator-token", "--hours", "1"]).stdout.strip())
