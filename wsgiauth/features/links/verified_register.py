"""GET, POST /auth/register where VERIFICATION is on: an email with a link to create an account."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import ClassVar

from wsgiauth import storage
from wsgiauth.accounts import names
from wsgiauth.accounts.models import User
from wsgiauth.endpoints.register import Register, RegisterPage
from wsgiauth.exceptions import RetryLaterError, ValidationError
from wsgiauth.features.links.detours import keep_next
from wsgiauth.features.links.letters import request_address_link, request_invitation
from wsgiauth.features.links.mail_limits import MailLimits
from wsgiauth.forms import Form, FormPage, Refusal, Submission, email_accepted, see_other
from wsgiauth.forms.again import (
    AGAIN,
    CHANGE,
    WAIT,
    asked_cookie,
    asked_fields,
    fields_to_change,
    require_wait,
    seconds_to_wait,
)
from wsgiauth.forms.endpoint import Endpoint, require_part
from wsgiauth.forms.fields import Flag, Text
from wsgiauth.messages import _
from wsgiauth.openapi.problems import INVALID, THROTTLED
from wsgiauth.openapi.strings import EMAIL, USERNAME
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.cookies import OwnCookie
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import mount_url, with_next

_ASKED = OwnCookie("-registering", 60 * 60)  # see `forms.again`


class Registration(Register):
    """The registration, with or without VERIFICATION."""

    def variant(self, settings: Settings) -> Endpoint:
        """Return the endpoint that sends a link first, if VERIFICATION is on."""
        return VerifiedRegister() if settings.VERIFICATION else self

    def follow_up(self, submission: Submission) -> Callable[[User], object]:
        """Return how to send a link that verifies the address, unless there were too many."""
        site, networks = submission.site, submission.networks
        limits, outbox = site.require(MailLimits), site.outbox
        if outbox is None or not limits.admits_new_user(submission.fields["email"], networks):
            return super().follow_up(submission)  # the user can ask for the link later

        def count(user: User) -> None:
            with suppress(RetryLaterError):  # of several registrations at a time
                limits.count(user.email, networks, user=user)

        def send_link(user: User) -> None:
            request_address_link(outbox, user, user.email, mount=site.pages.mount)
            # In a transaction, counts of the same addresses could deadlock on MariaDB.
            storage.current().after_commit(lambda: count(user))

        return send_link


class RegistrationCodes(ABC):
    """Adds a code to the email of a registration; the feature `login_codes` implements it."""

    @abstractmethod
    def send(self, submission: Submission, username: str, email: str) -> Response:
        """Insert the email, which has been counted, and answer; the names are valid."""

    @abstractmethod
    def to_change(self, submission: Submission) -> Mapping[str, str]:
        """Return the fields that the user wants to change; see `again.fields_to_change`."""


class VerifiedRegisterPage(RegisterPage):
    """The form to ask for an account, without a password."""

    template = "verified_register.html"
    typed: ClassVar[tuple[str, ...]] = ("username", "email")
    sends_code: bool = False  # as well as the link

    @property
    def focused(self) -> str:
        """The address, if the user wants to change it; otherwise as usual."""
        return "email" if self.email and not self.is_refused else super().focused

    @classmethod
    def is_used(cls, settings: Settings) -> bool:
        """Return False: the link leads to the page that asks for the fields."""
        return False


class VerifiedRegisterSentPage(FormPage):
    """The next steps. It does not show whether there is an account."""

    template = "verified_register_sent.html"
    register_url = UrlBelow("register")
    login_url: str
    minutes: int
    email: str = ""  # as it was sent; empty after an hour
    change_url: str = ""  # the form with the names that were sent
    wait: int = 0  # seconds, until another email can be asked for


class VerifiedRegister(Register):
    """Sends an invitation, whose link creates the account.

    The answer and its time do not depend on whether the address has an account.
    """

    fields = (
        Text("username", USERNAME, required=True, needs="USERNAMES"),
        Text("email", EMAIL, required=True),
        Flag(
            AGAIN,
            "For browsers: send another email instead, to the address for which the browser has"
            " asked for one.",
        ),
    )
    refusals = (INVALID, THROTTLED)
    failures = ()
    page_class = VerifiedRegisterPage

    def strings(self, site: Site) -> tuple[str, ...]:
        """Return the fields without the application's fields, which the link's page asks for."""
        return Form.strings(self, site)

    def act(self, submission: Submission) -> Response:
        """Insert the email, even if the address has an account."""
        site, fields = submission.site, submission.fields
        if _is_again(submission):
            require_wait(submission, _ASKED)
            asked = asked_fields(submission, _ASKED)
            if not asked:
                return see_other(submission, with_next("register", submission.destination))
            fields = asked
        errors = names.name_errors(fields)
        if errors:
            raise ValidationError(errors)
        site.require(MailLimits).count(fields["email"], submission.networks)
        username, email = fields.get("username", ""), fields["email"]
        codes = site.part(RegistrationCodes)
        if codes is not None:
            return codes.send(submission, username, email)
        outbox = require_part(site.outbox)
        request_invitation(outbox, username, email, mount=site.pages.mount)
        detail = _("If the address can have an account, an email with a link is on its way.")
        if submission.is_program:
            return email_accepted(submission, detail, _sent_page(submission, email))
        asked = {name: fields[name] for name in self.strings(site)}
        cookie = asked_cookie(submission, _ASKED, asked)
        cookies = (cookie, *keep_next(submission))
        return email_accepted(submission, detail, _sent_page(submission, email), *cookies)

    def page(self, submission: Submission, refusal: Refusal) -> FormPage:
        """Return the form, or the page that asked for another email too early."""
        if _is_again(submission):
            email = asked_fields(submission, _ASKED).get("email", "")
            wait = seconds_to_wait(submission, _ASKED)
            return _sent_page(submission, email).replaced(message=refusal.text, wait=wait)
        codes = submission.site.part(RegistrationCodes)
        typed = (
            fields_to_change(submission, _ASKED) if codes is None else codes.to_change(submission)
        )
        page = super().page(submission, refusal)
        return page.replaced(sends_code=codes is not None, **typed)


def _is_again(submission: Submission) -> bool:
    return AGAIN in submission.flags and not submission.is_program


def _sent_page(submission: Submission, email: str) -> VerifiedRegisterSentPage:
    mount, destination = mount_url(submission.environ), submission.destination
    return VerifiedRegisterSentPage(
        login_url=with_next(f"{mount}/login", destination),
        change_url=with_next(f"{mount}/register?{CHANGE}=1", destination),
        next=destination,
        minutes=submission.site.settings.LINK_MINUTES,
        email=email,
        wait=WAIT,
    )
