"""The courier on a real Redis and a real NATS, with an owner that does what the test says."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from services.bus import Bus
from services.commands import Receipt, Start, Submit, match_id
from services.local import NatsServer, RedisServer
from services.match.receipts import MEASURED_EACH_S, Courier
from services.metrics import Metrics
from services.settings import Settings
from services.store import Store
from services.store.keys import moves_key
from tests.services.front import peek
from tests.services.guard import AS_MATCH
from tests.services.match_front import ScriptedOwner, settings_for, until

MATCH = match_id(bytes(16), 4)
MOVE = Submit(MATCH, 0, 1, 3, b'{"draw":{}}')


class Sent:
    """A courier with its parts."""

    def __init__(self, settings: Settings, store: Store, bus: Bus) -> None:
        self.store, self.bus, self.metrics = store, bus, Metrics()
        self.courier = Courier(settings, store, bus, self.metrics)

    def call(self, command=MOVE, within: float = 5.0):
        return self.courier.call(command, asyncio.get_running_loop().time() + within)

    def count(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(f"croupier_{name}_total", labels) or 0.0


@asynccontextmanager
async def sending(settings: Settings):
    store = await Store(settings).open()
    bus = await Bus.connect(settings.nats_url, "test", AS_MATCH)
    sent = Sent(settings, store, bus)
    await sent.courier.open()
    try:
        yield sent
    finally:
        await sent.courier.close()
        await bus.close()
        await store.close()


@pytest.fixture
def settings(redis_url: str, nats_url: str) -> Settings:
    return settings_for(redis_url, nats_url, receipt_query_ms=100, deadline_ms=2000)


@pytest.fixture
def owner(settings: Settings) -> ScriptedOwner:
    return ScriptedOwner(settings)


def accepting(envelope) -> Receipt:
    return Receipt(envelope.id, version=7)


def test_a_command_gets_the_receipt_that_names_it(settings, owner):
    owner.decide = lambda envelope: Receipt(envelope.id, version=envelope.command.prompt)

    async def run():
        async with owner.at_work(), sending(settings) as sent:
            commands = [Submit(MATCH, 0, 1, prompt, b"{}") for prompt in range(300)]
            receipts = await asyncio.gather(*map(sent.call, commands))
            assert [receipt.version for receipt in receipts] == list(range(300))
            assert [envelope.command for envelope in owner.arrived] == commands
            assert {envelope.service for envelope in owner.arrived} == {sent.courier.service}
            assert len(sent.courier) == 0
            assert sent.count("receipts", result="accepted") == 300

    asyncio.run(run())


def test_a_refusal_is_a_receipt(settings, owner):
    owner.decide = lambda envelope: Receipt(envelope.id, None, "STALE_PROMPT", "old", {"prompt": 9})

    async def run():
        async with owner.at_work(), sending(settings) as sent:
            receipt = await sent.call()
            assert (receipt.reason, receipt.fields) == ("STALE_PROMPT", {"prompt": 9})
            assert sent.count("receipts", result="STALE_PROMPT") == 1

    asyncio.run(run())


def test_a_receipt_that_does_not_come_is_asked_for_and_the_command_not_sent_again(settings, owner):
    asked = []

    def outcome(command):
        asked.append(command)
        return Receipt(0, version=5) if len(asked) == 2 else None

    owner.outcome = outcome

    async def run():
        async with owner.at_work(), sending(settings) as sent:
            assert (await sent.call()).version == 5
            assert asked == [MOVE, MOVE]
            assert len(owner.arrived) == 1
            assert sent.count("receipt_queries") == 2

    asyncio.run(run())


def test_a_receipt_in_time_is_not_asked_for(settings, owner):
    owner.decide = accepting

    async def run():
        async with owner.at_work(), sending(settings) as sent:
            await sent.call()
            await asyncio.sleep(0.4)
            assert owner.asked == []

    asyncio.run(run())


@pytest.mark.parametrize("answers", [True, False], ids=["an owner who does not know", "a silent owner"])
def test_what_stays_open_until_its_deadline_is_told_to_be_unknown(settings, owner, answers):
    owner.answers = answers

    async def run():
        async with owner.at_work(), sending(settings) as sent:
            start = asyncio.get_running_loop().time()
            assert (await sent.call(within=0.6)).reason == "OUTCOME_UNKNOWN"
            assert 0.6 <= asyncio.get_running_loop().time() - start < 2
            assert owner.asked
            assert len(owner.arrived) == 1

    asyncio.run(run())


def test_a_deadline_before_the_first_question_holds(settings, owner):
    async def run():
        async with owner.at_work(), sending(settings) as sent:
            start = asyncio.get_running_loop().time()
            assert (await sent.call(within=0.03)).reason == "OUTCOME_UNKNOWN"
            assert asyncio.get_running_loop().time() - start < 1
            assert owner.asked == []

    asyncio.run(run())


def test_without_an_owner_the_outcome_is_unknown(settings):
    async def run():
        async with sending(settings) as sent:
            assert (await sent.call(within=0.5)).reason == "OUTCOME_UNKNOWN"

    asyncio.run(run())


def test_a_late_receipt_and_one_that_comes_twice_do_no_harm(settings, owner):
    async def run():
        async with owner.at_work(), sending(settings) as sent:
            assert (await sent.call(within=0.05)).reason == "OUTCOME_UNKNOWN"
            owner.decide = accepting
            for _ in range(2):
                await owner.bus.send(f"receipts.{sent.courier.service}", b"\x91\x92\x01\x05")
                await owner.bus.send(f"receipts.{sent.courier.service}", b"nonsense")
            assert (await sent.call()).version == 7

    asyncio.run(run())


def test_over_its_limit_a_partition_takes_nothing_until_it_is_looked_at_again(redis_url, nats_url):
    settings = settings_for(redis_url, nats_url, intake_limit=3)

    async def run():
        async with sending(settings) as sent:
            other = next(match for n in range(99) if (match := match_id(bytes([n]) * 16, 4))[:3] != MATCH[:3])
            for length in range(1, 5):
                sent.courier.send(MOVE, 1e12, Forgetful())
                await until(lambda length=length: appended(sent, length))
                await asyncio.sleep(MEASURED_EACH_S * 1.5)
            await until(lambda: sent.courier._full)
            assert (await sent.call(within=0.1)).reason == "OVERLOADED"
            assert sent.courier.send(Start(other), 1e12, Forgetful()) is None
            length = await peek(sent.store, "XLEN", moves_key(int(MATCH[:3])))
            assert length == 4
            await peek(sent.store, "DEL", moves_key(int(MATCH[:3])))
            await asyncio.sleep(0.25)
            assert sent.courier.send(MOVE, 1e12, Forgetful()) is None
            await asyncio.sleep(MEASURED_EACH_S * 1.5)
            assert sent.courier.send(MOVE, 1e12, Forgetful()) is None

    asyncio.run(run())


async def appended(sent: Sent, count: int) -> bool:
    return bool(await peek(sent.store, "XLEN", moves_key(int(MATCH[:3]))) == count)


class Forgetful:
    def settle(self, tag, receipt):
        """Nobody waits."""


def test_a_caller_that_goes_takes_nothing_back(settings, owner):
    owner.decide = accepting

    async def run():
        async with owner.at_work(), sending(settings) as sent:
            call = asyncio.create_task(sent.call())
            await asyncio.sleep(0)
            call.cancel()
            await asyncio.sleep(0.3)
            assert [envelope.command for envelope in owner.arrived] == [MOVE]
            assert len(sent.courier) == 0

    asyncio.run(run())


def test_without_redis_the_outcome_is_open_and_without_nats_nothing_is_sent(tmp_path):
    with RedisServer(tmp_path / "redis") as redis, NatsServer(tmp_path / "nats") as nats:
        settings = settings_for(redis.url, nats.url, receipt_query_ms=100)

        async def run():
            async with sending(settings) as sent:
                redis.kill()
                assert (await sent.call(within=30)).reason == "INTERRUPTED"
                nats.kill()
                await until(lambda: not sent.bus.connected)
                assert (await sent.call()).reason == "NO_OWNER"
                nats.start()
                redis.start()
                await sent.bus.wait_connected()
                sent.courier.send(MOVE, 1e12, Forgetful())
                await until(lambda: appended(sent, 1))

        asyncio.run(run())


def test_what_was_given_up_before_it_could_be_appended_is_not_appended_later(tmp_path, nats_url):
    with RedisServer(tmp_path / "redis") as redis:
        settings = settings_for(redis.url, nats_url, receipt_query_ms=100)

        async def run():
            async with sending(settings) as sent:
                redis.pause()
                first = asyncio.create_task(sent.call(within=0.3))  # on its way when Redis stops to answer
                await asyncio.sleep(0.05)
                second = asyncio.create_task(sent.call(within=0.2))  # waits for the round trip of the first
                assert (await first).reason == (await second).reason == "OUTCOME_UNKNOWN"
                redis.resume()
                await asyncio.sleep(0.2)
                assert await peek(sent.store, "XLEN", moves_key(int(MATCH[:3]))) == 1

        asyncio.run(run())


def test_what_is_open_at_the_end_is_answered(settings, owner):
    async def run():
        async with owner.at_work():
            async with sending(settings) as sent:
                call = asyncio.create_task(sent.call())
                await asyncio.sleep(0.05)
            assert (await call).reason == "INTERRUPTED"

    asyncio.run(run())
