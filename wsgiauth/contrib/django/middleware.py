"""The middleware that sets `request.user`: the row of the user that `AuthMiddleware` identified."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib.auth import views
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponseRedirect
from django.urls import reverse
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.functional import SimpleLazyObject

from wsgiauth.accounts.models import User
from wsgiauth.contrib.django.checks import order_errors
from wsgiauth.contrib.django.logins import finish
from wsgiauth.contrib.django.rows import follow_changes, row_of
from wsgiauth.contrib.django.sessions import close_session, open_session
from wsgiauth.contrib.django.site import MISSING, page_url
from wsgiauth.logins import FOLLOW
from wsgiauth.web.urls import with_next

ASYNCHRONOUS = (
    "wsgiauth is WSGI middleware and cannot identify the users of an asynchronous Django: serve"
    " the application of wsgi.py by a WSGI server, not the one of asgi.py."
)

# Pages of Django that do not know wsgiauth's passwords, and the pages that replace them.
_PAGES = (
    (views.LoginView, "login"),
    (views.PasswordChangeView, "password"),
    (views.PasswordResetView, "forgot"),
    (views.PasswordResetConfirmView, "forgot"),
)
_ADMIN_PAGES = {"login": "login", "password_change": "password"}

_USED = "wsgiauth.django.used"  # in the environ, if a view has read `request.user`


class WSGIAuthMiddleware:
    """Sets `request.user`, after Django's AuthenticationMiddleware.

    `request.user` is a row of Django's user model, or AnonymousUser. The row is made on the first
    request of a user, and has the names and flags that the user has now. It costs one SELECT, and
    one of the session if the client has one.

    The pages of Django and of its admin to log in, and to change or reset a password, redirect to
    the pages of wsgiauth.

    Raises:
        ImproperlyConfigured: The middleware is in the wrong place; raised when the server starts.
            No `AuthMiddleware` is around Django, or Django is asynchronous; raised on a request.
    """

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        for error in order_errors():
            raise ImproperlyConfigured(error.msg)
        self.get_response = get_response

    def __call__(self, request: Any) -> Any:
        """Answer one request."""
        if "wsgiauth.site" not in request.META:
            is_wsgi = isinstance(request, WSGIRequest)
            raise ImproperlyConfigured(MISSING if is_wsgi else ASYNCHRONOUS)
        follow_changes()
        account = _read_user(request)
        open_session(request, None if account is None else account.id)
        # Django's error reports and debug page show all cookies but its own session's.
        identifier = request.META["wsgiauth.site"].identifier
        request.COOKIES.pop(identifier.cookie_name(request.META), None)
        request.META[FOLLOW] = partial(_read_user, request)
        response = self.get_response(request)
        del request.META[FOLLOW]
        headers = finish(request, response)
        for name, value in headers:
            if name != "Cache-Control":
                response[name] = value
        _keep_out_of_caches(request, response, has_login=bool(headers))
        close_session(request)
        return response

    def process_view(self, request: Any, view: Any, args: object, kwargs: object) -> Any:
        """Redirect from pages of Django to the pages of wsgiauth that replace them."""
        match = request.resolver_match
        if match.app_name == "admin":
            page = _ADMIN_PAGES.get(match.url_name)
        else:
            view_class = getattr(view, "view_class", object)
            page = next((name for each, name in _PAGES if issubclass(view_class, each)), None)
        if page is None:
            return None
        if page != "login":
            return HttpResponseRedirect(page_url(page))
        destination = request.GET.get("next", "")
        if match.app_name == "admin":
            if getattr(request.user, "is_staff", False):
                return None  # Django redirects to the admin
            if request.user.is_authenticated:
                raise PermissionDenied("Only members of the staff can use the admin.")
            destination = destination or reverse("admin:index", current_app=match.namespace)
        return HttpResponseRedirect(with_next(page_url(page), destination))


def _read_user(request: Any) -> User | None:
    """Set `request.user` to the row of the caller, and return the caller; None without a row."""
    account: User | None = request.META["wsgiauth.user"]
    row = None if account is None else row_of(account)

    def use() -> Any:
        request.META[_USED] = True
        return AnonymousUser() if row is None else row

    async def auser() -> Any:
        return request.user

    request.user = SimpleLazyObject(use)
    request.auser = auser
    return None if row is None else account


def _keep_out_of_caches(request: Any, response: Any, *, has_login: bool) -> None:
    """Keep a user's pages out of Django's own caches, which `AuthMiddleware` is around."""
    if _USED in request.META:
        patch_vary_headers(response, ("Authorization", "Cookie"))
    if has_login:
        patch_cache_control(response, no_store=True, private=True)  # Django 4.2 knows only the last
    elif request.META["wsgiauth.user"] is not None and "Cache-Control" not in response:
        patch_cache_control(response, private=True)
