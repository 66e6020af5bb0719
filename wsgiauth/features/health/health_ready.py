"""GET /auth/health/ready: whether the process can serve requests."""

from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth import storage
from wsgiauth.features.health.health_live import OK, Probe
from wsgiauth.site import Site
from wsgiauth.storage.connections import AccountDatabase
from wsgiauth.storage.readiness import Readiness
from wsgiauth.web.responses import Response, json_response

UNAVAILABLE = "unavailable"  # the other value of `status`


class Ready(Probe):
    """Says whether the database answers, and has the tables of this version."""

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer 200 or 503."""
        database: AccountDatabase = storage.current()  # type: ignore[assignment]
        if site.require(Readiness).is_ready(database):
            return json_response({"status": OK})
        return json_response({"status": UNAVAILABLE}, status=HTTPStatus.SERVICE_UNAVAILABLE)
