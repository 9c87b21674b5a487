"""A match in a worker's memory: the fold, its views on the way out, and the decisions that are due.

Everything here may be dropped at any moment: the journal brings it back. What is appended stays in `outbox` and `lines`
until the worker has committed and published it.
"""

import secrets
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import ref

from msgspec import UNSET

from engine import journal
from engine.bots import Question
from engine.chance import commitment
from engine.game import Move, Told
from engine.journal import Created, Line
from engine.match import OPEN, Match
from engine.refusals import BadInvite, Refusal, RequestReused, UnknownMatch
from services.commands import Abort, Command, Create, Join, Kick, Leave, Receipt, Start, Submit
from services.settings import Settings
from services.store import Recorded
from services.views import Signer, ViewEncoder

REMEMBERED = 64
"""Versions whose events a question about missed ones may get."""
GRACE_MS = 5_000
"""After a pause of the service a clock runs for at least this long (or its whole time, if that is less)."""

Message = tuple[str, bytes]


class Fired(NamedTuple):
    """What comes of a member of `due`: when it is due again (Unix ms; None: it is settled), views to publish once more,
    and what a computer player is to be asked; then the member stays until the answer is in the journal.
    """

    later: int | None = None
    again: Sequence[Message] = ()
    question: Question | None = None


@dataclass(slots=True)
class Limits:
    """When matches end that nobody ends, and how far a match may go; times in milliseconds."""

    lobby: int
    idle: int
    absent: int
    entries: int

    @classmethod
    def of(cls, settings: Settings) -> "Limits":
        """Take the limits from the settings."""
        return cls(
            settings.lobby_limit_s * 1000,
            settings.idle_limit_s * 1000,
            settings.absent_limit_s * 1000,
            settings.max_entries,
        )


@dataclass(slots=True, weakref_slot=True)
class Live:
    """One match; `committed` and `head` are length and last hash of the journal as Redis has it."""

    match: Match
    limits: Limits
    sign: Signer | None
    committed: int = 0
    head: bytes = journal.NO_HASH
    lines: list[Line] = field(default_factory=list)
    outbox: dict[int, list[Message]] = field(default_factory=dict)
    """Views by version: of entries not published yet, and after a cold load of the last ones."""
    recent: deque[tuple[int, tuple[Told, ...] | None]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    due: dict[str, int] = field(default_factory=dict)
    """What Redis has in `due` for this match, as far as is known: member -> Unix milliseconds."""
    declined: set[tuple[int, int]] = field(default_factory=set)
    """Seats and prompts for which a computer player has decided to do nothing."""
    _views: ViewEncoder | None = None
    _has_computers: bool | None = None
    _wanted: tuple[tuple[int, int], dict[str, int]] | None = None

    @classmethod
    def empty(cls, seed: bytes | None, limits: Limits, sign: Signer | None) -> "Live":
        """Return the match before its first entry, to be brought up to date by `folding`; `seed` while it runs."""
        return cls(Match(seed, limits.entries), limits, sign)

    def folding(self, recorded: Recorded, *, with_views: bool) -> Iterable[None]:
        """Fold a journal in pieces, so that whoever iterates may do other things between them.

        `with_views` also encodes the views of its last versions, to publish them again. Raises Drift, NotAnEntry or a
        Refusal for a journal that does not replay.
        """
        lines = recorded.lines
        if lines and self.match.seed is None:
            self.match.seed = _revealed(lines[-1])
        for number, data in enumerate(lines):
            last = number == len(lines) - 1
            line = self.match.replay(data, verify=last)
            self._remember(line, publish=with_views and number >= len(lines) - REMEMBERED)
            if number % 256 == 255:
                yield
        self.committed, self.head = len(lines), self.match.head
        self._listen()
        self.due = self.wanted()

    @property
    def views(self) -> ViewEncoder:
        """The encoder of this match's views; only for a match that has an entry."""
        if self._views is None:
            self._views = ViewEncoder(self.match, self.sign)
        return self._views

    def _listen(self) -> None:
        """Be told of what is appended from now on, but not be kept by the match.

        What a worker drops is gone at once then, and not only when a collector looks for cycles.
        """
        told = ref(self)

        def appended(line: Line) -> None:
            if live := told():
                live._appended(line)  # noqa: SLF001 - its own

        self.match.appended = appended

    def _appended(self, line: Line) -> None:
        self.lines.append(line)
        self._remember(line, publish=True)

    def _remember(self, line: Line, *, publish: bool) -> None:
        self.recent.append((line.version, self.match.events if self.match.state is not None else None))
        if publish:
            self.outbox[line.version] = self.views.all_views()

    def views_again(self, version: int) -> list[Message]:
        """Return the views of a version that may not have reached anybody: its own if known, else the present ones."""
        found = self.outbox.get(version)
        return self.views.all_views() if found is None else found

    # --- commands ------------------------------------------------------------------------------------------------

    def decide(self, number: int, command: Command, at: int, held_since: int) -> Receipt:
        """Do what a command asks, or refuse it; the receipt carries `number`. `at`: its intake id's milliseconds.

        A refusal changes nothing, except that the clock's move goes before a late one. Any other exception leaves this
        object unusable.
        """
        try:
            return self._decide(number, command, at, held_since)
        except Refusal as refusal:
            return Receipt(number, None, refusal.reason, refusal.detail, dict(refusal.fields), appended=False)

    def _decide(self, number: int, command: Command, at: int, held_since: int) -> Receipt:
        match = self.match
        if match.version < 0 and not isinstance(command, Create):
            raise UnknownMatch("there is no such match, or no longer")
        if isinstance(command, Submit):
            self._clock_first(command, at, held_since)
            version, lines = match.move(command.seat, command.tenure, command.prompt, command.move, at)
        elif isinstance(command, Create):
            return self._create(number, command, at)
        elif isinstance(command, Join):
            return self._join(number, command, at)
        elif isinstance(command, Leave):
            version, lines = match.leave(command.seat, command.tenure, at)
        elif isinstance(command, Kick):
            version, lines = match.kick(command.seat, command.tenure, at)
        elif isinstance(command, Start):
            version, lines = match.start(at)
        else:
            assert isinstance(command, Abort)
            repeated = match.status == "aborted" and match.reason == command.reason
            lines = [] if repeated else match.abort(command.reason, at)
            version = match.version
        return Receipt(number, version, appended=bool(lines))

    def _create(self, number: int, command: Create, at: int) -> Receipt:
        match = self.match
        seed = match.seed if match.version >= 0 and match.seed is not None else secrets.token_bytes(32)
        body = Created(
            match=command.match,
            rules=command.rules,
            options=command.options,
            seats=command.seats,
            private=command.private,
            commitment=commitment(seed, command.match, command.rules).hex(),
            request=command.request,
            clock=UNSET if command.clock is None else command.clock,
            code=UNSET if command.code is None else command.code,
            absent=UNSET if command.absent is None else command.absent,
        )
        if match.version >= 0:
            if body != match.created:
                raise RequestReused("this request id created a match with other parameters before")
            return Receipt(number, 0, view=self.views.view_json(None), appended=False)
        match.seed = seed
        self._listen()
        match.create(body, at)
        return Receipt(number, 0, view=self.views.view_json(None))

    def admit(self, invite: str | None) -> None:
        """Return if somebody with the invite of this hash may see the match. Raises BadInvite."""
        if self.match.created.private and invite != self.match.created.request:
            raise BadInvite("the match is private, and this is not its invite")

    def _join(self, number: int, command: Join, at: int) -> Receipt:
        self.admit(command.invite)
        tenure, lines = self.match.join(command.name, command.client_seed, command.request, at, command.seat)
        view = self.views.view_json(tenure.seat)
        return Receipt(
            number, tenure.tenure, seat=tenure.seat, tenure=tenure.tenure, view=view, appended=bool(lines)
        )  # fmt: skip

    def _clock_first(self, command: Submit, at: int, held_since: int) -> None:
        """A move that came into the intake after its deadline comes after the clock's, however late that is made."""
        match, seat = self.match, command.seat
        deadline = self.deadline(seat) if seat in match.to_act and command.prompt == match.prompts[seat] else None
        if deadline is not None and at >= self.effective(deadline, held_since):
            held = match.seats[seat]
            if not held.absent and held.tenure == command.tenure:
                match.time_out(seat, command.prompt, at)

    # --- what is due ---------------------------------------------------------------------------------------------

    def deadline(self, seat: int) -> int | None:
        """Return when the clock moves for a seat that owes a move (Unix ms); None: never."""
        match = self.match
        if match.seats[seat].absent:
            return match.prompt_at[seat]
        clock = match.created.clock
        return None if clock is UNSET else match.prompt_at[seat] + clock

    def effective(self, deadline: int, held_since: int) -> int:
        """Return a deadline as it counts after a pause of the service that ended at `held_since` (Unix ms)."""
        clock = self.match.created.clock
        return max(deadline, held_since + min(GRACE_MS, GRACE_MS if clock is UNSET else clock))

    def wanted(self) -> dict[str, int]:
        """Return what should be in `due` for the present version. Not to be changed."""
        key = (self.match.version, len(self.declined))
        if self._wanted is None or self._wanted[0] != key:
            self._wanted = key, self._find_wanted()
        return self._wanted[1]

    def _find_wanted(self) -> dict[str, int]:
        match = self.match
        if match.version < 0 or match.over:
            return {}
        wanted: dict[str, int] = {}
        if self._computers:
            hurry = match.only_computers  # nobody waits for a move of his own: what is left is over at once
            for seat in match.players:
                prompt = match.prompts[seat]
                computer = match.computer(seat)
                if computer is not None and match.is_asked(seat) and (seat, prompt) not in self.declined:
                    at = match.prompt_at[seat] + (0 if hurry else computer.thinking or 0)
                    wanted[f"{match.id}:{seat}:{prompt}"] = at
        for seat in match.to_act:
            if not (self._computers and match.computer(seat)) and (deadline := self.deadline(seat)) is not None:
                wanted[f"{match.id}:{seat}:{match.prompts[seat]}"] = deadline
        for limit in self._limits_now():
            member = f"{match.id}:{limit}"
            wanted[member] = self.due.get(member) or match.at + getattr(self.limits, limit)
        return self.due if wanted == self.due else wanted

    @property
    def _computers(self) -> bool:
        """Whether a computer player may ever decide in this match."""
        if self._has_computers is None:
            created = self.match.created
            self._has_computers = created.absent is not UNSET or any(plan.kind != OPEN for plan in created.seats)
        return self._has_computers

    def _limits_now(self) -> tuple[str, ...]:
        """Return the limits that count while the match is as it is: in the lobby, or running."""
        if self.match.status == "lobby":
            return ("lobby",)
        return ("idle", "absent") if self.match.all_absent else ("idle",)

    def fire(self, member: str, now: int, held_since: int) -> Fired:
        """Do what a member of `due` is for.

        An entry of the clock, of a computer or of a limit is published by whoever finds its member, also if its first
        publication was lost.
        """
        what = member.split(":")[1:]
        if self.match.version < 0:
            return Fired()
        if self.match.over:
            again = self._answered(*map(int, what)) if len(what) == 2 else ()
            return Fired(again=again or self.views_again(self.match.version))
        if len(what) == 1:
            return Fired(self._fire_limit(what[0], now))
        seat, prompt = map(int, what)
        if seat not in self.match.players or self.match.prompts[seat] != prompt:
            return Fired(again=self._answered(seat, prompt))
        if self.match.computer(seat) is not None:
            return Fired(question=self.match.question(seat))
        if seat not in self.match.to_act or (deadline := self.deadline(seat)) is None:
            return Fired(again=self._answered(seat, prompt))
        if (effective := self.effective(deadline, held_since)) > now:
            return Fired(effective)
        self.match.time_out(seat, prompt, now)
        return Fired()

    def conclude(self, question: Question, move: Move | None, at: int) -> Sequence[Message]:
        """Make a computer player's move, or remember that it does nothing.

        If its prompt is answered already, return the views to publish once more, as `fire` does.
        """
        if self.match.bot_move(question, move, at):
            return ()
        self.declined.add((question.seat, question.version))
        return self._answered(question.seat, question.version)

    def _answered(self, seat: int, prompt: int) -> list[Message]:
        """Return the views of a clock's or a computer's answer to a prompt."""
        answer = self.match.answer(seat, prompt)
        if answer is None or answer.by == "player":
            return []
        again = self.views_again(answer.version)
        return again if answer.version == self.match.version else again + self.views_again(answer.version + 1)

    def _fire_limit(self, limit: str, now: int) -> int | None:
        match = self.match
        if limit not in self._limits_now():
            return None
        if limit == "idle" and (idle_at := match.at + self.limits.idle) > now:
            return idle_at
        match.abort({"lobby": "lobby_limit", "idle": "idle_limit", "absent": "all_absent"}[limit], now)
        return None


def _revealed(line: bytes) -> bytes | None:
    body = journal.read(line).body
    return bytes.fromhex(body.seed) if isinstance(body, journal.ENDS) else None
