"""GET, POST /auth/confirm: the user who is logged in proves again who they are."""

from dataclasses import dataclass

from wsgiauth.accounts.models import User
from wsgiauth.authentication.factors import has_factor, list_factors
from wsgiauth.authentication.freshness import confirm
from wsgiauth.authentication.issuing import Login
from wsgiauth.authentication.methods import ONE_TIME_CODE, PASSWORD
from wsgiauth.authentication.passkeys.challenges import CONFIRM
from wsgiauth.exceptions import UnauthenticatedError, ValidationError
from wsgiauth.forms import MemberSubmission, Refusal
from wsgiauth.forms.passkey_page import (
    CREDENTIAL,
    CREDENTIAL_FIELD,
    SAMPLE_OPTIONS,
    PasskeyPage,
)
from wsgiauth.forms.proof import require_password
from wsgiauth.forms.renewal import RenewingForm
from wsgiauth.forms.second_factor import (
    CODE,
    passkey_options,
    require_code,
    require_passkey,
)
from wsgiauth.web.failures import RESEND, SWITCH
from wsgiauth.web.openapi import (
    LOGGED_IN,
    NEXT,
    PAGE,
    TO_LOGIN,
    form_operation,
    operation,
    success,
)
from wsgiauth.web.pages import Page
from wsgiauth.web.request import query_field
from wsgiauth.web.urls import mount_url, with_next


@dataclass(frozen=True, kw_only=True)
class ConfirmPage(PasskeyPage):
    """The form that asks for the password again, or for the second factor instead.

    Attributes:
        confirm_url: Where the form is sent.
        switch_url: The login form, for another account.
        username: The user's name.
        has_factor: Whether a second factor is asked for instead.
        has_app: Whether that can be a code of an authenticator app.
        is_resent: Whether a form was not carried out, and must be sent again afterwards.
        next: Where to go afterwards; a safe path, or empty.
        message: Why the form was refused.
    """

    template = "confirm.html"

    confirm_url: str
    switch_url: str
    username: str
    has_factor: bool = False
    has_app: bool = False
    is_resent: bool = False
    next: str = ""
    message: str = ""


class Confirm(RenewingForm):
    """Makes the login fresh, for changes that need a recent proof."""

    done = "Confirmed."
    admits_incomplete = True
    fields = {
        "password": {
            "type": "string",
            "format": "password",
            "description": "Of a user without a second factor.",
            "default": "",
            "examples": ["four unrelated words"],
        },
        CODE: {
            "type": "string",
            "description": "Of a user with a second factor, instead of the password: its code, or a"
            " recovery code.",
            "default": "",
        },
        CREDENTIAL: CREDENTIAL_FIELD,
    }
    samples = (
        ConfirmPage(
            confirm_url="/auth/confirm?resend=1",
            switch_url="/auth/login?switch=1",
            username="ada",
            is_resent=True,
            next="/",
            message="This is not your current password.",
        ),
        ConfirmPage(
            confirm_url="/auth/confirm",
            switch_url="/auth/login?switch=1",
            username="ada",
            has_factor=True,
            has_app=True,
            passkey_options=SAMPLE_OPTIONS,
            message="This code is not right, or it was used before.",
        ),
    )

    def act(self, submission: MemberSubmission) -> Login:
        """Return the renewed login."""
        user, methods = _prove(submission)
        tokens = submission.site.tokens
        login = confirm(submission.member.session_id, user, tokens, methods=methods)
        if login is None:
            raise UnauthenticatedError("invalid_token")
        return login

    def page(self, submission: MemberSubmission, refusal: Refusal) -> Page:
        """Return the forms, without the password."""
        mount, destination = mount_url(submission.environ), submission.destination
        user, session_id = submission.member
        methods = [each.method for each in list_factors(user, submission.site.settings)]
        is_resent = bool(query_field(submission.environ, RESEND))
        return ConfirmPage(
            confirm_url=f"{mount}/confirm{f'?{RESEND}=1' if is_resent else ''}",
            switch_url=with_next(f"{mount}/login?{SWITCH}=1", destination),
            username=user.username,
            has_factor=bool(methods),
            has_app=ONE_TIME_CODE in methods,
            passkey_options=passkey_options(submission, user, CONFIRM, session_id),
            is_resent=is_resent,
            next=destination,
            message=refusal.text,
        )

    operations = {
        "get": operation(
            "showConfirmation",
            tag="sessions",
            summary="The page that asks for the password or for a code again",
            description="For browsers.",
            security=LOGGED_IN,
            parameters=[NEXT],
            answers={200: PAGE, 302: TO_LOGIN},
            failures=["Unauthenticated", "Unavailable"],
        ),
        "post": form_operation(
            "confirm",
            fields=fields,
            tag="sessions",
            summary="Prove again who you are",
            description="For requests that were refused with `insufficient_user_authentication`."
            " Use the returned tokens, because the previous ones are not valid any more.",
            security=LOGGED_IN,
            answers={200: success("The login is fresh.", "Token"), 302: TO_LOGIN},
            failures=["UnauthenticatedOrWrongProof"],
        ),
    }


def _prove(submission: MemberSubmission) -> tuple[User, str]:
    """Return the user, and by what they have proven who they are."""
    user, session_id = submission.member
    password, code, credential = submission.fields.values()
    if has_factor(user, submission.site.settings):
        if credential:
            proven = require_passkey(
                submission, user, credential, CONFIRM, session_id, session_id=session_id
            )
            return user, proven
        if not code:
            raise ValidationError({CODE: ["Enter a code of your second factor."]})
        return user, require_code(submission, user, code, session_id=session_id)
    if not password:
        raise ValidationError({"password": ["Enter your password."]})
    return require_password(submission, password), PASSWORD
