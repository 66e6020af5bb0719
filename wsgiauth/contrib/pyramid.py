"""Pyramid: `config.include("wsgiauth.contrib.pyramid")`, and `AuthMiddleware` around the program.

It sets a security policy, a forbidden view and two view options. Application code then has
`request.identity`, `request.has_permission`, `permission=` of views, and `remember` and `forget`.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Self
from wsgiref.types import StartResponse, WSGIEnvironment

from pyramid.authorization import ACLDenied, ACLHelper, Authenticated, Everyone
from pyramid.config import Configurator
from pyramid.httpexceptions import HTTPForbidden
from pyramid.interfaces import IDefaultPermission
from pyramid.request import Request
from pyramid.response import Response as PyramidResponse
from pyramid.security import Allowed, Denied, PermitsResult

from wsgiauth import storage
from wsgiauth.access import Guard, refuse_permission
from wsgiauth.accounts import known_permissions
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import is_permission
from wsgiauth.accounts.tables import Membership
from wsgiauth.authentication.methods import PASSWORD
from wsgiauth.logins import current_user, log_in, log_out
from wsgiauth.storage.connections import DATABASE_ERRORS
from wsgiauth.storage.failures import unavailable
from wsgiauth.web.responses import Header, Response

__all__ = ["includeme"]

_View = Callable[[Any, Request], PyramidResponse]

_GROUP = "group:"
_LOGIN = Guard(to_login_page=True)
_OPTIONS = ("fresh", "second_factor")


def includeme(config: Configurator) -> None:
    """Make the user of wsgiauth the identity of Pyramid's requests.

    - `request.identity` is the `User` who sent the request, or None; also after `remember` and
      `forget` in the same request.
    - `request.authenticated_userid` is the number of the user, as a string. A username can be
      changed, and then belong to another user.
    - `permission=Authenticated` of a view, of `pyramid.authorization`, admits every user, as
      `login_required` does. `permission="<app>.<action>"` admits users who have the permission.
    - An ACL of the context decides first, by the principals `Everyone`, `Authenticated`, `user:7`
      and `group:editors`. If no entry of it matches, the user's permissions decide; permissions of
      another form, such as "view", come only from ACLs.
    - An API key is admitted where its owner is, if the key itself has the permission, or if the ACL
      admits `Everyone` or, for permissions of another form, `Authenticated`.
    - `fresh=True` and `second_factor=True` are options of views, as of `login_required`.
    - A refusal is the response of `login_required` or `permission_required`. An HTTPForbidden that
      a view raises for a user stays as it is.
    - `remember(request, user)` and `forget(request)` call `log_in` and `log_out`.

    Without `AuthMiddleware` around the application, a request that asks for the user raises
    `MiddlewareMissingError`.
    """
    config.set_security_policy(_SecurityPolicy())
    config.add_forbidden_view(_forbidden)
    config.add_exception_view(_unavailable, context=_RefusedError)
    config.add_view_deriver(_guarded_view, under="secured_view", over="csrf_view")


class _SecurityPolicy:
    """Pyramid's `ISecurityPolicy`; see `includeme`."""

    def identity(self, request: Request) -> User | None:
        return current_user(request.environ)

    def authenticated_userid(self, request: Request) -> str | None:
        user = current_user(request.environ)
        return None if user is None else str(user.id)

    def permits(self, request: Request, context: object, permission: str) -> PermitsResult:
        user = current_user(request.environ)
        try:
            return _permits(user, context, permission)
        except DATABASE_ERRORS as error:
            raise _RefusedError(unavailable(request.environ, error)) from None
        finally:
            storage.release_connection(storage.current())

    def remember(
        self, request: Request, userid: User, *, methods: str = PASSWORD, remember: bool = False
    ) -> list[Header]:
        """Call `log_in`; the list is empty if the user is inactive or has just changed."""
        return log_in(request.environ, userid, methods=methods, remember=remember) or []

    def forget(self, request: Request) -> list[Header]:
        return log_out(request.environ)


class _Principals:
    """The principals of a user; the groups are read if an entry of an ACL names a group."""

    def __init__(self, user: User | None) -> None:
        self._user = user
        own = () if user is None else (Authenticated, f"user:{user.id}")
        self._fixed = (Everyone, *own)

    def __contains__(self, principal: object) -> bool:
        if principal in self._fixed:
            return True
        return str(principal).startswith(_GROUP) and principal in self._groups

    def __repr__(self) -> str:
        return repr([*self._fixed, *sorted(self._groups)])

    @cached_property
    def _groups(self) -> frozenset[str]:
        if self._user is None:
            return frozenset()
        # Not `user.groups`, which is empty for an API key: an entry that denies the owner must deny
        # the key, too.
        names: Any = Group.select(Group.name).join(Membership)
        found = names.where(Membership.user == self._user.id).bind(storage.current())
        return frozenset(f"{_GROUP}{name}" for (name,) in found.tuples())


class _Refusal(PyramidResponse):  # type: ignore[misc]  # Pyramid has no types
    """A response of wsgiauth, sent as it is.

    WebOb would make its Location absolute, by a Host header that a client can forge.
    """

    @classmethod
    def of(cls, response: Response, request: Request) -> Self:
        status, headers, app_iter = request.call_application(response)
        return cls(status=status, headerlist=headers, app_iter=app_iter)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        start_response(self.status, self.headerlist)
        app_iter: Iterable[bytes] = self.app_iter
        return app_iter


class _RefusedError(Exception):
    """The account database failed; the response says so."""

    def __init__(self, response: Response) -> None:
        self.response = response


def _permits(user: User | None, context: object, permission: str) -> PermitsResult:
    if permission == Authenticated:
        return Denied("anonymous") if user is None else Allowed("logged in as %r", user)
    acl = ACLHelper()
    is_ours = is_permission(permission)
    result = acl.permits(context, _Principals(user), permission)
    if user is None:
        return result
    has_right = is_ours and user.has_permission(permission)
    if has_right and isinstance(result.ace, str):  # no entry, but "<default deny>"
        return Allowed("%r has %r", user, permission)
    if result and user.is_limited and not has_right:
        admitted = [Everyone] if is_ours else [Everyone, Authenticated]
        return acl.permits(context, admitted, permission)
    return result


def _forbidden(refused: HTTPForbidden, request: Request) -> PyramidResponse:
    refusal = _LOGIN.refusal(request.environ, request)
    if refusal is not None:
        return _Refusal.of(refusal, request)
    if not isinstance(refused.result, ACLDenied):
        return refused  # which a view raised
    user = request.environ["wsgiauth.user"]
    return _Refusal.of(refuse_permission(request.environ, user, refused.result.permission), request)


def _unavailable(refused: _RefusedError, request: Request) -> PyramidResponse:
    return _Refusal.of(refused.response, request)


def _guarded_view(view: _View, info: Any) -> _View:
    """Derive a view with the options `fresh` and `second_factor`."""
    default = info.registry.queryUtility(IDefaultPermission)
    permission = info.options.get("permission") or default
    if is_permission(permission):
        known_permissions.register(permission)
    fresh, second_factor = (info.options.get(name) or False for name in _OPTIONS)
    if not fresh and not second_factor:
        return view
    guard = Guard(fresh=fresh, second_factor=second_factor, to_login_page=True).checked()

    def guarded(context: object, request: Request) -> PyramidResponse:
        refusal = guard.refusal(request.environ, view)
        return view(context, request) if refusal is None else _Refusal.of(refusal, request)

    return guarded


setattr(_guarded_view, "options", _OPTIONS)  # noqa: B010 - of Pyramid; to mypy, a function has none
