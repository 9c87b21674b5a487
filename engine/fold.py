"""The fold over a match's journal: how entries follow from one another, and the prompts.

`Fold` is the one place that knows it, for live and for recorded matches. What appends entries stands in `engine.match`.

Seats are numbered as their tokens are. With fewer seats than planned the i-th of `players` plays as seat i of the game.

Prompts: a decision is named by what `asked` says. A seat's prompt becomes the present version when the seat has moved
(by whomever), and when it is asked something other than right after the entry before. A move names the prompt that it
answers, which makes double submission harmless.
"""

from collections.abc import Callable, Hashable
from typing import Any, Literal

from msgspec import UNSET, Struct
from msgspec.structs import replace

from engine import bots, creation, journal, registry
from engine.bots import Question
from engine.chance import Stream, bot_key, code_key, commitment, match_key
from engine.game import Move, Result, Told, encode
from engine.journal import (
    Aborted,
    Body,
    Bot,
    Created,
    Drift,
    Entry,
    Finished,
    Joined,
    Left,
    Line,
    Moved,
    SeatPlan,
    Started,
)
from engine.projection import LOBBY, Projection, digest
from engine.seats import HUMAN, OPEN, Seat, Tenure, bad_join

MAX_ENTRIES = 20_000

Status = Literal["lobby", "running", "finished", "aborted"]


class Answer(Struct, frozen=True):
    """What became of a prompt."""

    version: int
    move: bytes
    by: str


class Fold:
    """One match at one version. Not safe to go on with after an exception, but for those that `replay` names."""

    # More attributes than Python (to 3.12) keeps in an object without a dictionary of its own: a fortieth of an audit.
    __slots__ = (
        "_answers",
        "_asked",
        "_asked_in",
        "_code_seed",
        "_due",
        "_joins",
        "_key",
        "_left",
        "_legal",
        "_place",
        "_projection",
        "_started",
        "_to_act",
        "appended",
        "at",
        "created",
        "created_at",
        "events",
        "game",
        "head",
        "id",
        "max_entries",
        "options",
        "over",
        "players",
        "prompt_at",
        "prompts",
        "reason",
        "result",
        "seats",
        "seed",
        "state",
        "status",
        "version",
    )

    def __init__(self, seed: bytes | None = None, max_entries: int = MAX_ENTRIES) -> None:
        """Start empty, before `created`. `seed` is the server seed; a finished journal brings its own."""
        self.version = -1
        self.at = 0
        self.created_at = 0
        self.head = journal.NO_HASH
        self.seed = seed
        self.max_entries = max_entries
        self.status: Status = "lobby"
        self.over = False
        """Whether the last entry ended the match."""
        self.reason: str | None = None
        self.result: Result | None = None
        self.created: Created
        self.id = ""
        self.game: registry.AnyGame
        self.options: Any = None
        self.seats: tuple[Seat, ...] = ()
        self.players: tuple[int, ...] = ()
        self.state: Any = None
        self.prompts: dict[int, int] = {}
        self.prompt_at: dict[int, int] = {}
        self.events: tuple[Told, ...] = ()
        """What the last entry did."""
        self.appended: Callable[[Line], None] = lambda _line: None
        """Called after every entry that a command appends, while the match is at that entry's version."""
        self._started: int | None = None
        self._left: dict[tuple[int, int], int] = {}
        self._asked: dict[int, Hashable | None] = {}
        self._asked_in: dict[int, Any] = {}
        """The state in which each seat was asked what it is asked."""
        self._answers: dict[int, dict[int, Answer]] = {}
        self._joins: dict[str, tuple[Tenure, Joined]] = {}
        self._due: type[Body] | None = None
        self._code_seed: bytes | None = None
        self._key = b""
        self._projection: Projection | None = LOBBY
        self._legal: dict[int, list[Move]] = {}
        self._place: dict[int, int] = {}
        """What each seat that plays plays as."""
        self._to_act: tuple[int, tuple[int, ...]] = (-1, ())
        """Of which version `to_act` is known, and what it is."""

    # --- what there is to know -----------------------------------------------------------------------------------

    @property
    def to_act(self) -> tuple[int, ...]:
        """The seats that owe a move, by token number, ascending."""
        version, known = self._to_act
        if version != self.version:
            running = self.status == "running"
            known = tuple([self.players[i] for i in self.game.to_act(self.state)]) if running else ()
            self._to_act = self.version, known
        return known

    @property
    def all_absent(self) -> bool:
        """Whether the match is running and no human is there to move."""
        if self.status != "running":
            return False
        absent = None
        for number in self.players:
            seat = self.seats[number]
            if seat.kind == HUMAN:
                absent = seat.absent
                if not absent:
                    return False
        return absent is not None

    @property
    def only_computers(self) -> bool:
        """Whether the match is running, and every human in it has left or will not be asked anything again."""
        if self.status != "running":
            return False
        out = self.game.out(self.state)
        humans = [(i, seat) for i, n in enumerate(self.players) if (seat := self.seats[n]).kind == HUMAN]
        return bool(humans) and all(seat.left or i in out for i, seat in humans)

    @property
    def projection(self) -> Projection:
        """Table, own parts and hidden part as JSON; null and empty in the lobby."""
        if self._projection is None:
            table, own, hidden = self._projected()
            self._projection = Projection(encode(table), tuple([encode(part) for part in own]), encode(hidden))
        return self._projection

    def _projected(self) -> tuple[Struct, list[Struct], Struct]:
        game, state = self.game, self.state
        return game.table(state), [game.own(state, i) for i in range(len(self.players))], game.hidden(state)

    @property
    def digest(self) -> str:
        """BLAKE2b-256 (hex) of the JSON `[table,[own of seat 0,...],hidden]`.

        Without views the parts are not needed one by one, and all of it is encoded at once.
        """
        whole = encode(self._projected()) if self._projection is None else self._projection.whole()
        return digest(whole)

    def plays_as(self, seat: int) -> int | None:
        """Return the game's number for a seat, None for one that does not play."""
        return self._place.get(seat)

    def legal(self, seat: int) -> list[Move]:
        """Return the seat's legal moves now, in contract order; none outside a running match.

        A seat that is asked nothing has none, so the rules need not look for them.
        """
        moves = self._legal.get(seat)
        if moves is None:
            asked = self.status == "running" and self._asked.get(seat) is not None
            moves = self._legal[seat] = self.game.legal(self.state, self._place[seat]) if asked else []
        return moves

    def computer(self, seat: int) -> SeatPlan | None:
        """Return the computer player that decides for a seat now: its own, or a stand-in for an absent human."""
        plan = self.created.seats[seat]
        if plan.kind != OPEN:
            return plan
        stand_in = self.created.absent
        return stand_in if stand_in is not UNSET and self.seats[seat].absent else None

    def is_asked(self, seat: int) -> bool:
        """Return whether a seat that plays faces a decision, owed or optional."""
        return self.status == "running" and self._asked[seat] is not None

    def question(self, seat: int) -> Question | None:
        """Return what a computer player is asked for a seat: a computer's, or an absent human's where one steps in.

        None if no computer decides for that seat, or there is nothing to decide. It decides on the view of the version
        at which the seat got its prompt, whatever happened since.
        """
        i = self.plays_as(seat)
        if i is None or not self.is_asked(seat) or (plan := self.computer(seat)) is None:
            return None
        seen = bots.seen(self.game, self.options, len(self.players), self._asked_in[seat], i)
        if seen is None:
            return None
        policy = 0 if plan.policy is UNSET else plan.policy
        return Question(self.game.name, policy, plan.kind, seen, bot_key(self._key), seat, self.prompts[seat])

    def _decided(self, seat: int, move: Move | None) -> Move | None:
        """Return what comes of a decision now: the default if the move is illegal by now and one is owed."""
        i = self.players.index(seat)
        if move is not None and move in self.legal(seat):
            return move
        return self.game.default(self.state, i) if i in self.game.to_act(self.state) else None

    def answer(self, seat: int, prompt: int) -> Answer | None:
        """Return how a prompt of a seat was answered, however long ago."""
        return self._answers.get(seat, {}).get(prompt)

    def has_left(self, seat: int, tenure: int) -> bool:
        """Return whether a tenure was ended."""
        return (seat, tenure) in self._left

    def tenure_of(self, request: str) -> Tenure | None:
        """Return what the join with this request hash got, whether or not it still holds."""
        known = self._joins.get(request)
        return known and known[0]

    # --- folding -------------------------------------------------------------------------------------------------

    def replay(self, data: bytes, *, verify: bool = True) -> Line:
        """Fold one recorded line. Raises Drift naming the first field that differs, NotAnEntry for no line at all.

        After a Drift or a Refusal the fold is where it was; after a Drift in `state` or `line` it is behind that entry.

        With `verify` the line must be, byte for byte, what this match would have written; without, only the legality
        of moves and who may have made them are left out. Chain and version are checked always. An illegal or malformed
        move, unknown rules and bad options raise their Refusal.
        """
        entry = journal.read(data)
        if entry.version != self.version + 1:
            raise Drift("v", f"expected {self.version + 1}, got {entry.version}")
        if entry.prev != self.head.hex():
            raise Drift("prev", f"expected {self.head.hex()}, got {entry.prev}")
        if entry.at < self.at:
            raise Drift("at", f"goes back from {self.at} to {entry.at}")
        self._fold(entry.body, entry.at, verify=verify)
        if verify:
            line = journal.write(self.version, entry.at, entry.body, self.digest, self.head)
            if line.data != data:
                raise _difference(entry, self.digest)
        else:
            line = Line(self.version, data, journal.entry_hash(self.head, data))
        self.head = line.hash
        return line

    def _append(self, body: Body, at: int, move: Move | None = None) -> Line:
        """Fold and write an entry; `move` is what a `moved` holds, already decoded."""
        self._fold(body, max(at, self.at), verify=False, move=move)
        line = journal.write(self.version, self.at, body, digest(self.projection.whole()), self.head)
        self.head = line.hash
        self.appended(line)
        return line

    def _fold(self, body: Body, at: int, *, verify: bool, move: Move | None = None) -> None:
        """Apply one entry. Raises Drift, and changes nothing, if it cannot follow."""
        version = self.version + 1
        if self.over:
            raise Drift("kind", "the match is over, and nothing comes after its end")
        if self._due is not None and not isinstance(body, self._due):
            raise Drift("kind", f"entry {self.version} has to be followed by `{self._due.__struct_config__.tag}`")
        if isinstance(body, Moved):
            self._fold_move(body, version, at, verify=verify, move=move)
            self._due = None if self.game.result(self.state) is None else Finished
        else:
            self._fold_change(body, version, at)
            self._due = self._next(body)
        self.version, self.at = version, at

    def _fold_change(self, body: Created | Joined | Left | Started | Finished | Aborted, version: int, at: int) -> None:
        """Apply an entry that is no move. Raises Drift, and changes nothing, if it cannot follow."""
        match body:
            case Created():
                self._fold_created(body, version)
                self.created_at = at
            case Joined():
                self._fold_joined(body, version)
            case Left():
                self._fold_left(body, version)
            case Started():
                self._fold_started(body, version, at)
            case Finished() | Aborted():
                self._fold_end(body)
        if not isinstance(body, Started):  # which has events
            self.events = ()

    def _next(self, body: Body) -> type[Body] | None:
        """Return the kind of entry that stands in the same commit as this one, which is no move, behind it."""
        match body:
            case Created() | Joined() if all(seat.kind != OPEN for seat in self.seats):
                return Started
            case Left() if self.status == "running" and self._all_left():
                return Aborted
        return None

    def _all_left(self) -> bool:
        return all(self.seats[seat].left for seat in self.players if self.seats[seat].kind == HUMAN)

    def _fold_created(self, body: Created, version: int) -> None:
        if version:
            raise Drift("kind", "a match is created once")
        self.game, self.options, self._code_seed = creation.checked(body)
        self.created, self.id = body, body.match
        self.seats = tuple(Seat(OPEN if plan.kind == OPEN else plan.kind) for plan in body.seats)

    def _lobby(self) -> None:
        if self.version < 0 or self.status != "lobby":
            raise Drift("kind", "only the lobby can be changed like this")

    def _fold_joined(self, body: Joined, version: int) -> None:
        self._lobby()
        if body.seat not in range(len(self.seats)) or self.seats[body.seat].kind != OPEN:
            raise Drift("seat", f"seat {body.seat} is not open")
        if body.request in self._joins:
            raise Drift("request", "the same request joined before")
        seed = journal.from_hex("client_seed", body.client_seed)
        if fault := bad_join(body.name, seed):
            raise Drift(*fault)
        self._set_seat(body.seat, Seat(HUMAN, body.name, version, seed))
        self._joins[body.request] = (Tenure(body.seat, version), body)

    def _fold_left(self, body: Left, version: int) -> None:
        if body.seat not in range(len(self.seats)):
            raise Drift("seat", f"there is no seat {body.seat}")
        seat = self.seats[body.seat]
        if seat.tenure != body.tenure or seat.left:
            raise Drift("tenure", f"seat {body.seat} is not held since {body.tenure}")
        if self.status == "lobby":
            self._set_seat(body.seat, Seat(OPEN))
        elif body.by == "host":
            raise Drift("by", "the host ends tenures in the lobby only")
        else:
            self._set_seat(body.seat, replace(seat, left=True))
        self._left[body.seat, body.tenure] = version

    def _fold_started(self, body: Started, version: int, at: int) -> None:
        self._lobby()
        players = self._taken()
        if body.seats != players or len(players) not in self.game.seats:
            raise Drift("seats", f"the seats taken are {list(players)}")
        if self.seed is None:
            raise Drift("seed", "there is no server seed to deal from")
        rules = self.created.rules
        seeds = [self.seats[seat].client_seed for seat in players]
        from_code = self._code_seed is not None
        key = code_key(self._code_seed or b"", rules) if from_code else match_key(self.seed, self.id, rules, seeds)
        step = self.game.setup(self.options, len(players), Stream(key, "game", version))
        self._key, self.players, self.status, self._started = key, players, "running", version
        self._place = {seat: i for i, seat in enumerate(players)}
        self.state, self.events = step
        self._projection = None
        self._legal = {}
        self._asked = {seat: self.game.asked(self.state, i) for i, seat in enumerate(players)}
        self._asked_in = dict.fromkeys(players, self.state)
        self.prompts = dict.fromkeys(players, version)
        self.prompt_at = dict.fromkeys(players, at)
        self._answers = {seat: {} for seat in players}

    def _fold_move(self, body: Moved, version: int, at: int, *, verify: bool, move: Move | None) -> None:
        seat = body.seat
        i = self.plays_as(seat)
        if self.status != "running" or i is None:
            raise Drift("seat", f"seat {seat} cannot move now")
        if body.prompt != self.prompts[seat]:
            raise Drift("prompt", f"expected {self.prompts[seat]}, got {body.prompt}")
        raw = spelled = bytes(body.move)
        if move is None:
            move, spelled = self.game.move_json.read(raw)
        if verify:
            if spelled != raw:
                raise Drift("move", f"expected {spelled.decode()}, got {raw.decode()}")
            self.game.check(self.state, i, move)
            self._check_mover(body, i, move)
        self._apply(body, i, move, raw, version, at)

    def _check_mover(self, body: Moved, i: int, move: Move) -> None:
        """Raise Drift unless who made a legal move is one who may have made it."""
        holder = self.seats[body.seat]
        if (body.by == "bot") != (body.bot is not UNSET):
            raise Drift("bot", "stands exactly with moves by bot")
        if body.by == "player":
            if holder.kind != HUMAN or holder.left:
                raise Drift("by", f"no player holds seat {body.seat}")
            return
        if body.by == "clock":
            if self.computer(body.seat) is not None:
                raise Drift("by", f"a computer player decides for seat {body.seat}")
            if i not in self.game.to_act(self.state):
                raise Drift("clock", f"seat {body.seat} owes no move")
            if move != (owed := self.game.default(self.state, i)):
                raise Drift("clock", f"the default move is {self.game.move_json.encode(owed).decode()}")
        if body.bot is not UNSET:
            if holder.kind == HUMAN and not holder.absent:
                raise Drift("by", f"seat {body.seat} is held by a human who is present")
            self._check_bot(body, body.bot, move)

    def _check_bot(self, body: Moved, by: Bot, move: Move) -> None:
        """Raise Drift unless a computer player made the move that it makes there."""
        question = self.question(body.seat)
        if question is None:
            raise Drift("bot", f"no computer player decides for seat {body.seat}")
        if (by.policy, by.version, by.seen) != (question.level, question.policy, question.version):
            raise Drift("bot", f"{question.level}/{question.policy} decides there, on version {question.version}")
        expected = self._decided(body.seat, bots.answer(question))
        if move != expected:
            text = "none" if expected is None else self.game.move_json.encode(expected).decode()
            raise Drift("bot", f"the computer player's move is {text}")

    def _apply(self, body: Moved, i: int, move: Move, raw: bytes, version: int, at: int) -> None:
        seat = body.seat
        game = self.game
        state, self.events = game.apply(self.state, i, move, Stream(self._key, "game", version))
        self.state = state
        asked, known = game.asked, self._asked
        for j, other in enumerate(self.players):
            question = asked(state, j)
            if other == seat or (question is not None and question != known[other]):
                self.prompts[other], self.prompt_at[other], self._asked_in[other] = version, at, state
            known[other] = question
        self._answers[seat][body.prompt] = Answer(version, raw, body.by)
        holder = self.seats[seat]
        if holder.kind == HUMAN:
            timeouts = 0 if body.by == "player" else holder.timeouts + 1
            if timeouts != holder.timeouts:
                self._set_seat(seat, replace(holder, timeouts=timeouts))
        self._projection = None
        self._legal = {}

    def _fold_end(self, body: Finished | Aborted) -> None:
        if self.version < 0:
            raise Drift("kind", "a match begins with `created`")
        if isinstance(body, Finished):
            result = self.game.result(self.state) if self.status == "running" else None
            if result is None or encode(result) != encode(body.result):
                raise Drift("result", f"expected {encode(result).decode()}, got {encode(body.result).decode()}")
        seed = journal.from_hex("seed", body.seed)
        if commitment(seed, self.id, self.created.rules).hex() != self.created.commitment:
            raise Drift("seed", "the reveal does not match the commitment")
        if isinstance(body, Finished):
            self.status, self.result = "finished", body.result
        else:
            self.status, self.reason = "aborted", body.reason
        self.over = True
        self._legal = {}

    def _set_seat(self, number: int, seat: Seat) -> None:
        self.seats = (*self.seats[:number], seat, *self.seats[number + 1 :])

    def _taken(self) -> tuple[int, ...]:
        return tuple(number for number, seat in enumerate(self.seats) if seat.kind != OPEN)


def _difference(entry: Entry, digest: str) -> Drift:
    if entry.state != digest:
        return Drift("state", f"expected {digest}, got {entry.state}")
    return Drift("line", "the line is not the canonical spelling of its entry")
