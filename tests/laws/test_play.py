"""Laws of play: a match goes on until it has a result, by its legal moves and by nothing else."""

import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from engine.refusals import IllegalMove, MalformedMove
from tests.laws.matches import ENTRIES, Case, cases, known, play, sample


@pytest.mark.parametrize("case", cases(4))
def test_random_play_ends_the_match(case: Case):
    """Somebody owes a move until there is a result; from then on nobody does, and nobody has a legal one."""
    game, entries, state = case.game, 0, case.start().state
    for moment in play(case):
        entries, state = moment.version, moment.step.state
        assert (game.result(state) is None) == bool(game.to_act(state))
    assert entries < ENTRIES, "the match did not end"
    result = game.result(state)
    assert result is not None
    assert len(result.scores) == case.seats
    assert result.winners
    assert list(result.winners) == sorted(set(result.winners) & set(range(case.seats)))
    assert [game.legal(state, seat) for seat in range(case.seats)] == [[]] * case.seats
    assert [game.asked(state, seat) for seat in range(case.seats)] == [None] * case.seats


@pytest.mark.parametrize("case", cases(2))
def test_the_clock_alone_ends_the_match(case: Case):
    """A match in which everybody times out has a result all the same."""
    game, state = case.game, case.start().state
    for version in range(1, ENTRIES):
        owing = game.to_act(state)
        if not owing:
            break
        seat = owing[version % len(owing)]
        state = game.apply(state, seat, game.default(state, seat), case.chance(version)).state
    assert game.result(state) is not None


@pytest.mark.parametrize("case", cases(3))
def test_who_owes_a_move_is_asked_and_has_a_legal_default(case: Case):
    """The seats of `to_act` ascend, each of them is asked something, and its default is one of its legal moves.

    Who is asked nothing has no legal move.
    """
    game = case.game
    for moment in play(case, 400):
        owing = game.to_act(moment.state)
        assert list(owing) == sorted(set(owing) & set(range(case.seats)))
        for seat in range(case.seats):
            assert game.asked(moment.state, seat) is not None or game.legal(moment.state, seat) == []
        for seat in owing:
            assert game.asked(moment.state, seat) is not None
            assert game.default(moment.state, seat) in game.legal(moment.state, seat)


@pytest.mark.parametrize("case", cases(2))
def test_who_is_out_is_not_asked_again(case: Case):
    """A seat of `out` stays there to the end of the match, owes nothing and has nothing to choose from."""
    game, before = case.game, set()
    for moment in play(case):
        out = set(game.out(moment.step.state))
        assert before <= out <= set(range(case.seats))
        assert not out & set(game.to_act(moment.step.state))
        for seat in out:
            assert game.asked(moment.step.state, seat) is None
            assert game.legal(moment.step.state, seat) == []
        before = out


@pytest.mark.parametrize("case", cases(2))
def test_a_move_leaves_the_state_before_it_as_it_was(case: Case):
    """What a state shows and hides is the same before and after the move that follows it."""
    recorded = known(case.game, case.start().state, case.seats)
    for moment in play(case, 300):
        assert known(case.game, moment.state, case.seats) == recorded
        recorded = known(case.game, moment.step.state, case.seats)


@pytest.mark.parametrize("case", cases(3))
def test_every_legal_move_applies(case: Case):
    """A move among `legal` passes the check, comes back from its own JSON, and gives another state."""
    game = case.game
    for moment in sample(case, 25):
        for seat in range(case.seats):
            moves = game.legal(moment.state, seat)
            for move in random.Random(moment.version).sample(moves, min(len(moves), 15)):
                assert game.move_json.decode(game.move_json.encode(move)) == move
                game.check(moment.state, seat, move)
                after = game.apply(moment.state, seat, move, case.chance(moment.version)).state
                assert after != moment.state


@pytest.mark.parametrize("case", cases(3))
def test_a_state_is_a_value(case: Case):
    """Frozen structs and tuples all the way down: nothing of a state can change, and it can be hashed."""
    for moment in sample(case, 10):
        hash(moment.step.state)
        assert set(_mutable(moment.step.state)) == set()


def _mutable(value: object) -> Iterator[str]:
    if isinstance(value, Struct):
        if not value.__struct_config__.frozen:
            yield type(value).__name__
        value = tuple(getattr(value, name) for name in value.__struct_fields__)
    if isinstance(value, tuple):
        for item in value:
            yield from _mutable(item)
    elif value is not None and not isinstance(value, int | str | msgspec.UnsetType):
        yield type(value).__name__


@pytest.mark.parametrize("case", cases(2))
def test_a_move_that_is_not_among_the_legal_ones_is_refused(case: Case):
    """Any move of the match but the seat's legal ones is illegal for it, whoever had it and whenever."""
    game, rng = case.game, random.Random(case.seed)
    moments = sample(case, 40)
    seen = {move for moment in moments for seat in range(case.seats) for move in game.legal(moment.state, seat)}
    universe = sorted(seen, key=repr)
    for moment in moments:
        before = known(game, moment.state, case.seats)
        for seat in range(case.seats):
            legal = game.legal(moment.state, seat)
            for move in rng.sample(universe, min(len(universe), 20)):
                if move not in legal:
                    with pytest.raises(IllegalMove):
                        game.check(moment.state, seat, move)
        assert known(game, moment.state, case.seats) == before


@pytest.mark.parametrize("case", cases(2))
def test_what_is_allowed_is_what_is_legal(case: Case):
    """Of all moves that anybody had in the match exactly those of the seat's list are allowed, whoever is to act."""
    game = case.game
    moments = sample(case, 200)
    universe = {move for moment in moments for seat in range(case.seats) for move in game.legal(moment.state, seat)}
    for moment in moments:
        for seat in range(case.seats):
            assert {move for move in universe if game.allows(moment.state, seat, move)} == set(
                game.legal(moment.state, seat)
            )


@pytest.mark.parametrize("case", cases(2))
def test_a_mutilated_move_is_refused(case: Case):
    """Whatever is done to a legal move, it becomes another legal move, an illegal one or no move at all."""
    game, rng = case.game, random.Random(case.seed)
    refused = 0
    for moment in sample(case, 30):
        before = known(game, moment.state, case.seats)
        legal = game.legal(moment.state, moment.seat)
        for mutant in _mutants(msgspec.json.decode(game.move_json.encode(moment.move)), game, rng):
            try:
                move = game.move_json.convert(mutant)
                assert game.move_json.decode(msgspec.json.encode(mutant)) == move
                game.check(moment.state, moment.seat, move)
            except (IllegalMove, MalformedMove):
                refused += 1
            else:
                assert move in legal
                assert msgspec.json.decode(game.move_json.encode(move)) == mutant
        assert known(game, moment.state, case.seats) == before
    assert refused


@pytest.mark.parametrize("case", cases(2))
def test_a_refusal_says_what_is_wrong(case: Case):
    """Malformed: an unknown name, a missing, surplus or ill-typed field. A value that nothing has is illegal."""
    game = case.game
    for moment in sample(case, 60):
        legal = game.legal(moment.state, moment.seat)
        ((name, fields),) = msgspec.json.decode(game.move_json.encode(moment.move)).items()
        required = {field.name for field in msgspec.structs.fields(type(moment.move)) if field.required}
        for shape in ({f"{name}s": fields}, {name: {**fields, "surplus": 1}}):
            with pytest.raises(MalformedMove):
                game.move_json.convert(shape)
        for field, value in fields.items():
            for wrong in (None, [value], {"value": value}, *((1,) if isinstance(value, str) else ("1",))):
                with pytest.raises(MalformedMove):
                    game.move_json.convert({name: {**fields, field: wrong}})
            if field in required:
                with pytest.raises(MalformedMove):
                    game.move_json.convert({name: {key: fields[key] for key in fields if key != field}})
            other = not value if isinstance(value, bool) else "nothing" if isinstance(value, str) else 10**9
            move = game.move_json.convert({name: {**fields, field: other}})
            assert move not in legal
            with pytest.raises(IllegalMove):
                game.check(moment.state, moment.seat, move)


def _mutants(move: dict[str, dict[str, Any]], game: Any, rng: random.Random) -> Iterator[Any]:
    """The JSON of a move, changed in all the ways in which a client may get it wrong."""
    ((name, fields),) = move.items()
    yield {}
    yield []
    yield name
    yield None
    yield {name: None}
    yield {name: []}
    yield {name.upper(): fields}
    yield {f"{name}_": fields}
    yield {name: {**fields, "surplus": 1}}
    yield {name: fields, "surplus": {}}
    for other in game.move_json.names.values():
        yield {other: fields}
        if other != name:
            yield {name: fields, other: {}}
    values = (
        None,
        True,
        False,
        -1,
        0,
        1,
        2,
        9,
        10**30,
        1.0,
        "",
        "x",
        [],
        {},
        *(card.code for card in rng.sample(game.cards, min(1, len(game.cards)))),
    )
    for field, value in fields.items():
        yield {name: {key: fields[key] for key in fields if key != field}}
        for wrong in (*values, str(value), [value], {"value": value}):
            yield {name: {**fields, field: wrong}}
    for kind, other in game.move_json.names.items():
        if other == name:
            for absent in set(kind.__struct_fields__) - fields.keys():
                for wrong in values:
                    yield {name: {**fields, absent: wrong}}
