"""Tom's Time Bluff as a second programmer wrote it from the text of the rules alone; nothing here is the engine's.

A turn reads as in 3.4: a generator plays it and waits for a move at each `yield`. `mark` names what has happened that
happens seldom, so that the test can see that it did.
"""

from collections.abc import Callable, Generator
from typing import Any

CLOCKS = [f"{kind}{hour}" for kind in "ARSG" for hour in range(1, 13)]
KIND = {"kaputt": "A", "snooze": "R", "beam": "S", "jungle": "G"}
FIXED = {"kaputt": 3, "snooze": 6, "beam": 9, "jungle": 12}
CODES = [*CLOCKS, "joker", "vortex", *KIND, "cuckoo"]
OPENABLE = [*CLOCKS, "joker", "vortex"]
SPECIAL = set(CODES) - set(CLOCKS)
OPTIONS = {
    "partner_cards": [True, True, False],
    "partner_match": ["kind", "hour"],
    "target": [10, 10, 50, 200],
    "manual_draw": [True, False],
}
DEFAULTS = {"partner_cards": True, "partner_match": "kind", "target": 50, "manual_draw": False}

Move = dict[str, dict[str, Any]]
Turn = Generator[None, tuple[int, str, dict[str, Any]], Any]


def hour_of(card: str) -> int:
    return int(card[1:])


def points(card: str) -> int:
    return 1 if card in CLOCKS else 10 if card == "vortex" else 5


def in_order(cards: list[str]) -> list[str]:
    return sorted(cards, key=CODES.index)


class Entry:
    def __init__(self, card: str, seat: int | None = None, hour: int | None = None, *, up: bool = True) -> None:
        self.card, self.seat, self.hour, self.up = card, seat, hour, up


class RoundOver(Exception):
    def __init__(self, winner: int | None = None) -> None:
        super().__init__()
        self.winner = winner


class Reading:
    """A match; `told` is what the last move did: name, public fields, private ones, and the seats that hear them."""

    def __init__(self, seats: int, options: dict[str, Any], chance: Any) -> None:
        self.n, self.chance, self.options = seats, chance, {**DEFAULTS, **options}
        self.marks: set[str] = set()
        self.told: list[tuple[str, dict[str, Any], dict[str, Any], list[int]]] = []
        self.totals, self.round, self.dealer, self.turns = [0] * seats, 0, -1, 0
        self.last_round: dict[str, Any] | None = None
        self.result: dict[str, Any] | None = None
        self.course = self.match()
        next(self.course)

    def mark(self, what: str, so: object = True) -> None:
        if so:
            self.marks.add(what)

    def tell(self, event: str, **fields: Any) -> None:
        self.told.append((event, fields, {}, []))

    def whisper(self, seats: list[int], private: dict[str, Any], event: str, **fields: Any) -> None:
        self.told.append((event, fields, private, seats))

    def left(self, seat: int) -> int:
        return (seat + 1) % self.n

    def wait(self, phase: str) -> Turn:
        self.phase = phase
        return (yield)

    # --- the match and its rounds: 3.3, 3.8

    def match(self) -> Turn:
        while self.result is None:
            winner = None
            try:
                yield from self.play_round()
            except RoundOver as over:
                winner = over.winner
            scores = [sum(map(points, hand)) for hand in self.hands]
            self.totals = [total + score for total, score in zip(self.totals, scores, strict=True)]
            hands = [{"cards": in_order(hand)} for hand in self.hands]
            self.last_round = {"scores": scores, "hands": hands, "revealed": self.revealed}
            self.tell("round_ended", winner=winner, scores=scores)
            if max(self.totals) >= self.options["target"]:
                low = min(self.totals)
                winners = [seat for seat in range(self.n) if self.totals[seat] == low]
                self.result = {"scores": self.totals, "winners": winners}
                self.mark("a shared win", len(winners) > 1)
                self.mark("a round that its winner loses", winner is not None and winner not in winners)
        yield

    def play_round(self) -> Turn:
        self.round += 1
        self.dealer = self.chance.pick(self.n) if self.round == 1 else self.left(self.dealer)
        self.tell("round_started", round=self.round, dealer=self.dealer)
        copies = {"joker": 3, "vortex": 3} | (dict.fromkeys(KIND, 0) if not self.options["partner_cards"] else {})
        self.pile = list(self.chance.shuffle([code for code in CODES for _ in range(copies.get(code, 1))]))
        self.hands: list[list[str]] = [[] for _ in range(self.n)]
        for _ in range(6):
            for step in range(1, self.n + 1):
                self.hands[(self.dealer + step) % self.n].append(self.pile.pop(0))
        self.piles: list[list[Entry]] = [[], [], []]
        all_aside: list[str] = []
        for place in range(3):
            card, aside = self.turn_up(CLOCKS.__contains__)
            self.piles[place].append(Entry(card))
            self.tell("turned", place=place, card=card, aside=aside)
            all_aside += aside
        self.shuffle_in(all_aside)
        self.skips, self.removed = [False] * self.n, 0
        seat = self.left(self.dealer)
        while True:
            seat = yield from self.play_turn(seat)

    def top(self) -> str:
        if not self.pile:
            raise RoundOver
        return self.pile.pop(0)

    def turn_up(self, wanted: Callable[[str], bool]) -> tuple[str, list[str]]:
        aside: list[str] = []
        while not wanted(card := self.top()):
            aside.append(card)
        return card, aside

    def shuffle_in(self, aside: list[str]) -> None:
        if aside:
            self.mark("a shuffle of what was set aside alone", not self.pile)
            self.pile = list(self.chance.shuffle(self.pile + aside))

    # --- a turn: 3.4 to 3.6

    def play_turn(self, seat: int) -> Turn:
        """Return whose turn begins next."""
        self.revealed = self.answers = self.actor = None
        while self.skips[seat]:
            self.skips[seat] = False
            self.tell("skipped", seat=seat)
            seat = self.left(seat)
        self.turn, self.turns = seat, self.turns + 1
        if not any(self.piles):
            self.mark("three empty places, and the pile runs out", not set(self.pile) & set(CLOCKS))
            card, aside = self.turn_up(CLOCKS.__contains__)
            self.piles[0] = [Entry(card)]
            self.tell("turned", place=0, card=card, aside=aside)
            self.mark("three empty places and cards set aside", aside)
            self.shuffle_in(aside)
        while True:
            _, name, fields = yield from self.wait("hide")
            if name == "hide":
                break
            self.mark("a draw instead, and the pile is empty", not self.pile)
            self.draw(seat, 1, "instead")
            if not set(self.hands[seat]) & set(OPENABLE):
                self.mark("a draw instead that does not help")
                return self.left(seat)
            self.mark("a draw instead that helps")
        self.place = fields["place"]
        pile, below, hidden = self.piles[self.place], self.piles[self.place][-1], Entry(fields["card"], seat, up=False)
        pile.append(hidden)
        self.hands[seat].remove(hidden.card)
        self.whisper([seat], {"card": hidden.card}, "hid", seat=seat, place=self.place)
        over = None
        if self.hands[seat]:
            _, name, fields = yield from self.wait("open")
            over = fields.get("card") or fields["partner"]
            self.hands[seat].remove(over)
            pile.append(Entry(over, seat, fields.get("hour")))
            if name == "partner":
                clock = fields["clock"]
                self.hands[seat].remove(clock)
                pile.append(Entry(clock, seat))
                self.tell("partnered", seat=seat, place=self.place, partner=over, clock=clock)
                yield from self.partner(seat, over)
            else:
                self.tell("opened", seat=seat, place=self.place, card=over, hour=fields.get("hour"))
        if over == "vortex":
            yield from self.vortex(seat, pile[-1], OPENABLE)
        yield from self.draw_step(seat)
        out = not self.hands[seat]
        if over == "jungle":
            self.mark("jungle wins", out)
        else:
            challenger = yield from self.window(seat)
            if challenger is not None:
                hour = below.hour if below.card == "joker" else hour_of(below.card)
                right = self.right(hidden.card, hour % 12 + 1, below.card, over)
                yield from self.challenge(seat, challenger, hidden, right)
                return self.left(seat)
            self.tell("accepted", place=self.place)
        if out:
            raise RoundOver(seat)
        return self.left(seat)

    def partner(self, seat: int, partner: str) -> Turn:
        out, left = not self.hands[seat], self.left(seat)
        self.mark("kaputt with the last cards", partner == "kaputt" and out)
        self.mark("snooze with the last cards", partner == "snooze" and out)
        self.mark("beam with nothing to beam", partner == "beam" and out)
        if partner == "snooze":
            self.skips[left] = True
        if out:
            return
        if partner == "kaputt":
            self.mark("kaputt, and the pile runs out", len(self.pile) < self.n - 1)
            for step in range(1, self.n):
                self.draw((seat + step) % self.n, 1, "kaputt")
        elif partner == "snooze":
            self.mark("snooze, and the pile is empty", not self.pile)
            self.draw(left, 1, "snooze")
        elif partner == "beam":
            _, _, fields = yield from self.wait("beam")
            card, target = fields["card"], fields["target"]
            self.hands[seat].remove(card)
            self.hands[target].append(card)
            self.whisper([seat, target], {"card": card}, "beamed", seat=seat, target=target)
            self.mark("the last card beamed", not self.hands[seat])

    def draw(self, seat: int, count: int, reason: str) -> None:
        got = self.pile[:count]
        self.pile = self.pile[count:]
        self.hands[seat] += got
        if got:
            self.whisper([seat], {"cards": got}, "drew", seat=seat, count=len(got), reason=reason)
        if len(got) < count:
            raise RoundOver

    def draw_step(self, seat: int) -> Turn:
        """3.5."""
        size = len(self.hands[seat])
        if not size:
            return
        if size < 6 and not self.pile:
            self.mark("a draw due, and the pile is empty")
            raise RoundOver
        self.mark("no draw due, and the pile is empty", not self.pile)
        if not self.options["manual_draw"]:
            if size < 6:
                self.draw(seat, 1, "turn")
            return
        _, name, _ = yield from self.wait("draw")
        if name == "draw":
            self.draw(seat, 1, "turn")
        elif size < 6:
            self.mark("a card forgotten, and the pile runs out", len(self.pile) == 1)
            self.draw(seat, 2, "forgot")

    def window(self, layer: int) -> Turn:
        """3.6: return the challenger that prevails, None if there is none."""
        self.answers = {}
        others = [(layer + step) % self.n for step in range(1, self.n)]
        while True:
            seat, name, _ = yield from self.wait("challenge")
            self.answers[seat] = name
            self.tell("answered", seat=seat)
            first = next((other for other in others if self.answers.get(other) != "accept"), None)
            if first is None or first in self.answers:
                self.mark("a farther challenge that lapses", list(self.answers.values()).count("challenge") > 1)
                self.mark("a challenge before all have answered", len(self.answers) < self.n - 1)
                self.answers = None
                return first

    def right(self, card: str, due: int, below: str, over: str | None) -> bool:
        if card in CLOCKS:
            self.mark("a right clock under a joker", hour_of(card) == due and over == "joker")
            return hour_of(card) == due
        self.mark("a partner or cuckoo caught", card not in {"joker", "vortex"})
        self.mark("a joker caught on a joker", card == below == "joker" != over)
        self.mark("a joker caught under a joker", card == over == "joker" != below)
        self.mark("a right joker under a vortex", (card, over) == ("joker", "vortex") and below != "joker")
        self.mark("a vortex caught under a joker", (card, over) == ("vortex", "joker"))
        self.mark("a right vortex on a joker", (card, below) == ("vortex", "joker") and over != "joker")
        return (card == "vortex" and over != "joker") or (card == "joker" and "joker" not in {below, over})

    def challenge(self, layer: int, challenger: int, hidden: Entry, right: bool) -> Turn:
        """3.6."""
        hidden.up, self.revealed = True, hidden.card
        self.tell("challenged", seat=challenger, place=self.place, card=hidden.card, right=right)
        out = not self.hands[layer]
        self.mark("the last card caught", out and not right)
        self.mark("a vortex as a right last card", out and right and hidden.card == "vortex")
        if right and out:
            self.take_pile(challenger)
            raise RoundOver(layer)
        if hidden.card == "vortex":
            yield from self.vortex(challenger, hidden, CODES)
        loser, winner = (challenger, layer) if right else (layer, challenger)
        self.take_pile(loser)
        self.actor = winner
        _, name, fields = yield from self.wait("place")
        if name == "decline":
            self.tell("declined", seat=winner)
            return
        card, hour = fields["card"], fields.get("hour")
        self.hands[winner].remove(card)
        self.piles[self.place] = [Entry(card, winner, hour)]
        self.tell("placed", seat=winner, place=self.place, card=card, hour=hour)
        if not self.hands[winner]:
            self.mark("a round won by placing")
            raise RoundOver(winner)

    def take_pile(self, seat: int) -> None:
        cards = [entry.card for entry in self.piles[self.place]]
        self.mark("a pile with another seat's hidden card", any(not e.up for e in self.piles[self.place]))
        self.hands[seat] += cards
        self.piles[self.place] = []
        cards = in_order(cards)
        self.whisper([seat], {"cards": cards}, "took_pile", seat=seat, place=self.place, count=len(cards))

    def vortex(self, director: int, entry: Entry, wanted: list[str]) -> Turn:
        """3.7; any card may take the place of a hidden vortex, not so that of an open one."""
        self.actor, hidden = director, wanted is CODES
        pile = self.piles[self.place]
        index = pile.index(entry)
        while True:
            _, _, fields = yield from self.wait("vortex")
            step = 1 if fields["to"] == "left" else -1
            hands = self.hands
            self.hands = [hands[(seat - step) % self.n] for seat in range(self.n)]
            self.tell("hands_moved", by=director, to=fields["to"])
            if [] in self.hands:
                self.mark("an open vortex as last card", not hidden)
                self.mark("a caught vortex, and an empty hand moves", hidden)
                raise RoundOver(self.hands.index([]))
            self.removed += 1
            self.mark("an open vortex, and the pile runs out", not hidden and not set(self.pile) & set(wanted))
            self.mark("a hidden vortex, and the pile is empty", hidden and not self.pile)
            card, aside = self.turn_up(wanted.__contains__)
            pile[index] = Entry(card)
            self.tell("replaced", place=self.place, index=index, card=card, aside=aside)
            self.mark("cards set aside for an open vortex", aside)
            self.shuffle_in(aside)
            self.mark("a vortex for an open vortex", not hidden and card == "vortex")
            self.mark("a vortex for a hidden vortex", hidden and card == "vortex")
            self.mark("a joker for a hidden vortex", hidden and card == "joker")
            if card != "vortex":
                break
        if card == "joker" and not hidden:
            _, _, fields = yield from self.wait("joker_hour")
            pile[index].hour = fields["hour"]
            self.tell("hour_named", seat=director, place=self.place, hour=fields["hour"])
        self.actor = None

    # --- what is asked and shown: 3.9, 3.10, section 5

    def to_act(self) -> list[int]:
        if self.result:
            return []
        if self.phase == "challenge":
            return [seat for seat in range(self.n) if seat != self.turn and seat not in self.answers]
        return [self.turn if self.actor is None else self.actor]

    def asked(self, seat: int) -> object:
        if not self.result and self.phase == "challenge" and seat != self.turn:
            return self.turns, "window"
        return (self.turns, self.phase) if seat in self.to_act() else None

    def fits(self, partner: str, clock: str) -> bool:
        if self.options["partner_match"] == "kind":
            return clock[0] == KIND[partner]
        return hour_of(clock) == FIXED[partner]

    def legal(self, seat: int) -> list[Move]:
        if seat not in self.to_act():
            return []
        hand, cards = self.hands[seat], in_order(list(set(self.hands[seat])))
        clocks = [card for card in cards if card in CLOCKS]
        hours = range(1, 13)
        match self.phase:
            case "hide":
                alone = len(hand) == 1
                openable = [card for card in hand if card in OPENABLE]
                if not alone and not openable:
                    return [{"draw_instead": {}}]
                fit = [card for card in cards if alone or len(openable) - (card in OPENABLE) > 0]
                places = [place for place in range(3) if self.piles[place]]
                return [{"hide": {"place": place, "card": card}} for place in places for card in fit]
            case "open" | "place":
                name = self.phase
                laid = [{name: {"card": card}} for card in clocks]
                if "joker" in cards:
                    laid += [{name: {"card": "joker", "hour": hour}} for hour in hours]
                if self.phase == "place":
                    return [*laid, {"decline": {}}]
                if "vortex" in cards:
                    laid.append({"open": {"card": "vortex"}})
                partners = [(card, clock) for card in cards if card in KIND for clock in clocks]
                fit = [{"partner": {"partner": p, "clock": clock}} for p, clock in partners if self.fits(p, clock)]
                return laid + fit
            case "beam":
                others = [other for other in range(self.n) if other != seat]
                return [{"beam": {"card": card, "target": other}} for card in cards for other in others]
            case "vortex":
                return [{"direction": {"to": "left"}}, {"direction": {"to": "right"}}]
            case "joker_hour":
                return [{"name_hour": {"hour": hour}} for hour in hours]
            case "draw":
                return [{"draw": {}}, {"end_turn": {}}] if len(hand) < 6 else [{"end_turn": {}}]
        return [{"challenge": {}}, {"accept": {}}]

    def default(self, seat: int) -> Move:
        """3.9."""
        match self.phase:
            case "beam":
                return {"beam": {"card": in_order(self.hands[seat])[0], "target": self.left(seat)}}
            case "joker_hour":
                return {"name_hour": {"hour": 12}}
            case "challenge":
                return {"accept": {}}
            case "place":
                return {"decline": {}}
        return self.legal(seat)[0]

    def table(self) -> dict[str, Any]:
        return {
            "round": self.round,
            "dealer": self.dealer,
            "turn": self.turn,
            "phase": self.phase,
            "piles": [
                {"cards": [{"card": e.card if e.up else None, "hour": e.hour, "seat": e.seat} for e in pile]}
                for pile in self.piles
            ],
            "draw_pile": len(self.pile),
            "hand_sizes": [len(hand) for hand in self.hands],
            "totals": self.totals,
            "skips": self.skips,
            "removed": self.removed,
            "answered": sorted(self.answers or {}),
            "revealed": self.revealed,
            "last_round": self.last_round,
        }

    def own(self, seat: int) -> dict[str, Any]:
        laid = [
            {"place": place, "index": index, "card": entry.card}
            for place, pile in enumerate(self.piles)
            for index, entry in enumerate(pile)
            if not entry.up and entry.seat == seat
        ]
        return {"hand": in_order(self.hands[seat]), "laid": laid, "answer": (self.answers or {}).get(seat)}

    def hidden(self) -> dict[str, Any]:
        return {"draw_pile": self.pile}

    def apply(self, seat: int, move: Move) -> None:
        self.told = []
        ((name, fields),) = move.items()
        self.course.send((seat, name, fields))
