"""The URLs of this site: safe paths for redirects and links, and the routes of a path."""

import re
import unicodedata
import zlib
from collections.abc import Collection, Mapping
from functools import cache
from posixpath import normpath
from typing import Generic, TypeGuard, TypeVar
from urllib.parse import quote, quote_plus, unquote, urlencode, urljoin
from wsgiref.types import WSGIEnvironment

from wsgiauth.web.uris import canonical

MAX_NEXT = 8192  # characters
MAX_ENCODED = 10_240  # characters of a `next` in a query or a form, beside other fields
MAX_IN_COOKIE = 2048  # bytes; base64 adds a third, see `identity.MOST_CHARACTERS`

_COMPRESSED = zlib.compress(b"")[:1]  # no `next` begins with it
_VISIBLE = "".join(map(chr, range(ord("!"), ord("~") + 1)))
# RFC 3986's path and query, without characters that other software interprets differently. Browsers
# read backslashes in a path as slashes, and servers can decode control characters and backslashes.
# An encoded backslash in the query is data, such as a login at Windows. Only the browser reads a
# fragment.
_NEXT = re.compile(r"/(?!/)[!\"$-\[\]-~]*(?:#[!-~]*)?")
_ENCODED_CONTROL = re.compile("%(?:[01][0-9a-f]|7f)", re.IGNORECASE)
_ENCODED_BACKSLASH = re.compile("%5c", re.IGNORECASE)
# Names of hosts as browsers write them (the URL standard, "serialization of a host"), never an
# address of IPv6; with the port if it is not that of https.
_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
NAME = rf"(?=.{{1,253}}(?![a-z0-9.-])){_LABEL}(?:\.{_LABEL})*"
HOST = rf"{NAME}(?::(?!443(?![0-9]))[1-9][0-9]{{0,4}})?"
_ON_HOST = re.compile(rf"https://({HOST})(?=[/?#]|\Z)")
_ENCODED_SLASH = re.compile("%2f", re.IGNORECASE)
_FIRST_WORD = re.compile("/(?:%[0-9A-Fa-f]{2}|[^/%A-Za-z0-9])*[A-Za-z0-9]")
_DOTS = re.compile(r"/(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)

# Names in patterns:
ID = "id"  # the number of a row
PROVIDER = "provider"  # the name of a provider in OIDC_PROVIDERS
CLIENT = "client"  # the id of an app that users log in to
SLUG = "slug"  # the name of an object, in ASCII
ROUTE = "wsgiauth.route"  # in an environ: the path of the endpoint, with the names of its parts
ROUTING_ARGS = "wsgiorg.routing_args"  # https://wsgi.readthedocs.io/en/latest/specifications/

# Keys of environ. The path and query to which a login or a confirmation returns, if it is not that
# of the request: a proxy asks about another one. Then its origin, if the login of that host is at
# another one; and the URL of the site there.
ASKED_FOR = "wsgiauth.asked_for"
ASKED_AT = "wsgiauth.asked_at"
LOGIN_AT = "wsgiauth.login_at"

_NUMBER = "[1-9][0-9]{0,17}"  # every such number fits into 64 bits
_WORD = "[a-z][a-z-]{0,63}"
# Others are words.
_PARTS = {
    ID: _NUMBER,
    PROVIDER: "[a-z][a-z0-9-]{0,31}",
    CLIENT: "[0-9A-Za-z]{1,32}",
    SLUG: "[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?",
}

_Target = TypeVar("_Target")
_MOUNT = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)+")


def is_safe_path(candidate: str) -> bool:
    """Return whether `candidate` is a safe path on this site, with or without query and fragment.

    No browser or proxy can read a safe path as another site or as the end of a header (OWASP
    Unvalidated Redirects Cheat Sheet).
    """
    if len(candidate) > MAX_NEXT or not _NEXT.fullmatch(candidate):
        return False
    sent = candidate.partition("#")[0]
    path = _ENCODED_SLASH.sub("/", sent.partition("?")[0])
    return (
        not _ENCODED_CONTROL.search(sent)
        and not _ENCODED_BACKSLASH.search(path)
        # Without dots and spaces, `/.//host` and `/%20//host` begin with two slashes.
        and not ("//" in path and (_DOTS.search(path) or not _FIRST_WORD.match(path)))
        and len(quote_plus(candidate)) <= MAX_ENCODED
    )


def safe_next(candidate: str, default: str) -> str:
    """Return `candidate`, in ASCII as browsers send it, if it is a safe path, else `default`."""
    path = _in_ascii(candidate)
    return path if is_safe_path(path) else default


def origin_of(destination: str) -> str:
    """Return the origin of a safe `next` that leads to another host, or ""."""
    found = _ON_HOST.match(destination)
    return found[0] if found else ""


class Destinations:
    """Where a `next` can lead: to a path of this site, or by https to a host of NEXT_HOSTS."""

    def __init__(self, hosts: Collection[str] = ()) -> None:
        self._hosts = frozenset(hosts)
        self._domains = tuple(each.removeprefix("*") for each in hosts if each.startswith("*."))

    def safe(self, candidate: str) -> str:
        """Return `candidate`, in ASCII as browsers send it, if it is safe, else ""."""
        if not self._hosts:
            return safe_next(candidate, "")
        url = canonical(_in_ascii(candidate))
        found = _ON_HOST.match(url)
        if found is None:
            return safe_next(candidate, "")
        is_safe = is_safe_path(url[found.end() :]) and len(quote_plus(url)) <= MAX_ENCODED
        return url if is_safe and self.admits(found[1]) else ""

    def admits(self, host: str) -> bool:
        """Return whether NEXT_HOSTS has a host, with its port if that is not 443."""
        is_named = host in self._hosts or host.endswith(self._domains)
        return is_named and re.fullmatch(HOST, host) is not None


PATHS_ALONE = Destinations()


def next_in_cookie(destination: str) -> bytes:
    """Return a safe `next` for a cookie: compressed if it is long, or without its query, or b""."""
    plain = destination.encode()
    if len(plain) <= MAX_IN_COOKIE:
        return plain
    compressed = zlib.compress(plain)
    if len(compressed) <= MAX_IN_COOKIE:
        return compressed
    path = re.split(b"[?#]", plain)[0]
    return path if len(path) <= MAX_IN_COOKIE else b""


def next_of_cookie(stored: bytes) -> str:
    """Return the `next` that `next_in_cookie` made, not checked; "" for other compressed bytes.

    Raises:
        UnicodeDecodeError: The bytes are not UTF-8.
    """
    if not stored.startswith(_COMPRESSED):
        return stored.decode()
    try:
        return zlib.decompressobj().decompress(stored, MAX_NEXT).decode()
    except zlib.error:
        return ""


def leads_to(destination: str, url: str) -> bool:
    """Return whether the path of `destination`, at any host, is `url` in any spelling."""
    return _plain_path(destination.removeprefix(origin_of(destination))) == unquote(url)


def path_below(destination: str, url: str) -> str:
    """Return the path of `destination` below `url`, with its slash, or ""."""
    path, above = _plain_path(destination), unquote(url)
    return path.removeprefix(above) if path.startswith(f"{above}/") else ""


def with_next(url: str, destination: str) -> str:
    """Return `url` with `destination` as its `next`, if there is one."""
    if not destination:
        return url
    return f"{url}{'&' if '?' in url else '?'}{urlencode({'next': destination})}"


def root_url(environ: WSGIEnvironment) -> str:
    """Return the percent-encoded path that `AuthMiddleware` is mounted at; "" for the root.

    It is a whole URL if a proxy asks about a host whose login is at another one.
    """
    if LOGIN_AT in environ:
        url: str = environ[LOGIN_AT]
        return url
    return _encoded_path(environ["wsgiauth.root"]).rstrip("/")


def url_for_client(environ: WSGIEnvironment, url: str) -> str:
    """Return a URL of this site as the client of a request can open it.

    A path becomes a whole URL if a proxy asks about a host whose login is at another one.

    Example:
        url = url_for_client(environ, "/terms")
    """
    home: str = environ.get(LOGIN_AT, "")
    return urljoin(home, url)


def mount_url(environ: WSGIEnvironment) -> str:
    """Return the percent-encoded path of /auth, for endpoints only.

    Example:
        url = f"{mount_url(environ)}/badges"
    """
    return _encoded_path(environ["SCRIPT_NAME"]).rstrip("/")


def path_asked_for(environ: WSGIEnvironment) -> str:
    """Return the percent-encoded path and query of this request as a `next`.

    In `features.forward_auth.check`, return those of the request that the proxy asks about.
    """
    if ASKED_FOR in environ:
        origin: str = environ.get(ASKED_AT, "")
        return origin + _encoded(environ[ASKED_FOR], _VISIBLE)
    path = _encoded_path(environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""))
    query = _encoded(environ.get("QUERY_STRING", ""), _VISIBLE)
    return f"{path}?{query}" if query else path


class Router(Generic[_Target]):
    """Finds the target of a path: an exact path, or a pattern such as `/admin/users/{id}`.

    A name in braces stands for a part of the path: `{id}` for a positive number of at most 18
    digits without leading zeros, `{provider}` for the name of a provider, `{client}` for at most 32
    letters and digits, `{slug}` for at most 64 lower-case letters, digits and dashes, and any other
    name for a word of lower-case letters and dashes. An exact route takes precedence over a
    pattern.
    """

    def __init__(self, routes: Mapping[str, _Target]) -> None:
        self._exact = {path: each for path, each in routes.items() if "{" not in path}
        self._patterns = [
            (_compile(path), each) for path, each in routes.items() if path not in self._exact
        ]

    def find(self, path: str) -> tuple[_Target, Mapping[str, str]] | None:
        """Return the target of a path and its named parts, or None."""
        if path in self._exact:
            return self._exact[path], {}
        for pattern, target in self._patterns:
            found = pattern.fullmatch(path)
            if found is not None:
                return target, found.groupdict()
        return None


def overlap(one: str, other: str) -> bool:
    """Return whether a path may fit both patterns of a `Router`, or whether a path fits one."""
    if "{" not in one:
        return _compile(other).fullmatch(one) is not None
    if "{" not in other:
        return overlap(other, one)
    parts, others = one.split("/"), other.split("/")
    return len(parts) == len(others) and all(
        a == b or "{" in a or "{" in b for a, b in zip(parts, others, strict=True)
    )


def routing_argument(environ: WSGIEnvironment, name: str) -> str:
    """Return a named part of the path of this request.

    Example:
        class OneBadge(Endpoint):
            def get(self, environ: WSGIEnvironment, site: Site) -> Response:
                return json_response({"name": routing_argument(environ, "name")})
    """
    argument: str = environ[ROUTING_ARGS][1][name]
    return argument


def is_number(text: str) -> bool:
    """Return whether a string is a number as in a path, which fits into 64 bits."""
    return re.fullmatch(_NUMBER, text) is not None


def _plain_path(destination: str) -> str:
    return normpath(unquote(re.split("[?#]", destination)[0]))


def _in_ascii(candidate: str) -> str:
    """Percent-encode letters beyond ASCII. Other characters beyond ASCII are never safe."""
    if candidate.isascii() or len(candidate) > MAX_NEXT or not candidate.isprintable():
        return candidate
    # Some software reads a full-width slash as a slash.
    beyond = "".join(each for each in candidate if not each.isascii())
    is_syntax = not set("/\\?#%.").isdisjoint(unicodedata.normalize("NFKC", beyond))
    return candidate if is_syntax else quote(candidate, safe=_VISIBLE)


def _encoded_path(path: str) -> str:
    # A browser reads "//host" as another site, and a proxy can forward a client's prefix.
    encoded = _encoded(path, "/:@!$&'()*+,;=~")
    return f"/{encoded.lstrip('/')}" if encoded else ""


def _encoded(text: str, safe: str) -> str:
    # PEP 3333: the strings of a request are bytes decoded as Latin-1.
    return quote(text.encode("latin-1", "replace"), safe=safe)


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", pattern)
    literals = [re.escape(part) for part in parts[::2]]
    names = [f"(?P<{name}>{_PARTS.get(name, _WORD)})" for name in parts[1::2]]
    return re.compile("".join(map("".join, zip(literals, [*names, ""], strict=True))))


def is_mount(mount: object) -> TypeGuard[str]:
    """Return whether `mount` is a path for wsgiauth's endpoints."""
    return isinstance(mount, str) and _MOUNT.fullmatch(mount) is not None
