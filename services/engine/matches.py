"""The matches that a worker has in memory: brought there from their journals, decided on, told what is committed.

Nothing here writes or publishes. What is decided is ahead of the journal until the worker has committed it; if that
fails, the match is dropped and comes from its journal again.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

import structlog

from engine.game import encode
from engine.refusals import Internal, UnknownGame
from services.commands import Envelope, Receipt, Submit, pack, partition_of
from services.engine.batch import Counted, Group, Item, Outcome
from services.engine.leases import Leases
from services.engine.live import Limits, Live, Message
from services.engine.thinkers import Thinkers
from services.metrics import Metrics
from services.sealing import Sealer, UnknownKey
from services.settings import Settings
from services.signatures import signer
from services.store import Store
from services.store.commits import Commit
from services.views import Summary

log = structlog.get_logger()

CLOCK = b'"by":"clock"'
"""Stands so in a line only where the clock moved: inside a string its quotes would be escaped."""
FAULTS_UNTIL_ABORT = 2
RECEIPTS_BYTES = 256 * 1024
"""A message of more receipts is split; NATS takes none above its limit, 1 MB unless configured."""


class Matches:
    """The matches in memory. None of them counts for more than its journal: each can be dropped at any time."""

    def __init__(self, settings: Settings, store: Store, metrics: Metrics, leases: Leases, thinkers: Thinkers) -> None:
        """Begin with none. Raises SettingsError without a key for seeds."""
        self._settings = settings
        self._store = store
        self._metrics = metrics
        self._leases = leases
        self._thinkers = thinkers
        self._limits = Limits.of(settings)
        self._sign = signer(settings)
        self._sealer = Sealer.of(settings)
        self._cache: OrderedDict[str, Live] = OrderedDict()
        self._faults: dict[str, set[str]] = {}
        """By match, what raised something unexpected: a redelivery of the same command does not count twice."""

    def __len__(self) -> int:
        return len(self._cache)

    def drop(self, match: str) -> None:
        """Drop a match that is behind its journal or is another worker's; it is loaded anew if it comes again."""
        self._cache.pop(match, None)

    def forget(self, partition: int) -> None:
        """Drop all matches of a partition, and what is known of their faults."""
        for match in [match for match in self._cache if partition_of(match) == partition]:
            del self._cache[match]
        for match in [match for match in self._faults if partition_of(match) == partition]:
            del self._faults[match]

    def clear(self) -> None:
        """Drop all matches."""
        self._cache.clear()

    def evict(self) -> None:
        """Drop what was not asked for the longest, beyond as many matches as the settings allow."""
        while len(self._cache) > self._settings.cached_matches:
            self._cache.popitem(last=False)

    async def load(self, groups: Sequence[Group]) -> None:
        """Bring the matches of groups into memory: `live` of each. One that does not replay is left without.

        So is one whose seed or rules only another worker has, with `shut`: an operator can change that.

        Raises what Redis raises.
        """
        cold = [group for group in groups if not self._knows(group)]
        if cold:
            for group, recorded in zip(cold, await self._store.load([g.match for g in cold]), strict=True):
                self._cache.pop(group.match, None)
                group.shut = ""
                again = any(item.redelivered or item.member for item in group.items)
                try:
                    seed = recorded.seed and self._sealer.open(group.match, recorded.seed)
                    live = Live.empty(seed, self._limits, self._sign)
                    for _ in live.folding(recorded, with_views=again):
                        await asyncio.sleep(0)
                except (UnknownKey, UnknownGame) as error:
                    group.shut = "seed_key" if isinstance(error, UnknownKey) else "rules"
                    self._metrics.matches_not_opened.labels(group.shut).inc()
                    log.error("match_not_opened", match=group.match, reason=group.shut, error=error)  # noqa: TRY400 - where it was raised says nothing
                    continue
                except Exception:
                    self._metrics.replay_mismatches.inc()
                    log.exception("journal_does_not_replay", match=group.match)
                    continue
                self._cache[group.match] = live
        for group in groups:
            group.live = self._cache.get(group.match)
            if group.live is not None:
                self._cache.move_to_end(group.match)

    def _knows(self, group: Group) -> bool:
        """Whether the match is in memory, with its last views if one may have to be published again."""
        live = self._cache.get(group.match)
        if live is None:
            return False
        again = any(item.redelivered or (item.member and item.member not in live.due) for item in group.items)
        return bool(live.outbox) or not again or live.match.version < 0

    async def decide(self, group: Group, now: int) -> None:
        """Decide a loaded group's items in order; start again without an item that raises something unexpected.

        If that does not help either, the match is left without `live` and all its items fail. Receipts, views to repeat
        and what to commit are in the group afterwards. Raises what Redis raises.
        """
        while True:
            group.receipts, group.again, group.settled, group.postponed, group.commit = [], [], [], {}, None
            number = 0
            try:
                for number, item in enumerate(group.items):
                    self._decide_item(group, item, now, poisoned=number in group.poisoned)
                self._abort_if_faulty(group, now)
                group.commit = self._commit_of(group)
            except Exception:
                self._metrics.internal_errors.inc()
                log.exception("command_failed", match=group.match)
                self._cache.pop(group.match, None)
                if number in group.poisoned:
                    group.live = None
                    continue
                item = group.items[number]
                fault = item.delivery.id if item.delivery else f"{item.member} {now}"
                self._faults.setdefault(group.match, set()).add(fault)
                group.poisoned.add(number)
                await self.load([group])
            else:
                return

    def _abort_if_faulty(self, group: Group, now: int) -> None:
        if group.live is None or len(self._faults.get(group.match, ())) < FAULTS_UNTIL_ABORT:
            return
        match = group.live.match
        if match.version >= 0 and not match.over:
            match.abort("internal_error", now or self._leases.now())

    def _decide_item(self, group: Group, item: Item, now: int, *, poisoned: bool) -> None:
        live = group.live
        if item.envelope is None or item.delivery is None:
            self._fire(group, item, now, poisoned=poisoned)
            return
        number, at = item.envelope.id, item.delivery.at
        if group.shut:
            receipt = Receipt(number, None, "NO_OWNER", "no worker can open this match at the moment", appended=False)
        elif poisoned or live is None:
            refusal = Internal("the server failed on this command; it had no effect")
            receipt = Receipt(number, None, refusal.reason, refusal.detail, appended=False)
        else:
            receipt = live.decide(number, item.envelope.command, at, group.held.since)
            if item.redelivered and receipt.version is not None and not receipt.appended:
                group.again += live.views_again(receipt.version)
                if receipt.version < live.match.version:
                    group.again += live.views_again(receipt.version + 1)
        group.receipts.append((item, receipt))

    def _fire(self, group: Group, item: Item, now: int, *, poisoned: bool) -> None:
        later = now + self._settings.lease_ms
        if poisoned or group.live is None:
            group.postponed[item.member] = later
            return
        if item.decision is not None:
            group.again += group.live.conclude(item.decision.question, item.decision.move, now)
            group.settled.append(item.member)
            return
        fired = group.live.fire(item.member, now, group.held.since)
        group.again += fired.again
        if fired.question is not None:
            self._thinkers.ask(group.match, item.member, fired.question)
            group.postponed[item.member] = later
        elif fired.later is None:
            group.settled.append(item.member)
        else:
            group.postponed[item.member] = fired.later

    def _commit_of(self, group: Group) -> Commit | None:
        live = group.live
        if live is None:
            return None
        match = live.match
        wanted = live.wanted()
        grown = bool(live.lines)
        first = grown and live.committed == 0
        lobby_changed = grown and (match.status == "lobby" or any_lobby_line(live))
        due = {} if wanted is live.due else {member: at for member, at in wanted.items() if live.due.get(member) != at}
        ended = grown and match.over
        if ended:  # removed once the end is published, and found at once if that died
            due = dict.fromkeys(live.due, match.at)
        return Commit(
            lease=group.held.lease,
            match=group.match,
            expected=live.committed,
            head=live.head,
            lines=live.lines,
            seed=self._sealer.seal(match.id, match.seed) if first and match.seed is not None else None,
            lobby=None if not lobby_changed else encode(Summary.of(match)) if match.status == "lobby" else "remove",
            ended=ended,
            due=due,
        )

    def take_over(self, done: Sequence[Group], unreadable: Sequence[Group], largest: int) -> Outcome:
        """Take over what is committed into what is known of its matches; return what follows from it.

        `largest`: bytes of the largest message that NATS takes.
        """
        outcome = Outcome(done)
        outcome.refused += [item.delivery for group in unreadable for item in group.items if item.delivery]
        receipts: dict[str, list[Receipt]] = {}
        for group in done:
            gone = outcome.settled.setdefault(group.held.partition, [])
            outcome.messages += group.again
            if group.live is not None:
                outcome.messages += self._committed(group, group.live, gone)
                gone += [member for member in group.settled if member not in group.live.due]
            for item, receipt in group.receipts:
                assert item.delivery is not None
                assert item.envelope is not None
                receipts.setdefault(item.envelope.service, []).append(receipt)
                (outcome.refused if receipt.reason else outcome.accepted).append(item.delivery)
                count = self._what(group, item.envelope, receipt)
                outcome.counts[count] = outcome.counts.get(count, 0) + 1
        outcome.views = len(outcome.messages)
        outcome.messages += [
            (f"receipts.{service}", data) for service, batch in receipts.items() for data in parcels(batch, largest)
        ]
        return outcome

    def _committed(self, group: Group, live: Live, settled: list[str]) -> list[Message]:
        """Take over what was committed into the match's record; return the views to publish, in order."""
        match = live.match
        wanted = live.wanted()
        if wanted is not live.due:
            held = group.held
            for member, at in wanted.items():
                if live.due.get(member) != at and (held.next_due is None or at < held.next_due):
                    held.next_due = at
            settled += [member for member in live.due if member not in wanted]
            live.due = wanted
        views: list[Message] = []
        for line in live.lines:
            views += live.outbox.get(line.version, ())
            if CLOCK in line.data:
                self._metrics.clock_moves.inc()
        live.committed, live.head, live.lines = match.version + 1, match.head, []
        group.sent = live.committed
        if match.over:
            self._faults.pop(group.match, None)
        return views

    def _what(self, group: Group, envelope: Envelope, receipt: Receipt) -> Counted:
        """Return the kind of a command, for a move its game, and what became of it."""
        command, live = envelope.command, group.live
        game = None
        if isinstance(command, Submit) and live is not None and live.match.version >= 0:
            game = live.match.game.name
        result = receipt.reason or ("accepted" if receipt.appended else "repeated")
        return type(command).__name__.lower(), game, result


def parcels(batch: Sequence[Receipt], largest: int) -> list[bytes]:
    """Pack receipts into one message, or into as few as it takes to keep each below the limit."""
    whole = pack(batch)
    if len(whole) <= min(RECEIPTS_BYTES, largest) or len(batch) == 1:
        return [whole]
    middle = len(batch) // 2
    return parcels(batch[:middle], largest) + parcels(batch[middle:], largest)


def any_lobby_line(live: Live) -> bool:
    """Whether the entries about to be committed end the lobby."""
    return live.committed == 0 or f"{live.match.id}:lobby" in live.due
