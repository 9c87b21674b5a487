"""States that a seat cannot tell apart: for each game one that differs in nothing but what that seat does not see.

`table` and `own` are the measure, not memory: a covered discard that everybody saw once is unseen here, since no view
shows it any more. `seat` is None for a spectator. Half the time all unseen cards are dealt anew, half the time two of
them change places, so that most moves stay possible.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from engine.games import bluffing_billionaires, bombenziehen, timos_twist
from engine.games import clever_gedreht_words as clever_gedreht
from engine.games import toms_time_bluff_words as toms_time_bluff

Redeal = Callable[[Any, int | None, random.Random], Any]
Group = tuple[str, ...]


def _mixed(rng: random.Random, *groups: Sequence[str]) -> list[Group]:
    """The cards of the groups, mixed up; every group keeps its size."""
    pool = [card for group in groups for card in group]
    if rng.random() < 1 / 2:
        rng.shuffle(pool)
    elif len(pool) > 1:
        i, j = rng.sample(range(len(pool)), 2)
        pool[i], pool[j] = pool[j], pool[i]
    cards = iter(pool)
    return [tuple(next(cards) for _ in group) for group in groups]


def _others(seats: int, seat: int | None) -> list[int]:
    return [other for other in range(seats) if other != seat]


def _put(
    groups: Sequence[Group], seats: Sequence[int], new: Sequence[Group], order: dict[str, int]
) -> tuple[Group, ...]:
    """The groups with those of some seats replaced, sorted."""
    fresh = dict(zip(seats, new, strict=True))
    return tuple(
        tuple(sorted(fresh[seat], key=order.__getitem__)) if seat in fresh else group
        for seat, group in enumerate(groups)
    )


def _timos_twist(state: timos_twist.State, seat: int | None, rng: random.Random) -> timos_twist.State:
    """Draw pile, covered discards and the other hands; the card just drawn is one of its hand."""
    others = _others(len(state.hands), seat)
    pile, covered, *hands = _mixed(rng, state.draw_pile, state.discards[:-1], *(state.hands[i] for i in others))
    dealt = _put(state.hands, others, hands, timos_twist.ORDER)
    drawn = state.drawn
    if drawn is not None and drawn not in dealt[state.turn]:
        drawn = rng.choice(dealt[state.turn])
    return replace(state, draw_pile=pile, discards=(*covered, state.discards[-1]), hands=dealt, drawn=drawn)


def _clever_gedreht(state: clever_gedreht.State, seat: int | None, rng: random.Random) -> clever_gedreht.State:
    """Draw pile, covered discards, the others' turned cards and the number that another seat has drawn."""
    others = _others(len(state.turned), seat)
    drawn = (state.drawn,) if state.drawn is not None and state.turn != seat else ()
    grids = [tuple(filter(None, state.turned[i])) for i in others]
    while True:
        pile, covered, hand, *dealt = _mixed(rng, state.draw_pile, state.discards[:-1], drawn, *grids)
        if all(card in clever_gedreht.NUMBERS for card in hand):
            break
    cards = {i: iter(grid) for i, grid in zip(others, dealt, strict=True)}
    return replace(
        state,
        draw_pile=pile,
        discards=(*covered, *state.discards[-1:]),
        drawn=hand[0] if hand else state.drawn,
        turned=tuple(
            tuple(next(cards[i]) if card else "" for card in grid) if i in cards else grid
            for i, grid in enumerate(state.turned)
        ),
    )


def _bombenziehen(state: bombenziehen.State, seat: int | None, rng: random.Random) -> bombenziehen.State:
    """The places of the pile that the seat has not noted, the other hands (never a bomb) and the others' notes."""
    others = _others(len(state.hands), seat)
    noted = {} if seat is None else {entry.index: entry.card for entry in state.infos[seat]}
    free = [place for place in range(len(state.pile)) if place not in noted]
    safe = [state.pile[place] for place in free if state.pile[place] != "bomb"]
    safe, *hands = _mixed(rng, safe, *(state.hands[i] for i in others))
    unnoted = [*safe, *("bomb",) * (len(free) - len(safe))]
    rng.shuffle(unnoted)
    noted |= dict(zip(free, unnoted, strict=True))
    pile = tuple(noted[place] for place in range(len(state.pile)))

    def notes(other: int) -> bombenziehen.Info:
        places = [entry.index for entry in state.infos[other]]
        if state.alive[other] and rng.random() < 1 / 4:
            places = sorted(rng.sample(range(len(pile)), min(len(pile), rng.randrange(4))))
        return tuple(bombenziehen.Known(place, pile[place]) for place in places)

    return replace(
        state,
        pile=pile,
        hands=_put(state.hands, others, hands, bombenziehen.ORDER),
        infos=tuple(notes(i) if i in others else info for i, info in enumerate(state.infos)),
    )


def _bluffing_billionaires(
    state: bluffing_billionaires.State, seat: int | None, rng: random.Random
) -> bluffing_billionaires.State:
    """Within each other seat hand, table card and unseen discards; and the others' answers in an open vote."""
    for other in _others(len(state.hands), seat):
        lying = state.table_cards[other]
        hand, table, discards = _mixed(
            rng, state.hands[other], () if lying is None else (lying,), state.unseen_discards[other]
        )
        state = replace(
            state,
            hands=_put(state.hands, [other], [hand], bluffing_billionaires.VALUE),
            table_cards=(*state.table_cards[:other], table[0] if table else None, *state.table_cards[other + 1 :]),
            unseen_discards=_put(state.unseen_discards, [other], [discards], bluffing_billionaires.VALUE),
        )
    answers = tuple(
        vote if vote.seat == seat else replace(vote, challenge=rng.random() < 1 / 2) for vote in state.answers
    )
    return replace(state, answers=answers)


def _toms_time_bluff(state: toms_time_bluff.State, seat: int | None, rng: random.Random) -> toms_time_bluff.State:
    """Draw pile, the other hands and face-down cards; and the others' answers, as far as the window stays open."""
    others = _others(len(state.hands), seat)
    laid = [tuple(entry.card for entry in state.laid[i]) for i in others]
    pile, *groups = _mixed(rng, state.draw_pile, *(state.hands[i] for i in others), *laid)
    hands, covered = groups[: len(others)], dict(zip(others, groups[len(others) :], strict=True))
    answers = list(state.answers)
    clockwise = [(state.turn + step) % len(answers) for step in range(1, len(answers))]
    waiting = False
    for other in clockwise:
        waiting = waiting or answers[other] is None
        if waiting and other != seat and answers[other] is not None:
            answers[other] = rng.choice(("accept", "challenge"))
    return replace(
        state,
        draw_pile=pile,
        hands=_put(state.hands, others, hands, toms_time_bluff.ORDER),
        laid=tuple(
            tuple(replace(entry, card=card) for entry, card in zip(entries, covered[i], strict=True))
            if i in covered
            else entries
            for i, entries in enumerate(state.laid)
        ),
        answers=tuple(answers),
    )


REDEALS: dict[str, Redeal] = {
    "timos_twist/1": _timos_twist,
    "clever_gedreht/1": _clever_gedreht,
    "bombenziehen/1": _bombenziehen,
    "bluffing_billionaires/1": _bluffing_billionaires,
    "toms_time_bluff/1": _toms_time_bluff,
}
"""By rules; a game without one has no proof that it keeps its secrets."""

OPEN: dict[str, set[str]] = {
    "clever_gedreht/1": {"hidden.over"},
    "toms_time_bluff/1": {"hidden.play"},
}
"""Fields of other seats' `own` and of `hidden` that tell nothing secret: everybody can work them out."""

SEALED: dict[str, dict[str, tuple[str, tuple[str, ...]]]] = {
    "bombenziehen/1": {"place": ("return", ()), "place_random": ("return", ())},
    "bluffing_billionaires/1": {"play": ("play", ()), "approve": ("vote", ()), "challenge": ("vote", ())},
    "toms_time_bluff/1": {
        "hide": ("hide", ("place",)),
        "beam": ("beam", ("target",)),
        "challenge": ("answer", ()),
        "accept": ("answer", ()),
    },
}
"""Moves that other seats do not see whole: what they see done, and which fields of it. All other moves are public."""

PASSING: dict[str, set[str]] = {
    "toms_time_bluff/1": {"turned.aside", "replaced.aside", "replaced.card"},
}
"""Fields of events that show everybody cards which may be out of sight again when the move is done."""

PLACES: dict[str, tuple[str, ...]] = {
    "timos_twist": ("table.top", "own.hand", "hidden.draw_pile", "hidden.discards"),
    "clever_gedreht": (
        *("table.grids", "table.top", "table.taken", "own.turned", "own.drawn"),
        *("hidden.draw_pile", "hidden.discards"),
    ),
    "bombenziehen": ("table.discard", "own.hand", "hidden.pile"),
    "bluffing_billionaires": ("table.bonus", "table.discards", "own.hand", "own.table_card", "own.discarded"),
    "toms_time_bluff": ("table.piles", "own.hand", "own.laid", "hidden.draw_pile"),
}
"""The fields of table, own and hidden in which each card of a game lies exactly once."""
