"""Forms that a browser sends again, because its user reloads the page that answered them.

`page.js` puts a new random `sent` into each submission, and a cookie keeps the values that were
answered with a page. The second time, the form only leads back to its page. The script also lets a
reload open that page by GET, which WebKit ignores.

This protects people, not the site: a client without the cookie can send a form again. A form that
must not be processed twice uses `only_once`.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import lock_user
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication import one_time
from wsgiauth.authentication.lifetimes import DAY
from wsgiauth.exceptions import RequestError
from wsgiauth.site import Site
from wsgiauth.storage import database
from wsgiauth.storage.upkeep import purge_some
from wsgiauth.web.cookies import OwnCookie
from wsgiauth.web.responses import Header

if TYPE_CHECKING:
    from wsgiauth.forms import MemberSubmission

_SENT = re.compile(r"[0-9a-z]{8,16}")
_COOKIE = OwnCookie("-sent", 10 * 60)
_MOST = 8  # forms, perhaps of several tabs


def is_repeated(environ: WSGIEnvironment, site: Site, sent: str) -> bool:
    """Return whether the cookie says that this form was answered before."""
    return sent in _answered(environ, site)


def answered_cookie(environ: WSGIEnvironment, site: Site, sent: str) -> tuple[Header, ...]:
    """Return the header that marks a form as answered; none without a valid `sent`."""
    if not _SENT.fullmatch(sent):
        return ()
    kept = [*_answered(environ, site), sent][-_MOST:]
    return (site.identifier.own_cookie(environ, _COOKIE, ".".join(kept)),)


@contextmanager
def only_once(submission: "MemberSubmission", detail: str) -> Iterator[None]:
    """Open a transaction, or raise 409 `already_done` if the form was processed before.

    The page has a new `once` for each form; a form without it can be sent any number of times. The
    user has a row for each form of the last day.
    """
    user, now = submission.member.user, submission.site.tokens.now()
    value = f"{user.id} {submission.environ['PATH_INFO']} {submission.once}"
    with database.atomic():
        lock_user(user.id)  # first: the new row shares a lock on the user's row
        if submission.once and not one_time.record(
            value, "sent form", user_id=user.id, expires_at=int(now) + DAY
        ):
            raise RequestError(HTTPStatus.CONFLICT, "already_done", detail)
        yield
    purge_some(OneTimeSecret, now)


def _answered(environ: WSGIEnvironment, site: Site) -> list[str]:
    kept = site.identifier.sent_cookie(environ, _COOKIE).split(".")
    return [each for each in kept[:_MOST] if _SENT.fullmatch(each)]
