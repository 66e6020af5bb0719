"""The link of an invitation, at /auth/verify: it creates the account.

The browser is then logged in, as after a registration. The page names the address, and the user has
just chosen the password, so there is no account of a stranger's that the user could use without
having made it. A browser that has a login keeps it: a stranger's link cannot replace that login.
"""

from collections.abc import Mapping

from wsgiauth.accounts import find_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.new_account import NewAccount
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication.invitations import (
    INVITATION,
    Invitation,
    accept_invitation,
    read_invitation,
)
from wsgiauth.authentication.issuing import Login
from wsgiauth.exceptions import TakenError, ValidationError
from wsgiauth.forms import Refusal, Submission
from wsgiauth.forms.handover import account_created, start_browser_login
from wsgiauth.forms.link_purposes import LinkPurpose
from wsgiauth.forms.links import TOKEN, link_expired
from wsgiauth.web.pages import Page
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import mount_url

_HAS_ACCOUNT = "The address has an account: log in, or ask for a new password on the login page."


class InvitationPage(Page):
    """The form to create the account of an invitation.

    Attributes:
        verify_url: Where the form is sent.
        token: The secret of the link.
        email: The address of the account.
        username: The user's name, as invited or as it was sent before.
        asks_username: Whether the user chooses another name, or the first one.
        password_min_length: In characters.
        message: Why the whole form was refused.
        errors: Why fields were refused, by field.
    """

    template = "invitation.html"

    verify_url: str
    token: str
    email: str
    username: str
    asks_username: bool
    password_min_length: int
    message: str = ""
    errors: Mapping[str, list[str]] = {}


class InvitationLink(LinkPurpose):
    """Creates the account, with the password that the owner of the address chooses."""

    purpose = INVITATION

    def act(self, submission: Submission, secret: OneTimeSecret) -> Response:
        """Create the account."""
        user = _create(submission, secret)
        return account_created(submission, user, _start_login(submission, user))

    def page(self, submission: Submission, secret: OneTimeSecret, refusal: Refusal) -> Page:
        """Return the form, without the password."""
        invitation = read_invitation(secret)
        if find_user(invitation.email) is not None:
            raise link_expired(_HAS_ACCOUNT)
        username, errors = submission.fields["username"], {**refusal.errors}
        if not username and invitation.username and find_user(invitation.username) is not None:
            errors.setdefault("username", ["This username is taken."])
        return InvitationPage(
            verify_url=f"{mount_url(submission.environ)}/verify",
            token=submission.fields[TOKEN],
            email=invitation.email,
            username=username or invitation.username,
            asks_username=bool(username or not invitation.username or "username" in errors),
            password_min_length=submission.site.settings.PASSWORD_MIN_LENGTH,
            message=refusal.message,
            errors=errors,
        )


def _create(submission: Submission, secret: OneTimeSecret) -> User:
    site, invitation = submission.site, read_invitation(secret)
    account = _account_of(submission, invitation)
    attempt = site.throttle.registration(submission.networks)
    with site.hash_slots.slot(attempt.claim):
        attempt.begin()  # counted even if the name is taken, or names could be tried without end
        try:
            user = accept_invitation(invitation, secret, account)
        except TakenError as error:
            if "email" in error.errors:
                raise link_expired(_HAS_ACCOUNT) from None
            raise
    if user is None:
        raise link_expired(_HAS_ACCOUNT)
    site.throttle.recognise(user, submission.networks)
    return user


def _account_of(submission: Submission, invitation: Invitation) -> NewAccount:
    account = NewAccount(
        submission.fields["username"] or invitation.username,
        invitation.email,
        submission.fields["password"],
        settings=submission.site.settings,
    )
    if account.errors:
        raise ValidationError(account.errors)
    return account


def _start_login(submission: Submission, user: User) -> Login | None:
    """Return the login of a browser that has no other one."""
    if submission.is_program:
        return None
    if submission.site.identifier.identify(submission.environ).user is not None:
        return None
    return start_browser_login(submission, user)
