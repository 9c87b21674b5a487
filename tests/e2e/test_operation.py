"""What an operator sees: reflection, health, metrics, logs, `croupier up` and `croupier demo`."""

import asyncio
import base64
import contextlib
import io
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from rich.console import Console

from croupier.v1 import match_service_pb2 as pb
from engine.audit import Source
from services import demo as demo_module
from services import wire
from services.client import Client
from services.stack import Stack
from tests.attacks.wire import Attacker, Refused
from tests.e2e.conftest import address, counted
from tests.e2e.table import (
    api,
    assert_sound,
    audited,
    awaited,
    begin,
    connected,
    creation,
    refusal,
    until,
)

NAME = "croupier.v1.MatchService"
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
HISTORIES = Path(__file__).parents[1] / "histories"
CLI = [sys.executable, "-m", "services.cli"]


def test_reflection_lists_the_services_and_tells_their_messages(stack: Stack) -> None:
    with grpc.insecure_channel(stack.grpc) as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        assert {NAME, "grpc.health.v1.Health"} <= set(database.get_services())
        file = database.FindFileContainingSymbol(NAME)
        assert file.name == "croupier/v1/match_service.proto"
        assert database.FindFileByName("croupier/v1/timos_twist.proto").message_type


def test_a_second_stack_says_what_the_first_has_already(stack: Stack, tmp_path: Path) -> None:
    def up(*args: str) -> tuple[int, str]:
        done = subprocess.run([*CLI, "up", *args], capture_output=True, text=True, timeout=120, check=False)
        assert (done.stdout, "Traceback" in done.stderr) == ("", False)
        return done.returncode, done.stderr.splitlines()[-1]

    code, said = up("--port", "0", "--data", str(stack.folder))
    assert (code, "--data names another folder" in said) == (1, True)
    code, said = up("--port", stack.grpc.rpartition(":")[2], "--data", str(tmp_path))
    assert (code, f"CROUPIER_GRPC_PORT: {stack.grpc} cannot be listened on" in said) == (1, True)


@awaited
async def test_health_turns_before_the_service_goes(stack: Stack) -> None:
    """Whoever watches sees NOT_SERVING while calls in flight still get their answers."""
    with stack.service("match", "match-drained", grpc_port=0) as service:
        async with api(stack, address(service)) as front:
            seats = await front.started("bluffing_billionaires")
            health = health_pb2_grpc.HealthStub(front.channel)
            for name in ("", NAME):
                answer = await health.Check(health_pb2.HealthCheckRequest(service=name))
                assert answer.status == SERVING
            watch = health.Watch(health_pb2.HealthCheckRequest(service=NAME))
            assert (await watch.read()).status == SERVING
            stream = front.stub.Play()
            await stream.write(pb.PlayRequest(attach=[pb.Attach(handle=0, token=seats[0].token)]))
            await stream.read()
            os.kill(service.pid, signal.SIGTERM)
            assert (await watch.read()).status == NOT_SERVING
            watch.cancel()
            assert await refusal(stream.read()) == ("UNAVAILABLE", "INTERRUPTED", {})
            await until(lambda: not service.running)
            assert service.exit_code == 0


@awaited
async def test_metrics_count_the_moves(stack: Stack) -> None:
    """Of the workers each move once, by game and result; of the match service each receipt."""

    def moves(result: str) -> float:
        return sum(counted(worker, "moves_total", game="clever_gedreht", result=result) for worker in stack.engines)

    before = moves("accepted"), moves("STALE_PROMPT"), counted(stack.match, "receipts_total", result="accepted")
    async with connected(stack) as client, api(stack) as front:
        played = await (await begin(client, "clever_gedreht", 2)).end()
        made = sum(robot.moves for robot in played.robots)
        seats = await front.started("clever_gedreht", 2)
        view = await front.view(seats[0].token)
        move = wire.move_from_json("clever_gedreht", b'{"draw":{}}')
        assert (await refusal(front.submit(seats[0].token, view.prompt - 1, move)))[1] == "STALE_PROMPT"
    assert_sound(stack, played)
    await until(lambda: moves("accepted") == before[0] + made)
    assert moves("STALE_PROMPT") == before[1] + 1
    assert counted(stack.match, "receipts_total", result="accepted") >= before[2] + made
    for worker in stack.engines:
        assert counted(worker, "partitions_owned") == 4
        assert counted(worker, "replay_mismatches_total") == 0
        assert counted(worker, "internal_errors_total") == 0


@awaited
async def test_no_secret_gets_into_a_log(stack: Stack) -> None:
    """Not the server seed, a token, a request id or a key, in any of the forms in which bytes are written, from a match
    with every kind of refusal in it, at the most talkative level."""
    create_id, join_ids = secrets.token_bytes(16), [secrets.token_bytes(16) for _ in range(2)]
    async with api(stack) as front:
        created = await front.create("bluffing_billionaires", 2, request_id=create_id)
        match = created.match
        seats = [await front.join(match, f"Canary {n}", request_id=join_ids[n]) for n in range(2)]
        watching = await front.stub.Spectate(pb.SpectateRequest(match=match))
        again = front.stub.CreateMatch(
            creation("bluffing_billionaires", 3, request_id=create_id), metadata=front.operator
        )
        await refusal(again)
        await refusal(front.join(match, "Mallory", request_id=join_ids[0]))
        for token in (created.host_token, watching.token, seats[0].token + "x"):
            await refusal(front.submit(token, 1, pb.SubmitMoveRequest().move))
        view = await front.view(seats[0].token)
        await refusal(front.submit(seats[0].token, view.prompt, pb.SubmitMoveRequest().move))
        await refusal(front.submit(seats[0].token, 10**9, pb.SubmitMoveRequest().move))
        await refusal(front.journal(match))
        end = await front.advance([seat.token for seat in seats], lambda _: False)
        assert audited(stack, match, end.hash).outcome == "verified"
    tokens = [created.host_token, watching.token, *(seat.token for seat in seats)]
    texts = [
        *(token.encode() for token in tokens),
        *(token.rsplit(".", 1)[1].encode() for token in tokens),
        *(stack.environment[f"CROUPIER_{name}"].encode() for name in ("TOKEN_KEY", "OPERATOR_KEY")),
    ]
    for secret in (bytes.fromhex(end.seed), create_id, *join_ids):
        escaped = repr(secret)[2:-1].encode()
        texts += [secret, secret.hex().encode(), base64.b64encode(secret), base64.urlsafe_b64encode(secret), escaped]
        texts.append(json.dumps(repr(secret)[2:-1])[1:-1].encode())
    logs = list(stack.folder.rglob("*.log"))
    assert {"match.log", "engine-0.log", "engine-1.log", "redis.log", "nats.log"} <= {log.name for log in logs}
    written = b"".join(log.read_bytes() for log in logs)
    assert match.encode() in written, "the logs tell of the match at all"
    for text in texts:
        assert text not in written


def descendants(pid: int) -> set[int]:
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = status.read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == pid:
                child = int(status.parent.name)
                found |= {child} | descendants(child)
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_croupier_up_says_where_it_is_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """It prints every address, serves there, ends on Ctrl-C with 0, and goes on in the same folder.

    Access to NATS is controlled: nobody gets in without a token, and a spectator's opens the table alone.
    """
    matches = []
    data = tmp_path / "a folder [of mine], whose name is longer than a line of a terminal; it has to be quoted" / "data"
    for _ in range(2):
        up = subprocess.Popen(
            [*CLI, "up", "--port", "0", "--data", str(data)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        try:
            lines = []
            while not (lines and "Ctrl-C" in lines[-1]):
                line = up.stdout.readline()
                assert line, lines
                lines.append(line)
            said = dict(re.findall(r"^ +(\S+) +(.+)$", "".join(lines), re.MULTILINE))
            assert {"gRPC", "NATS", "WebSocket", "Redis", "operator"} <= said.keys()
            assert f"are in {data}.\n" in lines[0]
            shown = subprocess.run(
                ["sh", "-c", f'echo "{said["operator"]}"'], capture_output=True, text=True, check=True
            ).stdout
            key = (data / "operator_key.secret").read_text().strip()
            assert shown == f"authorization: Bearer {key}\n"
            asyncio.run(use(said, key, matches))
            children = descendants(up.pid)
            assert len(children) >= 5
            up.send_signal(signal.SIGINT)
            assert up.wait(60) == 0
        finally:
            up.kill()
            up.stdout.close()
            up.wait()
        gone = time.monotonic() + 10
        while alive := [pid for pid in children if Path(f"/proc/{pid}").exists()]:
            assert time.monotonic() < gone, alive
            time.sleep(0.05)


async def use(said: dict[str, str], key: str, matches: list[str]) -> None:
    client = await Client.connect(said["gRPC"], said["NATS"], key)
    try:
        health = health_pb2_grpc.HealthStub(client._channel)
        answer = await health.Check(health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=20)
        assert answer.status == SERVING
        for match in matches:
            watching = await client.call(client.stub.Spectate, pb.SpectateRequest(match=match))
            assert watching.view.status == "lobby"
        with pytest.raises(Refused):
            await Attacker.connect(said["NATS"])
        for match in matches:
            async with await Attacker.connect(said["NATS"], auth_token=watching.token) as spectator:
                assert "Permissions Violation" in await spectator.subscribe("view.>")
                assert await spectator.subscribe(f"view.{match}.table") == ""
        matches.append((await client.create("timos_twist", 2))[0])
    finally:
        await client.close()


def test_croupier_demo_plays_and_verifies() -> None:
    """Its last line says how many matches and moves were played and verified."""
    short = [f"--game={game}" for game in ("bombenziehen", "clever_gedreht", "bluffing_billionaires")]
    done = subprocess.run(
        [*CLI, "demo", "--matches", "3", *short], check=False, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    last = done.stdout.rstrip().splitlines()[-1]
    said = re.fullmatch(r"(\d+) matches played with (\d+) moves, (\d+) of them verified, (\d+) not", last)
    assert said, done.stdout
    assert (said[1], said[3], said[4]) == ("3", "3", "0")
    assert int(said[2]) > 30


@pytest.mark.parametrize("tampered", [False, True])
def test_the_demo_fails_if_a_journal_is_not_what_was_played(monkeypatch: pytest.MonkeyPatch, tampered: bool) -> None:
    """One changed name is enough, and the match is named."""
    names = ["timos_twist_1", "bombenziehen_2"]
    sources, anchors = [], {}
    for name in names:
        lines = (HISTORIES / f"{name}.jsonl").read_bytes().splitlines()
        match = json.loads(lines[0])["match"]
        anchors[match] = bytes.fromhex((HISTORIES / f"{name}.hash").read_text().strip())
        sources.append((match, lines))
    if tampered:
        match, lines = sources[1]
        joined = next(number for number, line in enumerate(lines) if b'"joined"' in line)
        lines[joined] = lines[joined].replace(b'"name":"', b'"name":"X', 1)

    async def shown(*_args) -> dict[str, bytes]:
        return anchors

    async def journals(*_args) -> list[Source]:
        return [Source(match, lines=tuple(lines)) for match, lines in sources]

    monkeypatch.setattr(demo_module, "Stack", lambda *_args, **_kwargs: contextlib.nullcontext())
    monkeypatch.setattr(demo_module, "_shown", shown)
    monkeypatch.setattr(demo_module, "_journals", journals)
    said = io.StringIO()
    good = demo_module.demo(Console(file=said, width=200), games=["timos_twist"], matches=2, seats=2, engines=1)
    assert good is not tampered
    assert ("1 not" in said.getvalue(), sources[1][0] in said.getvalue()) == (tampered, tampered)
