"""GET, POST /auth/verify: links that prove an address, by the purpose of their secret."""

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import NewAccount, find_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import ADDRESS, INVITATION, OneTimeSecret
from wsgiauth.authentication import one_time
from wsgiauth.authentication.methods import EMAIL, EMAIL_CODE
from wsgiauth.authentication.tokens import IssuedTokens
from wsgiauth.exceptions import RequestError, UnauthenticatedError, ValidationError
from wsgiauth.features.links.address_links import AddressProof, prove_address, read_address_proof
from wsgiauth.features.links.detours import forget_next, kept_next
from wsgiauth.features.links.invitations import Invitation, accept_invitation, read_invitation
from wsgiauth.features.links.link_form import (
    EXPIRED,
    LinkExpiredError,
    LinkForm,
    LinkPurpose,
    has_account,
)
from wsgiauth.features.providers.addresses import PROVIDER_ADDRESS
from wsgiauth.features.providers.endpoints.provider_address import ProviderAddressLink
from wsgiauth.forms import TOKEN, FormPage, Refusal, Submission, require_own, see_other
from wsgiauth.forms.endpoint import require_login
from wsgiauth.forms.fields import Text
from wsgiauth.forms.handover import account_created, start_first_session
from wsgiauth.forms.new_keys import (
    INVALID_OR_BROWSER,
    KEY_USED,
    FirstCredential,
    key_options,
    sends_key,
    take_credential,
    unknown_key,
    with_browser,
)
from wsgiauth.forms.proofs import CREDENTIAL
from wsgiauth.forms.registration import NewKeyPage, read_answers, sent_username, sent_values
from wsgiauth.messages import Joined, _
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.problems import (
    APPLICATION_FAILED,
    FACTOR_DEMANDED,
    NO_SESSION,
    TAKEN,
    THROTTLED,
    TO_LOGIN,
)
from wsgiauth.openapi.strings import NEW_PASSWORD, USERNAME
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import Response, json_response, redirect
from wsgiauth.web.urls import mount_url, with_next


class InvitationPage(NewKeyPage):
    """The form to create the account of an invitation."""

    template = "invitation.html"
    typed = ("username", "password")
    verify_url = UrlBelow("verify")
    token: str
    email: str
    username: str  # as invited, or as it was sent
    asks_username: bool  # the user chooses a name, or another one
    needs_password: bool = True  # where people log in with passwords
    needs_key: bool = False  # neither a password nor a code logs in here
    has_providers: bool = False  # whose accounts the new user can connect instead

    @classmethod
    def is_used(cls, settings: Settings) -> bool:
        """Return whether the site has links."""
        return settings.PUBLIC_URL is not None


class InvitationLink(LinkPurpose):
    """Creates the account, and logs the browser in.

    The page names the address, and the user chooses the password, so that a link does not log a
    victim into an attacker's account.
    """

    def act(self, submission: Submission, secret: OneTimeSecret) -> Response:
        """Create the account."""
        invitation = read_invitation(secret)
        created = create_account(submission, secret, invitation)
        if created is None:
            raise has_account(submission.site)
        return welcome(submission, created, EMAIL_CODE if invitation.is_by_code else EMAIL)

    def page(self, submission: Submission, secret: OneTimeSecret, refusal: Refusal) -> FormPage:
        """Return the form without the password."""
        invitation = read_invitation(secret)
        if find_user(invitation.email) is not None:
            raise has_account(submission.site)
        username, errors = submission.fields.get("username", ""), {**refusal.errors}
        asks = "username" in submission.fields
        is_taken = not username and invitation.username and find_user(invitation.username)
        if asks and is_taken:
            errors.setdefault("username", [_("This username is taken.")])
        settings = submission.site.settings
        options = key_options(submission, secret.id, name=invitation.email)
        return InvitationPage(
            token=submission.fields[TOKEN],
            email=invitation.email,
            username=username or invitation.username,
            asks_username=asks
            and bool(username or not invitation.username or "username" in errors),
            needs_password=not invitation.is_by_code,
            needs_key=bool(options) and not (settings.PASSWORD_LOGIN or settings.LOGIN_CODES),
            has_providers=bool(settings.OIDC_PROVIDERS),
            message=refusal.text_without(*submission.fields),
            errors=errors,
            fields=submission.site.registration.fields,
            values=sent_values(submission),
            passkey_options=options,
            unknown_key=unknown_key(submission, refusal, secret.id),
        )


class Created(NamedTuple):
    """An account that a browser or a program has just created, and with what."""

    user: User
    first: FirstCredential


def create_account(
    submission: Submission, secret: OneTimeSecret, invitation: Invitation
) -> Created | None:
    """Create the account of an invitation with the fields that were sent.

    Returns:
        None if the secret was used meanwhile, or the address has an account.

    Raises:
        ValidationError, TakenError, ApplicationError, RetryLaterError: The secret can still be
            used.
    """
    site, password = submission.site, submission.fields["password"]
    has_key = sends_key(submission)
    asks_password = site.settings.PASSWORD_LOGIN and not has_key
    has_password = asks_password and (password or not invitation.is_by_code)
    attempt = site.throttle.registration(submission.networks)
    account = NewAccount(
        sent_username(submission, invitation.username),
        invitation.email,
        password if has_password else None,
        settings=site.settings,
        answers=read_answers(submission, attempt),
        language=site.pages.readers.name_asked_for(submission.environ),
    )
    try:
        if account.errors:
            is_typed = bool(submission.fields.get("username"))
            names_user = is_typed and "username" not in account.errors
            if names_user or account.answers.are_telling:
                attempt.begin()  # a client must not test names without limit
            account.check()
        first = take_credential(submission, account, attempt, secret.id)
        user = accept_invitation(
            invitation,
            secret,
            account,
            first.hashed_password,
            follow_up=first.add,
            reason=first.reason,
        )
    except ValidationError as error:
        if "email" in error.errors and find_user(invitation.email) is not None:
            return None
        raise
    return None if user is None else Created(user, first)


def welcome(submission: Submission, created: Created, proof: str) -> Response:
    """Log a browser in to the account that it has created, and answer.

    Args:
        proof: The method of `authentication.methods` that has proven the address.
    """
    user, first = created
    submission.site.throttle.recognise(user, submission.networks)
    destination = submission.destination or kept_next(submission)
    issued = _start_session(submission, user, first.methods or proof)
    wanted = replace(submission, destination=destination)
    response = account_created(wanted, user, issued, done=first.done)
    return replace(response, headers=(*response.headers, *forget_next(submission)))


def _start_session(submission: Submission, user: User, proof: str) -> IssuedTokens | None:
    """Start a session; a stranger's link must not replace the session that a browser has."""
    if submission.is_program:
        return None
    present = submission.site.identifier.identify_anyway(submission.environ)
    if present.user is not None or present.lacking is not None:
        return None
    return start_first_session(submission, user, proof)


def _proof_expired() -> LinkExpiredError:
    return LinkExpiredError(_("Ask for a new one."), {"email": _("Ask for a new link")})


class VerifyAddressPage(FormPage):
    """The page with the button that proves the address."""

    template = "verify_address.html"
    verify_url = UrlBelow("verify")
    token: str
    label: str
    email: str  # the address to prove
    present: str


class AddressLink(LinkPurpose):
    """Stores the address for the user who asked for the link, and is logged in."""

    def act(self, submission: Submission, secret: OneTimeSecret) -> Response:
        """Store the address; send an anonymous browser to the login, and back to the link."""
        session = submission.site.identifier.identify_anyway(submission.environ).any_session
        if session is not None:
            require_own(submission, session.user)
        mount, token = mount_url(submission.environ), submission.fields[TOKEN]
        try:
            proof = _require_proof(submission, secret)
        except UnauthenticatedError:
            if submission.wants_json:
                raise
            login_url = with_next(f"{mount}/login", f"{mount}/verify?{TOKEN}={token}")
            return redirect(HTTPStatus.SEE_OTHER, login_url)
        if not prove_address(proof, secret):
            raise _proof_expired()
        if submission.wants_json:
            return json_response({"detail": _("Email address verified.")})
        return see_other(submission, "account?done=email")

    def page(self, submission: Submission, secret: OneTimeSecret, refusal: Refusal) -> FormPage:
        """Return the page with the button, for the user who asked for the link."""
        proof = _require_proof(submission, secret)
        return VerifyAddressPage(
            token=submission.fields[TOKEN],
            label=proof.user.label,
            email=proof.email,
            present=proof.user.email,
            message=refusal.text,
        )


def _require_proof(submission: Submission, secret: OneTimeSecret) -> AddressProof:
    proof = read_address_proof(secret)
    if proof is None:
        raise _proof_expired()
    if require_login(submission.environ, submission.site).user != proof.user:
        detail = _(
            "Another account asked for this link. Log in to that account, then open the link again."
        )
        raise RequestError(HTTPStatus.FORBIDDEN, "other_account", detail)
    return proof


PURPOSES: Mapping[str, LinkPurpose] = {
    INVITATION: InvitationLink(),
    ADDRESS: AddressLink(),
    PROVIDER_ADDRESS: ProviderAddressLink(),
}


OTHER_ACCOUNT = Problem(
    "OtherAccount",
    403,
    {
        "other_account": "The link is for another account, or the page with the form was shown to"
        " one.",
        "other_browser": "The link was opened in another browser than the one in which the user"
        " logged in with the provider; it can still be used.",
        "insufficient_scope": "The request came with an API key, and needs a session.",
    },
)


class Verify(LinkForm):
    """Finds the secret of the link, and lets its purpose answer."""

    fields = (
        Text(
            TOKEN,
            "The field `token` in the link of the email.",
            required=True,
            examples=["Zr2kq0bq3ZyYTTe1GQkVjL3Fh4vXn6s8mWc5oPdAiUE"],
        ),
        Text("username", USERNAME, needs="USERNAMES"),
        Text("password", NEW_PASSWORD),
        Text(CREDENTIAL, None),
    )
    refusals = (INVALID_OR_BROWSER, TAKEN, KEY_USED, THROTTLED, OTHER_ACCOUNT, EXPIRED)
    failures = (APPLICATION_FAILED,)

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of a link, and of a link that is for the session of one user."""
        of_address = (OTHER_ACCOUNT,) if method == "get" else (NO_SESSION, FACTOR_DEMANDED)
        return (*super().problems(method), TO_LOGIN, *of_address)

    def strings(self, site: Site) -> tuple[str, ...]:
        """Return the fields, with the application's fields for new users."""
        return (*super().strings(site), *site.registration.names)

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the page, for this browser alone if it has options for a passkey."""
        return with_browser(environ, site, super().get(environ, site))

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Take the form; show it again if it is refused."""
        return with_browser(environ, site, super().post(environ, site))

    def act(self, submission: Submission) -> Response:
        """Return the answer of the link's purpose."""
        secret = _require_secret(submission)
        return PURPOSES[secret.purpose].act(submission, secret)

    def page(self, submission: Submission, refusal: Refusal) -> FormPage:
        """Return the page of the link's purpose; raise LinkExpiredError for an expired link."""
        secret = _require_secret(submission)
        return PURPOSES[secret.purpose].page(submission, secret, refusal)


def _require_secret(submission: Submission) -> OneTimeSecret:
    now = submission.site.tokens.now()
    secret = one_time.find(submission.fields[TOKEN], *PURPOSES, now=now)
    if secret is None:
        raise _link_expired(submission.site)
    return secret


def _link_expired(site: Site) -> LinkExpiredError:
    """Return the error for a link whose purpose is unknown, with the pages that send links."""
    # A user who used the link has an account, and can log in.
    advice, pages = [], {"login": _("Log in")}
    if site.outbox is not None:
        advice.append(_("To verify an email address, ask for a new link."))
        pages["email"] = _("Verify an email address")
    if site.settings.REGISTRATION and site.settings.VERIFICATION:
        advice.append(_("To create an account, begin again."))
        pages["register"] = _("Create an account")
    advice.append(_("If someone invited you, ask that person for a new invitation."))
    return LinkExpiredError(Joined(advice), pages)
