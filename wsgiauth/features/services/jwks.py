"""GET /auth/jwks.json: the public keys by which services verify their tokens (RFC 7517)."""

from wsgiref.types import WSGIEnvironment

from wsgiauth.features.services.service_tokens import ServiceTokens
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.responses import PUBLIC_FOR_AN_HOUR, Response, json_response


class KeySet(Endpoint):
    """Publishes the keys of SERVICE_KEYS."""

    def is_offered(self, settings: Settings) -> bool:
        """Return whether there are keys."""
        return settings.SERVICE_KEYS is not None

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the public keys, whoever asks."""
        return json_response(site.require(ServiceTokens).key_set, cache=PUBLIC_FOR_AN_HOUR)
