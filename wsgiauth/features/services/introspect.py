"""POST /auth/introspect: a service asks whether a token that it was sent is active (RFC 7662)."""

from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth import events
from wsgiauth.authentication.descriptions import AskingClients, Reader
from wsgiauth.events import actors, kinds
from wsgiauth.exceptions import RequestError
from wsgiauth.features.services.introspection import INTROSPECT, Introspector
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Problem
from wsgiauth.openapi.problems import CHALLENGE, OF_BODY
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.failures import failure, refuse_key
from wsgiauth.web.request import JSON, content_type, read_form, read_json, text_field
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.www_authenticate import challenges

_INACTIVE = {"active": False}  # RFC 7662 section 2.2: nothing else, whatever the reason


_NO_KEY = Problem(
    "NoKey",
    401,
    {
        "unauthenticated": "There are no credentials.",
        "invalid_token": "The credentials are malformed or expired, or their session has ended.",
    },
    headers={"WWW-Authenticate": CHALLENGE},
)
_REFUSED = Problem(
    "NoIntrospection",
    403,
    {
        "insufficient_scope": "The API key lacks a permission.",
        "forbidden": "The request came with a session, and needs an API key.",
    },
)


class Introspect(Endpoint):
    """Answers services by their API key, and clients by their secret.

    A cookie is not enough, so no page can ask.
    """

    failures = (*OF_BODY, _NO_KEY, _REFUSED)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site issues service tokens."""
        return settings.SERVICE_KEYS is not None

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer 200 with the description of the token, or refuse the caller."""
        fields, unreadable = _read(environ)
        clients = site.part(AskingClients)
        caller = None if clients is None else clients.authenticate(environ, fields)
        reader = _service(environ, site) if caller is None else caller
        if isinstance(reader, Response):
            return reader
        if unreadable is not None:
            raise unreadable
        token = text_field(fields, "token")
        if not token:
            raise RequestError(HTTPStatus.BAD_REQUEST, "malformed", _("Send a token."))
        return json_response(site.require(Introspector).describe(token, reader) or _INACTIVE)


def _read(environ: WSGIEnvironment) -> tuple[dict[str, object], RequestError | None]:
    """Return the fields of the body; or none, and the reason for callers who can ask."""
    try:
        read = read_json if content_type(environ) == JSON else read_form
        return read(environ), None
    except RequestError as error:
        return {}, error


def _service(environ: WSGIEnvironment, site: Site) -> Reader | Response:
    """Return a caller with the permission to ask, or the response that refuses it."""
    caller = site.identifier.identify(environ)
    if caller.any_session is not None:
        detail = _(
            "Only an API key with the permission %(permission)s can be used here.",
            permission=INTROSPECT,
        )
        return failure(environ, HTTPStatus.FORBIDDEN, "forbidden", detail)
    if caller.user is None:
        return failure(
            environ,
            HTTPStatus.UNAUTHORIZED,
            caller.error or "unauthenticated",
            _("Send an API key with the permission %(permission)s.", permission=INTROSPECT),
            headers=challenges(environ, caller.error),
        )
    actors.identify(caller.user.id, caller.key_id)
    if not caller.user.has_permission(INTROSPECT):
        events.emit(kinds.REFUSED, user_id=caller.user.id, reason=f"lacks {INTROSPECT}")
        detail = _(
            "The API key does not have the permission %(permission)s.", permission=INTROSPECT
        )
        return refuse_key(environ, detail)
    return Reader()
