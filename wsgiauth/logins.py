"""Logins, for endpoints and for the application's own views: the password, then the session.

`authenticate`, `current_user`, `log_in` and `log_out` are public: an application's own login and
logout call them, so that the session of wsgiauth starts and ends with the application's. `claims`
is public, too.

Wherever a password could be guessed, `checking` counts the attempt and takes a hash slot. Its users
raise `RetryLaterError` if the attempt must wait.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any
from wsgiref.types import WSGIEnvironment

from wsgiauth import authentication, storage
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import typed
from wsgiauth.accounts.tables import METHODS_MAX_LENGTH
from wsgiauth.authentication import lifetimes, sessions
from wsgiauth.authentication.identity import COOKIE, set_caller
from wsgiauth.authentication.methods import PASSWORD
from wsgiauth.authentication.origins import Origin
from wsgiauth.authentication.second_factors import meets_demand
from wsgiauth.authentication.tokens import IssuedTokens
from wsgiauth.events import actors
from wsgiauth.exceptions import INSUFFICIENT_AUTHENTICATION, MiddlewareMissingError
from wsgiauth.site import Site
from wsgiauth.throttling.attempts import PasswordAttempt
from wsgiauth.web.clients import Client
from wsgiauth.web.responses import Header

FOLLOW = "wsgiauth.follow"  # in the environ; see `_change_caller`

_METHODS = re.compile(rf"(?=.{{1,{METHODS_MAX_LENGTH}}}$)[a-z0-9]+( [a-z0-9]+)*")

# The key of `environ` with what `log_in` issued in this request, whose headers have the old token.
_ISSUED = "wsgiauth.issued"

# The response belongs to one browser, and an application's own headers can permit caches to keep it
# (RFC 9111 section 5.2.2.5).
_NO_STORE = ("Cache-Control", "no-store")


def authenticate(environ: WSGIEnvironment, username: str, password: str) -> User | None:
    """Return the active user with this name and password, or None; throttled like /auth/login.

    The attempt is counted for the name and the client, and the hash waits for a slot. It starts no
    session: `log_in` does, and is the caller's next step. Not defended: a second factor is not
    asked for, and `log_in` without a method that proves it starts a session by the password alone.
    Where SECOND_FACTOR demands one, that session is anonymous until it is proven; elsewhere, only
    guards with `second_factor` or `fresh` ask for it. Nor are the forms of other sites refused.

    Args:
        environ: The request, as `AuthMiddleware` passed it to the application.
        username: The username or email address, as typed.
        password: As typed.

    Returns:
        The user, or None for every failure, without saying which.

    Raises:
        RetryLaterError: The attempt must wait, or no slot is free. `status` (429 or 503), `headers`
            (with Retry-After) and `detail` are for the response.
        MiddlewareMissingError: There is no `AuthMiddleware` around the application.
        peewee.DatabaseError: The database failed.
    """
    site = _site_of(environ, "authenticate")
    if not (username and password):
        return None
    networks = site.clients.networks(environ)
    site.hash_slots.require_patience(networks)
    return check_password(site, networks, username, password)


def current_user(environ: WSGIEnvironment) -> User | None:
    """Return the user who sent this request, or None if the client is anonymous.

    Args:
        environ: The request, as `AuthMiddleware` passed it to the application.

    Raises:
        MiddlewareMissingError: There is no `AuthMiddleware` around the application.
    """
    _site_of(environ, "current_user")
    user: User | None = environ["wsgiauth.user"]
    return user


def claims(environ: WSGIEnvironment) -> Mapping[str, Any]:
    """Return all claims of the access token of this request, also those of the application.

    Of the token that identifies the caller; after `log_in`, of the new one. wsgiauth decides
    nothing by the application's claims. They are as old as the token: what must be true now belongs
    in a permission or a table.

    Args:
        environ: The request, as `AuthMiddleware` passed it to the application.

    Returns:
        The claims by name, decoded anew in each call; nothing if the client is anonymous, has
        logged out, or came with an API key.

    Raises:
        MiddlewareMissingError: There is no `AuthMiddleware` around the application.
    """
    site = _site_of(environ, "claims")
    session_id, issued = environ["wsgiauth.session"], environ.get(_ISSUED)
    if session_id is None:
        return {}
    if isinstance(issued, IssuedTokens) and issued.session_id == session_id:
        return site.tokens.all_claims(issued.token)
    found = site.tokens.all_claims(site.identifier.session_token(environ) or "")
    return found if found.get("jti") == session_id else {}


def reader_language(environ: WSGIEnvironment) -> str:
    """Return the language that a page of wsgiauth has in the response to this request.

    For pages of the application in the same language. It is that of the user who sent the request,
    of the language's cookie or of Accept-Language, otherwise the site's default.

    Args:
        environ: The request, as `AuthMiddleware` passed it to the application.

    Returns:
        The tag of a language of the site (RFC 5646), such as `de` or `pt-BR`.

    Raises:
        MiddlewareMissingError: There is no `AuthMiddleware` around the application.
    """
    site = _site_of(environ, "reader_language")
    return site.pages.readers.language(environ).name


def log_in(
    environ: WSGIEnvironment, user: User, *, methods: str = PASSWORD, remember: bool = False
) -> list[Header] | None:
    """Start a session of the browser that sent this request, and end the one that it had.

    For a view that has verified who the user is. It changes the keys of `environ` that name the
    caller. Where SECOND_FACTOR demands a second factor and `methods` have none, the user stays
    anonymous, and a guard sends the browser to set one up, or to enter a code. Not defended: unlike
    /auth/login, it neither limits guesses, as `authenticate` does, nor refuses the forms of other
    sites; the view has to do so.

    Args:
        environ: The request, as `AuthMiddleware` passed it to the application.
        user: The user, as read before the password was verified.
        methods: How the user proved who they are: names of RFC 8176 section 2, between spaces.
        remember: Whether the session outlives the browser window, as with "Keep me logged in".

    Returns:
        The headers to add to the response, which set the cookie and keep the response out of
        caches; or None, without any effect, if the user is inactive or has just changed.

    Raises:
        MiddlewareMissingError: There is no `AuthMiddleware` around the application.
        TypeError: `user` is not a `User`.
        ValueError: `user` is of another application, or was identified by an API key; or
            `methods` is malformed.
        ClaimsError: The application's `claims` function failed; nothing has changed.
        peewee.DatabaseError: The database failed.
    """
    site = _site_of(environ, "log_in")
    if not _METHODS.fullmatch(methods):
        raise ValueError(f'methods must be names of RFC 8176 such as "pwd otp", not {methods!r}')
    check_user(user)
    with actors.acting(actors.OWNER):
        issued = start_browser_session(environ, site, user, methods=methods, remember=remember)
    if issued is None:
        return None
    _end_session(environ, site)
    if meets_demand(user, methods, site.settings):
        _change_caller(environ, user, issued.session_id, auth_type=COOKIE)
        environ[_ISSUED] = issued
    else:
        _change_caller(environ, error=INSUFFICIENT_AUTHENTICATION)
    return [login_cookie(environ, site, issued), _NO_STORE]


def log_out(environ: WSGIEnvironment) -> list[Header]:
    """End the session of this request, and make its caller anonymous in `environ`.

    Args:
        environ: The request, as `AuthMiddleware` passed it to the application.

    Returns:
        The headers to add to the response, which delete the cookie and keep the response out of
        caches. The list is empty if there is no session, or if another site's form sent the cookie.

    Raises:
        MiddlewareMissingError: There is no `AuthMiddleware` around the application.
        peewee.DatabaseError: The database failed.
    """
    site = _site_of(environ, "log_out")
    if environ["wsgiauth.user"] is None and environ["wsgiauth.error"] is None:
        return []
    _end_session(environ, site)
    _change_caller(environ)
    return [site.identifier.expired_cookie(environ), _NO_STORE]


def check_user(user: object) -> None:
    """Refuse what is not a user of the current database, or was identified by an API key.

    Raises:
        TypeError: `user` is not a `User`.
        ValueError: It is a user of another application, where another user may have its id, or one
            that an API key identified.
    """
    if not isinstance(user, User):
        raise TypeError(f"user must be a User of wsgiauth, not {user!r}")
    if user.origin not in (None, storage.current()):
        raise ValueError(f"{user!r} is a user of another application.")
    if user.is_limited:  # a session can do more than the key
        raise ValueError(f"{user!r} was identified by an API key, which starts no session.")


def start_browser_session(
    environ: WSGIEnvironment,
    site: Site,
    user: User,
    *,
    methods: str = PASSWORD,
    remember: bool,
    origin: Origin | None = None,
) -> IssuedTokens | None:
    """Start the session of a browser, whose end moves while it is used; see `log_in`.

    Returns:
        None if the user is inactive or has changed.
    """
    lifetime = lifetimes.of_browser(site.settings, remember=remember)
    client = Client.of(environ, site.pages.readers.name_asked_for(environ))
    return sessions.start(
        user, site.tokens, lifetime, methods=methods, client=client, origin=origin
    )


def login_cookie(environ: WSGIEnvironment, site: Site, issued: IssuedTokens) -> Header:
    """Return the header with the cookie of a browser's session."""
    left = issued.ends_at - int(site.tokens.now())
    # Without Max-Age, a browser forgets the cookie when it is closed.
    # A minute more, because the clocks of two hosts can differ.
    is_remembered = left > site.settings.SESSION_HOURS * lifetimes.HOUR + lifetimes.MINUTE
    return site.identifier.login_cookie(environ, issued.token, left if is_remembered else None)


def check_password(site: Site, networks: tuple[str, ...], name: str, password: str) -> User | None:
    """Return the user with this username or email address if the password is right, or None."""
    name = typed(name)  # what is counted is the same name
    attempt = site.throttle.login(name, networks)
    compare = partial(authentication.authenticate, name, password, on_failure=attempt.failed)
    with checking(site, networks, attempt, compare) as user:
        return user


@contextmanager
def checking(
    site: Site,
    networks: tuple[str, ...],
    attempt: PasswordAttempt,
    compare: Callable[..., User | None],
) -> Iterator[User | None]:
    """Count an attempt, compare in a hash slot, and hold the slot in the `with` block."""
    with site.hash_slots.slot(attempt.claim):
        attempt.begin()
        user = compare(rounds=site.settings.BCRYPT_ROUNDS)
        yield user
    if user is None:
        return
    attempt.succeeded()
    if not site.factors.is_needed_by(user):  # otherwise a right code makes the client known
        site.throttle.recognise(user, networks)


def _site_of(environ: WSGIEnvironment, function: str) -> Site:
    site: Site | None = environ.get("wsgiauth.site")
    if site is None:
        raise MiddlewareMissingError(
            f"There is no AuthMiddleware around the application, and {function} needs it:"
            " wrap the whole application, as in `application = AuthMiddleware(app)`."
        )
    return site


def _change_caller(environ: WSGIEnvironment, *caller: Any, **further: Any) -> None:
    """Call `set_caller`, and the function of an adapter that keeps the user in another place."""
    set_caller(environ, *caller, **further)
    if FOLLOW in environ:
        environ[FOLLOW]()


def _end_session(environ: WSGIEnvironment, site: Site) -> None:
    user, session_id = environ["wsgiauth.user"], environ["wsgiauth.session"]
    if environ["wsgiauth.error"] == INSUFFICIENT_AUTHENTICATION:
        user, session_id = site.identifier.identify(environ).any_session or (None, None)
    if user is not None and session_id is not None:
        sessions.revoke(session_id, user)
