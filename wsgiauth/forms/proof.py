"""Proof by the password of the user who is logged in, throttled."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus

from wsgiauth.accounts.models import User
from wsgiauth.authentication import authenticate_user
from wsgiauth.exceptions import RequestError
from wsgiauth.forms import MemberSubmission
from wsgiauth.password_checks import checking
from wsgiauth.web.responses import challenge


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
