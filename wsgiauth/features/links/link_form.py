"""The base classes of the forms that links in emails open."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.exceptions import RequestError
from wsgiauth.forms import TOKEN, FormPage, PublicForm, Refusal, Submission
from wsgiauth.messages import Joined, _
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.problems import INVALID
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.request import query_field
from wsgiauth.web.responses import Response


class LinkExpiredError(RequestError):
    """The link of an email was used before, has expired, or ended with a change of the account."""

    def __init__(self, advice: str, pages: Mapping[str, str]) -> None:
        reason = _(
            "This link is incomplete, was used before, has expired, or ended because the account"
            " has changed since."
        )
        super().__init__(HTTPStatus.GONE, "link_expired", Joined([reason, advice]))
        self.pages = pages


EXPIRED = Problem(
    "LinkExpired",
    410,
    {
        "link_expired": "The link was used or has expired, or the password or the address was"
        " changed since it was sent."
    },
)


class LinkForm(PublicForm):
    """A form that a link with a secret opens.

    GET changes nothing, because email scanners and previews open links. No answer sends its URL as
    a referrer, because the URL has the secret.
    """

    hides_address = True
    is_navigation = True
    refusals: tuple[Problem, ...] = (INVALID, EXPIRED)

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of every form, and of a link that has ended."""
        return (*super().problems(method), *((EXPIRED,) if method == "get" else ()))

    def is_offered(self, settings: Settings) -> bool:
        """Return whether there can be links; without email, an operator can print one."""
        return settings.PUBLIC_URL is not None

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the page."""
        fields = {**dict.fromkeys(self.strings(site), ""), TOKEN: query_field(environ, TOKEN)}
        submission = Submission(environ=environ, site=site, fields=fields)
        return site.pages.render(environ, self.page(submission, Refusal()))


class LinkPurpose(ABC):
    """Answers for an unused link of one purpose; raises `LinkExpiredError` if it cannot be used."""

    @abstractmethod
    def act(self, submission: Submission, secret: OneTimeSecret) -> Response:
        """Use the secret, and answer; see `Form.act`."""

    @abstractmethod
    def page(self, submission: Submission, secret: OneTimeSecret, refusal: Refusal) -> FormPage:
        """Return the page with the form."""


def has_account(site: Site) -> LinkExpiredError:
    """Return the error for a link to create an account that exists already."""
    advice = _("This address has an account. Log in, or ask for a new password on the login page.")
    if not site.settings.PASSWORD_LOGIN:
        advice = _("This address has an account. Log in.")
    return LinkExpiredError(advice, {"login": _("Go to the login page")})
