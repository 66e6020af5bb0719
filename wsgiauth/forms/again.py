"""Another email to the name that a browser has asked for, which the user need not type again.

A cookie has the fields of the form, sealed, so that they are in no URL and in no page. Nothing here
depends on whether the name has an account. Another email is refused within 30 seconds, and counted
like the first one.
"""

import json
from collections.abc import Mapping
from http import HTTPStatus

from wsgiauth.authentication.sealing import seal, unseal
from wsgiauth.exceptions import RetryLaterError
from wsgiauth.forms import Submission
from wsgiauth.messages import Joined, _
from wsgiauth.throttling.attempts import try_again_in
from wsgiauth.web.cookies import OwnCookie
from wsgiauth.web.responses import Header

AGAIN = "again"  # the button that asks for another email, among the flags of its form
WAIT = 30  # seconds

_PURPOSE = "asked emails"


def asked_cookie(submission: Submission, kind: OwnCookie, fields: Mapping[str, str]) -> Header:
    """Return the cookie for a form that has just asked for an email."""
    site = submission.site
    text = json.dumps([kind.suffix, int(site.tokens.now()), dict(fields)])
    return site.identifier.own_cookie(submission.environ, kind, seal(text, site.settings, _PURPOSE))


def asked_fields(submission: Submission, kind: OwnCookie) -> Mapping[str, str] | None:
    """Return the fields of the form that asked for an email; None without its cookie.

    Raises:
        RetryLaterError: 429: The email was asked for less than 30 seconds ago.
    """
    site = submission.site
    text = unseal(site.identifier.sent_cookie(submission.environ, kind), site.settings, _PURPOSE)
    if text is None:
        return None
    suffix, asked_at, fields = json.loads(text)
    passed = int(site.tokens.now()) - asked_at
    if suffix != kind.suffix or passed >= kind.lifetime:
        return None
    if passed < WAIT:
        seconds = WAIT - max(passed, 0)
        detail = Joined([_("An email was asked for a moment ago."), try_again_in(seconds)])
        raise RetryLaterError(HTTPStatus.TOO_MANY_REQUESTS, "throttled", detail, seconds=seconds)
    asked: Mapping[str, str] = fields
    return asked
