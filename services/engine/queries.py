"""Questions to the owner of a partition: the present view of a match, and what became of a command.

The answers show only what is durable: a question waits until no batch is being decided, and the journal in Redis must
have just the length that is in memory, under the lease that this worker holds. Without that lease it stays silent.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import structlog
from nats.aio.msg import Msg
from redis.exceptions import RedisError

from engine.match import HUMAN
from engine.refusals import NotYourSeat, Refusal, UnknownMatch
from services.bus import Bus, Subscription
from services.commands import (
    ANSWERS_TO_MATCH,
    QUESTIONS,
    Command,
    Create,
    Join,
    Kick,
    Leave,
    OutcomeAnswer,
    OutcomeQuestion,
    Receipt,
    Start,
    Submit,
    ViewAnswer,
    ViewQuestion,
    is_match_id,
    pack,
)
from services.engine.leases import Held
from services.engine.live import REMEMBERED, Live

if TYPE_CHECKING:
    from services.engine.worker import Worker

log = structlog.get_logger()


class Queries:
    """Answers on `query.<partition>` for the partitions owned."""

    def __init__(self, worker: "Worker", bus: Bus) -> None:
        """Answer nothing yet."""
        self._worker = worker
        self._bus = bus
        self._listening: dict[int, Subscription] = {}

    async def listen(self, held: Sequence[Held]) -> None:
        """Listen for just these partitions."""
        wanted = {one.partition for one in held}
        if wanted == self._listening.keys():
            return
        for partition in wanted - self._listening.keys():
            self._listening[partition] = await self._bus.subscribe(f"query.{partition}", self._on_question)
        for partition in self._listening.keys() - wanted:
            await self._bus.unsubscribe(self._listening.pop(partition))

    async def close(self) -> None:
        """Stop listening."""
        await self.listen([])

    async def _on_question(self, message: Msg) -> None:
        # The asker chose where the answer goes: anywhere else it could pass for a view or for receipts.
        if not message.reply.startswith(f"{ANSWERS_TO_MATCH}."):
            log.warning("question_from_elsewhere", subject=message.subject)
            return
        try:
            question = QUESTIONS.decode(message.data)
            answer = await self._answer(question)
        except (msgspec.DecodeError, RedisError) as error:
            log.warning("question_not_answered", error=error)
            return
        except Exception:
            log.exception("question_failed")
            return
        if answer is not None:
            await self._bus.send(message.reply, self._packed(answer))

    def _packed(self, answer: ViewAnswer | OutcomeAnswer) -> bytes:
        """Return an answer as it is sent: without the events that were missed if NATS would not take it with them."""
        data = pack(answer)
        if len(data) > self._bus.largest and isinstance(answer, ViewAnswer) and answer.missed:
            return pack(msgspec.structs.replace(answer, missed=[], truncated=True))
        return data

    async def _answer(self, question: ViewQuestion | OutcomeQuestion) -> ViewAnswer | OutcomeAnswer | None:
        match = question.match if isinstance(question, ViewQuestion) else question.command.match
        if not is_match_id(match):
            return None
        async with self._worker.deciding:
            live = await self._worker.present(match)
            if live is None:
                return None
            if isinstance(question, OutcomeQuestion):
                return OutcomeAnswer(outcome(live, question.command))
            try:
                return view(live, question)
            except Refusal as refusal:
                return ViewAnswer(reason=refusal.reason, detail=refusal.detail, fields=dict(refusal.fields))


def view(live: Live, question: ViewQuestion) -> ViewAnswer:
    """Return the present view and the events of versions missed: above `since`, below the present one.

    Raises UnknownMatch, BadInvite, NotYourSeat (the tenure has ended).
    """
    match = live.match
    if match.version < 0:
        raise UnknownMatch("there is no such match, or no longer")
    if question.invite is not None:
        live.admit(question.invite)
    if question.seat is not None:
        held = match.seats[question.seat] if question.seat in range(len(match.seats)) else None
        if held is None or held.kind != HUMAN or held.tenure != question.tenure or held.left:
            raise NotYourSeat(f"the tenure {question.tenure} of seat {question.seat} has ended", seat=question.seat)
    present = live.views.view_json(question.seat)
    if question.since is None or question.since >= match.version - 1:
        return ViewAnswer(present)
    if match.version - question.since > min(REMEMBERED, len(live.recent)):
        return ViewAnswer(present, truncated=True)
    missed = [
        live.views.past_events(version, events, question.seat)
        for version, events in live.recent
        if question.since < version < match.version
    ]
    return ViewAnswer(present, missed)


def outcome(live: Live, command: Command) -> Receipt | None:
    """Return what the journal shows of a command, None if it shows nothing of it."""
    state = live.match
    if state.version < 0:
        return None
    match command:
        case Create():
            repeat = True
        case Join():
            repeat = state.tenure_of(command.request) is not None
        case Submit():
            repeat = state.answer(command.seat, command.prompt) is not None or state.over
        case Start():
            repeat = state.status != "lobby"
        case Leave():
            repeat = state.has_left(command.seat, command.tenure)
        case Kick():
            repeat = command.tenure is not None and state.has_left(command.seat, command.tenure)
        case _:
            repeat = state.over
    if not repeat:
        return None
    receipt = live.decide(0, command, state.at, state.at)
    assert not live.lines, "a question changes nothing"
    return receipt
