"""GET, POST /auth/authorize: an app asks who the user is (RFC 6749, OpenID Connect Core 1.0)."""

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from urllib.parse import urlencode
from wsgiref.types import WSGIEnvironment

from wsgiauth.authentication.freshness import Proof, proof_of
from wsgiauth.authentication.identity import UserSession
from wsgiauth.authentication.scopes import OFFLINE
from wsgiauth.endpoints.register import is_open
from wsgiauth.exceptions import UnauthenticatedError, UnmetDemandError
from wsgiauth.features.oauth_server import grants, stored_requests
from wsgiauth.features.oauth_server.answers import (
    answer,
    answer_error,
    code_fields,
    error_fields,
    location_of,
    with_common,
)
from wsgiauth.features.oauth_server.authorization import (
    ASKED,
    CONSENT,
    CREATE,
    FORM_POST,
    MAX_IN_URL,
    MEANT,
    NONE,
    SELECT_ACCOUNT,
    UNKNOWN_CLIENT,
    AuthorizationError,
    AuthorizationRequest,
    pairs_in,
    size_of,
)
from wsgiauth.features.oauth_server.decisions import is_fresh_for
from wsgiauth.features.oauth_server.grants import Allowance
from wsgiauth.features.oauth_server.hints import MAX_FORM, read_query
from wsgiauth.features.oauth_server.redirect_uris import is_of_this_computer, origin_of
from wsgiauth.features.oauth_server.request_reading import (
    TooLongError,
    UnreadDocumentError,
    request_of,
    request_to_begin,
    require_accepted,
)
from wsgiauth.features.oauth_server.scopes import DEFAULT, offered, possible
from wsgiauth.features.oauth_server.server import OAuthServer
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.forms.endpoint import (
    Endpoint,
    Handler,
    require_login,
    require_not_in_advance,
    require_opened,
)
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.problems import OF_BODY
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.failures import ask_to_log_in, refuse_unmet
from wsgiauth.web.pages import ErrorPage, Page
from wsgiauth.web.request import prefers_html
from wsgiauth.web.responses import WITHOUT_PATHS, Response, redirect
from wsgiauth.web.urls import ASKED_FOR, mount_url, with_next

_REQUEST_URI = "wsgiauth.request_uri"  # in an environ: of the row that this request has stored
_FIRST_PAGE = "wsgiauth.first_page"  # in an environ: where an anonymous browser is sent

_TOO_OLD = "the last login is too long ago"


class NotAdmittedPage(Page):
    """Says that an app is only for members of a group, and leads back to it."""

    template = "not_admitted.html"
    client_name: str
    label: str
    back_url: str
    fields: Mapping[str, str] = {}  # which the way back sends as a form


class TooLongPage(ErrorPage):
    """Repeats nothing of a request that is too long."""

    @property
    def is_shown_once(self) -> bool:
        """Return True: the form of languages would repeat the URL."""
        return True


_REFUSED = Problem(
    "AuthorizationRefused",
    403,
    {
        "forbidden": "The user is not in the group of the app.",
        "embedded": "The request is for a part of a page, such as an image or a frame, or it is"
        " HEAD.",
        "prefetch": "The browser fetched the page in advance.",
    },
)


_EMBEDDED = Problem(
    "LongAuthorizationRefused",
    403,
    {"embedded": "The request is long, and for a part of a page, such as a frame."},
)


class Authorize(Endpoint):
    """Sends the browser back to the app with a code, after a login and a consent if needed."""

    step = _("Log in to another app")
    is_navigation = True

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of the request of an app."""
        if method == "post":
            return (UNKNOWN_CLIENT, _EMBEDDED, *OF_BODY)
        return (*super().problems(method), UNKNOWN_CLIENT, _REFUSED)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site is a provider."""
        return settings.OAUTH_SERVER

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer the app, or send the browser to what is missing."""
        require_opened(environ, "document", admits_head=True)
        require_not_in_advance(environ)  # before there is a code
        return respond(environ, site, _respond)

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Begin the same request, whatever page has sent the form (section 3.1.2.1)."""
        environ["QUERY_STRING"] = read_query(environ, site.require(SignedTokens), most=MAX_FORM)
        return respond(environ, site, _begin)


def respond(environ: WSGIEnvironment, site: Site, handler: Handler) -> Response:
    """Call a handler; answer the app, or send the browser to a login that returns to the request.

    The request of `ASKED_FOR` is lost where other endpoints get the answer to these errors.
    """
    try:
        return handler(environ, site)
    except AuthorizationError as error:
        return answer_error(environ, site, error)
    except UnreadDocumentError:
        url = f"{mount_url(environ)}/authorize?{environ['QUERY_STRING']}"
        return redirect(HTTPStatus.SEE_OTHER, url)
    except TooLongError as error:
        if not prefers_html(environ):
            raise
        title = site.pages.headlines[error.code]
        page = TooLongPage(status=error.status.value, title=title, detail=error.detail)
        return site.pages.render(environ, page, status=error.status)
    except UnauthenticatedError as error:
        login_url = f"{site.pages.mount}/{environ.get(_FIRST_PAGE, 'login')}"
        response = ask_to_log_in(environ, login_url, error.error, accepts_keys=error.accepts_keys)
    except UnmetDemandError as error:
        response = refuse_unmet(environ, error)
    is_redirect = response.status is HTTPStatus.FOUND
    return replace(response, status=HTTPStatus.SEE_OTHER) if is_redirect else response


def _begin(environ: WSGIEnvironment, site: Site) -> Response:
    """Send a form on as a query, which has the name of a row if the form is long."""
    query = environ["QUERY_STRING"]
    require_accepted(query)
    if size_of(pairs_in(query, keep_blank=True)) <= MAX_IN_URL:
        return redirect(HTTPStatus.SEE_OTHER, f"{mount_url(environ)}/authorize?{query}")
    require_opened(environ, "document")  # no page can let its visitors store rows unnoticed
    url = url_with(environ, "authorize", request_to_begin(environ, site), site)
    return redirect(HTTPStatus.SEE_OTHER, url)


def _respond(environ: WSGIEnvironment, site: Site) -> Response:
    request = request_of(environ, site, may_fetch=environ["REQUEST_METHOD"] == "GET")
    is_silent = NONE in request.prompts
    session = session_of(environ, site, request)
    if not is_meant(request, session):
        raise request.refused("login_required", "the user of id_token_hint is not logged in")
    if not is_recent(request, session, site):
        if is_silent:
            raise request.refused("login_required", _TOO_OLD)
        return _to_proof(environ, site, request)
    scopes = scopes_of(request, session, site)
    allowance = grants.allowance(request.client, session.user)
    is_asked = needs_consent(_without_create(request, session), allowance, scopes)
    if is_asked and is_silent:  # first, so that only an app that was allowed learns of groups
        raise request.refused("consent_required", "the user has not allowed this yet")
    if not allowance.is_admitted:
        error = request.refused("access_denied", "the user is not in the group of the client")
        if is_silent:
            raise error
        return _not_admitted(environ, site, request.client, session, error)
    if is_asked:
        return redirect(HTTPStatus.SEE_OTHER, url_with(environ, "consent", request, site))
    # Whoever has the session can be the app, too, and would have access after the logout.
    is_claimable = request.client.is_public and OFFLINE in scopes
    if is_claimable and not is_fresh_for(scopes, session, site):
        if is_silent:
            raise request.refused("login_required", _TOO_OLD)
        return _to_proof(environ, site, request)
    return answer(environ, site, request.target, code_fields(site, request, session, scopes))


def session_of(environ: WSGIEnvironment, site: Site, request: AuthorizationRequest) -> UserSession:
    """Return the session of the browser. Without one, answer the app or raise for the login."""
    if NONE in request.prompts:
        identity = site.identifier.identify(environ)
        if identity.lacking is not None:
            raise request.refused("interaction_required", "the login is not complete yet")
        if identity.any_session is None:
            raise request.refused("login_required", "the user is not logged in")
    try:
        return require_login(environ, site)
    except (UnauthenticatedError, UnmetDemandError):
        # The login, which is the proof that the request needs, returns to a request that says so.
        environ[ASKED_FOR] = _url_after_proof(environ, site, request)
        if CREATE in request.prompts and is_open(site.settings):
            environ[_FIRST_PAGE] = "register"
        raise


def url_with(
    environ: WSGIEnvironment,
    page: str,
    request: AuthorizationRequest,
    site: Site,
    *,
    asked_at: int = 0,
) -> str:
    """Return the path of a page below /auth with a request.

    Args:
        asked_at: When this site asked for a proof, if that is now; see `AuthorizationRequest`.
    """
    is_asked = request.needs_proof or CREATE in request.prompts
    own = {ASKED: (asked_at or request.asked_at) if is_asked else 0, MEANT: request.meant}
    signer, named = site.require(OAuthServer).own_parameters, ""
    if request.is_long:
        request_uri = request.request_uri or _request_uri(environ, request, site)
        named = urlencode({"client_id": request.client.client_id, "request_uri": request_uri})
    return f"{mount_url(environ)}/{page}?{signer.added_to(request.query, own, named=named)}"


def _request_uri(environ: WSGIEnvironment, request: AuthorizationRequest, site: Site) -> str:
    """Return the name of the row of a long request, which is stored now, unless this is HEAD."""
    if _REQUEST_URI not in environ:
        environ[_REQUEST_URI] = stored_requests.new_uri()
        if environ["REQUEST_METHOD"] != "HEAD":
            network, now = site.clients.networks(environ)[-1], site.tokens.now()
            query, client_id = request.query, request.client.id
            stored_requests.keep(environ[_REQUEST_URI], query, client_id, network, now)
    request_uri: str = environ[_REQUEST_URI]
    return request_uri


def scopes_of(request: AuthorizationRequest, session: UserSession, site: Site) -> list[str]:
    """Return the scopes that a request can get from a user.

    No error says what the user lacks, because the app may not have been allowed anything yet.
    """
    client, asked = request.client, scopes_asked_for(request)
    return offered(client, asked, session.user, site.settings, resource=request.resource)


def scopes_asked_for(request: AuthorizationRequest) -> list[str]:
    """Return the scopes that a client asks for and can get from some user."""
    asked = possible(request.client, request.scopes, request.resource)
    if not asked and request.client.expires_at is not None:
        return _usual_scopes(request)
    if request.scopes and not asked:
        raise request.refused("invalid_scope", "the client has none of these scopes")
    return asked


def _usual_scopes(request: AuthorizationRequest) -> list[str]:
    """Return the scopes for an app that registered itself, and names none that it can have.

    Those of its registration. If it names scopes that only it knows, for a service, it gets none:
    apps refuse tokens with other scopes than they asked for.
    """
    if request.scopes and request.resource:
        return []
    usual = request.client.scopes.split() or DEFAULT
    return possible(request.client, usual, request.resource)


def needs_consent(request: AuthorizationRequest, allowance: Allowance, scopes: list[str]) -> bool:
    """Return whether the user has to be asked."""
    # Any app can register a name, and any app on a computer can use the id of another one there
    # (RFC 8252 section 8.6).
    is_imitable = request.client.is_public and is_of_this_computer(request.target.uri)
    if request.client.expires_at is not None or is_imitable:
        return True
    if request.client.is_trusted:
        return False
    is_asked_anew = not request.prompts.isdisjoint((CONSENT, SELECT_ACCOUNT, CREATE))
    return is_asked_anew or not allowance.covers(scopes, request.resource)


def is_meant(request: AuthorizationRequest, session: UserSession) -> bool:
    """Return whether the client means this user, or any (OpenID Connect Core section 3.1.2.2)."""
    return request.meant in (0, session.user.id)


def is_recent(request: AuthorizationRequest, session: UserSession, site: Site) -> bool:
    """Return whether the client accepts the last proof of a session."""
    if not request.needs_proof:
        return True
    proof = proof_of(session.session_id) or Proof(0, "")
    return request.accepts(proof.authenticated_at, site.tokens.now())


def _without_create(request: AuthorizationRequest, session: UserSession) -> AuthorizationRequest:
    """Return the request of a user who has just registered, or logged in, as it goes on."""
    if CREATE not in request.prompts or not request.asked_at:
        return request
    proof = proof_of(session.session_id) or Proof(0, "")
    if not request.has_answer(proof.authenticated_at):
        return request
    return replace(request, prompts=request.prompts - {CREATE})


def _not_admitted(
    environ: WSGIEnvironment,
    site: Site,
    client: Client,
    session: UserSession,
    error: AuthorizationError,
) -> Response:
    target, fields = error.target, error_fields(error)
    is_form = target.mode == FORM_POST
    page = NotAdmittedPage(
        client_name=client.name,
        label=session.user.label,
        back_url=target.uri if is_form else location_of(site, target, fields),
        fields=with_common(site, target, fields) if is_form else {},
        form_source=origin_of(target.uri) if is_form else "",
    )
    response = site.pages.render(environ, page, status=HTTPStatus.FORBIDDEN)
    return replace(response, referrer=WITHOUT_PATHS)


def _to_proof(environ: WSGIEnvironment, site: Site, request: AuthorizationRequest) -> Response:
    """Ask for a new proof of the session, which goes on, and so do its grants."""
    confirm_url = f"{mount_url(environ)}/confirm"
    url = with_next(confirm_url, _url_after_proof(environ, site, request))
    return redirect(HTTPStatus.SEE_OTHER, url)


def _url_after_proof(environ: WSGIEnvironment, site: Site, request: AuthorizationRequest) -> str:
    now = int(site.tokens.now())
    return url_with(environ, "authorize", request, site, asked_at=now)
