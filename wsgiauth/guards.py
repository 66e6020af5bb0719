"""The guards `login_required` and `permission_required`, which protect the application's views.

On the way of a request, they stand between `middleware`, which identifies the user, and the view.
"""

import functools
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any, TypeVar, cast, overload
from wsgiref.types import WSGIEnvironment

from wsgiauth import events, storage
from wsgiauth.accounts.names import check_permission
from wsgiauth.exceptions import MiddlewareMissingError
from wsgiauth.storage.connections import DATABASE_ERRORS
from wsgiauth.web.failures import failure, unavailable
from wsgiauth.web.request import prefers_html
from wsgiauth.web.responses import Response, challenge, redirect
from wsgiauth.web.urls import path_asked_for, root_url, safe_next, with_next

_App = TypeVar("_App", bound=Callable[..., Any])
_Check = Callable[[WSGIEnvironment], Response | None]


@overload
def login_required(app: _App, /) -> _App: ...
@overload
def login_required(*, redirect_url: str | None = None) -> Callable[[_App], _App]: ...
def login_required(
    app: Callable[..., Any] | None = None, /, *, redirect_url: str | None = None
) -> Callable[..., Any]:
    """Restrict a WSGI callable to logged-in users.

    Anonymous clients get 401 with `WWW-Authenticate: Bearer` (RFC 6750 section 3). With
    `redirect_url`, a browser gets 302 to it instead, for GET and HEAD with the requested path as
    `next`. A client counts as a browser if it prefers HTML and sent no Authorization header.

    Use it as `@login_required` or `@login_required(redirect_url=...)` on a function, a method, an
    instance, a class whose instances are WSGI callables, or a `wsgify`.

    Args:
        app: The WSGI callable.
        redirect_url: A path such as "/auth/login", without the SCRIPT_NAME of `AuthMiddleware`.

    Raises:
        ValueError: `redirect_url` is not such a path. Raised when decorating.
        TypeError: `app` is not callable. Raised when decorating.
        MiddlewareMissingError: There is no `AuthMiddleware` around `app`. Raised on a request.
    """
    decorate = _decorator(None, redirect_url)
    return decorate if app is None else decorate(app)


def permission_required(permission: str, redirect_url: str | None = None) -> Callable[[_App], _App]:
    """Restrict a WSGI callable to users who have `permission`.

    Anonymous clients get the response of `login_required`. Users without the permission get 403,
    never a redirect, because logging in again would not help.

    Args:
        permission: `<app>.<action>`.
        redirect_url: See `login_required`.

    Raises:
        ValueError: `permission` or `redirect_url` is malformed. Raised when decorating.
        TypeError: The decorated object is not callable. Raised when decorating.
        MiddlewareMissingError: There is no `AuthMiddleware` around it. Raised on a request.
    """
    return _decorator(check_permission(permission), redirect_url)


def ask_to_log_in(environ: WSGIEnvironment, redirect_url: str | None) -> Response:
    """Return the response to an anonymous client: the challenge, or a redirect to the login page.

    Args:
        environ: The request, with the keys that `AuthMiddleware` sets.
        redirect_url: See `login_required`.
    """
    if redirect_url is None or "HTTP_AUTHORIZATION" in environ or not prefers_html(environ):
        error = environ["wsgiauth.error"]
        return failure(
            environ,
            HTTPStatus.UNAUTHORIZED,
            error or "unauthenticated",
            "Log in to open this page.",
            headers=(challenge(error),),
        )
    is_page = environ["REQUEST_METHOD"] in ("GET", "HEAD")
    # A path that the login page would refuse is left out: percent-encoded again, it can make the
    # Location header longer than proxies accept.
    wanted = safe_next(path_asked_for(environ), "") if is_page else ""
    return redirect(HTTPStatus.FOUND, with_next(root_url(environ) + redirect_url, wanted))


class _Guarded:
    """A WSGI callable with a check before it; all other attributes are those of the callable."""

    def __init__(self, app: Callable[..., Any], check: _Check) -> None:
        functools.update_wrapper(self, app, updated=())  # `__getattr__` finds the rest
        self.__app = app
        self.__check = check

    def __call__(self, *arguments: Any) -> Iterable[bytes]:
        if len(arguments) < 2:
            raise TypeError(
                f"{self.__app!r} has a guard for WSGI callables, which take environ and"
                " start_response. In a framework's view, check environ['wsgiauth.user'] instead."
            )
        # A method that is called on its class, `Base.view(self, environ, ...)`, gets three.
        environ, start_response = arguments[-2:]
        refusal = self.__check(environ)
        if refusal is not None:
            return refusal(environ, start_response)
        app_iter: Iterable[bytes] = self.__app(*arguments)
        return app_iter

    def __get__(self, instance: object, owner: type | None = None) -> "_Guarded":
        """Bind as the wrapped callable would, so that methods can be guarded in their class."""
        bind = getattr(self.__app, "__get__", None)
        return self if bind is None else _Guarded(bind(instance, owner), self.__check)

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # not set yet while copy() builds the guard
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)


def _decorator(permission: str | None, redirect_url: str | None) -> Callable[[_App], _App]:
    # Checked like a `next`, so that a mistake here cannot redirect to another site.
    if redirect_url is not None and not (
        isinstance(redirect_url, str) and redirect_url and safe_next(redirect_url, "")
    ):
        raise ValueError(f'redirect_url must be a path such as "/auth/login", not {redirect_url!r}')

    def decorate(app: _App) -> _App:
        if not callable(app):
            raise TypeError(f"a guard needs a WSGI callable; {app!r} is not callable")

        check = functools.partial(_refusal, app, permission, redirect_url)
        if isinstance(app, type) and any("__call__" in vars(each) for each in app.__mro__):
            # The instances are the WSGI callables, so the guard goes around `__call__`.
            setattr(app, "__call__", _Guarded(app.__call__, check))  # noqa: B010 - to mypy a method
            return app
        return cast("_App", _Guarded(app, check))

    return decorate


def _refusal(
    app: object, permission: str | None, redirect_url: str | None, environ: WSGIEnvironment
) -> Response | None:
    """Return the response that refuses a request, or None if the request is allowed."""
    try:
        user = environ["wsgiauth.user"]
    except KeyError:
        raise MiddlewareMissingError(
            f"{app!r} has a guard, but no AuthMiddleware is around it:"
            " wrap the whole application, as in `application = AuthMiddleware(app)`."
        ) from None
    if user is None:
        return ask_to_log_in(environ, redirect_url)
    if permission is None:
        return None
    try:
        is_allowed = user.has_permission(permission)
    except DATABASE_ERRORS as error:
        storage.report_failure(error)
        return unavailable(environ)
    finally:
        storage.release_connection(storage.current())
    if is_allowed:
        return None
    events.emit("refused", user_id=user.id, reason=f"lacks {permission}")
    return failure(
        environ,
        HTTPStatus.FORBIDDEN,
        "forbidden",
        "Your account does not have the permission that this page requires.",
    )
