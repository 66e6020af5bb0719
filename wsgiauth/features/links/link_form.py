"""Forms to which links in emails lead."""

from abc import ABC, abstractmethod
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.exceptions import LinkExpiredError
from wsgiauth.forms import TOKEN, FormPage, PublicForm, Refusal, Submission
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.request import query_field
from wsgiauth.web.responses import Response


class LinkForm(PublicForm):
    """A form to which a link with a secret leads.

    GET changes nothing, because email scanners and previews open links: the page has a form. No
    answer sends its address as a referrer, because that has the secret of the link.
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


class LinkPurpose(ABC):
    """Answers for the links whose secrets have one purpose, and have not been used yet.

    Both methods raise `LinkExpiredError` if the link cannot be used.
    """

    @abstractmethod
    def act(self, submission: Submission, secret: OneTimeSecret) -> Response:
        """Use the secret, and answer; see `Form.act`."""

    @abstractmethod
    def page(self, submission: Submission, secret: OneTimeSecret, refusal: Refusal) -> FormPage:
        """Return the page that says what the link does, with a form."""


def has_account() -> LinkExpiredError:
    """Return the error for a link to create an account, whose address has one."""
    advice = _("This address has an account. Log in, or ask for a new password on the login page.")
    return LinkExpiredError(advice, {"login": _("Go to the login page")})
