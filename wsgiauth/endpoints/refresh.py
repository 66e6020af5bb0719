"""POST /auth/refresh: a refresh token for a new pair of tokens."""

from wsgiref.types import WSGIEnvironment

from wsgiauth.authentication.refresh import refresh
from wsgiauth.forms.endpoint import Endpoint, read_json_alone, unauthorized
from wsgiauth.forms.handover import token_document
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Problem
from wsgiauth.openapi.problems import APPLICATION_FAILED, CHALLENGE, OF_BODY
from wsgiauth.site import Site
from wsgiauth.web.request import text_field
from wsgiauth.web.responses import Response, json_response

_REFUSED = Problem(
    "InvalidGrant",
    401,
    {
        "invalid_grant": "The refresh token is malformed, was used more than 30 seconds ago, or is"
        " of a session that"
        " has ended."
    },
    headers={"WWW-Authenticate": CHALLENGE},
)


class Refresh(Endpoint):
    """Exchanges tokens. The refresh token is taken from JSON alone: no cookie, no form, no URL."""

    failures = (*OF_BODY, _REFUSED, APPLICATION_FAILED)

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the new pair, or 401."""
        fields = read_json_alone(environ)
        named = site.refresh_tokens.verify(text_field(fields, "refresh_token"))
        issued = None if named is None else refresh(*named, site.tokens)
        if issued is None:
            raise unauthorized("invalid_grant", _("This refresh token is not valid. Log in again."))
        return json_response(token_document(environ, site, issued))
