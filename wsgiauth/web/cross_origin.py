"""Protection against cross-site request forgery (CSRF), as in Go's `http.CrossOriginProtection`.

Browsers send the origin of a request in headers, so it needs neither a hidden token nor state.
"""

from collections.abc import Collection
from urllib.parse import urlsplit
from wsgiref.types import WSGIEnvironment

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})  # RFC 9110 section 9.2.1, less TRACE


def is_same_origin(environ: WSGIEnvironment, trusted_origins: Collection[str] = ()) -> bool:
    """Return whether the request comes from this site's own pages, or not from a browser.

    Trusted: the headers that scripts cannot set (Fetch Metadata; the Fetch standard's forbidden
    header names), and Host as the server received it. Not defended: requests without
    Sec-Fetch-Site, which browsers omit over plain http (except to localhost) and before 2023. Then
    only Origin is compared, without its scheme. A link sends no Origin, so another site can then
    log a visitor out. Use https and Strict-Transport-Security.

    Further origins in `trusted_origins` are compared exactly.
    """
    origin = environ.get("HTTP_ORIGIN", "")
    if origin and origin in trusted_origins:
        return True
    fetch_site = environ.get("HTTP_SEC_FETCH_SITE", "")
    if fetch_site:
        return fetch_site in ("same-origin", "none")
    # Without either header, the client is a program, or an old browser with a same-origin request.
    # Another site cannot make a program send a cookie. Allowed, as in Go.
    return not origin or host_of(origin) == environ.get("HTTP_HOST", "")


def is_prefetch(environ: WSGIEnvironment) -> bool:
    """Return whether a browser or a script fetches a page that its user has not opened.

    Browsers send three of the headers; Turbo, htmx's preload and Next.js the others.
    """
    if "HTTP_NEXT_ROUTER_PREFETCH" in environ or environ.get("HTTP_HX_PRELOADED") == "true":
        return True
    headers = ("HTTP_SEC_PURPOSE", "HTTP_PURPOSE", "HTTP_X_MOZ", "HTTP_X_SEC_PURPOSE")
    return any("prefetch" in environ.get(name, "").lower() for name in headers)


def is_top_level(environ: WSGIEnvironment) -> bool:
    """Return whether a user has opened a page, in a tab of its own.

    An iframe, a script and a prefetch have not. Older browsers do not say (W3C Fetch Metadata).
    """
    is_document = environ.get("HTTP_SEC_FETCH_DEST", "document") == "document"
    return is_document and not is_prefetch(environ)


def host_of(origin: str) -> str | None:
    """Return the host and port of a URL, or None if it has none."""
    try:
        return urlsplit(origin).netloc or None
    except ValueError:
        return None
