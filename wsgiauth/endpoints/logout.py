"""GET, POST /auth/logout: end the caller's session."""

from http import HTTPStatus
from urllib.parse import quote
from wsgiref.types import WSGIEnvironment

from wsgiauth import events
from wsgiauth.authentication import sessions
from wsgiauth.authentication.identity import UserSession, bearer_token
from wsgiauth.authentication.origins import Origins
from wsgiauth.exceptions import KeyNotAcceptedError, RequestError
from wsgiauth.forms.done import done_cookies
from wsgiauth.forms.endpoint import Endpoint, require_same_origin
from wsgiauth.forms.shown_to import require_shown_to, sent_account
from wsgiauth.messages import _
from wsgiauth.site import Site
from wsgiauth.web.cross_origin import is_prefetch
from wsgiauth.web.request import prefers_html, query_field
from wsgiauth.web.responses import Header, Response, json_response, redirect
from wsgiauth.web.urls import mount_url, safe_next


class Logout(Endpoint):
    """Ends the session and clears the cookie; without either, the answer is the same.

    GET logs out too, because people follow links. A request from another site, from an embedded
    part of a page, by a script's GET, or in advance is refused with 403. With a bearer token, only
    the last is, because nothing makes a browser send one by itself.

    A session that began at a provider whose entry says `logout=provider` ends there, too: the
    browser is sent on to it (OpenID Connect RP-Initiated Logout 1.0).
    """

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Log out by a link that is followed; HEAD, a script and what a page embeds do not."""
        if bearer_token(environ.get("HTTP_AUTHORIZATION", "")) is None:
            _require_navigation(environ)
        return self.post(environ, site)

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Log out."""
        _refuse_prefetch(environ)
        if bearer_token(environ.get("HTTP_AUTHORIZATION", "")) is None:
            require_same_origin(environ, site)
        identity = site.identifier.identify(environ)
        if identity.key_id is not None:  # only /auth/keys revokes it
            raise KeyNotAcceptedError
        session = identity.any_session
        if session is not None and (account := sent_account(environ)):
            require_shown_to(session.user, account, site, page="account")
        elsewhere = None if session is None else _end(session, site)
        cleared = (site.identifier.expired_cookie(environ), *_forget_waiting(environ, site))
        if not prefers_html(environ):
            further = {"next": elsewhere} if elsewhere else {}
            return json_response({"detail": _("Logged out."), **further}, headers=cleared)
        if elsewhere:
            headers = (("Location", elsewhere), *cleared)
            return Response(HTTPStatus.SEE_OTHER, headers=headers)
        login_url = f"{mount_url(environ)}/login?done=logout"
        location = safe_next(query_field(environ, "next"), login_url)
        done = done_cookies(environ, location) if location == login_url else ()
        return redirect(HTTPStatus.SEE_OTHER, location, headers=(*cleared, *done))


def _end(session: UserSession, site: Site) -> str | None:
    """End a session, and return where the logout goes on elsewhere, if it does."""
    origins = site.part(Origins)
    logout_url = origins.logout_of(session.session_id) if origins else None
    sessions.revoke(session.session_id, session.user)  # whether the provider answers or not
    if logout_url is None:
        return None
    root = (site.settings.PUBLIC_URL or "").rstrip("/")
    return logout_url(f"{root}{quote(site.pages.mount)}/login")


def _forget_waiting(environ: WSGIEnvironment, site: Site) -> tuple[Header, ...]:
    """End the wait of accounts from elsewhere, which the next user of the browser must not get."""
    identifier, origins = site.identifier, site.part(Origins)
    if origins is None:
        return ()
    cookies = identifier.sent_cookies(environ, origins.waiting)
    origins.forget(cookies, site.tokens.now())
    return tuple(identifier.own_cookie(environ, origins.waiting, "", each.tag) for each in cookies)


def _require_navigation(environ: WSGIEnvironment) -> None:
    """Refuse an image or another part of a page of this site, which any user may have written.

    Fetch Metadata (W3C): `empty` is a script's, which fetches links that a pointer crosses (Turbo),
    and sends a form to log out. Older browsers send nothing, as do programs.
    """
    is_navigation = environ.get("HTTP_SEC_FETCH_DEST", "document") == "document"
    if is_navigation and environ["REQUEST_METHOD"] != "HEAD":
        return
    events.emit("refused", reason="embedded")
    raise RequestError(
        HTTPStatus.FORBIDDEN, "embedded", _("A page embeds this request, so nothing was done.")
    )


def _refuse_prefetch(environ: WSGIEnvironment) -> None:
    if not is_prefetch(environ):
        return
    events.emit("refused", reason="prefetch")
    raise RequestError(
        HTTPStatus.FORBIDDEN,
        "prefetch",
        _("The browser sent this request in advance, so nothing was done."),
    )
