"""Pending logins in several tabs: `login` in the query names the cookie of one of them."""

from collections.abc import Sequence
from urllib.parse import parse_qs, urlsplit
from wsgiref.types import WSGIEnvironment

from wsgiauth.site import Site
from wsgiauth.web.cookies import OwnCookie, TaggedCookie
from wsgiauth.web.request import query_field

_LOGIN = "login"  # in the query: the tag of the cookie


def path_of(page: str, tag: str, *, done: str = "") -> str:
    """Return the path of a page, below the mount, for the login with this tag; see `done`, too."""
    return f"{page}?{f'done={done}&' if done else ''}{_LOGIN}={tag}"


def sent_cookies(
    environ: WSGIEnvironment, site: Site, kind: OwnCookie, destination: str = ""
) -> Sequence[TaggedCookie]:
    """Return the cookie of the login that a request names; without a name all, newest first.

    With a safe path as `destination`, it names the login instead. A name without its cookie never
    means the login of another tab.
    """
    if destination:
        tag = parse_qs(urlsplit(destination).query).get(_LOGIN, [""])[0]
    else:
        tag = query_field(environ, _LOGIN)
    if not tag:
        return site.identifier.sent_cookies(environ, kind)
    value = site.identifier.sent_cookie(environ, kind, tag)
    return [TaggedCookie(tag, value)] if value else []
