"""Tom's Time Bluff: what the deal and the moves do (3.3 to 3.8), each up to the next decision."""

from collections.abc import Callable

from msgspec.structs import replace

from engine.game import Cards, Move, Result
from engine.games.toms_time_bluff_words import (
    CODES,
    DECKS,
    HAND,
    HOUR,
    OPENABLE,
    ORDER,
    PLACES,
    VALUE,
    Accept,
    Accepted,
    Answer,
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
    Entry,
    HandsMoved,
    Hid,
    Hide,
    HourNamed,
    Laid,
    LastRound,
    NameHour,
    Open,
    Opened,
    Partner,
    Partnered,
    Pile,
    Place,
    Placed,
    Play,
    Reason,
    Replaced,
    RoundEnded,
    RoundStarted,
    Skipped,
    State,
    TomsTimeBluffOptions,
    TookPile,
    Turned,
)
from engine.vocabulary import Transition, added, dealt, ordered, put, without


class RoundEnds(Exception):
    """Cuts a move short: the round is over, won by nobody when a draw was impossible (TB-14)."""

    def __init__(self, winner: int | None = None) -> None:
        super().__init__()
        self.winner = winner


def to_left(state: State, seat: int) -> int:
    return (seat + 1) % len(state.hands)


def _play(state: State) -> Play:
    """The play of the turn, which begins with `hide`."""
    assert state.play is not None
    return state.play


def hideable(state: State, seat: int) -> tuple[str, ...]:
    """TB-11, TB-12: the cards that may go face down so that another one can lie open."""
    hand = state.hands[seat]
    if len(hand) == 1:
        return hand
    openable = [card for card in hand if card in OPENABLE]
    if not openable:
        return ()
    cards = tuple(dict.fromkeys(hand))
    return cards if len(openable) > 1 else tuple([card for card in cards if card != openable[0]])


def _right(card: str, below: Entry, over: str | None) -> bool:
    """3.6: whether the hidden card is right between the card below (t) and the one laid on it (o); TB-8, TB-9."""
    if card == "joker":
        return "joker" not in (below.card, over)
    if card == "vortex":
        return over != "joker"
    due = (below.hour or HOUR[below.card or ""]) % 12 + 1
    return HOUR.get(card) == due


def _turn_up(
    pile: tuple[str, ...], wanted: Callable[[str], bool]
) -> tuple[str | None, tuple[str, ...], tuple[str, ...]]:
    """The first wanted card, those set aside before it and the rest; None if the pile runs out."""
    for index, card in enumerate(pile):
        if wanted(card):
            return card, pile[:index], pile[index + 1 :]
    return None, pile, ()


def _given(hands: tuple[tuple[str, ...], ...], seat: int, cards: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The hands with these cards in one of them."""
    return put(hands, seat, ordered((*hands[seat], *cards), ORDER))


class Course(Transition[State]):
    """A move up to the next decision. Whatever ends the round raises RoundEnds."""

    def deal(
        self, options: TomsTimeBluffOptions, number: int, dealer: int, totals: tuple[int, ...], last: LastRound | None
    ) -> None:
        """3.3, steps 2 to 6; the longest run of other cards cannot empty the pile."""
        n = len(totals)
        deck = self.chance.shuffle(DECKS[options.partner_cards])
        first = (dealer + 1) % n
        self.tell(RoundStarted(number, dealer))
        pile = deck[HAND * n :]
        piles: tuple[Pile, ...] = ()
        all_aside: tuple[str, ...] = ()
        for place in PLACES:
            card, aside, pile = _turn_up(pile, HOUR.__contains__)  # TB-6
            assert card is not None
            self.tell(Turned(place, card, aside))
            piles, all_aside = (*piles, Pile((Entry(card),))), all_aside + aside
        self.state = State(
            options=options,
            round=number,
            dealer=dealer,
            turn=first,
            phase="hide",
            piles=piles,
            draw_pile=self.shuffled_in(pile, all_aside),
            hands=tuple(ordered(hand, ORDER) for hand in dealt(deck, n, HAND, first)),
            laid=((),) * n,
            answers=(None,) * n,
            totals=totals,
            skips=(False,) * n,
            last_round=last,
        )

    def shuffled_in(self, pile: tuple[str, ...], aside: tuple[str, ...]) -> tuple[str, ...]:
        return self.chance.shuffle((*pile, *aside)) if aside else pile

    def make(self, seat: int, move: Move) -> None:
        """3.4 to 3.7."""
        state = self.state
        match move:
            case Challenge():
                self.answer(seat, "challenge")
            case Accept():
                self.answer(seat, "accept")
            case Hide(place=place, card=card):
                self.hide(seat, place, card)
            case Open(card=card, hour=hour):
                self.tell(Opened(seat, _play(state).place, card, hour or None))
                self.lay(seat, Entry(card, hour or None, seat))
                if card == "vortex":
                    self.state = replace(self.state, phase="vortex")
                else:
                    self.draw_step()
            case Partner(partner=partner, clock=clock):
                self.tell(Partnered(seat, _play(state).place, partner, clock))
                self.lay(seat, Entry(partner, None, seat), Entry(clock, None, seat))
                self.help(seat, partner)
            case Beam(card=card, target=target):
                self.whisper(Beamed(seat, target, card), seat, target)
                hands = put(state.hands, seat, without(state.hands[seat], card))
                self.state = replace(self.state, hands=_given(hands, target, (card,)))
                self.draw_step()
            case Direction(to=to):
                self.move_hands(seat, to)
            case NameHour(hour=hour):
                place = _play(state).place
                self.tell(HourNamed(seat, place, hour))
                pile = state.piles[place].cards
                self.state = replace(
                    self.state, piles=put(state.piles, place, Pile((*pile[:-1], replace(pile[-1], hour=hour))))
                )
                self.draw_step()
            case DrawInstead():
                self.draw(seat, 1, "instead")  # TB-12
                if not hideable(self.state, seat):
                    self.begin(to_left(state, seat))
            case Draw():
                self.draw(seat, 1, "turn")
                self.finish()
            case EndTurn():
                if len(state.hands[seat]) < HAND:
                    self.draw(seat, 2, "forgot")
                self.finish()
            case Place(card=card, hour=hour):
                self.tell(Placed(seat, _play(state).place, card, hour or None))
                self.lay(seat, Entry(card, hour or None, seat))
                if not self.state.hands[seat]:  # TB-18
                    raise RoundEnds(seat)
                self.begin(to_left(state, state.turn))
            case Decline():
                self.tell(Declined(seat))
                self.begin(to_left(state, state.turn))  # TB-32

    def begin(self, seat: int) -> None:
        """3.4, Begin."""
        skips = self.state.skips
        while skips[seat]:  # TB-22
            self.tell(Skipped(seat))
            skips, seat = put(skips, seat, False), to_left(self.state, seat)
        self.state = replace(self.state, turn=seat, phase="hide", skips=skips, play=None, revealed=None)
        if any(pile.cards for pile in self.state.piles):
            return
        card, aside, rest = _turn_up(self.state.draw_pile, HOUR.__contains__)  # TB-17
        if card is None:
            raise RoundEnds
        self.tell(Turned(0, card, aside))
        piles = put(self.state.piles, 0, Pile((Entry(card),)))
        self.state = replace(self.state, piles=piles, draw_pile=self.shuffled_in(rest, aside))

    def hide(self, seat: int, place: int, card: str) -> None:
        """3.4, HIDE."""
        self.whisper(Hid(seat, place, card), seat)
        state = self.state
        pile, hand = state.piles[place].cards, without(state.hands[seat], card)
        self.state = replace(
            self.state,
            phase="open",
            piles=put(state.piles, place, Pile((*pile, Entry(None, None, seat)))),
            hands=put(state.hands, seat, hand),
            laid=put(state.laid, seat, tuple(sorted((*state.laid[seat], Laid(place, len(pile), card))))),
            play=Play(place, len(pile)),
        )
        if not hand:
            self.draw_step()

    def lay(self, seat: int, *entries: Entry) -> None:
        """Hand cards openly onto the place of the play; the first one is o of 3.4."""
        state, play = self.state, _play(self.state)
        hand = state.hands[seat]
        for entry in entries:
            hand = without(hand, entry.card or "")
        self.state = replace(
            self.state,
            piles=put(state.piles, play.place, Pile((*state.piles[play.place].cards, *entries))),
            hands=put(state.hands, seat, hand),
            play=replace(play, over=entries[0].card),
        )

    def help(self, seat: int, partner: str) -> None:
        """3.4, step 1 (TB-16), and the draw step unless a card is to be beamed first."""
        state = self.state
        left, n, holds = to_left(state, seat), len(state.hands), bool(state.hands[seat])
        match partner:
            case "kaputt" if holds:  # TB-23
                for step in range(1, n):
                    self.draw((seat + step) % n, 1, "kaputt")
            case "snooze":
                self.state = replace(self.state, skips=put(state.skips, left, True))
                if holds:
                    self.draw(left, 1, "snooze")
            case "beam" if holds:  # TB-24
                self.state = replace(self.state, phase="beam")
                return
            case "jungle":  # TB-25
                self.state = replace(self.state, play=replace(_play(state), protected=True))
        self.draw_step()

    def draw(self, seat: int, count: int, reason: Reason) -> None:
        """So many cards into the seat's hand; the round ends if the pile has fewer (TB-14)."""
        pile = self.state.draw_pile
        cards = pile[:count]
        if cards:
            self.whisper(Drew(seat, len(cards), reason, cards), seat)
            self.state = replace(self.state, draw_pile=pile[count:], hands=_given(self.state.hands, seat, cards))
        if len(cards) < count:
            raise RoundEnds

    def draw_step(self) -> None:
        """3.5 (TB-13)."""
        seat = self.state.turn
        size = len(self.state.hands[seat])
        if 0 < size < HAND and not self.state.draw_pile:
            raise RoundEnds
        if size and self.state.options.manual_draw:
            self.state = replace(self.state, phase="draw")
            return
        if 0 < size < HAND:
            self.draw(seat, 1, "turn")
        self.finish()

    def finish(self) -> None:
        """3.4, step 4."""
        if _play(self.state).protected:
            self.pass_on()
        else:
            self.state = replace(self.state, phase="challenge")

    def pass_on(self) -> None:
        """The play stands: the layer has won or the turn passes."""
        layer = self.state.turn
        if not self.state.hands[layer]:
            raise RoundEnds(layer)
        self.begin(to_left(self.state, layer))

    def answer(self, seat: int, word: Answer) -> None:
        """3.6: one sealed answer; the window closes as soon as the outcome is certain (TB-15)."""
        self.tell(Answered(seat))
        n, answers = len(self.state.hands), put(self.state.answers, seat, word)
        for step in range(1, n):
            first = (self.state.turn + step) % n
            if answers[first] is None:
                self.state = replace(self.state, answers=answers)
                return
            if answers[first] == "challenge":
                self.state = replace(self.state, answers=(None,) * n)
                self.challenge(first)
                return
        self.state = replace(self.state, answers=(None,) * n)
        self.tell(Accepted(_play(self.state).place))
        self.pass_on()

    def challenge(self, challenger: int) -> None:
        """3.6, with a challenger."""
        state, play = self.state, _play(self.state)
        layer, pile = state.turn, state.piles[play.place].cards
        hidden = next(laid for laid in state.laid[layer] if (laid.place, laid.index) == (play.place, play.index))
        card = hidden.card
        right = _right(card, pile[play.index - 1], play.over)
        self.tell(Challenged(challenger, play.place, card, right))
        self.state = replace(
            self.state,
            piles=put(state.piles, play.place, Pile(put(pile, play.index, Entry(card, None, layer)))),
            laid=put(state.laid, layer, tuple([laid for laid in state.laid[layer] if laid is not hidden])),
            revealed=card,
            play=replace(play, challenger=challenger, right=right),
        )
        if right and not state.hands[layer]:  # TB-26, TB-28
            self.take_pile(challenger)
            raise RoundEnds(layer)
        if card == "vortex":
            self.state = replace(self.state, phase="vortex")
        else:
            self.lose()

    def lose(self) -> None:
        """3.6, steps 3 and 4: the loser takes the pile, the other may place a card."""
        play = _play(self.state)
        assert play.challenger is not None
        self.take_pile(play.challenger if play.right else self.state.turn)
        self.state = replace(self.state, phase="place")

    def take_pile(self, seat: int) -> None:
        """The pile of the play into a hand: open cards and everybody's face-down ones."""
        state, place = self.state, _play(self.state).place
        down = [laid.card for own in state.laid for laid in own if laid.place == place]
        cards = ordered([*down, *(entry.card for entry in state.piles[place].cards if entry.card)], ORDER)
        self.whisper(TookPile(seat, place, len(cards), cards), seat)
        self.state = replace(
            self.state,
            piles=put(state.piles, place, Pile()),
            hands=_given(state.hands, seat, cards),
            laid=tuple([tuple([laid for laid in own if laid.place != place]) for own in state.laid]),
        )

    def move_hands(self, director: int, to: str) -> None:
        """3.7 (TB-20): the hands move, then the vortex is replaced."""
        self.tell(HandsMoved(director, to))
        state, play = self.state, _play(self.state)
        hands = state.hands[-1:] + state.hands[:-1] if to == "left" else state.hands[1:] + state.hands[:1]
        self.state = replace(self.state, hands=hands)
        if () in hands:  # TB-27, TB-29
            raise RoundEnds(hands.index(()))
        hidden = play.challenger is not None
        pile = state.piles[play.place].cards
        index = play.index if hidden else len(pile) - 1
        wanted = CODES.__contains__ if hidden else OPENABLE.__contains__  # TB-21
        card, aside, rest = _turn_up(state.draw_pile, wanted)
        if card is None:
            raise RoundEnds
        self.tell(Replaced(play.place, index, card, aside))
        self.state = replace(
            self.state,
            piles=put(state.piles, play.place, Pile(put(pile, index, Entry(card)))),
            draw_pile=self.shuffled_in(rest, aside),
            removed=state.removed + 1,
        )
        if card == "vortex":
            return
        if hidden:
            self.lose()
        elif card == "joker":
            self.state = replace(self.state, phase="joker_hour")
        else:
            self.draw_step()

    def end_round(self, winner: int | None) -> None:
        """3.8 (TB-31)."""
        state = self.state
        scores = tuple(sum(VALUE[card] for card in hand) for hand in state.hands)
        totals = added(state.totals, scores)
        last = LastRound(scores, tuple(map(Cards, state.hands)), state.revealed)
        self.tell(RoundEnded(winner, scores))
        if max(totals) >= state.options.target:
            winners = tuple(seat for seat, total in enumerate(totals) if total == min(totals))
            self.state = replace(self.state, totals=totals, last_round=last, result=Result(totals, winners))
        else:
            self.deal(state.options, state.round + 1, to_left(state, state.dealer), totals, last)  # TB-5
