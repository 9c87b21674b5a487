"""Computer players for Bluffing Billionaires, version 1.

What decides a game is not coins but cards: a lost challenge costs a hand card, and whoever runs out first ends the game
while the others still count theirs. Reckless does not see that, clever plays its strongest card whenever somebody could
doubt it, ruthless weighs what every card would win and cost against players who think as clever does.

Values are integers; expectations are in thousandths of a point.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from engine.bots.bot import Bot, Seen
from engine.chance import Chance
from engine.game import Move
from engine.games.bluffing_billionaires import CODES, VALUE, Own, Table

DOUBT = 55
"""Clever challenges from so many in a hundred cards that its own one beats."""
BOLD = 3
"""Once in so many plays clever lays down any card at all."""

SAMPLES = 24
"""Hands that ruthless imagines for each seat it thinks about."""
MODEL = 30
"""What one imagined play weighs in the belief of what lies before a seat..."""
OPEN = 120
"""...and what every card weighs from the start, since not everybody plays as clever does."""
CAUGHT, MISSED = 900, 100
"""In thousands: how often a voter challenges whose card asks for it, and one whose card does not."""
WON, HURT, LOST = 4, 8, 8
"""Points that a won challenge brings, that it takes from the rivals together, that a lost one costs."""
FADING = 75
"""In hundreds: what is left of a card's value for every card that would have to be kept before it."""
WAITING = 80
"""In hundreds: how much of a later, better challenge counts against one now."""

Belief = Mapping[int, int]
"""Weights of the values that may lie before a seat."""


class BluffingBillionairesBot(Bot):
    """Reckless plays and votes at random; clever counts cards; ruthless plays against somebody who does."""

    game = "bluffing_billionaires"

    def decide(self, seen: Seen, level: str, chance: Chance) -> Move | None:
        """Return a card to play, or an answer."""
        table, own = seen.table, seen.own
        assert isinstance(table, Table)
        assert isinstance(own, Own)
        if level == "reckless":
            return seen.legal[chance.pick(len(seen.legal))]
        if table.phase == "vote":
            assert own.table_card is not None
            mine = VALUE[own.table_card]
            if level == "clever":
                return seen.legal[doubts(unseen(table, table.turn), mine)]
            return seen.legal[_worth_a_challenge(table, seen.seat, mine, chance)]
        hand = [VALUE[code] for code in own.hand]
        voters = [seat for seat, lies in enumerate(table.on_table) if lies and seat != seen.seat]
        if level == "clever":
            return seen.legal[_strong_if_watched(hand, bool(voters), chance)]
        return seen.legal[_best_play(table, seen.seat, hand, voters, chance)]


def unseen(table: Table, seat: int) -> list[int]:
    """Return the values that a seat has in hand, before it or among its covered discards, as everybody can tell."""
    shown = set(table.discards[seat].known)
    for pile in table.bonus:
        shown |= {won.card for won in pile.cards if won.owner == seat}
    return [VALUE[code] for code in CODES if code not in shown]


def doubts(values: Sequence[int], mine: int) -> bool:
    """Whether clever challenges with the card `mine`, all `values` of the active seat being as likely."""
    return sum(value <= mine for value in values) * 100 >= DOUBT * len(values)


def _strong_if_watched(hand: Sequence[int], watched: bool, chance: Chance) -> int:
    """The place of the weakest card if nobody can doubt it, else mostly of the strongest."""
    if not watched:
        return 0
    return len(hand) - 1 if chance.pick(BOLD) else chance.pick(len(hand))


class _Stakes(NamedTuple):
    win: int
    lose: int

    def of(self, chance_to_win: int) -> int:
        """What a comparison is worth that is won so many times in a thousand."""
        return chance_to_win * self.win - (1000 - chance_to_win) * self.lose


def _stakes(table: Table) -> _Stakes:
    return _Stakes(WON + HURT // (len(table.hand_sizes) - 1), LOST)


def _imagined(table: Table, seat: int, held: int, watched: bool, chance: Chance) -> Belief:
    """What a seat lays down out of `held` cards: hands that it may have, played as clever would play them."""
    values = unseen(table, seat)
    belief = dict.fromkeys(values, OPEN)
    for _ in range(SAMPLES):
        hand = sorted(chance.shuffle(values)[:held])
        belief[hand[_strong_if_watched(hand, watched, chance)]] += MODEL
    return belief


def _up_to(belief: Belief, value: int) -> int:
    """How many times in a thousand a card is not above `value`."""
    return 1000 * sum(weight for other, weight in belief.items() if other <= value) // sum(belief.values())


def _still_to_play(table: Table, clockwise: Iterable[int], chance: Chance) -> list[Belief]:
    """What these seats will lay down next, up to the one whose last card ends the game without a vote."""
    voted_on = takewhile(lambda seat: table.hand_sizes[seat] > 1, clockwise)
    return [_imagined(table, seat, table.hand_sizes[seat], True, chance) for seat in voted_on]


def _later(stakes: _Stakes, mine: int, beliefs: Iterable[Belief]) -> int:
    """What the best challenge is worth that a table card may yet make; never less than making none."""
    return max([0, *(stakes.of(_up_to(belief, mine)) for belief in beliefs)])


def _worth_a_challenge(table: Table, seat: int, mine: int, chance: Chance) -> bool:
    """Whether a challenge now is worth more than keeping the card for those who play before this seat does."""
    seats, active, stakes = len(table.hand_sizes), table.turn, _stakes(table)
    now = stakes.of(_up_to(_imagined(table, active, table.hand_sizes[active] + 1, True, chance), mine))
    between = [(active + step) % seats for step in range(1, (seat - active) % seats)]
    return now * 100 > WAITING * _later(stakes, mine, _still_to_play(table, between, chance))


def _lying(table: Table, me: int, seat: int, chance: Chance) -> Belief:
    """What lies before a voter, seen from the seat on turn.

    The seat before lay unwatched if no other card lies there: had it been challenged, its own would be gone. All others
    have approved of what that seat played, if it was voted on, which clever does not do with a strong card.
    """
    before = (me - 1) % len(table.hand_sizes)
    watched = seat != before or any(lies for other, lies in enumerate(table.on_table) if other != before)
    belief = _imagined(table, seat, table.hand_sizes[seat] + 1, watched, chance)
    if seat == before or all(vote.seat != seat or vote.challenge for vote in table.votes):
        return belief
    doubted = unseen(table, before)
    return {value: weight * (1000 - _challenges(doubted, value)) // 1000 for value, weight in belief.items()}


def _challenges(values: Sequence[int], mine: int) -> int:
    """How many times in a thousand somebody challenges with the card `mine`."""
    return CAUGHT if doubts(values, mine) else MISSED


def _best_play(table: Table, seat: int, hand: Sequence[int], voters: Sequence[int], chance: Chance) -> int:
    """The place of the card that wins most, on this turn and as a challenger, for what it is worth in hand."""
    seats, stakes, public = len(table.hand_sizes), _stakes(table), unseen(table, seat)
    others = [(seat + step) % seats for step in range(1, seats)]
    beliefs = [_lying(table, seat, voter, chance) for voter in voters]
    to_come = _still_to_play(table, others, chance)
    quiet = 1000
    for belief in beliefs:
        calm = sum(weight * (1000 - _challenges(public, other)) for other, weight in belief.items())
        quiet = quiet * calm // (1000 * sum(belief.values()))
    kept = len(hand) - min(len(hand), *(max(1, table.hand_sizes[other]) for other in others))

    def worth(place: int) -> int:
        value, total = hand[place], 0
        for belief in beliefs:
            won = sum(
                weight * _challenges(public, other) * (stakes.win if value > other else -stakes.lose)
                for other, weight in belief.items()
            )
            total += won // sum(belief.values())
        if len(hand) > 1:
            total += quiet * _later(stakes, value, to_come) // 1000
        keeping = 1000 * value
        for _ in range(len(hand) - place - kept):
            keeping = keeping * FADING // 100
        return total - keeping

    return max(range(len(hand)), key=worth)
