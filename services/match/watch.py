"""Views of one match: asked for, and as they come.

A subject is subscribed before the view is asked for, so nothing falls between. Whatever may have been missed (a gap, a
new connection to NATS, silence while a move is due) is asked of the owner: NATS is a hint, the journal the truth.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from typing import NamedTuple

import msgspec
import structlog
from msgspec import Struct
from nats.aio.msg import Msg

from services.bus import Bus, NoAnswer
from services.commands import VIEW_ANSWERS, ViewAnswer, ViewQuestion, pack, partition_of, view_subject
from services.match.past import Past
from services.match.refused import Interrupted, Refused
from services.tasks import asked_to_end

SILENCE_S = 10.0
"""How long a move may be due before it is asked whether a view was lost."""
LONG_SILENCE_S = 60.0
"""The same while nobody owes a move."""
HEAL_AGAIN_S = 0.5
HEAL_WITHIN_S = 15.0
"""How long a stream waits for an owner before it gives up."""
MAX_WAITING = 64
"""Views that wait for a slow reader; when more come all are dropped and the present one is asked for."""
LOOK_S = 0.25

log = structlog.get_logger()


class Head(Struct, frozen=True):
    """What forwarding has to know of a view."""

    version: int
    status: str
    to_act: tuple[int, ...]

    @property
    def last(self) -> bool:
        """Whether no view comes after this one."""
        return self.status in ("finished", "aborted")


_HEADS = msgspec.json.Decoder(Head)


class NotAView(ValueError):
    """The bytes are no view."""


def head_of(view: bytes) -> Head:
    """Return what forwarding has to know of a view's JSON. Raises NotAView."""
    try:
        return _HEADS.decode(view)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotAView(str(error)) from None


class Viewer(NamedTuple):
    """Whose view: a tenure's, or without a seat the spectators'."""

    match: str
    seat: int | None = None
    tenure: int | None = None


class _Mailbox:
    """What has come for one stream since it last looked."""

    def __init__(self) -> None:
        self.views: deque[tuple[Head, bytes]] = deque()
        self.lost = False
        """Whether something may have been missed."""
        self._filled = asyncio.Event()

    async def put(self, message: Msg) -> None:
        try:
            head = head_of(message.data)
        except NotAView:
            log.exception("view_unreadable", subject=message.subject)
            return
        if len(self.views) == MAX_WAITING:
            self.lose()
        else:
            self.views.append((head, message.data))
            self._filled.set()

    def lose(self) -> None:
        self.views.clear()
        self.lost = True
        self._filled.set()

    async def wait(self, timeout: float) -> bool:  # noqa: ASYNC109 - silence is an answer here, not an error
        """Return when something has come, or False after so many seconds."""
        try:
            async with asyncio.timeout(timeout):
                await self._filled.wait()
        except TimeoutError:
            return False
        self._filled.clear()
        return True


class Views:
    """Answers about views; one a process."""

    def __init__(self, bus: Bus, past: Past) -> None:
        """Prepare; `tend` has to run for streams to notice new connections to NATS."""
        self._bus = bus
        self._past = past
        self._mailboxes: set[_Mailbox] = set()
        self._stopping = False

    async def tend(self) -> None:
        """Watch the connection to NATS: what was sent while there was none is lost."""
        generation = self._bus.generation
        while True:
            await asyncio.sleep(LOOK_S)
            if self._bus.connected and self._bus.generation != generation:
                generation = self._bus.generation
                for mailbox in self._mailboxes:
                    mailbox.lose()

    def stop(self) -> None:
        """End all streams; refuse new ones."""
        self._stopping = True
        for mailbox in self._mailboxes:
            mailbox.lose()

    async def ask(self, viewer: Viewer, since: int | None, within: float, invite: str | None = None) -> ViewAnswer:
        """Return the present view and what was missed since a version, from the owner within so many seconds.

        `invite` as in `ViewQuestion`. What no owner can have any more is looked for in the archive; of that the last
        view is all that is told. Raises Refused: NO_OWNER if nobody answers, or what the owner refuses.
        """
        question = pack(ViewQuestion(*viewer, since, invite))
        try:
            data = await self._bus.request(f"query.{partition_of(viewer.match)}", question, within)
        except NoAnswer:
            raise Refused("NO_OWNER", "nobody decides for this match at the moment", match=viewer.match) from None
        answer = VIEW_ANSWERS.decode(data)
        if answer.reason == "UNKNOWN_MATCH" and (view := await self._past.last_view(*viewer, invite)) is not None:
            return ViewAnswer(view, truncated=since is not None and since < head_of(view).version - 1)
        if answer.reason is not None:
            raise Refused(answer.reason, answer.detail, **{"match": viewer.match, **answer.fields})
        return answer

    async def watch(self, viewer: Viewer, since: int | None, within: float) -> AsyncGenerator[ViewAnswer, None]:
        """Give the present view at once and each newer one as it comes; end after the last.

        Raises as `ask`, and Interrupted when the service stops.
        """
        mailbox = _Mailbox()
        subscription = await self._bus.subscribe(view_subject(*viewer), mailbox.put)
        self._mailboxes.add(mailbox)
        try:
            answer = await self.ask(viewer, since, within)
            shown = head_of(answer.view)
            yield answer
            while not shown.last:
                # It may have been told to stop before its mailbox was there to be told.
                silent = not self._stopping and not await mailbox.wait(SILENCE_S if shown.to_act else LONG_SILENCE_S)
                if self._stopping or asked_to_end():
                    raise Interrupted("this server stops; watch on at another one")
                while mailbox.views and not mailbox.lost:
                    head, data = mailbox.views.popleft()
                    if head.version > shown.version + 1:
                        mailbox.lost = True
                    elif head.version == shown.version + 1:
                        shown = head
                        yield ViewAnswer(data)
                if mailbox.lost or silent:
                    mailbox.lost = False
                    mailbox.views.clear()
                    answer = await self._heal(viewer, shown.version)
                    present = head_of(answer.view)
                    if present.version != shown.version:
                        shown = present
                        yield answer
        finally:
            self._mailboxes.discard(mailbox)
            await self._bus.unsubscribe(subscription)

    async def _heal(self, viewer: Viewer, since: int) -> ViewAnswer:
        loop = asyncio.get_running_loop()
        until = loop.time() + HEAL_WITHIN_S
        while True:
            try:
                return await self.ask(viewer, since, HEAL_WITHIN_S / 3)
            except Refused as refused:
                if refused.reason != "NO_OWNER" or loop.time() > until or self._stopping:
                    raise
            await asyncio.sleep(HEAL_AGAIN_S)
