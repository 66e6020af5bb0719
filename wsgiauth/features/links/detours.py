"""Where a login goes on after a detour by email: a link for a new password or a new account.

A cookie of the browser that asks for the email keeps its `next` as long as the link works, whatever
the name is. Neither the email nor the database has it: a link that is opened in another browser
leads to no page of whoever asked.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode

from wsgiauth.authentication.lifetimes import MINUTE
from wsgiauth.forms import Submission
from wsgiauth.settings import Settings
from wsgiauth.web.cookies import OwnCookie, TaggedCookie, new_tag
from wsgiauth.web.responses import Header
from wsgiauth.web.urls import next_in_cookie, next_of_cookie

_KEYS = "detours"  # see `Settings.keys_for`


def keep_next(submission: Submission) -> tuple[Header, ...]:
    """Return the cookie that keeps `next` for the link; without `next`, end earlier ones."""
    site, destination = submission.site, next_in_cookie(submission.destination)
    if not destination:
        return forget_next(submission)
    now, kind = site.tokens.now(), _cookie(site.settings)
    expires_at = str(int(now) + kind.lifetime).encode()
    payload = urlsafe_b64encode(expires_at + b" " + destination).decode()
    value = f"{payload}.{_seal(payload, site.settings.keys_for(_KEYS)[0])}"
    cookie = TaggedCookie(new_tag(now), value)
    return site.identifier.one_more_cookie(submission.environ, kind, cookie)


def kept_next(submission: Submission) -> str:
    """Return the `next` that this browser kept last, or ""."""
    site = submission.site
    for cookie in site.identifier.sent_cookies(submission.environ, _cookie(site.settings)):
        payload, _, seal = cookie.value.partition(".")
        seals = [_seal(payload, key) for key in site.settings.keys_for(_KEYS)]
        if not any(hmac.compare_digest(each.encode(), seal.encode()) for each in seals):
            continue
        expires_at, _, destination = urlsafe_b64decode(payload).partition(b" ")
        if int(expires_at) > site.tokens.now():
            return site.destinations.safe(next_of_cookie(destination))
    return ""


def forget_next(submission: Submission) -> tuple[Header, ...]:
    """Return the headers that delete the cookies of this browser."""
    environ, identifier = submission.environ, submission.site.identifier
    kind = _cookie(submission.site.settings)
    sent = identifier.sent_cookies(environ, kind)
    return tuple(identifier.own_cookie(environ, kind, "", each.tag) for each in sent)


def _cookie(settings: Settings) -> OwnCookie:
    return OwnCookie("-detour-", settings.LINK_MINUTES * MINUTE)


def _seal(payload: str, key: bytes) -> str:
    return hmac.digest(key, payload.encode(errors="replace"), "sha256").hex()
