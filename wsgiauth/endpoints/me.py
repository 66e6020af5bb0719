"""GET /auth/me: the caller's own profile."""

from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.access import refusal_of
from wsgiauth.accounts.listing import profile
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.problems import FACTOR_DEMANDED, NO_SESSION
from wsgiauth.site import Site
from wsgiauth.web.failures import failure, restriction, unmet_failure
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import ROUTE
from wsgiauth.web.www_authenticate import challenges


class Me(Endpoint):
    """Shows the profile."""

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return the failures of a session or an API key."""
        return (*super().problems(method), NO_SESSION, FACTOR_DEMANDED)

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer 200 with the profile and what its session lacks, or 401 with the challenge."""
        identity = site.identifier.identify(environ)
        if identity.lacking is not None:
            error = refusal_of(identity.lacking, environ)
            if environ[ROUTE] not in error.reachable:
                return unmet_failure(environ, error, error.detail)
            document = profile(identity.lacking.user, site.settings)
            return json_response({**document, **restriction(error)})
        if identity.user is None:
            return failure(
                environ,
                HTTPStatus.UNAUTHORIZED,
                identity.error or "unauthenticated",
                _("Log in to see your profile."),
                headers=challenges(environ, identity.error),
            )
        return json_response(profile(identity.user, site.settings))
