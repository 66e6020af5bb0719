"""POST /auth/oidc/{provider}: a browser goes to a provider, to log in."""

from wsgiref.types import WSGIEnvironment

from wsgiauth.features.providers.oidc.errands import LOG_IN, Errand
from wsgiauth.features.providers.problems import (
    NO_SUCH_PROVIDER,
    PROVIDER_FAILED,
    PROVIDER_UNAVAILABLE,
)
from wsgiauth.features.providers.redirects import (
    ProviderEndpoint,
    require_provider,
    send_to_provider,
)
from wsgiauth.forms import NEXT, Submission
from wsgiauth.forms.endpoint import require_same_origin
from wsgiauth.forms.handover import REMEMBER
from wsgiauth.openapi.problems import OF_BODY
from wsgiauth.site import Site
from wsgiauth.web.request import (
    JSON,
    asks_for_json,
    content_type,
    flag_field,
    read_form,
    read_json,
    text_field,
)
from wsgiauth.web.responses import Response


class ProviderLogin(ProviderEndpoint):
    """Begins a login. Other pages have the form, with a button for each provider."""

    failures = (*OF_BODY, NO_SUCH_PROVIDER, PROVIDER_FAILED, PROVIDER_UNAVAILABLE)

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Send the browser to the provider."""
        provider = require_provider(environ, site)
        is_program = content_type(environ) == JSON
        if not is_program:
            require_same_origin(environ, site)
        sent = read_json(environ) if is_program else read_form(environ)
        destination = site.destinations.safe(text_field(sent, NEXT))
        errand = Errand(LOG_IN, destination, remember=flag_field(sent, REMEMBER))
        wants_json = is_program or asks_for_json(environ)
        submission = Submission(environ=environ, site=site, fields={}, wants_json=wants_json)
        return send_to_provider(submission, provider, errand)
