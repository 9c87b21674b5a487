"""A live match: the commands that append entries.

Each command either appends entries or raises a `Refusal` and leaves everything as it was.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import UNSET, Raw, UnsetType

from engine.bots import Question
from engine.fold import MAX_ENTRIES, Answer, Fold
from engine.game import Move
from engine.journal import Aborted, Bot, Created, Drift, Finished, Joined, Left, Line, Moved, Started
from engine.projection import Projection
from engine.refusals import (
    BadSeats,
    IllegalMove,
    MalformedMove,
    MalformedRequest,
    MatchFull,
    MatchOver,
    MatchStarted,
    NotEnoughPlayers,
    NotStarted,
    NotYourSeat,
    RequestReused,
    SeatTaken,
    StalePrompt,
    TenureEnded,
    TimedOut,
)
from engine.seats import HUMAN, MAX_CLIENT_SEED, MAX_NAME, OPEN, TIMEOUTS_UNTIL_ABSENT, Seat, Tenure, bad_join

__all__ = [
    "HUMAN",
    "MAX_CLIENT_SEED",
    "MAX_ENTRIES",
    "MAX_NAME",
    "OPEN",
    "TIMEOUTS_UNTIL_ABSENT",
    "Answer",
    "Drift",
    "Match",
    "Projection",
    "Seat",
    "Tenure",
    "load",
]


class Match(Fold):
    """A match that grows. Not safe to go on with after an exception other than a `Refusal`."""

    def create(self, body: Created, at: int) -> list[Line]:
        """Append `created`; a match without an open seat starts in the same commit.

        Raises UnknownGame, BadOptions, BadSeats, BadCode.
        """
        lines = [self._append(body, at)]
        if not any(seat.kind == OPEN for seat in self.seats):
            lines.append(self._append(Started(self._taken()), at))
        return lines

    def join(
        self, name: str, client_seed: bytes, request: str, at: int, seat: int | None = None
    ) -> tuple[Tenure, list[Line]]:
        """Take a seat (the lowest open one if none is named); the last join starts the match in the same commit.

        A repeat of the same request returns its seat and appends nothing. Raises RequestReused for a repeat with other
        parameters, TenureEnded for one whose tenure is over, MatchOver, MatchStarted, MalformedRequest for a name or
        client seed of the wrong form, BadSeats for a seat that is not there, MatchFull, SeatTaken.
        """
        if known := self._joins.get(request):
            tenure, body = known
            if (body.name, body.client_seed) != (name, client_seed.hex()) or seat not in (None, tenure.seat):
                raise RequestReused("this request id joined with other parameters before")
            holder = self.seats[tenure.seat]
            if holder.tenure != tenure.tenure or holder.left:
                raise TenureEnded("the seat that this request took was left since", seat=tenure.seat)
            return tenure, []
        self._need_lobby()
        if fault := bad_join(name, client_seed):
            raise MalformedRequest(fault[1], field=fault[0])
        if seat is not None:
            self._need_seat(seat)
        open_seats = [number for number, held in enumerate(self.seats) if held.kind == OPEN]
        if not open_seats:
            raise MatchFull("no seat is open")
        if seat is not None and seat not in open_seats:
            raise SeatTaken(f"seat {seat} is not open", seat=seat)
        number = open_seats[0] if seat is None else seat
        lines = [self._append(Joined(number, name, client_seed.hex(), request), at)]
        tenure = Tenure(number, self.version)
        if len(open_seats) == 1:
            lines.append(self._append(Started(self._taken()), at))
        return tenure, lines

    def leave(
        self, seat: int, tenure: int, at: int, by: Literal["player", "host"] = "player"
    ) -> tuple[int, list[Line]]:
        """End a tenure; return the version of that entry, also for a repeat, which appends nothing.

        In the lobby the seat opens again, in a running match it is absent for good. When every human has left, the
        match aborts in the same commit. Raises NotYourSeat, MatchOver; for the host outside the lobby MatchStarted.
        """
        if (seat, tenure) in self._left:
            return self._left[seat, tenure], []
        if by == "host":
            self._need_lobby()
        self._need_tenure(seat, tenure)
        if self.over:
            raise MatchOver("the match is over")
        lines = [self._append(Left(seat, tenure, by), at)]
        if self.status == "running" and self._all_left():
            lines += self.abort("all_left", at)
        elif self.version >= self.max_entries - 1:
            lines += self.abort("too_many_entries", at)
        return lines[0].version, lines

    def kick(self, seat: int, tenure: int | None, at: int) -> tuple[int, list[Line]]:
        """End a tenure of the lobby; None stands for whoever holds the seat.

        A repeat that names the tenure returns the version of the first. Raises MatchOver, MatchStarted, BadSeats for a
        seat that is not there, NotYourSeat for one that no human holds, or not with that tenure.
        """
        self._need_seat(seat)
        if tenure is None:
            self._need_lobby()
            tenure = self.seats[seat].tenure
        if tenure is None:
            raise NotYourSeat(f"no human holds seat {seat}", seat=seat)
        return self.leave(seat, tenure, at, "host")

    def start(self, at: int) -> tuple[int, list[Line]]:
        """Start with the seats that are taken; return the version of that entry, also if the match runs already.

        Raises MatchOver, NotEnoughPlayers.
        """
        if self._started is not None:
            return self._started, []
        self._need_lobby()
        taken = self._taken()
        if len(taken) not in self.game.seats:
            raise NotEnoughPlayers(f"{self.game.name} needs {self.game.seats[0]} seats, {len(taken)} are taken")
        lines = [self._append(Started(taken), at)]
        return lines[0].version, lines

    def move(self, seat: int, tenure: int, prompt: int, move: bytes, at: int) -> tuple[int, list[Line]]:
        """Make a player's move; return the version of its entry.

        A repeat of a move that this prompt already got returns that entry's version and appends nothing. Raises, in
        this order: NotYourSeat; NotStarted; MatchOver; TimedOut, StalePrompt; MalformedMove; IllegalMove.
        """
        self._need_tenure(seat, tenure)
        if self.over and seat not in self.players:
            raise MatchOver("the match is over", seat=seat, version=self.version)
        if seat not in self.players:
            raise NotStarted("the match has not started", seat=seat)
        answered = self.answer(seat, prompt)
        parsed: Move | MalformedMove
        try:
            parsed = self.game.move_json.decode(move)
        except MalformedMove as malformed:
            parsed = MalformedMove(malformed.detail)  # a new one: what was raised keeps this frame, which would keep it
        if answered and answered.by == "player" and self._is(parsed, answered.move):
            return answered.version, []
        facts = {"seat": seat, "prompt": self.prompts[seat], "version": self.version}
        if self.over:
            raise MatchOver("the match is over", **facts)
        if prompt != self.prompts[seat]:
            if answered and answered.by != "player":
                raise TimedOut(f"the clock has answered prompt {prompt}", **{**facts, "version": answered.version})
            raise StalePrompt(f"prompt {prompt} is not the seat's prompt {self.prompts[seat]}", **facts)
        if isinstance(parsed, MalformedMove):
            raise MalformedMove(parsed.detail, **facts)
        if parsed not in self.legal(seat):
            raise IllegalMove(f"{self.game.move_json.encode(parsed).decode()} is not legal now", **facts)
        return self.version + 1, self._moved(seat, parsed, at, "player")

    def _is(self, parsed: Move | MalformedMove, move: bytes) -> bool:
        return not isinstance(parsed, MalformedMove) and self.game.move_json.encode(parsed) == move

    def time_out(self, seat: int, prompt: int, at: int) -> list[Line]:
        """Make the game's default move for a human's seat that owes one and is still asked that prompt.

        Else append nothing; where a computer player decides, it makes the move.
        """
        if seat not in self.to_act or self.prompts[seat] != prompt or self.computer(seat) is not None:
            return []
        i = self.players.index(seat)
        return self._moved(seat, self.game.default(self.state, i), at, "clock")

    def bot_move(self, question: Question, move: Move | None, at: int) -> list[Line]:
        """Make the move that a computer player has decided on, if its seat is still asked the same.

        Else append nothing. A move that has become illegal meanwhile is replaced by the default if one is owed.
        """
        seat = question.seat
        now = self.question(seat)
        if now is None or (now.version, now.level, now.policy) != (question.version, question.level, question.policy):
            return []
        made = self._decided(seat, move)
        if made is None:
            return []
        return self._moved(seat, made, at, "bot", Bot(question.level, question.policy, question.version))

    def abort(self, reason: str, at: int) -> list[Line]:
        """End the match from outside the rules. Raises MatchOver."""
        if self.over:
            raise MatchOver("the match is over")
        return [self._append(Aborted(reason, self._reveal()), at)]

    def _moved(
        self,
        seat: int,
        move: Move,
        at: int,
        by: Literal["player", "clock", "bot"],
        bot: Bot | UnsetType = UNSET,
    ) -> list[Line]:
        raw = Raw(self.game.move_json.encode(move))
        lines = [self._append(Moved(seat, self.prompts[seat], raw, by, bot), at, move)]
        result = self.game.result(self.state)
        if result is not None:
            lines.append(self._append(Finished(result, self._reveal()), at))
        elif self.version >= self.max_entries - 1:
            lines += self.abort("too_many_entries", at)
        return lines

    def _reveal(self) -> str:
        assert self.seed is not None
        return self.seed.hex()

    def _need_lobby(self) -> None:
        if self.over:
            raise MatchOver("the match is over")
        if self.status != "lobby":
            raise MatchStarted("the match has started")

    def _need_seat(self, seat: int) -> None:
        if seat not in range(len(self.seats)):
            raise BadSeats(f"the match has the seats 0 to {len(self.seats) - 1}, not {seat}", seat=seat)

    def _need_tenure(self, seat: int, tenure: int) -> None:
        if seat not in range(len(self.seats)):
            raise NotYourSeat(f"there is no seat {seat}", seat=seat)
        held = self.seats[seat]
        if held.tenure != tenure or held.left:
            raise NotYourSeat(f"the tenure {tenure} of seat {seat} has ended", seat=seat)


def load(lines: Sequence[bytes], seed: bytes, *, verify: bool = False) -> Match:
    """Return a match folded from its journal's lines. Raises Drift, NotAnEntry."""
    match = Match(seed)
    for data in lines:
        match.replay(data, verify=verify)
    return match
