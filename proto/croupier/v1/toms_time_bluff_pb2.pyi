from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TomsTimeBluffOptions(_message.Message):
    __slots__ = ("partner_cards", "partner_match", "target", "manual_draw")
    PARTNER_CARDS_FIELD_NUMBER: _ClassVar[int]
    PARTNER_MATCH_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    MANUAL_DRAW_FIELD_NUMBER: _ClassVar[int]
    partner_cards: bool
    partner_match: str
    target: int
    manual_draw: bool
    def __init__(self, partner_cards: bool = ..., partner_match: _Optional[str] = ..., target: _Optional[int] = ..., manual_draw: bool = ...) -> None: ...

class TomsTimeBluffMove(_message.Message):
    __slots__ = ("hide", "draw_instead", "open", "partner", "beam", "direction", "name_hour", "draw", "end_turn", "challenge", "accept", "place", "decline")
    HIDE_FIELD_NUMBER: _ClassVar[int]
    DRAW_INSTEAD_FIELD_NUMBER: _ClassVar[int]
    OPEN_FIELD_NUMBER: _ClassVar[int]
    PARTNER_FIELD_NUMBER: _ClassVar[int]
    BEAM_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    NAME_HOUR_FIELD_NUMBER: _ClassVar[int]
    DRAW_FIELD_NUMBER: _ClassVar[int]
    END_TURN_FIELD_NUMBER: _ClassVar[int]
    CHALLENGE_FIELD_NUMBER: _ClassVar[int]
    ACCEPT_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    DECLINE_FIELD_NUMBER: _ClassVar[int]
    hide: TomsTimeBluffHide
    draw_instead: TomsTimeBluffDrawInstead
    open: TomsTimeBluffOpen
    partner: TomsTimeBluffPartner
    beam: TomsTimeBluffBeam
    direction: TomsTimeBluffDirection
    name_hour: TomsTimeBluffNameHour
    draw: TomsTimeBluffDraw
    end_turn: TomsTimeBluffEndTurn
    challenge: TomsTimeBluffChallenge
    accept: TomsTimeBluffAccept
    place: TomsTimeBluffPlace
    decline: TomsTimeBluffDecline
    def __init__(self, hide: _Optional[_Union[TomsTimeBluffHide, _Mapping]] = ..., draw_instead: _Optional[_Union[TomsTimeBluffDrawInstead, _Mapping]] = ..., open: _Optional[_Union[TomsTimeBluffOpen, _Mapping]] = ..., partner: _Optional[_Union[TomsTimeBluffPartner, _Mapping]] = ..., beam: _Optional[_Union[TomsTimeBluffBeam, _Mapping]] = ..., direction: _Optional[_Union[TomsTimeBluffDirection, _Mapping]] = ..., name_hour: _Optional[_Union[TomsTimeBluffNameHour, _Mapping]] = ..., draw: _Optional[_Union[TomsTimeBluffDraw, _Mapping]] = ..., end_turn: _Optional[_Union[TomsTimeBluffEndTurn, _Mapping]] = ..., challenge: _Optional[_Union[TomsTimeBluffChallenge, _Mapping]] = ..., accept: _Optional[_Union[TomsTimeBluffAccept, _Mapping]] = ..., place: _Optional[_Union[TomsTimeBluffPlace, _Mapping]] = ..., decline: _Optional[_Union[TomsTimeBluffDecline, _Mapping]] = ...) -> None: ...

class TomsTimeBluffHide(_message.Message):
    __slots__ = ("place", "card")
    PLACE_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    place: int
    card: str
    def __init__(self, place: _Optional[int] = ..., card: _Optional[str] = ...) -> None: ...

class TomsTimeBluffDrawInstead(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TomsTimeBluffOpen(_message.Message):
    __slots__ = ("card", "hour")
    CARD_FIELD_NUMBER: _ClassVar[int]
    HOUR_FIELD_NUMBER: _ClassVar[int]
    card: str
    hour: int
    def __init__(self, card: _Optional[str] = ..., hour: _Optional[int] = ...) -> None: ...

class TomsTimeBluffPartner(_message.Message):
    __slots__ = ("partner", "clock")
    PARTNER_FIELD_NUMBER: _ClassVar[int]
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    partner: str
    clock: str
    def __init__(self, partner: _Optional[str] = ..., clock: _Optional[str] = ...) -> None: ...

class TomsTimeBluffBeam(_message.Message):
    __slots__ = ("card", "target")
    CARD_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    card: str
    target: int
    def __init__(self, card: _Optional[str] = ..., target: _Optional[int] = ...) -> None: ...

class TomsTimeBluffDirection(_message.Message):
    __slots__ = ("to",)
    TO_FIELD_NUMBER: _ClassVar[int]
    to: str
    def __init__(self, to: _Optional[str] = ...) -> None: ...

class TomsTimeBluffNameHour(_message.Message):
    __slots__ = ("hour",)
    HOUR_FIELD_NUMBER: _ClassVar[int]
    hour: int
    def __init__(self, hour: _Optional[int] = ...) -> None: ...

class TomsTimeBluffDraw(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TomsTimeBluffEndTurn(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TomsTimeBluffChallenge(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TomsTimeBluffAccept(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TomsTimeBluffPlace(_message.Message):
    __slots__ = ("card", "hour")
    CARD_FIELD_NUMBER: _ClassVar[int]
    HOUR_FIELD_NUMBER: _ClassVar[int]
    card: str
    hour: int
    def __init__(self, card: _Optional[str] = ..., hour: _Optional[int] = ...) -> None: ...

class TomsTimeBluffDecline(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class TomsTimeBluffTable(_message.Message):
    __slots__ = ("round", "dealer", "turn", "phase", "piles", "draw_pile", "hand_sizes", "totals", "skips", "removed", "answered", "revealed", "last_round")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    DEALER_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    PILES_FIELD_NUMBER: _ClassVar[int]
    DRAW_PILE_FIELD_NUMBER: _ClassVar[int]
    HAND_SIZES_FIELD_NUMBER: _ClassVar[int]
    TOTALS_FIELD_NUMBER: _ClassVar[int]
    SKIPS_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    REVEALED_FIELD_NUMBER: _ClassVar[int]
    LAST_ROUND_FIELD_NUMBER: _ClassVar[int]
    round: int
    dealer: int
    turn: int
    phase: str
    piles: _containers.RepeatedCompositeFieldContainer[TomsTimeBluffPile]
    draw_pile: int
    hand_sizes: _containers.RepeatedScalarFieldContainer[int]
    totals: _containers.RepeatedScalarFieldContainer[int]
    skips: _containers.RepeatedScalarFieldContainer[bool]
    removed: int
    answered: _containers.RepeatedScalarFieldContainer[int]
    revealed: str
    last_round: TomsTimeBluffLastRound
    def __init__(self, round: _Optional[int] = ..., dealer: _Optional[int] = ..., turn: _Optional[int] = ..., phase: _Optional[str] = ..., piles: _Optional[_Iterable[_Union[TomsTimeBluffPile, _Mapping]]] = ..., draw_pile: _Optional[int] = ..., hand_sizes: _Optional[_Iterable[int]] = ..., totals: _Optional[_Iterable[int]] = ..., skips: _Optional[_Iterable[bool]] = ..., removed: _Optional[int] = ..., answered: _Optional[_Iterable[int]] = ..., revealed: _Optional[str] = ..., last_round: _Optional[_Union[TomsTimeBluffLastRound, _Mapping]] = ...) -> None: ...

class TomsTimeBluffPile(_message.Message):
    __slots__ = ("cards",)
    CARDS_FIELD_NUMBER: _ClassVar[int]
    cards: _containers.RepeatedCompositeFieldContainer[TomsTimeBluffEntry]
    def __init__(self, cards: _Optional[_Iterable[_Union[TomsTimeBluffEntry, _Mapping]]] = ...) -> None: ...

class TomsTimeBluffEntry(_message.Message):
    __slots__ = ("card", "hour", "seat")
    CARD_FIELD_NUMBER: _ClassVar[int]
    HOUR_FIELD_NUMBER: _ClassVar[int]
    SEAT_FIELD_NUMBER: _ClassVar[int]
    card: str
    hour: int
    seat: int
    def __init__(self, card: _Optional[str] = ..., hour: _Optional[int] = ..., seat: _Optional[int] = ...) -> None: ...

class TomsTimeBluffLastRound(_message.Message):
    __slots__ = ("scores", "hands", "revealed")
    SCORES_FIELD_NUMBER: _ClassVar[int]
    HANDS_FIELD_NUMBER: _ClassVar[int]
    REVEALED_FIELD_NUMBER: _ClassVar[int]
    scores: _containers.RepeatedScalarFieldContainer[int]
    hands: _containers.RepeatedCompositeFieldContainer[TomsTimeBluffHand]
    revealed: str
    def __init__(self, scores: _Optional[_Iterable[int]] = ..., hands: _Optional[_Iterable[_Union[TomsTimeBluffHand, _Mapping]]] = ..., revealed: _Optional[str] = ...) -> None: ...

class TomsTimeBluffHand(_message.Message):
    __slots__ = ("cards",)
    CARDS_FIELD_NUMBER: _ClassVar[int]
    cards: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, cards: _Optional[_Iterable[str]] = ...) -> None: ...

class TomsTimeBluffOwn(_message.Message):
    __slots__ = ("hand", "laid", "answer")
    HAND_FIELD_NUMBER: _ClassVar[int]
    LAID_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    hand: _containers.RepeatedScalarFieldContainer[str]
    laid: _containers.RepeatedCompositeFieldContainer[TomsTimeBluffLaid]
    answer: str
    def __init__(self, hand: _Optional[_Iterable[str]] = ..., laid: _Optional[_Iterable[_Union[TomsTimeBluffLaid, _Mapping]]] = ..., answer: _Optional[str] = ...) -> None: ...

class TomsTimeBluffLaid(_message.Message):
    __slots__ = ("place", "index", "card")
    PLACE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    place: int
    index: int
    card: str
    def __init__(self, place: _Optional[int] = ..., index: _Optional[int] = ..., card: _Optional[str] = ...) -> None: ...

class TomsTimeBluffEvent(_message.Message):
    __slots__ = ("round_started", "turned", "skipped", "hid", "opened", "partnered", "drew", "beamed", "answered", "challenged", "accepted", "hands_moved", "replaced", "hour_named", "took_pile", "placed", "declined", "round_ended")
    ROUND_STARTED_FIELD_NUMBER: _ClassVar[int]
    TURNED_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    HID_FIELD_NUMBER: _ClassVar[int]
    OPENED_FIELD_NUMBER: _ClassVar[int]
    PARTNERED_FIELD_NUMBER: _ClassVar[int]
    DREW_FIELD_NUMBER: _ClassVar[int]
    BEAMED_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    CHALLENGED_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    HANDS_MOVED_FIELD_NUMBER: _ClassVar[int]
    REPLACED_FIELD_NUMBER: _ClassVar[int]
    HOUR_NAMED_FIELD_NUMBER: _ClassVar[int]
    TOOK_PILE_FIELD_NUMBER: _ClassVar[int]
    PLACED_FIELD_NUMBER: _ClassVar[int]
    DECLINED_FIELD_NUMBER: _ClassVar[int]
    ROUND_ENDED_FIELD_NUMBER: _ClassVar[int]
    round_started: TomsTimeBluffRoundStarted
    turned: TomsTimeBluffTurned
    skipped: TomsTimeBluffSkipped
    hid: TomsTimeBluffHid
    opened: TomsTimeBluffOpened
    partnered: TomsTimeBluffPartnered
    drew: TomsTimeBluffDrew
    beamed: TomsTimeBluffBeamed
    answered: TomsTimeBluffAnswered
    challenged: TomsTimeBluffChallenged
    accepted: TomsTimeBluffAccepted
    hands_moved: TomsTimeBluffHandsMoved
    replaced: TomsTimeBluffReplaced
    hour_named: TomsTimeBluffHourNamed
    took_pile: TomsTimeBluffTookPile
    placed: TomsTimeBluffPlaced
    declined: TomsTimeBluffDeclined
    round_ended: TomsTimeBluffRoundEnded
    def __init__(self, round_started: _Optional[_Union[TomsTimeBluffRoundStarted, _Mapping]] = ..., turned: _Optional[_Union[TomsTimeBluffTurned, _Mapping]] = ..., skipped: _Optional[_Union[TomsTimeBluffSkipped, _Mapping]] = ..., hid: _Optional[_Union[TomsTimeBluffHid, _Mapping]] = ..., opened: _Optional[_Union[TomsTimeBluffOpened, _Mapping]] = ..., partnered: _Optional[_Union[TomsTimeBluffPartnered, _Mapping]] = ..., drew: _Optional[_Union[TomsTimeBluffDrew, _Mapping]] = ..., beamed: _Optional[_Union[TomsTimeBluffBeamed, _Mapping]] = ..., answered: _Optional[_Union[TomsTimeBluffAnswered, _Mapping]] = ..., challenged: _Optional[_Union[TomsTimeBluffChallenged, _Mapping]] = ..., accepted: _Optional[_Union[TomsTimeBluffAccepted, _Mapping]] = ..., hands_moved: _Optional[_Union[TomsTimeBluffHandsMoved, _Mapping]] = ..., replaced: _Optional[_Union[TomsTimeBluffReplaced, _Mapping]] = ..., hour_named: _Optional[_Union[TomsTimeBluffHourNamed, _Mapping]] = ..., took_pile: _Optional[_Union[TomsTimeBluffTookPile, _Mapping]] = ..., placed: _Optional[_Union[TomsTimeBluffPlaced, _Mapping]] = ..., declined: _Optional[_Union[TomsTimeBluffDeclined, _Mapping]] = ..., round_ended: _Optional[_Union[TomsTimeBluffRoundEnded, _Mapping]] = ...) -> None: ...

class TomsTimeBluffRoundStarted(_message.Message):
    __slots__ = ("round", "dealer")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    DEALER_FIELD_NUMBER: _ClassVar[int]
    round: int
    dealer: int
    def __init__(self, round: _Optional[int] = ..., dealer: _Optional[int] = ...) -> None: ...

class TomsTimeBluffTurned(_message.Message):
    __slots__ = ("place", "card", "aside")
    PLACE_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    ASIDE_FIELD_NUMBER: _ClassVar[int]
    place: int
    card: str
    aside: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, place: _Optional[int] = ..., card: _Optional[str] = ..., aside: _Optional[_Iterable[str]] = ...) -> None: ...

class TomsTimeBluffSkipped(_message.Message):
    __slots__ = ("seat",)
    SEAT_FIELD_NUMBER: _ClassVar[int]
    seat: int
    def __init__(self, seat: _Optional[int] = ...) -> None: ...

class TomsTimeBluffHid(_message.Message):
    __slots__ = ("seat", "place", "card")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    seat: int
    place: int
    card: str
    def __init__(self, seat: _Optional[int] = ..., place: _Optional[int] = ..., card: _Optional[str] = ...) -> None: ...

class TomsTimeBluffOpened(_message.Message):
    __slots__ = ("seat", "place", "card", "hour")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    HOUR_FIELD_NUMBER: _ClassVar[int]
    seat: int
    place: int
    card: str
    hour: int
    def __init__(self, seat: _Optional[int] = ..., place: _Optional[int] = ..., card: _Optional[str] = ..., hour: _Optional[int] = ...) -> None: ...

class TomsTimeBluffPartnered(_message.Message):
    __slots__ = ("seat", "place", "partner", "clock")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    PARTNER_FIELD_NUMBER: _ClassVar[int]
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    seat: int
    place: int
    partner: str
    clock: str
    def __init__(self, seat: _Optional[int] = ..., place: _Optional[int] = ..., partner: _Optional[str] = ..., clock: _Optional[str] = ...) -> None: ...

class TomsTimeBluffDrew(_message.Message):
    __slots__ = ("seat", "count", "reason", "cards")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CARDS_FIELD_NUMBER: _ClassVar[int]
    seat: int
    count: int
    reason: str
    cards: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, seat: _Optional[int] = ..., count: _Optional[int] = ..., reason: _Optional[str] = ..., cards: _Optional[_Iterable[str]] = ...) -> None: ...

class TomsTimeBluffBeamed(_message.Message):
    __slots__ = ("seat", "target", "card")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    seat: int
    target: int
    card: str
    def __init__(self, seat: _Optional[int] = ..., target: _Optional[int] = ..., card: _Optional[str] = ...) -> None: ...

class TomsTimeBluffAnswered(_message.Message):
    __slots__ = ("seat",)
    SEAT_FIELD_NUMBER: _ClassVar[int]
    seat: int
    def __init__(self, seat: _Optional[int] = ...) -> None: ...

class TomsTimeBluffChallenged(_message.Message):
    __slots__ = ("seat", "place", "card", "right")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    RIGHT_FIELD_NUMBER: _ClassVar[int]
    seat: int
    place: int
    card: str
    right: bool
    def __init__(self, seat: _Optional[int] = ..., place: _Optional[int] = ..., card: _Optional[str] = ..., right: bool = ...) -> None: ...

class TomsTimeBluffAccepted(_message.Message):
    __slots__ = ("place",)
    PLACE_FIELD_NUMBER: _ClassVar[int]
    place: int
    def __init__(self, place: _Optional[int] = ...) -> None: ...

class TomsTimeBluffHandsMoved(_message.Message):
    __slots__ = ("by", "to")
    BY_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    by: int
    to: str
    def __init__(self, by: _Optional[int] = ..., to: _Optional[str] = ...) -> None: ...

class TomsTimeBluffReplaced(_message.Message):
    __slots__ = ("place", "index", "card", "aside")
    PLACE_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    ASIDE_FIELD_NUMBER: _ClassVar[int]
    place: int
    index: int
    card: str
    aside: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, place: _Optional[int] = ..., index: _Optional[int] = ..., card: _Optional[str] = ..., aside: _Optional[_Iterable[str]] = ...) -> None: ...

class TomsTimeBluffHourNamed(_message.Message):
    __slots__ = ("seat", "place", "hour")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    HOUR_FIELD_NUMBER: _ClassVar[int]
    seat: int
    place: int
    hour: int
    def __init__(self, seat: _Optional[int] = ..., place: _Optional[int] = ..., hour: _Optional[int] = ...) -> None: ...

class TomsTimeBluffTookPile(_message.Message):
    __slots__ = ("seat", "place", "count", "cards")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    CARDS_FIELD_NUMBER: _ClassVar[int]
    seat: int
    place: int
    count: int
    cards: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, seat: _Optional[int] = ..., place: _Optional[int] = ..., count: _Optional[int] = ..., cards: _Optional[_Iterable[str]] = ...) -> None: ...

class TomsTimeBluffPlaced(_message.Message):
    __slots__ = ("seat", "place", "card", "hour")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    HOUR_FIELD_NUMBER: _ClassVar[int]
    seat: int
    place: int
    card: str
    hour: int
    def __init__(self, seat: _Optional[int] = ..., place: _Optional[int] = ..., card: _Optional[str] = ..., hour: _Optional[int] = ...) -> None: ...

class TomsTimeBluffDeclined(_message.Message):
    __slots__ = ("seat",)
    SEAT_FIELD_NUMBER: _ClassVar[int]
    seat: int
    def __init__(self, seat: _Optional[int] = ...) -> None: ...

class TomsTimeBluffRoundEnded(_message.Message):
    __slots__ = ("winner", "scores")
    WINNER_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    winner: int
    scores: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, winner: _Optional[int] = ..., scores: _Optional[_Iterable[int]] = ...) -> None: ...

class TomsTimeBluffEvents(_message.Message):
    __slots__ = ("events",)
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[TomsTimeBluffEvent]
    def __init__(self, events: _Optional[_Iterable[_Union[TomsTimeBluffEvent, _Mapping]]] = ...) -> None: ...

class TomsTimeBluffView(_message.Message):
    __slots__ = ("table", "own", "legal", "events")
    TABLE_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    LEGAL_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    table: TomsTimeBluffTable
    own: TomsTimeBluffOwn
    legal: _containers.RepeatedCompositeFieldContainer[TomsTimeBluffMove]
    events: _containers.RepeatedCompositeFieldContainer[TomsTimeBluffEvent]
    def __init__(self, table: _Optional[_Union[TomsTimeBluffTable, _Mapping]] = ..., own: _Optional[_Union[TomsTimeBluffOwn, _Mapping]] = ..., legal: _Optional[_Iterable[_Union[TomsTimeBluffMove, _Mapping]]] = ..., events: _Optional[_Iterable[_Union[TomsTimeBluffEvent, _Mapping]]] = ...) -> None: ...
