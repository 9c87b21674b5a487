"""What the rules of all games share."""

import pytest
from msgspec import Struct
from msgspec.structs import replace

from engine.chance import Stream
from engine.game import Event, Whispered
from engine.vocabulary import Transition, added, dealt, ordered, put, without


class Count(Struct, frozen=True):
    """A state."""

    number: int = 0


class Drew(Event, frozen=True):
    """An event with two open fields and a private one."""

    seat: int
    count: int
    cards: tuple[str, ...] = ()


class Hid(Event, frozen=True):
    """An event with one open field and a private one."""

    seat: int
    card: str | None = None


class Said(Event, frozen=True):
    """An event that everybody may know."""

    seat: int


def begun(number: int = 0) -> Transition[Count]:
    return Transition(Stream(b"", "game", 1), Count(number))


def test_one_value_is_replaced_and_the_others_stay():
    assert put((1, 2, 3), 1, 9) == (1, 9, 3)


def test_one_copy_of_a_card_goes():
    assert without(("a", "b", "a", "c"), "a") == ("b", "a", "c")


def test_cards_are_ordered_canonically_and_keep_their_copies():
    assert ordered(("b", "a", "b", "c"), {"c": 0, "b": 1, "a": 2}) == ("c", "b", "b", "a")


def test_cards_are_dealt_one_at_a_time_from_the_first_seat_on():
    assert dealt("abcdefgh", 3, 2, first=2) == (("b", "e"), ("c", "f"), ("a", "d"))


def test_scores_are_added_seat_by_seat():
    assert added((10, 0), (1, 2)) == (11, 2)


def test_a_whisper_leaves_its_private_fields_out_for_everybody_else():
    course = begun()
    course.whisper(Drew(1, 2, ("a", "b")), 1)
    course.whisper(Hid(0, "a"), 0, 2)
    assert course.step().events == (
        Whispered(Drew(1, 2, ()), (1,), Drew(1, 2, ("a", "b"))),
        Whispered(Hid(0, None), (0, 2), Hid(0, "a")),
    )


def test_what_has_no_private_field_is_not_whispered():
    with pytest.raises(AssertionError, match="Said has no private field"):
        begun().whisper(Said(0), 0)


def test_a_step_has_the_state_come_to_and_what_was_told_in_order():
    course = begun(1)
    course.tell(Said(2))
    course.state = replace(course.state, number=5)
    course.tell(Said(1))
    assert course.step() == (Count(5), (Said(2), Said(1)))


def test_transitions_share_nothing():
    first, second = begun(), begun()
    first.tell(Said(0))
    assert second.step().events == ()
