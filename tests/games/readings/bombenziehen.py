"""Bombenziehen as a second programmer wrote it from the text of the rules alone; nothing here is the engine's.

`mark` names what has happened that happens seldom, so that the test can see that it did.
"""

from typing import Any

ACTIONS = ["peek", "dodge", "bottom", "shove", "steal", "shield", "shuffle"]
KINDS = [*ACTIONS, "dud", "cutter", "bomb"]
OPTIONS = {"duds_in_start_hand": [True, False]}
SPECIAL = {"shove", "steal", "shield", "shuffle", "peek", "bottom"}

Move = dict[str, dict[str, Any]]


def in_order(cards: list[str]) -> list[str]:
    return sorted(cards, key=KINDS.index)


class Reading:
    """A match; `told` is what the last move did: name, public fields, private ones, and the seats that hear them."""

    def __init__(self, seats: int, options: dict[str, Any], chance: Any) -> None:
        """3.2."""
        self.n, self.chance = seats, chance
        self.marks: set[str] = set()
        self.told: list[tuple[str, dict[str, Any], dict[str, Any], list[int]]] = []
        self.result: dict[str, Any] | None = None
        start = chance.pick(seats)
        cards = [kind for kind in ACTIONS for _ in range(seats + 1)]
        duds = ["dud"] * (2 * seats)
        if options.get("duds_in_start_hand", False):
            cards, duds = cards + duds, []
        cards = list(chance.shuffle(cards))
        self.hands: list[list[str]] = [[] for _ in range(seats)]
        for _ in range(4):
            for step in range(seats):
                self.hands[(start + step) % seats].append(cards.pop(0))
        for hand in self.hands:
            hand.append("cutter")
        extra = ["cutter"] * (1 if seats <= 3 else 2)
        self.pile = list(chance.shuffle([*cards, *duds, *extra, *["bomb"] * (seats - 1)]))
        self.shields = [False] * seats
        self.known: list[dict[int, str]] = [{} for _ in range(seats)]
        self.discard: list[str] = []
        self.out: list[int] = []
        self.turn, self.owed, self.phase, self.moves, self.turns = start, 1, "act", 0, 0
        self.tell("started", seat=start)

    def mark(self, what: str, so: object = True) -> None:
        if so:
            self.marks.add(what)

    def tell(self, event: str, **fields: Any) -> None:
        self.told.append((event, fields, {}, []))

    def whisper(self, seats: list[int], private: dict[str, Any], event: str, **fields: Any) -> None:
        self.told.append((event, fields, private, seats))

    def next(self, seat: int) -> int:
        after = [(seat + step) % self.n for step in range(1, self.n)]
        return next(other for other in after if other not in self.out)

    # --- moves: 3.3 to 3.6

    def apply(self, seat: int, move: Move) -> None:
        self.told = []
        self.moves += 1
        ((name, fields),) = move.items()
        if name == "draw":
            self.take(seat, "top")
        elif name == "play":
            self.hands[seat].remove(fields["card"])
            self.discard.append(fields["card"])
            self.play(seat, fields["card"], fields.get("target"))
        else:
            self.put_back(seat, self.chance.pick(len(self.pile) + 1) if name == "place_random" else fields["index"])

    def play(self, seat: int, card: str, target: int | None) -> None:
        victim = self.next(seat) if card == "shove" else target
        blocked = victim is not None and self.shields[victim]
        self.tell("played", seat=seat, card=card, target=victim, blocked=blocked)
        if blocked:
            self.shields[victim] = False
        if card == "peek":
            seen = self.pile[:3]
            self.mark("a peek at fewer than three cards", len(seen) < 3)
            self.known[seat].update(enumerate(seen))
            self.whisper([seat], {"cards": seen}, "peeked", seat=seat)
        elif card == "shuffle":
            self.pile = list(self.chance.shuffle(self.pile))
            self.mark("a shuffle of one card", len(self.pile) == 1)
            self.mark("a shuffle that wipes an info", any(self.known))
            self.known = [{} for _ in range(self.n)]
            self.tell("shuffled", seat=seat)
        elif card == "shield":
            self.shields[seat] = True
        elif card == "steal":
            self.mark("a theft blocked", blocked)
            if not blocked:
                hand = in_order(self.hands[target])
                stolen = hand[self.chance.pick(len(hand))]
                self.hands[target].remove(stolen)
                self.hands[seat].append(stolen)
                self.whisper([seat, target], {"card": stolen}, "stole", seat=seat, target=target)
                self.mark("the last card stolen", not self.hands[target])
        elif card == "dodge":
            self.paid(seat)
        elif card == "bottom":
            self.take(seat, "bottom")
        else:
            self.mark("a shove over the dead", victim != (seat + 1) % self.n)
            self.mark("a shove blocked", blocked)
            self.mark("a shove that owes two", self.owed == 2)
            self.turn_to(victim, 1 if blocked else 2)

    def take(self, seat: int, source: str) -> None:
        """3.4, and of 3.6 the two draws."""
        top = source == "top"
        card = self.pile.pop(0 if top else -1)
        for known in self.known:
            self.mark("a bottom draw of a noted card", not top and len(self.pile) in known)
            entries = {at - top: kind for at, kind in known.items()}
            known.clear()
            known.update({at: kind for at, kind in entries.items() if 0 <= at < len(self.pile)})
        if card != "bomb":
            self.hands[seat].append(card)
            self.whisper([seat], {"card": card}, "drew", seat=seat, source=source)
            self.paid(seat)
            return
        defused = "cutter" in self.hands[seat]
        self.tell("bomb_drawn", seat=seat, source=source, defused=defused)
        self.mark("a bomb at the bottom", not top)
        if defused:
            self.hands[seat].remove("cutter")
            self.discard.append("cutter")
            self.phase = "place_bomb"
            return
        self.mark("out with a marker", self.shields[seat])
        self.mark("out with a draw to spare", self.owed == 2)
        self.mark("out with an info", self.known[seat])
        cards = [*in_order(self.hands[seat]), "bomb"]
        self.hands[seat], self.known[seat], self.shields[seat] = [], {}, False
        self.discard += cards
        self.out.append(seat)
        self.tell("eliminated", seat=seat, cards=cards)
        if len(self.out) < self.n - 1:
            self.turn_to(self.next(seat), 1)
            return
        winner = self.next(seat)
        self.owed = 0
        places = [*self.out, winner]
        self.result = {"scores": [self.n - places.index(one) for one in range(self.n)], "winners": [winner]}
        self.tell("won", seat=winner)

    def put_back(self, seat: int, index: int) -> None:
        self.mark("the only place for a bomb", not self.pile)
        self.mark("a note pushed down", any(at >= index for at in self.known[seat]))
        self.mark("a note of another lost", any(known for other, known in enumerate(self.known) if other != seat))
        self.pile.insert(index, "bomb")
        mine = {at + (at >= index): kind for at, kind in self.known[seat].items()}
        self.known = [{} for _ in range(self.n)]
        self.known[seat] = {**mine, index: "bomb"}
        self.phase = "act"
        self.whisper([seat], {"index": index}, "bomb_returned", seat=seat)
        self.paid(seat)

    def paid(self, seat: int) -> None:
        """3.5."""
        self.owed -= 1
        if not self.owed:
            self.turn_to(self.next(seat), 1)

    def turn_to(self, seat: int, owed: int) -> None:
        self.turn, self.owed, self.phase = seat, owed, "act"
        self.turns, self.moves = self.turns + 1, 0

    # --- what is asked and shown: 3.7, 3.8, section 5

    def to_act(self) -> list[int]:
        return [] if self.result else [self.turn]

    def asked(self, seat: int) -> object:
        return (self.turns, self.phase, self.moves) if seat in self.to_act() else None

    def legal(self, seat: int) -> list[Move]:
        if seat not in self.to_act():
            return []
        if self.phase == "place_bomb":
            return [{"place": {"index": index}} for index in range(len(self.pile) + 1)] + [{"place_random": {}}]
        moves: list[Move] = []
        for card in ACTIONS:
            if card not in self.hands[seat] or (card == "shield" and self.shields[seat]):
                continue
            if card == "steal":
                targets = [other for other in range(self.n) if other != seat and self.hands[other]]
                self.mark("nobody to steal from", not targets)
                moves += [{"play": {"card": card, "target": target}} for target in targets]
            else:
                moves.append({"play": {"card": card}})
        return [*moves, {"draw": {}}]

    def default(self, seat: int) -> Move:
        return {"draw": {}} if self.phase == "act" else {"place_random": {}}

    def table(self) -> dict[str, Any]:
        return {
            "turn": self.turn,
            "phase": self.phase,
            "owed": self.owed,
            "pile": len(self.pile),
            "bombs": self.pile.count("bomb"),
            "alive": [seat not in self.out for seat in range(self.n)],
            "shields": self.shields,
            "hand_sizes": [len(hand) for hand in self.hands],
            "discard": self.discard,
            "out": self.out,
        }

    def own(self, seat: int) -> dict[str, Any]:
        known = [{"index": at, "card": card} for at, card in sorted(self.known[seat].items())]
        return {"hand": in_order(self.hands[seat]), "known": known}

    def hidden(self) -> dict[str, Any]:
        return {"pile": self.pile}
