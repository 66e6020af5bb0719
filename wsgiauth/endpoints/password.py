"""GET, POST /auth/password: a new password, from the user who knows the current one.

A user without a password sets the first one, and needs a recent proof instead.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.models import User
from wsgiauth.accounts.passwords import (
    hash_password,
    normal_form,
    password_problem,
)
from wsgiauth.accounts.tables import has_keys
from wsgiauth.authentication.federated_logins import FederatedLogins
from wsgiauth.authentication.freshness import methods_of
from wsgiauth.authentication.identity import UserSession
from wsgiauth.authentication.methods import EMAIL, EMAIL_CODE, HARDWARE_KEY, PASSWORD
from wsgiauth.authentication.password import change
from wsgiauth.exceptions import (
    InsufficientAuthenticationError,
    RequestError,
    UnauthenticatedError,
    ValidationError,
)
from wsgiauth.forms import FormPage, MemberForm, MemberSubmission, Refusal
from wsgiauth.forms.endpoint import LOGIN, AccountLink
from wsgiauth.forms.fields import Flag, Text
from wsgiauth.forms.handover import hand_over_renewed
from wsgiauth.forms.proofs import requiring_password, typed_problem
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.problems import (
    APPLICATION_FAILED,
    INVALID,
    NOT_FRESH,
    THROTTLED,
    TO_CONFIRM,
    TO_LOGIN,
    TO_LOGIN_OR_CONFIRM,
    WRONG_PASSWORD,
)
from wsgiauth.openapi.strings import NEW_PASSWORD
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.throttling.hash_slots import Claim
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import mount_url

_PROOFS = frozenset({EMAIL, EMAIL_CODE, HARDWARE_KEY})
END_KEYS = "end_keys"  # the checkbox, and its field in JSON

_FIRST = AccountLink(
    LOGIN, _("Set a password"), _("You can then also log in with a password."), icon="lock"
)
_DONE_FIRST = (_("Password set."), "set")


class PasswordPage(FormPage):
    """The form to change the password, or to set the first one."""

    template = "password.html"
    typed = ("current_password", "new_password")
    password_url = UrlBelow("password")
    label: str
    has_password: bool = True
    forgot_url: str | None = None  # None where the site sends no email
    has_keys: bool = False
    ends_keys: bool = False  # the box is ticked
    has_first_key: bool = False  # a password makes the user's passkeys a second factor

    @property
    def inputs(self) -> dict[str, str]:
        """The values in the fields of its form, in their order."""
        shown = super().inputs
        return shown if self.has_password else {"new_password": shown["new_password"]}

    @property
    def focused(self) -> str:
        """The field that has the cursor; the message is about the current password."""
        return "current_password" if self.message else super().focused


class Password(MemberForm):
    """Changes the password, and revokes all other sessions of the user."""

    account_link = AccountLink(
        LOGIN, _("Change your password"), _("This logs you out everywhere else."), icon="lock"
    )
    fields = (
        Text(
            "current_password",
            "Of a user who has one.",
            format="password",
            examples=["four unrelated words"],
        ),
        Text("new_password", NEW_PASSWORD, required=True),
        Flag(END_KEYS, "Also revoke all API keys of the user."),
    )
    refusals = (INVALID, WRONG_PASSWORD, THROTTLED)
    failures = (APPLICATION_FAILED,)

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of the form, and of a user without a password who needs a proof."""
        of_proof = (TO_LOGIN_OR_CONFIRM, NOT_FRESH) if method == "get" else (TO_CONFIRM,)
        others = (
            each for each in super().problems(method) if each is not TO_LOGIN or method != "get"
        )
        return (*others, *of_proof)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether users log in with a password."""
        return settings.PASSWORD_LOGIN

    def link_for(self, user: User) -> AccountLink | None:
        """Return the `account_link` for this user."""
        return self.account_link if user.has_password else _FIRST

    def require_member(self, environ: WSGIEnvironment, site: Site) -> UserSession:
        """Return the user who sent a request, if they have a password or a recent proof."""
        member = super().require_member(environ, site)
        if not member.user.has_password and not _is_proven(member, site):
            raise InsufficientAuthenticationError(site.freshness.max_age)
        return member

    def act(self, submission: MemberSubmission) -> Response:
        """Change the password, and renew the session."""
        site = submission.site
        current, new = (submission.fields[name] for name in ("current_password", "new_password"))
        had_password = submission.member.user.has_password
        has_proven_factor = site.factors.is_needed_by(submission.member.user) and (
            site.freshness.is_fresh(submission.member.session_id)
        )
        errors = _errors(submission, current, new)
        try:
            with _proving(submission, current) as user:
                rounds = site.settings.BCRYPT_ROUNDS
                hashed_password = "" if errors else hash_password(new, rounds=rounds)
        except RequestError as error:
            is_wrong = errors and error.code == "invalid_credentials"
            error.errors = {"current_password": [error.detail], **errors} if is_wrong else errors
            raise
        if errors:
            raise ValidationError(errors)
        issued = change(
            submission.member.session_id,
            user,
            hashed_password,
            site.tokens,
            end_keys=END_KEYS in submission.flags,
            # The first password proves nothing. The current one must not make the session of a user
            # with a second factor fresh.
            methods=None if not had_password or site.factors.is_needed_by(user) else PASSWORD,
        )
        if issued is None:
            raise UnauthenticatedError("invalid_token")
        changed = User.find_by_id(user.id) or user  # with the new stamp
        if has_proven_factor:
            site.throttle.recognise(changed, submission.networks)
        else:
            site.throttle.keep(changed, submission.networks, former=user)
        detail, done = (_("Password changed."), "password") if had_password else _DONE_FIRST
        return hand_over_renewed(submission, issued, detail, path=f"/account?done={done}")

    def page(self, submission: MemberSubmission, refusal: Refusal) -> PasswordPage:
        """Return the form, without the passwords."""
        user = submission.member.user
        forgot_url = f"{mount_url(submission.environ)}/forgot"
        return PasswordPage(
            label=user.label,
            has_password=user.has_password,
            forgot_url=forgot_url if submission.site.outbox is not None else None,
            has_keys=has_keys(user.id, submission.site.tokens.now()),
            ends_keys=END_KEYS in submission.flags,
            has_first_key=bool(submission.site.factors.first_of(user)),
            next=submission.destination,
            message="" if "current_password" in refusal.errors else refusal.message,
            errors=refusal.errors,
        )


def _is_proven(member: UserSession, site: Site) -> bool:
    """Return whether a user has a recent proof by a passkey, an app, a provider or an email.

    Otherwise, a stranger at an open browser could set a password.
    """
    (user, session_id), freshness = member, site.freshness
    if not freshness.is_fresh(session_id):
        return False
    if site.factors.is_needed_by(user):
        return True
    if not _PROOFS.isdisjoint(methods_of(session_id).split()):
        return True
    federated = site.part(FederatedLogins)
    return federated is not None and federated.has_proven(
        session_id, site.tokens.now(), freshness.max_age
    )


@contextmanager
def _proving(submission: MemberSubmission, current: str) -> Iterator[User]:
    """Yield the user if the current password is theirs, or they have none; hold a hash slot."""
    user = submission.member.user
    if user.has_password:
        with requiring_password(submission, current) as proven:
            yield proven
        return
    with submission.site.hash_slots.slot(Claim(submission.networks)):
        yield user


def _errors(submission: MemberSubmission, current: str, new: str) -> dict[str, list[str]]:
    """Return the errors of a new password, to show them together with a wrong current one.

    The comparison of the current one counts as a guess, whatever the new password is.

    Raises:
        ValidationError: The comparison could not change the answer.
    """
    errors: dict[str, list[str]] = {}
    user = submission.member.user
    problem = typed_problem(submission.site, current, _("Enter your current password."))
    if user.has_password and problem is not None:
        errors["current_password"] = [problem]
    settings = submission.site.settings
    problem = password_problem(new, settings, username=user.username, email=user.email)
    is_same = user.has_password and normal_form(new) == normal_form(current)
    if problem is None and is_same:
        problem = _("The new password is the same as the current one. Choose another.")
    if problem is not None:
        errors["new_password"] = [problem]
    if errors and (is_same or "current_password" in errors or not user.has_password):
        raise ValidationError(errors)
    return errors
