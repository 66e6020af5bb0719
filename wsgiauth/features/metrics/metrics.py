"""GET /auth/metrics: the figures of the site, for Prometheus."""

from http import HTTPStatus
from importlib.util import find_spec
from wsgiref.types import WSGIEnvironment

from wsgiauth import events
from wsgiauth.events import actors, kinds
from wsgiauth.forms.endpoint import Endpoint, require_caller
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.problems import FACTOR_DEMANDED, NO_SESSION, TO_LOGIN
from wsgiauth.settings import Settings
from wsgiauth.settings.kinds import missing_package
from wsgiauth.site import Site
from wsgiauth.web.failures import failure, refuse_key
from wsgiauth.web.responses import Response

PERMISSION = "wsgiauth.metrics"

_NO_RIGHT = Problem(
    "NoMetrics",
    403,
    {
        "forbidden": "The user lacks the permission `wsgiauth.metrics`.",
        "insufficient_scope": "The API key lacks the permission `wsgiauth.metrics`.",
    },
)


class Metrics(Endpoint):
    """Answers callers with the permission, by an API key or a session."""

    failures = (_NO_RIGHT,)

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of a session or an API key."""
        return (*super().problems(method), TO_LOGIN, NO_SESSION, FACTOR_DEMANDED)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether METRICS is on."""
        return settings.METRICS

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer 200 with the metrics, in a format that the client accepts."""
        caller = require_caller(environ, site)
        actors.identify(caller.user.id, caller.key_id)
        if not caller.user.has_permission(PERMISSION):
            events.emit(kinds.REFUSED, user_id=caller.user.id, reason=f"lacks {PERMISSION}")
            if caller.key_id:
                detail = _(
                    "The API key does not have the permission %(permission)s.",
                    permission=PERMISSION,
                )
                return refuse_key(environ, detail)
            detail = _("Your account does not have the permission that this page requires.")
            return failure(environ, HTTPStatus.FORBIDDEN, "forbidden", detail)
        from wsgiauth.features.metrics.exposition import exposition

        body, content_type = exposition(site, environ.get("HTTP_ACCEPT", ""))
        return Response(HTTPStatus.OK, body, content_type, headers=(("Vary", "Accept"),))


def require_package() -> None:
    """Raise ConfigurationError if prometheus_client is not installed."""
    if find_spec("prometheus_client") is None:
        raise missing_package("METRICS", "prometheus-client", "metrics")
