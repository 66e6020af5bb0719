"""The answers that the browser brings to an app: a code, or why there is none."""

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.authentication.identity import UserSession
from wsgiauth.features.oauth_server.authorization import (
    FORM_POST,
    QUERY,
    AuthorizationError,
    AuthorizationRequest,
    Target,
    with_parameters,
)
from wsgiauth.features.oauth_server.redirect_uris import host_of, origin_of
from wsgiauth.features.oauth_server.server import OAuthServer
from wsgiauth.site import Site
from wsgiauth.web.pages import Page
from wsgiauth.web.responses import NO_REFERRER, WITHOUT_PATHS, Response


class FormPostPage(Page):
    """A form that a script sends, or a button: OAuth 2.0 Form Post Response Mode."""

    template = "form_post.html"
    action: str
    fields: Mapping[str, str]


class UncheckedPage(Page):
    """Says that a request was refused, and leads back to an app that has registered itself."""

    template = "unchecked.html"
    client_name: str
    host: str
    back_url: str


def code_fields(
    site: Site, request: AuthorizationRequest, session: UserSession, scopes: list[str]
) -> dict[str, str]:
    """Return the parameters of an answer with a code."""
    code = site.require(OAuthServer).codes.make(
        request,
        user_id=session.user.id,
        stamp=session.user.security_stamp,
        session_id=session.session_id,
        scopes=scopes,
        now=site.tokens.now(),
    )
    return {"code": code}


def location_of(site: Site, target: Target, fields: Mapping[str, str]) -> str:
    """Return the URI that brings an answer to an app in its query."""
    return with_parameters(target.uri, with_common(site, target, fields))


def answer_error(environ: WSGIEnvironment, site: Site, error: AuthorizationError) -> Response:
    """Send the browser to the app with the reason.

    An app that has registered itself gets it by a link: otherwise, anyone could register an address
    and lead browsers there from this site (RFC 9700 section 4.11.2).
    """
    target, fields = error.target, error_fields(error)
    if not target.unchecked:
        return answer(environ, site, target, fields)
    back_url = location_of(site, target._replace(mode=QUERY), fields)
    page = UncheckedPage(client_name=target.unchecked, host=host_of(target.uri), back_url=back_url)
    response = site.pages.render(environ, page, status=HTTPStatus.BAD_REQUEST)
    return replace(response, referrer=WITHOUT_PATHS)


def error_fields(error: AuthorizationError) -> dict[str, str]:
    """Return the parameters of a refusal."""
    return {"error": error.error, "error_description": error.description}


def answer(
    environ: WSGIEnvironment, site: Site, target: Target, fields: Mapping[str, str]
) -> Response:
    """Send the browser to a registered URI with the parameters of an answer."""
    if target.mode == FORM_POST:
        parameters = with_common(site, target, fields)
        page = FormPostPage(action=target.uri, fields=parameters, form_source=origin_of(target.uri))
        # The app gets the origin of this site, by which it can recognize the form; not the request.
        return replace(site.pages.render(environ, page), referrer=WITHOUT_PATHS)
    headers = (("Location", location_of(site, target, fields)),)
    # The code is in the URL, and so is what the app has sent.
    return Response(HTTPStatus.SEE_OTHER, headers=headers, referrer=NO_REFERRER)


def with_common(site: Site, target: Target, fields: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of an answer with `state` and `iss` (RFC 9207)."""
    state = {"state": target.state} if target.state else {}
    return {**fields, **state, "iss": site.require(OAuthServer).issuer}
