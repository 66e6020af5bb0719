"""Logins, for endpoints and for the application's own views: the password, then the session.

The first functions are public. Wherever a password could be guessed, `checking` counts the attempt
and takes a hash slot, or raises `RetryLaterError`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any
from wsgiref.types import WSGIEnvironment

from wsgiauth import authentication, storage
from wsgiauth.accounts.former import FormerPasswords
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import typed
from wsgiauth.accounts.tables import METHODS_MAX_LENGTH
from wsgiauth.authentication import lifetimes, sessions
from wsgiauth.authentication.federated_logins import FederatedLogin
from wsgiauth.authentication.identity import COOKIE, LACKING, set_caller
from wsgiauth.authentication.methods import PASSWORD
from wsgiauth.authentication.tokens import IssuedTokens
from wsgiauth.events import actors
from wsgiauth.exceptions import MiddlewareMissingError
from wsgiauth.site import Site
from wsgiauth.throttling.attempts import PasswordAttempt
from wsgiauth.web.clients import Client
from wsgiauth.web.readers import CHOSEN
from wsgiauth.web.responses import Header

FOLLOW = "wsgiauth.follow"  # in the environ; see `_change_caller`

_METHODS = re.compile(rf"(?=.{{1,{METHODS_MAX_LENGTH}}}$)[a-z0-9]+( [a-z0-9]+)*")

_ISSUED = "wsgiauth.issued"  # in the environ: the tokens that `log_in` issued in this request

# An application's own headers can permit caches to keep the response (RFC 9111 section 5.2.2.5).
_NO_STORE = ("Cache-Control", "no-store")


def authenticate(environ: WSGIEnvironment, username: str, password: str) -> User | None:
    """Return the active user with this name and password, or None; throttled like /auth/login.

    It starts no session: call `log_in` next. Not defended: it asks for no second factor, and
    `log_in` without a method that proves one starts a session by the password alone. Where
    SECOND_FACTOR demands one, that session is anonymous until it is proven; elsewhere, only guards
    with `second_factor` or `fresh` ask for it. It does not refuse the forms of other sites.

    Args:
        environ: The request, as `AuthMiddleware` passed it to the application.
        username: The username or email address, as typed.
        password: As typed.

    Returns:
        The user, or None for every failure.

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
    """Return all claims of the token that identifies the caller; after `log_in`, of the new one.

    They include the application's own claims, by which wsgiauth decides nothing. They are as old as
    the token: a fact that must be true now belongs in a permission or a table.

    Args:
        environ: The request, as `AuthMiddleware` passed it to the application.

    Returns:
        The claims by name; none if the client is anonymous, has logged out, or sent an API key.

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
    """Return the language of wsgiauth's pages in the response to this request.

    It comes from the user who sent the request, the language cookie or Accept-Language, otherwise
    it is the site's default.

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
    caller. If the session lacks something that the site demands, such as a second factor, the user
    stays anonymous, and a guard sends the browser to the page that leads on. Not defended: it
    neither limits guesses, as `authenticate` does, nor refuses the forms of other sites.

    Args:
        environ: The request, as `AuthMiddleware` passed it to the application.
        user: The user, as read before the password was verified.
        methods: How the user proved their identity: names of RFC 8176 section 2, space-separated.
        remember: Whether the session outlives the browser window, as with "Keep me logged in".

    Returns:
        The headers to add to the response, which set the cookie and keep the response out of
        caches; or None, without any effect, if the user is inactive or has just changed.

    Raises:
        MiddlewareMissingError: There is no `AuthMiddleware` around the application.
        TypeError: `user` is not a `User`.
        ValueError: `user` is of another application, or was identified by an API key; or
            `methods` is malformed.
        ApplicationError: The application's `claims` function, or a demand of a feature, failed;
            nothing has changed.
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
    lacking = site.identifier.lacking_session(issued.token)
    if lacking is None:
        _change_caller(environ, user, issued.session_id, auth_type=COOKIE)
        environ[_ISSUED] = issued
    else:
        _change_caller(environ, error=lacking.demand.error)
        environ[LACKING] = lacking
    return [*login_cookies(environ, site, issued), _NO_STORE]


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
    identifier = site.identifier
    former = identifier.expired_former_cookie(environ)
    return [identifier.expired_cookie(environ), *former, _NO_STORE]


def check_user(user: object) -> None:
    """Raise TypeError or ValueError for a user who cannot start a session of this application.

    In another application, another user may have the same id.
    """
    if not isinstance(user, User):
        raise TypeError(f"user must be a User of wsgiauth, not {user!r}")
    if user.database not in (None, storage.current()):
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
    federated_login: FederatedLogin | None = None,
    is_permitted: Callable[[], bool] | None = None,
) -> IssuedTokens | None:
    """Start the session of a browser; see `sessions.start`."""
    lifetime = lifetimes.of_browser(site.settings, remember=remember)
    readers = site.pages.readers
    client = Client.of(environ, readers.name_asked_for(environ), readers.name_chosen(environ))
    return sessions.start(
        user,
        site.tokens,
        lifetime,
        methods=methods,
        client=client,
        federated_login=federated_login,
        is_permitted=is_permitted,
        of_site=site.sessions,
    )


def login_cookies(environ: WSGIEnvironment, site: Site, issued: IssuedTokens) -> tuple[Header, ...]:
    """Return the headers that a login adds, which has stored a chosen language."""
    cookie = login_cookie(environ, site, issued)
    if not site.identifier.sent_cookie(environ, CHOSEN):
        return (cookie,)
    return (cookie, site.identifier.own_cookie(environ, CHOSEN, ""))


def login_cookie(environ: WSGIEnvironment, site: Site, issued: IssuedTokens) -> Header:
    """Return the header with the cookie of a browser's session."""
    left = issued.ends_at - int(site.tokens.now())
    # Without Max-Age, a browser forgets the cookie when it is closed. The clocks of two hosts can
    # differ by a minute.
    is_remembered = left > site.settings.SESSION_HOURS * lifetimes.HOUR + lifetimes.MINUTE
    return site.identifier.login_cookie(environ, issued.token, left if is_remembered else None)


def check_password(site: Site, networks: tuple[str, ...], name: str, password: str) -> User | None:
    """Return the user with this username or email address if the password is right, or None."""
    if not site.settings.PASSWORD_LOGIN:
        return None
    name = typed(name)  # for the count, too
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
    """Count an attempt, compare, and hold the hash slot for the `with` block, too."""
    with site.hash_slots.slot(attempt.claim):
        attempt.begin()
        try:
            user = compare(rounds=site.settings.BCRYPT_ROUNDS, former=site.part(FormerPasswords))
        except MemoryError:  # no password was compared
            attempt.withdraw()
            raise
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
    """Call `set_caller`, and the function of an adapter that keeps the user elsewhere."""
    set_caller(environ, *caller, **further)
    if FOLLOW in environ:
        environ[FOLLOW]()


def _end_session(environ: WSGIEnvironment, site: Site) -> None:
    user, session_id = environ["wsgiauth.user"], environ["wsgiauth.session"]
    if environ["wsgiauth.error"] in site.admission.errors:
        session = environ.pop(LACKING, None) or site.identifier.identify_anyway(environ).any_session
        user, session_id = session[:2] if session else (None, None)
    if user is not None and session_id is not None:
        sessions.revoke(session_id, user)
