"""Django's own `login()` and `logout()` start and end sessions of wsgiauth, too.

They do so after the view: in a transaction of Django's ATOMIC_REQUESTS, wsgiauth could not write to
the same SQLite file.
"""

from http import HTTPStatus
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied

from wsgiauth import logins
from wsgiauth.accounts.models import User
from wsgiauth.contrib.django.rows import number_of
from wsgiauth.contrib.django.sessions import drop_data_of_others
from wsgiauth.web.responses import Header

# The user whose session starts, or None to end one; in the environ, which the request objects of
# Django and of Django REST framework share.
_NEXT = "wsgiauth.django.next_user"


def start_login(sender: object, request: Any, user: Any, **_: object) -> None:
    """Note that another backend has logged a user in, by Django's `login()`.

    Raises:
        ValueError: The row is Django's own.
        PermissionDenied: The user is inactive, or an API key sent the request.
    """
    if not _is_ours(request):
        return
    try:
        request.META[_NEXT] = _account_of(request, user)
    except (ValueError, PermissionDenied):
        request.session.flush()
        request.user = AnonymousUser()
        raise


def start_logout(sender: object, request: Any, **_: object) -> None:
    """Note that Django has logged the user out: by LogoutView, the admin or Wagtail."""
    if _is_ours(request):
        request.META[_NEXT] = None


def finish(request: Any, response: Any) -> list[Header]:
    """Start or end the session of wsgiauth, and return the headers for the response.

    A view that fails starts no session, as Django then saves none.
    """
    environ = request.META
    if _NEXT not in environ:
        return []
    account: User | None = environ.pop(_NEXT)
    if account is None:
        return logins.log_out(environ)
    if response.status_code == HTTPStatus.INTERNAL_SERVER_ERROR:
        return []
    caller = environ["wsgiauth.user"]
    if caller is not None and caller.id == account.id:
        return []
    return logins.log_in(environ, account) or []


def _is_ours(request: Any) -> bool:
    # The test client of Django logs in and out with requests of its own, or None.
    return request is not None and "wsgiauth.site" in request.META


def _account_of(request: Any, row: Any) -> User:
    if request.META["wsgiauth.key"] is not None:
        raise PermissionDenied("An API key starts no session.")
    number = number_of(row)
    if number is None:
        raise ValueError(
            f"{row!r} is not connected with a user of wsgiauth, who could log in: see"
            " wsgiauth.contrib.django.connect and row_of."
        )
    account = User.objects.get_or_none(id=number, is_active=True)
    if account is None:
        raise PermissionDenied("The user is inactive.")
    drop_data_of_others(request.session, account.id)
    return account
