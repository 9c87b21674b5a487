"""TLS on the wires, with a CA made for the test."""

import asyncio
import contextlib
import ssl

import grpc
import pytest
from redis.exceptions import RedisError
from typer.testing import CliRunner

from croupier.v1 import match_service_pb2 as pb
from croupier.v1 import match_service_pb2_grpc
from services.bus import Access, Bus
from services.cli import app
from services.client import Client
from services.load.nats_listener import Listener, NatsError
from services.local import NatsServer
from services.match.service import serve
from services.settings import load
from services.store import Store
from tests.certificates import certificates
from tests.services.front import in_loop, until
from tests.services.match_front import settings_for


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with `ca.crt`, and `server` and `client`, each with certificate and key."""
    return certificates(tmp_path_factory.mktemp("tls"))


@in_loop
async def test_nats_is_spoken_to_over_tls_with_the_ca_of_the_settings(files, tmp_path):
    """A server whose certificate another CA signed, or that speaks no TLS, is shown no password."""
    config = f'tls {{ cert_file: "{files / "server.crt"}", key_file: "{files / "server.key"}" }}'
    with NatsServer(tmp_path / "tls", config_extra=config) as server, NatsServer(tmp_path / "plain") as plain:
        url = server.url.replace("nats://", "tls://")
        good = Access.of(load(nats_url=url, nats_tls_ca=files / "ca.crt"))
        heard = []

        async def hear(message) -> None:
            heard.append(message.data)

        bus = await Bus.connect(url, "test", good)
        await bus.subscribe("a", hear)
        await bus.publish([("a", b"x")])
        await until(lambda: heard)
        await bus.close()
        for address, access in ((url, Access()), (plain.url.replace("nats://", "tls://"), good)):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(Bus.connect(address, "test", access), 1)


@in_loop
async def test_the_listener_of_a_load_speaks_tls_where_it_is_asked_to(files, tmp_path):
    """With a tls:// URL, and where the server asks for it; a server of another CA, or without TLS, is told nothing."""
    config = f'tls {{ cert_file: "{files / "server.crt"}", key_file: "{files / "server.key"}" }}'
    good = ssl.create_default_context(cafile=files / "ca.crt")
    with NatsServer(tmp_path / "tls", config_extra=config) as server, NatsServer(tmp_path / "plain") as plain:
        for url in (server.url, server.url.replace("nats://", "tls://")):
            heard = []
            listener = Listener([url], lambda: None, tls=good)
            await listener.connect()
            listener.subscribe("a", heard.append)
            await listener.flush()
            bus = await Bus.connect(url, "test", Access(tls=good))
            await bus.publish([("a", b"x" * size) for size in (1, 100_000)])
            await until(lambda heard=heard: len(heard) == 2)
            assert [len(data) for data in heard] == [1, 100_000]
            await bus.close()
            listener.close()
        for url, tls in ((server.url, None), (server.url.replace("nats", "tls", 1), None)):
            with pytest.raises(ssl.SSLError):
                await Listener([url], lambda: None, tls=tls).connect("secret")
        with pytest.raises(NatsError, match="no TLS"):
            await Listener([plain.url.replace("nats", "tls", 1)], lambda: None, tls=good).connect("secret")


@pytest.mark.parametrize("mutual", [False, True], ids=["server", "both"])
def test_the_match_service_speaks_tls(redis_url, nats_url, files, mutual):
    """With a client CA only to those that have its certificate; never without TLS."""
    extra = {"grpc_tls_client_ca": files / "ca.crt"} if mutual else {}
    settings = settings_for(
        redis_url, nats_url, grpc_tls_cert=files / "server.crt", grpc_tls_key=files / "server.key", **extra
    )
    root = (files / "ca.crt").read_bytes()
    mine = ((files / "client.key").read_bytes(), (files / "client.crt").read_bytes())

    async def works(channel) -> bool:
        async with channel:
            stub = match_service_pb2_grpc.MatchServiceStub(channel)
            try:
                await stub.ListGames(pb.ListGamesRequest(), timeout=5)
            except grpc.aio.AioRpcError:
                return False
            return True

    async def run() -> None:
        ready = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(serve(settings, ready.set_result))
        address = (await asyncio.wait_for(ready, 20))["grpc"]
        bare = grpc.ssl_channel_credentials(root)
        full = grpc.ssl_channel_credentials(root, *mine)
        assert await works(grpc.aio.secure_channel(address, full))
        assert await works(grpc.aio.secure_channel(address, bare)) is not mutual
        assert not await works(grpc.aio.insecure_channel(address))
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    asyncio.run(run())


def test_the_client_speaks_tls_to_a_match_service_that_its_ca_has_signed(redis_url, nats_url, files):
    """And to no other, nor to one without TLS."""
    tls = settings_for(redis_url, nats_url, grpc_tls_cert=files / "server.crt", grpc_tls_key=files / "server.key")
    root = (files / "ca.crt").read_bytes()

    async def works(address: str, ca: bytes | None) -> bool:
        client = await Client.connect(address, nats_url, ca=ca)
        try:
            await client.stub.ListGames(pb.ListGamesRequest(), timeout=2)
        except grpc.aio.AioRpcError:
            return False
        finally:
            await client.close()
        return True

    async def run() -> None:
        for settings, good, bad in (
            (tls, root, [None, (files / "client.crt").read_bytes()]),
            (settings_for(redis_url, nats_url), None, [root]),
        ):
            ready = asyncio.get_running_loop().create_future()
            serving = asyncio.create_task(serve(settings, ready.set_result))
            address = (await asyncio.wait_for(ready, 20))["grpc"]
            assert await works(address, good)
            for ca in bad:
                assert not await works(address, ca)
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    asyncio.run(run())


def test_play_takes_a_ca_only_for_a_server_and_only_one_that_is_there(files, tmp_path):
    for arguments, said in (
        (["--ca", str(files / "ca.crt")], "--ca is of a --server"),
        (["--server", "127.0.0.1:1", "--ca", str(tmp_path / "none")], "does not exist"),
    ):
        result = CliRunner().invoke(app, ["play", "timos_twist", *arguments], env={"COLUMNS": "200"})
        assert result.exit_code == 2
        assert said in result.output


@in_loop
async def test_redis_is_spoken_to_over_tls_with_the_ca_of_the_settings(files, redis_server):
    """A server whose certificate another CA signed is not spoken to. A terminator stands in front of it."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(files / "server.crt", files / "server.key")

    async def pass_on(reader, writer) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
        writer.close()

    async def serve_tls(reader, writer) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", redis_server.port)
        await asyncio.gather(pass_on(reader, inner_writer), pass_on(inner_reader, writer))

    async with await asyncio.start_server(serve_tls, "127.0.0.1", 0, ssl=context) as tls:
        url = f"rediss://127.0.0.1:{tls.sockets[0].getsockname()[1]}/0"
        store = Store(load(redis_url=url, redis_tls_ca=files / "ca.crt"))
        assert await store.time() > 0
        await store.close()
        other = Store(load(redis_url=url))
        with pytest.raises(RedisError):
            await other.time()
        await other.close()
        await asyncio.sleep(0.1)
