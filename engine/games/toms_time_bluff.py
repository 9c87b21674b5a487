"""Tom's Time Bluff, rules version 1. TB-n and section numbers are those of the rules of record.

Hidden: the draw pile, top first, and the play of the current turn: where its hidden card lies, what was laid directly
on it (o of 3.4; R and t are read off the card below), whether it is protected, and once challenged by whom and with
what outcome, which names the director of its vortex and the winner of the placement. Face-down cards are in the `own`
of the seats that laid them, sealed answers in that of the seats that gave them.
"""

from collections.abc import Hashable, Mapping
from typing import ClassVar

from engine.chance import Chance
from engine.game import Game, Move, Result, Step
from engine.games.toms_time_bluff_course import Course, RoundEnds, hideable, to_left
from engine.games.toms_time_bluff_words import (
    CARDS,
    COPIES,
    HAND,
    HIDE,
    HOURS,
    OPEN,
    PARTNER,
    PLACE,
    PLACES,
    SIDES,
    Accept,
    Accepted,
    Answered,
    Beam,
    Beamed,
    Challenge,
    Challenged,
    Decline,
    Declined,
    Direction,
    Draw,
    DrawInstead,
    Drew,
    EndTurn,
    HandsMoved,
    Hid,
    Hidden,
    Hide,
    HourNamed,
    NameHour,
    Open,
    Opened,
    Own,
    Partner,
    Partnered,
    Place,
    Placed,
    Replaced,
    RoundEnded,
    RoundStarted,
    Skipped,
    State,
    Table,
    TomsTimeBluffOptions,
    TookPile,
    Turned,
)

_DRAW_INSTEAD, _DRAW, _END_TURN, _DECLINE = DrawInstead(), Draw(), EndTurn(), Decline()
_CHALLENGE, _ACCEPT = Challenge(), Accept()


class TomsTimeBluff(Game[TomsTimeBluffOptions, State]):
    """The rules of Tom's Time Bluff."""

    name = "toms_time_bluff"
    seats = range(2, 7)
    titles: ClassVar[Mapping[str, str]] = {"de": "Tom's Time Bluff", "en": "Tom's Time Bluff"}
    options_type = TomsTimeBluffOptions
    moves = (
        *(Hide, DrawInstead, Open, Partner, Beam, Direction, NameHour, Draw, EndTurn),
        *(Challenge, Accept, Place, Decline),
    )
    events = (
        *(RoundStarted, Turned, Skipped, Hid, Opened, Partnered, Drew, Beamed, Answered, Challenged, Accepted),
        *(HandsMoved, Replaced, HourNamed, TookPile, Placed, Declined, RoundEnded),
    )
    cards = CARDS

    def count(self, code: str, seats: int) -> int:
        """3.2; partner cards are there unless the option leaves them out."""
        del seats
        return COPIES.get(code, 1)

    def setup(self, options: TomsTimeBluffOptions, seats: int, chance: Chance) -> Step[State]:
        """3.3; chance: pick(n), shuffle(deck), and one more shuffle if start cards were set aside."""
        deal = Course(chance)
        deal.deal(options, 1, chance.pick(seats), (0,) * seats, None)
        return deal.step()

    def legal(self, state: State, seat: int) -> list[Move]:
        """3.4 to 3.7 for the seats in `to_act`."""
        if state.result is not None or not _owes(state, seat):
            return []
        if state.phase == "challenge":
            return [_CHALLENGE, _ACCEPT]
        hand = tuple(dict.fromkeys(state.hands[seat]))
        match state.phase:
            case "hide":
                cards = hideable(state, seat)
                if not cards:
                    return [_DRAW_INSTEAD]
                return [HIDE[place][card] for place in PLACES if state.piles[place].cards for card in cards]
            case "open":
                moves: list[Move] = [way for card in hand for way in OPEN.get(card, ())]
                fitting = PARTNER[state.options.partner_match]
                partners = [fitting[card] for card in hand if card in fitting]
                return moves + [clocks[card] for clocks in partners for card in hand if card in clocks]
            case "beam":
                return [Beam(card, target) for card in hand for target in range(len(state.hands)) if target != seat]
            case "vortex":
                return [Direction(to) for to in SIDES]
            case "joker_hour":
                return [NameHour(hour) for hour in HOURS]
            case "draw":
                return [_DRAW, _END_TURN] if len(state.hands[seat]) < HAND else [_END_TURN]
            case "place":
                return [*[way for card in hand for way in PLACE.get(card, ())], _DECLINE]

    def allows(self, state: State, seat: int, move: Move) -> bool:
        """As `legal`; a card's own ways to be laid are few, those of a hand are not."""
        if state.result is not None or not _owes(state, seat):
            return False
        match move:
            case Hide(place=place, card=card):
                free = state.phase == "hide" and place in PLACES and state.piles[place].cards
                return bool(free) and card in hideable(state, seat)
            case Open(card=card):
                return state.phase == "open" and card in state.hands[seat] and move in OPEN.get(card, ())
            case Place(card=card):
                return state.phase == "place" and card in state.hands[seat] and move in PLACE.get(card, ())
            case Decline():
                return state.phase == "place"
        return move in self.legal(state, seat)

    def to_act(self, state: State) -> tuple[int, ...]:
        """Everybody else who has not answered while a window is open; otherwise one seat."""
        if state.result is not None:
            return ()
        if state.phase == "challenge":
            return tuple([seat for seat in range(len(state.hands)) if _owes(state, seat)])
        return (_actor(state),)

    def asked(self, state: State, seat: int) -> Hashable | None:
        """Section 5, `asked`; a seat that has answered is still asked the window."""
        if state.result is not None:
            return None
        if seat == state.turn or seat == _actor(state):
            return (state.phase, state.round, state.turn)
        return ("window", state.round, state.turn) if state.phase == "challenge" else None

    def apply(self, state: State, seat: int, move: Move, chance: Chance) -> Step[State]:
        """3.4 to 3.8."""
        course = Course(chance, state)
        try:
            course.make(seat, move)
        except RoundEnds as end:
            course.end_round(end.winner)
        return course.step()

    def default(self, state: State, seat: int) -> Move:
        """3.9."""
        match state.phase:
            case "beam":
                return Beam(state.hands[seat][0], to_left(state, seat))
            case "joker_hour":
                return NameHour(12)
            case "challenge":
                return _ACCEPT
            case "place":
                return _DECLINE
        return self.legal(state, seat)[0]

    def table(self, state: State) -> Table:
        """3.10, public."""
        return Table(
            state.round,
            state.dealer,
            state.turn,
            state.phase,
            state.piles,
            len(state.draw_pile),
            tuple(map(len, state.hands)),
            state.totals,
            state.skips,
            state.removed,
            tuple([seat for seat, answer in enumerate(state.answers) if answer is not None]),
            state.revealed,
            state.last_round,
        )

    def own(self, state: State, seat: int) -> Own:
        """3.10, the seat's hand, face-down cards (TB-33) and sealed answer."""
        return Own(state.hands[seat], state.laid[seat], state.answers[seat])

    def hidden(self, state: State) -> Hidden:
        """Draw pile and the play of the turn."""
        return Hidden(state.draw_pile, state.play)

    def result(self, state: State) -> Result | None:
        """3.8."""
        return state.result


def _actor(state: State) -> int:
    """The layer; the challenger as director of a vortex he revealed (TB-19) and as winner of his challenge."""
    play = state.play
    if play is None or play.challenger is None or (play.right and state.phase == "place"):
        return state.turn
    return play.challenger


def _owes(state: State, seat: int) -> bool:
    """Whether the seat's move is awaited; everybody else's answer while a window is open."""
    if state.phase == "challenge":
        return seat != state.turn and state.answers[seat] is None
    return seat == _actor(state)
