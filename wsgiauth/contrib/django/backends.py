"""The authentication backend, which answers Django's questions about permissions."""

from typing import Any

from django.contrib.auth.backends import BaseBackend
from django.core.exceptions import PermissionDenied

from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import is_permission
from wsgiauth.contrib.django.limited import limit_of
from wsgiauth.contrib.django.rows import number_of
from wsgiauth.storage import context


class WSGIAuthBackend(BaseBackend):
    """Answers `has_perm`, `has_perms`, `has_module_perms` and `perms` in templates.

    Each check is one SELECT or, for the row of another user than the caller, three. There are no
    permissions for single objects. The backend performs no login: `authenticate` and
    `get_user` return None, so a session of Django's identifies no user.
    """

    def get_user_permissions(self, user_obj: Any, obj: object = None) -> set[str]:
        """Return the permissions of a user and of their groups in wsgiauth."""
        account = None if obj is not None else _account_of(user_obj)
        if account is None or not account.is_active:
            return set()
        limit = limit_of(user_obj)
        return set(account.permissions if limit is None else limit)

    def has_perm(self, user_obj: Any, perm: str, obj: object = None) -> bool:
        """Return whether a user has a permission such as "blog.add_post".

        Raises:
            PermissionDenied: The row is limited to an API key, which does not have it. Then Django
                asks no other backend.
        """
        limit = limit_of(user_obj)
        if limit is None:
            account = None if obj is not None or not is_permission(perm) else _account_of(user_obj)
            return account is not None and account.has_permission(perm)
        if obj is None and perm in limit:
            return True
        raise PermissionDenied

    def has_module_perms(self, user_obj: Any, app_label: str) -> bool:
        """Return whether a user has any permission of an app.

        Raises:
            PermissionDenied: See `has_perm`.
        """
        permissions = self.get_user_permissions(user_obj)
        has_any = any(name.startswith(f"{app_label}.") for name in permissions)
        if not has_any and limit_of(user_obj) is not None:
            raise PermissionDenied
        return has_any


def _account_of(row: Any) -> User | None:
    """Return the user of a row, who can be the caller of this request."""
    number = None if row.pk is None else number_of(row)
    if number is None:
        return None
    environ = context.current_request()[1]
    caller: User | None = None if environ is None else environ.get("wsgiauth.user")
    if caller is not None and caller.id == number:
        return caller
    return User.objects.get_or_none(id=number)
