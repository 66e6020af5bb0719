"""GET /auth/admin."""

from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.site import Site
from wsgiauth.staff.frame import USERS, PanelEndpoint, panel_url, require_staff
from wsgiauth.web.responses import Response, redirect


class Panel(PanelEndpoint):
    """Redirects from /auth/admin to the users."""

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Redirect the staff."""
        require_staff(environ, site)
        return redirect(HTTPStatus.SEE_OTHER, f"{panel_url(environ)}/{USERS}")
