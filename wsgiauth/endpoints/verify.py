"""GET, POST /auth/verify: where a mail leads that proves an address.

The purpose of the link's secret decides what happens: see `link_purposes`. GET changes nothing,
because mail scanners and previews open links: the page has a form. No answer sends a referrer,
because the address has the secret of the link.
"""

from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication import one_time
from wsgiauth.endpoints.invitation import InvitationLink
from wsgiauth.endpoints.verify_address import AddressLink
from wsgiauth.forms import PublicForm, Refusal, Submission
from wsgiauth.forms.link_purposes import LinkPurpose
from wsgiauth.forms.links import TOKEN, link_expired
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.pages import Page
from wsgiauth.web.request import query_field
from wsgiauth.web.responses import Response

# A further purpose is one line here.
_PURPOSES: tuple[LinkPurpose, ...] = (InvitationLink(), AddressLink())
PURPOSES = {each.purpose: each for each in _PURPOSES}


class Verify(PublicForm):
    """Finds the secret of the link, and lets its purpose answer."""

    hides_address = True
    fields = (TOKEN, "username", "password")

    def is_offered(self, settings: Settings) -> bool:
        """Return whether there can be links: without mail, an operator can print one."""
        return settings.PUBLIC_URL is not None

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the page that says what the link does."""
        fields = {**dict.fromkeys(self.fields, ""), TOKEN: query_field(environ, TOKEN)}
        submission = Submission(environ=environ, site=site, fields=fields)
        return site.pages.render(self.page(submission, Refusal()))

    def act(self, submission: Submission) -> Response:
        """Return the answer of the link's purpose."""
        secret = _require_secret(submission)
        return PURPOSES[secret.purpose].act(submission, secret)

    def page(self, submission: Submission, refusal: Refusal) -> Page:
        """Return the page of the link's purpose.

        Raises:
            RequestError: 410.
            peewee.DatabaseError: The database failed.
        """
        secret = _require_secret(submission)
        return PURPOSES[secret.purpose].page(submission, secret, refusal)


def _require_secret(submission: Submission) -> OneTimeSecret:
    now = submission.site.tokens.now()
    secret = one_time.find(submission.fields[TOKEN], *PURPOSES, now=now)
    if secret is None:
        raise link_expired()
    return secret
