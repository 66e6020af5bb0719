"""`AuthMiddleware(public=…, require=…)`: the application needs a session, except on public paths.

On the way of a request, the gate stands between `middleware` and the application.
"""

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.guards import login_required, permission_required

# What applications, servers and file systems can read as another path.
_ODD = re.compile(
    r"""
    //                                                      # an empty segment
    | \.\.                                                  # a parent, also as "..;" and "..+"
    | [. ](?:/|\Z)                                          # an end that Windows drops
    | /(?:[^!-*,-\x7f]*\.){2}[^!-*,-\x7f]*(?:/|\Z)          # ".é.é": a parent, without accents
    | [\x00-\x1f\x7f"<>^`|]                                 # controls, and what no URL has
    | [#%:;?\\]                                             # what encodes, separates or ends paths
    """,
    re.VERBOSE,
)
_SPECIAL = frozenset("./\\%:;?#")


class PublicPaths:
    """The paths that need no session.

    Args:
        entries: Decoded paths. Each is an exact path, or, if it ends in `/`, a prefix; "/" is the
            exact path of the home page.

    Raises:
        ConfigurationError: An entry is of another form; the message names it.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        if isinstance(entries, str | bytes) or not isinstance(entries, Iterable):
            raise ConfigurationError(
                'public must be a list of paths, such as ("/", "/static/"), or None.'
            )
        paths = {_entry(each) for each in entries}
        # PEP 3333: without its final slash, the address of the application is the empty string.
        self._exact = paths | {""} if "/" in paths else paths
        self._prefixes = tuple(path for path in paths if path.endswith("/") and path != "/")

    def __contains__(self, path: str) -> bool:
        """Return whether PATH_INFO, bytes decoded as Latin-1 (PEP 3333), is a public path."""
        return path in self._exact or (path.startswith(self._prefixes) and _is_normal(path))


class GatedApp:
    """Restricts an application to logged-in users, except for its public paths.

    The refusals are those of `guards`. All methods are alike: a CORS preflight (OPTIONS) needs a
    session, too.

    What is trusted: the application answers by PATH_INFO alone, below SCRIPT_NAME. An application
    that takes its path from elsewhere (REQUEST_URI, X-Original-URL, a query) is not protected.

    Args:
        login_url: The path of the login page, without the SCRIPT_NAME of `AuthMiddleware`.
        public: See `PublicPaths`.
        permission: The one that all other paths need; None if a session is enough.

    Raises:
        ConfigurationError: `public` or `permission` is malformed.
    """

    def __init__(
        self,
        app: WSGIApplication,
        login_url: str,
        public: Iterable[str],
        permission: str | None,
    ) -> None:
        self._app = app
        self._public = PublicPaths(public)
        # A guard would change a class; this is a call of it.
        self._guarded = _guard(permission, login_url)(functools.partial(app))

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Refuse one request, or pass it on (PEP 3333)."""
        is_public = environ.get("PATH_INFO", "") in self._public
        return (self._app if is_public else self._guarded)(environ, start_response)


def _guard(permission: str | None, login_url: str) -> Callable[[WSGIApplication], WSGIApplication]:
    if permission is None:
        return login_required(redirect_url=login_url)
    try:
        return permission_required(permission, login_url)
    except ValueError as error:
        raise ConfigurationError(f"require: {error}.") from None


def _entry(entry: object) -> str:
    """Return an entry of `public` as WSGI spells it."""
    if not (isinstance(entry, str) and entry.startswith("/")):
        raise ConfigurationError(f"public: each path must begin with a slash, not {entry!r}.")
    path = entry.encode("utf-8", "replace").decode("latin-1")
    if not _is_normal(path):
        raise ConfigurationError(
            f"public: {entry!r} is not in normal form. Write the decoded path, without a query,"
            " and without empty segments, dot segments and special characters."
        )
    return path


def _is_normal(path: str) -> bool:
    """Return whether all software reads a path, which begins with a slash, as the same one."""
    if path.isascii():
        return not _ODD.search(path)
    try:
        text = path.encode("latin-1").decode()
    except UnicodeError:  # also overlong forms; a decoder that ignores errors would drop bytes
        return False
    # Unprintable characters are often dropped, and NFKC makes two dots of U+2025.
    return text.isprintable() and not _ODD.search(text) and not any(map(_is_special, set(text)))


def _is_special(character: str) -> bool:
    """Return whether NFKC makes an ASCII character of it that has a meaning in paths."""
    return not character.isascii() and not _SPECIAL.isdisjoint(
        unicodedata.normalize("NFKC", character)
    )
