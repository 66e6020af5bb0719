"""Notices about a form that was just processed, on the page to which its response leads.

The URL has `done=…`. A cookie of one minute confirms it, so that a prepared link shows no notice.
The cookie also has the name of the object, which must be in no URL.

The notice about a new account waits in a cookie for the account page, because the login can lead to
a page of the application.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.models import User
from wsgiauth.authentication.lifetimes import DAY
from wsgiauth.site import Site
from wsgiauth.web.cookies import OwnCookie
from wsgiauth.web.request import query_field
from wsgiauth.web.responses import Header
from wsgiauth.web.urls import path_asked_for

_DONE = "done"
_COOKIE = OwnCookie("-done", 60)
_CREATED = OwnCookie("-created", DAY)
UNASKED = ""  # a login without a page has created the account
ASKED_FOR = "+"  # its user has filled in the form

# A sentence, or a function that returns one with the name of the object.
Notice = str | Callable[[str], str]


class Done(NamedTuple):
    """The last change; empty strings if there was none."""

    word: str = ""  # the `done` of the query
    name: str = ""  # of the object: a user, an app and so on


def done_cookies(environ: WSGIEnvironment, location: str, name: str = "") -> tuple[Header, ...]:
    """Return the cookie for a redirect to `location`, if its query begins with `done`."""
    where = location.partition("&")[0]
    if f"?{_DONE}=" not in where:
        return ()
    site: Site = environ["wsgiauth.site"]
    value = urlsafe_b64encode(f"{where} {name}".encode()).decode()
    return (site.identifier.own_cookie(environ, _COOKIE, value),)


def just_done(environ: WSGIEnvironment) -> Done:
    """Return the `done` of the query if the cookie confirms it."""
    site: Site = environ["wsgiauth.site"]
    try:
        sent = urlsafe_b64decode(site.identifier.sent_cookie(environ, _COOKIE)).decode()
    except ValueError:
        return Done()
    word = query_field(environ, _DONE)
    where, _, name = sent.partition(" ")
    path = path_asked_for(environ).partition("?")[0]
    return Done(word, name) if word and where == f"{path}?{_DONE}={word}" else Done()


def notice_of(environ: WSGIEnvironment, notices: Mapping[str, Notice]) -> str:
    """Return the notice about the last change, from notices by `done`; empty if there was none.

    Example:
        page = BadgesPage(notice=notice_of(environ, {"given": _("The badge is given.")}))
    """
    done = just_done(environ)
    notice = notices.get(done.word, "")
    return notice if isinstance(notice, str) else notice(done.name)


def created_cookie(environ: WSGIEnvironment, site: Site, user: User, how: str = UNASKED) -> Header:
    """Return the cookie that lets the account page name the new account of a user, once.

    Args:
        how: UNASKED, or ASKED_FOR.
    """
    return site.identifier.own_cookie(environ, _CREATED, f"{user.id}{how}")


def just_created(environ: WSGIEnvironment, user: User) -> tuple[str | None, tuple[Header, ...]]:
    """Return how the new account of a user was created, and the header that deletes the cookie.

    They are None and empty without a cookie of the user.
    """
    site: Site = environ["wsgiauth.site"]
    sent = site.identifier.sent_cookie(environ, _CREATED)
    for how in (UNASKED, ASKED_FOR):
        if sent == f"{user.id}{how}":
            return how, (site.identifier.own_cookie(environ, _CREATED, ""),)
    return None, ()
