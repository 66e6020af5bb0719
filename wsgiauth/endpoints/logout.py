"""GET, POST /auth/logout: end the caller's session."""

from http import HTTPStatus
from urllib.parse import quote
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.models import User
from wsgiauth.authentication import sessions
from wsgiauth.authentication.federated_logins import FederatedLogins
from wsgiauth.authentication.identity import UserSession, bearer_token
from wsgiauth.exceptions import KeyNotAcceptedError
from wsgiauth.forms.done import done_cookies
from wsgiauth.forms.endpoint import (
    Endpoint,
    require_not_in_advance,
    require_opened,
    require_same_origin,
)
from wsgiauth.forms.shown_to import require_shown_to, sent_account
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Problem
from wsgiauth.site import Site
from wsgiauth.web.request import prefers_html, query_field
from wsgiauth.web.responses import Header, Response, json_response, redirect
from wsgiauth.web.urls import mount_url

_REFUSED = Problem(
    "LogoutRefused",
    403,
    {
        "cross_origin": "Another site made the browser send the request.",
        "prefetch": "The browser fetched the page in advance.",
        "embedded": "The request is for a part of a page, such as an image or a frame, or it is"
        " HEAD.",
        "insufficient_scope": "The request came with an API key, and needs a session.",
    },
)


class Logout(Endpoint):
    """Ends the session and deletes the cookie; without either, the answer is the same.

    GET logs out too, because people follow links. It is refused with 403 from another site, from an
    embedded part of a page, by a script, and in advance; with a bearer token only in advance,
    because no browser sends a token by itself.

    A session that began at a provider whose entry says `logout=provider` ends there, too: the
    browser is sent on to it (OpenID Connect RP-Initiated Logout 1.0).
    """

    failures = (_REFUSED,)

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Log out by a link that a person follows."""
        if bearer_token(environ.get("HTTP_AUTHORIZATION", "")) is None:
            # A script sends a form to log out: a GET can be for a link under the pointer (Turbo).
            require_opened(environ, "document")
        return self.post(environ, site)

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Log out."""
        require_not_in_advance(environ)
        if bearer_token(environ.get("HTTP_AUTHORIZATION", "")) is None:
            require_same_origin(environ, site)
        session = session_to_end(environ, site)
        if session is not None and (account := sent_account(environ)):
            require_shown_to(session.user, account, site, page="account")
        elsewhere, cleared = log_out(environ, session, site)
        if not prefers_html(environ):
            further = {"next": elsewhere} if elsewhere else {}
            return json_response({"detail": _("Logged out."), **further}, headers=cleared)
        if elsewhere:
            headers = (("Location", elsewhere), *cleared)
            return Response(HTTPStatus.SEE_OTHER, headers=headers)
        login_url = f"{mount_url(environ)}/login?done=logout"
        location = site.destinations.safe(query_field(environ, "next")) or login_url
        done = done_cookies(environ, location) if location == login_url else ()
        return redirect(HTTPStatus.SEE_OTHER, location, headers=(*cleared, *done))


def session_to_end(environ: WSGIEnvironment, site: Site) -> UserSession | None:
    """Return the session of a request, complete or not; None without one.

    Raises:
        KeyNotAcceptedError: An API key sent the request.
    """
    identity = site.identifier.identify_anyway(environ)
    if identity.key_id is not None:  # only /auth/keys revokes it
        raise KeyNotAcceptedError
    return identity.any_session


def log_out(
    environ: WSGIEnvironment, session: UserSession | None, site: Site
) -> tuple[str | None, tuple[Header, ...]]:
    """End a session, if there is one, and what the browser keeps for its user.

    Return the URL at which the logout continues, if any, and the headers that delete cookies.
    """
    elsewhere = None if session is None else _end(session, site)
    cleared = (
        site.identifier.expired_cookie(environ),
        *site.identifier.expired_former_cookie(environ),
        *_forget_waiting(environ, site),
    )
    return elsewhere, cleared


def log_out_everywhere(environ: WSGIEnvironment, user: User, site: Site) -> tuple[Header, ...]:
    """End all sessions of the user who sent a request; return the headers that delete cookies.

    Example:
        cleared = log_out_everywhere(environ, user, site)
        response = see_other(submission, "login?done=logout", *cleared)
    """
    sessions.revoke_all(user)
    return log_out(environ, None, site)[1]


def _end(session: UserSession, site: Site) -> str | None:
    """End a session, and return the URL at which the logout continues, if any."""
    federated = site.part(FederatedLogins)
    logout_url = federated.logout_of(session.session_id) if federated else None
    sessions.revoke(session.session_id, session.user)
    if logout_url is None:
        return None
    root = (site.settings.PUBLIC_URL or "").rstrip("/")
    return logout_url(f"{root}{quote(site.pages.mount)}/login")


def _forget_waiting(environ: WSGIEnvironment, site: Site) -> tuple[Header, ...]:
    """Forget waiting accounts of providers, which the next user of the browser must not get."""
    identifier, federated = site.identifier, site.part(FederatedLogins)
    if federated is None:
        return ()
    cookies = identifier.sent_cookies(environ, federated.waiting)
    federated.forget(cookies, site.tokens.now())
    return tuple(
        identifier.own_cookie(environ, federated.waiting, "", each.tag) for each in cookies
    )
