"""GET, POST /auth/register: a new account, by form or JSON."""

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import account_errors, create_user
from wsgiauth.accounts.models import User, refuse_names
from wsgiauth.authentication import sessions
from wsgiauth.endpoints import Auth, require_same_origin
from wsgiauth.endpoints.login import redirect_after_login, replace_cookie
from wsgiauth.endpoints.me import profile
from wsgiauth.endpoints.pages import RegisterPage
from wsgiauth.exceptions import RetryLaterError, ValidationError
from wsgiauth.web.request import (
    JSON,
    asks_for_json,
    content_type,
    query_field,
    read_form,
    read_json,
    text_field,
)
from wsgiauth.web.responses import Header, Response, json_response, redirect
from wsgiauth.web.urls import mount_url, safe_next, with_next

FIELDS = ("username", "email", "password")


def show(environ: WSGIEnvironment, auth: Auth) -> Response:
    """Answer with the registration page."""
    return _page(environ, auth, {"next": query_field(environ, "next")})


def submit(environ: WSGIEnvironment, auth: Auth) -> Response:
    """Create an account: JSON is answered with the profile, a form also with a login."""
    auth.hash_slots.require_patience(auth.clients.networks(environ))
    if content_type(environ) == JSON:
        return _created(environ, _create(environ, auth, read_json(environ)))
    require_same_origin(environ, auth)
    if asks_for_json(environ):
        user = _create(environ, auth, read_form(environ))
        token = sessions.start(user, auth.tokens)
        cookies = () if token is None else (replace_cookie(environ, auth, token),)
        return _created(environ, user, *cookies)
    return _register_page(environ, auth)


def _created(environ: WSGIEnvironment, user: User, *headers: Header) -> Response:
    location = ("Location", f"{mount_url(environ)}/me")
    return json_response(profile(user), status=HTTPStatus.CREATED, headers=(location, *headers))


def _register_page(environ: WSGIEnvironment, auth: Auth) -> Response:
    fields = read_form(environ)
    try:
        user = _create(environ, auth, fields)
    except ValidationError as error:
        return _page(environ, auth, fields, errors=error.errors, status=error.status)
    except RetryLaterError as error:
        return _page(
            environ,
            auth,
            fields,
            message=error.detail,
            status=error.status,
            headers=error.headers,
        )
    token = sessions.start(user, auth.tokens)
    wanted = text_field(fields, "next")
    if token is None:  # deactivated in the same moment: the account exists, its login does not
        return redirect(HTTPStatus.SEE_OTHER, f"{mount_url(environ)}/login")
    return redirect_after_login(environ, auth, token, wanted)


def _create(environ: WSGIEnvironment, auth: Auth, fields: dict[str, Any]) -> User:
    username, email, password = (text_field(fields, name) for name in FIELDS)
    networks = auth.clients.networks(environ)
    attempt = auth.throttle.registration(networks)
    errors = account_errors(username, email, password, settings=auth.settings)
    if errors:
        if not {"username", "email"} <= errors.keys():
            attempt.begin()  # the answer says whether the other name is taken
        refuse_names({"username": username, "email": email}, errors)
    with auth.hash_slots.slot(attempt.claim):
        attempt.begin()  # counted even if a name is taken, or names could be tried without end
        user = create_user(username, email, password, settings=auth.settings)
    auth.throttle.recognise(user, networks)
    return user


def _page(
    environ: WSGIEnvironment,
    auth: Auth,
    fields: dict[str, str],
    *,
    message: str = "",
    errors: Mapping[str, list[str]] = MappingProxyType({}),
    status: HTTPStatus = HTTPStatus.OK,
    headers: tuple[Header, ...] = (),
) -> Response:
    """Return the form as it was sent, less the password, with its messages if it was refused."""
    destination = safe_next(fields.get("next", ""), "")
    page = RegisterPage(
        register_url=f"{mount_url(environ)}/register",
        login_url=with_next(f"{mount_url(environ)}/login", destination),
        password_min_length=auth.settings.PASSWORD_MIN_LENGTH,
        focused=next((name for name in FIELDS if name in errors), FIELDS[0]),
        next=destination,
        username=fields.get("username", ""),
        email=fields.get("email", ""),
        message=message,
        errors=errors,
    )
    return auth.pages.render(page, status=status, headers=headers)
