import asyncio
import enum
import io
import json
import logging
import warnings
from pathlib import Path

import msgspec
import pytest
import structlog
from structlog.contextvars import bound_contextvars

from services.logs import configure, to_terminal
from services.settings import load

SEED = "000102030405060708090a0b0c0d0e0f" * 2


class Own(msgspec.Struct, frozen=True):
    face_down: str


class Level(enum.Enum):
    EASY = 1


class Log:
    """What was logged, parsed."""

    def __init__(self, **options):
        self.stream = io.StringIO()
        configure(load(**{"log_format": "json", "log_level": "info", **options}), "engine", self.stream)

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def events(self) -> list[dict]:
        return [json.loads(line) for line in self.text.splitlines()]

    @property
    def event(self) -> dict:
        [event] = self.events
        return event


@pytest.fixture(autouse=True)
def _as_before():
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    logging.captureWarnings(False)
    root.handlers, root.level = handlers, level


@pytest.fixture
def log() -> Log:
    return Log()


def test_an_event_is_one_json_line_with_service_level_and_time_in_utc(log):
    structlog.get_logger("engine.worker").info("partition_taken", partition=7)
    event = log.event
    assert event.pop("timestamp").endswith("Z")
    assert event == {
        "event": "partition_taken",
        "level": "info",
        "logger": "engine.worker",
        "partition": 7,
        "service": "engine",
    }


def test_on_a_console_an_event_is_text():
    log = Log(log_format="console")
    structlog.get_logger().info("partition_taken", partition=7)
    assert "partition_taken" in log.text
    assert not log.text.startswith("{")


def test_events_below_the_level_are_dropped():
    log = Log(log_level="warning")
    structlog.get_logger().info("quiet")
    logging.getLogger("redis").info("quiet")
    structlog.get_logger().warning("loud")
    assert [event["event"] for event in log.events] == ["loud"]


@pytest.mark.parametrize("library", ["grpc", "grpc._cython.cygrpc", "nats", "redis", "asyncio"])
def test_what_libraries_log_takes_the_same_road(log, library):
    logging.getLogger(library).warning("lost %s", "nats://user:hunter2@bus")
    assert log.event["event"] == "lost nats://***@bus"
    assert log.event["logger"] == library
    assert log.event["service"] == "engine"


def test_warnings_take_the_same_road(log):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        configure(load(log_format="json"), "engine", log.stream)
        warnings.warn("old", stacklevel=1)
    assert log.event["logger"] == "py.warnings"


def test_after_configuring_anew_the_old_stream_gets_nothing(log):
    logger = structlog.get_logger()
    logger.info("first")
    new = Log()
    logger.info("second")
    logging.getLogger("nats").warning("third")
    assert [event["event"] for event in log.events] == ["first"]
    assert [event["event"] for event in new.events] == ["second", "third"]


def test_events_name_match_seat_and_version_as_far_as_they_are_bound_where_they_happen(log):
    with bound_contextvars(match="042abc", seat=0):
        with bound_contextvars(version=12):
            structlog.get_logger().info("inner")
        logging.getLogger("redis").warning("outer")
    structlog.get_logger().info("after")
    inner, outer, after = log.events
    assert (inner["match"], inner["seat"], inner["version"]) == ("042abc", 0, 12)
    assert (outer["match"], outer["seat"]) == ("042abc", 0)
    assert "version" not in outer
    assert "match" not in after


def test_tasks_do_not_see_each_others_match(log):
    async def work(match: str, entered: asyncio.Event, other: asyncio.Event) -> None:
        with bound_contextvars(match=match):
            entered.set()
            await other.wait()
            structlog.get_logger().info(match)

    async def both() -> None:
        a, b = asyncio.Event(), asyncio.Event()
        await asyncio.gather(work("a", a, b), work("b", b, a))

    asyncio.run(both())
    assert {event["event"]: event["match"] for event in log.events} == {"a": "a", "b": "b"}


@pytest.mark.parametrize(
    "name",
    ["token", "tokens", "seat_token", "seed", "server_seed", "key", "token_key", "signing_key", "hand", "hands", "deck",
     "own", "state", "hidden", "draw_pile", "request_id", "request", "invite", "digest", "hash", "prev_hash", "prev",
     "line", "move", "legal", "view", "cards", "password", "Authorization", "client-seed", "metadata"],
)  # fmt: skip
def test_a_value_whose_name_may_hold_a_secret_is_masked_at_any_depth(log, name):
    structlog.get_logger().info("seen", **{name: "hunter2"}, deep={"list": [{name: ["hunter2"]}]}, number={name: 7})
    assert "hunter2" not in log.text
    assert log.event[name] == "***"
    assert log.event["deep"] == {"list": [{name: "***"}]}
    assert log.event["number"] == {name: "***"}


@pytest.mark.parametrize(
    "name", ["match", "seat", "version", "prompt", "tenure", "partition", "kind", "entries", "monkey", "owner", "epoch"]
)
def test_a_value_under_another_name_is_shown(log, name):
    structlog.get_logger().info("seen", **{name: 5})
    assert log.event[name] == 5


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("redis://:hunter2@db:6379/0", "redis://***@db:6379/0"),
        ("nats://u:p@a,nats://u:p@b", "nats://***@a,nats://***@b"),
        ("redis://db:6379/0", "redis://db:6379/0"),
        (f"expected {SEED}, got {SEED.upper()}", "expected ***, got ***"),
        ("bearer eyJhbGciOi.eyJzdWI-_.c2ln-_x refused", "bearer *** refused"),
        ("042k3jw7q5n2m4p6r8s0t1v9x", "042k3jw7q5n2m4p6r8s0t1v9x"),
        ("joined with mzxw6ytboi2dsnrtgq3tanjqga.", "joined with ***."),
    ],
)
def test_secrets_inside_a_text_are_masked_wherever_it_stands(log, text, shown):
    structlog.get_logger().info(text, reason=text, deep=[text], error=OSError(text))
    assert log.event["event"] == shown
    assert log.event["reason"] == shown
    assert log.event["deep"] == [shown]
    assert log.event["error"] == f"OSError: {shown}"


def test_values_that_are_not_plain_show_only_their_type(log):
    structlog.get_logger().info(
        "seen", a=Own("7♠"), b=[Own("7♠")], c=b"0123", d=Path("x"), e=Level.EASY, f={3: frozenset({1})}, g=None
    )
    event = log.event
    assert {name: event[name] for name in "abcdefg"} == {
        "a": "<Own>",
        "b": ["<Own>"],
        "c": "<4 bytes>",
        "d": "x",
        "e": "EASY",
        "f": {"3": [1]},
        "g": None,
    }


@pytest.mark.parametrize("log_format", ["json", "console"])
@pytest.mark.parametrize("library", [False, True])
def test_a_traceback_is_shown_without_local_variables_and_without_secrets(log_format, library):
    log = Log(log_format=log_format)
    hand = "hunter" + str(2)  # not as such in the source lines that a traceback quotes
    try:
        raise RuntimeError(f"{len(hand)} cards against {SEED}")
    except RuntimeError:
        (logging.getLogger("nats") if library else structlog.get_logger()).exception("failed")
    assert "Traceback" in log.text
    assert "7 cards against ***" in log.text
    assert "hunter2" not in log.text
    assert SEED not in log.text


def test_redaction_leaves_what_was_logged_as_it_was(log):
    parts = {"token": "hunter2", "list": [b"0"]}
    structlog.get_logger().info("seen", parts=parts)
    assert parts == {"token": "hunter2", "list": [b"0"]}


@pytest.mark.parametrize("log_format", ["json", "console"])
@pytest.mark.parametrize("kind", [KeyError, ValueError, IndexError, TypeError, AssertionError, LookupError, Exception])
def test_the_message_of_an_exception_that_may_have_seen_cards_is_not_shown(log_format, kind):
    """Neither its own nor that of what led to it, wherever it is logged; where it happened is."""
    log = Log(log_format=log_format)
    card = "hunter" + str(2)

    def look_for(what: str) -> None:
        try:
            raise kind(what)
        except kind as error:
            raise kind([what]) from error

    try:
        look_for(card)
    except kind as error:
        structlog.get_logger().exception("failed")
        logging.getLogger("nats").exception("failed")
        structlog.get_logger().warning("failed", error=error, errors=[error, ExceptionGroup(card, [error])])
    assert card not in log.text
    assert f"{kind.__name__}: ***" in log.text
    assert "in look_for" in log.text
    assert log.text.count("Traceback") >= 2


def test_a_command_tells_a_person_of_warnings_alone_whatever_was_set_up_before(capsys):
    log = Log()
    to_terminal()
    structlog.get_logger("of_a_command").info("begun")
    structlog.get_logger("of_a_command").warning("lost", place="here")
    told = capsys.readouterr().err
    assert "lost" in told
    assert "place" in told
    assert "begun" not in told
    assert log.text == ""
