"""Who may publish and subscribe to what on NATS. Whatever is not listed is refused.

Services are users of the server's configuration (`server_config`, `deploy/nats.conf`); holders of tokens get their
rights from the callout when they connect.
"""

from typing import NamedTuple

from services.commands import ANSWERS_TO_MATCH, view_subject

ACCOUNT = "CROUPIER"
"""The account of services and token holders: views, receipts and questions exist in no other."""
CALLOUT_ACCOUNT = "AUTH"
"""The account in which the server asks who somebody is; nobody but the callout service is in it."""
CALLOUT_SUBJECT = "$SYS.REQ.USER.AUTH"
CALLOUT_QUEUE = "croupier-auth"
"""Several callout services share the questions."""


class Rights(NamedTuple):
    """Subjects that may be published and subscribed to; `answers`: it may also answer what it is asked."""

    publish: tuple[str, ...] = ()
    subscribe: tuple[str, ...] = ()
    answers: bool = False


MATCH = Rights(
    publish=("query.*",),
    subscribe=("receipts.*", "view.*.*.*", "view.*.table", f"{ANSWERS_TO_MATCH}.>"),
)
ENGINE = Rights(
    # Answers by permission, not `answers`: a question's reply subject is its asker's choice.
    publish=("view.>", "receipts.*", f"{ANSWERS_TO_MATCH}.>"),
    subscribe=("query.*",),
)
OBSERVER = Rights(subscribe=("view.>",))
"""For operators: everything that any seat is shown, so never for players."""
AUTH = Rights(subscribe=(f"{CALLOUT_SUBJECT} {CALLOUT_QUEUE}",), answers=True)

SERVICES = {"match": MATCH, "engine": ENGINE, "observer": OBSERVER, "auth": AUTH}
"""Users by name, which is what `croupier NAME` runs as."""


def of_view(match: str, seat: int | None, tenure: int | None) -> Rights:
    """Return what the holder of a token may do: hear one tenure and an inbox of its own, or the spectators' view."""
    view = view_subject(match, seat, tenure)
    return Rights(subscribe=(view,) if seat is None else (view, f"{inbox(match, seat, tenure)}.>"))


def inbox(match: str, seat: int, tenure: int | None) -> str:
    """Return the inbox prefix of a tenure."""
    return f"_INBOX.{match}.{seat}.{tenure}"
