"""Proof by a password, throttled: used by every endpoint that a password could be guessed at."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus

from wsgiauth.accounts.models import User
from wsgiauth.authentication import authenticate, authenticate_user
from wsgiauth.authentication.factors import has_factor
from wsgiauth.endpoints.forms import Submission
from wsgiauth.exceptions import RequestError
from wsgiauth.throttling.attempts import Confirmation, KnownLogin, StrangersLogin
from wsgiauth.web.responses import challenge

Proof = StrangersLogin | KnownLogin | Confirmation


def check_password(submission: Submission, name: str, password: str) -> User | None:
    """Return the user if the password is right, otherwise None; the attempt is counted.

    Args:
        submission: The form with the password.
        name: The username or e-mail address.
        password: As typed.

    Raises:
        RetryLaterError: The attempt must wait.
        peewee.DatabaseError: The database failed.
    """
    attempt = submission.site.throttle.login(name, submission.networks)
    with _checking(submission, attempt, partial(authenticate, name, password)) as user:
        return user


def require_password(submission: Submission, password: str) -> User:
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
def requiring_password(submission: Submission, password: str) -> Iterator[User]:
    """Do as `require_password`, and hold the hash slot in the `with` block, for another hash."""
    owner = submission.member.user
    compare = partial(authenticate_user, owner, password)
    attempt = submission.site.throttle.confirmation(
        owner.username, submission.member.session_id, submission.networks
    )
    with _checking(submission, attempt, compare) as user:
        if user is None:
            raise RequestError(
                HTTPStatus.UNAUTHORIZED,
                "invalid_credentials",
                "This is not your current password.",
                headers=(challenge(None),),
            )
        yield user


@contextmanager
def _checking(
    submission: Submission, attempt: Proof, compare: Callable[..., User | None]
) -> Iterator[User | None]:
    site = submission.site
    with site.hash_slots.slot(attempt.claim):
        attempt.begin()
        user = compare(rounds=site.settings.BCRYPT_ROUNDS)
        yield user
    if user is None:
        return
    attempt.succeeded()
    if not has_factor(user, site.settings):  # otherwise a right code makes the client known
        site.throttle.recognise(user, submission.networks)
