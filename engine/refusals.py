"""Every refusal of the engine: one class a reason.

A refusal leaves no trace: whatever was asked, nothing has changed when one of these is raised. `reason` is the name
that the wire documents (`RefusalReason` in match_service.proto); services map it to a gRPC code in one table.
"""

MAX_TOLD = 240
"""Characters of a detail, or of a fact, that are told: it may repeat what was sent, which may be long."""


def _told(text: str) -> str:
    """Return a text of at most MAX_TOLD characters; of a longer one its beginning, and how long it is."""
    if len(text) <= MAX_TOLD:
        return text
    end = f"... ({len(text)} characters)"
    return text[: MAX_TOLD - len(end)] + end


class Refusal(Exception):
    """A command was refused. `detail` is one lower-case sentence; `fields` are facts a client may act on."""

    reason: str = "INTERNAL"

    def __init__(self, detail: str, **fields: str | int) -> None:
        self.detail = _told(detail)
        super().__init__(self.detail)
        self.fields = {name: _told(value) if isinstance(value, str) else value for name, value in fields.items()}


class Internal(Refusal):
    """The engine failed while deciding; the command was dropped."""

    reason = "INTERNAL"


class UnknownGame(Refusal):
    """No rules are registered under that name and version."""

    reason = "UNKNOWN_GAME"


class BadOptions(Refusal):
    """An option is unknown, of the wrong type or out of its range."""

    reason = "BAD_OPTIONS"


class BadSeats(Refusal):
    """The game cannot be played with that number or kind of seats, or the match has no seat of that number."""

    reason = "BAD_SEATS"


class NotEnoughPlayers(Refusal):
    """Fewer seats are taken than the game needs."""

    reason = "NOT_ENOUGH_PLAYERS"


class BadCode(Refusal):
    """A game code cannot be read, or says something else than the request."""

    reason = "BAD_CODE"


class NoCode(Refusal):
    """There is no game code for that."""

    reason = "NO_CODE"


class BadInvite(Refusal):
    """The match is private, and that is not its invite."""

    reason = "BAD_INVITE"


class MalformedMove(Refusal):
    """The move has a shape that the game never has: unknown name, missing, surplus or mistyped field."""

    reason = "MALFORMED_MOVE"


class IllegalMove(Refusal):
    """The move is well-formed but not among the seat's legal moves now."""

    reason = "ILLEGAL_MOVE"


class StalePrompt(Refusal):
    """The move answers a prompt that is no longer the seat's."""

    reason = "STALE_PROMPT"


class TimedOut(Refusal):
    """The clock has already answered that prompt."""

    reason = "TIMED_OUT"


class MatchOver(Refusal):
    """The match has ended."""

    reason = "MATCH_OVER"


class NotStarted(Refusal):
    """The match is still in its lobby."""

    reason = "NOT_STARTED"


class MatchStarted(Refusal):
    """The match has left its lobby."""

    reason = "MATCH_STARTED"


class MatchFull(Refusal):
    """No open seat is left."""

    reason = "MATCH_FULL"


class SeatTaken(Refusal):
    """The seat that was asked for is taken."""

    reason = "SEAT_TAKEN"


class NotYourSeat(Refusal):
    """The token's tenure is not the one that holds the seat now."""

    reason = "NOT_YOUR_SEAT"


class TenureEnded(Refusal):
    """A repeated join whose tenure has ended since."""

    reason = "TENURE_ENDED"


class RequestReused(Refusal):
    """A request id came again with other parameters."""

    reason = "REQUEST_REUSED"


class UnknownMatch(Refusal):
    """There is no such match, or no longer."""

    reason = "UNKNOWN_MATCH"


class MalformedRequest(Refusal):
    """A field of the request is missing, too long or of the wrong form."""

    reason = "MALFORMED_REQUEST"
