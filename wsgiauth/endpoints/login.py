"""GET, POST /auth/login: the page, its form, and the JSON exchange of a password for a token."""

from functools import partial
from http import HTTPStatus
from typing import Any
from wsgiref.types import WSGIEnvironment

from wsgiauth import events
from wsgiauth.accounts.models import User
from wsgiauth.authentication import authenticate, sessions
from wsgiauth.authentication.identity import bearer_token
from wsgiauth.endpoints import Auth, require_same_origin
from wsgiauth.endpoints.pages import LoggedInPage, LoginPage
from wsgiauth.exceptions import RetryLaterError, ValidationError
from wsgiauth.web.failures import SWITCH
from wsgiauth.web.request import (
    JSON,
    asks_for_json,
    content_type,
    query_field,
    read_form,
    read_json,
    text_field,
)
from wsgiauth.web.responses import Header, Response, challenge, json_response, problem, redirect
from wsgiauth.web.urls import leads_to, mount_url, root_url, safe_next, with_next

REFUSAL = "The username and password do not match an active account."


def show(environ: WSGIEnvironment, auth: Auth) -> Response:
    """Answer with the form, or tell a user who is logged in so, unless `switch` is in the query.

    A request with a credential needs the database, and gets 503 without it, as everywhere.
    """
    wanted = query_field(environ, "next")
    user = None if query_field(environ, SWITCH) else auth.identifier.identify(environ).user
    if user is None:
        return _page(environ, auth, wanted)
    return _logged_in_page(environ, auth, user, wanted)


def submit(environ: WSGIEnvironment, auth: Auth) -> Response:
    """Log in: JSON is answered with a token; a form with a cookie, and a redirect or JSON."""
    auth.hash_slots.require_patience(auth.clients.networks(environ))
    if content_type(environ) == JSON:
        return _exchange(environ, auth)
    require_same_origin(environ, auth)
    if asks_for_json(environ):
        return _log_in_script(environ, auth)
    return _log_in_page(environ, auth)


def _exchange(environ: WSGIEnvironment, auth: Auth) -> Response:
    token = _start_session(environ, auth, *_credentials(read_json(environ)))
    if token is None:
        return _refusal()
    if bearer_token(environ.get("HTTP_AUTHORIZATION", "")) is not None:
        # The new token replaces the one that was sent. The browser's cookie is not replaced, so a
        # script that fetches a token does not log the user out of the pages.
        _end_previous_session(environ, auth)
    return json_response(
        {"access_token": token, "token_type": "bearer", "expires_in": auth.tokens.lifetime}
    )


def _log_in_script(environ: WSGIEnvironment, auth: Auth) -> Response:
    """Log in for a script of this site: it gets JSON and never sees the token."""
    fields = read_form(environ)
    wanted = text_field(fields, "next")
    token = _start_session(environ, auth, *_credentials(fields))
    if token is None:
        return _refusal()
    cookie = replace_cookie(environ, auth, token)
    document = {"detail": "Logged in.", "next": _destination(environ, wanted)}
    return json_response(document, headers=(cookie,))


def _log_in_page(environ: WSGIEnvironment, auth: Auth) -> Response:
    fields = read_form(environ)
    wanted, username = text_field(fields, "next"), text_field(fields, "username")
    page = partial(_page, environ, auth, wanted, username=username)
    try:
        token = _start_session(environ, auth, *_credentials(fields))
    except ValidationError as error:
        return page(message=str(error), status=error.status)
    except RetryLaterError as error:
        return page(message=error.detail, status=error.status, headers=error.headers)
    if token is None:
        return page(message=REFUSAL, status=HTTPStatus.UNAUTHORIZED, headers=(challenge(None),))
    return redirect_after_login(environ, auth, token, wanted)


def _credentials(fields: dict[str, Any]) -> tuple[str, str]:
    """Return the name and the password, of which neither is missing or empty."""
    username, password = text_field(fields, "username"), text_field(fields, "password")
    errors = {}
    if not username:
        errors["username"] = ["Enter your username or e-mail address."]
    if not password:
        errors["password"] = ["Enter your password."]
    if errors:
        raise ValidationError(errors)
    return username, password


def _refusal() -> Response:
    return problem(
        HTTPStatus.UNAUTHORIZED, "invalid_credentials", REFUSAL, headers=(challenge(None),)
    )


def _start_session(environ: WSGIEnvironment, auth: Auth, name: str, password: str) -> str | None:
    networks = auth.clients.networks(environ)
    attempt = auth.throttle.login(name, networks)
    with auth.hash_slots.slot(attempt.claim):
        attempt.begin()
        user = authenticate(name, password, rounds=auth.settings.BCRYPT_ROUNDS)
    if user is None:
        return None
    attempt.succeeded()
    auth.throttle.recognise(user, networks)
    token = sessions.start(user, auth.tokens)
    if token is None:
        events.emit("login_failed", user_id=user.id, reason="changed meanwhile")
    return token


def redirect_after_login(environ: WSGIEnvironment, auth: Auth, token: str, wanted: str) -> Response:
    """Return the redirect of a browser that has just logged in, with its cookie.

    Args:
        environ: The request.
        auth: See `Auth`.
        token: The new session's.
        wanted: The `next` of the request; checked here.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    cookie = replace_cookie(environ, auth, token)
    return redirect(HTTPStatus.SEE_OTHER, _destination(environ, wanted), headers=(cookie,))


def replace_cookie(environ: WSGIEnvironment, auth: Auth, token: str) -> Header:
    """Return the header with the cookie of a new session, and end the previous one.

    ASVS 5.0, 7.2.4: a new login ends the login that the request still carries.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    _end_previous_session(environ, auth)
    return auth.identifier.login_cookie(environ, token)


def _end_previous_session(environ: WSGIEnvironment, auth: Auth) -> None:
    previous = auth.identifier.identify(environ)
    if previous.user is not None and previous.session_id is not None:
        sessions.end(previous.session_id, previous.user)


def _destination(environ: WSGIEnvironment, wanted: str) -> str:
    """Return `wanted` if it is a path of this site that a login can lead to, or the home page."""
    home = f"{root_url(environ)}/"
    destination = safe_next(wanted, home)
    mount = mount_url(environ)
    # By a prepared link, the logout would end every login at once; the login page is a dead end.
    if leads_to(destination, f"{mount}/logout") or leads_to(destination, f"{mount}/login"):
        return home
    return destination


def _logged_in_page(environ: WSGIEnvironment, auth: Auth, user: User, wanted: str) -> Response:
    """Return the page that says who is logged in, with the ways on and out."""
    login, logout = f"{mount_url(environ)}/login", f"{mount_url(environ)}/logout"
    page_asked_for = safe_next(wanted, "")
    page = LoggedInPage(
        username=user.username,
        continue_url=_destination(environ, wanted),
        switch_url=with_next(f"{login}?{SWITCH}=1", page_asked_for),
        logout_url=with_next(logout, with_next(login, page_asked_for) if page_asked_for else ""),
        # Applications send users who lack a permission here, with the page as `next`.
        was_sent_here=bool(page_asked_for),
    )
    return auth.pages.render(page)


def _page(
    environ: WSGIEnvironment,
    auth: Auth,
    wanted: str,
    *,
    username: str = "",
    message: str = "",
    status: HTTPStatus = HTTPStatus.OK,
    headers: tuple[Header, ...] = (),
) -> Response:
    """Return the form, as it was sent and with the reason if it was refused."""
    destination = safe_next(wanted, "")
    register_url = with_next(f"{mount_url(environ)}/register", destination)
    page = LoginPage(
        login_url=f"{mount_url(environ)}/login",
        register_url=register_url if auth.settings.REGISTRATION else None,
        next=destination,
        username=username,
        message=message,
    )
    return auth.pages.render(page, status=status, headers=headers)
