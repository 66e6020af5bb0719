"""Guards for views of Django, which can ask for a recent proof or a second factor."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast, overload

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from webob import Request

from wsgiauth.access import Guard
from wsgiauth.accounts.names import check_permission

_View = TypeVar("_View", bound=Callable[..., Any])


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

    An anonymous browser is redirected to the login page and back; unlike with Django's own
    `login_required`, every other client gets 401 with `WWW-Authenticate: Bearer`.

    Use it on a function, also an asynchronous one, or by `method_decorator` on a method of a class.

    Args:
        view: The view.
        fresh, second_factor: See `wsgiauth.login_required`.

    Raises:
        ValueError: `fresh` or `second_factor` is no bool. Raised when decorating.
        TypeError: `view` is no function. Raised when decorating.
        PermissionDenied: The row of the user is inactive in Django. Raised on a request.
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
        TypeError: The decorated object is no function. Raised when decorating.
        PermissionDenied: The row of the user is inactive in Django. Raised on a request.
    """
    # A permission of None, which another type of guard has, is malformed here.
    permission = check_permission(permission)
    guard = Guard(permission, None, fresh, second_factor, to_login_page=True)
    return _decorator(guard.checked())


def _decorator(guard: Guard) -> Callable[[_View], _View]:
    def decorate(view: _View) -> _View:
        if isinstance(view, type) or not callable(view):
            raise TypeError(
                f"A guard needs a function, not {view!r}. On a class of views, write"
                ' @method_decorator(login_required(fresh=True), name="dispatch").'
            )

        @wraps(view)
        def guarded(request: Any, *args: Any, **kwargs: Any) -> Any:
            refusal = _refusal(guard, request, view)
            return view(request, *args, **kwargs) if refusal is None else refusal

        @wraps(view)
        async def guarded_async(request: Any, *args: Any, **kwargs: Any) -> Any:
            refusal = await sync_to_async(_refusal)(guard, request, view)
            return await view(request, *args, **kwargs) if refusal is None else refusal

        return cast("_View", guarded_async if iscoroutinefunction(view) else guarded)

    return decorate


def _refusal(guard: Guard, request: Any, view: object) -> HttpResponse | None:
    """Return the response that refuses a request, or None if it is allowed."""
    refusal = guard.refusal(request.META, view)
    if refusal is not None:
        status, headers, body = Request(request.META).call_application(refusal)
        return HttpResponse(b"".join(body), status=int(status[:3]), headers=dict(headers))
    if not request.user.is_authenticated:
        raise PermissionDenied("This account is inactive.")
    return None
