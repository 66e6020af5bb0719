"""Tools for tests of your application: users, headers and logged-in clients, with fast hashes.

`pytest_plugin` offers them as fixtures. No other module imports this one.
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

# The hash of a random password that was not kept.
_UNKNOWN_PASSWORD = "$2b$04$/iia7kV1vLTIpNQ3P/W99OrZR1wXHo5Ij1l7BdPbLwjQLL3WDrYqy"  # noqa: S105


class _TestSettings(Settings):
    def risks(self) -> list[str]:
        return []  # every test would log warnings


def make_settings(**changes: Any) -> Settings:
    """Return settings for tests: a random key, fast hashes, and a database in memory.

    Each `AuthMiddleware` with these settings has its own empty database. Limits by address are off,
    because all tests have the same address.

    Args:
        changes: Settings by name, which replace these.

    Raises:
        ConfigurationError: A setting is invalid.
        TypeError: There is no setting of that name.
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
        application: The middleware; in Flask, `app.wsgi_app`.
        username: The name; the e-mail address is this name at example.org, unless `fields` has one.
        password: The password, for tests that log in with it; None for an unknown one.
        permissions: The permissions to grant.
        fields: Other fields of `User`, such as `is_staff=True`.

    Raises:
        TypeError: `application` is not an `AuthMiddleware`.
        ValidationError, TakenError: See `User.save`.
        ValueError: bcrypt cannot represent the password, or a permission is malformed.
    """
    hashed = _UNKNOWN_PASSWORD if password is None else hash_password(password, rounds=ROUNDS)
    with context.using(_require_middleware(application).database):
        user = User.objects.create(
            **{"email": f"{username}@example.org", **fields},
            username=username,
            hashed_password=hashed,
        )
        user.grant(*permissions)
    return user


def bearer(application: AuthMiddleware, user: User | None = None) -> dict[str, str]:
    """Log `user` in and return an Authorization header for any client (RFC 6750 section 2.1).

    Args:
        application: The middleware.
        user: The user to log in; None for the user `ada`, who is created if missing.

    Raises:
        TypeError: `application` is not an `AuthMiddleware`, or `user` is not a `User`.
        ValueError: The user is inactive, deleted, or from another application.
    """
    return {"Authorization": f"Bearer {_log_in(application, user)}"}


def logged_in(application: AuthMiddleware, user: User | None = None) -> "TestApp":
    """Return a WebTest client of `application`, with the cookie of a browser that has logged in.

    Args:
        application: The middleware.
        user: The user to log in; None for the user `ada`, who is created if missing.

    Raises:
        ImportError: WebTest is not installed.
        TypeError: `application` is not an `AuthMiddleware`, or `user` is not a `User`.
        ValueError: The user is inactive, deleted, or from another application.
    """
    from webtest import TestApp

    token = _log_in(application, user)
    client = TestApp(application)
    client.cookiejar.set_cookie(_login_cookie(application, token))
    return client


def _log_in(application: AuthMiddleware, user: User | None) -> str:
    database = _require_middleware(application).database
    if user is None:
        with context.using(database):
            user = User.objects.get_or_none(username="ada") or make_user(application)
    if not isinstance(user, User):
        raise TypeError(f"user must be a User, such as `make_user` returns; not {user!r}")
    if user.origin not in (None, database):  # another user may have the same id there
        raise ValueError(f"{user!r} is a user of another application.")
    with context.using(database):
        token = sessions.start(user, application.auth.tokens)
    if token is None:
        raise ValueError(f"{user!r} cannot log in: inactive or deleted.")
    return token


def _login_cookie(application: AuthMiddleware, token: str) -> Cookie:
    """Return the cookie as WebTest stores it after a login, so that a logout removes it."""
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


def _require_middleware(application: object) -> AuthMiddleware:
    if not isinstance(application, AuthMiddleware):
        raise TypeError(
            "application must be the AuthMiddleware itself, not what it wraps or what wraps it; in"
            f" Flask, use app.wsgi_app. This is {application!r}."
        )
    return application
