"""The contract of the bus, on a real nats-server that is killed, restarted and paused."""

import asyncio
import re
import ssl
import time
from typing import Self

import pytest

from services import bus as module
from services.bus import Access, Bus, BusDown, Connection, NoAnswer
from services.local import NatsServer, free_port
from tests.attacks.spy import Tap
from tests.clusters import NatsCluster
from tests.services.front import PATIENCE_S, in_loop, until


class Listener:
    """Another client, on a connection of its own, that notes every message of all subjects."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.heard: list[tuple[str, bytes]] = []

    async def __aenter__(self) -> Self:
        async def note(message):
            self.heard.append((message.subject, message.data))

        self._client = Connection()
        await self._client.connect(self.url, max_reconnect_attempts=-1, reconnect_time_wait=0.05)
        await self._client.subscribe("t.>", cb=note)
        await self._client.flush()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    async def comes(self, subject: str) -> None:
        await until(lambda: any(name == subject for name, _ in self.heard))


pytestmark = pytest.mark.containers


@pytest.fixture
def nats_url(open_nats_url):
    return open_nats_url


@pytest.fixture
def server(tmp_path):
    """A server of the test's own, to be harmed."""
    with NatsServer(tmp_path) as server:
        yield server


@in_loop
async def test_messages_arrive_in_order_before_publish_returns(nats_url):
    bus = await Bus.connect(nats_url, "test")
    async with Listener(nats_url) as listener:
        await bus.publish([("t.a", b"%d" % n) for n in range(500)])
        await listener._client.flush()
        assert [data for _, data in listener.heard] == [b"%d" % n for n in range(500)]
    await bus.close()


@in_loop
async def test_publishing_nothing_is_confirmed_too(nats_url):
    bus = await Bus.connect(nats_url, "test")
    await bus.publish([])
    await bus.close()
    with pytest.raises(BusDown):
        await bus.publish([])


@in_loop
async def test_while_there_is_no_connection_nothing_is_published_and_nothing_kept_for_later(server):
    bus = await Bus.connect(server.url, "test")
    server.kill()
    await until(lambda: not bus.connected)
    with pytest.raises(BusDown):
        await bus.publish([("t.lost", b"")])
    await bus.send("t.lost_too", b"")
    server.start()
    await bus.wait_connected()
    async with Listener(server.url) as listener:
        await until(lambda: bus.connected)

        await bus.publish([("t.new", b"")])
        await listener.comes("t.new")
        assert [subject for subject, _ in listener.heard] == ["t.new"]
    await bus.close()


@in_loop
async def test_a_restart_of_the_server_during_a_publish_makes_it_fail_although_the_connection_is_back(server):
    bus = await Bus.connect(server.url, "test")
    generation = bus.generation
    server.pause()
    publishing = asyncio.create_task(bus.publish([("t.first", b""), ("t.second", b"")]))
    await asyncio.sleep(0)
    server.kill()  # one that is told to stop may answer before
    server.start()
    await until(lambda: bus.generation >= generation + 2 and bus.connected)
    with pytest.raises(BusDown, match="broke while publishing"):
        await publishing
    assert bus.connected
    await bus.publish([("t.a", b"")])
    await bus.close()


@in_loop
async def test_a_server_that_dies_before_it_answers_makes_the_publish_fail_at_once(server, monkeypatch):
    bus = await Bus.connect(server.url, "test")
    monkeypatch.setattr(module, "FLUSH_TIMEOUT_S", 60)
    server.pause()
    publishing = asyncio.create_task(bus.publish([("t.a", b"")]))
    await asyncio.sleep(0)
    server.kill()
    async with asyncio.timeout(30):
        with pytest.raises(BusDown):
            await publishing
    await bus.close()


@in_loop
async def test_a_server_that_does_not_answer_makes_the_publish_fail_and_costs_nothing_but_the_connection(
    server, monkeypatch
):
    """nats-py is left without a reader by an answer that comes too late, and then takes every flush for answered."""
    bus = await Bus.connect(server.url, "test")
    heard = []

    async def note(message):
        heard.append(message.data)

    await bus.subscribe("t.a", note)
    monkeypatch.setattr(module, "FLUSH_TIMEOUT_S", 0.2)
    generation = bus.generation
    server.pause()
    with pytest.raises(BusDown):
        await bus.publish([("t.a", b"1")])
    monkeypatch.setattr(module, "FLUSH_TIMEOUT_S", 60)
    server.resume()
    await until(lambda: bus.generation >= generation + 2 and bus.connected)
    await bus.publish([("t.a", b"2")])
    await until(lambda: b"2" in heard)
    await bus.close()


FULL = [("t.full", bytes(900_000))] * 20
"""More than a connection holds on its way to a server that takes nothing."""


@in_loop
async def test_a_server_that_stands_still_with_all_that_it_was_sent_is_left_for_another(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FLUSH_TIMEOUT_S", 0.2)
    with NatsCluster(tmp_path, 2) as cluster:
        bus = await Bus.connect(cluster.url, "test")
        still = next(node for node in cluster.nodes if node.port == bus._client.connected_url.port)
        still.pause()
        with pytest.raises(BusDown, match="did not answer"):
            await bus.publish(FULL)
        monkeypatch.setattr(module, "FLUSH_TIMEOUT_S", 60)
        await until(lambda: bus.connected)
        await bus.publish([("t.a", b"")])
        await bus.close()


@in_loop
@pytest.mark.parametrize("step", ["_connect_to_server", "_process_connect_init"])
async def test_an_attempt_that_fails_in_an_unforeseen_way_is_followed_by_another(server, monkeypatch, step):
    """uvloop raises RuntimeError where something is written to a socket that has just been closed."""
    bus = await Bus.connect(server.url, "test")
    works = getattr(Connection, step)
    failures = [RuntimeError("the handler is closed"), AttributeError("_transport")]

    async def fails_at_first(*args):
        await works(*args)
        if failures:
            raise failures.pop()

    monkeypatch.setattr(Connection, step, fails_at_first)
    generation = bus.generation
    server.restart()
    await until(lambda: not failures and bus.generation >= generation + 2 and bus.connected)
    await bus.publish([("t.a", b"")])
    await bus.close()


@in_loop
async def test_a_connection_that_is_on_its_way_to_tls_is_given_up_with_its_caller():
    """Nobody is told of the end of such a one, so nothing may wait for it."""
    greeted = asyncio.Event()

    async def greet(reader, writer):
        writer.write(b'INFO {"server_id":"s","version":"2.11.0","max_payload":1048576,"tls_required":true}\r\n')
        await reader.read(1)
        greeted.set()
        await reader.read()
        writer.close()

    listener = await asyncio.start_server(greet, "127.0.0.1", 0)
    url = f"tls://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    connecting = asyncio.create_task(Bus.connect(url, "test", Access(tls=ssl.create_default_context())))
    async with asyncio.timeout(PATIENCE_S):
        await greeted.wait()
        connecting.cancel()
        await asyncio.wait({connecting})
    assert connecting.cancelled()
    listener.close()


@in_loop
async def test_what_becomes_of_a_client_that_was_replaced_is_nothing_to_the_bus(server):
    bus = await Bus.connect(server.url, "test")
    replaced = bus._client
    await bus.open()
    generation = bus.generation
    await replaced.force_reconnect()
    await until(lambda: replaced.is_connected and replaced.stats["reconnects"] == 1)
    await replaced.close()
    assert (bus.connected, bus.generation, bus._reopening) == (True, generation, None)
    await bus.publish([("t.a", b"")])
    await bus.close()


@in_loop
async def test_a_connection_to_a_server_that_stands_still_is_closed_whoever_gave_it_up(server, monkeypatch):
    """Also while it is just being given up."""
    monkeypatch.setattr(module, "FLUSH_TIMEOUT_S", 0.2)
    async with asyncio.timeout(PATIENCE_S):
        for gives_up in (False, True):
            bus = await Bus.connect(server.url, "test")
            server.pause()
            publishing = asyncio.create_task(bus.publish(FULL))
            await asyncio.sleep(0)
            if gives_up:
                with pytest.raises(BusDown, match="did not answer"):
                    await publishing
            await bus.close()
            assert not bus.connected
            await asyncio.gather(publishing, return_exceptions=True)
            server.resume()


@in_loop
async def test_the_generation_tells_of_a_loss_that_nobody_saw(server):
    bus = await Bus.connect(server.url, "test")
    before = bus.generation
    await bus.publish([("t.a", b"")])
    assert bus.generation == before
    server.restart()
    await until(lambda: bus.generation >= before + 2)
    await until(lambda: bus.connected)
    await bus.close()


@in_loop
async def test_it_waits_for_a_server_that_is_not_there_yet(tmp_path):
    server = NatsServer(tmp_path, port=free_port())
    connecting = asyncio.create_task(Bus.connect(f"nats://127.0.0.1:{server.port}", "test"))
    await asyncio.sleep(0.2)
    assert not connecting.done()
    with server:
        bus = await connecting
        await bus.publish([("t.a", b"")])
        await bus.close()


@in_loop
async def test_subscriptions_go_on_after_a_reconnect(server):
    bus = await Bus.connect(server.url, "test")
    heard = []

    async def note(message):
        heard.append(message.data)

    await bus.subscribe("t.a", note)
    stopped = await bus.subscribe("t.a", note)
    await bus.publish([("t.a", b"1")])
    await until(lambda: heard == [b"1", b"1"])
    await bus.unsubscribe(stopped)
    generation = bus.generation
    server.restart()
    await until(lambda: bus.generation > generation + 1 and bus.connected)
    await bus.publish([("t.a", b"2")])
    await until(lambda: heard == [b"1", b"1", b"2"])
    await bus.close()


@in_loop
async def test_a_subscription_made_while_there_is_no_connection_begins_with_the_next_one(server):
    bus = await Bus.connect(server.url, "test")
    heard = []

    async def note(message):
        heard.append(message.data)

    server.kill()
    await until(lambda: not bus.connected)
    await bus.subscribe("t.a", note)
    server.start()
    await until(lambda: bus.connected)
    await bus.publish([("t.a", b"1")])
    await until(lambda: heard == [b"1"])
    await bus.close()


@in_loop
async def test_it_comes_back_with_its_subscriptions_after_an_error_of_the_protocol(server):
    """nats-py gives a connection up for good when the server names an error, as for a slow consumer."""
    bus = await Bus.connect(server.url, "test")
    heard = []

    async def note(message):
        heard.append(message.data)

    await bus.subscribe("t.a", note)
    stopped = await bus.subscribe("t.b", note)
    await bus.unsubscribe(stopped)
    generation = bus.generation
    bus._client._transport.write(b"NONSENSE\r\n")
    await until(lambda: bus.generation >= generation + 2)
    await bus.wait_connected()
    await bus.publish([("t.a", b"1"), ("t.b", b"2"), ("t.a", b"3")])
    await until(lambda: b"3" in heard)
    assert heard == [b"1", b"3"]
    await bus.close()


@in_loop
async def test_a_question_is_answered_by_who_listens(nats_url):
    asking, answering = await Bus.connect(nats_url, "test"), await Bus.connect(nats_url, "test")

    async def answer(message):
        await answering.send(message.reply, message.data * 2)

    await answering.subscribe("t.question", answer)
    assert await asking.request("t.question", b"ab", 5) == b"abab"
    await asking.close()
    await answering.close()


@in_loop
async def test_a_question_that_nobody_listens_to_fails_at_once(nats_url):
    bus = await Bus.connect(nats_url, "test")
    begun = time.monotonic()
    with pytest.raises(NoAnswer):
        await bus.request("t.nobody", b"", 60)
    assert time.monotonic() - begun < 30
    await bus.close()


@in_loop
async def test_a_question_that_nobody_answers_fails_after_its_time(nats_url):
    bus = await Bus.connect(nats_url, "test")

    async def silent(message):
        pass

    await bus.subscribe("t.silent", silent)
    with pytest.raises(NoAnswer):
        await bus.request("t.silent", b"", 0.1)
    await bus.close()


@in_loop
async def test_a_question_without_a_connection_fails(server):
    bus = await Bus.connect(server.url, "test")
    server.kill()
    await until(lambda: not bus.connected)
    for _ in range(20):
        with pytest.raises(NoAnswer):
            await bus.request("t.a", b"", 0.2)
    assert not bus._client._resp_map, "nothing is remembered of questions that were not asked"
    await bus.close()


@pytest.mark.parametrize("turns", range(1, 6))
@in_loop
async def test_whoever_is_cancelled_while_he_subscribes_leaves_nothing_behind(server, turns):
    """Wherever he waits just then, and also where the server answers late."""
    async with Tap("127.0.0.1", server.port) as tap:
        bus = await Bus.connect(f"nats://{tap.address}", "test")
        subscribing = asyncio.create_task(bus.subscribe("t.a", None))
        tap.open.clear()
        for _ in range(turns):
            await asyncio.sleep(0)
        subscribing.cancel()
        await asyncio.gather(subscribing, return_exceptions=True)
        tap.open.set()
        await until(lambda: not bus._subscriptions and not bus._client._subs)
        await bus.close()


@in_loop
async def test_a_message_above_the_limit_of_the_server_does_not_hold_up_the_others(nats_url):
    bus = await Bus.connect(nats_url, "test")
    async with Listener(nats_url) as listener:
        await bus.publish([("t.a", b"1"), ("t.large", bytes(2 * 1024 * 1024)), ("t.b", b"2")])
        await listener.comes("t.b")
        assert [subject for subject, _ in listener.heard] == ["t.a", "t.b"]
    await bus.close()


@in_loop
async def test_what_a_flush_confirms_was_sent_before_it(server):
    """Also while earlier messages still wait to be written: no answer can come before the server has all."""
    async with Tap("127.0.0.1", server.port) as tap:
        bus = await Bus.connect(f"nats://{tap.address}", "test")
        await bus._client.subscribe("t.early")
        await bus._client.flush()
        assert tap.said.index(b"SUB t.early ") < tap.said.rindex(b"PING\r\n")
        tap.open.clear()
        for _ in range(20):
            await bus.send("t.large", bytes(1_000_000))
            await asyncio.sleep(0)
        publishing = asyncio.create_task(bus.publish([("t.last", b"last")]))
        subscribing = asyncio.create_task(bus.subscribe("t.late", None))
        await asyncio.sleep(0.1)
        tap.open.set()
        await asyncio.gather(publishing, subscribing)
        sent = bytes(tap.said)
        pings = [found.start() for found in re.finditer(rb"PING\r\n", sent)][-2:]
        assert sent.index(b"PUB t.last ") < pings[0]
        assert sent.index(b"SUB t.late ") < pings[1]
        await bus.close()


@in_loop
async def test_after_close_it_stays_away(server):
    bus = await Bus.connect(server.url, "test")
    await bus.close()
    server.restart()
    await asyncio.sleep(0.3)
    assert not bus.connected
    with pytest.raises(BusDown):
        await bus.publish([("t.a", b"")])
    await bus.send("t.a", b"")
