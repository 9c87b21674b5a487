"""Bluffing Billionaires, rules version 1. BB-n and section numbers are those of the rules of record.

Hidden (3.7): nothing. Every card lies on the table or is some seat's to see, and so is every answer.
"""

from collections.abc import Hashable, Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from engine.chance import Chance
from engine.game import Card, Cards, Event, Game, Move, Options, Result, Step
from engine.vocabulary import Transition, added, ordered, put

CODES = ("1", "2", "3", "4", "5", "6", "7", "8", "9", "10")  # BB-2
VALUE = {code: int(code) for code in CODES}
COINS = {code: (value + 2) // 3 for code, value in VALUE.items()}  # BB-3


class BluffingBillionairesOptions(Options, frozen=True):
    """3.1."""

    games: Annotated[int, Meta(ge=1, le=12, extra={"de": "Spiele", "en": "Games"})] = 1


class Play(Move, frozen=True):
    """Lay a hand card face down in front of the seat."""

    card: str


class Approve(Move, frozen=True):
    """Thumb up: let the active seat's claim stand."""


class Challenge(Move, frozen=True):
    """Thumb down: compare one's table card with the active one."""


class Vote(Struct, frozen=True):
    """A voter's answer."""

    seat: int
    challenge: bool


class Shown(Struct, frozen=True):
    """A table card that was turned up."""

    seat: int
    card: str


class Bonus(Struct, frozen=True):
    """A card in a bonus pile; `owner` is the seat whose card it was."""

    card: str
    owner: int


class BonusPile(Struct, frozen=True):
    """A seat's bonus cards, in the order won."""

    cards: tuple[Bonus, ...] = ()


class DiscardPile(Struct, frozen=True):
    """A seat's discards as everybody may know them: the codes of those that were revealed, the number of the others."""

    known: tuple[str, ...]
    hidden: int


class LastRound(Struct, frozen=True):
    """The game that ended last: points, coins and the hands left over, per seat."""

    scores: tuple[int, ...]
    coins: tuple[int, ...]
    hands: tuple[Cards, ...]


class GameStarted(Event, frozen=True):
    """A game begins; `start` has its first turn."""

    game: int
    start: int


class Played(Event, frozen=True):
    """A card was laid face down; `card` for its owner only."""

    seat: int
    card: str | None = None


class Discarded(Event, frozen=True):
    """The table card that lay there before left unseen; `card` for its owner only."""

    seat: int
    card: str | None = None


class Voted(Event, frozen=True):
    """A voter has answered; what, nobody is told."""

    seat: int


class VotesShown(Event, frozen=True):
    """All voters have answered."""

    votes: tuple[Vote, ...]


class Revealed(Event, frozen=True):
    """The table cards of the active seat and its challengers were turned up; ascending by seat."""

    cards: tuple[Shown, ...]


class Compared(Event, frozen=True):
    """One challenger's card was compared with the active one."""

    active: int
    challenger: int
    winner: int


class Took(Event, frozen=True):
    """The winner took a card of the loser to his bonus pile, from the hand or from the table."""

    winner: int
    loser: int
    card: str
    source: Literal["hand", "table"]


class GameEnded(Event, frozen=True):
    """A game ended; its points and coins per seat."""

    game: int
    scores: tuple[int, ...]
    coins: tuple[int, ...]


class State(Struct, frozen=True):
    """All there is to know. Hands and discards in canonical order; `answers` are those of the open vote, by seat."""

    options: BluffingBillionairesOptions
    game: int
    start: int
    turn: int
    phase: Literal["play", "vote"]
    hands: tuple[tuple[str, ...], ...]
    table_cards: tuple[str | None, ...]
    seen_discards: tuple[tuple[str, ...], ...]
    unseen_discards: tuple[tuple[str, ...], ...]
    bonus: tuple[BonusPile, ...]
    points: tuple[int, ...]
    coins: tuple[int, ...]
    voters: tuple[int, ...] = ()
    answers: tuple[Vote, ...] = ()
    votes: tuple[Vote, ...] = ()
    revealed: tuple[Shown, ...] = ()
    last_round: LastRound | None = None
    result: Result | None = None


class Table(Struct, frozen=True):
    """Section 5, `table`."""

    game: int
    start: int
    turn: int
    phase: str
    hand_sizes: tuple[int, ...]
    on_table: tuple[bool, ...]
    voters: tuple[int, ...]
    answered: tuple[int, ...]
    votes: tuple[Vote, ...]
    revealed: tuple[Shown, ...]
    bonus: tuple[BonusPile, ...]
    discards: tuple[DiscardPile, ...]
    points: tuple[int, ...]
    coins: tuple[int, ...]
    last_round: LastRound | None


class Own(Struct, frozen=True):
    """Section 5, `own`."""

    hand: tuple[str, ...]
    table_card: str | None
    discarded: tuple[str, ...]
    answer: Literal["approve", "challenge"] | None


class Hidden(Struct, frozen=True):
    """What nobody sees: nothing."""


_PLAY = {code: Play(code) for code in CODES}
_APPROVE = Approve()
_CHALLENGE = Challenge()
_HIDDEN = Hidden()


class BluffingBillionaires(Game[BluffingBillionairesOptions, State]):
    """The rules of Bluffing Billionaires."""

    name = "bluffing_billionaires"
    seats = range(2, 7)  # BB-1
    titles: ClassVar[Mapping[str, str]] = {"de": "Bluffing Billionaires", "en": "Bluffing Billionaires"}
    options_type = BluffingBillionairesOptions
    moves = (Play, Approve, Challenge)
    events = (GameStarted, Played, Discarded, Voted, VotesShown, Revealed, Compared, Took, GameEnded)
    cards = tuple(
        Card(code, "wealth", f"Vermögen {code}", f"Wealth {code}", {"value": VALUE[code], "coins": COINS[code]})
        for code in CODES
    )

    def count(self, code: str, seats: int) -> int:
        """BB-2: one of each code a seat."""
        del code
        return seats

    def setup(self, options: BluffingBillionairesOptions, seats: int, chance: Chance) -> Step[State]:
        """3.2; chance: pick(n)."""
        course, zeros = _Course(chance), (0,) * seats
        course.deal(options, 1, chance.pick(seats), zeros, zeros, None)  # BB-5
        return course.step()

    def legal(self, state: State, seat: int) -> list[Move]:
        """3.3: a hand card in phase PLAY, an answer for voters who still owe one in VOTE."""
        if state.result is not None:
            return []
        if state.phase == "play":
            return [_PLAY[code] for code in state.hands[seat]] if seat == state.turn else []
        return [_APPROVE, _CHALLENGE] if _owes_answer(state, seat) else []

    def to_act(self, state: State) -> tuple[int, ...]:
        """The seat on turn, or the voters who have not answered."""
        if state.result is not None:
            return ()
        if state.phase == "play":
            return (state.turn,)
        return tuple([seat for seat in state.voters if _owes_answer(state, seat)])

    def asked(self, state: State, seat: int) -> Hashable | None:
        """The seat on turn its turn, a voter that vote until he has answered.

        The active seat's hand, one card less at each of its turns, tells its turns in one game apart.
        """
        if state.result is not None:
            return None
        if state.phase == "play":
            return ("turn", state.game, len(state.hands[seat])) if seat == state.turn else None
        return ("vote", state.game, state.turn, len(state.hands[state.turn])) if _owes_answer(state, seat) else None

    def apply(self, state: State, seat: int, move: Move, chance: Chance) -> Step[State]:
        """3.3 to 3.5."""
        course = _Course(chance, state)
        if isinstance(move, Play):
            course.play(seat, move.card)
        else:
            course.answer(Vote(seat, isinstance(move, Challenge)))
        return course.step()

    def default(self, state: State, seat: int) -> Move:
        """3.6."""
        return _PLAY[state.hands[seat][0]] if state.phase == "play" else _APPROVE

    def table(self, state: State) -> Table:
        """3.7, public."""
        return Table(
            state.game,
            state.start,
            state.turn,
            state.phase,
            tuple(map(len, state.hands)),
            tuple([card is not None for card in state.table_cards]),
            state.voters,
            tuple([vote.seat for vote in state.answers]),
            state.votes,
            state.revealed,
            state.bonus,
            tuple(map(DiscardPile, state.seen_discards, map(len, state.unseen_discards))),
            state.points,
            state.coins,
            state.last_round,
        )

    def own(self, state: State, seat: int) -> Own:
        """3.7, the owner's."""
        answer: Literal["approve", "challenge"] | None = None
        for vote in state.answers:
            if vote.seat == seat:
                answer = "challenge" if vote.challenge else "approve"
        return Own(state.hands[seat], state.table_cards[seat], state.unseen_discards[seat], answer)

    def hidden(self, state: State) -> Hidden:
        """Nothing."""
        del state
        return _HIDDEN

    def result(self, state: State) -> Result | None:
        """3.5."""
        return state.result


def _owes_answer(state: State, seat: int) -> bool:
    return seat in state.voters and seat not in [vote.seat for vote in state.answers]


class _Course(Transition[State]):
    """A deal, or what a move does."""

    def deal(
        self,
        options: BluffingBillionairesOptions,
        game: int,
        start: int,
        points: tuple[int, ...],
        coins: tuple[int, ...],
        last_round: LastRound | None,
    ) -> None:
        """3.2; BB-4."""
        seats = len(points)
        self.tell(GameStarted(game, start))
        self.state = State(
            options=options,
            game=game,
            start=start,
            turn=start,
            phase="play",
            hands=(CODES,) * seats,
            table_cards=(None,) * seats,
            seen_discards=((),) * seats,
            unseen_discards=((),) * seats,
            bonus=(BonusPile(),) * seats,
            points=points,
            coins=coins,
            last_round=last_round,
        )

    def play(self, seat: int, card: str) -> None:
        """3.3, steps 2 to 5."""
        state = self.state
        hand = tuple([other for other in state.hands[seat] if other != card])
        old, unseen = state.table_cards[seat], state.unseen_discards
        self.whisper(Played(seat, card), seat)
        if old is not None:  # BB-6
            self.whisper(Discarded(seat, old), seat)
            unseen = put(unseen, seat, ordered((*unseen[seat], old), VALUE))
        table_cards = put(state.table_cards, seat, card)
        self.state = replace(
            self.state, hands=put(state.hands, seat, hand), table_cards=table_cards, unseen_discards=unseen
        )
        voters = tuple([other for other, lies in enumerate(table_cards) if lies is not None and other != seat])
        if not hand:  # BB-9
            self.end_game()
        elif not voters:  # BB-7
            self.begin_turn(seat + 1)
        else:
            self.state = replace(self.state, phase="vote", voters=voters, votes=(), revealed=())

    def begin_turn(self, seat: int) -> None:
        """3.3, step 1, for a seat counted on past the last one."""
        seat %= len(self.state.hands)
        self.state = replace(self.state, turn=seat, phase="play", voters=(), answers=())
        if not self.state.hands[seat]:  # BB-10
            self.end_game()

    def answer(self, vote: Vote) -> None:
        """3.3, steps 5 and 6; BB-8."""
        self.tell(Voted(vote.seat))
        answers = tuple(sorted((*self.state.answers, vote), key=lambda answer: answer.seat))
        if len(answers) < len(self.state.voters):
            self.state = replace(self.state, answers=answers)
            return
        self.tell(VotesShown(answers))
        self.state = replace(self.state, votes=answers)
        active = self.state.turn
        challengers = [answer.seat for answer in answers if answer.challenge]
        if challengers:
            self.challenge(sorted(challengers, key=lambda seat: (seat - active) % len(self.state.hands)))
        self.begin_turn(active + 1)  # BB-15

    def challenge(self, challengers: list[int]) -> None:
        """3.4, steps 1 to 3; `challengers` clockwise from the active seat."""
        state, active = self.state, self.state.turn
        lying = {seat: card for seat in (active, *challengers) if (card := state.table_cards[seat]) is not None}
        revealed = tuple(Shown(seat, lying[seat]) for seat in sorted(lying))
        self.tell(Revealed(revealed))
        worth = VALUE[lying[active]]
        hands, bonus, seen = list(state.hands), list(state.bonus), list(state.seen_discards)

        def take(winner: int, loser: int, card: str, source: Literal["hand", "table"]) -> None:
            bonus[winner] = BonusPile((*bonus[winner].cards, Bonus(card, loser)))
            self.tell(Took(winner, loser, card, source))

        for challenger in challengers:  # BB-11
            winner, loser = (active, challenger) if worth > VALUE[lying[challenger]] else (challenger, active)  # BB-12
            self.tell(Compared(active, challenger, winner))
            hand = hands[loser]
            if hand:  # BB-13
                place = self.chance.pick(len(hand))
                hands[loser] = hand[:place] + hand[place + 1 :]
                take(winner, loser, hand[place], "hand")
            if len(challengers) == 1:  # BB-14
                take(winner, loser, lying.pop(loser), "table")
        for seat, card in lying.items():
            seen[seat] = ordered((*seen[seat], card), VALUE)
        cleared = {shown.seat for shown in revealed}
        self.state = replace(
            self.state,
            hands=tuple(hands),
            table_cards=tuple(None if seat in cleared else card for seat, card in enumerate(state.table_cards)),
            seen_discards=tuple(seen),
            bonus=tuple(bonus),
            revealed=revealed,
        )

    def end_game(self) -> None:
        """3.5; BB-16 to BB-18."""
        state = self.state
        coins = tuple(sum(COINS[won.card] for won in pile.cards) for pile in state.bonus)
        scores = tuple(sum(map(VALUE.__getitem__, hand)) + coins[seat] for seat, hand in enumerate(state.hands))
        self.tell(GameEnded(state.game, scores, coins))
        points, total_coins = added(state.points, scores), added(state.coins, coins)
        last_round = LastRound(scores, coins, tuple(map(Cards, state.hands)))
        if state.game < state.options.games:
            start = (state.start + 1) % len(points)
            self.deal(state.options, state.game + 1, start, points, total_coins, last_round)
            return
        ranks = list(zip(points, total_coins, strict=True))
        winners = tuple(seat for seat, rank in enumerate(ranks) if rank == max(ranks))
        self.state = replace(
            self.state, points=points, coins=total_coins, last_round=last_round, result=Result(points, winners)
        )
