"""Proofs of who the user is, by the password, a code or a passkey.

Each attempt is throttled: `requiring_password` and `require_factor` raise `RetryLaterError`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus

from wsgiauth import events
from wsgiauth.accounts.former import FormerPasswords
from wsgiauth.accounts.models import User
from wsgiauth.accounts.passwords import presented_problem
from wsgiauth.authentication import authenticate_user, pending
from wsgiauth.authentication.browser_keys import BrowserKeys, Purpose
from wsgiauth.authentication.federated_logins import FederatedLogin
from wsgiauth.authentication.methods import (
    EMAIL_CODE,
    PASSWORD,
    TRUSTED,
    with_method,
)
from wsgiauth.authentication.pending import PENDING
from wsgiauth.authentication.tokens import IssuedTokens
from wsgiauth.authentication.trusted_browsers import TrustedBrowsers
from wsgiauth.events import kinds
from wsgiauth.exceptions import RequestError, ValidationError
from wsgiauth.forms import FormPage, MemberSubmission, Refusal, Submission, see_other, tabs
from wsgiauth.forms.endpoint import unauthorized
from wsgiauth.forms.fields import Text
from wsgiauth.forms.handover import REMEMBER, hand_over, start_browser_session
from wsgiauth.logins import checking
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.responses import Header, Response, problem
from wsgiauth.web.www_authenticate import challenge

ACCOUNT_NAME = "username"
NAME_FIELD = Text(
    ACCOUNT_NAME,
    "The username or the email address. An email address is sent in this field, too.",
    required=True,
    examples=["ada"],
)
CODE = "code"
CREDENTIAL = "credential"

_WRONG_CODE = _(
    "This code is wrong, or was used before. An app shows the next one within 30 seconds."
)


def missing_name(settings: Settings) -> str:
    """Return the message for a form without the name of an account."""
    if not settings.USERNAMES:
        return _("Enter your email address.")
    return _("Enter your username or email address.")


def typed_problem(site: Site, password: str, missing: str) -> str | None:
    """Return why no account can have a typed password, for people, or None.

    `missing` is the message if nothing was typed. A former password can have any length.
    """
    problem = presented_problem(password) if password else missing
    former = site.part(FormerPasswords)
    is_possible = problem is not None and password and former is not None and former.has_any()
    return None if is_possible else problem


@contextmanager
def requiring_password(submission: MemberSubmission, password: str) -> Iterator[User]:
    """Yield the user who is logged in if the password is theirs, otherwise raise a 401.

    The `with` block holds the hash slot, for another hash.
    """
    owner = submission.member.user
    compare = partial(authenticate_user, owner, password, name=owner.username)
    attempt = submission.site.throttle.confirmation(
        owner, submission.member.session_id, submission.networks
    )
    with checking(submission.site, submission.networks, attempt, compare) as user:
        if user is None:
            raise unauthorized("invalid_credentials", _("This is not your current password."))
        yield user


class PasskeyPage(FormPage):
    """A page that can have a passkey button."""

    passkey_options: str = ""  # of `navigator.credentials`, as JSON; empty: there is no button
    is_code_refused: bool = False  # the field for a code has the cursor, not the button
    is_recovery: bool = False  # the refused code was typed as a recovery code

    @property
    def script(self) -> str:
        """The script, if there is a button."""
        return "passkeys.js" if self.passkey_options else ""


def has_refused_code(submission: Submission, refusal: Refusal) -> bool:
    """Return whether the form was sent without a passkey, and refused."""
    return bool(refusal.text) and not submission.fields[CREDENTIAL]


def has_refused_recovery_code(submission: Submission, refusal: Refusal) -> bool:
    """Return whether the form was refused with a code that has letters, as recovery codes do."""
    has_letters = any(map(str.isalpha, submission.fields[CODE]))
    return has_letters and has_refused_code(submission, refusal)


def require_factor(
    submission: Submission,
    user: User,
    purpose: Purpose | None = None,
    bound_to: str = "",
    *,
    missing: str = "",
    session_id: str | None = None,
    methods: str = PASSWORD,
) -> str:
    """Check the passkey or the code in a form, and return the methods that it proves.

    Args:
        submission: A form with the fields `CREDENTIAL` and `CODE`.
        user: The user who has completed the first step of a login, or is logged in.
        purpose, bound_to: See `Challenges.make`; only a code is accepted without a purpose.
        missing: The error message for a form with neither.
        session_id: The session of a user who is logged in; None at a login.
        methods: Of the first step of a login.

    Raises:
        ValidationError: The form has neither.
        RequestError: 401: the passkey or the code is not accepted.
    """
    accept: Callable[[], str]
    if purpose is not None and submission.fields[CREDENTIAL]:
        accept = partial(_passkey_methods, submission, user, purpose, bound_to)
        reason, error = "passkey", invalid_passkey()
    elif submission.fields[CODE]:
        accept = partial(_code_methods, submission, user)
        reason, error = None, unauthorized("invalid_code", _WRONG_CODE)
    else:
        raise ValidationError({CODE: [missing]})
    first_step = [] if session_id is not None else methods.split()
    has_entered_password, has_entered_email_code = PASSWORD in first_step, EMAIL_CODE in first_step
    throttle = submission.site.throttle
    attempt = throttle.second_factor(user, submission.networks, session_id=session_id)
    attempt.begin()
    proven = accept()
    if proven:
        attempt.succeeded()
        # A thief with neither could guess the password on.
        if has_entered_password or has_entered_email_code:
            throttle.recognise(user, submission.networks)
        return proven
    events.emit(kinds.SECOND_FACTOR_FAILED, user_id=user.id, reason=reason)
    other_step = "email, " if has_entered_email_code else "provider, "
    after = "" if has_entered_password else other_step
    attempt.failed(f"{after}wrong {reason or 'code'}", user.id)
    if attempt.is_last_free():
        known = None if has_entered_password else "without the password"
        events.emit(kinds.FACTOR_GUESSED, user_id=user.id, reason=known)
    raise error


def passkey_options(site: Site, purpose: Purpose, *bound_to: str, user: User | None = None) -> str:
    """Return the options with which a page asks for a passkey of `user`, or of any user.

    They are empty without PASSKEYS, or if the user has none.
    """
    keys, now = site.part(BrowserKeys), site.tokens.now()
    return keys.request_options(purpose, *bound_to, now=now, user=user) if keys else ""


def invalid_passkey() -> RequestError:
    """Return the one answer to every passkey that is not accepted."""
    return unauthorized("invalid_passkey", _("The passkey was not accepted. Try again."))


def ask_for_second_step(
    submission: Submission,
    user: User,
    *,
    methods: str = PASSWORD,
    federated_login: FederatedLogin | None = None,
) -> Response:
    """Ask a user who has completed the first step of a login for a second factor.

    A program has to send its login again, with a code. A browser that the user trusts gets the
    session. Another browser gets the cookie of a pending login and goes to the second step; a
    script gets the cookie.

    Args:
        user: As read before the first step was verified.
        methods, federated_login: Of the first step.
    """
    cookies: tuple[Header, ...] = ()
    if not submission.is_program:
        issued = _start_trusted(submission, user, methods, federated_login)
        if issued is not None:
            return hand_over(submission, issued)
        identifier = submission.site.identifier
        cookie = pending.start(
            user,
            destination=submission.destination,
            remember=REMEMBER in submission.flags,
            now=submission.site.tokens.now(),
            methods=methods,
            federated_login=federated_login,
        )
        cookies = identifier.one_more_cookie(submission.environ, PENDING, cookie)
        if not submission.wants_json:
            return see_other(submission, tabs.path_of("second", cookie.tag), *cookies)
    listed = [each.method for each in submission.site.factors.of(user)]
    return problem(
        HTTPStatus.UNAUTHORIZED,
        "second_factor_required",
        _("Send a code of your two-step verification as well."),
        further={"methods": list(dict.fromkeys(listed))},
        headers=(challenge(None), *cookies),
    )


def _start_trusted(
    submission: Submission, user: User, methods: str, federated_login: FederatedLogin | None
) -> IssuedTokens | None:
    """Start the session of a browser that the user trusts; return None for any other browser."""
    site, browsers = submission.site, submission.site.part(TrustedBrowsers)
    if browsers is None:
        return None
    cookie = site.identifier.sent_cookie(submission.environ, browsers.cookie)
    is_permitted = browsers.find(cookie, user, site.factors, site.tokens.now()) if cookie else None
    if is_permitted is None:
        return None
    issued = start_browser_session(
        submission,
        user,
        methods=with_method(methods, TRUSTED),
        federated_login=federated_login,
        is_permitted=is_permitted,
    )
    if issued is not None and PASSWORD in methods.split():  # as after a right code
        site.throttle.recognise(user, submission.networks)
    return issued


def _passkey_methods(submission: Submission, user: User, purpose: Purpose, bound_to: str) -> str:
    keys, now = submission.site.part(BrowserKeys), submission.site.tokens.now()
    if keys is None:
        return ""
    presented = keys.read(submission.fields[CREDENTIAL], purpose, bound_to, now=now)
    proof = None if presented is None else presented.accept(user)
    return "" if proof is None else proof.methods


def _code_methods(submission: Submission, user: User) -> str:
    site, code = submission.site, submission.fields[CODE]
    return site.factors.accept(user, code, site.tokens.now())
