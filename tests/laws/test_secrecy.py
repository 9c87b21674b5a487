"""The law of secrecy: a seat's view is the same for all states that it cannot tell apart."""

import json
import random
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import pytest
from msgspec import Struct

from engine.game import Move, Told, encode
from engine.registry import AnyGame
from tests.laws.matches import GAMES, Case, Moment, cases, known, play, sample
from tests.laws.redeal import OPEN, PASSING, REDEALS, SEALED

CASES = cases(3)


def view(game: AnyGame, state: Struct, seat: int | None) -> tuple[Hashable, ...]:
    """All that a seat, or None for a spectator, is shown of a state."""
    public = (encode(game.table(state)), game.to_act(state), game.result(state))
    if seat is None:
        return public
    return (
        *public,
        encode(game.own(state, seat)),
        game.move_json.encode_list(game.legal(state, seat)),
        game.asked(state, seat),
        game.default(state, seat) if seat in game.to_act(state) else None,
    )


def told(game: AnyGame, events: tuple[Told, ...], seat: int | None) -> list[Any]:
    """What a seat is told, without what is public in passing, and cards drawn together in no order."""
    passing = PASSING.get(game.rules, set())
    return [
        (name, [(field, _unordered(value)) for field, value in event.items() if f"{name}.{field}" not in passing])
        for one in json.loads(game.event_json.encode_list(game.told(events, seat)))
        for name, event in one.items()
    ]


def _unordered(value: Any) -> Any:
    cards = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return sorted(value) if cards else value


def alike(game: AnyGame, moment: Moment, seat: int | None, twin: Any) -> list[Move]:
    """The moves that the mover may make in the twin and that the seat sees as it sees the moment's."""

    def seen(move: Move) -> Hashable:
        name = game.move_json.names[type(move)]
        look, fields = SEALED.get(game.rules, {}).get(name, (name, move.__struct_fields__))
        return (look, *(getattr(move, field) for field in fields))

    moves = game.legal(twin, moment.seat)
    if seat == moment.seat:
        return [move for move in moves if move == moment.move]
    return [move for move in moves if seen(move) == seen(moment.move)][:6]


def ends_round(game: AnyGame, moment: Moment) -> bool:
    """Whether a move made the table's `last_round` another one."""
    before, after = (getattr(game.table(state), "last_round", None) for state in (moment.state, moment.step.state))
    return bool(before != after)


def twins(case: Case, count: int) -> Iterator[tuple[Moment, int | None, Any]]:
    """Moments of a match, each with a seat and a state that this seat cannot tell from the moment's."""
    rng = random.Random(case.seed)
    redeal = REDEALS[case.game.rules]
    for moment in sample(case, count):
        for seat in (None, *range(case.seats)):
            yield moment, seat, redeal(moment.state, seat, rng)


@pytest.mark.parametrize("case", CASES)
def test_a_view_does_not_depend_on_cards_that_the_seat_cannot_see(case: Case):
    """Table, own, legal moves, who is to act, the question and the default stay when everything unseen is re-dealt."""
    for moment, seat, twin in twins(case, 40):
        assert view(case.game, twin, seat) == view(case.game, moment.state, seat)


@pytest.mark.parametrize("case", CASES)
def test_events_tell_no_more_than_the_views_do(case: Case):
    """A move after which a seat still cannot tell the two states apart was told to it in the same words.

    Not so if the move ends a round: what it uncovers is no longer in the view of the next one.
    """
    game, compared = case.game, 0
    for moment, seat, twin in twins(case, 60):
        if ends_round(game, moment):
            continue
        for move in alike(game, moment, seat, twin):
            step = game.apply(twin, moment.seat, move, case.chance(moment.version))
            if view(game, step.state, seat) == view(game, moment.step.state, seat):
                compared += 1
                assert told(game, step.events, seat) == told(game, moment.step.events, seat)
    assert compared


LONG = 6
"""So many entries on, whoever could tell hidden cards apart by their place, or know one again, has had time to."""


@GAMES
def test_hidden_cards_cannot_be_linked_over_time(game: AnyGame):
    """Two matches that part in nothing but hidden cards look the same to a seat, and to spectators, entry after entry,
    for as long as the moves look the same: no order, place or name of a hidden card tells it from another later on."""
    long = 0
    for case in (case for parameter in CASES for case in parameter.values if case.game is game):
        moments = list(play(case, 400))
        for start in range(0, len(moments), max(1, len(moments) // 12)):
            for seat in (None, *range(case.seats)):
                rng = random.Random(f"{case.seed} {start} {seat}")
                long += (
                    followed(case, moments[start:], seat, REDEALS[game.rules](moments[start].state, seat, rng)) >= LONG
                )
    assert long or not _secret(game), "some pairs can be followed for a while"


def followed(case: Case, moments: Sequence[Moment], seat: int | None, twin: Any) -> int:
    """Go on with a twin as a match went on, as long as the seat sees no difference; return for how many entries.

    Asserts at each that the seat was told the same.
    """
    game = case.game
    for count, moment in enumerate(moments):
        if ends_round(game, moment) or known(game, twin, case.seats) == known(game, moment.state, case.seats):
            return count
        for move in alike(game, moment, seat, twin):
            step = game.apply(twin, moment.seat, move, case.chance(moment.version))
            if view(game, step.state, seat) == view(game, moment.step.state, seat):
                assert told(game, step.events, seat) == told(game, moment.step.events, seat)
                twin = step.state
                break
        else:
            return count
    return len(moments)


@GAMES
def test_all_that_is_secret_is_re_dealt(game: AnyGame):
    """Each field of another seat's own part and of the hidden part comes out differently at some time."""
    assert game.rules in REDEALS, "a game needs a redeal, or nothing shows that it keeps its secrets"
    still = _secret(game)
    for case in (case for parameter in CASES for case in parameter.values if case.game is game):
        for moment, seat, twin in twins(case, 40):
            pairs = [("hidden", game.hidden(moment.state), game.hidden(twin))]
            pairs += [
                ("own", game.own(moment.state, other), game.own(twin, other))
                for other in range(case.seats)
                if other != seat
            ]
            for part, one, two in pairs:
                still -= {f"{part}.{name}" for name in _fields(one) if getattr(one, name) != getattr(two, name)}
            if not still:
                return
    raise AssertionError(f"never re-dealt: {sorted(still)}")


def _secret(game: AnyGame) -> set[str]:
    """The fields that somebody must not know; none in a game where everything lies open."""
    fields = {f"hidden.{name}" for name in _fields(game.hidden(_start(game)))}
    fields |= {f"own.{name}" for name in _fields(game.own(_start(game), 0))}
    return fields - OPEN.get(game.rules, set())


def _fields(value: Struct) -> tuple[str, ...]:
    return value.__struct_fields__


def _start(game: AnyGame) -> Any:
    return Case(game, game.seats[0], {}, game.rules).start().state
