"""Forms to which links in emails lead."""

from wsgiref.types import WSGIEnvironment

from wsgiauth.forms import PublicForm, Refusal, Submission
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.request import query_field
from wsgiauth.web.responses import Response

TOKEN = "token"  # noqa: S105 - the field, and its parameter, with the secret of a link


class LinkForm(PublicForm):
    """A form to which a link with a secret leads.

    GET changes nothing, because email scanners and previews open links: the page has a form. No
    answer sends a referrer, because the URL has the secret of the link.
    """

    hides_address = True

    def is_offered(self, settings: Settings) -> bool:
        """Return whether there can be links: without email, an operator can print one."""
        return settings.PUBLIC_URL is not None

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the page."""
        fields = {**dict.fromkeys(self.strings(site), ""), TOKEN: query_field(environ, TOKEN)}
        submission = Submission(environ=environ, site=site, fields=fields)
        return site.pages.render(environ, self.page(submission, Refusal()))
