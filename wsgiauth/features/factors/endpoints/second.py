"""GET, POST /auth/second: the second step of a login in a browser."""

from collections.abc import Sequence
from dataclasses import replace
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.models import User
from wsgiauth.authentication import one_time, pending
from wsgiauth.authentication.browser_keys import SECOND_STEP
from wsgiauth.authentication.federated_logins import FederatedLogins
from wsgiauth.authentication.methods import ONE_TIME_CODE, PASSWORD
from wsgiauth.authentication.pending import PENDING, Pending
from wsgiauth.authentication.trusted_browsers import TrustedBrowsers
from wsgiauth.exceptions import UnauthenticatedError
from wsgiauth.features.factors import factors, recovery_codes
from wsgiauth.forms import PublicForm, Refusal, Submission, require_own, see_other, tabs
from wsgiauth.forms.fields import Flag, Text
from wsgiauth.forms.handover import REMEMBER, hand_over, start_browser_session
from wsgiauth.forms.proofs import (
    CODE,
    CREDENTIAL,
    PasskeyPage,
    has_refused_code,
    has_refused_recovery_code,
    passkey_options,
    require_factor,
)
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Answer, Problem
from wsgiauth.openapi.problems import APPLICATION_FAILED, CHALLENGE, INVALID, THROTTLED, TO_LOGIN
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.storage.connections import DATABASE_ERRORS
from wsgiauth.storage.failures import report_failure
from wsgiauth.web.clients import Client
from wsgiauth.web.failures import ask_to_log_in
from wsgiauth.web.responses import Header, Response, json_response
from wsgiauth.web.urls import mount_url, with_next

_CANCEL = "cancel"  # ends the pending login
_TRUST = "trust"  # the checkbox: later logins in this browser skip the second step


class SecondPage(PasskeyPage):
    """The form for a passkey or a code."""

    template = "second.html"
    second_url: str  # names the pending login
    label: str  # of the pending login
    has_app: bool
    apps: Sequence[str] = ()  # their names, as the user has chosen them
    has_codes: bool  # recovery codes are left
    trust_days: int = 0  # for how long the browser can be trusted; 0: it is not offered
    trust: bool = False


_NONE_WAITS = Problem(
    "NoPendingLogin",
    401,
    {"unauthenticated": "No login is waiting for its second factor."},
    headers={"WWW-Authenticate": CHALLENGE},
)
_REFUSED = Problem(
    "WrongFactor",
    401,
    {"invalid_code": "The code is not right.", "invalid_passkey": "The passkey is not right."},
    headers={"WWW-Authenticate": CHALLENGE},
)


class SecondStep(PublicForm):
    """Starts the session of a pending login."""

    fields = (
        Text(CODE, "The code of an authenticator app, or a recovery code.", examples=["123456"]),
        Text(
            CREDENTIAL,
            "For browsers: the `AuthenticationResponseJSON` of a passkey, for the options of the"
            " page.",
        ),
        Flag(_CANCEL, "End this login; `next` is the login page."),
        Flag(
            _TRUST,
            "Whether later logins of the user in this browser skip this step, for"
            " TRUSTED_BROWSER_DAYS; ignored without this setting.",
        ),
    )
    refusals = (INVALID, _REFUSED, THROTTLED)
    failures = (APPLICATION_FAILED,)

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return those of the form, and those of a client without a pending login."""
        return (*super().problems(method), TO_LOGIN, _NONE_WAITS)

    def is_offered(self, settings: Settings) -> bool:
        """Return whether there are second factors."""
        return factors.are_offered(settings)

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the form, or lead to the login."""
        try:
            return super().get(environ, site)
        except UnauthenticatedError:
            return _begin_again(environ, site)

    def post(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Take the form, or lead to the login."""
        try:
            return super().post(environ, site)
        except UnauthenticatedError:
            return _begin_again(environ, site)

    def _check_account(self, submission: Submission) -> None:
        require_own(submission, _require_pending(submission.environ, submission.site).user)

    def act(self, submission: Submission) -> Response:
        """Start the session or cancel the login, and delete the cookie of the pending login."""
        site = submission.site
        waiting = _require_pending(submission.environ, site)
        if _CANCEL in submission.flags:
            return _cancel(submission, waiting)
        binding = one_time.digest(waiting.secret)
        state = site.factors.state(waiting.user) if _TRUST in submission.flags else ""
        proven = require_factor(
            submission,
            waiting.user,
            SECOND_STEP,
            binding,
            missing=_("Enter the code."),
            methods=waiting.methods,
        )
        submission = replace(
            submission,
            destination=waiting.destination,
            flags=frozenset({REMEMBER} if waiting.remember else ()),
        )
        issued = None
        others = site.identifier.sent_cookies(submission.environ, PENDING)
        if pending.finish(waiting, site.tokens.now(), others):
            issued = start_browser_session(
                submission,
                waiting.user,
                methods=f"{waiting.methods} {proven}",
                federated_login=waiting.federated_login,
            )
        if issued is None:  # another request used the login, or the user has just changed
            raise UnauthenticatedError(None)
        response = hand_over(submission, issued)
        expired = _expired_cookie(submission, waiting)
        trusted = _trust(submission, waiting.user, state) if state else ()
        return replace(response, headers=(*response.headers, expired, *trusted))

    def page(self, submission: Submission, refusal: Refusal) -> SecondPage:
        """Return the form if a login is pending."""
        site = submission.site
        waiting = _require_pending(submission.environ, site)
        listed = site.factors.of(waiting.user)
        apps = sorted(each.name for each in listed if each.method == ONE_TIME_CODE)
        binding = one_time.digest(waiting.secret)
        browsers = site.part(TrustedBrowsers)
        return SecondPage(
            shown_to=site.form_accounts.value(waiting.user.id),
            second_url=f"{mount_url(submission.environ)}/{tabs.path_of('second', waiting.tag)}",
            label=waiting.user.label,
            has_app=bool(apps),
            apps=apps,
            has_codes=recovery_codes.count(waiting.user) > 0,
            trust_days=browsers.days if browsers else 0,
            trust=_TRUST in submission.flags,
            destination=waiting.destination,
            passkey_options=passkey_options(site, SECOND_STEP, binding, user=waiting.user),
            is_code_refused=has_refused_code(submission, refusal),
            is_recovery=has_refused_recovery_code(submission, refusal),
            message=refusal.text,
        )


def _cancel(submission: Submission, waiting: Pending) -> Response:
    pending.cancel(waiting)
    cookie = _expired_cookie(submission, waiting)
    page = with_next("login", waiting.destination)
    if submission.wants_json:
        location = f"{mount_url(submission.environ)}/{page}"
        return json_response({"detail": _("Login cancelled."), "next": location}, headers=(cookie,))
    return see_other(submission, page, cookie)


def _trust(submission: Submission, user: User, state: str) -> tuple[Header, ...]:
    """Return the cookie of a browser that the user trusts now.

    Args:
        user: As read before the first step.
        state: Of the user's factors, as read before the second step.
    """
    environ, site = submission.environ, submission.site
    browsers = site.part(TrustedBrowsers)
    if browsers is None:
        return ()
    try:
        value = browsers.trust(
            site.identifier.sent_cookie(environ, browsers.cookie),
            user,
            state,
            site.factors,
            client=Client.of(environ),
            now=site.tokens.now(),
        )
    except DATABASE_ERRORS as error:  # the session has begun, and the code is used up
        report_failure(error)
        return ()
    return (site.identifier.own_cookie(environ, browsers.cookie, value),) if value else ()


def _expired_cookie(submission: Submission, waiting: Pending) -> Header:
    return submission.site.identifier.own_cookie(submission.environ, PENDING, "", waiting.tag)


def _require_pending(environ: WSGIEnvironment, site: Site) -> Pending:
    now = site.tokens.now()
    for cookie in tabs.sent_cookies(environ, site, PENDING):
        found = pending.find(cookie, now, site.part(FederatedLogins), site.destinations)
        is_by_password = found is not None and PASSWORD in found.methods.split()
        if found is not None and (site.settings.PASSWORD_LOGIN or not is_by_password):
            return found
    raise UnauthenticatedError(None)


def _begin_again(environ: WSGIEnvironment, site: Site) -> Response:
    """Lead to the login, and then to where the pending login led that has ended."""
    cookies = tabs.sent_cookies(environ, site, PENDING)
    found = (pending.split(each.value, site.destinations)[1] for each in cookies)
    login_url = f"{site.pages.mount}/login"
    return ask_to_log_in(environ, login_url, accepts_keys=False, destination=next(found, ""))
