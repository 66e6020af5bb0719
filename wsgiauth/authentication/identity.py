"""Identification: from a request's headers to a user. Also sets and clears the login cookie.

On the way of a request, `middleware` calls this module, which calls `sessions`.
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

# RFC 6265bis section 4.1.3.2: browsers accept a cookie with this prefix only over https, from this
# host and for the path "/".
SECURE_PREFIX = "__Host-"


class Identity(NamedTuple):
    """The user and the session that a request's credentials prove.

    Attributes:
        user: The active user, or None if the client is anonymous.
        session_id: The session's id, or None.
        error: `invalid_token` (RFC 6750) if a token was presented and rejected, else None.
    """

    user: User | None = None
    session_id: str | None = None
    error: str | None = None


ANONYMOUS = Identity()
_REJECTED = Identity(error="invalid_token")

# The constructor of a named tuple is written in Python and takes twice as long.
_identity = partial(tuple.__new__, Identity)


class Identifier:
    """Reads the credentials of a request, and writes the login cookie.

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
        """Return the user and session of a request; both are None if the client is anonymous.

        A bearer token (RFC 6750 section 2.1), valid or not, takes precedence over the cookie. The
        cookie is ignored if another site sent the request with an unsafe method. Tokens in the
        query string or in forms are ignored.

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
                return ANONYMOUS
        login = sessions.find(token, self._tokens)
        if login is None:
            return _REJECTED
        user, session_id = login
        return _identity((user, session_id, None))

    def login_cookie(self, environ: WSGIEnvironment, token: str) -> tuple[str, str]:
        """Return the header that stores `token` in the browser for the token's lifetime."""
        return self._set_cookie(environ, token, self._tokens.lifetime)

    def expired_cookie(self, environ: WSGIEnvironment) -> tuple[str, str]:
        """Return the header that deletes the cookie from the browser."""
        return self._set_cookie(environ, "", 0)

    def cookie_name(self, environ: WSGIEnvironment) -> str:
        """Return the cookie's name, which has the prefix `__Host-` over https."""
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
    """Return the token in an Authorization header, or None if the scheme is not Bearer.

    The scheme is matched in any letter case (RFC 9110 section 11.1). The token can be empty or
    malformed; `Tokens` verifies it.
    """
    if authorization[:7] == "Bearer ":  # faster for the usual spelling
        return authorization[7:].strip(" \t")
    scheme, _, credentials = authorization.replace("\t", " ").strip(" ").partition(" ")
    if scheme.lower() != "bearer":
        return None
    return credentials.strip(" ")


def cookie_value(header: str, name: str) -> str | None:
    """Return the value of the one cookie called `name` in a Cookie header, or None.

    Two cookies of that name count as none, because a neighbouring host may have planted one of
    them. A header of more than `MAX_COOKIE_HEADER` characters is ignored.
    """
    if len(header) > MAX_COOKIE_HEADER:
        return None
    values = []
    for pair in header.split(";"):
        found, separator, value = pair.strip(" \t").partition("=")
        if separator and found.rstrip(" \t") == name:
            values.append(value.strip(' \t"'))
    return values[0] if len(values) == 1 else None
