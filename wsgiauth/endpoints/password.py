"""GET, POST /auth/password: a new password, from the user who knows the current one."""

from wsgiauth.accounts.passwords import hash_password, password_problem
from wsgiauth.authentication.factors import has_factor
from wsgiauth.authentication.keys import has_keys
from wsgiauth.authentication.methods import PASSWORD
from wsgiauth.authentication.password import change
from wsgiauth.exceptions import UnauthenticatedError, ValidationError
from wsgiauth.forms import FormPage, MemberForm, MemberSubmission, Refusal
from wsgiauth.forms.endpoint import LOGIN, AccountLink
from wsgiauth.forms.handover import hand_over_renewed
from wsgiauth.forms.proofs import requiring_password
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import mount_url

END_KEYS = "end_keys"  # the checkbox, and its field in JSON


class PasswordPage(FormPage):
    """The form to change the password."""

    template = "password.html"
    typed = ("current_password", "new_password")
    password_url = UrlBelow("password")
    username: str
    forgot_url: str | None = None  # None where the site sends no email
    has_keys: bool = False
    ends_keys: bool = False  # the box is ticked


class Password(MemberForm):
    """Changes the password, and revokes all other sessions of the user."""

    account_link = AccountLink(LOGIN, "Change your password", "This logs you out everywhere else.")
    fields = ("current_password", "new_password")
    flags = (END_KEYS,)

    def act(self, submission: MemberSubmission) -> Response:
        """Change the password, and renew the session."""
        settings, tokens = submission.site.settings, submission.site.tokens
        current, new = (submission.fields[name] for name in ("current_password", "new_password"))
        _check(submission, current, new)
        with requiring_password(submission, current) as user:
            hashed_password = hash_password(new, rounds=settings.BCRYPT_ROUNDS)
        issued = change(
            submission.member.session_id,
            user,
            hashed_password,
            tokens,
            end_keys=END_KEYS in submission.flags,
            # Otherwise the new password would make the session fresh without the factor.
            methods=None if has_factor(user, settings) else PASSWORD,
        )
        if issued is None:
            raise UnauthenticatedError("invalid_token")
        return hand_over_renewed(
            submission, issued, "Password changed.", path="/account?done=password"
        )

    def page(self, submission: MemberSubmission, refusal: Refusal) -> PasswordPage:
        """Return the form, without the passwords."""
        user = submission.member.user
        forgot_url = f"{mount_url(submission.environ)}/forgot"
        return PasswordPage(
            username=user.username,
            forgot_url=forgot_url if submission.site.outbox is not None else None,
            has_keys=has_keys(user, submission.site.tokens.now()),
            ends_keys=END_KEYS in submission.flags,
            next=submission.destination,
            message=refusal.message,
            errors=refusal.errors,
        )


def _check(submission: MemberSubmission, current: str, new: str) -> None:
    errors = {}
    if not current:
        errors["current_password"] = ["Enter your current password."]
    user = submission.member.user
    settings = submission.site.settings
    problem = password_problem(new, settings, username=user.username, email=user.email)
    if problem is not None:
        errors["new_password"] = [problem]
    elif new == current:
        errors["new_password"] = [
            "The new password is the same as the current one. Choose another."
        ]
    if errors:
        raise ValidationError(errors)
