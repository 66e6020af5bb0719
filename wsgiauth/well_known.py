"""The well-known URLs (RFC 8615) that wsgiauth answers above its mount, instead of the application.

`middleware` looks each path up; GET and HEAD are answered, and other methods reach the application.
"""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.feature import Feature, WellKnown
from wsgiauth.site import Site
from wsgiauth.web.responses import Response, redirect
from wsgiauth.web.urls import root_url

# W3C, "A Well-Known URL for Changing Passwords": where password managers look.
CHANGE_PASSWORD = "/.well-known/change-password"  # noqa: S105 - a path


def well_known_urls(site: Site, features: Iterable[Feature]) -> Mapping[str, WellKnown]:
    """Return what answers at each path of a site, without its SCRIPT_NAME."""
    mount = site.pages.mount

    def change_password(environ: WSGIEnvironment) -> Response:
        return redirect(HTTPStatus.FOUND, f"{root_url(environ)}{mount}/password")

    answers: dict[str, WellKnown] = {CHANGE_PASSWORD: change_password}
    for feature in features:
        answers |= feature.well_known(site)
    return answers
