"""GET, POST /auth/consent: a user allows an app what it asks for, or refuses.

The query is that of /auth/authorize. The form belongs to the user who saw it, and has the scopes
that it showed, so that no other ones are allowed by it.
"""

from collections.abc import Mapping
from datetime import datetime
from wsgiref.types import WSGIEnvironment

from wsgiauth.exceptions import UnauthenticatedError, ValidationError
from wsgiauth.features.oauth_server import grants
from wsgiauth.features.oauth_server.answers import (
    answer,
    answer_error,
    code_fields,
    error_fields,
    location_of,
)
from wsgiauth.features.oauth_server.authorization import (
    AuthorizationError,
    AuthorizationRequest,
    read_request,
)
from wsgiauth.features.oauth_server.endpoints.authorize import scopes_of
from wsgiauth.features.oauth_server.redirect_uris import host_of, is_of_this_computer, origin_of
from wsgiauth.features.oauth_server.scopes import ScopeInWords, in_words
from wsgiauth.features.oauth_server.server import OAuthServer
from wsgiauth.forms import FormPage, MemberForm, MemberSubmission, Refusal
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.storage.models import from_timestamp
from wsgiauth.web.failures import SWITCH
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import mount_url, with_next

ALLOW, REFUSE = "allow", "refuse"


class ConsentPage(FormPage):
    """Says which app asks, and what it gets."""

    template = "consent.html"
    consent_url: str  # with the request
    client_name: str
    host: str  # to which the answer goes
    is_on_device: bool  # whether that is an app of this computer or phone, which anyone can imitate
    since: datetime  # when the app was registered here
    scopes: tuple[ScopeInWords, ...]
    scope: str  # the same, for the form
    username: str
    switch_url: str


class Consent(MemberForm):
    """Asks for the consent of the user, by a form of this site alone."""

    step = _("Log in to another app")
    fields = ("decision", "scope")

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site is a provider."""
        return settings.OAUTH_SERVER

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the page."""
        try:
            return super().get(environ, site)
        except AuthorizationError as error:
            return answer_error(environ, site, error)

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Take the decision, and send the browser to the app."""
        try:
            return super().post(environ, site)
        except AuthorizationError as error:
            return answer_error(environ, site, error)

    def act(self, submission: MemberSubmission) -> Response:
        """Record the consent, or refuse the app."""
        site, session = submission.site, submission.member
        request = _request(submission)
        decision = submission.fields["decision"]
        if decision == REFUSE:
            refusal = request.refused("access_denied", "the user has refused")
            return _send(submission, request, error_fields(refusal))
        if decision != ALLOW:
            raise ValidationError({"decision": [_("Allow the app, or refuse it.")]})
        shown = submission.fields["scope"].split()
        scopes = [each for each in scopes_of(request, session, site) if each in shown]
        if not grants.allow(request.client, session.user, scopes, site.tokens.now()):
            raise UnauthenticatedError("invalid_token")  # the user or the app has changed meanwhile
        return _send(submission, request, code_fields(site, request, session, scopes))

    def page(self, submission: MemberSubmission, refusal: Refusal) -> ConsentPage:
        """Return the page."""
        environ, site, session = submission.environ, submission.site, submission.member
        request = _request(submission)
        scopes, mount = scopes_of(request, session, site), mount_url(environ)
        query = environ.get("QUERY_STRING", "")
        uri = request.target.uri
        return ConsentPage(
            consent_url=f"{mount}/consent?{query}",
            client_name=request.client.name,
            host=host_of(uri),
            is_on_device=is_of_this_computer(uri),
            since=from_timestamp(request.client.created_at),
            scopes=in_words(scopes),
            scope=" ".join(scopes),
            username=session.user.username,
            switch_url=with_next(f"{mount}/login?{SWITCH}=1", f"{mount}/authorize?{query}"),
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


def _request(submission: MemberSubmission) -> AuthorizationRequest:
    server, now = submission.site.require(OAuthServer), submission.site.tokens.now()
    query = submission.environ.get("QUERY_STRING", "")
    return read_request(query, server.asked, now=now, services=server.services)
