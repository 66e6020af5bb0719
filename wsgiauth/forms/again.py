"""Another email to the name that a browser has asked for, which the user need not type again.

An encrypted cookie has the fields of the form, so that they are in no URL. The pages of the same
browser show the name, and the form has it again for a user who wants to change it. Nothing here
depends on whether the name has an account. Another email is refused within 30 seconds, and counted
like the first one.
"""

import json
from collections.abc import Mapping
from http import HTTPStatus

from wsgiauth.exceptions import RetryLaterError
from wsgiauth.forms import Submission
from wsgiauth.messages import Joined, _
from wsgiauth.signed_values import ExpiringValues, Purpose, Unexpired
from wsgiauth.throttling.attempts import try_again_in
from wsgiauth.web.cookies import OwnCookie
from wsgiauth.web.request import query_field
from wsgiauth.web.responses import Header

AGAIN = "again"  # the button that asks for another email, among the flags of its form
CHANGE = "change"  # in the query of the form: show the fields that were sent, to change them
WAIT = 30  # seconds

_PURPOSE = Purpose("asked emails", is_secret=True)


def asked_cookie(submission: Submission, kind: OwnCookie, fields: Mapping[str, str]) -> Header:
    """Return the cookie for a form that has just asked for an email."""
    site = submission.site
    values, payload = _values(submission, kind), json.dumps(dict(fields)).encode()
    value = values.sign(payload, kind.suffix, now=site.tokens.now())
    return site.identifier.own_cookie(submission.environ, kind, value)


def asked_fields(submission: Submission, kind: OwnCookie) -> Mapping[str, str]:
    """Return the fields of the form that asked for an email; none without its cookie."""
    kept = _kept(submission, kind)
    asked: Mapping[str, str] = {} if kept is None else json.loads(kept.payload)
    return asked


def fields_to_change(submission: Submission, kind: OwnCookie) -> Mapping[str, str]:
    """Return the fields of the form that asked for an email, if its user wants to change them."""
    is_wanted = bool(query_field(submission.environ, CHANGE))
    return asked_fields(submission, kind) if is_wanted else {}


def seconds_to_wait(submission: Submission, kind: OwnCookie) -> int:
    """Return for how many seconds another email is refused."""
    kept = _kept(submission, kind)
    if kept is None:
        return 0
    passed = int(submission.site.tokens.now()) - (kept.expires_at - kind.lifetime)
    return max(WAIT - max(passed, 0), 0)


def require_wait(submission: Submission, kind: OwnCookie) -> None:
    """Refuse to send another email too early.

    Raises:
        RetryLaterError: 429: The email was asked for less than 30 seconds ago.
    """
    seconds = seconds_to_wait(submission, kind)
    if seconds:
        detail = Joined([_("An email was asked for a moment ago."), try_again_in(seconds)])
        raise RetryLaterError(HTTPStatus.TOO_MANY_REQUESTS, "throttled", detail, seconds=seconds)


def _kept(submission: Submission, kind: OwnCookie) -> Unexpired | None:
    site = submission.site
    sent = site.identifier.sent_cookie(submission.environ, kind)
    return _values(submission, kind).read(sent, kind.suffix, now=site.tokens.now())


def _values(submission: Submission, kind: OwnCookie) -> ExpiringValues:
    return ExpiringValues(submission.site.settings, _PURPOSE, kind.lifetime)
