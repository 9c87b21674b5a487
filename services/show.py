"""A journal as a person wants to read it: who did what when, and what came of it.

Works for every registered game: moves, events and views say by their fields what they are, and the catalogue has the
titles of the cards. The words of the contract (names of moves, events and fields) stay as the rules have them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct
from rich.text import Text

from engine import journal
from engine.audit import audit
from engine.game import Event
from engine.journal import Aborted, Body, Created, Entry, Finished, Joined, Left, Moved, NotAnEntry, Started
from engine.match import Match
from engine.registry import AnyGame
from services import tables
from services.tables import Language
from services.words import SEATS, printable

__all__ = ["WORDS", "Story", "printable"]

WORD_FIELDS = frozenset({"color", "face", "phase", "reason", "source", "to"})
"""Fields whose words are none of cards, even where they are spelled like one."""

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "match": "match",
        "options": "options",
        "clock": "clock",
        "none": "none",
        "seats": "seats",
        "open": "open",
        "yes": "yes",
        "no": "no",
        "created": "the match is created",
        "joined": "takes seat {seat}",
        "left": "leaves seat {seat}",
        "kicked": "is sent away from seat {seat} by the host",
        "started": "the match starts: {names}",
        "moved": "moves",
        "by clock": "(clock)",
        "by bot": "(computer)",
        "finished": "the match is over",
        "aborted": "the match is aborted: {reason}",
        "scores": "scores",
        "winners": "winners",
        "reveal": "server seed",
        "last hash": "last hash",
        "table": "table",
        "legal": "legal moves",
        "hidden": "hidden from all",
        "differs": "entry {version} differs ({field}): {detail}",
        "undealt": "without the server seed what the moves did cannot be told",
    },
    "de": {
        "match": "Partie",
        "options": "Optionen",
        "clock": "Bedenkzeit",
        "none": "keine",
        "seats": "Plätze",
        "open": "frei",
        "yes": "ja",
        "no": "nein",
        "created": "die Partie wird angelegt",
        "joined": "nimmt Platz {seat}",
        "left": "verlässt Platz {seat}",
        "kicked": "wird vom Gastgeber von Platz {seat} gewiesen",
        "started": "die Partie beginnt: {names}",
        "moved": "zieht",
        "by clock": "(Uhr)",
        "by bot": "(Computer)",
        "finished": "die Partie ist zu Ende",
        "aborted": "die Partie ist abgebrochen: {reason}",
        "scores": "Punkte",
        "winners": "Gewinner",
        "reveal": "Server-Seed",
        "last hash": "letzter Hash",
        "table": "Tisch",
        "legal": "erlaubte Züge",
        "hidden": "allen verborgen",
        "differs": "Eintrag {version} weicht ab ({field}): {detail}",
        "undealt": "ohne den Server-Seed lässt sich nicht sagen, was die Züge bewirkt haben",
    },
}

INDENT = " " * 18
MARGIN = " " * 6
WIDTH = 80
"""So many columns has a drawn table, beside its margin."""


class Story:
    """Tells one journal in one language: all moves and what spectators saw of them, or only what one seat knew."""

    def __init__(
        self,
        lines: Sequence[bytes],
        *,
        lang: Language = "en",
        seat: int | None = None,
        hands: bool = False,
        table: bool = False,
    ) -> None:
        """Take the lines of a journal, whatever their bytes. `hands` shows every player's own part after each entry.

        With `table` events are told in sentences and tables and hands drawn as for those who play.
        """
        self._lines = lines
        self._lang = lang
        self._words = WORDS[lang]
        self._seat = seat
        self._hands = hands
        self._table = table
        self.verdict = audit(lines)
        self._match = Match(journal.revealed(lines))
        self._titles: dict[str, str] = {}
        self._catalogue: tables.Catalogue | None = None
        self._names: dict[int, str] = {}

    @property
    def seats(self) -> frozenset[int]:
        """The numbers of the seats that somebody took, as far as the lines can be read."""
        return frozenset(body.seat for body in map(_body, self._lines) if isinstance(body, Joined))

    def tell(self, at: int | None = None) -> Iterator[Text]:
        """Yield the lines of the story; with `at` the header, that entry and the position after it.

        A journal that does not verify is told up to where it differs, and then why.
        """
        match = self._match
        for version, data in enumerate(self._lines):
            try:
                match.replay(data)
            except Exception:  # noqa: BLE001 - the verdict, which never raises, says what is wrong
                yield from self._rest(version, at)
                break
            entry = journal.read(data)
            if isinstance(entry.body, Created):
                self._titles = {card.code: getattr(card, self._lang) for card in match.game.cards}
                yield from self._header(entry.body)
            if isinstance(entry.body, Joined):
                self._names[entry.body.seat] = printable(entry.body.name) or f"#{entry.body.seat}"
            if at in (None, version):
                yield from self._entry(entry)
                if self._table and match.players:
                    yield from self._drawn()
                elif self._hands and match.players and at is None:
                    yield from self._own(match.players)
            if at == version:
                if not self._table:
                    yield from self._position()
                return
        difference = self.verdict.difference
        if difference is not None:
            yield Text()
            text = self._words["differs"].format(
                version=difference.version, field=difference.field, detail=printable(difference.detail)
            )
            yield Text(text, "bold red")

    def _header(self, created: Created) -> Iterator[Text]:
        match, words = self._match, self._words
        title = Text(match.game.titles[self._lang], "bold")
        title.append(f"  {created.rules}  {words['match']} {printable(created.match)}", "dim")
        yield title
        options = " · ".join(self._option(name, value) for name, value in created.options.items())
        yield Text(f"{words['options']}: {options}")
        clock = words["none"] if created.clock is UNSET else f"{created.clock / 1000:g} s"
        yield Text(f"{words['clock']}: {clock}")
        plans = ", ".join(words["open"] if plan.kind == "open" else printable(plan.kind) for plan in created.seats)
        yield Text(f"{words['seats']}: {plans}")
        yield Text()

    def _option(self, name: str, value: object) -> str:
        title = name
        for field in msgspec.inspect.type_info(self._match.game.options_type).fields:  # type: ignore[attr-defined]
            if field.name == name and isinstance(field.type, msgspec.inspect.Metadata):
                title = (field.type.extra or {}).get(self._lang, name)
        return f"{title}: {self._value(name, value)}"

    def _entry(self, entry: Entry) -> Iterator[Text]:
        text = self._head(entry)
        self._say(text, entry.body)
        yield text
        yield from self._events()
        if isinstance(entry.body, Finished):
            scores = zip(self._match.players, entry.body.result.scores, strict=True)
            told = ", ".join(f"{self._name(seat)} {score}" for seat, score in scores)
            yield Text(f"{INDENT}{self._words['scores']}: {told}")
            yield Text(f"{INDENT}{self._words['winners']}: {self._value('winners', list(entry.body.result.winners))}")
        if isinstance(entry.body, Finished | Aborted):
            yield Text(f"{INDENT}{self._words['reveal']}: {printable(entry.body.seed)}", "dim")
            yield Text(f"{INDENT}{self._words['last hash']}: {self._match.head.hex()}", "dim")

    def _head(self, entry: Entry) -> Text:
        seconds, milliseconds = divmod(entry.at - self._start, 1000)
        return Text(f"{entry.version:5} {seconds // 60:4}:{seconds % 60:02}.{milliseconds:03}  ", "dim")

    @property
    def _start(self) -> int:
        return journal.read(self._lines[0]).at

    def _say(self, text: Text, body: Body) -> None:
        words = self._words
        match body:
            case Created():
                text.append(words["created"], "default")
            case Joined(seat=seat):
                text.append(self._name(seat), "bold").append(f" {words['joined'].format(seat=seat)}")
            case Left(seat=seat, by=by):
                how = words["kicked" if by == "host" else "left"].format(seat=seat)
                text.append(self._name(seat), "bold").append(f" {how}")
            case Started(seats=seats):
                text.append(words["started"].format(names=", ".join(map(self._name, seats))), "default")
            case Moved(seat=seat, move=move, by=by):
                text.append(self._name(seat), "bold")
                secret = self._seat not in (None, seat)
                told = words["moved"] if secret else self._one_key(msgspec.json.decode(move))
                text.append(f" {told}", "cyan")
                if by != "player":
                    text.append(f" {words[f'by {by}']}", "yellow")
            case Finished():
                text.append(words["finished"], "bold green")
            case Aborted(reason=reason):
                text.append(words["aborted"].format(reason=printable(reason)), "bold yellow")

    def _events(self) -> Iterator[Text]:
        match = self._match
        if not match.events:
            return
        viewer = None if self._seat is None else match.plays_as(self._seat)
        for event in match.game.told(match.events, viewer):
            if self._table:
                yield Text(INDENT).append_text(self._speaker().event(_said(match.game, event)))
                continue
            yield Text(f"{INDENT}{self._event(match.game, event)}", "default")

    def _event(self, game: AnyGame, event: Event) -> str:
        [(name, fields)] = _said(game, event).items()
        name = name.replace("_", " ")
        if "seat" in fields:
            name = f"{self._value('seat', fields.pop('seat'))} {name}"
        return name + self._fields(fields)

    def _one_key(self, value: dict[str, Any]) -> str:
        [(name, fields)] = value.items()
        return name.replace("_", " ") + self._fields(fields)

    def _fields(self, fields: Mapping[str, Any]) -> str:
        """Return `: Blue 7, color pink, timo`: what is null, false or empty is not said."""
        told = []
        for name, value in fields.items():
            if value is True:
                told.append(name)
            elif name in {"card", "cards"} and value:
                told.append(self._value(name, value))
            elif value is not None and value is not False and value not in ("", []):
                told.append(f"{name.replace('_', ' ')} {self._value(name, value)}")
        return f": {', '.join(told)}" if told else ""

    def _value(self, field: str, value: Any) -> str:
        """Return a value of JSON in words: cards by their titles, seats by the names of who plays there."""
        match value:
            case None:
                return "–"
            case bool():
                return self._words["yes" if value else "no"]
            case int():
                if field in SEATS and 0 <= value < len(self._match.players):
                    return self._name(self._match.players[value])
                return str(value)
            case str():
                return printable(value) if field in WORD_FIELDS else self._titles.get(value, printable(value))
            case [*values]:
                return f"[{', '.join(self._value(field, each) for each in values)}]"
            case {"cards": cards, **rest} if not rest:
                return self._value("cards", cards)
            case {**fields}:
                return f"({', '.join(f'{key} {self._value(str(key), each)}' for key, each in fields.items())})"
        return printable(str(value))

    def _name(self, seat: int) -> str:
        if name := self._names.get(seat):
            return name
        return printable(self._match.seats[seat].kind) if seat in range(len(self._match.seats)) else f"#{seat}"

    def _own(self, seats: Sequence[int]) -> Iterator[Text]:
        game, state = self._match.game, self._match.state
        for seat in seats:
            own = self._fields(_plain(game.own(state, self._match.players.index(seat))))
            yield Text(f"{INDENT}| {self._name(seat)}{own}", "dim")

    def _speaker(self) -> tables.Speaker:
        match = self._match
        if self._catalogue is None or self._catalogue.name != match.game.name:
            self._catalogue = tables.Catalogue.of(match.game)
        return tables.Speaker(self._catalogue, self._lang, [self._name(seat) for seat in match.players])

    def _scene(self) -> tables.Scene:
        match = self._match
        acting = match.game.to_act(match.state) if match.status == "running" else ()
        return tables.Scene(
            self._speaker(),
            _plain(match.game.table(match.state)),
            options=msgspec.to_builtins(match.options),
            to_act=frozenset(acting),
        )

    def _drawn(self) -> Iterator[Text]:
        """Yield the table, and below it the hands of all, or of the seat whose story it is."""
        match, scene = self._match, self._scene()
        shown = (
            range(len(match.players)) if self._hands else [match.plays_as(self._seat)] if self._seat is not None else []
        )
        owns = {i: _plain(match.game.own(match.state, i)) for i in shown if i is not None}
        if len(owns) == 1:
            [(seat, own)] = owns.items()
            scene = scene.of(seat, own)
        for line in tables.draw(scene, WIDTH):
            yield Text(MARGIN).append_text(line)
        for seat, own in owns.items():
            if lines := tables.hand(scene.of(seat, own), WIDTH):
                yield Text.assemble(MARGIN, scene.speaker.name(seat))
                yield from (Text(f"{MARGIN}  ").append_text(line) for line in lines)
        yield Text()

    def _position(self) -> Iterator[Text]:
        match, words = self._match, self._words
        if not match.players:
            return
        yield Text()
        yield Text(words["table"], "bold")
        for name, value in _plain(match.game.table(match.state)).items():
            yield Text(f"  {name}: {self._value(name, value)}")
        shown = match.players if self._hands else [seat for seat in match.players if seat == self._seat]
        for seat in shown:
            yield Text(self._name(seat), "bold")
            for name, value in _plain(match.game.own(match.state, match.players.index(seat))).items():
                yield Text(f"  {name}: {self._value(name, value)}")
            legal = [msgspec.json.decode(match.game.move_json.encode(move)) for move in match.legal(seat)]
            yield Text(f"  {words['legal']}: {' | '.join(map(self._one_key, legal)) or words['none']}")
        if self._hands:
            yield Text(words["hidden"], "bold")
            for name, value in _plain(match.game.hidden(match.state)).items():
                yield Text(f"  {name}: {self._value(name, value)}")

    def _rest(self, version: int, at: int | None) -> Iterator[Text]:
        """Yield the moves of a journal that cannot be dealt again for want of the seed."""
        difference = self.verdict.difference
        if difference is None or difference.version <= version or self._match.seed is not None:
            return
        yield Text(self._words["undealt"], "yellow")
        for data in self._lines[version : difference.version]:
            try:
                entry = journal.read(data)
                text = self._head(entry)
                self._say(text, entry.body)
            except (NotAnEntry, ValueError):
                return
            if at in (None, entry.version):
                yield text


def _body(data: bytes) -> Body | None:
    try:
        return journal.read(data).body
    except NotAnEntry:
        return None


def _said(game: AnyGame, event: Event) -> dict[str, Any]:
    said: dict[str, Any] = msgspec.json.decode(game.event_json.encode(event))
    return said


def _plain(value: Struct) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(value))
    return fields
