"""POST /auth/oidc/{provider}/logout: a provider ends sessions that began there.

OpenID Connect Back-Channel Logout 1.0. Trusted: the token, once a key of this provider has verified
its signature. Not trusted: the sender, who needs no cookie and no origin. So a malformed token
costs no request to the provider, and an unverified token no query.
"""

from contextlib import suppress
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.exceptions import RequestError
from wsgiauth.features.providers import provider_sessions
from wsgiauth.features.providers.oidc import Provider
from wsgiauth.features.providers.oidc.failures import ProviderError
from wsgiauth.features.providers.problems import NO_SUCH_PROVIDER, PROVIDER_UNAVAILABLE
from wsgiauth.features.providers.redirects import (
    ProviderEndpoint,
    report,
    reporting,
    require_provider,
)
from wsgiauth.messages import _
from wsgiauth.site import Site
from wsgiauth.web.request import FORM, content_type, read_form, text_field
from wsgiauth.web.responses import Response, json_response


class BackChannelLogout(ProviderEndpoint):
    """Ends the sessions that a logout token names."""

    failures = (NO_SUCH_PROVIDER, PROVIDER_UNAVAILABLE)

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer 200, or 400 with the error of section 2.8; 503 if the keys cannot be fetched."""
        provider = require_provider(environ, site)
        with reporting(provider, "logout: "):
            reason = _end_sessions(_token(environ), provider, site.tokens.now())
        if not reason:
            return json_response({"detail": _("The sessions have ended.")})
        report(provider, f"logout: {reason}")
        # Without the reason, because anyone can ask.
        refused = {"error": "invalid_request", "error_description": "The token was refused."}
        return json_response(refused, status=HTTPStatus.BAD_REQUEST)


def _token(environ: WSGIEnvironment) -> str:
    """Return the token in a form, or an empty string, which is refused as every wrong token."""
    with suppress(RequestError):
        if content_type(environ) == FORM:
            return text_field(read_form(environ), "logout_token")
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
