"""The guards `login_required` and `permission_required`, and those of features, around views.

They refuse every call that is not WSGI's. A framework calls some views without their guard: a
function whose guard is above its route, and the methods of a class. So they also refuse to decorate
an object that is certainly no WSGI callable.
"""

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from inspect import Parameter
from types import FunctionType, MethodType
from typing import Any, TypeVar, cast, overload
from wsgiref.types import WSGIEnvironment

from wsgiauth.access import Guard
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import check_permission
from wsgiauth.web.responses import Response

_App = TypeVar("_App", bound=Callable[..., Any])
_Check = Callable[[WSGIEnvironment], Response | None]

# The first two names of parameters. The environ of a WSGI callable can be called `request`, too.
_NAMES_OF_A_VIEW = re.compile(
    r"(req|request) (?!_*(start|respond|sr))|(id|pk|slug|\w*_id) |\w+ (req|request)$"
)
_FUNCTIONS = (FunctionType, MethodType)
_NAMED = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


@overload
def login_required(app: _App, /) -> _App: ...
@overload
def login_required(
    *, redirect_url: str | None = None, fresh: bool = False, second_factor: bool = False
) -> Callable[[_App], _App]: ...
def login_required(
    app: Callable[..., Any] | None = None,
    /,
    *,
    redirect_url: str | None = None,
    fresh: bool = False,
    second_factor: bool = False,
) -> Callable[..., Any]:
    """Restrict a WSGI callable to logged-in users.

    Anonymous clients get 401 with `WWW-Authenticate: Bearer` (RFC 6750 section 3). With
    `redirect_url`, a browser gets 302 to it instead, for GET and HEAD with the requested path as
    `next`. A client counts as a browser if it prefers HTML and sent no Authorization header, and is
    no script of a page (`Sec-Fetch-Mode: cors`, or `X-Requested-With: XMLHttpRequest`). A request
    of htmx (HX-Request) gets 401 with HX-Redirect instead of a redirect; its `next` is the page
    that the browser shows.

    With `fresh`, users must have proven their identity at most FRESH_MINUTES ago, with their second
    factor if they have one. Otherwise, a browser is sent to /auth/confirm and back: 302 for GET and
    HEAD, and 303 for a form, which is not processed. Others get 401 with the challenge
    `insufficient_user_authentication` (RFC 9470). An API key is never fresh. It costs one SELECT,
    or two.

    With `second_factor`, a second factor must have proven the session. Otherwise, a browser is sent
    to /auth/confirm or to the page where the user sets one up, and back (302). Others get 401 with
    the challenge of RFC 9470. An API key is never enough. It costs one SELECT, and one more for a
    refusal.

    Use it as `@login_required` or `@login_required(redirect_url=...)` on a function, a method, an
    instance, a class whose instances are WSGI callables, or a `wsgify`.

    Args:
        app: The WSGI callable.
        redirect_url: A path such as "/auth/login", without the SCRIPT_NAME of `AuthMiddleware`.
        fresh: Whether a recent proof is needed.
        second_factor: Whether a second factor is needed, whatever SECOND_FACTOR is.

    Raises:
        ValueError: An argument is malformed. Raised when decorating.
        TypeError: `app` is not callable, or is a view of a framework, which has guards of its own.
            Raised when decorating, or at the first call.
        MiddlewareMissingError: There is no `AuthMiddleware` around `app`. Raised on a request.
    """
    decorate = _decorator(Guard(None, redirect_url, fresh, second_factor).checked())
    return decorate if app is None else decorate(app)


def permission_required(
    permission: str,
    redirect_url: str | None = None,
    *,
    fresh: bool = False,
    second_factor: bool = False,
) -> Callable[[_App], _App]:
    """Restrict a WSGI callable to users who have `permission`.

    Anonymous clients get the response of `login_required`. Users without the permission get 403,
    never a redirect, because logging in again would not help. An API key without it gets 403 with
    the challenge `insufficient_scope` (RFC 6750 section 3.1).

    Args:
        permission: `<app>.<action>`.
        redirect_url: See `login_required`.
        fresh, second_factor: See `login_required`. The permission is checked first.

    Raises:
        ValueError: An argument is malformed. Raised when decorating.
        TypeError: See `login_required`.
        MiddlewareMissingError: There is no `AuthMiddleware` around it. Raised on a request.
    """
    # A permission of None, which another type of guard has, is malformed here.
    guard = Guard(check_permission(permission), redirect_url, fresh, second_factor)
    return _decorator(guard.checked())


def make_guard(
    check: Callable[[WSGIEnvironment, User], object], *, redirect_url: str | None = None
) -> Callable[[_App], _App]:
    """Restrict a WSGI callable to users that a function admits, for the guards of features.

    Anonymous clients get the response of `login_required`.

    Args:
        check: Called with the environ of a request and its user, who can have sent an API key. It
            raises a `RequestError`, such as `NotFoundError`, to refuse the request, and returns
            None to admit the user; any other value is a TypeError.
        redirect_url: See `login_required`.

    Raises:
        ValueError, TypeError, MiddlewareMissingError: See `login_required`.

    Example:
        def check(environ: WSGIEnvironment, user: User) -> None:
            if not Badge.select().where(Badge.user == user.id).exists():
                raise ForbiddenError(_("You have no badge."))

        needs_badge = make_guard(check, redirect_url="/auth/login")
    """
    return _decorator(Guard(redirect_url=redirect_url, check=check).checked())


class _Guarded:
    """A WSGI callable with a check before it, and all its other attributes."""

    def __init__(self, app: Callable[..., Any], check: _Check) -> None:
        functools.update_wrapper(self, app, updated=())  # `__getattr__` finds the rest
        self.__app = app
        self.__check = check

    def __call__(self, *arguments: Any, **keywords: Any) -> Iterable[bytes]:
        # A method that is called on its class, `Base.view(self, environ, ...)`, gets three.
        environ, start_response = [None, None, *arguments][-2:]
        if keywords or not isinstance(environ, dict) or not callable(start_response):
            raise _not_wsgi(self.__app)
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


def _decorator(guard: Guard) -> Callable[[_App], _App]:
    def decorate(app: _App) -> _App:
        if not callable(app):
            raise TypeError(f"a guard needs a WSGI callable; {app!r} is not callable")
        if not _can_be_wsgi(app):
            raise _not_wsgi(app)
        check = functools.partial(guard.refusal, view=app)
        if isinstance(app, type) and any("__call__" in vars(each) for each in app.__mro__):
            # The instances are the WSGI callables, so the guard goes around `__call__`.
            setattr(app, "__call__", _Guarded(_call_of(app, app.__call__), check))  # noqa: B010 - to mypy a method
            return app
        return cast("_App", _Guarded(app, check))

    return decorate


def _call_of(view_class: type, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return the `__call__` of a class; if it is inherited, one that looks it up in each call.

    In a subclass of several guarded classes, the guard of another one can be next.
    """
    if "__call__" in vars(view_class):
        return call

    @functools.wraps(call, updated=())
    def inherited(self: object, *arguments: Any) -> Iterable[bytes]:
        app_iter: Iterable[bytes] = cast(Any, super(view_class, self)).__call__(*arguments)
        return app_iter

    return inherited


def _not_wsgi(app: object) -> TypeError:
    """Return the error for a guard on `app`, which names the guards to use instead."""
    return TypeError(
        "login_required and permission_required of wsgiauth guard WSGI callables, which take"
        f" environ and start_response; {app!r} does not. If another decorator makes a WSGI"
        " callable of it, write the guard above that decorator. With Django, use the guards of"
        " django.contrib.auth.decorators or wsgiauth.contrib.django; with Flask, those of"
        " wsgiauth.contrib.flask; with Pyramid, permission= of the view and"
        " wsgiauth.contrib.pyramid; with another framework, see its section in docs/frameworks.md."
    )


def _can_be_wsgi(app: Callable[..., Any]) -> bool:
    """Return whether `app` can be a WSGI callable, by the parameters that a request fills."""
    kind = app if isinstance(app, type) else type(app)
    if not any("__call__" in vars(each) for each in kind.__mro__):
        return hasattr(kind, "__iter__")  # an instance is the body of a response (PEP 3333)
    function = app if type(app) in _FUNCTIONS else kind.__call__
    # A decorator copies the `__signature__` of the function that it makes a WSGI callable.
    if type(function) not in _FUNCTIONS or hasattr(function, "__signature__"):
        return True
    signature = inspect.signature(function, follow_wrapped=False)  # a decorator's own
    parameters = list(signature.parameters.values())
    counts = [2, 3]  # three for a method in the body of its class
    if parameters and parameters[0].name in ("self", "cls"):
        del parameters[0], counts[1]
    signature = signature.replace(parameters=parameters)
    if inspect.iscoroutinefunction(function) or not any(_takes(signature, n) for n in counts):
        return False
    first, second = [*(each.name for each in parameters if each.kind in _NAMED), "", ""][:2]
    # The names in `__call__` prove nothing: the `__call__` of `wsgify` takes a request, too.
    return function is not app or not _NAMES_OF_A_VIEW.match(f"{first} {second}")


def _takes(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True
