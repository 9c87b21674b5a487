"""Bluffing Billionaires as a second programmer wrote it from the text of the rules alone; nothing here is the engine's.

`mark` names what has happened that happens seldom, so that the test can see that it did.
"""

from typing import Any

OPTIONS = {"games": [1, 1, 2, 3, 5]}
SPECIAL = {"9", "10"}

Move = dict[str, dict[str, Any]]


def coins(card: int) -> int:
    return -(-card // 3)


def codes(cards: list[int]) -> list[str]:
    return [str(card) for card in sorted(cards)]


class Reading:
    """A match; `told` is what the last move did: name, public fields, private ones, and the seats that hear them."""

    def __init__(self, seats: int, options: dict[str, Any], chance: Any) -> None:
        self.n, self.chance, self.games = seats, chance, options.get("games", 1)
        self.marks: set[str] = set()
        self.told: list[tuple[str, dict[str, Any], dict[str, Any], list[int]]] = []
        self.result: dict[str, Any] | None = None
        self.last_round: dict[str, Any] | None = None
        self.points, self.coins, self.game, self.turns = [0] * seats, [0] * seats, 0, 0
        self.start = chance.pick(seats)
        self.begin_game()

    def mark(self, what: str, so: object = True) -> None:
        if so:
            self.marks.add(what)

    def tell(self, event: str, **fields: Any) -> None:
        self.told.append((event, fields, {}, []))

    def whisper(self, seats: list[int], private: dict[str, Any], event: str, **fields: Any) -> None:
        self.told.append((event, fields, private, seats))

    def begin_game(self) -> None:
        """3.2."""
        self.game += 1
        self.hands = [list(range(1, 11)) for _ in range(self.n)]
        self.lying: list[int | None] = [None] * self.n
        self.unseen: list[list[int]] = [[] for _ in range(self.n)]
        self.seen: list[list[int]] = [[] for _ in range(self.n)]
        self.bonus: list[list[tuple[int, int]]] = [[] for _ in range(self.n)]
        self.votes: list[dict[str, Any]] = []
        self.revealed: list[dict[str, Any]] = []
        self.tell("game_started", game=self.game, start=self.start)
        self.begin(self.start)

    def begin(self, seat: int) -> None:
        """3.3.1."""
        self.turn, self.phase, self.voters, self.answers = seat, "play", [], {}
        self.turns += 1
        if not self.hands[seat]:
            self.mark("an empty hand at the turn's begin")
            self.end_game()

    def apply(self, seat: int, move: Move) -> None:
        """3.3."""
        self.told = []
        ((name, fields),) = move.items()
        if name != "play":
            self.answers[seat] = name
            self.tell("voted", seat=seat)
            if len(self.answers) == len(self.voters):
                self.decide()
            return
        card, old = int(fields["card"]), self.lying[seat]
        self.hands[seat].remove(card)
        self.whisper([seat], {"card": str(card)}, "played", seat=seat)
        if old is not None:
            self.unseen[seat].append(old)
            self.whisper([seat], {"card": str(old)}, "discarded", seat=seat)
        self.lying[seat] = card
        if not self.hands[seat]:
            self.mark("the last card played")
            self.end_game()
            return
        self.voters = [other for other in range(self.n) if other != seat and self.lying[other] is not None]
        if not self.voters:
            self.mark("no voter, and an old vote stays shown", self.votes)
            self.begin((seat + 1) % self.n)
            return
        self.phase, self.votes, self.revealed = "vote", [], []

    def decide(self) -> None:
        """3.3.5, 3.3.6, 3.4."""
        active = self.turn
        self.votes = [{"seat": seat, "challenge": self.answers[seat] == "challenge"} for seat in self.voters]
        self.tell("votes_shown", votes=self.votes)
        order = [(active + step) % self.n for step in range(1, self.n)]
        challengers = [seat for seat in order if self.answers.get(seat) == "challenge"]
        if challengers:
            self.challenge(active, challengers)
        self.begin((active + 1) % self.n)

    def challenge(self, active: int, challengers: list[int]) -> None:
        shown: dict[int, int] = {seat: card for seat, card in enumerate(self.lying) if card is not None}
        shown = {seat: card for seat, card in shown.items() if seat == active or seat in challengers}
        self.revealed = [{"seat": seat, "card": str(card)} for seat, card in shown.items()]
        self.tell("revealed", cards=self.revealed)
        taken = None
        results = []
        for one in challengers:
            winner, loser = (active, one) if shown[active] > shown[one] else (one, active)
            results.append(winner == active)
            self.mark("a tie", shown[active] == shown[one])
            self.tell("compared", active=active, challenger=one, winner=winner)
            hand = sorted(self.hands[loser])
            self.mark("a loser without a hand card", not hand)
            self.mark("a hand that empties midway", not hand and len(results) > 1 and loser == active)
            if hand:
                self.take(winner, loser, hand[self.chance.pick(len(hand))], "hand")
            if len(challengers) == 1:
                taken = loser
                self.take(winner, loser, shown[loser], "table")
        self.mark("mixed results", len(set(results)) == 2)
        for seat, card in shown.items():
            self.lying[seat] = None
            if seat != taken:
                self.seen[seat].append(card)

    def take(self, winner: int, loser: int, card: int, source: str) -> None:
        if source == "hand":
            self.hands[loser].remove(card)
        self.bonus[winner].append((card, loser))
        self.tell("took", winner=winner, loser=loser, card=str(card), source=source)

    def end_game(self) -> None:
        """3.5."""
        won = [sum(coins(card) for card, _ in pile) for pile in self.bonus]
        scores = [sum(hand) + more for hand, more in zip(self.hands, won, strict=True)]
        self.points = [old + new for old, new in zip(self.points, scores, strict=True)]
        self.coins = [old + new for old, new in zip(self.coins, won, strict=True)]
        hands = [{"cards": codes(hand)} for hand in self.hands]
        self.last_round = {"scores": scores, "coins": won, "hands": hands}
        self.phase, self.voters, self.answers = "play", [], {}
        self.tell("game_ended", game=self.game, scores=scores, coins=won)
        if self.game < self.games:
            self.start = (self.start + 1) % self.n
            self.begin_game()
            return
        totals = list(zip(self.points, self.coins, strict=True))
        winners = [seat for seat in range(self.n) if totals[seat] == max(totals)]
        self.result = {"scores": self.points, "winners": winners}
        self.mark("coins decide", self.points.count(max(self.points)) > len(winners))
        self.mark("a shared win", len(winners) > 1)

    # --- what is asked and shown: 3.6, 3.7, section 5

    def to_act(self) -> list[int]:
        if self.result:
            return []
        return [seat for seat in self.voters if seat not in self.answers] if self.phase == "vote" else [self.turn]

    def asked(self, seat: int) -> object:
        return (self.turns, self.phase) if seat in self.to_act() else None

    def legal(self, seat: int) -> list[Move]:
        if seat not in self.to_act():
            return []
        if self.phase == "vote":
            return [{"approve": {}}, {"challenge": {}}]
        return [{"play": {"card": card}} for card in codes(self.hands[seat])]

    def default(self, seat: int) -> Move:
        return {"approve": {}} if self.phase == "vote" else {"play": {"card": str(min(self.hands[seat]))}}

    def table(self) -> dict[str, Any]:
        return {
            "game": self.game,
            "start": self.start,
            "turn": self.turn,
            "phase": self.phase,
            "hand_sizes": [len(hand) for hand in self.hands],
            "on_table": [card is not None for card in self.lying],
            "voters": self.voters,
            "answered": sorted(self.answers),
            "votes": self.votes,
            "revealed": self.revealed,
            "bonus": [{"cards": [{"card": str(c), "owner": owner} for c, owner in pile]} for pile in self.bonus],
            "discards": [
                {"known": codes(seen), "hidden": len(unseen)}
                for seen, unseen in zip(self.seen, self.unseen, strict=True)
            ],
            "points": self.points,
            "coins": self.coins,
            "last_round": self.last_round,
        }

    def own(self, seat: int) -> dict[str, Any]:
        lying = self.lying[seat]
        return {
            "hand": codes(self.hands[seat]),
            "table_card": None if lying is None else str(lying),
            "discarded": codes(self.unseen[seat]),
            "answer": self.answers.get(seat),
        }

    def hidden(self) -> dict[str, Any]:
        return {}
