"""URLs for redirects and links: only paths of this site, wherever it is mounted."""

import re
from posixpath import normpath
from urllib.parse import quote, unquote, urlencode
from wsgiref.types import WSGIEnvironment

MAX_NEXT = 2048  # characters

# RFC 3986's path and query, without characters that other software interprets differently:
# backslashes, which browsers read as slashes, and percent-encoded control characters and
# backslashes, which a server may decode.
_NEXT = re.compile(r"/(?!/)(?:[!-\[\]-~])*")
_ENCODED_CONTROL = re.compile(r"%(?:[01][0-9a-f]|7f|5c)", re.IGNORECASE)


def is_safe_path(candidate: str) -> bool:
    """Return whether `candidate` is a safe path on this site, perhaps with a query.

    A path is not safe if a browser or a proxy could read it as another site or as the end of a
    header (OWASP Unvalidated Redirects Cheat Sheet).
    """
    return (
        len(candidate) <= MAX_NEXT
        and _NEXT.fullmatch(candidate) is not None
        and not _ENCODED_CONTROL.search(candidate)
        and "//" not in candidate.partition("?")[0]
    )


def safe_next(candidate: str, default: str) -> str:
    """Return `candidate` if it is a safe path for a redirect, else `default`."""
    return candidate if is_safe_path(candidate) else default


def leads_to(destination: str, url: str) -> bool:
    """Return whether the path of `destination` is `url`, in any spelling."""
    path = re.split("[?#]", destination)[0]
    return normpath(unquote(path)) == unquote(url)


def with_next(url: str, destination: str) -> str:
    """Return `url` with `destination` as its `next`, if there is one."""
    if not destination:
        return url
    return f"{url}{'&' if '?' in url else '?'}{urlencode({'next': destination})}"


def root_url(environ: WSGIEnvironment) -> str:
    """Return the percent-encoded path that `AuthMiddleware` is mounted at; "" for the root."""
    return _encoded_path(environ["wsgiauth.root"]).rstrip("/")


def mount_url(environ: WSGIEnvironment) -> str:
    """Return the percent-encoded path of /auth. Only for use in the inner app."""
    return _encoded_path(environ["SCRIPT_NAME"]).rstrip("/")


def path_asked_for(environ: WSGIEnvironment) -> str:
    """Return the percent-encoded path and query of this request, for use as a `next`."""
    path = _encoded_path(environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""))
    query = environ.get("QUERY_STRING", "")
    return f"{path}?{query}" if query else path


def _encoded_path(path: str) -> str:
    # PEP 3333: the path is bytes decoded as Latin-1. Extra leading slashes are removed, because a
    # browser reads "//host" as another site, and a proxy may forward a client's prefix.
    encoded = quote(path.encode("latin-1", "replace"), safe="/:@!$&'()*+,;=~")
    return f"/{encoded.lstrip('/')}" if encoded else ""
