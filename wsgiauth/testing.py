"""For the tests of your application: users, headers and logged-in clients, at no bcrypt's cost.

The pytest fixtures of the same names are in `pytest_plugin`. Nothing else here imports this.
"""

import secrets
from collections.abc import Iterable
from http.cookiejar import Cookie
from typing import TYPE_CHECKING, Any

from wsgiauth.accounts.models import User
from wsgiauth.accounts.passwords import hash_password
from wsgiauth.authentication import sessions
from wsgiauth.middleware import AuthMiddleware
from wsgiauth.settings import Settings
from wsgiauth.storage import context

if TYPE_CHECKING:
    from webtest import TestApp

ROUNDS = 4  # bcrypt's minimum: a millisecond instead of a quarter of a second

# Of a password that was forgotten at once.
_UNKNOWN_PASSWORD = "$2b$04$/iia7kV1vLTIpNQ3P/W99OrZR1wXHo5Ij1l7BdPbLwjQLL3WDrYqy"  # noqa: S105


class _TestSettings(Settings):
    def risks(self) -> list[str]:
        return []  # of which the log of every test would warn


def make_settings(**changes: Any) -> Settings:
    """Return settings for tests: a random key, cheap hashes, and a database of its own in memory.

    Each `AuthMiddleware` that is given them has an empty database. Limits by address are off, for
    every test has the same.

    Args:
        changes: Settings by name, instead of these.

    Raises:
        ConfigurationError: One of them is wrong.
    """
    defaults: dict[str, Any] = {
        "SECRET_KEY": secrets.token_urlsafe(48),
        "DATABASE_URL": "sqlite:///:memory:",
        "BCRYPT_ROUNDS": ROUNDS,
        "LOGIN_FAILURES_PER_ADDRESS": 0,
        "REGISTRATIONS_PER_ADDRESS": 0,
        "HASHING_PER_ADDRESS": 0,
    }
    return _TestSettings(**(defaults | changes))


def make_user(
    application: AuthMiddleware,
    username: str = "ada",
    *,
    password: str | None = None,
    permissions: Iterable[str] = (),
    **fields: Any,
) -> User:
    """Create a user of `application` and return it.

    Args:
        application: The middleware; in Flask that is `app.wsgi_app`.
        username: Its e-mail address is at example.org, unless `fields` has one.
        password: For tests that log in by it; None for a password that nobody knows.
        permissions: What the user may do.
        fields: Other fields of `User`, such as `is_staff=True`.

    Raises:
        TypeError: `application` is not an `AuthMiddleware`.
        ValidationError, TakenError: See `User.save`.
        ValueError: bcrypt cannot represent the password, or a permission is malformed.
    """
    hashed = _UNKNOWN_PASSWORD if password is None else hash_password(password, rounds=ROUNDS)
    with context.using(_middleware(application).database):
        user = User.objects.create(
            **{"email": f"{username}@example.org", **fields},
            username=username,
            hashed_password=hashed,
        )
        user.grant(*permissions)
    return user


def bearer(application: AuthMiddleware, user: User | None = None) -> dict[str, str]:
    """Log `user` in and return the header that says so, for any client (RFC 6750 section 2.1).

    Args:
        application: The middleware.
        user: Who logs in; None for a user called `ada`, who is made if there is none.

    Raises:
        TypeError: `application` is not an `AuthMiddleware`, or `user` no `User`.
        ValueError: The user is not active, is gone, or is another application's.
    """
    return {"Authorization": f"Bearer {_token(application, user)}"}


def logged_in(application: AuthMiddleware, user: User | None = None) -> "TestApp":
    """Return a WebTest client of `application`, with the cookie of a browser that has logged in.

    Args:
        application: The middleware.
        user: Who logs in; None for a user called `ada`, who is made if there is none.

    Raises:
        ImportError: WebTest is not installed.
        TypeError: `application` is not an `AuthMiddleware`, or `user` no `User`.
        ValueError: The user is not active, is gone, or is another application's.
    """
    from webtest import TestApp

    token = _token(application, user)
    client = TestApp(application)
    client.cookiejar.set_cookie(_cookie(application, token))
    return client


def _token(application: AuthMiddleware, user: User | None) -> str:
    database = _middleware(application).database
    if user is None:
        with context.using(database):
            user = User.objects.get_or_none(username="ada") or make_user(application)
    if not isinstance(user, User):
        raise TypeError(f"a User logs in, as `make_user` returns one; not {user!r}")
    if user.origin not in (None, database):  # where somebody else may have the same id
        raise ValueError(f"{user!r} is a user of another application.")
    with context.using(database):
        token = sessions.start(user, application.auth.tokens)
    if token is None:
        raise ValueError(f"{user!r} cannot log in: inactive, or deleted meanwhile.")
    return token


def _cookie(application: AuthMiddleware, token: str) -> Cookie:
    """Return the cookie as WebTest would have kept it from a login, so that a logout ends it."""
    name = application.auth.identifier.cookie_name({"wsgi.url_scheme": "http"})
    unspecified: dict[str, Any] = dict.fromkeys(("port", "expires", "comment", "comment_url"))
    return Cookie(
        version=0,
        name=name,
        value=token,
        port_specified=False,
        domain="localhost.local",
        domain_specified=False,
        domain_initial_dot=False,
        path="/",
        path_specified=True,
        secure=False,
        discard=True,
        rest={},
        **unspecified,
    )


def _middleware(application: object) -> AuthMiddleware:
    if not isinstance(application, AuthMiddleware):
        raise TypeError(
            "wsgiauth.testing wants the AuthMiddleware itself, not what it wraps or what wraps it:"
            f" in Flask, for one, app.wsgi_app. This is {application!r}."
        )
    return application
