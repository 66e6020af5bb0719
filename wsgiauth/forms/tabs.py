"""Pending logins in several tabs: `login` in the query names the cookie of one of them."""

from collections.abc import Sequence
from urllib.parse import parse_qs, urlsplit
from wsgiref.types import WSGIEnvironment

from wsgiauth.site import Site
from wsgiauth.web.cookies import OwnCookie, TaggedCookie
from wsgiauth.web.request import query_field

_LOGIN = "login"  # in the query: the tag of the cookie


def path_of(page: str, tag: str) -> str:
    """Return the path of a page, below the mount, for the login with this tag."""
    return f"{page}?{_LOGIN}={tag}"


def sent_cookies(environ: WSGIEnvironment, site: Site, kind: OwnCookie) -> Sequence[TaggedCookie]:
    """Return the cookie of the login that a request names; without a name all, newest first.

    A name without its cookie never means the login of another tab.
    """
    return _cookies_of(environ, site, kind, query_field(environ, _LOGIN))


def cookies_for(
    environ: WSGIEnvironment, site: Site, kind: OwnCookie, destination: str
) -> Sequence[TaggedCookie]:
    """Return the `sent_cookies` of a request to `destination`, a safe path."""
    asked = parse_qs(urlsplit(destination).query).get(_LOGIN, [""])
    return _cookies_of(environ, site, kind, asked[0])


def _cookies_of(
    environ: WSGIEnvironment, site: Site, kind: OwnCookie, tag: str
) -> Sequence[TaggedCookie]:
    if not tag:
        return site.identifier.sent_cookies(environ, kind)
    value = site.identifier.sent_cookie(environ, kind, tag)
    return [TaggedCookie(tag, value)] if value else []
