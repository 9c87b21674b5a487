"""Timo's Twist as a second programmer wrote it from the text of the rules alone; nothing here is the engine's.

`mark` names what has happened that happens seldom, so that the test can see that it did.
"""

from typing import Any

COLORS = ["blue", "green", "orange", "pink"]
SYMBOLS = [*"0123456789", "skip", "twist", "plus2"]
BLACK = ["wild", "plus4"]
DECK = [f"{color}-{symbol}" for color in COLORS for symbol in SYMBOLS] + BLACK
OPTIONS = {
    "target": [50, 50, 100, 300],
    "stack_equal": [True, False],
    "twist_skips_two": [True, False],
    "must_play": [True, False],
    "timo": ["call", "call", "auto"],
}
DEFAULTS = {"target": 300, "stack_equal": True, "twist_skips_two": True, "must_play": True, "timo": "call"}
SPECIAL = {card for card in DECK if not card[-1].isdigit()} | set(BLACK)


def color_of(card: str) -> str | None:
    return None if card in BLACK else card.split("-", maxsplit=1)[0]


def symbol_of(card: str) -> str:
    return card.rsplit("-", maxsplit=1)[-1]


def points(card: str) -> int:
    if card in BLACK:
        return 50
    return int(symbol_of(card)) if symbol_of(card).isdigit() else 20


def in_order(cards: list[str]) -> list[str]:
    return sorted(cards, key=DECK.index)


class Reading:
    """A match; `told` is what the last move did: name, public fields, private ones, and the seats that hear them."""

    def __init__(self, seats: int, options: dict[str, Any], chance: Any) -> None:
        self.n, self.chance, self.options = seats, chance, {**DEFAULTS, **options}
        self.marks: set[str] = set()
        self.told: list[tuple[str, dict[str, Any], dict[str, Any], list[int]]] = []
        self.totals, self.round, self.dealer = [0] * seats, 0, -1
        self.last_round: dict[str, Any] | None = None
        self.result: dict[str, Any] | None = None
        self.deal()

    def mark(self, what: str, so: object = True) -> None:
        if so:
            self.marks.add(what)

    def tell(self, event: str, **fields: Any) -> None:
        self.told.append((event, fields, {}, []))

    def deal(self) -> None:
        """3.3."""
        self.round += 1
        self.dealer = self.chance.pick(self.n) if self.round == 1 else (self.dealer + 1) % self.n
        self.pile = list(self.chance.shuffle(DECK))
        self.hands: list[list[str]] = [[] for _ in range(self.n)]
        for _ in range(7):
            for step in range(1, self.n + 1):
                self.hands[(self.dealer + step) % self.n].append(self.pile.pop(0))
        self.discards = [self.pile.pop(0)]
        self.color = color_of(self.discards[-1])
        self.mark("black start card", self.color is None)
        self.mark("+2 as start card", symbol_of(self.discards[-1]) == "plus2")
        self.d, self.pending, self.drawn, self.window = 1, 0, None, None
        self.turn, self.phase = (self.dealer + 1) % self.n, "play"
        self.tell("round_started", round=self.round, dealer=self.dealer, top=self.discards[-1])

    def nxt(self, seat: int) -> int:
        return (seat + self.d) % self.n

    def playable(self, card: str) -> bool:
        """3.4."""
        top = self.discards[-1]
        if self.pending:
            if symbol_of(top) == "plus2":
                return card == "plus4" or (self.options["stack_equal"] and symbol_of(card) == "plus2")
            return self.options["stack_equal"] and card == "plus4"
        if card in BLACK or self.color is None or color_of(card) == self.color:
            return True
        return top not in BLACK and symbol_of(card) == symbol_of(top)

    def draw(self, seat: int, count: int, reason: str) -> list[str]:
        """3.5."""
        got: list[str] = []
        for _ in range(count):
            if not self.pile:
                top, rest = self.discards[-1], self.discards[:-1]
                self.pile, self.discards = list(self.chance.shuffle(rest)), [top]
                self.mark("reshuffled in the middle of a penalty", got and rest)
                self.mark("reshuffled under a black top", rest and top in BLACK)
                self.mark("nothing to reshuffle", not rest)
                if not self.pile:
                    break
                self.tell("reshuffled", count=len(rest))
            got.append(self.pile.pop(0))
        self.hands[seat] += got
        self.told.append(("drew", {"seat": seat, "count": len(got), "reason": reason}, {"cards": got}, [seat]))
        self.mark("a penalty paid in part", 0 < len(got) < count)
        return got

    def to_act(self) -> list[int]:
        return [] if self.result else [self.turn]

    def ways(self, name: str, fields: dict[str, Any], card: str) -> list[dict[str, Any]]:
        rest = len(self.hands[self.turn]) - 1
        colored = [{**fields, "color": color} for color in COLORS] if card in BLACK and rest else [fields]
        due = rest == 1 and self.options["timo"] == "call"
        return [{name: way} for way in colored for way in ([way, {**way, "timo": True}] if due else [way])]

    def legal(self, seat: int) -> list[dict[str, Any]]:
        """3.6, 3.8, in the order of section 5."""
        if self.result:
            return []
        moves: list[dict[str, Any]] = []
        if seat == self.turn:
            cards = [card for card in in_order(self.hands[seat]) if self.playable(card)]
            if self.phase == "drawn":
                moves += self.ways("play_drawn", {}, self.drawn) if self.drawn in cards else []
                moves.append({"keep": {}})
            else:
                moves += [way for card in cards for way in self.ways("play", {"card": card}, card)]
                if self.phase == "pending":
                    moves.append({"take": {}})
                elif not cards or (not self.options["must_play"] and (self.pile or len(self.discards) > 1)):
                    moves.append({"draw": {}})
                stuck = not self.pile and len(self.discards) == 1 and self.phase == "play"
                self.mark("no free draw where nothing can be drawn", stuck and cards and not self.options["must_play"])
        if self.window is not None:
            moves.append({"call_timo": {}} if seat == self.window else {"catch": {}})
        return moves

    def default(self, seat: int) -> dict[str, Any]:
        """3.10."""
        if self.phase != "play":
            return {"keep": {}} if self.phase == "drawn" else {"take": {}}
        for card in in_order(self.hands[seat]):
            if self.playable(card):
                move: dict[str, Any] = {"card": card}
                rest = [color_of(other) for other in self.hands[seat] if other != card]
                if card in BLACK and rest:
                    move["color"] = max(COLORS, key=rest.count)
                    self.mark("the clock names a colour")
                if len(rest) == 1 and self.options["timo"] == "call":
                    move["timo"] = True
                    self.mark("the clock says TIMO")
                return {"play": move}
        return {"draw": {}}

    def asked(self, seat: int) -> object:
        if self.result:
            return None
        if seat == self.turn:
            return self.round, self.phase
        return None if self.window is None else (self.round, "window", self.window)

    def table(self) -> dict[str, Any]:
        return {
            "round": self.round,
            "dealer": self.dealer,
            "turn": self.turn,
            "phase": self.phase,
            "direction": self.d,
            "top": self.discards[-1],
            "color": self.color,
            "pending": self.pending,
            "draw_pile": len(self.pile),
            "discard_pile": len(self.discards),
            "hand_sizes": [len(hand) for hand in self.hands],
            "totals": self.totals,
            "timo_window": self.window,
            "last_round": self.last_round,
        }

    def own(self, seat: int) -> dict[str, Any]:
        drawn = self.drawn if self.phase == "drawn" and seat == self.turn else None
        return {"hand": in_order(self.hands[seat]), "drawn": drawn}

    def hidden(self) -> dict[str, Any]:
        return {"draw_pile": self.pile, "discards": self.discards[:-1]}

    def apply(self, seat: int, move: dict[str, Any]) -> None:
        """3.6 to 3.9."""
        self.told = []
        ((name, fields),) = move.items()
        owner, self.window = self.window, None
        if name == "call_timo":
            self.tell("timo_called", seat=seat)
        elif name == "catch":
            self.tell("caught", seat=owner, by=seat)
            self.mark("caught on the own turn", owner == self.turn)
            self.mark("caught by the seat on turn", seat == self.turn)
            self.draw(owner, 2, "caught")
        elif name == "draw":
            self.mark("a window closed by a draw", owner is not None)
            got = self.draw(seat, 1, "turn")
            if got:
                self.phase, self.drawn = "drawn", got[0]
            else:
                self.turn = self.nxt(seat)
                self.mark("a draw that gives nothing")
        elif name == "keep":
            self.tell("kept", seat=seat)
            self.phase, self.drawn, self.turn = "play", None, self.nxt(seat)
        elif name == "take":
            self.mark("a window closed by a take", owner is not None)
            self.mark("a penalty of eight or more", self.pending >= 8)
            self.draw(seat, self.pending, "penalty")
            self.phase, self.pending, self.turn = "play", 0, self.nxt(seat)
        else:
            self.mark("a window closed by a play", owner is not None)
            self.play(seat, fields.get("card", self.drawn), fields.get("color"), "timo" in fields, name == "play_drawn")

    def play(self, seat: int, card: str, named: str | None, timo: bool, drawn: bool) -> None:
        """3.7."""
        hand, symbol, two = self.hands[seat], symbol_of(card), self.n == 2
        self.mark("TIMO with a drawn card", timo and drawn)
        self.mark("+4 on +2", card == "plus4" and self.pending)
        self.mark("+2 on +2", symbol == "plus2" and self.pending)
        hand.remove(card)
        self.discards.append(card)
        self.tell("played", seat=seat, card=card, color=named, timo=timo, drawn=drawn)
        if not hand:
            self.mark("a black last card", card in BLACK)
            self.mark("a penalty that lapses", self.pending)
            self.end_round(seat)
            return
        self.color, self.drawn, self.phase = named or color_of(card), None, "play"
        if symbol == "skip":
            self.turn = self.nxt(self.nxt(seat))
            self.mark("a skip with two seats", two)
        elif symbol == "twist":
            self.d = -self.d
            self.turn = seat if two and self.options["twist_skips_two"] else self.nxt(seat)
            self.mark("a twist with two seats that skips", two and self.turn == seat)
            self.mark("a twist with two seats that does not", two and self.turn != seat)
        else:
            self.turn = self.nxt(seat)
            if symbol in {"plus2", "plus4"}:
                self.pending, self.phase = self.pending + int(symbol[-1]), "pending"
        if len(hand) == 1 and self.options["timo"] == "call" and not timo:
            self.window = seat
            self.mark("a window opened by a drawn card", drawn)

    def end_round(self, winner: int) -> None:
        """3.9."""
        gained = [0] * self.n
        gained[winner] = sum(points(card) for hand in self.hands for card in hand)
        self.totals = [total + points for total, points in zip(self.totals, gained, strict=True)]
        self.last_round = {"scores": gained, "hands": [{"cards": in_order(hand)} for hand in self.hands]}
        self.tell("round_ended", winner=winner, scores=gained)
        if self.totals[winner] >= self.options["target"]:
            self.result = {"scores": self.totals, "winners": [winner]}
        else:
            self.deal()
