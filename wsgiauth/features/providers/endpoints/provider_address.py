"""At /auth/verify: links that create the account of a user of a provider; see `addresses`."""

from http import HTTPStatus

from wsgiauth.accounts import find_user
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.exceptions import RequestError, ValidationError
from wsgiauth.features.links.link_form import LinkExpiredError, LinkPurpose, has_account
from wsgiauth.features.providers.addresses import ProviderAddress, read_provider_address
from wsgiauth.features.providers.identities import identity_id
from wsgiauth.features.providers.oidc import Provider
from wsgiauth.features.providers.unclaimed import (
    UNCLAIMED,
    ProviderAccountExpiredError,
    Unclaimed,
    answer_created,
    create_account,
    is_creation_open,
    list_unclaimed,
)
from wsgiauth.forms import TOKEN, Refusal, Submission
from wsgiauth.forms.registration import NewAccountPage, sent_username, sent_values
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import Response


class ProviderAddressPage(NewAccountPage):
    """The form to create the account."""

    template = "provider_address.html"
    typed = ("username",)
    verify_url = UrlBelow("verify")
    token: str
    title: str  # of the provider
    email: str
    username: str = ""

    @classmethod
    def is_used(cls, settings: Settings) -> bool:
        """Return whether the site has providers."""
        return bool(settings.OIDC_PROVIDERS)


class OtherBrowserError(RequestError):
    """The link was opened in a browser that has not proven the account of the provider."""

    def __init__(self) -> None:
        super().__init__(
            HTTPStatus.FORBIDDEN,
            "other_browser",
            _(
                "Open this link in the browser in which you asked for it. If this is the one, log"
                " in with the same provider again, then open the link again."
            ),
        )
        self.pages = {"login": _("Go to the login page")}


class ProviderAddressLink(LinkPurpose):
    """Creates an account, whose address the link has proven, and logs the user in."""

    def act(self, submission: Submission, secret: OneTimeSecret) -> Response:
        """Create the account."""
        asked = read_provider_address(secret)
        waiting, _provider = _require_same(submission, asked)
        account = waiting.account._replace(email=asked.email, email_verified=True)
        username = sent_username(submission, asked.username)
        try:
            user = create_account(submission, waiting, account, username, asked.email, link=secret)
        except ProviderAccountExpiredError:  # another request was first
            pages = {"login": _("Go to the login page")}
            raise LinkExpiredError(_("Log in with the provider again."), pages) from None
        except ValidationError as error:
            if "email" in error.errors and find_user(asked.email) is not None:
                raise has_account(submission.site) from None
            raise
        return answer_created(submission, waiting, user)

    def page(
        self, submission: Submission, secret: OneTimeSecret, refusal: Refusal
    ) -> ProviderAddressPage:
        """Return the form."""
        asked = read_provider_address(secret)
        waiting, provider = _require_same(submission, asked)
        if find_user(asked.email) is not None:
            raise has_account(submission.site)
        return ProviderAddressPage(
            token=submission.fields[TOKEN],
            destination=waiting.destination,
            title=provider.entry.title,
            email=asked.email,
            username=sent_username(submission, asked.username) or "",
            message=refusal.text_without(*submission.fields),
            errors=refusal.errors,
            fields=submission.site.registration.fields,
            values=sent_values(submission),
        )


def _require_same(submission: Submission, asked: ProviderAddress) -> tuple[Unclaimed, Provider]:
    """Return the account of the provider that asked for the link, if it waits in any tab."""
    site = submission.site
    cookies = site.identifier.sent_cookies(submission.environ, UNCLAIMED)
    for waiting, provider in list_unclaimed(site, cookies):
        if asked.identity_id == identity_id(waiting.account.issuer, waiting.account.subject):
            if not is_creation_open(site, provider):
                raise LinkExpiredError(_("New accounts cannot be created now."), {})
            return waiting, provider
    raise OtherBrowserError
