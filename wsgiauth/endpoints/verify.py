"""GET, POST /auth/verify: where the link of an email leads that proves an address.

The purpose of the link's secret decides what happens. GET changes nothing, because email scanners
and previews open links: the page has a form. No answer sends a referrer, because the URL has the
secret of the link.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from http import HTTPStatus
from typing import ClassVar
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import NewAccount, find_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import ADDRESS, OneTimeSecret
from wsgiauth.authentication import one_time
from wsgiauth.authentication.address_links import AddressProof, prove_address, read_address_proof
from wsgiauth.authentication.invitations import (
    INVITATION,
    Invitation,
    accept_invitation,
    read_invitation,
)
from wsgiauth.authentication.tokens import IssuedTokens
from wsgiauth.exceptions import RequestError, TakenError, UnauthenticatedError, ValidationError
from wsgiauth.forms import PublicForm, Refusal, Submission
from wsgiauth.forms.endpoint import require_login
from wsgiauth.forms.fields import TOKEN, link_expired
from wsgiauth.forms.handover import account_created, start_browser_session
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.throttling.hash_slots import Claim
from wsgiauth.web.pages import Page
from wsgiauth.web.request import query_field
from wsgiauth.web.responses import Response, json_response, redirect
from wsgiauth.web.urls import mount_url, with_next


class LinkPurpose(ABC):
    """Answers /auth/verify for the secrets of one purpose.

    `verify` has found the secret, which can be used and is not used yet. Each method can ask for a
    login with `endpoint.require_login`.

    Attributes:
        purpose: That of the secrets.
    """

    purpose: ClassVar[str]

    @abstractmethod
    def act(self, submission: Submission, secret: OneTimeSecret) -> Response:
        """Use the secret, and answer as the client prefers (`submission.wants_json`).

        Raises:
            ValidationError: A field is wrong. The form is shown again.
            RequestError: The form is refused: `link_expired()` if another client was faster.
            peewee.DatabaseError: The database failed.
        """

    @abstractmethod
    def page(self, submission: Submission, secret: OneTimeSecret, refusal: Refusal) -> Page:
        """Return the page that says what the link does, with a form of one button.

        It changes nothing, because mail scanners and previews open links.

        Raises:
            RequestError: The link cannot be used.
            peewee.DatabaseError: The database failed.
        """


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
    with site.hash_slots.slot(Claim(submission.networks)):
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


def _start_login(submission: Submission, user: User) -> IssuedTokens | None:
    """Return the login of a browser that has no other one."""
    if submission.is_program:
        return None
    if submission.site.identifier.identify(submission.environ).user is not None:
        return None
    return start_browser_session(submission, user)


_ADVICE = "Ask for a new one on the page of your account."


class VerifyAddressPage(Page):
    """What the link does, and the button.

    Attributes:
        verify_url: Where the form is sent.
        account_url: The page of the account.
        token: The secret of the link.
        username: The user's name.
        email: The address to prove.
        present: The present address.
        message: Why the form was refused.
    """

    template = "verify_address.html"

    verify_url: str
    account_url: str
    token: str
    username: str
    email: str
    present: str
    message: str = ""


class AddressLink(LinkPurpose):
    """Stores the address for the user who asked for the link, and is logged in."""

    purpose = ADDRESS

    def act(self, submission: Submission, secret: OneTimeSecret) -> Response:
        """Store the address; send an anonymous browser to the login and back to the link."""
        mount, token = mount_url(submission.environ), submission.fields[TOKEN]
        try:
            proof = _require_proof(submission, secret)
        except UnauthenticatedError:
            if submission.wants_json:
                raise
            login_url = with_next(f"{mount}/login", f"{mount}/verify?{TOKEN}={token}")
            return redirect(HTTPStatus.SEE_OTHER, login_url)
        if not prove_address(proof, secret):
            raise link_expired(_ADVICE)
        if submission.wants_json:
            return json_response({"detail": "E-mail address verified."})
        return redirect(HTTPStatus.SEE_OTHER, f"{mount}/account?done=email")

    def page(self, submission: Submission, secret: OneTimeSecret, refusal: Refusal) -> Page:
        """Return the page with the button.

        Raises:
            UnauthenticatedError: The client is anonymous.
            RequestError: 403: the client is another user. 410: the link has ended.
            peewee.DatabaseError: The database failed.
        """
        mount, proof = mount_url(submission.environ), _require_proof(submission, secret)
        return VerifyAddressPage(
            verify_url=f"{mount}/verify",
            account_url=f"{mount}/account",
            token=submission.fields[TOKEN],
            username=proof.user.username,
            email=proof.email,
            present=proof.user.email,
            message=refusal.text,
        )


def _require_proof(submission: Submission, secret: OneTimeSecret) -> AddressProof:
    proof = read_address_proof(secret)
    if proof is None:
        raise link_expired(_ADVICE)
    if require_login(submission.environ, submission.site).user != proof.user:
        raise RequestError(
            HTTPStatus.FORBIDDEN,
            "other_account",
            "Another account asked for this link. Log in to that account, then open the link"
            " again.",
        )
    return proof


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
