"""Canaries: recognisable values in everything that is secret, searched in every byte that anybody else gets.

Seat 0 and a spectator look, try and break what they can, over gRPC and NATS. What they get, what is logged at the most
talkative level, and the metrics hold none of seat 1's cards, seeds, tokens and request ids, in any usual writing.
"""

import asyncio
import importlib.util
import io
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from prometheus_client import generate_latest

from croupier.v1 import match_service_pb2 as pb
from engine import registry
from engine.game import Card, Step
from services import logs
from services.commands import client_seed_of
from tests.attacks.spy import Spy, writings
from tests.services.match_front import OPERATOR, serving, settings_for, until, working

TINY = Path(__file__).parents[2] / "examples" / "tiny_game" / "lone_peak.py"
_spec = importlib.util.spec_from_file_location("canary_lone_peak", TINY)
lone_peak = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(lone_peak)

CARDS = tuple(f"canary-card-{number:02}" for number in range(12))
AS_OPERATOR = (("authorization", f"Bearer {OPERATOR}"),)


class CanaryPeak(lone_peak.LonePeak):
    """Lone Peak with a name of its own for every single card; and it can be made to fail with all that it knows."""

    name = "canary_peak"
    cards = tuple(Card(code, "peak", code, code) for code in CARDS)
    fails = False

    def count(self, code: str, seats: int) -> int:
        return 1

    def setup(self, options: Any, seats: int, chance: Any) -> Step[Any]:
        deck = chance.shuffle(CARDS)
        hands = tuple(tuple(sorted(deck[3 * seat : 3 * seat + 3])) for seat in range(seats))
        return Step(lone_peak.State(options, hands, (None,) * seats, (), (0,) * seats, deck[3 * seats :]), ())

    def apply(self, state: Any, seat: int, move: Any, chance: Any) -> Step[Any]:
        if CanaryPeak.fails:
            raise ValueError(f"cannot go on from {state}")
        return super().apply(state, seat, move, chance)


@pytest.fixture(autouse=True)
def _canary_game() -> Iterator[None]:
    game = CanaryPeak()
    registry.register(game)
    yield
    CanaryPeak.fails = False
    registry._registered().pop(game.rules)


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    stream = io.StringIO()
    yield stream
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    logging.captureWarnings(False)
    root.handlers, root.level = handlers, level


def lay(token: str, prompt: int, card: str) -> pb.SubmitMoveRequest:
    request = pb.SubmitMoveRequest(token=token, prompt=prompt)
    request.move.generic.name = "canary_peak"
    request.move.generic.data.update({"lay": {"card": card}})
    return request


def test_no_secret_of_another_reaches_anybody(redis_url: str, nats_url: str, logged: io.StringIO) -> None:
    async def run() -> None:
        settings = settings_for(redis_url, nats_url, operator_key=OPERATOR, log_level="debug")
        logs.configure(settings, "canaries", logged)
        async with working(settings) as worker, serving(settings) as served:
            stub, spy = served.stub, Spy()
            create_id, ids = b"canary-create-id", [b"canary-join-id-%d" % number for number in range(3)]
            seeds = [b"canary-client-seed-%d-0123456789" % number for number in range(2)]
            create = pb.CreateMatchRequest(request_id=create_id, private=True, seats=[pb.SeatSetup()] * 3)
            create.options.generic.name = "canary_peak"
            created = await stub.CreateMatch(create, metadata=AS_OPERATOR)
            match, invite = created.match, created.invite
            seats = []
            for number in range(3):
                request = pb.JoinMatchRequest(
                    match=match, request_id=ids[number], name=f"Player {number}", invite=invite, seat=number
                )
                if number < 2:
                    request.client_seed = seeds[number]
                joining = stub.JoinMatch(request)
                seats.append(await (spy.call(joining) if number == 0 else joining))
            watching = await spy.call(stub.Spectate(pb.SpectateRequest(match=match, invite=invite)))
            subscriptions = [
                await served.bus.subscribe(subject, spy.hear) for subject in (seats[0].subject, watching.subject)
            ]
            live = worker._matches._cache[match]
            state, server_seed, digest = live.match.state, live.match.seed, live.match.digest
            mine = set(state.hands[0])

            # Seat 1 lays a card; the round stays open, so nothing is uncovered.
            prompt = live.match.prompts[1]
            assert (await stub.SubmitMove(lay(seats[1].token, prompt, state.hands[1][0]))).version
            await until(lambda: sum(b"view." in got[:5] for got in spy.got) >= 2)

            # Seat 0 and the spectator look and try.
            token = seats[0].token
            for since in (None, 0, 2):
                await spy.call(stub.GetView(pb.GetViewRequest(token=token, since=since)))
                await spy.call(stub.GetView(pb.GetViewRequest(token=watching.token, since=since)))
            await spy.call(stub.GetView(pb.GetViewRequest(token=token, version=4)))
            for call in (stub.GetJournal(pb.GetJournalRequest(match=match, invite=invite)),
                         stub.GetJournal(pb.GetJournalRequest(match=match)),
                         stub.WatchView(pb.WatchViewRequest(token=watching.token))):  # fmt: skip
                await spy.call(call.read())
                call.cancel()
            await spy.call(stub.ListMatches(pb.ListMatchesRequest()))
            await spy.call(stub.ListMatches(pb.ListMatchesRequest(match=match, invite=invite)))
            await spy.call(stub.JoinMatch(pb.JoinMatchRequest(match=match, request_id=b"x" * 16, name="M", invite="y")))
            await spy.call(
                stub.JoinMatch(pb.JoinMatchRequest(match=match, request_id=b"x" * 16, name="M", invite=invite))
            )
            await spy.call(stub.CreateMatch(create))
            await spy.call(stub.AbortMatch(pb.AbortMatchRequest(match=match, reason="now")))
            await spy.call(stub.KickSeat(pb.KickSeatRequest(host_token=token, seat=1)))
            await spy.call(stub.Rematch(pb.RematchRequest(token=token, request_id=b"x" * 16)))
            await spy.call(stub.SubmitMove(lay(watching.token, prompt, "1")))
            for wrong in (prompt, prompt - 1, prompt + 7):
                await spy.call(stub.SubmitMove(lay(token, wrong, "no-such-card")))
            stream = stub.Play()
            await stream.write(pb.PlayRequest(attach=[pb.Attach(handle=1, token=token), pb.Attach(token="forged")]))
            await spy.call(stream.read())

            # The game breaks with all that it knows in its message.
            CanaryPeak.fails = True
            await spy.call(stub.SubmitMove(lay(token, live.match.prompts[0], state.hands[0][0])))
            CanaryPeak.fails = False
            stream.cancel()
            for subscription in subscriptions:
                await served.bus.unsubscribe(subscription)

            written = logged.getvalue().encode()
            assert match.encode() in written
            assert b"command_failed" in written
            metrics = generate_latest(served.metrics.registry) + generate_latest(worker._metrics.registry)
            hidden = [*(card for hand in state.hands[1:] for card in hand), *state.rest]
            assert len(hidden) == 9
            others = [
                *(card.encode() for card in hidden),
                *(seat.token.encode() for seat in seats[1:]),
                *(seat.token.rsplit(".", 1)[1].encode() for seat in seats[1:]),
                created.host_token.encode(),
            ]
            binary = [create_id, *ids[1:], seeds[1], client_seed_of(ids[2]), server_seed, bytes.fromhex(digest)]
            texts = [*others, *(writing for secret in binary for writing in writings(secret))]
            told = b"\n".join(spy.got)
            for card in mine:
                assert card.encode() in told, "seat 0 sees its own cards, so it would see the others'"
            for text in texts:
                assert text not in told, text
            own = [token.encode(), watching.token.encode(), invite.encode(), *(card.encode() for card in mine)]
            own += [writing for secret in (ids[0], seeds[0]) for writing in writings(secret)]
            for text in [*texts, *own, OPERATOR.encode(), settings.token_key.get_secret_value().encode()]:
                assert text not in written, text
                assert text not in metrics, text

    asyncio.run(run())
