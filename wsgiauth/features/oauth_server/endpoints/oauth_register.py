"""POST /auth/oauth/register: an app registers itself as a public client (RFC 7591)."""

from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.authentication.scopes import STANDARD
from wsgiauth.exceptions import RequestError, RetryLaterError
from wsgiauth.features.oauth_server import limits
from wsgiauth.features.oauth_server.oauth_errors import CLIENT_THROTTLED, OAuthError
from wsgiauth.features.oauth_server.origins import OF_THIS_COMPUTER
from wsgiauth.features.oauth_server.redirect_uris import uris_of
from wsgiauth.features.oauth_server.registration import described, register, registered
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.forms.endpoint import Endpoint, read_json_alone
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.responses import Response, json_response


class OAuthRegister(Endpoint):
    """Takes JSON from anyone, throttled by address. There is nothing to change afterwards."""

    cross_origin = OF_THIS_COMPUTER  # any page could register apps from its visitors' networks
    failures = (CLIENT_THROTTLED,)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether apps can register themselves."""
        return settings.OAUTH_REGISTRATION

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer 201 with the client (section 3.2.1)."""
        try:
            metadata = read_json_alone(environ)
            attempt = limits.registration(site, site.clients.networks(environ))
            settings, now = site.settings, site.tokens.now()
            site_name = settings.SITE_NAME or ""
            app = described(metadata, settings.OAUTH_SCHEMES, site_name=site_name)
            row = registered(app, now)
            attempt.begin()  # what was refused does not count
            register(row)
        except OAuthError as error:
            return error.response()
        except RetryLaterError:
            raise
        except RequestError as error:
            status = HTTPStatus(error.status)
            description = "the body must be a JSON object"
            return OAuthError("invalid_client_metadata", description, status=status).response()
        return json_response(_document(row), status=HTTPStatus.CREATED)


def _document(row: Client) -> dict[str, object]:
    return {
        "client_id": row.id,
        "client_id_issued_at": row.created_at,
        "client_name": row.name,
        "redirect_uris": uris_of(row.redirect_uris),
        "scope": row.scopes or " ".join(STANDARD),
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    }
