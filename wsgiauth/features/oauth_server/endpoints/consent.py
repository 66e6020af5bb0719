"""GET, POST /auth/consent: a user allows an app what it asks for, or refuses.

The query is that of /auth/authorize. The form belongs to the user who saw it, and has the scopes
that it showed, so that no other ones are allowed by it.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.authentication.identity import UserSession
from wsgiauth.authentication.scopes import ScopeInWords, in_words, with_resource
from wsgiauth.exceptions import (
    InsufficientAuthenticationError,
    UnauthenticatedError,
    ValidationError,
)
from wsgiauth.features.oauth_server import grants
from wsgiauth.features.oauth_server.answers import (
    answer,
    code_fields,
    error_fields,
    location_of,
)
from wsgiauth.features.oauth_server.authorization import (
    NONE,
    UNKNOWN_CLIENT,
    AuthorizationRequest,
)
from wsgiauth.features.oauth_server.decisions import ALLOW, REFUSE, is_fresh_for
from wsgiauth.features.oauth_server.document_urls import host_in
from wsgiauth.features.oauth_server.endpoints.authorize import (
    is_meant,
    is_recent,
    respond,
    scopes_of,
    session_of,
    url_with,
)
from wsgiauth.features.oauth_server.redirect_uris import host_of, is_of_this_computer, origin_of
from wsgiauth.features.oauth_server.request_reading import request_of
from wsgiauth.features.oauth_server.scopes import lacking
from wsgiauth.forms import FormPage, MemberForm, MemberSubmission, Refusal
from wsgiauth.forms.fields import Text
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.problems import TO_CONFIRM, TO_LOGIN, UNAVAILABLE
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.storage.models import from_timestamp
from wsgiauth.web.failures import SWITCH
from wsgiauth.web.responses import Response, json_response, redirect
from wsgiauth.web.urls import mount_url, with_next


class ConsentPage(FormPage):
    """Says which app asks, and what it gets."""

    template = "consent.html"
    consent_url: str  # with the request
    client_name: str
    host: str  # which asks: of the document of the app, or to which the answer goes
    is_on_device: bool  # whether it is a public app of this computer or phone, easy to imitate
    is_self_registered: bool = False  # so its name is unchecked
    since: datetime  # when the app was registered here
    scopes: tuple[ScopeInWords, ...]
    scope: str  # the same, for the form
    lacking: tuple[str, ...] = ()  # permissions that it asks for and the user does not have
    label: str
    switch_url: str


class Consent(MemberForm):
    """Asks for the consent of the user, by a form of this site alone."""

    step = _("Log in to another app")
    leads_elsewhere = True
    is_navigation = True
    fields = (
        Text("decision", "`allow` or `refuse`.", required=True, examples=["allow"]),
        Text(
            "scope",
            "The scopes that the user has seen, separated by spaces.",
            examples=["openid email"],
        ),
        Text(
            "app",
            "The name of the app that the user has seen: if it has another one by now, nothing is"
            " allowed.",
            examples=["Wiki"],
        ),
    )

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of the form, and of the request of an app."""
        if method == "get":
            return (UNAVAILABLE, replace(TO_CONFIRM, status=302), UNKNOWN_CLIENT)
        found = (each for each in super().problems(method) if each is not TO_LOGIN)
        return (UNKNOWN_CLIENT, *found)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site is a provider."""
        return settings.OAUTH_SERVER

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the page, unless something else is missing before it."""
        return respond(environ, site, self._get)

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Take the decision, and send the browser to the app."""
        return respond(environ, site, super().post)

    def _get(self, environ: WSGIEnvironment, site: Site) -> Response:
        request = request_of(environ, site)
        session = session_of(environ, site, request)
        if not _is_next(request, session, site):
            return _to_authorize(environ, request, site)
        if not is_fresh_for(scopes_of(request, session, site), session, site):
            raise InsufficientAuthenticationError(site.freshness.max_age)
        return super().get(environ, site)

    def act(self, submission: MemberSubmission) -> Response:
        """Record the consent, or refuse the app."""
        site, session = submission.site, submission.member
        request = request_of(submission.environ, site)
        decision = submission.fields["decision"]
        if decision == REFUSE:
            refusal = request.refused("access_denied", "the user has refused")
            return _send(submission, request, error_fields(refusal))
        if decision != ALLOW:
            raise ValidationError({"decision": [_("Allow the app, or refuse it.")]})
        if not _is_next(request, session, site):  # any more
            return _to_authorize(submission.environ, request, site)
        if submission.fields["app"] not in ("", request.client.name):  # since it was shown
            return _to_authorize(submission.environ, request, site)
        possible, shown = scopes_of(request, session, site), submission.fields["scope"].split()
        has_service = set(shown).issuperset(with_resource([], request.resource))
        if not (has_service and is_fresh_for(possible, session, site)):
            return _to_authorize(submission.environ, request, site)
        scopes = [each for each in possible if each in shown]
        now, resource = site.tokens.now(), request.resource
        if not grants.allow(request.client, session.user, scopes, now, resource=resource):
            raise UnauthenticatedError("invalid_token")  # the user or the app has changed meanwhile
        return _send(submission, request, code_fields(site, request, session, scopes))

    def page(self, submission: MemberSubmission, refusal: Refusal) -> ConsentPage:
        """Return the page."""
        environ, site, session = submission.environ, submission.site, submission.member
        request = request_of(environ, site)
        uri, document_url = request.target.uri, request.client.document_url
        possible = scopes_of(request, session, site)
        wanted = with_resource(possible, request.resource)
        begin = url_with(environ, "authorize", request, site)
        return ConsentPage(
            consent_url=url_with(environ, "consent", request, site),
            client_name=request.client.name,
            host=host_of(uri) if document_url is None else host_in(document_url),
            is_on_device=request.client.is_public and is_of_this_computer(uri),
            is_self_registered=request.client.expires_at is not None,
            since=from_timestamp(request.client.created_at),
            scopes=in_words(wanted),
            scope=" ".join(wanted),
            lacking=lacking(request.client, request.scopes, possible, resource=request.resource),
            label=session.user.label,
            switch_url=with_next(f"{mount_url(environ)}/login?{SWITCH}=1", begin),
            form_source=origin_of(uri),
            message=refusal.text,
        )


def _send(
    submission: MemberSubmission, request: AuthorizationRequest, fields: Mapping[str, str]
) -> Response:
    """Send a browser to the app; tell a program where it is."""
    site = submission.site
    if submission.wants_json:
        return json_response({"location": location_of(site, request.target, fields)})
    return answer(submission.environ, site, request.target, fields)


def _is_next(request: AuthorizationRequest, session: UserSession, site: Site) -> bool:
    """Return whether nothing but the consent is missing."""
    if NONE in request.prompts or not is_meant(request, session):
        return False
    if not is_recent(request, session, site):
        return False
    return grants.allowance(request.client, session.user).is_admitted


def _to_authorize(environ: WSGIEnvironment, request: AuthorizationRequest, site: Site) -> Response:
    return redirect(HTTPStatus.SEE_OTHER, url_with(environ, "authorize", request, site))
