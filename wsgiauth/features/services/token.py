"""POST /auth/token: a token for another service, which verifies it without asking this site."""

from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.names import is_permission
from wsgiauth.authentication.freshness import proof_of
from wsgiauth.authentication.session_list import handle_of
from wsgiauth.exceptions import RequestError, UnauthenticatedError
from wsgiauth.features.services.service_tokens import MAX_SCOPE, ServiceTokens
from wsgiauth.forms.endpoint import Endpoint, read_json_alone, require_caller
from wsgiauth.messages import _, ngettext
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.problems import FACTOR_DEMANDED, NO_SESSION, OF_BODY, TO_LOGIN
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.request import text_field
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.uris import find_equal

_REFUSED = Problem(
    "TokenRefused",
    400,
    {
        "invalid_target": "The site issues no tokens for this service (RFC 8707).",
        "invalid_scope": "The scope is not a list of permissions.",
    },
)


class Token(Endpoint):
    """Issues service tokens to sessions and API keys, and stores nothing.

    The body is JSON, which no page of another site can send without permission.
    """

    failures = (_REFUSED, *OF_BODY)

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of a session or an API key."""
        return (*super().problems(method), TO_LOGIN, NO_SESSION, FACTOR_DEMANDED)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether there are keys to sign with."""
        return settings.SERVICE_KEYS is not None

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the token, or with 400 for an unknown service or an invalid scope."""
        services = site.require(ServiceTokens)
        fields = read_json_alone(environ)
        named, asked = text_field(fields, "audience"), text_field(fields, "scope")
        caller = require_caller(environ, site)
        audience = find_equal(named, services.audiences)
        if not audience:
            raise _refused("invalid_target", _("This site issues no tokens for this service."))
        permissions = list(dict.fromkeys(asked.split(" "))) if asked else []
        if len(asked) > MAX_SCOPE or not all(map(is_permission, permissions)):
            detail = ngettext(
                "The scope must be permissions of the form <app>.<action>, separated by spaces,"
                " with at most %(num)s character.",
                "The scope must be permissions of the form <app>.<action>, separated by spaces,"
                " with at most %(num)s characters.",
                MAX_SCOPE,
            )
            raise _refused("invalid_scope", detail)
        user = caller.user
        if permissions and not user.is_superuser:
            granted = user.permissions
            permissions = [each for each in permissions if each in granted]
        if caller.session_id is None:
            sid, proof = caller.key_id, None
        else:
            sid, proof = handle_of(caller.session_id), proof_of(caller.session_id)
            if proof is None:  # the session has ended meanwhile
                raise UnauthenticatedError("invalid_token", accepts_keys=True)
        token = services.issue(user.id, audience, scope=permissions, sid=sid, proof=proof)
        return json_response(
            {
                "access_token": token,
                "token_type": "bearer",
                "expires_in": services.lifetime,
                "scope": " ".join(permissions),
            }
        )


def _refused(code: str, detail: str) -> RequestError:
    return RequestError(HTTPStatus.BAD_REQUEST, code, detail)  # codes of RFC 8707 and RFC 6749
