"""`login_required` and `permission_required`: may this caller enter this view?

The middleware has said who is calling; for the wrapped application's views, here is where that
decides anything, and where an unknown caller becomes a 401.
"""

import functools
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any, TypeVar, cast, overload
from wsgiref.types import WSGIEnvironment

from wsgiauth import events, storage
from wsgiauth.accounts.names import check_permission
from wsgiauth.exceptions import MiddlewareMissingError
from wsgiauth.storage.connections import FAILURES
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
    """Let only identified callers into a WSGI callable.

    Others get 401 with `WWW-Authenticate: Bearer` (RFC 6750 section 3). With `redirect_url`, a
    browser gets 302 to it instead, with the path that it asked for as `next`. "Browser" is who
    prefers HTML and sent no Authorization header; `next` is only for GET and HEAD.

    Used bare, `@login_required`, or with its option, `@login_required(redirect_url=...)`, around a
    function, a method, an instance, a class whose instances are called, or a `wsgify`.

    Args:
        app: The WSGI callable.
        redirect_url: A path below where `AuthMiddleware` is mounted, such as "/auth/login".

    Raises:
        ValueError: `redirect_url` is not such a path. Raised when decorating.
        TypeError: `app` cannot be called. Raised when decorating.
        MiddlewareMissingError: There is no `AuthMiddleware` in front. Raised on a request.
    """
    decorate = _decorator(None, redirect_url)
    return decorate if app is None else decorate(app)


def permission_required(permission: str, redirect_url: str | None = None) -> Callable[[_App], _App]:
    """Let only callers who hold `permission` into a WSGI callable.

    Callers who are not identified are treated as by `login_required`. Those who are but lack the
    permission get 403, never a redirect: logging in again would not help them.

    Args:
        permission: `<app>.<action>`.
        redirect_url: See `login_required`.

    Raises:
        ValueError: `permission` or `redirect_url` is not of its form. Raised when decorating.
        TypeError: What is decorated cannot be called. Raised when decorating.
        MiddlewareMissingError: There is no `AuthMiddleware` in front. Raised on a request.
    """
    return _decorator(check_permission(permission), redirect_url)


def ask_to_log_in(environ: WSGIEnvironment, redirect_url: str | None) -> Response:
    """Return the answer to a caller who is not identified: the challenge, or the redirect.

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
    # What the login page would refuse is not sent there: a Location that is five times as long as
    # the path is more than proxies accept.
    wanted = safe_next(path_asked_for(environ), "") if is_page else ""
    return redirect(HTTPStatus.FOUND, with_next(root_url(environ) + redirect_url, wanted))


class _Guarded:
    """A WSGI callable behind a check; in everything else it stands for what it wraps."""

    def __init__(self, app: Callable[..., Any], check: _Check) -> None:
        functools.update_wrapper(self, app, updated=())  # `__getattr__` finds the rest, as it is
        self.__app = app
        self.__check = check

    def __call__(self, *arguments: Any) -> Iterable[bytes]:
        if len(arguments) < 2:
            raise TypeError(
                f"{self.__app!r} is guarded as a WSGI callable, which is called with environ and"
                " start_response. In a framework's view, ask environ['wsgiauth.user'] instead."
            )
        # A method called on its class, `Base.view(self, environ, start_response)`, has three.
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
        if name == "__wrapped__":  # not there yet, while the guard is being copied
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)


def _decorator(permission: str | None, redirect_url: str | None) -> Callable[[_App], _App]:
    # Checked as a `next` is: a path of this site, so that no mistake here sends anybody elsewhere.
    if redirect_url is not None and not (
        isinstance(redirect_url, str) and redirect_url and safe_next(redirect_url, "")
    ):
        raise ValueError(f'redirect_url must be a path such as "/auth/login"; not {redirect_url!r}')

    def decorate(app: _App) -> _App:
        if not callable(app):
            raise TypeError(f"a guard wraps a WSGI callable; {app!r} cannot be called")

        check = functools.partial(_refusal, app, permission, redirect_url)
        if isinstance(app, type) and any("__call__" in vars(each) for each in app.__mro__):
            # Its instances are the WSGI callables, so they are what is guarded.
            setattr(app, "__call__", _Guarded(app.__call__, check))  # noqa: B010 - to mypy a method
            return app
        return cast("_App", _Guarded(app, check))

    return decorate


def _refusal(
    app: object, permission: str | None, redirect_url: str | None, environ: WSGIEnvironment
) -> Response | None:
    """Return the answer to a caller who may not enter, or None for one who may."""
    try:
        user = environ["wsgiauth.user"]
    except KeyError:
        raise MiddlewareMissingError(
            f"{app!r} is guarded, but no AuthMiddleware is in front of it:"
            " wrap the whole application, as in `application = AuthMiddleware(app)`."
        ) from None
    if user is None:
        return ask_to_log_in(environ, redirect_url)
    if permission is None:
        return None
    try:
        is_allowed = user.has_permission(permission)
    except FAILURES as error:
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
