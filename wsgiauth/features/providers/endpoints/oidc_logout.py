"""POST /auth/oidc/{provider}/logout: a provider ends sessions that began there.

OpenID Connect Back-Channel Logout 1.0. Trusted: the token, once its signature is verified by the
keys of this provider. Who sends it is not: the request needs no cookie and no origin, and neither
the database nor, for a token that is malformed, the provider is asked before.
"""

from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth import events
from wsgiauth.exceptions import ProviderError, RequestError
from wsgiauth.features.providers import provider_sessions
from wsgiauth.features.providers.oidc import Provider
from wsgiauth.features.providers.redirects import reporting, require_provider
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.request import FORM, content_type, read_form, text_field
from wsgiauth.web.responses import Response, json_response


class BackChannelLogout(Endpoint):
    """Ends the sessions that a logout token names."""

    def is_offered(self, settings: Settings) -> bool:
        """Return whether there are providers."""
        return bool(settings.OIDC_PROVIDERS)

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer 200, or 400 with the error of section 2.8; 503 if the keys cannot be fetched."""
        provider = require_provider(environ, site)
        with reporting(provider, "logout: "):
            reason = _end_sessions(_token(environ), provider, site.tokens.now())
        if not reason:
            return json_response({"detail": _("The sessions have ended.")})
        events.emit("provider_failed", reason=f"{provider.entry.name}: logout: {reason}")
        # No more of the reason, because anyone can ask.
        refused = {"error": "invalid_request", "error_description": "The token was refused."}
        return json_response(refused, status=HTTPStatus.BAD_REQUEST)


def _token(environ: WSGIEnvironment) -> str:
    """Return the token in a form; empty if there is none."""
    try:
        if content_type(environ) == FORM:
            return text_field(read_form(environ), "logout_token")
    except RequestError:
        pass  # answered as every other refusal
    return ""


def _end_sessions(token: str, provider: Provider, now: float) -> str:
    """End the sessions that a token names; return why it is refused, or an empty string."""
    try:
        verified = provider.verify_logout_token(token)
    except ProviderError as error:
        if error.status is HTTPStatus.SERVICE_UNAVAILABLE:  # the token may be valid
            raise
        return error.reason
    revoked = provider_sessions.revoke(
        verified.issuer, jti=verified.jti, subject=verified.subject, sid=verified.sid, now=now
    )
    return "used" if revoked is None else ""
