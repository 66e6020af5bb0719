"""GET, POST /auth/authorize: an app asks who the user is (RFC 6749, OpenID Connect Core 1.0)."""

from http import HTTPStatus
from urllib.parse import urlencode
from wsgiref.types import WSGIEnvironment

from wsgiauth.authentication.freshness import Proof, proof_of
from wsgiauth.authentication.identity import UserSession
from wsgiauth.features.oauth_server import grants
from wsgiauth.features.oauth_server.answers import (
    answer,
    answer_error,
    code_fields,
    error_fields,
    location_of,
)
from wsgiauth.features.oauth_server.authorization import (
    CONSENT,
    LOGIN,
    NONE,
    SELECT_ACCOUNT,
    AuthorizationError,
    AuthorizationRequest,
    read_request,
)
from wsgiauth.features.oauth_server.grants import Allowance
from wsgiauth.features.oauth_server.scopes import offered
from wsgiauth.features.oauth_server.server import OAuthServer
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.forms.endpoint import Endpoint, require_login
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.pages import Page
from wsgiauth.web.request import read_form
from wsgiauth.web.responses import Response, redirect
from wsgiauth.web.urls import mount_url, with_next


class NotAdmittedPage(Page):
    """Says that an app is only for members of a group, and leads back to it."""

    template = "not_admitted.html"
    client_name: str
    username: str
    back_url: str


class Authorize(Endpoint):
    """Sends the browser back to the app with a code, after a login and a consent if needed."""

    step = _("Log in to another app")

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site is a provider."""
        return settings.OAUTH_SERVER

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer the app, or send the browser to what is missing."""
        try:
            return _respond(environ, site)
        except AuthorizationError as error:
            return answer_error(environ, site, error)

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Begin the same request, whatever page has sent the form (section 3.1.2.1)."""
        site.require(OAuthServer)
        query = urlencode([(name, str(value)) for name, value in read_form(environ).items()])
        return redirect(HTTPStatus.SEE_OTHER, f"{mount_url(environ)}/authorize?{query}")


def _respond(environ: WSGIEnvironment, site: Site) -> Response:
    server, now = site.require(OAuthServer), site.tokens.now()
    query = environ.get("QUERY_STRING", "")
    request = read_request(query, server.asked, now=now, services=server.services)
    is_silent = NONE in request.prompts
    session = _session(environ, site, request)
    if not _is_recent(request, session, now):
        if is_silent:
            raise request.refused("login_required", "the last login is too long ago")
        return _ask_to_confirm(environ, server.asked.added_to(request.query, now))
    scopes = scopes_of(request, session, site)
    allowance = grants.allowance(request.client, session.user)
    if not allowance.is_admitted:
        error = request.refused("access_denied", "the user is not in the group of the client")
        if is_silent:
            raise error
        return not_admitted(environ, site, request.client, session, error)
    if needs_consent(request, allowance, scopes):
        if is_silent:
            raise request.refused("consent_required", "the user has not allowed this yet")
        return redirect(HTTPStatus.SEE_OTHER, f"{mount_url(environ)}/consent?{query}")
    return answer(environ, site, request.target, code_fields(site, request, session, scopes))


def scopes_of(request: AuthorizationRequest, session: UserSession, site: Site) -> list[str]:
    """Return the scopes that a request can get from a user."""
    scopes = offered(request.client, request.scopes, session.user, site.settings)
    if request.scopes and not scopes:
        raise request.refused("invalid_scope", "the client has none of these scopes")
    return scopes


def needs_consent(request: AuthorizationRequest, allowance: Allowance, scopes: list[str]) -> bool:
    """Return whether the user has to be asked."""
    if request.client.is_trusted:
        return False
    is_asked_anew = not request.prompts.isdisjoint((CONSENT, SELECT_ACCOUNT))
    return is_asked_anew or allowance.scopes is None or not allowance.scopes.issuperset(scopes)


def not_admitted(
    environ: WSGIEnvironment,
    site: Site,
    client: Client,
    session: UserSession,
    error: AuthorizationError,
) -> Response:
    """Answer with the page for a user who is not in the group of a client."""
    page = NotAdmittedPage(
        client_name=client.name,
        username=session.user.username,
        back_url=location_of(site, error.target, error_fields(error)),
    )
    return site.pages.render(environ, page, status=HTTPStatus.FORBIDDEN)


def _session(environ: WSGIEnvironment, site: Site, request: AuthorizationRequest) -> UserSession:
    """Return the session of the browser. Without one, answer the app or raise for the login."""
    if NONE in request.prompts:
        identity = site.identifier.identify(environ)
        if identity.incomplete is not None:
            raise request.refused("interaction_required", "the second factor is missing")
        if identity.any_session is None:
            raise request.refused("login_required", "the user is not logged in")
    return require_login(environ, site)


def _is_recent(request: AuthorizationRequest, session: UserSession, now: float) -> bool:
    if LOGIN not in request.prompts and request.max_age is None:
        return True
    proof = proof_of(session.session_id) or Proof(0, "")
    return request.accepts(proof.authenticated_at, now)


def _ask_to_confirm(environ: WSGIEnvironment, query: str) -> Response:
    """Send the browser to a new proof and back; the session goes on, and so do its grants."""
    mount = mount_url(environ)
    return redirect(HTTPStatus.FOUND, with_next(f"{mount}/confirm", f"{mount}/authorize?{query}"))
