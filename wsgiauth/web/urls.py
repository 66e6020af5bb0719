"""Where browsers are sent: paths of this site, however it is mounted, and nowhere else."""

import re
from posixpath import normpath
from urllib.parse import quote, unquote, urlencode
from wsgiref.types import WSGIEnvironment

MAX_NEXT = 2048  # characters

# RFC 3986's path and query, less what a browser or server may read as something else: backslashes
# (a slash to browsers), and percent-encoded controls, which somebody behind us might decode.
_NEXT = re.compile(r"/(?!/)(?:[!-\[\]-~])*")
_ENCODED_CONTROL = re.compile(r"%(?:[01][0-9a-f]|7f|5c)", re.IGNORECASE)


def safe_next(candidate: str, default: str) -> str:
    """Return `candidate` if it is a path on this site to which a browser may be sent.

    Everything that a browser or a proxy could take for another site, or for the end of a header,
    becomes `default` (OWASP Unvalidated Redirects Cheat Sheet).
    """
    path = candidate.partition("?")[0]
    if (
        len(candidate) <= MAX_NEXT
        and _NEXT.fullmatch(candidate)
        and not _ENCODED_CONTROL.search(candidate)
        and "//" not in path
    ):
        return candidate
    return default


def leads_to(destination: str, url: str) -> bool:
    """Return whether a browser sent to `destination` arrives at the path `url`, however spelt."""
    path = re.split("[?#]", destination)[0]
    return normpath(unquote(path)) == unquote(url)


def with_next(url: str, destination: str) -> str:
    """Return `url` with `destination` as its `next`, if there is one."""
    if not destination:
        return url
    return f"{url}{'&' if '?' in url else '?'}{urlencode({'next': destination})}"


def root_url(environ: WSGIEnvironment) -> str:
    """Return the path under which `AuthMiddleware` itself is mounted, percent-encoded; often ""."""
    return _encoded_path(environ["wsgiauth.root"]).rstrip("/")


def mount_url(environ: WSGIEnvironment) -> str:
    """Return the path of /auth, percent-encoded. Only the inner app may ask."""
    return _encoded_path(environ["SCRIPT_NAME"]).rstrip("/")


def path_asked_for(environ: WSGIEnvironment) -> str:
    """Return the path and query of this request, percent-encoded, for use as a `next`."""
    path = _encoded_path(environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""))
    query = environ.get("QUERY_STRING", "")
    return f"{path}?{query}" if query else path


def _encoded_path(path: str) -> str:
    # PEP 3333: the path is bytes, decoded as Latin-1. A proxy may pass on a client's prefix. To a
    # browser, a path is of this site only if it begins with exactly one slash.
    encoded = quote(path.encode("latin-1", "replace"), safe="/:@!$&'()*+,;=~")
    return f"/{encoded.lstrip('/')}" if encoded else ""
