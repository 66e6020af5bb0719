"""Decides whether the caller of a request is admitted, and answers those who are not.

The guards of `guards`, `gate` and `contrib`, and forward authentication ask here.
"""

import logging
from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple, Self
from urllib.parse import unquote
from wsgiref.types import WSGIEnvironment

from wsgiauth import events, storage
from wsgiauth.accounts import known_permissions
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import check_permission
from wsgiauth.authentication.demands import DemandError, are_paths
from wsgiauth.authentication.freshness import methods_of
from wsgiauth.authentication.identity import LACKING, LackingSession
from wsgiauth.authentication.methods import has_second_factor
from wsgiauth.events import kinds
from wsgiauth.events.actors import report
from wsgiauth.exceptions import (
    ApplicationError,
    KeyNotAcceptedError,
    MiddlewareMissingError,
    RequestError,
    UnmetDemandError,
)
from wsgiauth.messages import _
from wsgiauth.site import Site
from wsgiauth.storage.connections import DATABASE_ERRORS
from wsgiauth.storage.failures import unavailable
from wsgiauth.web.failures import (
    ask_to_confirm,
    ask_to_log_in,
    failure,
    refuse_key,
    refuse_unmet,
)
from wsgiauth.web.readers import LANGUAGE_OF_USER
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import ASKED_FOR, safe_next

logger = logging.getLogger("wsgiauth")


class Guard(NamedTuple):
    """The demands of a guard; see `login_required` and `permission_required`.

    Attributes:
        to_login_page: Whether to redirect a browser to the login page of the site, wherever that is
            mounted, instead of to `redirect_url`.
        check: See `guards.make_guard`.
    """

    permission: str | None = None
    redirect_url: str | None = None
    fresh: bool = False
    second_factor: bool = False
    to_login_page: bool = False
    check: Callable[[WSGIEnvironment, User], object] | None = None

    def checked(self) -> Self:
        """Return this guard, and have the staff panel list its permission.

        Raises:
            ValueError: An attribute is malformed.
        """
        # Checked like a `next`, so that a mistake here cannot redirect to another site.
        if self.redirect_url is not None and not (
            isinstance(self.redirect_url, str) and safe_next(self.redirect_url, "")
        ):
            raise ValueError(
                f'redirect_url must be a path such as "/auth/login", not {self.redirect_url!r}'
            )
        for name in ("fresh", "second_factor"):
            if not isinstance(getattr(self, name), bool):  # the string "off" is true
                raise ValueError(f"{name} must be True or False, not {getattr(self, name)!r}")
        if self.permission is not None:
            known_permissions.register(check_permission(self.permission))
        return self

    def refusal(self, environ: WSGIEnvironment, view: object) -> Response | None:
        """Return the response that refuses a request of `view`, or None if it is allowed."""
        try:
            user = environ["wsgiauth.user"]
        except KeyError:
            raise MiddlewareMissingError(
                f"{view!r} has a guard, but no AuthMiddleware is around it:"
                " wrap the whole application, as in `application = AuthMiddleware(app)`."
            ) from None
        if user is None:
            site: Site = environ["wsgiauth.site"]
            login_page = f"{site.pages.mount}/login" if self.to_login_page else self.redirect_url
            return ask_to_identify(environ, login_page)
        needs_database = self.fresh or self.second_factor or self.check is not None
        if self.permission is None and not needs_database:
            return None
        try:
            return self._refusal_by_database(user, environ)
        except DATABASE_ERRORS as error:
            return unavailable(environ, error)
        finally:
            storage.release_connection(storage.current())

    def _refusal_by_database(self, user: User, environ: WSGIEnvironment) -> Response | None:
        if self.permission is not None and not user.has_permission(self.permission):
            return refuse_permission(environ, user, self.permission)
        site: Site = environ["wsgiauth.site"]
        session_id = environ["wsgiauth.session"]
        if self.second_factor and not (session_id and has_second_factor(methods_of(session_id))):
            return refuse_unmet(environ, site.factors.refusal(user))
        if self.fresh and not site.freshness.is_fresh(session_id):
            confirm_url = f"{site.pages.mount}/confirm"
            return ask_to_confirm(environ, confirm_url, site.freshness.max_age)
        try:
            # False would be no refusal, and a coroutine would never have been run.
            if self.check is not None and (answer := self.check(environ, user)) is not None:
                raise TypeError(f"the check {self.check!r} of a guard returned {answer!r}")
        except KeyNotAcceptedError as error:
            return refuse_key(environ, error.detail)
        except RequestError as error:
            return failure(
                environ,
                error.status,
                error.code,
                error.detail,
                further=error.members,
                headers=error.headers,
            )
        return None


def refuse_permission(environ: WSGIEnvironment, user: User, permission: str) -> Response:
    """Emit an event about a missing permission, and return the 403."""
    events.emit(kinds.REFUSED, user_id=user.id, reason=f"lacks {permission}")
    if environ["wsgiauth.key"] is not None:
        return refuse_key(environ, _("The API key does not have the permission that this needs."))
    return failure(
        environ,
        HTTPStatus.FORBIDDEN,
        "forbidden",
        _("Your account does not have the permission that this page requires."),
    )


def refusal_of(session: LackingSession, environ: WSGIEnvironment) -> UnmetDemandError:
    """Return the error for a request by a session that lacks something.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    error = session.demand.error
    try:
        refusal = session.demand.refusal(session.user, environ)
        if not isinstance(refusal, UnmetDemandError):
            raise TypeError(f"it returned {refusal!r}")
        if not are_paths([refusal.page, *refusal.reachable]):
            raise TypeError(f"{refusal.page!r} or one of {refusal.reachable} is no path")
        if not HTTPStatus.BAD_REQUEST <= refusal.status < 600:  # a proxy would admit 200
            raise ValueError(f"{refusal.status!r} is the status of no error")
        return refusal
    except DATABASE_ERRORS:
        raise
    except Exception:  # of a feature that may not be ours
        feature = environ["wsgiauth.site"].admission.feature_of(session.demand)
        report("the demand %s of %s failed, so it leads nowhere", error, feature)
        detail = _("An error occurred on this site. Its operator can find the details in the log.")
        return UnmetDemandError(HTTPStatus.FORBIDDEN, error, detail, page="/logout", is_final=True)


def refuse_failed(environ: WSGIEnvironment, error: ApplicationError) -> Response:
    """Return the 500 after a function of the application or of a feature."""
    pages = {}
    if isinstance(error, DemandError):  # which a look-up of the user would ask again
        environ[LANGUAGE_OF_USER] = error.user.language
        pages = {"logout": _("Log out")}
    return failure(environ, error.status, error.code, error.detail, pages=pages)


@lru_cache  # once in a process
def warn_of_guard(path: str) -> None:
    """Log that a guard closes a page that everyone must be able to read."""
    logger.warning(
        "%r is refused to a client who is anonymous: everyone must be able to read it before they"
        " have an account, so remove the guard in front of it",
        path,
    )


def ask_to_identify(environ: WSGIEnvironment, login_url: str | None) -> Response:
    """Return the response to a client that is anonymous to the application."""
    reason: str | None = environ["wsgiauth.error"]
    site: Site = environ["wsgiauth.site"]
    if site.admission.open_paths and environ["REQUEST_METHOD"] in ("GET", "HEAD"):
        path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        if ASKED_FOR in environ:  # a proxy asks
            path = unquote(environ[ASKED_FOR].partition("?")[0], "latin-1")
        if path in site.admission.open_paths:  # so the gate has let it through
            warn_of_guard(path)
    if reason not in site.admission.errors:
        return ask_to_log_in(environ, login_url, reason)
    try:
        lacking, error = environ.get(LACKING), None
        if lacking is None:
            identity = site.identifier.identify(environ)
            lacking, error = identity.lacking, identity.error
        if lacking is None:  # it has ended, or met the demand, in the meantime
            return ask_to_log_in(environ, login_url, error)
        return refuse_unmet(environ, refusal_of(lacking, environ))
    except ApplicationError as failed:
        return refuse_failed(environ, failed)
    except DATABASE_ERRORS as failed:
        return unavailable(environ, failed)
    finally:
        storage.release_connection(storage.current())
