"""What an operator may set: one frozen `Settings`, read from `CROUPIER_…` environment variables.

`python -m services.settings` prints the table of `docs/settings.md`.
"""

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args, get_origin

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

PREFIX = "CROUPIER_"


class SettingsError(ValueError):
    """Settings that no service may start with; one line a problem, and no secret in any of them."""


@dataclass(frozen=True)
class Durability:
    """What must have happened to a commit before it is published.

    `memory`: the server has applied it. `everysec`: the same, on a server that syncs its append-only file each second.
    `fsync`: its append-only file is on disk. `replicas`: `replicas` many replicas have it; 0 in every other mode.
    """

    mode: Literal["memory", "everysec", "fsync", "replicas"]
    replicas: int = 0

    @classmethod
    def parse(cls, text: str | Self) -> Self:
        """Return the durability that `str` of it gave.

        Raises:
            ValueError: `text` names none.
        """
        if isinstance(text, cls):
            return text
        match text:
            case "memory" | "everysec" | "fsync":
                return cls(text)
        if replicas := re.fullmatch(r"replicas:([1-9]\d?)", str(text)):
            return cls("replicas", int(replicas[1]))
        raise ValueError("names no durability")

    def __str__(self) -> str:
        return f"replicas:{self.replicas}" if self.mode == "replicas" else self.mode


def _one_of_schemes(*schemes: str) -> AfterValidator:
    def check(urls: str) -> str:
        for url in urls.split(","):
            scheme, _, rest = url.partition("://")
            if scheme not in schemes or not rest:
                raise ValueError("is not such a URL")
            if "@" in url:
                raise ValueError("holds a user or a password, which have settings of their own")
        return urls

    return AfterValidator(check)


def _secret_matching(pattern: str) -> AfterValidator:
    def check(secret: SecretStr) -> SecretStr:
        if not re.fullmatch(pattern, secret.get_secret_value(), re.DOTALL):
            raise ValueError("does not have that form")
        return secret

    return AfterValidator(check)


RedisUrl = Annotated[str, _one_of_schemes("redis", "rediss", "unix")]
NatsUrl = Annotated[str, _one_of_schemes("nats", "tls")]
NkeySeed = Annotated[SecretStr, _secret_matching(r"S[A-Z2-7]{57}")]
LongSecret = Annotated[SecretStr, _secret_matching(r".{32,}")]
Hex32 = Annotated[SecretStr, _secret_matching(r"[0-9a-f]{64}")]
"""32 bytes."""
Port = Annotated[int, Field(ge=0, le=65535)]
DurabilityText = Annotated[Durability, NoDecode, BeforeValidator(Durability.parse), PlainSerializer(str)]


def _setting(default: Any, meaning: str, *, unit: str = "", allowed: str = "", **constraints: Any) -> Any:
    """Declare a field; `allowed` is for what its constraints (`ge`, `le`, a `Literal`) do not tell."""
    return Field(default, description=meaning, json_schema_extra={"unit": unit, "allowed": allowed}, **constraints)


class Settings(BaseSettings):
    """All settings of all services. Build it with `load`, which names the variable in its errors; tests may call it."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        frozen=True,
        extra="forbid",
        env_ignore_empty=True,
        hide_input_in_errors=True,
        allow_inf_nan=False,
    )

    redis_url: RedisUrl = _setting(
        "redis://127.0.0.1:6379/0",
        "Where Redis or Valkey is; of a cluster some nodes, separated by commas, of which one has to answer.",
        allowed="`redis://`, `rediss://` (TLS) or `unix://` URL",
    )
    redis_user: str | None = _setting(None, "The user as whom a service connects to Redis.", min_length=1)
    redis_password: SecretStr | None = _setting(None, "That user's, or Redis' one, password.")
    redis_tls_ca: Path | None = _setting(
        None, "File of the CA that signed Redis' certificate (PEM), for `rediss://`; unset: those of the system."
    )
    redis_cluster: bool = _setting(default=False, meaning="Whether `redis_url` names nodes of a Redis Cluster.")
    nats_url: NatsUrl = _setting(
        "nats://127.0.0.1:4222",
        "Where NATS is; several servers are separated by commas.",
        allowed="`nats://` or `tls://` URL",
    )
    nats_user: str | None = _setting(None, "The user as whom a service connects to NATS.", min_length=1)
    nats_password: SecretStr | None = _setting(None, "That user's password.")
    nats_seed: NkeySeed | None = _setting(
        None, "Seed of the nkey with which a service connects to NATS, instead of user and password.",
        allowed="an nkey seed of a user, `SU…`",
    )  # fmt: skip
    partitions: int = _setting(
        64,
        "Partitions of the match space. It may grow for new matches, never shrink: Redis remembers it.",
        ge=1,
        le=1000,
    )
    lease_ms: int = _setting(
        3000,
        "How long a worker owns a partition without renewing it: the pause after a crash.",
        unit="ms",
        ge=200,
        le=60_000,
    )
    block_ms: int = _setting(
        500, "How long a read of the intake waits for the first command.", unit="ms", ge=1, le=2000
    )
    batch: int = _setting(256, "Most commands taken from the intake in one read.", unit="commands", ge=1, le=4096)
    intake_limit: int = _setting(
        10_000,
        "Commands waiting in a partition above which new ones get RESOURCE_EXHAUSTED.",
        unit="commands",
        ge=1,
        le=1_000_000,
    )
    cached_matches: int = _setting(
        4096, "Running matches that a worker keeps in memory; others are replayed when asked for.",
        unit="matches", ge=1, le=1_000_000,
    )  # fmt: skip
    thinking_ms: int = _setting(
        800, "How long a computer player waits before it moves, in matches that do not say.", unit="ms", ge=0, le=60_000
    )
    bot_processes: int = _setting(
        1, "Processes of a worker that decide for computer players.", unit="processes", ge=1, le=64
    )
    durability: DurabilityText = _setting(
        Durability("everysec"),
        "What must have happened to a commit before players hear of it. `fsync` needs Redis 7.2 or Valkey 8.",
        allowed="`memory`, `everysec`, `fsync` or `replicas:1` to `replicas:99`",
    )
    retention_s: int = _setting(
        7 * 86_400, "How long a match stays in Redis after its end.", unit="s", ge=60, le=10 * 366 * 86_400
    )
    archive: str | None = _setting(
        None,
        "Where matches go that have ended; then they leave Redis only once they are there. Unset: nowhere.",
        allowed="a folder, or a URL that fsspec knows (`s3://bucket/path`)",
        min_length=1,
    )
    archive_every_s: int = _setting(
        300, "How long the archiver waits between two looks for ended matches.", unit="s", ge=1, le=86_400
    )
    archive_batch: int = _setting(
        500, "Most matches that are read, written and verified at once.", unit="matches", ge=1, le=10_000
    )

    grpc_host: str = _setting("127.0.0.1", "Address on which the match service listens.", min_length=1)
    grpc_port: Port = _setting(50051, "Port on which the match service listens; 0: a free one.")
    grpc_tls_cert: Path | None = _setting(
        None, "File of the match service's certificate (PEM); set with its key: it speaks TLS."
    )
    grpc_tls_key: Path | None = _setting(None, "File of that certificate's key (PEM).")
    grpc_tls_client_ca: Path | None = _setting(
        None, "File of a CA (PEM); set: only clients with a certificate of it may call."
    )
    max_message_bytes: int = _setting(262_144, "Largest gRPC request.", unit="bytes", ge=1024, le=16 * 1024 * 1024)
    seat_rate: int = _setting(50, "Commands that one seat may send.", unit="commands/s", ge=1, le=100_000)
    address_rate: int = _setting(
        1000, "Calls that one address may make; commands on `Play` are not counted.",
        unit="calls/s", ge=1, le=1_000_000,
    )  # fmt: skip
    address_streams: int = _setting(
        1000, "Streams that one address may have open at a match service.", unit="streams", ge=1, le=1_000_000
    )
    address_matches: int = _setting(
        100,
        "Matches that have not ended and were opened from one address, where there is no operator's key.",
        unit="matches", ge=1, le=1_000_000,
    )  # fmt: skip
    max_calls: int = _setting(
        20_000, "Calls and streams that a match service has open at once; more are refused.",
        unit="calls", ge=10, le=1_000_000,
    )  # fmt: skip
    deadline_ms: int = _setting(5000, "Deadline of a command whose client sets none.", unit="ms", ge=100, le=60_000)
    receipt_query_ms: int = _setting(
        1000, "After how long without a receipt the partition's owner is asked for it.", unit="ms", ge=10, le=60_000
    )
    drain_s: int = _setting(
        10, "How long a service that was told to stop lets calls in flight end.", unit="s", ge=0, le=600
    )

    max_entries: int = _setting(
        20_000, "Journal entries after which a match is aborted.", unit="entries", ge=10, le=1_000_000
    )
    lobby_limit_s: int = _setting(3600, "How long a match may wait for its start.", unit="s", ge=1, le=366 * 86_400)
    idle_limit_s: int = _setting(
        2 * 86_400, "How long a running match may stay without a new entry.", unit="s", ge=1, le=366 * 86_400
    )
    absent_limit_s: int = _setting(
        300, "How long a running match goes on with all its humans absent.", unit="s", ge=1, le=366 * 86_400
    )
    default_clock_ms: int | None = _setting(
        None, "Turn clock of a match created without one; unset: no clock.", unit="ms", ge=1
    )
    min_clock_ms: int = _setting(1000, "Shortest turn clock that a match may have.", unit="ms", ge=1)
    max_clock_ms: int = _setting(
        86_400_000, "Longest turn clock that a match may have; shorter than `idle_limit_s`.", unit="ms", ge=1
    )

    token_key: LongSecret | None = _setting(
        None,
        "Key that signs the tokens of seats, hosts and spectators (HS256), the same for all services that read them. "
        "The match service needs it.",
        allowed="32 or more characters",
    )
    token_key_other: LongSecret | None = _setting(
        None, "A second key whose tokens are accepted, too, while keys are changed.", allowed="32 or more characters"
    )
    token_ttl_s: int = _setting(
        7 * 86_400,
        "How long a token holds; repeating the call that gave it renews it. Let it be no longer than the "
        "retention: a match that has left Redis can be created anew, with other players.",
        unit="s", ge=60, le=366 * 86_400,
    )  # fmt: skip
    nats_tls_ca: Path | None = _setting(
        None, "File of the CA that signed NATS' certificate (PEM), for `tls://`; unset: those of the system."
    )
    nats_issuer_seed: NkeySeed | None = _setting(
        None,
        "Seed of the account key that signs what tokens open on NATS. The auth service needs it.",
        allowed="an nkey seed of an account, `SA…`",
    )
    nats_curve_seed: NkeySeed | None = _setting(
        None,
        "Seed of the curve key with which NATS seals what it asks the auth service; unset: it is not sealed.",
        allowed="a curve key's seed, `SX…`",
    )
    nats_account: str = _setting(
        "CROUPIER", "The account of NATS into which the holders of tokens are let.", min_length=1
    )
    operator_key: LongSecret | None = _setting(
        None,
        "Secret that lets an operator abort matches (unset: nobody may); once it is set only he creates matches, too. "
        "`croupier operator-token` makes tokens with it.",
        allowed="32 or more characters",
    )
    operator_key_other: LongSecret | None = _setting(
        None, "A second operator key that is accepted, too, while keys are changed.", allowed="32 or more characters"
    )
    seed_key: Hex32 | None = _setting(
        None,
        "Key that encrypts the server seeds of running matches in Redis, the same for all workers. They need it.",
        allowed="64 digits `0-9a-f`",
    )
    seed_key_other: Hex32 | None = _setting(
        None, "A second key whose seeds are opened, too, while keys are changed.", allowed="64 digits `0-9a-f`"
    )
    signing_key: Hex32 | None = _setting(
        None,
        "Ed25519 seed that signs the last hash of a journal; unset: not signed.",
        allowed="64 digits `0-9a-f`",
    )

    metrics_host: str = _setting("127.0.0.1", "Address of the Prometheus endpoint.", min_length=1)
    metrics_port: Port | None = _setting(None, "Port of the Prometheus endpoint; 0: a free one; unset: none.")
    log_format: Literal["console", "json"] = _setting("json", "How log lines are written.")
    log_level: Literal["debug", "info", "warning", "error"] = _setting("info", "Least level that is logged.")
    data_dir: Path = _setting(Path(".croupier"), "Folder in which `croupier up` keeps its servers' data and keys.")

    @model_validator(mode="after")
    def _fit_each_other(self) -> Self:
        if "," in self.redis_url and not self.redis_cluster:
            raise ValueError(_problem("redis_url", "names several servers", "one, or CROUPIER_REDIS_CLUSTER=true"))
        if self.redis_cluster and self.redis_url.startswith("unix"):
            raise ValueError(_problem("redis_url", "is no node of a cluster", "`redis://` or `rediss://` URL"))
        if self.block_ms >= self.lease_ms:
            raise ValueError(_problem("block_ms", "is too long", "less than CROUPIER_LEASE_MS"))
        if self.receipt_query_ms >= self.deadline_ms:
            raise ValueError(_problem("receipt_query_ms", "is too long", "less than CROUPIER_DEADLINE_MS"))
        if self.max_clock_ms >= self.idle_limit_s * 1000:
            raise ValueError(_problem("max_clock_ms", "is too long", "less than CROUPIER_IDLE_LIMIT_S"))
        if self.min_clock_ms > self.max_clock_ms:
            raise ValueError(_problem("min_clock_ms", "is too long", "at most CROUPIER_MAX_CLOCK_MS"))
        if (self.grpc_tls_cert is None) != (self.grpc_tls_key is None):
            raise ValueError(_problem("grpc_tls_cert", "stands alone", "with CROUPIER_GRPC_TLS_KEY, or neither"))
        if self.grpc_tls_client_ca is not None and self.grpc_tls_cert is None:
            raise ValueError(_problem("grpc_tls_client_ca", "stands alone", "with CROUPIER_GRPC_TLS_CERT"))
        if (self.nats_user is None) != (self.nats_password is None):
            raise ValueError(
                _problem("nats_user", "stands alone", "with CROUPIER_NATS_PASSWORD, or neither of the two")
            )
        if self.nats_user is not None and self.nats_seed is not None:
            raise ValueError(_problem("nats_seed", "is set beside CROUPIER_NATS_USER", "one of the two"))
        clock = self.default_clock_ms
        if clock is not None and not self.min_clock_ms <= clock <= self.max_clock_ms:
            allowed = "from CROUPIER_MIN_CLOCK_MS to CROUPIER_MAX_CLOCK_MS"
            raise ValueError(_problem("default_clock_ms", "is out of range", allowed))
        return self


def load(*, require: Iterable[str] = (), **overrides: Any) -> Settings:
    """Return the settings of this process: `overrides` first, then the environment, then the defaults.

    Args:
        require: names of optional settings that the calling service cannot do without.
        overrides: settings by name.

    Raises:
        SettingsError: for each problem a line with the variable, what is wrong and what is allowed.
    """
    try:
        settings = Settings(**overrides)
    except ValidationError as error:
        raise SettingsError("\n".join(_line(dict(problem)) for problem in error.errors())) from None
    missing = [name for name in require if getattr(settings, name) is None]
    if missing:
        raise SettingsError("\n".join(_problem(name, "is not set", _allowed(name)) for name in missing))
    return settings


def key_pair(settings: Settings, name: str) -> tuple[str, str | None]:
    """Return a secret and the other one, accepted while keys are changed. Raises SettingsError if it is not set."""
    key, other = getattr(settings, name), getattr(settings, f"{name}_other")
    if key is None:
        raise SettingsError(_problem(name, "is not set", _allowed(name)))
    return key.get_secret_value(), other.get_secret_value() if other else None


def settings_table() -> str:
    """Return all settings as a Markdown table: a line a setting, in the order of `Settings`."""
    lines = ["| Variable | Default | Unit | Allowed | Meaning |", "| --- | --- | --- | --- | --- |"]
    for name, field in Settings.model_fields.items():
        default = "" if field.default is None else f"`{_text(field.default)}`"
        lines.append(
            f"| `{_variable(name)}` | {default} | {_extra(field, 'unit')} | {_allowed(name)} | {field.description} |"
        )
    return "\n".join(lines) + "\n"


def _variable(name: str) -> str:
    return PREFIX + name.upper()


def _problem(name: str, wrong: str, allowed: str) -> str:
    return f"{_variable(name)}: {wrong}; allowed: {allowed}"


def _line(problem: dict[str, Any]) -> str:
    message = str(problem["msg"]).removeprefix("Value error, ")
    if not problem["loc"]:  # of `_fit_each_other`, which has named the variable
        return message
    name = str(problem["loc"][0])
    if name not in Settings.model_fields:
        return _problem(name, "there is no such setting", "the variables in docs/settings.md")
    return _problem(name, message[0].lower() + message[1:], _allowed(name))


def _extra(field: FieldInfo, key: str) -> str:
    extra = field.json_schema_extra
    return str(extra[key]) if isinstance(extra, dict) else ""


def _allowed(name: str) -> str:
    """Say what the setting may be, from its own words, its type, or its bounds."""
    field = Settings.model_fields[name]
    if words := _extra(field, "allowed"):
        return words
    if get_origin(field.annotation) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(field.annotation))
    if field.annotation is bool:
        return "`true`, `false`"
    if field.annotation is Path:
        return "a path"
    bounds = _bounds(field.metadata) or _bounds(
        [bound for part in get_args(field.annotation) for bound in _constraints(part)]
    )
    if "ge" in bounds:
        return f"{bounds['ge']} to {bounds['le']}" if "le" in bounds else f"{bounds['ge']} or more"
    return "any text but the empty one"


def _constraints(annotation: object) -> list[object]:
    """Flatten `Annotated[int, Field(ge=…)]` to its bounds: `Port | None` keeps them there."""
    metadata = getattr(annotation, "__metadata__", ())
    return [bound for item in metadata for bound in (item.metadata if isinstance(item, FieldInfo) else [item])]


def _bounds(constraints: Iterable[object]) -> dict[str, int]:
    return {
        key: getattr(constraint, key) for constraint in constraints for key in ("ge", "le") if hasattr(constraint, key)
    }


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


if __name__ == "__main__":
    sys.stdout.write(settings_table())
