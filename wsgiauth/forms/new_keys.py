"""A passkey instead of a password, on the pages that create an account.

The challenge is for the browser that got the page: a cookie has a random string, to which the
challenge is bound. So a page that was made for another browser creates nothing here.
"""

import re
import secrets
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import NewAccount
from wsgiauth.accounts.models import User
from wsgiauth.authentication.browser_keys import BrowserKeys, PresentedNewKey
from wsgiauth.authentication.lifetimes import HOUR
from wsgiauth.exceptions import RequestError
from wsgiauth.forms import Refusal, Submission
from wsgiauth.forms.proofs import CREDENTIAL
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Problem
from wsgiauth.site import Site
from wsgiauth.throttling.attempts import Attempt
from wsgiauth.throttling.hash_slots import Claim
from wsgiauth.web.clients import user_agent_in_words
from wsgiauth.web.cookies import OwnCookie
from wsgiauth.web.responses import Response

REASON = "passkey"  # of the event `registration`

_BROWSER = OwnCookie("-new-key", HOUR)
_VALUE = re.compile("[A-Za-z0-9_-]{22}")
_MADE = "wsgiauth.new_key"  # in the environ: the value of the cookie that the response sets

INVALID_OR_BROWSER = Problem(
    "InvalidOrBrowser",
    422,
    {
        "invalid": "A field is missing or empty, or breaks a rule; see `errors`.",
        "invalid_passkey": "The passkey of a browser is not right.",
        "browser_required": "Only a browser can do this: make a passkey, or log in by the link of"
        " an email.",
    },
    has_errors=True,
)

KEY_USED = Problem("PasskeyUsed", 409, {"passkey_used": "A user has the passkey of a browser."})


class FirstCredential(NamedTuple):
    """The credential of a new account: a password, a key, or neither.

    Attributes:
        add: Adds the key, in the transaction that creates the account.
        methods: What a key has proven; see `methods`.
        reason: Of the event `registration`.
    """

    hashed_password: str
    add: Callable[[User], object]
    methods: str = ""
    reason: str | None = None

    @property
    def done(self) -> str:
        """The notice of the account page; see `account_created`."""
        return REASON if self.reason else ""


def key_options(submission: Submission, *bound_to: str, name: str = "") -> str:
    """Return the options with which a page makes the key of a new account; "" without PASSKEYS."""
    site, environ = submission.site, submission.environ
    keys = site.part(BrowserKeys)
    if keys is None:
        return ""
    browser = site.identifier.sent_cookie(environ, _BROWSER)
    if not _VALUE.fullmatch(browser):  # a client can send anything, which would be sent back
        browser = secrets.token_urlsafe(16)
    environ[_MADE] = browser
    return keys.options_of_new_account(name, browser, *bound_to, now=site.tokens.now())


def with_browser(environ: WSGIEnvironment, site: Site, response: Response) -> Response:
    """Return the response with the cookie to which the options of its page are bound."""
    if _MADE not in environ:
        return response
    cookie = site.identifier.own_cookie(environ, _BROWSER, environ[_MADE])
    return replace(response, headers=(*response.headers, cookie))


def sends_key(submission: Submission) -> bool:
    """Return whether a form has a key instead of a password, or refuse (422) that of a program."""
    if not submission.fields.get(CREDENTIAL) or submission.site.part(BrowserKeys) is None:
        return False
    if submission.is_program:
        raise browser_required()
    return True


def browser_required(
    detail: str = _("Only a browser can create this account, because it needs a passkey."),
) -> RequestError:
    """Return the answer to a program that cannot do without a browser."""
    return RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, "browser_required", detail)


def take_credential(
    submission: Submission, account: NewAccount, attempt: Attempt, *bound_to: str
) -> FirstCredential:
    """Count the attempt, and return the hash of the password, or the key that was sent instead.

    The attempt counts before the key is verified, even if it is broken or was used before: it costs
    no hash, so that nothing else would slow down a client that creates many accounts.

    Raises:
        ValidationError, TakenError: See `NewAccount.check`.
        RequestError: 422: the key is not accepted.
        RetryLaterError: 429: there were too many attempts.
    """
    if not sends_key(submission):
        with submission.site.hash_slots.slot(Claim(submission.networks)):
            attempt.begin()  # even if a name is taken, because the answer says so
            hashed_password = account.hash_password()
        return FirstCredential(hashed_password, lambda user: None)
    attempt.begin()
    name = user_agent_in_words(submission.environ.get("HTTP_USER_AGENT", ""))
    presented = _presented(submission, *bound_to)
    key = None if presented is None else presented.verify(name)
    if key is None:
        detail = _("The passkey was not accepted. Try again.")
        raise RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_passkey", detail)
    return FirstCredential(account.hash_password(), key.add, key.methods, REASON)


def unknown_key(submission: Submission, refusal: Refusal, *bound_to: str) -> str:
    """Return the key that a refused form leaves on the device: see `PresentedNewKey.unknown`."""
    if not (refusal.text and submission.fields[CREDENTIAL]):
        return ""
    presented = _presented(submission, *bound_to)
    return presented.unknown if presented else ""


def _presented(submission: Submission, *bound_to: str) -> PresentedNewKey | None:
    """Return the key in a form, if this browser made it for the page with the form."""
    site = submission.site
    keys = site.part(BrowserKeys)
    browser = site.identifier.sent_cookie(submission.environ, _BROWSER)
    if keys is None or not browser:
        return None
    credential, now = submission.fields[CREDENTIAL], site.tokens.now()
    return keys.read_new(credential, browser, *bound_to, now=now)
