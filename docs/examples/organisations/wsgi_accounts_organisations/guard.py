"""The guard of the application's views."""

from collections.abc import Callable
from typing import Any, TypeVar
from wsgiref.types import WSGIEnvironment

from wsgiauth.extend import ForbiddenError, KeyNotAcceptedError, User, _, make_guard

from .memberships import require_membership
from .roles import Role

_App = TypeVar("_App", bound=Callable[..., Any])


def organisation_required(
    parameter: str | Callable[[WSGIEnvironment], str],
    *,
    role: str = Role.MEMBER,
    redirect_url: str | None = None,
) -> Callable[[_App], _App]:
    """Restrict a WSGI callable to members of an organisation with a role or a higher one.

    Anonymous clients get the response of `login_required`; users who are not in the organisation
    404, as if it did not exist; members without the role 403, and so do all API keys. It costs one
    SELECT. The view finds a `Membership` in `environ["organisations.membership"]`. `parameter` is
    the name of the slug in `wsgiorg.routing_args`, or a function of the environ that returns it.
    """
    needed = Role(role)

    def check(environ: WSGIEnvironment, user: User) -> None:
        arguments = environ.get("wsgiorg.routing_args", ((), {}))[1]
        slug = parameter(environ) if callable(parameter) else arguments[parameter]
        if environ["wsgiauth.key"] is not None:
            raise KeyNotAcceptedError
        membership = require_membership(user, slug)
        if not membership.role.covers(needed):
            raise ForbiddenError(_("Your role in this organisation does not allow this."))
        environ["organisations.membership"] = membership

    return make_guard(check, redirect_url=redirect_url)
