"""The current user of Flask, and the guards for its views and blueprints."""

import functools
from collections.abc import Callable
from http import HTTPStatus
from types import FunctionType
from typing import Any, TypeVar, cast, overload
from weakref import WeakKeyDictionary, WeakSet
from wsgiref.types import WSGIEnvironment

from flask import Blueprint, Flask, Response, abort, current_app, has_request_context, request
from flask.views import View
from werkzeug.local import LocalProxy

from wsgiauth.access import Guard
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import check_permission
from wsgiauth.exceptions import ConfigurationError, MiddlewareMissingError

_View = TypeVar("_View", bound=Callable[..., Any])

# The attribute of a guarded view with the marks of its guards. Other decorators copy it.
_GUARDS = "_wsgiauth_guards"
# The marks of the guards around a function.
_guards_around: WeakKeyDictionary[FunctionType, set[object]] = WeakKeyDictionary()
_apps: WeakSet[Flask] = WeakSet()  # a view can have its guard in one app, and lack it in another


def _user() -> User | None:
    if not has_request_context():
        return None
    user: User | None = _environ("current_user")["wsgiauth.user"]
    return user


class _CurrentUser(LocalProxy[User | None]):
    __slots__ = ()

    def __bool__(self) -> bool:
        """Return whether the client is logged in; a `LocalProxy` would hide the errors."""
        return bool(self._get_current_object())


current_user: User = cast(User, _CurrentUser(_user))
"""The user who sent the current request; false if the client is anonymous, and outside a request.

It is a proxy, like Flask's `request`. Ask `if current_user:`, because `current_user is None` is
never true. In templates, it is the user or None itself.

Raises:
    MiddlewareMissingError: The request did not pass through `WSGIAuth`. Raised on every use.
"""


@overload
def login_required(view: _View, /) -> _View: ...
@overload
def login_required(
    *, fresh: bool = False, second_factor: bool = False
) -> Callable[[_View], _View]: ...
def login_required(
    view: Callable[..., Any] | None = None, /, *, fresh: bool = False, second_factor: bool = False
) -> Callable[..., Any]:
    """Restrict a view to logged-in users.

    An anonymous browser is redirected to the login page and back; every other client gets 401 with
    `WWW-Authenticate: Bearer`. Error handlers of the app for 401, 403 and 503 are called with that
    response in their exception.

    Use it as `@login_required` or `@login_required(fresh=True)`, below `@app.route`, on a function,
    on a subclass of `View` or a method of it, or in its `decorators`. It protects subclasses, too.
    A wrong order of the decorators fails on the first request of the app.

    Args:
        view: The view.
        fresh, second_factor: See `wsgiauth.login_required`.

    Raises:
        ValueError: `fresh` or `second_factor` is no bool. Raised when decorating.
        TypeError: `view` is no view. Raised when decorating.
        MiddlewareMissingError: The request did not pass through `WSGIAuth`. Raised on a request.
    """
    guard = Guard(None, None, fresh, second_factor, to_login_page=True)
    decorate = _decorator(guard.checked())
    return decorate if view is None else decorate(view)


def permission_required(
    permission: str, *, fresh: bool = False, second_factor: bool = False
) -> Callable[[_View], _View]:
    """Restrict a view to users who have `permission`; others get 403.

    For everything else, see `login_required`.

    Args:
        permission: `<app>.<action>`.
        fresh, second_factor: See `wsgiauth.permission_required`.

    Raises:
        ValueError: An argument is malformed. Raised when decorating.
        TypeError: The decorated object is no view. Raised when decorating.
        MiddlewareMissingError: The request did not pass through `WSGIAuth`. Raised on a request.
    """
    # A permission of None, which another type of guard has, is malformed here.
    permission = check_permission(permission)
    guard = Guard(permission, None, fresh, second_factor, to_login_page=True)
    return _decorator(guard.checked())


def guard_blueprint(
    blueprint: Blueprint,
    permission: str | None = None,
    *,
    fresh: bool = False,
    second_factor: bool = False,
) -> None:
    """Restrict everything in a blueprint, also its static files and nested blueprints.

    No shared cache keeps its responses: `public` in their Cache-Control, which Flask sets for
    static files if SEND_FILE_MAX_AGE_DEFAULT is set, becomes `private`.

    Call it before the blueprint is registered. The guard precedes the `before_request` functions
    that the blueprint has by then. A path without a route stays a 404.

    Args:
        blueprint: The blueprint.
        permission: `<app>.<action>`; None if a session is enough.
        fresh, second_factor: See `login_required`.

    Raises:
        ValueError: `permission` is malformed.
        TypeError: `blueprint` is no blueprint.
        AssertionError: The blueprint has been registered; raised by Flask.
    """
    if not isinstance(blueprint, Blueprint):
        raise TypeError(
            f"guard_blueprint needs a Blueprint, not {blueprint!r}. For a whole app, pass `public`"
            " to WSGIAuth."
        )
    guard = Guard(permission, None, fresh, second_factor, to_login_page=True).checked()
    blueprint.before_request(lambda: _refusal(guard, blueprint))
    functions = blueprint.before_request_funcs[None]
    functions.insert(0, functions.pop())
    blueprint.after_request(_without_public)


def watch_routes(app: Flask) -> None:
    """Let `refuse_unguarded` find the guards of an app."""
    _apps.add(app)


def refuse_unguarded(app: Flask) -> None:
    """Raise ConfigurationError if a guard was put around a view after its route was made."""
    views = [view for each in _apps for view in each.view_functions.values()]
    in_place = {guard for view in views for guard in getattr(view, _GUARDS, ())}
    for endpoint, view in app.view_functions.items():
        guards = _guards_around.get(view) if isinstance(view, FunctionType) else None
        if guards and guards.isdisjoint(in_place):
            raise ConfigurationError(
                f"The endpoint {endpoint!r} has lost its guard, which is above its route: Flask"
                " serves the function that is below. Put the guard directly below @app.route."
            )


def _environ(asking: str) -> WSGIEnvironment:
    """Return the current environ, in which `AuthMiddleware` has named the caller."""
    if not has_request_context():
        raise RuntimeError(f"{asking} was used outside of a request, where there is no user.")
    if "wsgiauth.user" not in request.environ:
        raise MiddlewareMissingError(
            f"{asking} was used, but this request did not pass through WSGIAuth. Call WSGIAuth(app)"
            " or init_app(app). Events of Flask-SocketIO and contexts that a test makes itself"
            " never pass through it."
        )
    return request.environ


def _decorator(guard: Guard) -> Callable[[_View], _View]:
    def decorate(view: _View) -> _View:
        if isinstance(view, type) and issubclass(view, View):
            _guard_class(view, guard)
            return view
        if not callable(view) or isinstance(view, type | Flask):
            raise TypeError(
                f"A guard needs a view, not {view!r}. For a blueprint, use guard_blueprint; for a"
                " whole app, pass `public` to WSGIAuth; for another class, guard its methods."
            )
        return cast("_View", _guarded(view, guard))

    return decorate


def _guarded(view: Callable[..., Any], guard: Guard) -> Callable[..., Any]:
    @functools.wraps(view)
    def guarded_view(*args: Any, **kwargs: Any) -> Any:
        refusal = _refusal(guard, view)
        if refusal is not None:
            return refusal
        return current_app.ensure_sync(view)(*args, **kwargs)

    mark = object()
    setattr(guarded_view, _GUARDS, {mark, *getattr(view, _GUARDS, ())})
    inner: Any = view
    while inner is not None:
        if isinstance(inner, FunctionType):
            _guards_around.setdefault(inner, set()).add(mark)
        inner = getattr(inner, "__wrapped__", None)
    return guarded_view


def _guard_class(view_class: type[View], guard: Guard) -> None:
    """Guard all views of a class and of its subclasses."""
    own = cast(Any, vars(view_class).get("as_view"))

    @functools.wraps(cast(Any, view_class.as_view).__func__)
    def guarded_as_view(cls: type[View], *args: Any, **kwargs: Any) -> Callable[..., Any]:
        # Looked up in each call: in a subclass of two guarded classes, the other one can be next.
        inherited = cast(Any, super(view_class, cls)).as_view
        make = inherited if own is None else own.__get__(None, cls)
        return _guarded(make(*args, **kwargs), guard)

    setattr(view_class, "as_view", classmethod(guarded_as_view))  # noqa: B010 - to mypy a method


def _without_public(response: Response) -> Response:
    if response.cache_control.public:
        response.cache_control.public = False
        response.cache_control.private = True
    return response


def _refusal(guard: Guard, view: object) -> Response | None:
    """Return a redirect, or None if the request is allowed; raise other refusals as Flask does."""
    refusal = guard.refusal(_environ(f"The guard of {view!r}"), view)
    if refusal is None:
        return None
    response = current_app.make_response(refusal)
    if response.status_code >= HTTPStatus.BAD_REQUEST:
        abort(response.status_code, response=response)
    return response
