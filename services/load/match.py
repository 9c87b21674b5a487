"""One match of the load: its seats, what each has seen, and when the next move is made.

One move is in flight at a time, and the next follows when every seat's view that includes the last has been received
and decoded. The view of the seat that moved tells so by its prompt, which a move changes; the receipt tells it too.
"""

import asyncio
import random
import time
from array import array
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from services.load.sight import View, same_table

if TYPE_CHECKING:
    from services.load.crowd import Crowd

NOT_YET = 1 << 60
"""Later than any version: which one holds the move is not known."""
ENDS = ("finished", "aborted")


class Sender(Protocol):
    """How moves reach the server."""

    def attach(self, seat: "Seat") -> None:
        """Make a seat ready to move."""

    def detach(self, seat: "Seat") -> None:
        """Forget it."""

    def send(self, sent: "Sent") -> None:
        """Send a move, again where the same may be sent again, until it has a receipt or a refusal."""


class Ear(Protocol):
    """Something that a seat listens with."""

    def forget(self) -> None:
        """Listen no more."""


class Sent(Struct, eq=False):
    """A move without a receipt."""

    id: int
    seat: "Seat"
    prompt: int
    move: bytes
    began: float


class Seat:
    """A seat and the last view that it was shown."""

    __slots__ = ("asking", "ear", "handle", "later", "match", "number", "sight", "token", "version", "view")

    def __init__(self, match: "OpenMatch", number: int, token: str, version: int) -> None:
        """Start with the lobby's view of that version, which need not be looked at."""
        self.match = match
        self.number = number
        self.token = token
        self.version = version
        self.view: View | None = None
        self.sight = match.crowd.sight
        self.handle = 0
        self.ear: Ear | None = None
        self.asking = False
        """Whether the present view is being asked for; until it has come, others wait in `later`."""
        self.later: list[View] = []

    def take(self, data: bytes) -> None:
        """Take a view from NATS."""
        self.hear(self.sight.read(data))

    def hear(self, view: View) -> None:
        """Take a view that was published: the next one is held, one after a gap has the present one asked for."""
        if self.asking:
            self.later.append(view)
        elif view.version == self.version + 1:
            self.see(view)
        elif view.version > self.version:
            if self.match.begun:
                self.match.crowd.heal(self)
            else:
                self.see(view)  # those before came while NATS was still being told of the subscription

    def replace(self, view: View, *, asked: bool) -> None:
        """Hold a complete view in the place of whatever was held; what was not heard up to it is healed.

        `asked`: it was not heard itself.
        """
        if self.match.begun:
            heard = sum(self.version < one.version <= view.version for one in self.later) + (not asked)
            self.match.crowd.meter.counts.healed_views += max(0, view.version - self.version - heard)
        self.see(view)

    def see(self, view: View) -> None:
        """Hold a view instead of the one before."""
        self.version = view.version
        self.view = view
        match = self.match
        if match.awaited == NOT_YET and match.mover is self and match.alone and view.prompt != match.prompt:
            match.awaited = view.version
        if view.version >= match.awaited:
            match.settle()
        elif view.status != "running":
            match.go_on()  # it may have ended under a move


class OpenMatch:
    """One match that is played: made by the crowd when all seats are taken."""

    def __init__(self, crowd: "Crowd", slot: int, match: str, sender: Sender, chance: random.Random) -> None:
        """Start without seats."""
        self.crowd = crowd
        self.slot = slot
        self.id = match
        self.sender = sender
        self.chance = chance
        self.seats: list[Seat] = []
        """Those that are still held, ascending."""
        self.begun = False
        self.awaited = NOT_YET
        """The version that all seats must have seen before there is another move; 0: nothing is awaited."""
        self.mover: Seat | None = None
        self.prompt = 0
        self.sent = 0
        """Id of the move that is awaited; 0: none."""
        self.began = 0.0
        self.touched = time.perf_counter()
        self.alone = True
        """Whether nobody but this player moves: no seat was left to the server."""
        self.timer: asyncio.TimerHandle | None = None
        self.leaving = False
        self.spectator: asyncio.Task[None] | None = None
        """Somebody who watches, slowly."""
        self.accepted = array("q")
        """For each receipt: its version, then seat and prompt (`seat << 32 | prompt`)."""
        self.parted = ""
        """Where the seats' views differed."""
        self.last = 0
        """The version of its end, once it has been ended from here."""

    def begin(self) -> None:
        """Play from here on: all seats have a view."""
        self.begun = True
        self.awaited = 0
        self.settle()

    def settle(self) -> None:
        """If every seat has seen what is awaited: count the move, and go on."""
        awaited = self.awaited
        seats = self.seats
        for seat in seats:
            if seat.version < awaited:
                return
        if self.sent:
            now = self.touched = time.perf_counter()
            crowd = self.crowd
            crowd.meter.view.append(now - self.began)
            crowd.meter.counts.moves += 1
            self.sent = 0
            self.awaited = 0
            if crowd.leave and self.chance.random() < crowd.leave and len(seats) > 1:
                self._let_leave()
                return
        self.go_on()

    def go_on(self) -> None:
        """Make the next move as soon as it is time, if all seats see the same."""
        seats = self.seats
        first = seats[0].view
        version = seats[0].version
        if first is None or self.leaving:
            return
        for seat in seats:
            if seat.version != version or seat.view is None or seat.asking:
                return
            if not same_table(seat.view, first):
                self.parted = f"at version {version} seats {seats[0].number} and {seat.number} see different tables"
        if first.status != "running":
            if first.status in ENDS:
                self._end()
            return
        if not self.sent and self.timer is None and not self.crowd.paused:
            delay = self.crowd.pace.delay(self)
            if delay > 0:
                self.timer = asyncio.get_running_loop().call_later(delay, self._move_now)
            else:
                self._move(first)

    def stop_waiting(self) -> None:
        """Make no move that is not due yet."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def _move_now(self) -> None:
        self.timer = None
        version, view = self.seats[0].version, self.seats[0].view
        settled = all(seat.version == version and not seat.asking for seat in self.seats)
        if view is None or view.status != "running" or not settled or self.sent or self.leaving or self.crowd.paused:
            if not self.crowd.paused:
                self.go_on()
            return
        self._move(view)

    def _move(self, view: View) -> None:
        """Send a legal move of somebody."""
        crowd, draw = self.crowd, self.chance.random
        seat, legal = self._somebody(view)
        if seat is None or seat.view is None or seat.view.prompt is None:
            return  # whoever is to act has left, and the server moves for him
        move = crowd.sight.move(legal[int(draw() * len(legal))])
        self.mover = seat
        self.prompt = seat.view.prompt
        now = time.perf_counter()
        self.began = crowd.pace.begin(self, now)
        self.touched = now
        self.awaited = NOT_YET
        crowd.last_id += 1
        self.sent = crowd.last_id
        self.sender.send(Sent(self.sent, seat, self.prompt, move, self.began))

    def _somebody(self, view: View) -> tuple[Seat | None, list[Any]]:
        """Return who moves and what he may: one who owes a move, sometimes another who may make one."""
        to_act, seats, draw = view.to_act, self.seats, self.chance.random
        read = self.crowd.sight.legal
        if draw() < self.crowd.plan.optional:
            free = [
                (seat, legal)
                for seat in seats
                if seat.number not in to_act and seat.view and (legal := read(seat.view))
            ]
            if free:
                return free[int(draw() * len(free))]
        owing = [seat for seat in seats if seat.number in to_act]
        if owing:
            seat = owing[int(draw() * len(owing))] if len(owing) > 1 else owing[0]
            if seat.view and (legal := read(seat.view)):
                return seat, legal
        return None, []

    # --- what becomes of a move ----------------------------------------------------------------------------------

    def accept(self, sent: Sent, version: int) -> None:
        """Take a receipt."""
        self.accepted.append(version)
        self.accepted.append(sent.seat.number << 32 | sent.prompt)
        if self.sent == sent.id and self.awaited == NOT_YET:
            self.awaited = version
            self.settle()

    def refuse(self, sent: Sent) -> None:
        """Take a refusal: look at the match anew, then go on."""
        if self.sent == sent.id and self.awaited == NOT_YET:
            self.sent = 0
            self.awaited = 0
            for seat in self.seats:
                self.crowd.heal(seat)

    # --- the end -------------------------------------------------------------------------------------------------

    def _let_leave(self) -> None:
        self.leaving = True
        self.alone = False
        seat = self.seats[int(self.chance.random() * len(self.seats))]
        self.crowd.spawn(self.crowd.let_leave(seat))

    def remove(self, seat: Seat) -> None:
        """A seat was left: play on without it."""
        self.leaving = False
        self.seats.remove(seat)
        self.awaited = 0
        self.go_on()

    def lost_views(self) -> int:
        """Return how many views the seats lack of those that are known to be there."""
        seen = [seat.version for seat in self.seats]
        known = max((self.last, *seen, *self.accepted[-2::2]))
        return sum(known - version for version in seen)

    def _end(self) -> None:
        self.stop_waiting()
        hashes = {str(seat.view.hash) for seat in self.seats if seat.view is not None}
        if len(hashes) > 1:
            self.parted = f"the seats were told different last hashes: {', '.join(sorted(hashes))}"
        self.crowd.ended(self, next(iter(hashes)))
