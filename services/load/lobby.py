"""How a match of the load comes to be: created, joined by all its players, listened to."""

import asyncio
import random
import secrets
from typing import TYPE_CHECKING

from croupier.v1 import match_service_pb2 as pb
from services import wire
from services.load.match import OpenMatch, Seat

if TYPE_CHECKING:
    from services.load.crowd import Crowd


async def open_match(crowd: "Crowd", slot: int, chance: random.Random) -> OpenMatch:
    """Return a match that has started, with a seat for each player. Raises RefusedError, OSError."""
    plan, stub, sender = crowd.plan, crowd.stub, crowd.sender(slot)
    request = pb.CreateMatchRequest(
        request_id=secrets.token_bytes(16),
        options=wire.options_to_proto(plan.game, plan.options),
        seats=[pb.SeatSetup(kind="open")] * plan.seats,
    )
    created = await crowd.call(stub.CreateMatch, request, metadata=crowd.operator)
    match = OpenMatch(crowd, slot, created.match, sender, chance)
    try:
        await _fill(crowd, match)
    except BaseException:
        crowd.abandon(match)
        raise
    return match


async def _fill(crowd: "Crowd", match: OpenMatch) -> None:
    plan, stub = crowd.plan, crowd.stub
    for number in range(plan.seats):
        joining = pb.JoinMatchRequest(
            match=match.id, request_id=secrets.token_bytes(16), name=f"Player {number + 1}", seat=number
        )
        joined = await crowd.call(stub.JoinMatch, joining)
        seat = Seat(match, number, joined.token, joined.view.version)
        match.seats.append(seat)
        match.sender.attach(seat)
        await crowd.views.show(seat, joined.subject)
    await crowd.views.flush(match.seats)
    if plan.views == "nats":  # a stream of gRPC begins with the present view by itself
        late = [seat for seat in match.seats if seat.view is None or seat.view.status == "lobby"]
        await asyncio.gather(*(crowd.ask(seat) for seat in late))
    if match.chance.random() < plan.slow:
        watching = await crowd.call(stub.Spectate, pb.SpectateRequest(match=match.id))
        match.spectator = crowd.spawn(crowd.views.watch_slowly(watching.subject, watching.token, watching.view.version))
