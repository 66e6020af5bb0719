"""The second factor of a login: whether it is needed, and its proof, throttled.

Used by every endpoint that a code could be guessed at.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from typing import TypeVar

from wsgiauth import events
from wsgiauth.accounts.models import User
from wsgiauth.authentication import authenticate_user, factors, pending
from wsgiauth.authentication.methods import ONE_TIME_CODE
from wsgiauth.authentication.passkeys.challenges import Purpose
from wsgiauth.authentication.passkeys.relying_party import Proof
from wsgiauth.exceptions import RequestError
from wsgiauth.forms import MemberSubmission, Submission
from wsgiauth.forms.handover import REMEMBER
from wsgiauth.password_checks import checking
from wsgiauth.web.pages import Page
from wsgiauth.web.responses import Header, Response, challenge, problem, redirect
from wsgiauth.web.urls import mount_url


def require_password(submission: MemberSubmission, password: str) -> User:
    """Return the user who is logged in if the password is theirs; the attempt is counted.

    Args:
        submission: The form of a `MemberForm`.
        password: As typed.

    Raises:
        RequestError: 401: the password is wrong.
        RetryLaterError: The attempt must wait.
        peewee.DatabaseError: The database failed.
    """
    with requiring_password(submission, password) as user:
        return user


@contextmanager
def requiring_password(submission: MemberSubmission, password: str) -> Iterator[User]:
    """Do as `require_password`, and hold the hash slot in the `with` block, for another hash."""
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
                "This is not your current password.",
                headers=(challenge(None),),
            )
        yield user


CREDENTIAL = "credential"


class PasskeyPage(Page):
    """A page that can have a passkey button; only then it has the script.

    Attributes:
        passkey_options: What the browser is asked, as JSON; nothing: there is no button.
    """

    passkey_options: str = ""

    @property
    def script(self) -> str:
        """The script, if there is a button."""
        return "passkeys.js" if self.passkey_options else ""


CODE = "code"

_Proven = TypeVar("_Proven", bool, Proof | None)


def require_code(
    submission: Submission, user: User, code: str, *, session_id: str | None = None
) -> str:
    """Check a code of the user, and return the method that it proves; it is counted.

    Args:
        submission: The form with the code.
        user: The user who has entered the password, or is logged in.
        code: As typed.
        session_id: The session of a user who is logged in; None at a login.

    Raises:
        RequestError: 401: the code is not right.
        RetryLaterError: The attempt must wait.
        peewee.DatabaseError: The database failed.
    """
    site = submission.site

    def accept() -> bool:
        return factors.accept(user, code, site.settings, site.tokens.now())

    if not _counted(submission, user, accept, session_id=session_id):
        detail = "This code is not right, or it was used before."
        raise _refusal("invalid_code", detail)
    return ONE_TIME_CODE


def require_passkey(
    submission: Submission,
    user: User,
    credential: str,
    purpose: Purpose,
    *bound_to: str,
    session_id: str | None = None,
) -> str:
    """Check a passkey of the user, and return the methods that it proves; it is counted.

    Args:
        submission: The form with what the browser sent.
        user: The user who has entered the password, or is logged in.
        credential: What the browser sent.
        purpose: What the passkey is to permit.
        bound_to: See `Challenges.make`.
        session_id: The session of a user who is logged in; None at a login.

    Raises:
        RequestError: 401: the passkey is not right.
        RetryLaterError: The attempt must wait.
        peewee.DatabaseError: The database failed.
    """
    party, now = submission.site.relying_party, submission.site.tokens.now()

    def accept() -> Proof | None:
        if party is None:
            return None
        presented = party.read(credential, purpose, *bound_to, now=now)
        return None if presented is None else party.accept(presented, now, user=user)

    proof = _counted(submission, user, accept, session_id=session_id, reason="passkey")
    if proof is None:
        raise invalid_passkey()
    return proof.methods


def passkey_options(submission: Submission, user: User, purpose: Purpose, *bound_to: str) -> str:
    """Return what a page asks the browser for, of the passkeys of a user; nothing without any.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    party, now = submission.site.relying_party, submission.site.tokens.now()
    return party.request_options(purpose, *bound_to, now=now, user=user) if party else ""


def invalid_passkey() -> RequestError:
    """Return the one answer to every passkey that is not accepted, whatever the reason."""
    return _refusal("invalid_passkey", "The passkey was not accepted. Try again.")


def ask_for_second_step(submission: Submission, user: User) -> Response:
    """Return the answer to a right password of a user who has a second factor.

    A program sends its login again with a code. A browser gets the cookie of a pending login and
    goes to the second step; a script gets the cookie.

    Args:
        submission: The form of the login.
        user: As read before the password was verified.
    """
    cookies = () if submission.is_program else (_pending_cookie(submission, user),)
    if not submission.wants_json:
        location = f"{mount_url(submission.environ)}/second"
        return redirect(HTTPStatus.SEE_OTHER, location, headers=cookies)
    methods = [each.method for each in factors.list_factors(user, submission.site.settings)]
    return problem(
        HTTPStatus.UNAUTHORIZED,
        "second_factor_required",
        "Send the code of your second factor, too.",
        further={"methods": list(dict.fromkeys(methods))},
        headers=(challenge(None), *cookies),
    )


def _counted(
    submission: Submission,
    user: User,
    accept: Callable[[], _Proven],
    *,
    session_id: str | None,
    reason: str | None = None,
) -> _Proven:
    """Count an attempt, which is subtracted again if it is accepted."""
    throttle = submission.site.throttle
    attempt = throttle.second_factor(user, submission.networks, session_id=session_id)
    attempt.begin()
    proven = accept()
    if proven:
        attempt.succeeded()
        if session_id is None:  # the password was right, too
            throttle.recognise(user, submission.networks)
        return proven
    events.emit("second_factor_failed", user_id=user.id, reason=reason)
    if attempt.is_last_free():
        events.emit("factor_guessed", user_id=user.id)
    return proven


def _refusal(code: str, detail: str) -> RequestError:
    return RequestError(HTTPStatus.UNAUTHORIZED, code, detail, headers=(challenge(None),))


def _pending_cookie(submission: Submission, user: User) -> Header:
    site = submission.site
    cookie = pending.start(
        user,
        destination=submission.destination,
        remember=REMEMBER in submission.flags,
        now=site.tokens.now(),
    )
    return site.identifier.pending_cookie(submission.environ, cookie)
