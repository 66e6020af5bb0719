"""The data in Django's sessions belong to one user, and the next one does not see them.

Django's session identifies no user here. It has the number of its user, and ends if another user,
or an anonymous client, sends it.
"""

from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY

_OWNER = "_wsgiauth_user"
_UNKNOWN = 0  # a user of Django alone: no user has this number


def open_session(request: Any, number: int | None) -> None:
    """End the session that a request came with if it is another user's.

    Without an owner, as before a login, its data are kept, under a new key (session fixation).
    """
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return
    session = request.session
    was_accessed = session.accessed
    if SESSION_KEY in session:  # of a login of Django's
        session.setdefault(_OWNER, _UNKNOWN)
    drop_data_of_others(session, number)
    if number is not None and _OWNER not in session and list(session.keys()):
        session.cycle_key()
        session[_OWNER] = number
    if not session.modified:
        session.accessed = was_accessed  # otherwise every response would vary by Cookie


def close_session(request: Any) -> None:
    """Write the user into a session in which the view has stored something."""
    session, user = request.session, request.META["wsgiauth.user"]
    if user is not None and session.modified and not session.is_empty():
        session.setdefault(_OWNER, user.id)


def drop_data_of_others(session: Any, number: int | None) -> None:
    """Empty a session that belongs to another user than this one."""
    if session.get(_OWNER) not in (None, number):
        session.flush()
