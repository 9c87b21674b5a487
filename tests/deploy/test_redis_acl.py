"""`deploy/redis.conf`: each service plays its part as its own Redis user, and is refused everything else.

A real server is started by `deploy/redis.sh`, a real stack plays on it.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, NoPermissionError
from redis.retry import Retry

from croupier.v1 import match_service_pb2 as pb
from engine.audit import audit
from services.commands import partition_of
from services.local import RedisServer, redis_program
from services.local_process import ServiceProcess
from services.settings import Durability
from services.stack import Stack
from services.store.keys import (
    ARCHIVER,
    PARTITIONS,
    WORKERS,
    asked_key,
    due_key,
    ended_key,
    journal_key,
    moves_key,
    open_key,
    owner_key,
    seed_key,
)
from tests.e2e.table import Api, api, awaited, begin, connected, until

DEPLOY = Path(__file__).parents[2] / "deploy"
ROLES = ("match", "engine", "archive", "observer")
OPERATOR = "operator"
PASSWORDS = {role: f"{role}-{'p&/$' * 8}" for role in (*ROLES, OPERATOR)}
MATCH = "002" + "a" * 22
FUNCTIONS = "#!lua name=croupier\nredis.register_function('croupier_commit', function() return 'OK' end)"
FSYNC = Durability("fsync")
ONCE = Retry(NoBackoff(), 0)
ADMIN = "user admin on nopass ~* &* +@all"


def secrets_of(passwords: Mapping[str, str]) -> dict[str, str]:
    return {f"REDIS_{role.upper()}_PASSWORD": password for role, password in passwords.items()}


class GuardedRedis(RedisServer):
    """Started as in production; one user more, `admin`, is the test's own."""

    def _command(self) -> Sequence[str | Path]:
        return [shutil.which("sh") or "", DEPLOY / "redis.sh", *super()._command(), *f"--{ADMIN}".split()]

    def _environment(self) -> Mapping[str, str]:
        return {**super()._environment(), **secrets_of(PASSWORDS)}

    def _is_ready(self) -> bool:
        try:
            with as_user(self, "health") as client:
                return bool(client.ping())
        except redis.RedisError:
            return False


class GuardedStack(Stack):
    """A stack whose services each have a Redis user of their own."""

    def __init__(self, folder: Path) -> None:
        env = {"PARTITIONS": "4", "BLOCK_MS": "50", "SEAT_RATE": "10000", "ARCHIVE": str(folder / "archive")}
        env |= {"ARCHIVE_EVERY_S": "1", "GRPC_PORT": "0"}
        super().__init__(
            folder, engines=1, durability=FSYNC, env={f"CROUPIER_{name}": value for name, value in env.items()}
        )
        self.redis = GuardedRedis(folder, durability=FSYNC)

    def service(self, kind: str, name: str, *, grpc_port: int | None = None) -> ServiceProcess:
        service = super().service(kind, name, grpc_port=grpc_port)
        if kind != "auth":
            service.env |= {"CROUPIER_REDIS_USER": kind, "CROUPIER_REDIS_PASSWORD": PASSWORDS[kind]}
        return service


def as_user(server: RedisServer, user: str) -> redis.Redis:
    return redis.Redis(port=server.port, username=user, password=PASSWORDS.get(user, "any"), retry=ONCE)


def refusals(admin: redis.Redis) -> list[str]:
    """What the server has refused to users of services."""
    log = [entry for entry in admin.acl_log() if entry["username"] in ROLES]
    return [f"{entry['username']}: {entry['reason']} {entry['object']}" for entry in log]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with GuardedStack(tmp_path_factory.mktemp("acl")) as stack:
        with as_user(stack.redis, "admin") as admin:
            # An archiver that is there before any worker has brought the functions may not bring them, and tries again.
            refused = set(refusals(admin)) - {"archive: command function|load"}
            assert not refused, "a service was refused something at its start"
        yield stack


@pytest.fixture(scope="module")
def server(stack: Stack) -> RedisServer:
    return stack.redis


@awaited
async def test_a_match_is_made_joined_played_and_archived_with_each_service_as_its_own_user(stack: Stack) -> None:
    with as_user(stack.redis, "admin") as admin:
        admin.acl_log_reset()
        async with connected(stack) as client, api(stack) as front:
            running = await begin(client, "timos_twist", 2, {"target": 50})
            played = await running.end()
            assert await listed(front) is not None
            lines = await front.journal(played.match)
            assert audit(lines, bytes.fromhex(played.seats[0].view["hash"])).outcome == "verified"
            archived = Path(stack.environment["CROUPIER_ARCHIVE"])
            await until(lambda: any(path.is_file() for path in archived.rglob("*")))
            await until(lambda: not admin.zscore(ended_key(partition_of(played.match)), played.match))
        names = {client["user"] for client in admin.client_list()}
        assert names == {"match", "engine", "archive", "admin"}, "somebody came in by another name"
        assert not refusals(admin), "a service was refused something"


async def listed(front: Api) -> list[str]:
    return [found.match for found in (await front.stub.ListMatches(pb.ListMatchesRequest())).matches]


def commit_by(worker: str) -> tuple[object, ...]:
    return ("FCALL", "croupier_commit", 2, owner_key(2), journal_key(MATCH), worker, 1, 0, "", 0, 0)


# What each user must be able to do beyond what the match above needs, and what none may.

ASKED: dict[str, list[tuple[object, ...]]] = {
    "match": [
        ("CLUSTER", "SLOTS"), ("ASKING",), ("WAIT", 1, 1), ("WAITAOF", 1, 0, 1), ("TIME",), ("INFO",),
        ("XADD", moves_key(2), "*", "c", "x"), ("XLEN", moves_key(2)), ("SET", asked_key(2), ""),
        ("XRANGE", journal_key(MATCH), "-", "+"), ("XREVRANGE", journal_key(MATCH), "+", "-", "COUNT", 1),
        ("HGETALL", open_key(2)), ("HGET", open_key(2), MATCH), ("GET", PARTITIONS), ("SET", PARTITIONS, 4),
    ],
    "engine": [
        ("CLUSTER", "SLOTS"), ("ASKING",), ("WAIT", 1, 1), ("WAITAOF", 1, 0, 1), ("TIME",), ("INFO",),
        ("XREAD", "COUNT", 1, "STREAMS", moves_key(2), "0"), ("XREVRANGE", moves_key(2), "+", "-", "COUNT", 1),
        ("XRANGE", moves_key(2), "-", "+", "COUNT", 1), ("XDEL", moves_key(2), "1-0"), ("XLEN", moves_key(2)),
        ("ZADD", due_key(2), 1, "x"), ("ZREM", due_key(2), "x"), ("ZREM", WORKERS, "x"),
        ("GET", seed_key(MATCH)), ("HMGET", owner_key(2), "worker", "until"),
        ("FCALL", "croupier_renew", 1, owner_key(2), "nobody", 0, 1),
        ("FUNCTION", "LIST", "LIBRARYNAME", "croupier", "WITHCODE"),
        commit_by("nobody"),
    ],
    "archive": [
        ("CLUSTER", "SLOTS"), ("ASKING",), ("TIME",), ("INFO",), ("SCAN", 0, "MATCH", "croupier:{*}:journal:*"),
        ("XRANGE", journal_key(MATCH), "-", "+"), ("XREVRANGE", journal_key(MATCH), "+", "-", "COUNT", 1),
        ("FCALL", "croupier_enlist", 2, journal_key(MATCH), ended_key(2), MATCH), ("ZCARD", ended_key(2)),
        ("FCALL", "croupier_drop", 2, journal_key(MATCH), ended_key(2), MATCH, 0, "", 1),
        ("ZADD", ended_key(2), "XX", 1, MATCH), ("ZRANGEBYSCORE", ended_key(2), "-inf", 1, "LIMIT", 0, 1),
    ],
    "observer": [
        ("CLUSTER", "SLOTS"), ("ASKING",), ("SCAN", 0), ("XRANGE", journal_key(MATCH), "-", "+"),
        ("XREVRANGE", journal_key(MATCH), "+", "-"), ("GET", seed_key(MATCH)),
    ],
    "health": [("PING",)],
}  # fmt: skip
FOR_NOBODY: list[tuple[object, ...]] = [
    ("FLUSHALL",), ("FLUSHDB",), ("CONFIG", "GET", "*"), ("CONFIG", "SET", "appendonly", "no"), ("KEYS", "*"),
    ("ACL", "LIST"), ("ACL", "SETUSER", "x", "on"), ("SHUTDOWN", "NOSAVE"), ("MONITOR",),
    ("EVAL", "return 1", 0), ("FUNCTION", "FLUSH"), ("FUNCTION", "DUMP"), ("CLIENT", "LIST"), ("CLIENT", "KILL", "x"),
    ("REPLICAOF", "NO", "ONE"), ("CLUSTER", "RESET"), ("PSYNC", "?", -1), ("PUBLISH", "x", "y"), ("SUBSCRIBE", "x"),
    ("MODULE", "LIST"), ("BGREWRITEAOF",), ("SLOWLOG", "GET"), ("SWAPDB", 0, 1), ("RENAME", "a", "b"),
    ("DUMP", seed_key(MATCH)), ("COPY", seed_key(MATCH), "x"), ("RESTORE", "x", 0, "y"), ("GETDEL", seed_key(MATCH)),
    ("GET", "other"), ("SET", "other", 1), ("SORT", journal_key(MATCH)), ("OBJECT", "ENCODING", seed_key(MATCH)),
]  # fmt: skip
REFUSED: dict[str, list[tuple[object, ...]]] = {
    "match": [
        ("GET", seed_key(MATCH)), ("SET", seed_key(MATCH), "x"), ("DEL", seed_key(MATCH)),
        ("XRANGE", moves_key(2), "-", "+"),
        ("XADD", journal_key(MATCH), "*", "line", "x"), ("DEL", journal_key(MATCH)), ("XLEN", seed_key(MATCH)),
        ("SET", moves_key(2), "x"), ("SET", asked_key(2), "", "GET"), ("SET", owner_key(2), "x"), ("DEL", moves_key(2)),
        ("HSET", open_key(2), MATCH, "x"), ("HSET", owner_key(2), "worker", "me"), ("HGETALL", owner_key(2)),
        ("ZADD", due_key(2), 1, "x"), ("XREAD", "STREAMS", moves_key(2), 0), ("SCAN", 0),
        commit_by("me"),
        ("XTRIM", moves_key(2), "MAXLEN", 0), ("XDEL", moves_key(2), "1-0"),
        ("FUNCTION", "LOAD", "REPLACE", FUNCTIONS),
    ],
    "engine": [("SCAN", 0), ("GET", ARCHIVER), ("FCALL", "croupier_acquire", 1, ARCHIVER, "me", 1), ("DEL", "other")],
    "archive": [
        ("GET", seed_key(MATCH)), ("FUNCTION", "LOAD", "REPLACE", FUNCTIONS),
        ("XADD", journal_key(MATCH), "*", "line", "x"), ("DEL", journal_key(MATCH)),
        commit_by("me"),
        ("FCALL", "croupier_acquire", 1, owner_key(2), "me", 1), ("XADD", moves_key(2), "*", "c", "x"),
        ("XRANGE", moves_key(2), "-", "+"), ("HSET", owner_key(2), "worker", "me"), ("SET", journal_key(MATCH), "x"),
    ],
    "observer": [
        ("XADD", journal_key(MATCH), "*", "line", "x"), ("SET", seed_key(MATCH), "x"), ("GETDEL", seed_key(MATCH)),
        ("XRANGE", moves_key(2), "-", "+"), ("FUNCTION", "LOAD", "REPLACE", FUNCTIONS), ("INFO",),
    ],
    "health": [("INFO",), ("TIME",), ("GET", PARTITIONS), ("XADD", moves_key(2), "*", "c", "x")],
}  # fmt: skip


@pytest.mark.parametrize("user", ASKED)
def test_a_service_may_do_what_it_asks_of_redis(server: RedisServer, user: str) -> None:
    """Also what it asks only of clusters, or after faults; by the server's word, none is done."""
    with as_user(server, "admin") as admin:
        said = {command: admin.execute_command("ACL", "DRYRUN", user, *command) for command in ASKED[user]}
    assert said == dict.fromkeys(ASKED[user], b"OK")


@pytest.mark.parametrize("user", [*ROLES, "health"])
def test_all_else_is_refused(server: RedisServer, user: str) -> None:
    """Also commands that a role has, on the keys of others."""
    allowed = []
    with as_user(server, user) as client:
        for command in [*FOR_NOBODY, *REFUSED[user]]:
            try:
                client.execute_command(*command)
            except NoPermissionError:
                continue
            except redis.RedisError as error:
                allowed.append((command, repr(error)))
            else:
                allowed.append((command, "done"))
    assert not allowed


def test_an_operator_sees_and_sets_the_server_and_reads_nothing_in_it(server: RedisServer) -> None:
    asked = [
        ("PING",), ("INFO", "persistence"), ("CONFIG", "GET", "maxmemory"), ("CONFIG", "SET", "maxmemory", "0"),
        ("SLOWLOG", "GET"), ("LATENCY", "LATEST"), ("MEMORY", "STATS"), ("CLIENT", "LIST"), ("ACL", "LOG"),
        ("BGREWRITEAOF",), ("BGSAVE",), ("LASTSAVE",),
    ]  # fmt: skip
    refused = [
        ("GET", seed_key(MATCH)), ("XRANGE", journal_key(MATCH), "-", "+"), ("XRANGE", moves_key(2), "-", "+"),
        ("SCAN", 0), ("SET", "other", 1), ("DUMP", seed_key(MATCH)), ("ACL", "SETUSER", "x", "on"), ("ACL", "LIST"),
        ("FLUSHALL",),
        ("SHUTDOWN", "NOSAVE"), ("MONITOR",), ("REPLICAOF", "NO", "ONE"), ("EVAL", "return 1", 0),
        ("FUNCTION", "FLUSH"), ("CONFIG", "REWRITE"), ("CONFIG", "RESETSTAT"), commit_by("me"), ("DEBUG", "SLEEP", 1),
        ("CLIENT", "KILL", "x"),
    ]  # fmt: skip
    with as_user(server, "admin") as admin:
        said = {command: admin.execute_command("ACL", "DRYRUN", OPERATOR, *command) for command in asked + refused}
    assert [command for command in asked if said[command] != b"OK"] == []
    assert [command for command in refused if said[command] == b"OK"] == []


@pytest.mark.parametrize("name", [None, "default", "replica", OPERATOR, *ROLES])
def test_without_the_password_nobody_gets_in(server: RedisServer, name: str | None) -> None:
    password = None if name is None else "another"
    with (
        redis.Redis(port=server.port, username=name, password=password, retry=ONCE) as client,
        pytest.raises(AuthenticationError),
    ):
        client.ping()


TWO_WRITES = (
    "#!lua name=croupier\nredis.register_function('two', function(keys) "
    "redis.call('SET', keys[1], 1) redis.call('SET', keys[2], 2) return 'OK' end)"
)


def test_a_commit_is_there_after_a_restart(tmp_path: Path) -> None:
    """Redis records what a function writes as a transaction, and replays it as the user `default`."""
    keys = [f"croupier:{{2}}:{name}" for name in "ab"]
    with GuardedRedis(tmp_path, durability=Durability("everysec")) as server:
        with as_user(server, "engine") as engine:
            engine.execute_command("FUNCTION", "LOAD", TWO_WRITES)
            engine.execute_command("FCALL", "two", 2, *keys)
        server.restart()
        with as_user(server, "engine") as engine:
            assert [engine.get(key) for key in keys] == [b"1", b"2"]


def test_nobody_is_the_user_who_replays_what_was_recorded_and_it_may_do_everything(server: RedisServer) -> None:
    """Also by the word of servers that ask no permission for it."""
    with as_user(server, "admin") as admin:
        default = admin.acl_getuser("default")
        assert "off" in default["flags"]
        assert "nopass" not in default["flags"]
        assert default["passwords"] == []
        commands = [*ASKED["engine"], *ASKED["match"], *ASKED["archive"]]
        said = {command: admin.execute_command("ACL", "DRYRUN", "default", *command) for command in commands}
    assert said == dict.fromkeys(commands, b"OK")


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("empty", [False, True], ids=["unset", "empty"])
def test_nothing_starts_without_a_password_for_each_user(role: str, empty: bool) -> None:
    env = {**os.environ, **secrets_of(PASSWORDS | {role: ""})}
    if not empty:
        del env[f"REDIS_{role.upper()}_PASSWORD"]
    start = ["sh", DEPLOY / "redis.sh", "echo", "started"]
    done = subprocess.run(start, env=env, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"REDIS_{role.upper()}_PASSWORD: is not set" in done.stderr
    assert not done.stdout


def test_the_file_as_it_is_starts_no_server_and_holds_no_secret() -> None:
    """Where nobody has put hashes in, Redis refuses the file rather than let everybody in."""
    text = (DEPLOY / "redis.conf").read_text()
    assert not re.search(r"[0-9a-f]{64}|\s>\S", text)
    for line in re.findall(r"^user .*$", text, re.MULTILINE):
        assert "nopass" not in line or line == "user health reset on nopass +ping"
    done = subprocess.run(
        [redis_program(FSYNC), DEPLOY / "redis.conf", "--port", "0"],
        env={**os.environ, "LC_ALL": "C"}, check=False, capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert done.returncode == 1
    assert "user match" in done.stdout + done.stderr
