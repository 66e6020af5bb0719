"""The well-known URLs (RFC 8615) that wsgiauth answers above its mount, instead of the application.

`middleware` looks each path up; GET and HEAD are answered, and other methods reach the application.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.authentication.services import ServiceTokens
from wsgiauth.site import Site
from wsgiauth.web.responses import PUBLIC_FOR_AN_HOUR, Response, json_response, redirect
from wsgiauth.web.urls import root_url

# W3C, "A Well-Known URL for Changing Passwords": where password managers look.
CHANGE_PASSWORD = "/.well-known/change-password"  # noqa: S105 - a path
METADATA = "/.well-known/oauth-authorization-server"  # RFC 8414 section 3

Answer = Callable[[WSGIEnvironment], Response]


def well_known_urls(site: Site) -> Mapping[str, Answer]:
    """Return what answers at each path of a site, without its SCRIPT_NAME."""
    mount = site.pages.mount

    def change_password(environ: WSGIEnvironment) -> Response:
        return redirect(HTTPStatus.FOUND, f"{root_url(environ)}{mount}/password")

    if site.part(ServiceTokens) is None:
        return {CHANGE_PASSWORD: change_password}
    metadata = json_response(_metadata(site), cache=PUBLIC_FOR_AN_HOUR)
    return {CHANGE_PASSWORD: change_password, METADATA: lambda _: metadata}


def _metadata(site: Site) -> dict[str, object]:
    """Return what a service has to know of this site (RFC 8414 section 2)."""
    issuer = site.settings.PUBLIC_URL or ""
    base = issuer.rstrip("/") + site.pages.mount
    return {
        "issuer": issuer,
        "jwks_uri": f"{base}/jwks.json",
        "token_endpoint": f"{base}/token",
        "introspection_endpoint": f"{base}/introspect",
        # There is no authorization endpoint. Without this, two grant types would be implied.
        "response_types_supported": [],
        "grant_types_supported": [],
    }
