"""Forms that are carried out once, although a browser sends them again on a reload."""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from wsgiauth.accounts import lock_user
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication import one_time
from wsgiauth.authentication.lifetimes import DAY
from wsgiauth.exceptions import RequestError
from wsgiauth.forms import MemberSubmission
from wsgiauth.storage import database
from wsgiauth.storage.upkeep import purge_some


@contextmanager
def only_once(submission: MemberSubmission, detail: str) -> Iterator[None]:
    """Make a change in a transaction, unless the form was carried out before.

    A browser sends a form again on a reload. The page has a new `once` for each form; a form
    without it can be sent any number of times. The user has a row for each form of the last day.

    Raises:
        RequestError: 409 `already_done`.
    """
    user, now = submission.member.user, submission.site.tokens.now()
    value = f"{user.id} {submission.environ['PATH_INFO']} {submission.once}"
    with database.atomic():
        lock_user(user.id)  # first: the new row shares a lock on that of the user
        if submission.once and not one_time.record(
            value, "sent form", user_id=user.id, expires_at=int(now) + DAY
        ):
            raise RequestError(HTTPStatus.CONFLICT, "already_done", detail)
        yield
    purge_some(OneTimeSecret, now)
