"""POST /auth/refresh: a refresh token for a new pair of tokens."""

from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.authentication.refresh import refresh
from wsgiauth.exceptions import RequestError
from wsgiauth.forms.endpoint import Endpoint, read_json_alone
from wsgiauth.forms.handover import token_document
from wsgiauth.messages import _
from wsgiauth.site import Site
from wsgiauth.web.request import text_field
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.www_authenticate import challenge


class Refresh(Endpoint):
    """Exchanges tokens. The refresh token is taken from JSON alone: no cookie, no form, no URL."""

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the new pair, or 401."""
        fields = read_json_alone(environ)
        named = site.refresh_tokens.verify(text_field(fields, "refresh_token"))
        issued = None if named is None else refresh(*named, site.tokens)
        if issued is None:
            raise RequestError(
                HTTPStatus.UNAUTHORIZED,
                "invalid_grant",
                _("This refresh token is not valid. Log in again."),
                headers=(challenge(None),),
            )
        return json_response(token_document(site, issued))
