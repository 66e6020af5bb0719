"""Logged-in clients and credentials of users."""

from collections.abc import Iterable, Mapping
from http.cookiejar import Cookie
from typing import TYPE_CHECKING, Any

from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import lifetimes, sessions
from wsgiauth.authentication.lifetimes import Lifetime
from wsgiauth.authentication.methods import FEDERATED, ONE_TIME_CODE, PASSWORD
from wsgiauth.features.keys import api_keys
from wsgiauth.features.providers.identities import rows_of
from wsgiauth.features.providers.provider_sessions import ProviderLogin
from wsgiauth.middleware import AuthMiddleware
from wsgiauth.storage import context
from wsgiauth.testing.people import (
    arrange,
    connect,
    present_user,
    require_middleware,
    require_provider,
)

if TYPE_CHECKING:
    from webtest import TestApp


def bearer(
    application: AuthMiddleware,
    user: User | None = None,
    *,
    confirmed_minutes_ago: int = 0,
    minutes_left: int | None = None,
    second_factor: bool | None = None,
    **demands: bool,
) -> dict[str, str]:
    """Log `user` in and return an Authorization header for any client (RFC 6750 section 2.1).

    Args:
        confirmed_minutes_ago, minutes_left, second_factor, demands: See `logged_in`.

    Raises:
        ValueError: The user is inactive, deleted, or from another application.
    """
    lifetime = lifetimes.of_program(require_middleware(application).site.settings)
    met = {"second_factor": second_factor, **demands}
    token = _log_in(application, user, lifetime, confirmed_minutes_ago, minutes_left, met)
    return {"Authorization": f"Bearer {token}"}


def api_key(
    application: AuthMiddleware, user: User, permissions: Iterable[str] = ()
) -> dict[str, str]:
    """Make an API key with permissions and return an Authorization header for any client.

    Raises:
        ValueError: The user is inactive, deleted, or from another application, or does not have a
            permission.
    """
    now = require_middleware(application).site.tokens.now()
    with context.using(application.database):
        current = present_user(application, user)
        made = None if current is None else api_keys.create(current, "test", permissions, now=now)
    if made is None:
        raise ValueError(f"{user!r} cannot log in: inactive or deleted.")
    return {"Authorization": f"Bearer {made.text}"}


def logged_in(
    application: AuthMiddleware,
    user: User | None = None,
    *,
    remember: bool = False,
    confirmed_minutes_ago: int = 0,
    minutes_left: int | None = None,
    second_factor: bool | None = None,
    provider: str | None = None,
    **demands: bool,
) -> "TestApp":
    """Return a WebTest client of `application`, with the cookie of a browser that has logged in.

    Args:
        remember: Whether "Keep me logged in" was ticked.
        confirmed_minutes_ago: When the user proved their identity; after `FRESH_MINUTES`, sensitive
            changes ask for a new proof.
        minutes_left: After how many minutes without a request the session ends; 0: it has ended;
            None: as for a new login.
        second_factor: Whether a second factor proved the login, too; None: if the user has or must
            have one.
        demands: What the session lacks of that which the site demands, such as `terms=False`. By
            default, it lacks nothing, or what the user lacks by the arguments of `make_user`.
        provider: The provider in `OIDC_PROVIDERS` of the login; a user without an account there
            gets one. None: a login with a password.

    Raises:
        ImportError: WebTest is not installed.
        TypeError: The site does not demand what `demands` names.
        ValueError: The user is inactive, deleted, or from another application; or the site has no
            such provider.
    """
    from webtest import TestApp

    settings = require_middleware(application).site.settings
    lifetime = lifetimes.of_browser(settings, remember=remember)
    met = {"second_factor": second_factor, **demands}
    token = _log_in(application, user, lifetime, confirmed_minutes_ago, minutes_left, met, provider)
    client = TestApp(application)
    client.cookiejar.set_cookie(_login_cookie(application, token))
    return client


def _log_in(
    application: AuthMiddleware,
    user: User | None,
    lifetime: Lifetime,
    confirmed_minutes_ago: int,
    minutes_left: int | None,
    demands: Mapping[str, bool | None],
    provider: str | None = None,
) -> str:
    """Return the token of a new session; see `logged_in`."""
    site, issued = application.site, None
    with context.using(application.database):
        current = present_user(application, user)
        if current is not None:
            proves = demands["second_factor"]
            if proves is None:
                proves = site.factors.is_needed_by(current)
            login = None if provider is None else _provider_login(application, current, provider)
            methods = PASSWORD if login is None else FEDERATED
            issued = sessions.start(
                current,
                site.tokens,
                lifetime,
                methods=f"{methods} {ONE_TIME_CODE}" if proves else methods,
                federated_login=login,
            )
        if current is None or issued is None:
            raise ValueError(f"{user!r} cannot log in: inactive or deleted.")
        session = Session.get_by_id(issued.session_id)
        arrange(application, user or current, session, demands)
        changes: dict[str, Any] = {}
        if confirmed_minutes_ago:
            changes["authenticated_at"] = Session.authenticated_at - 60 * confirmed_minutes_ago
        if minutes_left is not None:
            changes["expires_at"] = int(site.tokens.now()) + 60 * minutes_left
        if changes:
            Session.update(changes).where(Session.id == issued.session_id).execute()
    return issued.token


def _provider_login(application: AuthMiddleware, user: User, provider: str) -> ProviderLogin:
    """Return a login by the user's account at a provider; connect one if there is none."""
    issuer = require_provider(application, provider).entry.issuer
    if issuer not in [each.issuer for each in rows_of(user)]:
        connect(application, user, provider, f"account-of-{user.id}")
    row = next(each for each in rows_of(user) if each.issuer == issuer)
    now = int(application.site.tokens.now())
    return ProviderLogin(row.id, "", authenticated_at=now, asked_at=now)


def _login_cookie(application: AuthMiddleware, token: str) -> Cookie:
    """Return the cookie as WebTest stores it after a login, so that a logout removes it."""
    name = application.site.identifier.cookie_name({"wsgi.url_scheme": "http"})
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
