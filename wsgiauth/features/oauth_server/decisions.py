"""The decisions of a user about an app, in forms, and the proof that they need."""

from collections.abc import Iterable

from wsgiauth.authentication.identity import UserSession
from wsgiauth.authentication.scopes import OFFLINE, STANDARD
from wsgiauth.site import Site

ALLOW, REFUSE = "allow", "refuse"


def is_fresh_for(scopes: Iterable[str], session: UserSession, site: Site) -> bool:
    """Return whether the last proof of a session is recent enough for what an app asks for.

    Access that outlasts the session, or that can use a permission, needs a recent one: a thief of a
    session must not get it.
    """
    is_sensitive = any(each == OFFLINE or each not in STANDARD for each in scopes)
    return not is_sensitive or site.freshness.is_fresh(session.session_id)
