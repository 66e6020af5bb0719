"""A session of Django holds the data of one user, and ends if another client sends it.

It identifies no user here, but contains the id of its owner.
"""

from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY

_OWNER = "_wsgiauth_user"
_UNKNOWN = 0  # for a user of Django alone: no id of wsgiauth


def open_session(request: Any, number: int | None) -> None:
    """End the session of a request if it is another user's.

    Data without an owner, from before a login, are kept under a new key (session fixation).
    """
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return
    session = request.session
    was_accessed = session.accessed
    if SESSION_KEY in session:  # after a login of Django's
        session.setdefault(_OWNER, _UNKNOWN)
    drop_data_of_others(session, number)
    if number is not None and _OWNER not in session and list(session.keys()):
        session.cycle_key()
        session[_OWNER] = number
    if not session.modified:
        session.accessed = was_accessed  # or every response would vary by Cookie


def close_session(request: Any) -> None:
    """Make the user the owner of a session with new data."""
    session, user = request.session, request.META["wsgiauth.user"]
    if user is not None and session.modified and not session.is_empty():
        session.setdefault(_OWNER, user.id)


def drop_data_of_others(session: Any, number: int | None) -> None:
    """Empty a session that belongs to another user."""
    if session.get(_OWNER) not in (None, number):
        session.flush()
