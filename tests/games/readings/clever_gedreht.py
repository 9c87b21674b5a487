"""Clever gedreht as a second programmer wrote it from the text of the rules alone; nothing here is the engine's.

`mark` names what has happened that happens seldom, so that the test can see that it did.
"""

from typing import Any

FACES = [*"123456789", "flip", "swap"]
OPTIONS = {"rounds": [1, 1, 2, 3], "protect_finisher": [True, False], "reject_taken": [True, False]}
SPECIAL = {"turned"}

Move = dict[str, dict[str, Any]]


def value(card: str) -> int:
    return int(card) if card.isdigit() else 0


class Reading:
    """A match; `told` is what the last move did: name, public fields, private ones, and the seats that hear them."""

    def __init__(self, seats: int, options: dict[str, Any], chance: Any) -> None:
        self.n, self.chance = seats, chance
        self.rounds = options.get("rounds", seats)
        self.protect, self.may_reject = options.get("protect_finisher", False), options.get("reject_taken", False)
        self.marks: set[str] = set()
        self.told: list[tuple[str, dict[str, Any], dict[str, Any], list[int]]] = []
        self.result: dict[str, Any] | None = None
        self.last_round: dict[str, Any] | None = None
        self.totals, self.round, self.dealer, self.turns = [0] * seats, 0, -1, 0
        self.deal()

    def mark(self, what: str, so: object = True) -> None:
        if so:
            self.marks.add(what)

    def tell(self, event: str, **fields: Any) -> None:
        self.told.append((event, fields, {}, []))

    def deal(self) -> None:
        """3.2."""
        self.round += 1
        self.dealer = self.chance.pick(self.n) if self.round == 1 else (self.dealer + 1) % self.n
        self.pile = list(self.chance.shuffle([face for face in FACES for _ in range(10)]))
        self.cards: list[list[str]] = [[] for _ in range(self.n)]
        for _ in range(9 if self.n <= 4 else 7):
            for step in range(1, self.n + 1):
                self.cards[(self.dealer + step) % self.n].append(self.pile.pop(0))
        self.down = [[False] * len(grid) for grid in self.cards]
        self.discards = [self.pile.pop(0)]
        self.taken = self.drawn = self.finisher = None
        self.lap = 0
        self.tell("round_started", round=self.round, dealer=self.dealer, top=self.discards[-1])
        self.mark("an action card as first discard", not self.discards[-1].isdigit())
        self.begin((self.dealer + 1) % self.n)

    def begin(self, seat: int) -> None:
        self.turn, self.phase, self.turns = seat, "source", self.turns + 1

    def slots(self, seat: int, *, down: bool) -> list[int]:
        return [slot for slot, turned in enumerate(self.down[seat]) if turned == down]

    def others(self) -> list[int]:
        return [(self.turn + step) % self.n for step in range(1, self.n)]

    def targets(self, phase: str) -> list[tuple[int, int]]:
        """Seats clockwise, slots ascending."""
        found = [(other, slot) for other in self.others() for slot in self.slots(other, down=phase == "flip")]
        if phase == "flip" and self.protect and self.finisher is not None:
            self.mark("a flip spares the finisher", any(other == self.finisher for other, _ in found))
            found = [one for one in found if one[0] != self.finisher]
        return found

    def draw(self, seat: int) -> None:
        if not self.pile:
            self.mark("the draw pile runs out")
            *rest, top = self.discards
            self.pile, self.discards = list(self.chance.shuffle(rest)), [top]
            self.tell("reshuffled", count=len(rest))
        card = self.pile.pop(0)
        number = card.isdigit()
        mine = {"card": card}
        self.told.append(("drew", {"seat": seat, **({} if number else mine)}, mine if number else {}, [seat]))
        if number:
            self.drawn, self.phase = card, "decide"
            return
        self.discards.append(card)
        if self.targets(card):
            self.phase = card
            return
        self.tell("fizzled", seat=seat, card=card)
        self.mark("no target for a flip", card == "flip")
        self.mark("no target for a swap", card == "swap")
        self.end_turn(seat)

    def apply(self, seat: int, move: Move) -> None:
        """3.3."""
        self.told = []
        ((name, fields),) = move.items()
        if name == "draw":
            self.draw(seat)
            return
        if name == "take":
            self.taken, self.phase = self.discards.pop(), "use"
            self.mark("the only discard taken", not self.discards)
            self.tell("took", seat=seat, card=self.taken)
            return
        if name == "use":
            self.use(seat, fields["slot"], fields["face"])
        elif name == "reject":
            card = self.taken or self.drawn
            self.mark("a taken card rejected", self.taken)
            self.discards.append(card)
            self.down[seat][fields["slot"]] = True
            self.tell("rejected", seat=seat, slot=fields["slot"], card=card)
        elif name == "flip":
            target, slot = fields["seat"], fields["slot"]
            self.down[target][slot] = False
            self.tell("flipped", seat=seat, target=target, slot=slot, card=self.cards[target][slot])
            self.mark("the finisher's card flipped", target == self.finisher)
        else:
            self.swap(seat, **fields)
        self.end_turn(seat)

    def use(self, seat: int, slot: int, face: str) -> None:
        card = self.taken or self.drawn
        replaced = self.cards[seat][slot]
        self.cards[seat][slot], self.down[seat][slot] = card, face == "turned"
        self.discards.append(replaced)
        self.mark("an action card exchanged away", not replaced.isdigit())
        public = {"seat": seat, "slot": slot, "face": face, "replaced": replaced}
        secret = self.taken is None and face == "turned"
        mine = {"card": card}
        self.told.append(("used", {**public, **({} if secret else mine)}, mine if secret else {}, [seat]))

    def swap(self, me: int, slot: int, seat: int, other_slot: int) -> None:
        card, other = self.cards[me][slot], self.cards[seat][other_slot]
        self.cards[me][slot], self.cards[seat][other_slot] = other, card
        seats = {"seat": me, "slot": slot, "target": seat, "other_slot": other_slot}
        self.tell("swapped", **seats, card=card, other_card=other)

    def end_turn(self, seat: int) -> None:
        self.taken = self.drawn = None
        if self.finisher is not None:
            self.lap -= 1
            self.mark("a second seat finishes in the lap", not self.slots(seat, down=False))
            if not self.lap:
                self.end_round()
                return
        elif not self.slots(seat, down=False):
            self.finisher, self.lap = seat, self.n - 1
            self.tell("last_lap", seat=seat)
        self.begin((seat + 1) % self.n)

    def end_round(self) -> None:
        """3.4."""
        scores = [
            sum(value(card) for card, turned in zip(grid, down, strict=True) if turned)
            for grid, down in zip(self.cards, self.down, strict=True)
        ]
        self.totals = [old + new for old, new in zip(self.totals, scores, strict=True)]
        self.last_round = {"scores": scores, "hands": [{"cards": list(grid)} for grid in self.cards]}
        self.tell("round_ended", round=self.round, scores=scores)
        if self.round < self.rounds:
            self.deal()
            return
        winners = [seat for seat in range(self.n) if self.totals[seat] == max(self.totals)]
        self.result = {"scores": self.totals, "winners": winners}
        self.mark("a shared win", len(winners) > 1)

    # --- what is asked and shown: 3.5, 3.6, section 5

    def to_act(self) -> list[int]:
        return [] if self.result else [self.turn]

    def asked(self, seat: int) -> object:
        return (self.turns, self.phase) if seat in self.to_act() else None

    def legal(self, seat: int) -> list[Move]:
        if seat not in self.to_act():
            return []
        mine = self.slots(seat, down=False)
        if self.phase == "source":
            return [{"draw": {}}, *([{"take": {}}] if self.discards[-1].isdigit() else [])]
        if self.phase == "flip":
            return [{"flip": {"seat": other, "slot": slot}} for other, slot in sorted(self.targets("flip"))]
        if self.phase == "swap":
            aims = sorted(self.targets("swap"))
            return [{"swap": {"slot": one, "seat": other, "other_slot": slot}} for one in mine for other, slot in aims]
        moves: list[Move] = [{"use": {"slot": slot, "face": face}} for slot in mine for face in ("open", "turned")]
        if self.phase == "decide" or self.may_reject:
            moves += [{"reject": {"slot": slot}} for slot in mine]
        return moves

    def default(self, seat: int) -> Move:
        """3.5."""

        def lowest(who: int) -> int:
            return min(self.slots(who, down=False), key=lambda slot: (value(self.cards[who][slot]), slot))

        def highest(who: int) -> int:
            return min(self.slots(who, down=False), key=lambda slot: (-value(self.cards[who][slot]), slot))

        if self.phase == "source":
            return {"draw": {}}
        if self.phase == "use":
            return {"use": {"slot": lowest(seat), "face": "turned"}}
        if self.phase == "decide":
            return {"reject": {"slot": highest(seat)}}
        other, slot = self.targets(self.phase)[0]
        if self.phase == "flip":
            return {"flip": {"seat": other, "slot": slot}}
        return {"swap": {"slot": lowest(seat), "seat": other, "other_slot": highest(other)}}

    def table(self) -> dict[str, Any]:
        return {
            "round": self.round,
            "dealer": self.dealer,
            "turn": self.turn,
            "phase": self.phase,
            "grids": [
                {"cards": ["" if turned else card for card, turned in zip(grid, down, strict=True)]}
                for grid, down in zip(self.cards, self.down, strict=True)
            ],
            "top": self.discards[-1] if self.discards else None,
            "taken": self.taken,
            "draw_pile": len(self.pile),
            "discard_pile": len(self.discards),
            "finisher": self.finisher,
            "totals": self.totals,
            "last_round": self.last_round,
        }

    def own(self, seat: int) -> dict[str, Any]:
        turned = [{"slot": slot, "card": self.cards[seat][slot]} for slot in self.slots(seat, down=True)]
        return {"turned": turned, "drawn": self.drawn if seat == self.turn else None}

    def hidden(self) -> dict[str, Any]:
        return {"draw_pile": self.pile, "discards": self.discards[:-1]}
