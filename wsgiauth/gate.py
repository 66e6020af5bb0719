"""`AuthMiddleware(public=…, require=…)`: the gate between `middleware` and the application.

The rules decide by PATH_INFO, and the application must do the same.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from wsgiauth.access import Guard
from wsgiauth.accounts.names import check_permission
from wsgiauth.exceptions import ConfigurationError

Require = str | Mapping[str, str | Iterable[str] | None]
_Needed = frozenset[str] | None  # None: not even a login

# Paths that applications, servers and file systems can read as another path.
_ODD = re.compile(
    r"""
    \A[^/]                                                  # no path of a URL
    | //                                                    # an empty segment
    | \.\.                                                  # a parent, also as "..;" and "..+"
    | [. ](?:/|\Z)                                          # an end that Windows drops
    | /(?:[^!-*,-\x7f]*\.){2}[^!-*,-\x7f]*(?:/|\Z)          # ".é.é": a parent, without accents
    | [\x00-\x1f\x7f"<>^`|]                                 # controls, and others that no URL has
    | [#%:;?\\]                                             # encode, separate or end paths
    """,
    re.VERBOSE,
)
# Request headers from which frameworks, and middleware inside, take another path: the virtual root
# of Pyramid's traversal, and prefixes and URLs that a proxy has removed or rewritten.
_OF_OTHER_PATHS = (
    "HTTP_X_VHM_ROOT",
    "HTTP_X_SCRIPT_NAME",
    "HTTP_X_FORWARDED_PREFIX",
    "HTTP_X_ORIGINAL_URL",
    "HTTP_X_REWRITE_URL",
)
_SPECIAL = frozenset("./\\%:;?#")
# Encodings within the encoding; patterns, and short names of Windows such as SECRET~1.
_ANY_PATH = re.compile(r'[%<>"*\[]|~[0-9]')
_NO_LETTERS = re.compile(r"[^\w/]|_")
_SLASHES = re.compile("/{2,}")
_FILLERS = str.maketrans("", "", "\u115f\u1160")  # letters that are invisible, decomposed
# Bytes. To bring marks into order, Unicode takes quadratic time, so no longer path is examined.
_LONGEST = 2048


class GatedApp:
    """Guards an application by the rules for its paths, whatever the method is.

    Removes X-Vhm-Root, X-Script-Name, X-Forwarded-Prefix, X-Original-URL and X-Rewrite-URL from
    `environ`, because `app` could take another path from them.

    What is trusted: the application answers by PATH_INFO alone, below SCRIPT_NAME. An application
    that takes its path from elsewhere (REQUEST_URI, the host, a query) is not protected.

    Args:
        login_url: The path of the login page, without the SCRIPT_NAME of `AuthMiddleware`.
    """

    def __init__(self, app: WSGIApplication, login_url: str, rules: "PathRules") -> None:
        self._app = app
        self._rules = rules
        self._login = Guard(None, login_url).checked()
        self._guards = {each: Guard(each, login_url).checked() for each in rules.permissions}

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Refuse one request, or pass it on (PEP 3333)."""
        for name in _OF_OTHER_PATHS:
            environ.pop(name, None)
        path = environ.get("PATH_INFO", "")
        needed = self._rules.needed(path)
        if needed is not None and not _is_open(environ, path):
            guards = [self._guards[each] for each in sorted(needed)] or [self._login]
            for guard in guards:
                refusal = guard.refusal(environ, self._app)
                if refusal is not None:
                    return refusal(environ, start_response)
        return self._app(environ, start_response)


def _is_open(environ: WSGIEnvironment, path: str) -> bool:
    """Return whether a request reads what everyone must be able to read before an account."""
    opened = environ["wsgiauth.site"].admission.open_paths
    if not opened or environ["REQUEST_METHOD"] not in ("GET", "HEAD") or not _is_normal(path):
        return False
    return environ["wsgiauth.root"] + path in opened  # as in the links of pages


class PathRules:
    """The rules for the paths of an application.

    The longest rule that covers a path decides. If some software reads a path as another one, the
    rules of both apply.

    Args:
        public, require, mount: See `AuthMiddleware`. In `require`, "/" covers every path. Without
            `public`, a path without a rule is public.

    Attributes:
        permissions: All permissions of the rules.

    Raises:
        ConfigurationError: An argument is malformed, two rules have one path, or a rule can never
            match; the message names it.
    """

    def __init__(self, public: Iterable[str] | None, require: Require | None, mount: str) -> None:
        opened = [] if public is None else _opened(public)
        closed = {} if require is None else _closed(require, mount)
        for path in opened:
            if path != "/" and path in closed:
                raise ConfigurationError(f"{path!r} is in public and in require: remove one.")
        if public is not None:
            closed.setdefault("/", frozenset())
        self.permissions = frozenset[str]().union(*closed.values())
        self._as_written, self._by_letters = _Table(), _Table()
        for path in opened:
            self._as_written.add_public(_wsgi(path))
            self._by_letters.add_public(_letters(path))
        for path, needed in closed.items():
            self._as_written.add(_wsgi(path), needed)
            self._by_letters.add(_letters(path), needed)
        self._words = [
            (_letters(path).strip("/").split("/"), needed) for path, needed in closed.items()
        ]
        self._has_parts = not closed.keys() <= {"/"}
        self._for_odd = closed.get("/")

    def needed(self, path: str) -> frozenset[str] | None:
        """Return the permissions that a path needs, none for a login; None if it is public.

        Args:
            path: PATH_INFO, bytes decoded as Latin-1 (PEP 3333).
        """
        if path in self._as_written.exact:
            return self._as_written.exact[path]
        if not self._has_parts:  # an odd path can mean no path with another rule
            return self._as_written.find(path) if _is_normal(path) else self._for_odd
        if len(path) > _LONGEST:
            return self.permissions
        readings = [_letters(each) for each in _texts(path)]
        if _is_normal(path) and not _ANY_PATH.search(path):
            found = map(self._by_letters.find, readings)
            return _union([self._as_written.find(path), *found])
        is_any = _can_mean_any(path)
        could_need = (
            needed
            for words, needed in self._words
            if is_any or all(any(word in each for each in readings) for word in words)
        )
        return _union(could_need)


def parse_rules(options: Iterable[str]) -> dict[str, tuple[str, ...] | None]:
    """Return the `require` of options, such as `/secret/=code.secret` or `/reports/=a.read,b.read`.

    A path alone needs a login.

    Raises:
        ConfigurationError: Two options have one path, or one has no permission after `=`.
    """
    rules: dict[str, tuple[str, ...] | None] = {}
    for option in options:
        path, separator, permissions = option.partition("=")
        if path in rules:
            raise ConfigurationError(f"require: there are two rules for {path!r}.")
        if separator and not permissions:  # a variable of a script that is not set
            raise ConfigurationError(
                f"require: {option!r} names no permission. Write {path!r} for a login alone."
            )
        rules[path] = tuple(permissions.split(",")) if permissions else None
    return rules


class _Table:
    """The needs of each path."""

    def __init__(self) -> None:
        self.exact: dict[str, _Needed] = {}
        self._below: dict[str, _Needed] = {}

    def add_public(self, path: str) -> None:
        """Add a public path; "/" is the home page alone."""
        if path == "/":
            # PEP 3333: without its final slash, the address of the application is empty.
            self.exact |= {"/": None, "": None}
        else:
            (self._below if path.endswith("/") else self.exact).setdefault(path, None)

    def add(self, path: str, needed: frozenset[str]) -> None:
        """Add a path that needs something, in addition to other rules of the path."""
        if not path.endswith("/"):
            self.exact[path] = _union([self.exact.get(path), needed])
            return
        # The empty prefix, of "/", also covers "*", the target of OPTIONS.
        prefix = path if path != "/" else ""
        self._below[prefix] = _union([self._below.get(prefix), needed])
        self._below = dict(sorted(self._below.items(), key=lambda item: -len(item[0])))

    def find(self, path: str) -> _Needed:
        """Return the needs by the longest rule that covers a path."""
        if path in self.exact:
            return self.exact[path]
        for prefix, needed in self._below.items():
            if path.startswith(prefix) or (needed is not None and f"{path}/" == prefix):
                return needed
        return None


def _union(found: Iterable[_Needed]) -> _Needed:
    """Return all needs together, or None if there are none."""
    needed = [each for each in found if each is not None]
    return frozenset[str]().union(*needed) if needed else None


def _opened(public: Iterable[str]) -> list[str]:
    if isinstance(public, str) or not isinstance(public, Iterable):
        raise ConfigurationError(
            'public must be a list of paths, such as ("/", "/static/"), or None.'
        )
    return [_checked("public", each) for each in public]


def _closed(require: Require, mount: str) -> dict[str, frozenset[str]]:
    if not isinstance(require, Mapping):
        return {"/": _permissions([require])}
    rules = {}
    for path, needed in require.items():
        if f"{_checked('require', path)}/".startswith(f"{mount}/"):
            raise ConfigurationError(
                f"require: {path!r} never matches, because wsgiauth answers below {mount} itself."
            )
        rules[path] = frozenset[str]() if needed is None else _permissions(needed)
    return rules


def _permissions(needed: str | Iterable[str]) -> frozenset[str]:
    several = [needed] if isinstance(needed, str) or not isinstance(needed, Iterable) else needed
    try:
        permissions = frozenset(map(check_permission, several))
    except ValueError as error:
        raise ConfigurationError(f"require: {error}.") from None
    if not permissions:
        raise ConfigurationError("require: write None, not an empty list, for a login alone.")
    return permissions


def _checked(argument: str, path: str) -> str:
    if not (isinstance(path, str) and path.startswith("/")):
        raise ConfigurationError(f"{argument}: each path must begin with a slash, not {path!r}.")
    if path.endswith("*"):
        raise ConfigurationError(
            f"{argument}: {path!r} is a pattern, not a path. A path that ends in a slash"
            " covers everything below it."
        )
    if not _is_normal(_wsgi(path)):
        raise ConfigurationError(
            f"{argument}: {path!r} is not in normal form. Write the decoded path, without a query,"
            " and without empty segments, dot segments and special characters."
        )
    return path


def _wsgi(path: str) -> str:
    """Return a decoded path as PATH_INFO has it."""
    return path.encode("utf-8", "replace").decode("latin-1")


def _is_normal(path: str) -> bool:
    """Return whether all software reads a PATH_INFO as the same path."""
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


def _can_mean_any(path: str) -> bool:
    try:
        text = path.encode("latin-1").decode()
    except UnicodeError:
        return True
    return _ANY_PATH.search(unicodedata.normalize("NFKC", text)) is not None


def _texts(path: str) -> set[str]:
    """Return the texts that software can decode from a PATH_INFO.

    Some drops all characters that are not ASCII, however they are composed.
    """
    if path.isascii():
        return {path}
    texts = {path, path.encode("latin-1", "ignore").decode("utf-8", "ignore")}
    composed = {unicodedata.normalize(form, text) for text in texts for form in ("NFKC", "NFKD")}
    return texts | {each.encode("ascii", "ignore").decode() for each in texts | composed}


def _letters(path: str) -> str:
    """Return a path with nothing but slashes, and the letters and digits between them.

    Frameworks and file systems ignore letter case, accents or punctuation: Pyramid finds the view
    `secret` for `/@@secret`, and CherryPy the method `secret_plans` for `/secret-plans`. Whatever
    is dropped or cut off, letters and digits remain.
    """
    if not path.isascii():
        path = unicodedata.normalize("NFKD", path).translate(_FILLERS)
        # Upper case, too: then `\u0131`, a letter i, is one.
        path = unicodedata.normalize("NFKD", path.casefold().upper().casefold())
        path = "".join(each for each in path if not unicodedata.combining(each))
    return _SLASHES.sub("/", _NO_LETTERS.sub("", path.lower()))
