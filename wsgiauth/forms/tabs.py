"""Which of several logins of a browser a page is about: `login` in the query of its URL.

Each tab of a browser can have a login that waits, with a cookie of its own.
"""

from collections.abc import Sequence
from urllib.parse import parse_qs, urlsplit
from wsgiref.types import WSGIEnvironment

from wsgiauth.site import Site
from wsgiauth.web.cookies import OwnCookie, TaggedCookie
from wsgiauth.web.request import query_field

_LOGIN = "login"  # in the query: the tag of its cookie


def path_of(page: str, tag: str) -> str:
    """Return the path of a page, below the mount, that is about the login with this tag."""
    return f"{page}?{_LOGIN}={tag}"


def sent_cookies(environ: WSGIEnvironment, site: Site, kind: OwnCookie) -> Sequence[TaggedCookie]:
    """Return the cookie of the login that a request names, or all of this kind, the newest first.

    A name without its cookie is never the login of another tab.
    """
    return _cookies_of(environ, site, kind, query_field(environ, _LOGIN))


def cookies_for(
    environ: WSGIEnvironment, site: Site, kind: OwnCookie, destination: str
) -> Sequence[TaggedCookie]:
    """Return what `sent_cookies` does for a request to `destination`, a safe path."""
    asked = parse_qs(urlsplit(destination).query).get(_LOGIN, [""])
    return _cookies_of(environ, site, kind, asked[0])


def _cookies_of(
    environ: WSGIEnvironment, site: Site, kind: OwnCookie, tag: str
) -> Sequence[TaggedCookie]:
    if not tag:
        return site.identifier.sent_cookies(environ, kind)
    value = site.identifier.sent_cookie(environ, kind, tag)
    return [TaggedCookie(tag, value)] if value else []
