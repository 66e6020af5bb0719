"""GET, POST /auth/complete: an account of a provider gets its user.

The browser comes from a login at the provider, by an account that no user has connected. The page
depends on who is logged in, and on who has the email address.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from http import HTTPStatus
from typing import ClassVar

from wsgiauth.accounts import find_user, names
from wsgiauth.accounts.models import User
from wsgiauth.exceptions import ForbiddenError, TakenError, ValidationError
from wsgiauth.features.links.mail_limits import MailLimits
from wsgiauth.features.providers import identities, unclaimed
from wsgiauth.features.providers.addresses import ProviderAddress, request_provider_address
from wsgiauth.features.providers.oidc import Provider
from wsgiauth.features.providers.problems import IDENTITY_REFUSED
from wsgiauth.features.providers.redirects import ProviderEndpoint
from wsgiauth.features.providers.unclaimed import (
    REFUSED,
    Unclaimed,
    answer_created,
    connect_waiting,
    create_account,
    expired_cookie,
    is_creation_open,
    proposed_username,
    require_unclaimed,
    verified_address,
)
from wsgiauth.forms import (
    FormPage,
    PublicForm,
    Refusal,
    Submission,
    email_accepted,
    require_own,
    see_other,
    tabs,
)
from wsgiauth.forms.done import just_done
from wsgiauth.forms.endpoint import require_fresh, require_part
from wsgiauth.forms.fields import Flag, Text
from wsgiauth.forms.handover import destination_after_login
from wsgiauth.forms.registration import NewAccountPage, sent_username, sent_values
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.problems import (
    APPLICATION_FAILED,
    FACTOR_DEMANDED,
    INVALID,
    NO_SESSION,
    NOT_FRESH,
    TAKEN,
    THROTTLED,
    TO_CONFIRM,
)
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.pages import Page
from wsgiauth.web.responses import Response, json_response, redirect
from wsgiauth.web.urls import mount_url, with_next

_CONNECT = "connect"
_CANCEL = "cancel"


class CompletePage(NewAccountPage):
    """The form to create an account, without a password."""

    template = "complete.html"
    typed: ClassVar[tuple[str, ...]] = ("username", "email")
    complete_url: str  # names the account that waits
    login_url: str  # leads back to `complete_url`
    title: str  # of the provider
    name: str  # of the account, at the provider
    username: str = ""
    email: str = ""
    asks_email: bool = True  # because the provider has not verified an address
    sends_link: bool = False  # the link proves the address, before there is an account

    @classmethod
    def is_used(cls, settings: Settings) -> bool:
        """Return whether the site has providers."""
        return bool(settings.OIDC_PROVIDERS)


class CompleteSentPage(Page):
    """The next step: open the link. It does not show whether the address has an account."""

    template = "complete_sent.html"
    complete_url: str
    title: str
    minutes: int


class CompleteExistingPage(FormPage):
    """The page that leads to the login of an existing account."""

    template = "complete_existing.html"
    complete_url: str
    login_url: str
    title: str
    name: str
    email: str = ""  # an account has it; empty if new accounts cannot be created


class CompleteConnectPage(FormPage):
    """The page that asks a logged-in user whether to connect the account of the provider."""

    template = "complete_connect.html"
    complete_url: str
    label: str
    title: str
    name: str


class _Case(ABC):
    """A form for a browser in which an account of a provider waits."""

    def __init__(self, waiting: Unclaimed, provider: Provider) -> None:
        self.waiting = waiting
        self.account = waiting.account
        self.title: str = provider.entry.title

    def url(self, submission: Submission) -> str:
        path = tabs.path_of("complete", self.waiting.tag)
        return f"{mount_url(submission.environ)}/{path}"

    def login_url(self, submission: Submission) -> str:
        return with_next(f"{mount_url(submission.environ)}/login", self.url(submission))

    @abstractmethod
    def act(self, submission: Submission) -> Response:
        """See `Form.act`."""

    @abstractmethod
    def page(self, submission: Submission, refusal: Refusal) -> FormPage:
        """See `Form.page`."""


class _New(_Case):
    """Creates an account, with the address that the provider has verified, or another one."""

    sends_link = False

    def act(self, submission: Submission) -> Response:
        fields = submission.fields
        email = verified_address(self.account) or fields["email"]
        user = create_account(
            submission, self.waiting, self.account, sent_username(submission), email
        )
        return answer_created(submission, self.waiting, user)

    def page(self, submission: Submission, refusal: Refusal) -> CompletePage:
        fields, account = submission.fields, self.account
        email = verified_address(account)
        proposed_email = account.email if names.email_problem(account.email) is None else ""
        return CompletePage(
            complete_url=self.url(submission),
            login_url=self.login_url(submission),
            title=self.title,
            name=account.name,
            username=sent_username(submission) or proposed_username(account),
            email=email or fields["email"] or proposed_email,
            asks_email=not email,
            sends_link=self.sends_link,
            message=refusal.text_without(*fields),
            errors=refusal.errors,
            fields=() if self.sends_link else submission.site.registration.fields,
            values={} if self.sends_link else sent_values(submission),
        )


class _ByLink(_New):
    """Sends a link to an address that the provider has not verified.

    The answer, and the work before it, do not depend on whether the address has an account.
    """

    sends_link = True

    def act(self, submission: Submission) -> Response:
        site, fields = submission.site, submission.fields
        asked = {name: fields[name] for name in CompletePage.typed if name in fields}
        errors = names.name_errors(asked)
        if errors:
            raise ValidationError(errors)
        site.require(MailLimits).count(fields["email"], submission.networks)
        identity_id = identities.identity_id(self.account.issuer, self.account.subject)
        request_provider_address(
            require_part(site.outbox),
            ProviderAddress(identity_id, **{"username": "", **asked}),
            mount=site.pages.mount,
        )
        detail = _(
            "If the address can have an account, an email with a link is on its way. Open the link"
            " in this browser."
        )
        url, minutes = self.url(submission), site.settings.LINK_MINUTES
        page = CompleteSentPage(complete_url=url, title=self.title, minutes=minutes)
        return email_accepted(submission, detail, page)


class _Existing(_Case):
    """Leads to the login of an existing account, which can have the address, and creates none."""

    def __init__(self, waiting: Unclaimed, provider: Provider, taken_email: str) -> None:
        super().__init__(waiting, provider)
        self._email = taken_email

    def act(self, submission: Submission) -> Response:
        if self._email:
            raise TakenError({"email": [names.TAKEN["email"]]})
        raise ForbiddenError(_("New accounts cannot be created with this provider."))

    def page(self, submission: Submission, refusal: Refusal) -> CompleteExistingPage:
        return CompleteExistingPage(
            complete_url=self.url(submission),
            login_url=self.login_url(submission),
            title=self.title,
            name=self.account.name,
            email=self._email,
            message=refusal.text,
        )


class _Connect(_Case):
    """Connects the account to a user who is logged in, and has recently proved their identity."""

    def act(self, submission: Submission) -> Response:
        environ, site = submission.environ, submission.site
        member = require_fresh(environ, site)
        if _CONNECT not in submission.flags:
            raise ValidationError({_CONNECT: [_("Choose whether to connect the two accounts.")]})
        connect_waiting(member.user, self.waiting, site.tokens.now())
        cookie, wanted = expired_cookie(submission, self.waiting), self.waiting.destination
        location = destination_after_login(environ, site, wanted) if wanted else ""
        if submission.wants_json:
            location = location or f"{mount_url(environ)}/identities"
            return json_response({"detail": _("Connected."), "next": location}, headers=(cookie,))
        if location:
            return redirect(HTTPStatus.SEE_OTHER, location, headers=(cookie,))
        return see_other(submission, "identities?done=connected", cookie, name=self.title)

    def page(self, submission: Submission, refusal: Refusal) -> CompleteConnectPage:
        member = require_fresh(submission.environ, submission.site)
        return CompleteConnectPage(
            complete_url=self.url(submission),
            label=member.user.label,
            title=self.title,
            name=self.account.name,
            message=refusal.text,
        )


_EXPIRED = Problem(
    "ProviderLoginExpired",
    410,
    {"provider_login_expired": "No account of another provider waits in this browser."},
)
_CLOSED = Problem(
    "CreationClosed",
    403,
    {
        "forbidden": "New accounts cannot be created with this provider.",
        "insufficient_scope": "The request came with an API key, and needs a session.",
    },
)


class Complete(ProviderEndpoint, PublicForm):
    """Creates an account, connects the account of the provider, or leads to the login."""

    fields = (
        Text("username", "Of the new account.", needs="USERNAMES"),
        Text("email", "Of the new account, if the provider has verified no address."),
        Flag(_CONNECT, "Connect both accounts, for a user who is logged in."),
        Flag(_CANCEL, "Forget the account of the provider."),
    )
    refusals = (INVALID, TAKEN, IDENTITY_REFUSED, _CLOSED, THROTTLED)
    failures = (APPLICATION_FAILED,)

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of the form, and of a session that connects an account."""
        led_on = replace(TO_CONFIRM, status=302) if method == "get" else TO_CONFIRM
        of_session = (led_on, NO_SESSION, NOT_FRESH, FACTOR_DEMANDED)
        return (*super().problems(method), *of_session, _EXPIRED)

    def strings(self, site: Site) -> tuple[str, ...]:
        """Return the fields, and the fields of the application."""
        return (*super().strings(site), *site.registration.names)

    def _admit(self, submission: Submission) -> Submission:
        """Refuse a browser in which no account waits, or whose user needs a recent proof."""
        environ, site = submission.environ, submission.site
        require_unclaimed(environ, site)
        is_guest = site.identifier.identify_anyway(environ).any_session is None
        if not is_guest and _CANCEL not in submission.flags:
            require_fresh(environ, site)
        return submission

    def _check_account(self, submission: Submission) -> None:
        """Also refuse a form about another account of a provider."""
        waiting, _provider = require_unclaimed(submission.environ, submission.site)
        user, identity_id = _shown_to(submission, waiting)
        require_own(submission, user, identity_id=identity_id)

    def act(self, submission: Submission) -> Response:
        """Do the action of the page, or end the wait."""
        if _CANCEL in submission.flags:
            return _cancel(submission)
        waiting, provider = require_unclaimed(submission.environ, submission.site)
        return _case(submission, waiting, provider).act(submission)

    def page(self, submission: Submission, refusal: Refusal) -> FormPage:
        """Return the page for this browser."""
        waiting, provider = require_unclaimed(submission.environ, submission.site)
        user, identity_id = _shown_to(submission, waiting)
        done = just_done(submission.environ)
        if done.word == REFUSED:
            refusal = Refusal(done.name)
        account = submission.site.form_accounts.value(user.id if user else 0, identity_id)
        page = _case(submission, waiting, provider).page(submission, refusal)
        return page.replaced(shown_to=account, destination=waiting.destination)


def _shown_to(submission: Submission, waiting: Unclaimed) -> tuple[User | None, str]:
    """Return the user who is logged in, and the id of the account that waits."""
    session = submission.site.identifier.identify_anyway(submission.environ).any_session
    identity_id = identities.identity_id(waiting.account.issuer, waiting.account.subject)
    return session and session.user, identity_id


def _case(submission: Submission, waiting: Unclaimed, provider: Provider) -> _Case:
    environ, site = submission.environ, submission.site
    if site.identifier.identify_anyway(environ).any_session is not None:
        return _Connect(waiting, provider)
    email = verified_address(waiting.account)
    if email and find_user(email) is not None:
        return _Existing(waiting, provider, email)
    if not is_creation_open(site, provider):
        return _Existing(waiting, provider, "")
    if not email and site.outbox is not None:
        return _ByLink(waiting, provider)
    return _New(waiting, provider)


def _cancel(submission: Submission) -> Response:
    environ, site = submission.environ, submission.site
    waiting, _provider = require_unclaimed(environ, site)
    unclaimed.finish(waiting, site.tokens.now())
    is_guest = site.identifier.identify_anyway(environ).any_session is None
    page, cookie = "login" if is_guest else "account", expired_cookie(submission, waiting)
    if submission.wants_json:
        location = f"{mount_url(environ)}/{page}"
        return json_response({"detail": _("Cancelled."), "next": location}, headers=(cookie,))
    return see_other(submission, page, cookie)
