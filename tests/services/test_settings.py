from pathlib import Path

import pydantic
import pytest

from services.settings import Durability, Settings, SettingsError, load, settings_table

KEY = "k" * 32
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch):
    for name in Settings.model_fields:
        monkeypatch.delenv(f"CROUPIER_{name.upper()}", raising=False)


def test_without_variables_the_defaults_hold_and_open_nothing_to_the_network():
    settings = load()
    assert settings.partitions == 64
    assert settings.durability == Durability("everysec")
    assert (settings.grpc_host, settings.metrics_host) == ("127.0.0.1", "127.0.0.1")
    assert (settings.metrics_port, settings.token_key, settings.operator_key, settings.signing_key) == (None,) * 4


def test_variables_are_read(monkeypatch):
    monkeypatch.setenv("CROUPIER_PARTITIONS", "128")
    monkeypatch.setenv("CROUPIER_DURABILITY", "replicas:2")
    monkeypatch.setenv("CROUPIER_TOKEN_KEY", KEY)
    monkeypatch.setenv("CROUPIER_METRICS_PORT", "0")
    settings = load(require=["token_key"])
    assert settings.partitions == 128
    assert settings.durability == Durability("replicas", 2)
    assert settings.token_key.get_secret_value() == KEY
    assert settings.metrics_port == 0


def test_what_is_given_by_name_wins_over_the_environment(monkeypatch):
    monkeypatch.setenv("CROUPIER_BATCH", "7")
    assert load(batch=8).batch == 8


def test_a_variable_set_to_nothing_is_not_set(monkeypatch):
    monkeypatch.setenv("CROUPIER_TOKEN_KEY", "")
    monkeypatch.setenv("CROUPIER_BATCH", "")
    assert load() == load(token_key=None, batch=256)


def test_settings_do_not_change():
    with pytest.raises(pydantic.ValidationError, match="frozen"):
        load().batch = 1


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("partitions", "1001", "input should be less than or equal to 1000; allowed: 1 to 1000"),
        ("block_ms", "2001", "input should be less than or equal to 2000; allowed: 1 to 2000"),
        ("batch", "many", "input should be a valid integer, unable to parse string as an integer; allowed: 1 to 4096"),
        ("metrics_port", "70000", "input should be less than or equal to 65535; allowed: 0 to 65535"),
        ("log_format", "xml", "input should be 'console' or 'json'; allowed: `console`, `json`"),
        (
            "durability",
            "replicas:0",
            "names no durability; allowed: `memory`, `everysec`, `fsync` or `replicas:1` to `replicas:99`",
        ),
        ("redis_url", "localhost:6379", "is not such a URL; allowed: `redis://`, `rediss://` (TLS) or `unix://` URL"),
        ("nats_url", "nats://", "is not such a URL; allowed: `nats://` or `tls://` URL"),
        ("token_key", "k" * 31, "does not have that form; allowed: 32 or more characters"),
        ("signing_key", "F" * 64, "does not have that form; allowed: 64 digits `0-9a-f`"),
        ("lease_ms", "199", "input should be greater than or equal to 200; allowed: 200 to 60000"),
        ("max_clock_ms", "172800000", "is too long; allowed: less than CROUPIER_IDLE_LIMIT_S"),
        ("receipt_query_ms", "5000", "is too long; allowed: less than CROUPIER_DEADLINE_MS"),
        ("min_clock_ms", "86400001", "is too long; allowed: at most CROUPIER_MAX_CLOCK_MS"),
        (
            "default_clock_ms",
            "999",
            "is out of range; allowed: from CROUPIER_MIN_CLOCK_MS to CROUPIER_MAX_CLOCK_MS",
        ),
    ],
)
def test_a_wrong_value_is_one_line_with_the_variable_what_is_wrong_and_what_is_allowed(
    monkeypatch, name, value, message
):
    monkeypatch.setenv(f"CROUPIER_{name.upper()}", value)
    with pytest.raises(SettingsError) as caught:
        load()
    assert str(caught.value) == f"CROUPIER_{name.upper()}: {message}"


def test_a_read_of_the_intake_ends_before_a_lease_does(monkeypatch):
    monkeypatch.setenv("CROUPIER_LEASE_MS", "500")
    with pytest.raises(SettingsError, match="CROUPIER_BLOCK_MS: is too long; allowed: less than CROUPIER_LEASE_MS"):
        load()


def test_every_problem_has_its_line(monkeypatch):
    monkeypatch.setenv("CROUPIER_BATCH", "0")
    with pytest.raises(SettingsError) as caught:
        load(no_such=1, lease_ms=1)
    assert [line.split(":")[0] for line in str(caught.value).splitlines()] == [
        "CROUPIER_LEASE_MS",
        "CROUPIER_BATCH",
        "CROUPIER_NO_SUCH",
    ]


def test_what_a_service_requires_has_to_be_set():
    with pytest.raises(SettingsError) as caught:
        load(require=["token_key"])
    assert str(caught.value) == "CROUPIER_TOKEN_KEY: is not set; allowed: 32 or more characters"


def test_secrets_are_in_no_representation():
    seed = "0123456789abcdef" * 4
    settings = load(
        token_key=KEY,
        operator_key="o" * 32,
        signing_key=seed,
        redis_password="redis-password",
        nats_user="user",
        nats_password="nats-password",
        nats_issuer_seed="SA" + "A" * 56,
        nats_curve_seed="SX" + "A" * 56,
    )
    for text in (repr(settings), str(settings)):
        assert not any(secret in text for secret in (KEY, "o" * 32, seed, "redis-password", "nats-password", "A" * 56))


@pytest.mark.parametrize("name", ["redis_url", "nats_url"])
@pytest.mark.parametrize("user", ["hunter2", "user:hunter2", ":hunter2"])
def test_nothing_secret_is_in_a_url(name, user):
    """An error would show it, a list of processes, a log; the settings for user and password are named instead."""
    with pytest.raises(SettingsError, match="settings of their own") as caught:
        load(**{name: f"{name.removesuffix('_url')}://{user}@somewhere"})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [{"nats_user": "a"}, {"nats_password": "a"}, {"nats_user": "a", "nats_password": "b", "nats_seed": "S" * 58}],
)
def test_who_connects_to_nats_is_a_user_with_his_password_or_an_nkey(given):
    with pytest.raises(SettingsError, match="CROUPIER_NATS_"):
        load(**given)


@pytest.mark.parametrize("name", ["token_key", "signing_key", "redis_url", "nats_url"])
def test_a_refused_secret_is_not_in_the_error(monkeypatch, name):
    monkeypatch.setenv(f"CROUPIER_{name.upper()}", "hunter2")
    with pytest.raises(SettingsError) as caught:
        load()
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
    with pytest.raises(pydantic.ValidationError) as unnamed:
        Settings()
    assert "hunter2" not in str(unnamed.value)


@pytest.mark.parametrize("text", ["memory", "everysec", "fsync", "replicas:1", "replicas:99"])
def test_a_durability_is_what_its_text_says(text):
    assert str(Durability.parse(text)) == text


@pytest.mark.parametrize("text", ["", "disk", "replicas", "replicas:", "replicas:0", "replicas:100", "replicas:-1"])
def test_no_other_text_is_a_durability(text):
    with pytest.raises(ValueError, match="names no durability"):
        Durability.parse(text)


def test_every_setting_says_what_it_means_and_what_it_may_be():
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in settings_table().splitlines()[2:]]
    assert [row[0] for row in rows] == [f"`CROUPIER_{name.upper()}`" for name in Settings.model_fields]
    for variable, _default, unit, allowed, meaning in rows:
        assert meaning.endswith("."), variable
        assert allowed, variable
        if (suffix := variable.strip("`").rpartition("_")[2]) in {"MS", "S", "BYTES"}:
            assert unit == suffix.lower(), variable


def test_the_documented_table_is_the_present_one():
    """Should it fail: put what `python -m services.settings` prints into docs/settings.md."""
    assert settings_table() in (REPOSITORY / "docs" / "settings.md").read_text()
