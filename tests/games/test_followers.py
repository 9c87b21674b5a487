"""Whoever hears events alone knows the table: no client has to compare two tables to learn what an entry did.

A follower starts from the first view of a seat, or of a spectator, and then gets what that seat is told and nothing
else. Only what events do not carry is read from a view: newly dealt open cards, and hands uncovered at the end.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from engine.game import encode
from tests.laws.matches import Case, Moment, cases, play

Fields = dict[str, Any]


class Follower:
    """What one seat (None: a spectator) makes of the events it is told; a method an event."""

    def __init__(self, view: Fields, seats: int, seat: int | None) -> None:
        self.table, self.own, self.seats, self.seat = view["table"], view["own"], seats, seat

    def follow(self, events: list[Fields], view: Fields) -> None:
        """Take in what an entry did; `view` is the seat's view after it."""
        self.view = view
        for event in events:
            ((name, fields),) = event.items()
            getattr(self, name)(**fields)
        self.entry_ends()

    def entry_ends(self) -> None:
        """Do what is left to do when the last event of an entry is heard."""

    def left(self, seat: int) -> int:
        return (seat + 1) % self.seats

    def is_me(self, seat: int) -> bool:
        return seat == self.seat


class Bombenziehen(Follower):
    """Sections 3.3 to 3.6, seen from outside."""

    KINDS = ("peek", "dodge", "bottom", "shove", "steal", "shield", "shuffle", "dud", "cutter", "bomb")

    def hold(self, seat: int, count: int, card: str | None) -> None:
        self.table["hand_sizes"][seat] += count
        if self.is_me(seat):
            (self.own["hand"].append if count > 0 else self.own["hand"].remove)(card)
            self.own["hand"].sort(key=self.KINDS.index)

    def turn_to(self, seat: int, owed: int) -> None:
        self.table |= {"turn": seat, "owed": owed}

    def living_after(self, seat: int) -> int:
        seat = self.left(seat)
        return seat if self.table["alive"][seat] else self.living_after(seat)

    def pay(self, seat: int) -> None:
        self.table["owed"] -= 1
        if not self.table["owed"]:
            self.turn_to(self.living_after(seat), 1)

    def know(self, known: dict[int, str]) -> None:
        if self.own:
            self.own["known"] = [{"index": index, "card": known[index]} for index in sorted(known)]

    def known(self) -> dict[int, str]:
        return {entry["index"]: entry["card"] for entry in self.own["known"]} if self.own else {}

    def one_less(self, source: str) -> None:
        self.table["pile"] -= 1
        up = source == "top"
        known = {index - up: card for index, card in self.known().items()}
        self.know({index: card for index, card in known.items() if 0 <= index < self.table["pile"]})

    def played(self, seat: int, card: str, target: int | None, blocked: bool) -> None:
        self.hold(seat, -1, card)
        self.table["discard"].append(card)
        if blocked:
            self.table["shields"][target] = False
        if card == "shield":
            self.table["shields"][seat] = True
        elif card == "dodge":
            self.pay(seat)
        elif card == "shove":
            assert target == self.living_after(seat)
            self.turn_to(target, 1 if blocked else 2)

    def peeked(self, seat: int, cards: list[str]) -> None:
        assert bool(cards) == self.is_me(seat)
        self.know(self.known() | dict(enumerate(cards)))

    def stole(self, seat: int, target: int, card: str | None) -> None:
        self.hold(target, -1, card)
        self.hold(seat, 1, card)

    def drew(self, seat: int, source: str, card: str | None) -> None:
        self.one_less(source)
        self.hold(seat, 1, card)
        self.pay(seat)

    def bomb_drawn(self, seat: int, source: str, defused: bool) -> None:
        self.one_less(source)
        self.table["bombs"] -= 1
        if defused:
            self.hold(seat, -1, "cutter")
            self.table["discard"].append("cutter")
            self.table["phase"] = "place_bomb"

    def bomb_returned(self, seat: int, index: int | None) -> None:
        assert (index is not None) == self.is_me(seat)
        mine = (
            {at + (at >= index): card for at, card in self.known().items()} | {index: "bomb"}
            if index is not None
            else {}
        )
        self.know(mine)
        self.table["phase"] = "act"
        self.table["pile"] += 1
        self.table["bombs"] += 1
        self.pay(seat)

    def shuffled(self, seat: int) -> None:
        assert seat == self.table["turn"]
        self.know({})

    def eliminated(self, seat: int, cards: list[str]) -> None:
        for field, value in {"alive": False, "shields": False, "hand_sizes": 0}.items():
            self.table[field][seat] = value
        self.table["discard"] += cards
        self.table["out"].append(seat)
        if self.is_me(seat):
            self.own |= {"hand": [], "known": []}
        if sum(self.table["alive"]) > 1:
            self.turn_to(self.living_after(seat), 1)

    def won(self, seat: int) -> None:
        assert self.table["alive"][seat]
        self.table["owed"] = 0


class BluffingBillionaires(Follower):
    """Sections 3.3 to 3.5, seen from outside. Its own answer a seat knows by itself."""

    def game_started(self, game: int, start: int) -> None:
        fresh = {"game": game, "start": start, "turn": start, "hand_sizes": [10] * self.seats, "votes": []}
        piles = [{"known": [], "hidden": 0} for _ in range(self.seats)]
        self.table |= {**fresh, "on_table": [False] * self.seats, "revealed": [], "discards": piles}
        self.table["bonus"] = [{"cards": []} for _ in range(self.seats)]
        if self.own:
            self.own |= {"hand": [str(value) for value in range(1, 11)], "table_card": None, "discarded": []}

    def played(self, seat: int, card: str | None) -> None:
        table = self.table
        table["hand_sizes"][seat] -= 1
        table["on_table"][seat] = True
        if self.is_me(seat):
            self.own["hand"].remove(card)
            self.own["table_card"] = card
        voters = [other for other, lies in enumerate(table["on_table"]) if lies and other != seat]
        if table["hand_sizes"][seat] and voters:
            table |= {"phase": "vote", "voters": voters, "votes": [], "revealed": []}
        elif table["hand_sizes"][seat]:
            table["turn"] = self.left(seat)

    def discarded(self, seat: int, card: str | None) -> None:
        self.table["discards"][seat]["hidden"] += 1
        if self.is_me(seat):
            self.own["discarded"] = sorted([*self.own["discarded"], card], key=int)

    def voted(self, seat: int) -> None:
        self.table["answered"] = sorted([*self.table["answered"], seat])

    def votes_shown(self, votes: list[Fields]) -> None:
        assert [vote["seat"] for vote in votes] == self.table["voters"] == self.table["answered"]
        self.table |= {"votes": votes, "voters": [], "answered": [], "phase": "play"}
        self.table["turn"] = self.left(self.table["turn"])

    def revealed(self, cards: list[Fields]) -> None:
        self.table["revealed"] = cards
        for shown in cards:
            self.table["on_table"][shown["seat"]] = False
            self.keep(shown["seat"], [*self.table["discards"][shown["seat"]]["known"], shown["card"]])
            if self.is_me(shown["seat"]):
                assert self.own["table_card"] == shown["card"]
                self.own["table_card"] = None

    def keep(self, seat: int, cards: list[str]) -> None:
        self.table["discards"][seat]["known"] = sorted(cards, key=int)

    def compared(self, active: int, challenger: int, winner: int) -> None:
        worth = {shown["seat"]: int(shown["card"]) for shown in self.table["revealed"]}
        assert winner == (active if worth[active] > worth[challenger] else challenger)

    def took(self, winner: int, loser: int, card: str, source: str) -> None:
        self.table["bonus"][winner]["cards"].append({"card": card, "owner": loser})
        if source == "table":
            self.keep(loser, [other for other in self.table["discards"][loser]["known"] if other != card])
        else:
            self.table["hand_sizes"][loser] -= 1
            if self.is_me(loser):
                self.own["hand"].remove(card)

    def game_ended(self, game: int, scores: list[int], coins: list[int]) -> None:
        assert game == self.table["game"]
        for field, gained in (("points", scores), ("coins", coins)):
            self.table[field] = [total + won for total, won in zip(self.table[field], gained, strict=True)]
        hands = self.view["table"]["last_round"]["hands"]
        assert self.own is None or hands[self.seat]["cards"] == self.own["hand"]
        self.table["last_round"] = {"scores": scores, "coins": coins, "hands": hands}

    def entry_ends(self) -> None:
        if self.own:
            self.own["answer"] = self.view["own"]["answer"]
            assert (self.own["answer"] is not None) == (self.seat in self.table["answered"])


class CleverGedreht(Follower):
    """Section 3.3, seen from outside."""

    def __init__(self, view: Fields, seats: int, seat: int | None) -> None:
        super().__init__(view, seats, seat)
        self.discards = [self.table["top"]]
        self.turned: dict[int, str] = {}
        self.ending, self.over = False, False

    def round_started(self, dealer: int, top: str, **number: int) -> None:
        grids = self.view["table"]["grids"]
        assert all(all(grid["cards"]) for grid in grids)
        self.table |= {**number, "dealer": dealer, "grids": grids, "finisher": None, "turn": dealer}
        self.table["draw_pile"] = 109 - sum(len(grid["cards"]) for grid in grids)
        self.discards, self.turned, self.ending, self.over = [top], {}, True, False

    def lay(self, seat: int, slot: int, card: str | None, *, turned: bool) -> None:
        self.table["grids"][seat]["cards"][slot] = "" if turned else card
        if self.is_me(seat):
            self.turned.pop(slot, None)
            if turned:
                assert card is not None
                self.turned[slot] = card

    def hold(self, field: str, card: str | None) -> None:
        if field == "taken":
            self.table["taken"] = card
        elif self.own:
            self.own["drawn"] = card

    def turn_ends(self, *discards: str) -> None:
        self.discards += discards
        self.hold("taken", None)
        self.hold("drawn", None)
        self.ending = True

    def drew(self, seat: int, card: str | None) -> None:
        assert seat == self.table["turn"]
        self.table["draw_pile"] -= 1
        if card in ("flip", "swap"):
            self.discards.append(card)
            self.table["phase"] = card
        else:
            assert (card is not None) == self.is_me(seat)
            self.table["phase"] = "decide"
            self.hold("drawn", card)

    def took(self, seat: int, card: str) -> None:
        assert card == self.discards.pop()
        self.table["phase"] = "use"
        self.hold("taken", card)

    def used(self, seat: int, slot: int, face: str, replaced: str, card: str | None) -> None:
        assert self.table["grids"][seat]["cards"][slot] == replaced
        secret = face == "turned" and self.table["taken"] is None
        assert (card is None) == (secret and not self.is_me(seat))
        self.lay(seat, slot, card, turned=face == "turned")
        self.turn_ends(replaced)

    def rejected(self, seat: int, slot: int, card: str) -> None:
        self.lay(seat, slot, self.table["grids"][seat]["cards"][slot], turned=True)
        self.turn_ends(card)

    def flipped(self, seat: int, target: int, slot: int, card: str) -> None:
        assert not self.is_me(target) or self.turned[slot] == card
        self.lay(target, slot, card, turned=False)
        self.turn_ends()

    def swapped(self, seat: int, slot: int, target: int, other_slot: int, card: str, other_card: str) -> None:
        assert self.table["grids"][seat]["cards"][slot] == card
        assert self.table["grids"][target]["cards"][other_slot] == other_card
        self.lay(seat, slot, other_card, turned=False)
        self.lay(target, other_slot, card, turned=False)
        self.turn_ends()

    def fizzled(self, seat: int, card: str) -> None:
        assert self.discards[-1] == card
        self.table["phase"] = "source"
        self.turn_ends()

    def reshuffled(self, count: int) -> None:
        assert self.table["draw_pile"] == 0
        assert count == len(self.discards) - 1
        self.discards = self.discards[-1:]
        self.table["draw_pile"] = count

    def last_lap(self, seat: int) -> None:
        assert not any(self.table["grids"][seat]["cards"])
        self.table["finisher"] = seat

    def round_ended(self, scores: list[int], **number: int) -> None:
        assert number == {"round": self.table["round"]}
        self.table["totals"] = [total + won for total, won in zip(self.table["totals"], scores, strict=True)]
        last = self.view["table"]["last_round"]
        for grid, hand in zip(self.table["grids"], last["hands"], strict=True):
            assert all(card in ("", whole) for card, whole in zip(grid["cards"], hand["cards"], strict=True))
        self.table["last_round"] = {"scores": scores, "hands": last["hands"]}
        self.over = True

    def entry_ends(self) -> None:
        if self.ending and not self.over:
            self.table |= {"turn": self.left(self.table["turn"]), "phase": "source"}
        self.ending = False
        self.table |= {"top": self.discards[-1] if self.discards else None, "discard_pile": len(self.discards)}
        if self.own:
            self.own["turned"] = [{"slot": slot, "card": self.turned[slot]} for slot in sorted(self.turned)]


FOLLOWERS: dict[str, type[Follower]] = {
    "bombenziehen/1": Bombenziehen,
    "bluffing_billionaires/1": BluffingBillionaires,
    "clever_gedreht/1": CleverGedreht,
}


def view(case: Case, state: Any, seat: int | None) -> Fields:
    """Return table and own of a seat as a client reads them."""
    own = None if seat is None else case.game.own(state, seat)
    return json.loads(encode({"table": case.game.table(state), "own": own}))


def told(case: Case, events: Any, seat: int | None) -> list[Fields]:
    return json.loads(case.game.event_json.encode_list(case.game.told(events, seat)))


CASES = [case for case in cases(4) if case.values[0].game.rules in FOLLOWERS]


def first_moves(case: Case, entries: int) -> Iterator[Moment]:
    """Play the first legal move again and again; in Clever gedreht no card is ever turned so, and the pile runs out."""
    game, state = case.game, case.start().state
    for version in range(1, entries + 1):
        if not (owing := game.to_act(state)):
            return
        move = game.legal(state, owing[0])[0]
        step = game.apply(state, owing[0], move, case.chance(version))
        yield Moment(version, state, owing[0], move, step)
        state = step.state


def follow(case: Case, moments: Iterable[Moment]) -> Counter[str]:
    """Let every seat and a spectator follow a match, and assert that they keep up; return how often events came."""
    start, heard = case.start().state, Counter[str]()
    kind = FOLLOWERS[case.game.rules]
    places = (None, *range(case.seats))
    followers = {seat: kind(view(case, start, seat), case.seats, seat) for seat in places}
    for moment in moments:
        for seat, follower in followers.items():
            events = told(case, moment.step.events, seat)
            follower.follow(events, view(case, moment.step.state, seat))
            assert {"table": follower.table, "own": follower.own} == view(case, moment.step.state, seat)
        heard.update(name for event in events for name in event)
    return heard


@pytest.mark.parametrize("case", CASES)
def test_events_alone_keep_table_and_own_part_up_to_date(case: Case):
    """rules/README, Events: for every seat and for spectators, entry after entry to the end of the match."""
    assert follow(case, play(case, 1200))


def test_a_draw_pile_that_runs_out_twice_is_told():
    """Clever gedreht, 3.3: the discards but the top one become the pile; random play seldom gets there."""
    (case,) = next(case for case in CASES if case.values[0].game.name == "clever_gedreht").values
    assert follow(case, first_moves(case, 500))["reshuffled"] == 2
