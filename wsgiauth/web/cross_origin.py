"""Is this request a page's own, or did another site send it? (Cross-site request forgery)

The rule of Go 1.25's `http.CrossOriginProtection`: browsers say where a request comes from, so no
hidden token and no server state are needed.
"""

from collections.abc import Collection
from urllib.parse import urlsplit
from wsgiref.types import WSGIEnvironment

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})  # RFC 9110 section 9.2.1, less TRACE


def is_same_origin(environ: WSGIEnvironment, trusted_origins: Collection[str] = ()) -> bool:
    """Return whether the request comes from this site's own pages, or from no browser at all.

    Trusted are the headers that scripts cannot set (Fetch Metadata; the Fetch standard's forbidden
    header names) and Host as the server saw it. Not defended: over plain http (but for localhost),
    and by browsers older than 2023, Sec-Fetch-Site is not sent. Then Origin is all there is: it
    does not tell http from https, and a link, a GET, has none, so that another site can log a
    visitor out. Use https, and Strict-Transport-Security.

    Args:
        environ: The request; not changed.
        trusted_origins: Further origins, compared exactly.
    """
    origin = environ.get("HTTP_ORIGIN", "")
    if origin and origin in trusted_origins:
        return True
    fetch_site = environ.get("HTTP_SEC_FETCH_SITE", "")
    if fetch_site:
        return fetch_site in ("same-origin", "none")
    # Neither header: an old browser's same-origin request, or a program, which nobody can trick
    # into sending a cookie. Let pass, as Go does.
    return not origin or _host_of(origin) == environ.get("HTTP_HOST", "")


def is_prefetch(environ: WSGIEnvironment) -> bool:
    """Return whether a browser asks in advance, for a page that its user may never open."""
    purposes = (environ.get(name, "") for name in _PURPOSE_HEADERS)
    return any("prefetch" in purpose.lower() for purpose in purposes)


_PURPOSE_HEADERS = ("HTTP_SEC_PURPOSE", "HTTP_PURPOSE", "HTTP_X_MOZ")


def _host_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc or None
    except ValueError:
        return None
