"""The coordinator of a load and its workers: who is let in, what is added up, who is missed."""

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from services.load import talk
from services.load.coordinator import Coordinator, PhaseName
from services.load.cpu import Processes
from services.load.report import remarks, report
from services.load.run import dialled
from services.load.worker import _advice, work
from services.local import NatsServer, free_port
from services.play_stream import RefusedError
from tests.services.load.planned import PLAN, SECRET, conducted, fake_worker, knock, plan


def test_who_does_not_know_the_secret_is_not_let_in_and_never_hears_of_the_plan():
    async def scene() -> Coordinator:
        coordinator = Coordinator(PLAN, SECRET, Processes({}))
        address = await coordinator.listen("127.0.0.1", 0)
        with pytest.raises(talk.TalkError, match="wrong CROUPIER_LOAD_SECRET"):
            await knock(address, "guess")
        await coordinator.close()
        return coordinator

    coordinator = asyncio.run(scene())
    assert (coordinator.hands, coordinator.strangers) == ([], 1)
    assert "turned away" in remarks(report(coordinator))[0]


def test_a_worker_does_not_believe_a_coordinator_without_the_secret():
    async def impostor(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        other = talk.Talk(reader, writer)
        other.send(talk.Challenge("00"))
        await other.receive()
        other.send(talk.Welcome("00"))
        await other.close()

    async def scene() -> None:
        server = await asyncio.start_server(impostor, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        with pytest.raises(talk.TalkError, match="does not know the secret"):
            await knock(f"{host}:{port}", SECRET)
        server.close()
        await server.wait_closed()

    asyncio.run(scene())


def test_what_workers_saw_is_added_up_without_the_warm_up():
    coordinator, slots = conducted({}, {})
    assert sorted(slot for share in slots for slot in share) == [0, 1, 2, 3]
    found = report(coordinator)
    assert (found.moves, found.behind, found.checked.matches, found.checked.moves) == (50, 6, 4, 50)
    assert found.view.max == pytest.approx(4, rel=0.001)
    assert found.seconds == pytest.approx(1.5)
    assert found.moves_per_s == pytest.approx(50 / 1.5, rel=0.01)
    assert found.good
    assert any("6 moves were due" in remark for remark in remarks(msgspec.structs.replace(found, plan=plan(rate=9.0))))


def test_a_worker_that_breaks_down_ends_the_run_and_is_named():
    coordinator, _ = conducted({}, {"fails": "out of luck"})
    found = report(coordinator)
    assert not found.good
    assert found.problems == ["worker host/7: out of luck; the journals of its matches were not looked at"]
    assert found.checked.matches == 2


def test_what_all_workers_found_at_the_end_is_said_once_and_what_one_did_is_said_of_him():
    both, _ = conducted({"tells": "NATS is gone"}, {"tells": "NATS is gone"})
    assert (both.problems, both.unanswered, both.lost_views) == (["NATS is gone"], 2, 4)
    assert not report(both).good
    one, _ = conducted({"tells": "NATS is gone"}, {})
    assert one.problems == ["host/7: NATS is gone"]


def test_workers_elsewhere_are_told_a_name_that_they_can_reach():
    assert dialled("0.0.0.0:7070", "bigbox") == "bigbox:7070"
    assert dialled("10.0.0.5:7070", "bigbox") == "10.0.0.5:7070"


@pytest.mark.parametrize("person", [True, False])
def test_a_person_who_joins_is_told_how_it_goes_and_a_program_that_it_is_ready(person, monkeypatch, capsys):
    port = free_port()

    async def let_one_in_and_go() -> None:
        coordinator = Coordinator(PLAN, SECRET, Processes({}))
        await coordinator.listen("127.0.0.1", port)
        await coordinator.run(2, 60, lambda: coordinator.stop.set() if coordinator.hands else None)
        await coordinator.close()

    monkeypatch.setattr("sys.stdout.isatty", lambda: person)
    coordinating = threading.Thread(target=lambda: asyncio.run(let_one_in_and_go()))
    coordinating.start()
    assert work(f"127.0.0.1:{port}", SECRET) == "the run was stopped before it began"
    coordinating.join()
    said = capsys.readouterr().out
    assert (said.startswith("knocking at") and "joined: " in said) == person
    assert ('"event": "ready"' in said) != person


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("DEADLINE_EXCEEDED", "the match service at 127.0.0.1:1: DEADLINE_EXCEEDED: said"),
        ("NO_OWNER", "NO_OWNER: said; does an engine worker run there, and reach Redis and NATS?"),
        ("NOT_OPERATOR", "NOT_OPERATOR: said; set CROUPIER_OPERATOR_KEY to the server's key where each worker starts"),
        ("BAD_OPTIONS", "BAD_OPTIONS: said"),
    ],
)
def test_what_a_run_cannot_begin_without_is_named_with_who_or_what_is_missing(reason, expected):
    crowd: Any = SimpleNamespace(plan=PLAN)
    assert _advice(RefusedError(reason, "said", {}, again=False), crowd) == expected


def test_who_joins_early_waits_for_the_others_and_is_told_if_they_do_not_come():
    port = free_port()

    async def wait_in_vain() -> None:
        coordinator = Coordinator(PLAN, SECRET, Processes({}))
        await coordinator.listen("127.0.0.1", port)
        await coordinator.run(2, 2.5, lambda: None)  # it says meanwhile that it is there
        await coordinator.close()

    coordinating = threading.Thread(target=lambda: asyncio.run(wait_in_vain()))
    coordinating.start()
    assert work(f"127.0.0.1:{port}", SECRET) == "1 of 2 workers came within 2.5 s"
    coordinating.join()


def test_who_says_nothing_for_too_long_is_lost_on_either_side(monkeypatch):
    monkeypatch.setattr("services.load.coordinator.SILENT_S", 0.3)
    monkeypatch.setattr("services.load.worker.SILENT_S", 0.3)
    monkeypatch.setattr("services.load.worker.BEAT_S", 0.1)

    async def silent_worker() -> Coordinator:
        coordinator = Coordinator(PLAN, SECRET, Processes({}))
        worker = asyncio.create_task(knock(await coordinator.listen("127.0.0.1", 0), SECRET))
        await coordinator.run(1, 5, lambda: None)
        await coordinator.close()
        await (await worker).close()
        return coordinator

    assert asyncio.run(silent_worker()).problems == ["worker host/7: silent for 0.3 s"]

    said = threading.Event()
    port = free_port()

    async def silent_coordinator() -> None:
        coordinator = Coordinator(PLAN, SECRET, Processes({}))
        await coordinator.listen("127.0.0.1", port)
        await asyncio.to_thread(said.wait)
        await coordinator.close()

    coordinating = threading.Thread(target=lambda: asyncio.run(silent_coordinator()))
    coordinating.start()
    assert work(f"127.0.0.1:{port}", SECRET) == "the coordinator has been silent for 0.3 s"
    said.set()
    coordinating.join()


def test_whoever_listens_but_coordinates_no_load_is_told_apart(tmp_path):
    with NatsServer(tmp_path) as server:
        address = server.url.removeprefix("nats://")
        assert work(address, SECRET) == f"{address}: whoever listens there is no coordinator of a load"


@pytest.mark.parametrize(("phase", "interrupted"), [("measuring", True), ("ending", False)])
def test_only_a_stop_before_its_time_interrupts_a_run(phase, interrupted):
    async def scene() -> Coordinator:
        coordinator = Coordinator(plan(seconds=0.5, warm_up=0.1), SECRET, Processes({}))
        working = asyncio.create_task(fake_worker(await coordinator.listen("127.0.0.1", 0)))
        enter = coordinator._enter

        def entered(now: PhaseName) -> None:
            enter(now)
            if now == phase:
                coordinator.stop.set()

        coordinator._enter = entered  # type: ignore[method-assign]
        await coordinator.run(1, 5, lambda: None)
        await coordinator.close()
        await working
        return coordinator

    assert report(asyncio.run(scene())).interrupted == interrupted


def test_workers_that_do_not_come_are_not_waited_for_for_ever():
    async def scene() -> Coordinator:
        coordinator = Coordinator(PLAN, SECRET, Processes({}))
        await coordinator.listen("127.0.0.1", 0)
        await coordinator.run(2, 0.2, lambda: None)
        await coordinator.close()
        return coordinator

    assert asyncio.run(scene()).problems == ["0 of 2 workers came within 0.2 s"]
