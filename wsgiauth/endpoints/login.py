"""GET, POST /auth/login: the page, the form behind it, and the JSON exchange of a token."""

from functools import partial
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth import events, sessions
from wsgiauth.authentication import authenticate
from wsgiauth.endpoints import Auth, require_same_origin
from wsgiauth.exceptions import RetryLaterError
from wsgiauth.request import JSON, content_type, query_field, read_form, read_json, text_field
from wsgiauth.responses import Header, Response, challenge, json_response, problem, redirect
from wsgiauth.urls import leads_to, mount_url, root_url, safe_next, with_next

REFUSAL = "The username and password do not match an active account."


def show(environ: WSGIEnvironment, auth: Auth) -> Response:
    """Answer with the login page."""
    return _page(environ, auth, query_field(environ, "next"))


def submit(environ: WSGIEnvironment, auth: Auth) -> Response:
    """Log in: JSON is answered with a token, the form with a cookie."""
    if content_type(environ) == JSON:
        return _exchange(environ, auth)
    require_same_origin(environ, auth)
    return _log_in(environ, auth)


def _exchange(environ: WSGIEnvironment, auth: Auth) -> Response:
    fields = read_json(environ)
    username, password = text_field(fields, "username"), text_field(fields, "password")
    token = _start_session(environ, auth, username, password)
    if token is None:
        return problem(
            HTTPStatus.UNAUTHORIZED, "invalid_credentials", REFUSAL, headers=(challenge(None),)
        )
    return json_response(
        {"access_token": token, "token_type": "bearer", "expires_in": auth.tokens.lifetime}
    )


def _log_in(environ: WSGIEnvironment, auth: Auth) -> Response:
    fields = read_form(environ)
    wanted, username = text_field(fields, "next"), text_field(fields, "username")
    page = partial(_page, environ, auth, wanted, username=username)
    try:
        token = _start_session(environ, auth, username, text_field(fields, "password"))
    except RetryLaterError as error:
        return page(message=error.detail, status=error.status, headers=error.headers)
    if token is None:
        return page(message=REFUSAL, status=HTTPStatus.UNAUTHORIZED, headers=(challenge(None),))
    return send_on(environ, auth, token, wanted)


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


def send_on(environ: WSGIEnvironment, auth: Auth, token: str, wanted: str) -> Response:
    """Return the redirect of a browser that has just logged in, with its cookie.

    The session that its cookie belonged to until now is ended (ASVS 5.0, 7.2.4).

    Args:
        environ: The request.
        auth: See `Auth`.
        token: The new session's.
        wanted: Where the browser asked to be sent; checked here.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    previous = auth.identifier.identify(environ)
    if previous.user is not None and previous.session_id is not None:
        sessions.end(previous.session_id, previous.user)
    home = f"{root_url(environ)}/"
    destination = safe_next(wanted, home)
    if leads_to(destination, f"{mount_url(environ)}/logout"):
        destination = home  # a prepared link would log everybody out who logs in by it
    cookie = auth.identifier.remember(environ, token)
    return redirect(HTTPStatus.SEE_OTHER, destination, headers=(cookie,))


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
    values = {
        "login_url": f"{mount_url(environ)}/login",
        "register_url": with_next(f"{mount_url(environ)}/register", destination),
        "register_hidden": "" if auth.settings.REGISTRATION else "hidden",
        "next": destination,
        "username": username,
        "message": message,
        "username_autofocus": "" if username else "autofocus",
        "password_autofocus": "autofocus" if username else "",
    }
    return auth.pages.render("login", values, status=status, headers=headers)
