"""Where a login goes on after a detour by email: a link for a new password or a new account.

A cookie of the browser that asks for the email keeps its `next` as long as the link works, whatever
the name is. Neither the email nor the database has it: a link that is opened in another browser
leads to no page of whoever asked.
"""

from wsgiauth.authentication.lifetimes import MINUTE
from wsgiauth.forms import Submission
from wsgiauth.settings import Settings
from wsgiauth.signed_values import ExpiringValues, Purpose
from wsgiauth.web.cookies import OwnCookie, TaggedCookie, new_tag
from wsgiauth.web.responses import Header
from wsgiauth.web.urls import next_in_cookie, next_of_cookie

_PURPOSE = Purpose("detours")


def keep_next(submission: Submission) -> tuple[Header, ...]:
    """Return the cookie that keeps `next` for the link; without `next`, end earlier ones."""
    site, destination = submission.site, next_in_cookie(submission.destination)
    if not destination:
        return forget_next(submission)
    now, kind = site.tokens.now(), _cookie(site.settings)
    value = ExpiringValues(site.settings, _PURPOSE, kind.lifetime).sign(destination, now=now)
    cookie = TaggedCookie(new_tag(now), value)
    return site.identifier.one_more_cookie(submission.environ, kind, cookie)


def kept_next(submission: Submission) -> str:
    """Return the `next` that this browser kept last, or ""."""
    site, kind = submission.site, _cookie(submission.site.settings)
    values, now = ExpiringValues(site.settings, _PURPOSE, kind.lifetime), site.tokens.now()
    for cookie in site.identifier.sent_cookies(submission.environ, kind):
        kept = values.read(cookie.value, now=now)
        if kept is not None:
            return site.destinations.safe(next_of_cookie(kept.payload))
    return ""


def forget_next(submission: Submission) -> tuple[Header, ...]:
    """Return the headers that delete the cookies of this browser."""
    environ, identifier = submission.environ, submission.site.identifier
    kind = _cookie(submission.site.settings)
    sent = identifier.sent_cookies(environ, kind)
    return tuple(identifier.own_cookie(environ, kind, "", each.tag) for each in sent)


def _cookie(settings: Settings) -> OwnCookie:
    return OwnCookie("-detour-", settings.LINK_MINUTES * MINUTE)
