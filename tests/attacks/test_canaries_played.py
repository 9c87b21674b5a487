"""Canaries in real matches of every game: nobody is told what he may not know, by any byte that he gets.

Three players, a spectator and a stranger each speak to a running stack through relays that keep every byte they are
sent. In the middle of the match all of them look and try what they can. Then the journal and its seed, which only the
test has, tell what was dealt, and so what each of them might have been told up to then:

- every view, over NATS and over gRPC, shows just that, field by field;
- and in no byte, of the relays, of refusals and their trailers, of logs, metrics, or of Redis as other roles may read
  it, is there a secret of another: server seed, client seeds, digests, hashes, request ids, tokens, keys; nor four
  cards of a pile or a hand in their order, nor any card, of games whose cards have names, that he was never shown.
"""

import contextlib
import functools
import hashlib
import json
import random
import re
import secrets
import urllib.request
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import grpc
import pytest
import redis
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from redis.exceptions import RedisError

from croupier.v1 import match_service_pb2 as pb
from croupier.v1 import match_service_pb2_grpc as pb_grpc
from croupier.v1 import view_pb2
from engine.game import encode
from engine.match import Match
from services import wire
from services.bus import Access, Bus
from services.client import _as_json
from services.sealing import Sealer
from services.stack import Stack
from services.store.keys import journal_key, seed_key
from tests.attacks.spy import Spy, Tap, writings
from tests.attacks.wire import Attacker, Refused
from tests.deploy.test_redis_acl import DEPLOY
from tests.e2e.table import api, as_move, awaited, creation, number_in_game, part, until

GAMES = ("timos_twist", "toms_time_bluff", "bombenziehen", "bluffing_billionaires", "clever_gedreht")
SEATS = 3
LOOKS = (2, 9, 17)
"""After so many moves everybody looks and tries."""
RUN = 4
"""So many cards in their order are no accident."""
NAMED = 3
"""A card's name of so many letters stands for nothing else."""
TAGS = rb"[\x0a\x12\x1a\x22\x2a\x32\x3a\x42\x4a\x52]"
"""Of texts in protobuf: the fields 1 to 10."""
SHOWN = {
    "match", "seat", "version", "prompt", "status", "reason", "to_act", "deadline", "seats", "rules", "options",
    "clock", "commitment", "code", "result", "seed", "hash", "signature",
}  # fmt: skip
"""All that a view has besides the game's part."""
SEAT_SHOWN = {"seat", "name", "kind", "absent", "tenure", "plays_as"}
ONLY_AT_THE_END = ("result", "seed", "hash", "signature")


class Party:
    """One who takes part, or does not: `seat` None is a spectator, without a token a stranger."""

    def __init__(self, name: str, channel: grpc.aio.Channel, taps: tuple[Tap, Tap]) -> None:
        self.name, self.channel, self.taps = name, channel, taps
        self.stub = pb_grpc.MatchServiceStub(channel)
        self.spy = Spy()
        self.request_id, self.client_seed = secrets.token_bytes(24), secrets.token_bytes(32)
        self.seat: int | None = None
        self.token = ""
        self.bus: Bus | None = None
        self.views: list[dict[str, Any]] = []
        self.missed: list[dict[str, Any]] = []

    async def call(self, call: Any) -> Any:
        answer = await self.spy.call(call)
        if answer is not None and "view" in getattr(answer, "DESCRIPTOR", pb.Attach.DESCRIPTOR).fields_by_name:
            self.views.append(_as_json(answer.view))
            self.missed += [_as_json(events) for events in getattr(answer, "missed", ())]
        return answer

    async def view(self) -> Any:
        return (await self.call(self.stub.GetView(pb.GetViewRequest(token=self.token)))).view

    async def listen(self, subject: str) -> None:
        self.bus = await Bus.connect(f"nats://{self.taps[1].address}", "tapped", Access(token=lambda: self.token))
        await self.bus.subscribe(subject, self._hear)

    async def _hear(self, message: Any) -> None:
        await self.spy.hear(message)
        self.views.append(json.loads(message.data))

    @property
    def got(self) -> bytes:
        return b"\n".join([*self.spy.got, *(bytes(tap.heard) for tap in self.taps)])


@contextlib.asynccontextmanager
async def parties(stack: Stack) -> AsyncIterator[list[Party]]:
    """Three players to be, a spectator to be, and a stranger."""
    nats = urlsplit(stack.nats.url)
    host, _, port = stack.grpc.rpartition(":")
    async with contextlib.AsyncExitStack() as opened:
        made = []
        for name in ("Ada", "Bob", "Cleo", "Spectator", "Stranger"):
            taps = [
                await opened.enter_async_context(Tap(*far)) for far in ((host, int(port)), (nats.hostname, nats.port))
            ]
            channel = grpc.aio.insecure_channel(taps[0].address)
            opened.push_async_callback(channel.close)
            made.append(Party(name, channel, (taps[0], taps[1])))
        try:
            yield made
        finally:
            for party in made:
                if party.bus is not None:
                    await party.bus.close()


# --- what somebody may know ------------------------------------------------------------------------------------------


class Known:
    """What the rules let everybody know at every version of a match, from its journal and seed."""

    def __init__(self, lines: Sequence[bytes], seed: bytes) -> None:
        self.match = Match(seed)
        self.journal = b"\n".join(lines)
        self.parts: list[dict[int | None, dict[str, Any] | None]] = []
        self.secret: list[bytes] = []
        """Digests and hashes, which tell what is hidden to whoever guesses."""
        for line in lines:
            self.match.replay(line)
            self.secret += [bytes.fromhex(self.match.digest), self.match.head]
            self.parts.append({seat: self._part(seat) for seat in (None, *range(len(self.match.seats)))})

    def _part(self, seat: int | None) -> dict[str, Any] | None:
        match, game = self.match, self.match.game
        if match.state is None:
            return None
        i = None if seat is None else match.plays_as(seat)
        return {
            "table": json.loads(encode(game.table(match.state))),
            "own": None if i is None else json.loads(encode(game.own(match.state, i))),
            "legal": [] if seat is None else json.loads(game.move_json.encode_list(match.legal(seat))),
            "events": json.loads(game.event_json.encode_list(game.told(match.events, i))),
        }

    def told(self, seat: int | None) -> bytes:
        """All that somebody was shown so far, as JSON and as protobuf write it."""
        shown = [json.dumps({self.match.game.name: part[seat]}, separators=(",", ":")).encode() for part in self.parts]
        return b"\n".join([*shown, *(wire.view_from_json(part).SerializeToString() for part in shown)])

    def hidden(self, seat: int | None) -> list[list[str]]:
        """The lists of cards that somebody cannot see now: piles, others' hands, whatever is face down."""
        state, game = self.match.state, self.match.game
        codes = {card.code for card in game.cards}
        places = [game.hidden(state), *(game.own(state, i) for i in range(SEATS) if i != seat)]
        return [cards for place in places for cards in _lists(json.loads(encode(place)), codes)]


def _lists(value: Any, codes: set[str]) -> Iterator[list[str]]:
    if isinstance(value, str) and value in codes:
        yield [value]
    elif isinstance(value, dict):
        for part_ in value.values():
            yield from _lists(part_, codes)
    elif isinstance(value, list):
        if value and all(isinstance(card, str) and card in codes for card in value):
            yield value
        else:
            for part_ in value:
                yield from _lists(part_, codes)


def runs(cards: Sequence[str]) -> Iterator[bytes]:
    """Patterns for every four cards in their order, forwards and backwards, in any usual writing."""
    for way in (cards, cards[::-1]):
        for start in range(len(way) - RUN + 1):
            run = [card.encode() for card in way[start : start + RUN]]
            if len(set(run)) > 1:
                yield re.escape(run[0]) + b"".join(_next(card) for card in run[1:])


def _next(card: bytes) -> bytes:
    """A card behind another: in JSON or Python, as plain text unless it is a number, or in protobuf."""
    length = re.escape(bytes([len(card)]))
    quoted = rb"[\"'], ?[\"']" if card.isdigit() else rb"[\"']? ?[,;|/ -] ?[\"']?|\n"
    return rb"(?:%b|%b%b)%b" % (quoted, TAGS, length, re.escape(card))


def as_a_word(card: bytes) -> bytes:
    """A pattern for a card as a word of its own.

    In protobuf its length stands before it: behind that of a shorter one it is another card and a digit that is a tag.
    """
    return rb"(?<![\w-])(?<![\x01-%b])%b(?![\w-])" % (re.escape(bytes([len(card) - 1])), re.escape(card))


def test_a_card_is_found_in_any_writing_and_no_other_is_taken_for_it():
    for text in (b'"A10"', b"'A10', ", b"a card A10\n", b"\n\x03A10", b"\x12\x03A10\x1a\x02S1", b"A10"):
        assert re.search(as_a_word(b"A10"), text), text
    for text in (b"\n\x02A10&:", b"xA10", b"A10x", b"A100", b"-A10-"):
        assert not re.search(as_a_word(b"A10"), text), text


# --- the claims ------------------------------------------------------------------------------------------------------


def check_views(party: Party, known: Known, game: str) -> None:
    """Every view has what its version may show this party, and nothing more."""
    assert party.views or not party.token
    for view in party.views:
        allowed = known.parts[view["version"]][party.seat]
        assert view["seat"] == party.seat
        assert set(view) - SHOWN <= {game, *GAMES, "generic"}
        assert [view[name] for name in ONLY_AT_THE_END if view[name]] == []
        assert all(set(seat) == SEAT_SHOWN for seat in view["seats"])
        shown = view.get(game)
        if allowed is None:
            assert not shown
        else:
            assert _plain(shown) == _plain(allowed), (party.name, view["version"])
    for events in party.missed:
        allowed = known.parts[events["version"]][party.seat]
        if allowed is not None:
            assert _plain(events[game]["events"]) == _plain(allowed["events"])


def _plain(value: Any) -> Any:
    """Without what is absent, which JSON writes in two ways, and without integers that protobuf writes as text."""
    if isinstance(value, dict):
        return {name: _plain(part_) for name, part_ in value.items() if part_ is not None}
    return [_plain(part_) for part_ in value] if isinstance(value, list) else value


def check_bytes(who: str, got: bytes, seat: int | None, known: Known, secret: Iterable[bytes]) -> None:
    """No secret, no run of hidden cards and no named card that was never shown is in what somebody got."""
    for text in secret:
        assert text not in got, (who, text)
    told = known.journal if who.startswith("redis") else b"" if who in NOBODY else known.told(seat)
    for cards in known.hidden(seat):
        for run in runs(cards):
            if not re.search(run, told):
                assert not re.search(run, got), (who, run)
        for card in cards:
            named = b'"%b"' % card.encode()
            if len(card) >= NAMED and named not in told and card.encode() not in SCHEMA:
                assert not re.search(as_a_word(card.encode()), got), (who, card)


SCHEMA = b"".join(
    file.serialized_pb for file in (pb.DESCRIPTOR, *pb.DESCRIPTOR.dependencies, *view_pb2.DESCRIPTOR.dependencies)
)
"""What reflection tells everybody: some cards are called as moves are."""
NOBODY = ("Stranger", "logs", "metrics")
"""Where no card may be shown at all. In Redis a match service and the archiver read journals, so the moves made."""


# --- the match -------------------------------------------------------------------------------------------------------


async def play_on(players: Sequence[Party], chance: random.Random, moves: int) -> bool:
    """Make so many moves, each by whoever is asked, from what he is shown; False if the match has ended before."""
    for _ in range(moves):
        views = [(player, await player.view()) for player in players]
        if views[0][1].status != "running":
            return False
        asked = [(player, view) for player, view in views if number_in_game(view) in view.to_act]
        player, view = chance.choice(asked)
        move = as_move(view, chance.choice(part(view).legal))
        request = pb.SubmitMoveRequest(token=player.token, prompt=view.prompt, move=move)
        assert (await player.call(player.stub.SubmitMove(request))).version
    return (await players[0].view()).status == "running"


def shown(parties: Sequence[Party], version: int) -> bool:
    """Whether all of them were shown a version."""
    return all(any(view["version"] == version for view in party.views) for party in parties)


async def look_and_try(party: Party, match: str, invite: str, game: str) -> None:
    """All that somebody can call; nothing of it changes the match."""
    stub, call = party.stub, party.call
    token, mine = party.token, party.request_id
    for since in (None, 0, 3):
        await call(stub.GetView(pb.GetViewRequest(token=token, since=since)))
    await call(stub.GetView(pb.GetViewRequest(token=token, version=4)))
    for stream in (
        stub.WatchView(pb.WatchViewRequest(token=token)),
        stub.GetJournal(pb.GetJournalRequest(match=match, invite=invite)),
        stub.GetJournal(pb.GetJournalRequest(match=match, from_version=1)),
    ):
        await call(stream.read())
        stream.cancel()
    await call(stub.ListMatches(pb.ListMatchesRequest(match=match, invite=invite)))
    await call(stub.ListMatches(pb.ListMatchesRequest(match=match)))
    await call(stub.Spectate(pb.SpectateRequest(match=match, invite="x" * 26)))
    await call(
        stub.JoinMatch(pb.JoinMatchRequest(match=match, request_id=secrets.token_bytes(16), name="M", invite=invite))
    )
    await call(stub.CreateMatch(creation(game, SEATS)))
    await call(stub.AbortMatch(pb.AbortMatchRequest(match=match, reason="now")))
    await call(stub.KickSeat(pb.KickSeatRequest(host_token=token, seat=1)))
    await call(stub.StartMatch(pb.StartMatchRequest(host_token=token)))
    await call(stub.Rematch(pb.RematchRequest(token=token, request_id=mine)))
    bad = pb.SubmitMoveRequest(token=token, prompt=3)
    bad.move.generic.name = game
    present = party.views[-1]["prompt"] if party.views else None
    for move in (bad.move, _no_such_move(game)):
        for prompt in (0, 3, 1000, present or 5):
            await call(stub.SubmitMove(pb.SubmitMoveRequest(token=token, prompt=prompt, move=move)))
    stream = stub.Play()
    await stream.write(pb.PlayRequest(attach=[pb.Attach(handle=1, token=token), pb.Attach(token="forged")]))
    await call(stream.read())
    await stream.write(pb.PlayRequest(commands=[pb.Command(id=1, handle=1, prompt=1, move=_no_such_move(game))]))
    await call(stream.read())
    stream.cancel()
    reflected = reflection_pb2_grpc.ServerReflectionStub(party.channel).ServerReflectionInfo()
    for question in ({"list_services": ""}, {"file_containing_symbol": "croupier.v1.MatchService"}):
        await reflected.write(reflection_pb2.ServerReflectionRequest(**question))
        await call(reflected.read())
    reflected.cancel()
    await call(health_pb2_grpc.HealthStub(party.channel).Check(health_pb2.HealthCheckRequest()))
    with contextlib.suppress(Refused):
        async with await Attacker.connect(f"nats://{party.taps[1].address}", auth_token=token) as attacker:
            for subject in (f"view.{match}.>", "receipts.*", "query.*", "$SYS.>", "_INBOX.>"):
                await attacker.subscribe(subject)


def _no_such_move(game: str) -> Any:
    move = pb.SubmitMoveRequest().move
    part_ = getattr(move, game)
    named = [field.name for field in part_.DESCRIPTOR.fields if "card" in field.message_type.fields_by_name]
    if named:
        getattr(part_, named[0]).card = "no-such-card"
    else:
        part_.SetInParent()
    return move


# --- what is written elsewhere ---------------------------------------------------------------------------------------


def written(stack: Stack) -> bytes:
    """The logs of every process."""
    return b"\n".join(path.read_bytes() for path in stack.folder.rglob("*.log"))


def counted(stack: Stack) -> bytes:
    """What every process shows of its metrics."""
    found = []
    for process in (stack.match, stack.auth, *stack.engines):
        with urllib.request.urlopen(json.loads(process.ready_line)["metrics"], timeout=10) as response:
            found.append(response.read())
    return b"\n".join(found)


def readable(stack: Stack, role: str, match: str) -> bytes:
    """What a role of deploy/redis.conf gets to read of Redis, by whatever command; nothing of other matches' own."""
    line = next(line for line in (DEPLOY / "redis.conf").read_text().splitlines() if line.startswith(f"user {role} "))
    rights = line.split()[2:]
    password = secrets.token_hex(16)
    rights = [f"#{hashlib.sha256(password.encode()).hexdigest()}" if word.startswith("#$") else word for word in rights]
    found: list[Any] = []
    with redis.Redis.from_url(stack.redis.url) as admin:
        admin.execute_command("ACL", "SETUSER", role, *_whole(rights))
        try:
            keys = [
                key
                for key in admin.keys("*")
                if not re.search(rb":(journal|seed|snapshot):(?!%b)" % match.encode(), key)
            ]
            assert journal_key(match).encode() in keys
            assert seed_key(match).encode() in keys
            with redis.Redis.from_url(stack.redis.url, username=role, password=password) as client:
                for key in keys:
                    for command in (
                        ("GET", key), ("HGETALL", key), ("XRANGE", key, "-", "+"), ("ZRANGE", key, 0, -1),
                        ("DUMP", key), ("XREAD", "STREAMS", key, 0), ("XINFO", "STREAM", key, "FULL"),
                    ):  # fmt: skip
                        with contextlib.suppress(RedisError):
                            found.append(client.execute_command(*command))
        finally:
            admin.execute_command("ACL", "DELUSER", role)
    return b"\n".join(_texts(found))


def _whole(words: Sequence[str]) -> list[str]:
    """Words of a line, selectors in brackets as one each."""
    return [word.strip() for word in re.findall(r"\([^)]*\)|\S+", " ".join(words))]


def _texts(value: Any) -> Iterator[bytes]:
    if isinstance(value, bytes):
        yield value
    elif isinstance(value, dict):
        yield from _texts(list(value.items()))
    elif isinstance(value, list | tuple):
        for part_ in value:
            yield from _texts(part_)


def kept(stack: Stack, match: str) -> Known:
    with redis.Redis.from_url(stack.redis.url) as client:
        lines = [fields[b"line"] for _, fields in client.xrange(journal_key(match))]
        sealed = client.get(seed_key(match))
    seed = Sealer(bytes.fromhex(stack.environment["CROUPIER_SEED_KEY"])).open(match, sealed)
    return Known(lines, seed)


# --- all together ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
@awaited
async def test_no_byte_tells_anybody_what_he_may_not_know(stack: Stack, game: str) -> None:
    async with api(stack) as operator, parties(stack) as everybody:
        players, (spectator, stranger) = everybody[:SEATS], everybody[SEATS:]
        create_id = secrets.token_bytes(24)
        created = await operator.create(game, SEATS, private=True, request_id=create_id)
        match, invite = created.match, created.invite
        for number, player in enumerate(players):
            player.seat = number
            request = pb.JoinMatchRequest(
                match=match, request_id=player.request_id, name=player.name, invite=invite, seat=number,
                client_seed=player.client_seed,
            )  # fmt: skip
            joined = await player.call(player.stub.JoinMatch(request))
            player.token = joined.token
            await player.listen(joined.subject)
        watching = await spectator.call(spectator.stub.Spectate(pb.SpectateRequest(match=match, invite=invite)))
        spectator.token = watching.token
        await spectator.listen(watching.subject)

        chance, made = random.Random(game), 0
        for moves in LOOKS:
            if not await play_on(players, chance, moves - made):
                break
            made = moves
            for party in everybody:
                await look_and_try(party, match, "" if party is stranger else invite, game)
            known = kept(stack, match)
            assert known.match.status == "running"
            await until(functools.partial(shown, everybody[:-1], known.match.version))

            environment = stack.environment
            keys = [environment[f"CROUPIER_{name}_KEY"] for name in ("TOKEN", "OPERATOR", "SEED", "SIGNING")]
            keys += [stack.access.password(name) for name in ("match", "engine", "auth", "observer")]
            common = [*(key.encode() for key in keys), *_token(created.host_token)]
            common += [text for secret in (create_id, known.match.seed) for text in writings(secret)]
            common += [text for digest in known.secret for text in (digest, digest.hex().encode())]
            private = {
                party.name: [*_token(party.token), *writings(party.request_id), *writings(party.client_seed)]
                for party in everybody[:-1]
            }
            for party in everybody:
                check_views(party, known, game)
                others = [text for name, texts in private.items() if name != party.name for text in texts]
                hidden = [invite.encode()] if party is stranger else []
                check_bytes(party.name, party.got, party.seat, known, [*common, *others, *hidden])
            everything = [*common, *(text for texts in private.values() for text in texts), invite.encode()]
            check_bytes("logs", written(stack), None, known, everything)
            check_bytes("metrics", counted(stack), None, known, everything)
        assert made, "everybody has looked at least once"
        in_redis = [text for text in everything if text not in readable_by_match(known, players)]
        for role in ("match", "archive", "health"):
            check_bytes(f"redis as {role}", readable(stack, role, match), None, known, in_redis)
        await operator.abort(match)


def _token(token: str) -> list[bytes]:
    """A token, and its signature alone."""
    return [token.encode(), token.rsplit(".", 1)[1].encode()]


def readable_by_match(known: Known, players: Sequence[Party]) -> set[bytes]:
    """What journals hold, which match services and the archiver read: client seeds, digests, hashes."""
    binary = [*known.secret, *(player.client_seed for player in players)]
    return {text for secret in binary for text in (*writings(secret), secret, secret.hex().encode())}
