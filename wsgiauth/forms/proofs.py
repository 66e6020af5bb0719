"""Proofs of who the user is: by the password, by a code, by a passkey; each is throttled.

For every endpoint at which a password or a code could be guessed. Each `require_…` raises
`RetryLaterError` if the attempt must wait.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from typing import TypeVar

from wsgiauth import events
from wsgiauth.accounts.models import User
from wsgiauth.authentication import authenticate_user, pending
from wsgiauth.authentication.browser_keys import BrowserKeys, KeyProof, Purpose
from wsgiauth.authentication.methods import ONE_TIME_CODE, PASSWORD
from wsgiauth.authentication.origins import Origin
from wsgiauth.authentication.pending import PENDING
from wsgiauth.exceptions import RequestError, ValidationError
from wsgiauth.forms import FormPage, MemberSubmission, Submission, see_other, tabs
from wsgiauth.forms.handover import REMEMBER
from wsgiauth.logins import checking
from wsgiauth.messages import _
from wsgiauth.site import Site
from wsgiauth.web.cookies import TaggedCookie
from wsgiauth.web.responses import Header, Response, problem
from wsgiauth.web.www_authenticate import challenge

ACCOUNT_NAME = "username"
CODE = "code"
CREDENTIAL = "credential"


@contextmanager
def requiring_password(submission: MemberSubmission, password: str) -> Iterator[User]:
    """Give the user who is logged in if the password is theirs; otherwise, raise a 401.

    The `with` block has the hash slot, for another hash.
    """
    owner = submission.member.user
    compare = partial(authenticate_user, owner, password)
    attempt = submission.site.throttle.confirmation(
        owner, submission.member.session_id, submission.networks
    )
    with checking(submission.site, submission.networks, attempt, compare) as user:
        if user is None:
            raise RequestError(
                HTTPStatus.UNAUTHORIZED,
                "invalid_credentials",
                _("This is not your current password."),
                headers=(challenge(None),),
            )
        yield user


class PasskeyPage(FormPage):
    """A page that can have a passkey button, and only then has the script."""

    passkey_options: str = ""  # of `navigator.credentials`, as JSON; empty: there is no button

    @property
    def script(self) -> str:
        """The script, if there is a button."""
        return "passkeys.js" if self.passkey_options else ""


_Proven = TypeVar("_Proven", bool, KeyProof | None)


def require_factor(
    submission: Submission,
    user: User,
    purpose: Purpose,
    bound_to: str,
    *,
    missing: str,
    session_id: str | None = None,
    methods: str = PASSWORD,
) -> str:
    """Check the passkey or the code in a form, and return the methods that it proves.

    Args:
        submission: A form with the fields `CREDENTIAL` and `CODE`.
        user: The user who has completed the first step of a login, or is logged in.
        purpose, bound_to: See `Challenges.make`.
        missing: What to say if the form has neither.
        session_id: The session of a user who is logged in; None at a login.
        methods: Of the first step of a login.

    Raises:
        ValidationError: The form has neither.
        RequestError: 401: the passkey or the code is not accepted.
    """
    if submission.fields[CREDENTIAL]:
        accept = partial(_accept_passkey, submission, user, purpose, bound_to)
        proof = _counted(
            submission, user, accept, session_id=session_id, methods=methods, reason="passkey"
        )
        if proof is None:
            raise invalid_passkey()
        return proof.methods
    if not submission.fields[CODE]:
        raise ValidationError({CODE: [missing]})
    return require_code(submission, user, session_id=session_id, methods=methods)


def require_code(
    submission: Submission,
    user: User,
    *,
    session_id: str | None = None,
    methods: str = PASSWORD,
) -> str:
    """Check the code in a form, and return the method that it proves; see `require_factor`."""
    site, code = submission.site, submission.fields[CODE]
    accept = partial(site.factors.accept, user, code, site.tokens.now())
    if not _counted(submission, user, accept, session_id=session_id, methods=methods):
        raise _refusal(
            "invalid_code",
            _(
                "This code is wrong, or was used before. An app shows the next one within 30"
                " seconds."
            ),
        )
    return ONE_TIME_CODE


def passkey_options(site: Site, purpose: Purpose, *bound_to: str, user: User | None = None) -> str:
    """Return the options with which a page asks for a passkey; empty without PASSKEYS.

    They are also empty if the user has none; without a user, they are for the passkeys of all.
    """
    keys, now = site.part(BrowserKeys), site.tokens.now()
    return keys.request_options(purpose, *bound_to, now=now, user=user) if keys else ""


def invalid_passkey() -> RequestError:
    """Return the one answer to every passkey that is not accepted."""
    return _refusal("invalid_passkey", _("The passkey was not accepted. Try again."))


def ask_for_second_step(
    submission: Submission,
    user: User,
    *,
    methods: str = PASSWORD,
    origin: Origin | None = None,
) -> Response:
    """Return the answer to the right first step of a user who has a second factor.

    A program has to send its login again, with a code. A browser gets the cookie of a pending login
    and goes to the second step; a script gets the cookie.

    Args:
        submission: The login.
        user: As read before the first step was verified.
        methods: Of the first step.
        origin: The login elsewhere, if it was one.
    """
    cookies: tuple[Header, ...] = ()
    if not submission.is_program:
        cookie = _start_pending(submission, user, methods, origin)
        identifier = submission.site.identifier
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


def _accept_passkey(
    submission: Submission, user: User, purpose: Purpose, bound_to: str
) -> KeyProof | None:
    keys, now = submission.site.part(BrowserKeys), submission.site.tokens.now()
    if keys is None:
        return None
    presented = keys.read(submission.fields[CREDENTIAL], purpose, bound_to, now=now)
    return None if presented is None else presented.accept(user)


def _counted(
    submission: Submission,
    user: User,
    accept: Callable[[], _Proven],
    *,
    session_id: str | None,
    methods: str,
    reason: str | None = None,
) -> _Proven:
    """Count an attempt, which is subtracted again if it is accepted."""
    has_entered_password = session_id is None and PASSWORD in methods.split()
    throttle = submission.site.throttle
    attempt = throttle.second_factor(user, submission.networks, session_id=session_id)
    attempt.begin()
    proven = accept()
    if proven:
        attempt.succeeded()
        if has_entered_password:  # otherwise a thief without it could guess on
            throttle.recognise(user, submission.networks)
        return proven
    events.emit("second_factor_failed", user_id=user.id, reason=reason)
    first_step = "" if has_entered_password else "provider, "
    attempt.failed(f"{first_step}wrong {reason or 'code'}")
    if attempt.is_last_free():
        known = None if has_entered_password else "without the password"
        events.emit("factor_guessed", user_id=user.id, reason=known)
    return proven


def _refusal(code: str, detail: str) -> RequestError:
    return RequestError(HTTPStatus.UNAUTHORIZED, code, detail, headers=(challenge(None),))


def _start_pending(
    submission: Submission, user: User, methods: str, origin: Origin | None
) -> TaggedCookie:
    return pending.start(
        user,
        destination=submission.destination,
        remember=REMEMBER in submission.flags,
        now=submission.site.tokens.now(),
        methods=methods,
        origin=origin,
    )
