"""GET, POST /auth/logout: end the caller's login."""

from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth import events
from wsgiauth.authentication import sessions
from wsgiauth.authentication.identity import bearer_token
from wsgiauth.endpoints import Auth, require_same_origin
from wsgiauth.exceptions import RequestError
from wsgiauth.web.cross_origin import is_prefetch
from wsgiauth.web.request import prefers_html, query_field
from wsgiauth.web.responses import Response, json_response, redirect
from wsgiauth.web.urls import mount_url, safe_next


def end(environ: WSGIEnvironment, auth: Auth) -> Response:
    """End the session and clear the cookie; where there is neither, the answer is the same.

    GET logs out too, because people follow links. What another site embeds or links, and what a
    browser fetches in advance, is refused with 403; a bearer token is nothing that another site
    could make a browser send, so it is not asked where it comes from.
    """
    if is_prefetch(environ):
        events.emit("refused", reason="prefetch")
        raise RequestError(
            HTTPStatus.FORBIDDEN, "prefetch", "A page fetched in advance logs nobody out."
        )
    if bearer_token(environ.get("HTTP_AUTHORIZATION", "")) is None:
        require_same_origin(environ, auth)
    identity = auth.identifier.identify(environ)
    if identity.user is not None and identity.session_id is not None:
        sessions.end(identity.session_id, identity.user)
    cleared = (auth.identifier.expired_cookie(environ),)
    if not prefers_html(environ):
        return json_response({"detail": "Logged out."}, headers=cleared)
    location = safe_next(query_field(environ, "next"), f"{mount_url(environ)}/login")
    return redirect(HTTPStatus.SEE_OTHER, location, headers=cleared)
