"""Who is calling? From the request's headers to a user, and the browser's cookie in both ways.

On the way of a request: `middleware` asks here, and here asks `sessions`.
"""

from functools import partial
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.models import User
from wsgiauth.authentication import sessions
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.settings import Settings
from wsgiauth.web.cross_origin import SAFE_METHODS, is_same_origin

MAX_COOKIE_HEADER = 8192  # characters

# RFC 6265bis section 4.1.3.2: browsers let no other host, path or plain-http page set a cookie with
# this prefix. Over http, they refuse it.
SECURE_PREFIX = "__Host-"


class Identity(NamedTuple):
    """Who is calling, as far as the request proves it.

    Attributes:
        user: The active user, or None for nobody.
        session_id: The login's id, or None.
        error: RFC 6750's `invalid_token` when a credential was presented and none was accepted.
    """

    user: User | None = None
    session_id: str | None = None
    error: str | None = None


NOBODY = Identity()
_REJECTED = Identity(error="invalid_token")

# A named tuple's own constructor is written in Python and takes twice as long.
_identity = partial(tuple.__new__, Identity)


class Identifier:
    """Reads and writes the credentials of callers.

    Args:
        settings: `COOKIE_NAME`, `COOKIE_SECURE` and `TRUSTED_ORIGINS`.
        tokens: Verifies tokens.
    """

    def __init__(self, settings: Settings, tokens: Tokens) -> None:
        self._tokens = tokens
        self._plain_name = settings.COOKIE_NAME
        self._secure_name = SECURE_PREFIX + settings.COOKIE_NAME
        self._always_secure = settings.COOKIE_SECURE == "on"
        self._trusted_origins = settings.TRUSTED_ORIGINS

    def identify(self, environ: WSGIEnvironment) -> Identity:
        """Return who is calling; nobody is an answer, too.

        A bearer token (RFC 6750 section 2.1), valid or not, wins over the cookie. The cookie
        identifies nobody on an unsafe method that another site sent. Tokens in the query string
        or in forms are never looked for.

        Args:
            environ: The request; not changed.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        authorization = environ.get("HTTP_AUTHORIZATION")
        token = bearer_token(authorization) if authorization is not None else None
        if token is None:
            cookie = environ.get("HTTP_COOKIE")
            token = self._cookie_token(environ, cookie) if cookie is not None else None
            if token is None:
                return NOBODY
        login = sessions.find(token, self._tokens)
        if login is None:
            return _REJECTED
        user, session_id = login
        return _identity((user, session_id, None))

    def remember(self, environ: WSGIEnvironment, token: str) -> tuple[str, str]:
        """Return the header that makes the browser keep `token` as long as it is valid."""
        return self._set_cookie(environ, token, self._tokens.lifetime)

    def forget(self, environ: WSGIEnvironment) -> tuple[str, str]:
        """Return the header that makes the browser drop the token."""
        return self._set_cookie(environ, "", 0)

    def cookie_name(self, environ: WSGIEnvironment) -> str:
        """Return the name of the cookie on a connection such as the request's."""
        is_https = self._always_secure or environ["wsgi.url_scheme"] == "https"
        return self._secure_name if is_https else self._plain_name

    def _cookie_token(self, environ: WSGIEnvironment, cookie: str) -> str | None:
        token = cookie_value(cookie, self.cookie_name(environ))
        if token is None or environ["REQUEST_METHOD"] in SAFE_METHODS:
            return token
        return token if is_same_origin(environ, self._trusted_origins) else None

    def _set_cookie(self, environ: WSGIEnvironment, value: str, max_age: int) -> tuple[str, str]:
        name = self.cookie_name(environ)
        secure = "; Secure" if name == self._secure_name else ""
        return (
            "Set-Cookie",
            f"{name}={value}; Max-Age={max_age}; Path=/; HttpOnly; SameSite=Lax{secure}",
        )


def bearer_token(authorization: str) -> str | None:
    """Return what stands after `Bearer` in an Authorization header, or None for other schemes.

    The scheme is matched in any letter case (RFC 9110 section 11.1). What follows it, even if it
    is nothing, is the token that the client presents; whether it is one is for `Tokens`.
    """
    if authorization[:7] == "Bearer ":  # the usual spelling takes the shorter way
        return authorization[7:].strip(" \t")
    scheme, _, credentials = authorization.replace("\t", " ").strip(" ").partition(" ")
    if scheme.lower() != "bearer":
        return None
    return credentials.strip(" ")


def cookie_value(header: str, name: str) -> str | None:
    """Return the value of the one cookie called `name` in a Cookie header, or None.

    Two of that name are none: one of them may have been planted by a neighbouring host. The
    header is split once and read once, and not at all beyond 8,192 characters.
    """
    if len(header) > MAX_COOKIE_HEADER:
        return None
    values = []
    for pair in header.split(";"):
        found, separator, value = pair.strip(" \t").partition("=")
        if separator and found.rstrip(" \t") == name:
            values.append(value.strip(' \t"'))
    return values[0] if len(values) == 1 else None
