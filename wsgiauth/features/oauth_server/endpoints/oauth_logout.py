"""GET, POST /auth/oauth/logout: an app asks to log its user out here, too.

OpenID Connect RP-Initiated Logout 1.0. Any site can send a browser here, so this URL ends only a
session that the ID token of the request is of. Otherwise it shows a form of /auth/logout, which
refuses other sites, and whose `next` leads back here: without a session, to the app.
"""

from dataclasses import replace
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.authentication.identity import UserSession
from wsgiauth.endpoints.logout import log_out, session_to_end
from wsgiauth.exceptions import RequestError
from wsgiauth.features.oauth_server import grants
from wsgiauth.features.oauth_server.clients import shown_name
from wsgiauth.features.oauth_server.hints import read_query
from wsgiauth.features.oauth_server.logout_requests import LogoutRequest, read_logout
from wsgiauth.features.oauth_server.redirect_uris import origin_of
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.forms.endpoint import Endpoint, require_not_in_advance, require_opened
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.problems import OF_BODY
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.failures import failure
from wsgiauth.web.pages import Page, UrlBelow
from wsgiauth.web.readers import USER_OF_PAGE
from wsgiauth.web.responses import NO_REFERRER, WITHOUT_PATHS, Response, redirect
from wsgiauth.web.urls import ASKED_FOR, mount_url, with_next


class LogoutPage(Page):
    """Asks whether to log out, with a form of /auth/logout."""

    template = "oauth_logout.html"
    logout_url: str  # with a `next` that leads back here
    client_name: str = ""  # of the app that asks, if it is known
    label: str
    message: str = ""  # why the browser does not get back to the app


class LoggedOutPage(Page):
    """Says that there is no session any more."""

    template = "logged_out.html"
    login_url = UrlBelow("login")
    message: str = ""  # see `LogoutPage`


_REFUSED = Problem(
    "AppLogoutRefused",
    403,
    {
        "embedded": "The request is for a part of a page, such as an image or a frame, or it is"
        " HEAD.",
        "prefetch": "The browser fetched the page in advance.",
    },
)


class OAuthLogout(Endpoint):
    """Ends the session that the app has an ID token of; asks the user about any other one."""

    is_navigation = True

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of the body, or of the request of an app."""
        if method == "post":
            return OF_BODY
        return (*super().problems(method), _REFUSED)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site is a provider."""
        return settings.OAUTH_SERVER

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Log out if the ID token is of this session, or ask; then lead back to the app."""
        query, signed = environ.get("QUERY_STRING", ""), site.require(SignedTokens)
        request = read_logout(query, signed, site.tokens.now())
        environ[ASKED_FOR] = _url_of(environ, request.query)  # pages must not repeat the ID token
        try:
            # Before anything depends on the session.
            require_opened(environ, "document", admits_head=True)
            return _respond(environ, site, request)
        except RequestError as error:  # `AuthApp` has the environ without `ASKED_FOR`
            return failure(environ, error.status, error.code, error.detail)

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Begin the same request, whatever page has sent the form; never log out by itself."""
        query = read_query(environ, site.require(SignedTokens))
        return redirect(HTTPStatus.SEE_OTHER, f"{mount_url(environ)}/oauth/logout?{query}")


def _respond(environ: WSGIEnvironment, site: Site, request: LogoutRequest) -> Response:
    session = session_to_end(environ, site)
    if session is None:
        if request.location:
            return _leading_to(request.location)
        return _page(environ, site, LoggedOutPage(message=request.problem))
    if _is_of_session(request, session):
        return _end(environ, site, request, session)
    environ[USER_OF_PAGE] = session.user  # also if it lacks something
    page = LogoutPage(
        logout_url=with_next(f"{mount_url(environ)}/logout", _url_after(environ, request)),
        client_name=shown_name(request.client) if request.client else "",
        label=session.user.label,
        message=request.problem,
        form_source=origin_of(request.location) if request.location else "",
    )
    return _page(environ, site, page)


def _is_of_session(request: LogoutRequest, session: UserSession) -> bool:
    """Return whether the ID token of a request is of this session, and of the app that sent it."""
    if request.client is None or not request.sid:
        return False
    return grants.has_begun_in(request.client, request.sid, session.session_id)


def _end(
    environ: WSGIEnvironment, site: Site, request: LogoutRequest, session: UserSession
) -> Response:
    require_opened(environ, "document")
    require_not_in_advance(environ)
    elsewhere, cleared = log_out(environ, session, site)
    location = elsewhere or request.location or _url_after(environ, request)
    response = _leading_to(location)
    return replace(response, headers=(*response.headers, *cleared))


def _leading_to(location: str) -> Response:
    headers = (("Location", location),)
    # The ID token is in this URL, and the state of the app in the next one.
    return Response(HTTPStatus.SEE_OTHER, headers=headers, referrer=NO_REFERRER)


def _url_after(environ: WSGIEnvironment, request: LogoutRequest) -> str:
    """Return the URL that leads to the app after the logout, or to a page that says so."""
    return _url_of(environ, request.query if request.location else "")


def _url_of(environ: WSGIEnvironment, query: str) -> str:
    url = f"{mount_url(environ)}/oauth/logout"
    return f"{url}?{query}" if query else url


def _page(environ: WSGIEnvironment, site: Site, page: LogoutPage | LoggedOutPage) -> Response:
    status = HTTPStatus.BAD_REQUEST if page.message else HTTPStatus.OK
    response = site.pages.render(environ, page, status=status)
    return replace(response, referrer=WITHOUT_PATHS)
