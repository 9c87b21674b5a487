"""How a load listens to NATS."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from services.bus import Connection
from services.load import nats_listener
from services.load.match import Seat
from services.load.nats_listener import Listener, NatsError
from services.load.plan import Share
from services.load.viewers import NatsViews
from services.local import NatsServer
from tests.services.load.planned import plan


def test_messages_are_told_apart_however_the_bytes_arrive():
    stream = (
        b'INFO {"auth_required":true}\r\nPING\r\nMSG view.a.0 1 5\r\nhello\r\n+OK\r\nMSG view.b 2 _INBOX.x 0\r\n\r\n'
        b"PONG\r\nMSG view.a.0 1 6\r\nM\r\nPI\n\r\n-ERR 'Slow Consumer'\r\nMSG gone 9 2\r\nno\r\n"
    )

    async def parsed(cuts: list[int]) -> tuple[list[tuple[int, bytes]], str, bool, bytes]:
        listener = Listener(["nats://x"], lambda: None)
        got: list[tuple[int, bytes]] = []
        listener.takers = {sid: lambda data, sid=sid: got.append((sid, data)) for sid in (1, 2)}
        wire_ = nats_listener._Wire(listener)
        answers: list[bytes] = []
        wire_.write = answers.append  # type: ignore[method-assign]
        pong = asyncio.get_running_loop().create_future()
        wire_.pongs.append(pong)
        for start, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True):
            wire_.data_received(stream[start:stop])
        assert (await wire_.info)["auth_required"]
        return got, wire_.error, pong.done(), b"".join(answers)

    expected = ([(1, b"hello"), (2, b""), (1, b"M\r\nPI\n")], "-ERR 'Slow Consumer'", True, b"PONG\r\n")
    assert expected == asyncio.run(parsed([]))
    for cut in range(1, len(stream)):
        assert expected == asyncio.run(parsed([cut]))
    assert expected == asyncio.run(parsed(list(range(1, len(stream)))))


def test_a_listener_comes_back_by_itself_and_says_so(tmp_path):
    async def scene(url: str) -> list[bytes]:
        got: list[bytes] = []
        back = asyncio.Event()
        listener = Listener([url], back.set)
        await listener.connect()
        sid = listener.subscribe("view.a", got.append)
        await listener.flush()
        client = Connection()
        await client.connect(url)
        async with client:
            await client.publish("view.a", b"one")
            await client.flush()
            await listener.flush()
            listener.drop()
            async with asyncio.timeout(10):
                await back.wait()
            await client.publish("view.a", b"two")
            await client.flush()
            await listener.flush()
            listener.unsubscribe(sid)
            await listener.flush()
            await client.publish("view.a", b"three")
            await client.flush()
            await listener.flush()
        listener.close()
        with pytest.raises(NatsError):
            await listener.flush()
        return got

    with NatsServer(tmp_path) as server:
        assert asyncio.run(scene(server.url)) == [b"one", b"two"]


def test_a_place_whose_connection_could_not_be_made_gets_another_one_when_nats_is_back(tmp_path):
    server = NatsServer(tmp_path)
    with server:
        url = server.url
    crowd: Any = SimpleNamespace(plan=plan(nats=url), share=Share(plan(), 0, 1), login=None)
    match: Any = SimpleNamespace(slot=0, crowd=SimpleNamespace(sight=None))
    seat = Seat(match, 0, "", 1)

    async def scene() -> None:
        views = NatsViews(crowd)
        with pytest.raises(NatsError, match="cannot be listened to"):
            await views.show(seat, "view.a")
        with server:
            await views.show(seat, "view.a")
            await views.flush([seat])
            assert await views.silent(5.0) == ""
            await views.close()

    asyncio.run(scene())


def test_a_listener_shows_a_token_where_one_is_needed_and_says_why_it_was_not_let_in(tmp_path):
    async def connect(url: str, token: str | None) -> Listener:
        listener = Listener([url], lambda: None)
        await listener.connect(token)
        listener.close()
        return listener

    with NatsServer(tmp_path, config_extra='authorization { token: "seat" }') as server:
        assert asyncio.run(connect(server.url, "seat")).needs_token
        with pytest.raises(NatsError, match="Authorization Violation"):
            asyncio.run(connect(server.url, "forged"))
