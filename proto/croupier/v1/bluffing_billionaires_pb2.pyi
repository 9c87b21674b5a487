from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BluffingBillionairesOptions(_message.Message):
    __slots__ = ("games",)
    GAMES_FIELD_NUMBER: _ClassVar[int]
    games: int
    def __init__(self, games: _Optional[int] = ...) -> None: ...

class BluffingBillionairesMove(_message.Message):
    __slots__ = ("play", "approve", "challenge")
    PLAY_FIELD_NUMBER: _ClassVar[int]
    APPROVE_FIELD_NUMBER: _ClassVar[int]
    CHALLENGE_FIELD_NUMBER: _ClassVar[int]
    play: BluffingBillionairesPlay
    approve: BluffingBillionairesApprove
    challenge: BluffingBillionairesChallenge
    def __init__(self, play: _Optional[_Union[BluffingBillionairesPlay, _Mapping]] = ..., approve: _Optional[_Union[BluffingBillionairesApprove, _Mapping]] = ..., challenge: _Optional[_Union[BluffingBillionairesChallenge, _Mapping]] = ...) -> None: ...

class BluffingBillionairesPlay(_message.Message):
    __slots__ = ("card",)
    CARD_FIELD_NUMBER: _ClassVar[int]
    card: str
    def __init__(self, card: _Optional[str] = ...) -> None: ...

class BluffingBillionairesApprove(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class BluffingBillionairesChallenge(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class BluffingBillionairesTable(_message.Message):
    __slots__ = ("game", "start", "turn", "phase", "hand_sizes", "on_table", "voters", "answered", "votes", "revealed", "bonus", "discards", "points", "coins", "last_round")
    GAME_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    HAND_SIZES_FIELD_NUMBER: _ClassVar[int]
    ON_TABLE_FIELD_NUMBER: _ClassVar[int]
    VOTERS_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    VOTES_FIELD_NUMBER: _ClassVar[int]
    REVEALED_FIELD_NUMBER: _ClassVar[int]
    BONUS_FIELD_NUMBER: _ClassVar[int]
    DISCARDS_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    COINS_FIELD_NUMBER: _ClassVar[int]
    LAST_ROUND_FIELD_NUMBER: _ClassVar[int]
    game: int
    start: int
    turn: int
    phase: str
    hand_sizes: _containers.RepeatedScalarFieldContainer[int]
    on_table: _containers.RepeatedScalarFieldContainer[bool]
    voters: _containers.RepeatedScalarFieldContainer[int]
    answered: _containers.RepeatedScalarFieldContainer[int]
    votes: _containers.RepeatedCompositeFieldContainer[BluffingBillionairesVote]
    revealed: _containers.RepeatedCompositeFieldContainer[BluffingBillionairesShown]
    bonus: _containers.RepeatedCompositeFieldContainer[BluffingBillionairesBonusPile]
    discards: _containers.RepeatedCompositeFieldContainer[BluffingBillionairesDiscardPile]
    points: _containers.RepeatedScalarFieldContainer[int]
    coins: _containers.RepeatedScalarFieldContainer[int]
    last_round: BluffingBillionairesLastRound
    def __init__(self, game: _Optional[int] = ..., start: _Optional[int] = ..., turn: _Optional[int] = ..., phase: _Optional[str] = ..., hand_sizes: _Optional[_Iterable[int]] = ..., on_table: _Optional[_Iterable[bool]] = ..., voters: _Optional[_Iterable[int]] = ..., answered: _Optional[_Iterable[int]] = ..., votes: _Optional[_Iterable[_Union[BluffingBillionairesVote, _Mapping]]] = ..., revealed: _Optional[_Iterable[_Union[BluffingBillionairesShown, _Mapping]]] = ..., bonus: _Optional[_Iterable[_Union[BluffingBillionairesBonusPile, _Mapping]]] = ..., discards: _Optional[_Iterable[_Union[BluffingBillionairesDiscardPile, _Mapping]]] = ..., points: _Optional[_Iterable[int]] = ..., coins: _Optional[_Iterable[int]] = ..., last_round: _Optional[_Union[BluffingBillionairesLastRound, _Mapping]] = ...) -> None: ...

class BluffingBillionairesVote(_message.Message):
    __slots__ = ("seat", "challenge")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    CHALLENGE_FIELD_NUMBER: _ClassVar[int]
    seat: int
    challenge: bool
    def __init__(self, seat: _Optional[int] = ..., challenge: bool = ...) -> None: ...

class BluffingBillionairesShown(_message.Message):
    __slots__ = ("seat", "card")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    seat: int
    card: str
    def __init__(self, seat: _Optional[int] = ..., card: _Optional[str] = ...) -> None: ...

class BluffingBillionairesBonus(_message.Message):
    __slots__ = ("card", "owner")
    CARD_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    card: str
    owner: int
    def __init__(self, card: _Optional[str] = ..., owner: _Optional[int] = ...) -> None: ...

class BluffingBillionairesBonusPile(_message.Message):
    __slots__ = ("cards",)
    CARDS_FIELD_NUMBER: _ClassVar[int]
    cards: _containers.RepeatedCompositeFieldContainer[BluffingBillionairesBonus]
    def __init__(self, cards: _Optional[_Iterable[_Union[BluffingBillionairesBonus, _Mapping]]] = ...) -> None: ...

class BluffingBillionairesDiscardPile(_message.Message):
    __slots__ = ("known", "hidden")
    KNOWN_FIELD_NUMBER: _ClassVar[int]
    HIDDEN_FIELD_NUMBER: _ClassVar[int]
    known: _containers.RepeatedScalarFieldContainer[str]
    hidden: int
    def __init__(self, known: _Optional[_Iterable[str]] = ..., hidden: _Optional[int] = ...) -> None: ...

class BluffingBillionairesLastRound(_message.Message):
    __slots__ = ("scores", "coins", "hands")
    SCORES_FIELD_NUMBER: _ClassVar[int]
    COINS_FIELD_NUMBER: _ClassVar[int]
    HANDS_FIELD_NUMBER: _ClassVar[int]
    scores: _containers.RepeatedScalarFieldContainer[int]
    coins: _containers.RepeatedScalarFieldContainer[int]
    hands: _containers.RepeatedCompositeFieldContainer[BluffingBillionairesHand]
    def __init__(self, scores: _Optional[_Iterable[int]] = ..., coins: _Optional[_Iterable[int]] = ..., hands: _Optional[_Iterable[_Union[BluffingBillionairesHand, _Mapping]]] = ...) -> None: ...

class BluffingBillionairesHand(_message.Message):
    __slots__ = ("cards",)
    CARDS_FIELD_NUMBER: _ClassVar[int]
    cards: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, cards: _Optional[_Iterable[str]] = ...) -> None: ...

class BluffingBillionairesOwn(_message.Message):
    __slots__ = ("hand", "table_card", "discarded", "answer")
    HAND_FIELD_NUMBER: _ClassVar[int]
    TABLE_CARD_FIELD_NUMBER: _ClassVar[int]
    DISCARDED_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    hand: _containers.RepeatedScalarFieldContainer[str]
    table_card: str
    discarded: _containers.RepeatedScalarFieldContainer[str]
    answer: str
    def __init__(self, hand: _Optional[_Iterable[str]] = ..., table_card: _Optional[str] = ..., discarded: _Optional[_Iterable[str]] = ..., answer: _Optional[str] = ...) -> None: ...

class BluffingBillionairesEvent(_message.Message):
    __slots__ = ("game_started", "played", "discarded", "voted", "votes_shown", "revealed", "compared", "took", "game_ended")
    GAME_STARTED_FIELD_NUMBER: _ClassVar[int]
    PLAYED_FIELD_NUMBER: _ClassVar[int]
    DISCARDED_FIELD_NUMBER: _ClassVar[int]
    VOTED_FIELD_NUMBER: _ClassVar[int]
    VOTES_SHOWN_FIELD_NUMBER: _ClassVar[int]
    REVEALED_FIELD_NUMBER: _ClassVar[int]
    COMPARED_FIELD_NUMBER: _ClassVar[int]
    TOOK_FIELD_NUMBER: _ClassVar[int]
    GAME_ENDED_FIELD_NUMBER: _ClassVar[int]
    game_started: BluffingBillionairesGameStarted
    played: BluffingBillionairesPlayed
    discarded: BluffingBillionairesDiscarded
    voted: BluffingBillionairesVoted
    votes_shown: BluffingBillionairesVotesShown
    revealed: BluffingBillionairesRevealed
    compared: BluffingBillionairesCompared
    took: BluffingBillionairesTook
    game_ended: BluffingBillionairesGameEnded
    def __init__(self, game_started: _Optional[_Union[BluffingBillionairesGameStarted, _Mapping]] = ..., played: _Optional[_Union[BluffingBillionairesPlayed, _Mapping]] = ..., discarded: _Optional[_Union[BluffingBillionairesDiscarded, _Mapping]] = ..., voted: _Optional[_Union[BluffingBillionairesVoted, _Mapping]] = ..., votes_shown: _Optional[_Union[BluffingBillionairesVotesShown, _Mapping]] = ..., revealed: _Optional[_Union[BluffingBillionairesRevealed, _Mapping]] = ..., compared: _Optional[_Union[BluffingBillionairesCompared, _Mapping]] = ..., took: _Optional[_Union[BluffingBillionairesTook, _Mapping]] = ..., game_ended: _Optional[_Union[BluffingBillionairesGameEnded, _Mapping]] = ...) -> None: ...

class BluffingBillionairesGameStarted(_message.Message):
    __slots__ = ("game", "start")
    GAME_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    game: int
    start: int
    def __init__(self, game: _Optional[int] = ..., start: _Optional[int] = ...) -> None: ...

class BluffingBillionairesPlayed(_message.Message):
    __slots__ = ("seat", "card")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    seat: int
    card: str
    def __init__(self, seat: _Optional[int] = ..., card: _Optional[str] = ...) -> None: ...

class BluffingBillionairesDiscarded(_message.Message):
    __slots__ = ("seat", "card")
    SEAT_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    seat: int
    card: str
    def __init__(self, seat: _Optional[int] = ..., card: _Optional[str] = ...) -> None: ...

class BluffingBillionairesVoted(_message.Message):
    __slots__ = ("seat",)
    SEAT_FIELD_NUMBER: _ClassVar[int]
    seat: int
    def __init__(self, seat: _Optional[int] = ...) -> None: ...

class BluffingBillionairesVotesShown(_message.Message):
    __slots__ = ("votes",)
    VOTES_FIELD_NUMBER: _ClassVar[int]
    votes: _containers.RepeatedCompositeFieldContainer[BluffingBillionairesVote]
    def __init__(self, votes: _Optional[_Iterable[_Union[BluffingBillionairesVote, _Mapping]]] = ...) -> None: ...

class BluffingBillionairesRevealed(_message.Message):
    __slots__ = ("cards",)
    CARDS_FIELD_NUMBER: _ClassVar[int]
    cards: _containers.RepeatedCompositeFieldContainer[BluffingBillionairesShown]
    def __init__(self, cards: _Optional[_Iterable[_Union[BluffingBillionairesShown, _Mapping]]] = ...) -> None: ...

class BluffingBillionairesCompared(_message.Message):
    __slots__ = ("active", "challenger", "winner")
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    CHALLENGER_FIELD_NUMBER: _ClassVar[int]
    WINNER_FIELD_NUMBER: _ClassVar[int]
    active: int
    challenger: int
    winner: int
    def __init__(self, active: _Optional[int] = ..., challenger: _Optional[int] = ..., winner: _Optional[int] = ...) -> None: ...

class BluffingBillionairesTook(_message.Message):
    __slots__ = ("winner", "loser", "card", "source")
    WINNER_FIELD_NUMBER: _ClassVar[int]
    LOSER_FIELD_NUMBER: _ClassVar[int]
    CARD_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    winner: int
    loser: int
    card: str
    source: str
    def __init__(self, winner: _Optional[int] = ..., loser: _Optional[int] = ..., card: _Optional[str] = ..., source: _Optional[str] = ...) -> None: ...

class BluffingBillionairesGameEnded(_message.Message):
    __slots__ = ("game", "scores", "coins")
    GAME_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    COINS_FIELD_NUMBER: _ClassVar[int]
    game: int
    scores: _containers.RepeatedScalarFieldContainer[int]
    coins: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, game: _Optional[int] = ..., scores: _Optional[_Iterable[int]] = ..., coins: _Optional[_Iterable[int]] = ...) -> None: ...

class BluffingBillionairesEvents(_message.Message):
    __slots__ = ("events",)
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[BluffingBillionairesEvent]
    def __init__(self, events: _Optional[_Iterable[_Union[BluffingBillionairesEvent, _Mapping]]] = ...) -> None: ...

class BluffingBillionairesView(_message.Message):
    __slots__ = ("table", "own", "legal", "events")
    TABLE_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    LEGAL_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    table: BluffingBillionairesTable
    own: BluffingBillionairesOwn
    legal: _containers.RepeatedCompositeFieldContainer[BluffingBillionairesMove]
    events: _containers.RepeatedCompositeFieldContainer[BluffingBillionairesEvent]
    def __init__(self, table: _Optional[_Union[BluffingBillionairesTable, _Mapping]] = ..., own: _Optional[_Union[BluffingBillionairesOwn, _Mapping]] = ..., legal: _Optional[_Iterable[_Union[BluffingBillionairesMove, _Mapping]]] = ..., events: _Optional[_Iterable[_Union[BluffingBillionairesEvent, _Mapping]]] = ...) -> None: ...
