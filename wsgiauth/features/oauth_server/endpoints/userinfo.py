"""GET, POST /auth/userinfo: the claims about a user (OpenID Connect Core 1.0 section 5.3)."""

from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.authentication.identity import bearer_token
from wsgiauth.authentication.scopes import OPENID
from wsgiauth.exceptions import ApplicationError, RequestError
from wsgiauth.features.oauth_server.issuing import claims_of, further_claims
from wsgiauth.features.oauth_server.oauth_errors import OAuthError, server_error
from wsgiauth.features.oauth_server.origins import OF_APPS
from wsgiauth.features.oauth_server.presented import GRANT, access_claims
from wsgiauth.features.oauth_server.scopes import offered
from wsgiauth.features.oauth_server.server import OAuthServer, userinfo_url
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.request import FORM, content_type, read_form, text_field
from wsgiauth.web.responses import REALM, Response, json_response


class UserInfo(Endpoint):
    """Accepts only access tokens of the provider that are for this URL, and no cookie."""

    cross_origin = OF_APPS

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site is a provider."""
        return settings.OAUTH_SERVER

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the claims that the scopes of the token open."""
        try:
            return json_response(_claims(_token(environ), site))
        except OAuthError as error:
            return error.response()
        except ApplicationError as error:
            return server_error(error).response()

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Do the same; the token can also be in the form (RFC 6750 section 2.2)."""
        return self.get(environ, site)


def _token(environ: WSGIEnvironment) -> str:
    header = environ.get("HTTP_AUTHORIZATION")
    if header is not None:
        return bearer_token(header) or ""
    if environ["REQUEST_METHOD"] != "POST":
        return ""
    try:
        return text_field(read_form(environ), "access_token") if _is_form(environ) else ""
    except RequestError:
        return ""


def _is_form(environ: WSGIEnvironment) -> bool:
    return content_type(environ) == FORM


def _claims(token: str, site: Site) -> dict[str, object]:
    if not token:
        raise _refused("", "send an access token", HTTPStatus.UNAUTHORIZED)
    claims = access_claims(token, site)
    if claims is None or claims.get("aud") != userinfo_url(site):
        raise _invalid_token()
    grant = site.require(OAuthServer).grants.find(str(claims[GRANT]), site.tokens.now())
    if grant is None:
        raise _invalid_token()
    scopes = offered(grant.client, claims["scope"].split(), grant.user, site.settings, resource="")
    if OPENID not in scopes:
        description = f"the token lacks the scope {OPENID}"
        raise _refused("insufficient_scope", description, HTTPStatus.FORBIDDEN)
    further = further_claims(grant.user, grant.client, scopes, site)
    return {**claims_of(grant.user, scopes, site.settings), **further}


def _invalid_token() -> OAuthError:
    description = "the access token is wrong, or has ended"
    return _refused("invalid_token", description, HTTPStatus.UNAUTHORIZED)


def _refused(error: str, description: str, status: HTTPStatus) -> OAuthError:
    """Return the refusal with its challenge (RFC 6750 section 3)."""
    challenge = f'Bearer realm="{REALM}"' + (f', error="{error}"' if error else "")
    headers = (("WWW-Authenticate", challenge),)
    return OAuthError(error or "invalid_request", description, status=status, headers=headers)
