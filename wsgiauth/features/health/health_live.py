"""GET /auth/health/live: whether the process answers.

Load balancers and container platforms ask without credentials, and so can any stranger. So the
answers of this URL and of /auth/health/ready say nothing else, and their cost does not depend on
the request.
"""

from wsgiref.types import WSGIEnvironment

from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.site import Site
from wsgiauth.web.responses import Response, json_response

OK = "ok"  # a value of `status`


class Probe(Endpoint):
    """A URL that is the same for all clients."""

    ignores_credentials = True

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return nothing: a probe fails in no other way than its answers say."""
        return ()


class Live(Probe):
    """Says that the process answers requests, without the database."""

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer 200."""
        return json_response({"status": OK})
