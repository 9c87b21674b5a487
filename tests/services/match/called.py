"""What a client does again and again: join, look, move, play on to the end."""

from croupier.v1 import match_service_pb2 as pb
from services.settings import Settings
from tests.services.match_front import OPERATOR, Served, secret, settings_for, timos


async def join(served: Served, match: str, name: str = "Änne", **fields) -> pb.JoinMatchResponse:
    fields.setdefault("request_id", secret())
    return await served.stub.JoinMatch(pb.JoinMatchRequest(match=match, name=name, **fields))


Seats = list[pb.JoinMatchResponse]


async def started(served: Served, seats: int = 2, **fields) -> tuple[pb.CreateMatchResponse, Seats]:
    created = await served.stub.CreateMatch(timos(seats=seats, **fields))
    return created, [await join(served, created.match, f"seat {n}") for n in range(seats)]


async def view(served: Served, token: str, **fields):
    return (await served.stub.GetView(pb.GetViewRequest(token=token, **fields))).view


def first_move(view) -> pb.SubmitMoveRequest:
    """The seat's first legal move as a request without its token."""
    kind = view.WhichOneof("game")
    legal = getattr(view, kind).legal[0]
    request = pb.SubmitMoveRequest(prompt=view.prompt)
    getattr(request.move, kind).CopyFrom(legal)
    return request


async def move(served: Served, seat: pb.JoinMatchResponse) -> int:
    """Make the first legal move of a seat that is on turn."""
    request = first_move(await view(served, seat.token))
    request.token = seat.token
    return (await served.stub.SubmitMove(request)).version


async def play_out(served: Served, seats: Seats) -> None:
    """Play first legal moves until the match ends."""
    now = await view(served, seats[0].token)
    while now.status == "running":
        await move(served, seats[now.to_act[0]])
        now = await view(served, seats[0].token)


async def aborted(served: Served, match: str) -> None:
    await served.stub.AbortMatch(
        pb.AbortMatchRequest(match=match, reason="enough"), metadata=(("authorization", f"Bearer {OPERATOR}"),)
    )


def with_operator(redis_url: str, nats_url: str) -> Settings:
    return settings_for(redis_url, nats_url, operator_key=OPERATOR)


AS_OPERATOR = (("authorization", f"Bearer {OPERATOR}"),)
