"""GET /auth/oidc/{provider}/callback: a browser comes back from a provider.

Its query counts once, for one provider, and only in the browser that went there. No database
transaction is open during the requests to the provider.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import NamedTuple, TypeGuard
from wsgiref.types import WSGIEnvironment

from wsgiauth import events
from wsgiauth.accounts import find_user, lock_user, names
from wsgiauth.accounts.models import User, is_proven
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication import freshness, one_time
from wsgiauth.authentication.identity import UserSession
from wsgiauth.authentication.lifetimes import CLOCK_SKEW
from wsgiauth.authentication.methods import has_second_factor
from wsgiauth.events import actors, kinds
from wsgiauth.exceptions import (
    ApplicationError,
    RequestError,
    UnauthenticatedError,
    ValidationError,
)
from wsgiauth.features.providers import identities, unclaimed
from wsgiauth.features.providers.at_once import register_at_once
from wsgiauth.features.providers.identities import Identity
from wsgiauth.features.providers.oidc import Provider, Providers
from wsgiauth.features.providers.oidc.accounts import ProviderAccount
from wsgiauth.features.providers.oidc.errands import CONFIRM, CONNECT, ERRAND, LOG_IN, BegunErrand
from wsgiauth.features.providers.oidc.failures import Failures, ProviderError
from wsgiauth.features.providers.problems import (
    IDENTITY_REFUSED,
    NO_SUCH_PROVIDER,
    PROVIDER_FAILED,
    PROVIDER_UNAVAILABLE,
)
from wsgiauth.features.providers.provider_sessions import ProviderLogin
from wsgiauth.features.providers.redirects import (
    PAGES,
    ProviderEndpoint,
    beginning_again,
    callback_url,
    leading_back,
    reporting,
    require_provider,
)
from wsgiauth.features.providers.unclaimed import (
    REFUSED,
    UNCLAIMED,
    log_new_user_in,
    verified_address,
)
from wsgiauth.forms import MemberSubmission, Refusal, Submission, see_other, tabs
from wsgiauth.forms.done import created_cookie
from wsgiauth.forms.handover import REMEMBER, hand_over, hand_over_renewed, start_browser_session
from wsgiauth.forms.proofs import ask_for_second_step
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Problem
from wsgiauth.openapi.problems import APPLICATION_FAILED, RETRY_AFTER
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.storage import database
from wsgiauth.storage.upkeep import purge_some
from wsgiauth.throttling.counts import Limit
from wsgiauth.throttling.throttle import DOUBLING, HOUR
from wsgiauth.web.cookies import TAG_LENGTH, is_tag
from wsgiauth.web.request import query_fields
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import leads_to, mount_url

# RFC 6749 section 4.1.2, RFC 9207 section 2. RFC 6749 section 3.1: ignore other parameters.
_PARAMETERS = ("state", "code", "error", "error_description", "iss")

_TRY_AGAIN = HTTPStatus.SERVICE_UNAVAILABLE
_MAX_MESSAGE = 300  # characters, in a cookie


class _Arrival(NamedTuple):
    submission: Submission  # as if the browser had sent its form now
    begun: BegunErrand
    provider: Provider
    account: ProviderAccount

    def refusal(self, reason: str, detail: str) -> ProviderError:
        return ProviderError(HTTPStatus.FORBIDDEN, reason, detail)


_REFUSED = Problem(
    "CallbackRefused",
    400,
    {
        "provider_failed": "The request is not what the provider sent to this browser: another"
        " browser began, it came twice or too late, or a parameter is wrong."
    },
)
_DENIED = Problem(
    "LoginDenied",
    403,
    {
        "provider_failed": "The user did not allow the login at the provider, or is not the one"
        " who began.",
        "inactive": "The account is deactivated.",
    },
)
_THROTTLED = Problem(
    "LoginThrottled",
    429,
    {
        "throttled": "Too many attempts, new accounts or emails: this request was not tried."
        " `Retry-After` says when to try again."
    },
    headers={"Retry-After": RETRY_AFTER},
)


class ProviderCallback(ProviderEndpoint):
    """Does the errand of a browser that comes back; every failure is a page and an event."""

    hides_address = True  # it has the code
    answers_head = False
    failures = (
        _REFUSED,
        _DENIED,
        NO_SUCH_PROVIDER,
        IDENTITY_REFUSED,
        _THROTTLED,
        APPLICATION_FAILED,
        PROVIDER_FAILED,
        PROVIDER_UNAVAILABLE,
    )

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Ask the provider for the account, do the errand, and delete its cookie.

        The `state` of another browser deletes no cookie.
        """
        provider = require_provider(environ, site)
        with reporting(provider), leading_back(lambda: _pages_of(environ, site)):
            query = _read_query(environ, provider)
            begun = _read_errand(environ, site, provider, query.get("state", ""))
        expired = site.identifier.own_cookie(environ, ERRAND, "", begun.tag)
        try:
            response = self._return(environ, site, provider, begun, query)
        except RequestError as error:
            if error.status is not _TRY_AGAIN:
                error.headers = (*error.headers, expired)
            raise
        return replace(response, headers=(*response.headers, expired))

    def _return(
        self,
        environ: WSGIEnvironment,
        site: Site,
        provider: Provider,
        begun: BegunErrand,
        query: Mapping[str, str],
    ) -> Response:
        with reporting(provider), beginning_again(provider, begun.errand):
            with provider.admit():
                account = _ask(environ, site, provider, begun, query)
            submission = Submission(
                environ=environ,
                site=site,
                fields={},
                flags=frozenset({REMEMBER} if begun.errand.remember else ()),
                destination=begun.errand.destination,
                networks=site.clients.networks(environ),
            )
            arrival = _Arrival(submission, begun, provider, account)
            try:
                return _ERRANDS[begun.errand.purpose](arrival)
            except UnauthenticatedError:  # the URL of the login page would contain this one
                raise _failures(provider).callback("session ended") from None


def _pages_of(environ: WSGIEnvironment, site: Site) -> Mapping[str, str]:
    """Return where a browser can try again, unless it is logged in already."""
    is_logged_in = site.identifier.identify_anyway(environ).any_session is not None
    return {} if is_logged_in else PAGES[LOG_IN]


def _read_query(environ: WSGIEnvironment, provider: Provider) -> Mapping[str, str]:
    try:
        found = query_fields(environ, _PARAMETERS)
    except ValidationError:
        raise _failures(provider).callback("query") from None
    return {name: value for name, value in found.items() if value}


def _failures(provider: Provider) -> Failures:
    return Failures(provider.entry.title)


def _read_errand(
    environ: WSGIEnvironment, site: Site, provider: Provider, state: str
) -> BegunErrand:
    tag = state[:TAG_LENGTH]  # of the cookie; see `errands`
    cookie = site.identifier.sent_cookie(environ, ERRAND, tag)
    begun = site.require(Providers).errands.find(cookie, provider.entry.name, state)
    if begun is None:
        raise _failures(provider).callback("no cookie" if is_tag(tag) and not cookie else "state")
    return begun


def _ask(
    environ: WSGIEnvironment,
    site: Site,
    provider: Provider,
    begun: BegunErrand,
    query: Mapping[str, str],
) -> ProviderAccount:
    """Exchange the code for the account; a failure counts as an attempt of the client."""
    if site.tokens.now() >= begun.expires_at:
        raise _failures(provider).callback("state")
    # Apart from passwords, whose failures must not keep the owner of an account there waiting.
    limit = Limit("providers", site.settings.LOGIN_FAILURES_PER_ADDRESS, DOUBLING, HOUR)
    attempt = site.throttle.of_client(limit, site.clients.networks(environ))
    attempt.begin()
    ends_at = begun.expires_at + CLOCK_SKEW  # a slow clock accepts the errand for longer
    if not one_time.record(begun.state, "used state", expires_at=ends_at):
        raise _failures(provider).callback("state used")
    purge_some(OneTimeSecret, site.tokens.now())

    def is_known(subject: str) -> bool:
        return identities.find(provider.entry.issuer, subject) is not None

    uri = callback_url(site, provider)
    try:
        account = provider.finish(query, begun, redirect_uri=uri, is_known=is_known)
    except ProviderError as error:
        if error.status is _TRY_AGAIN:  # the client is not to blame
            attempt.succeeded()
        raise
    attempt.succeeded()
    return account


def _log_in(arrival: _Arrival) -> Response:
    """Log in the user of the account; without a user, let the account wait for one."""
    submission, account = arrival.submission, arrival.account
    identity = identities.find(account.issuer, account.subject) or _link_verified(arrival)
    if identity is not None:
        return _start_session(submission, identity, account)
    if leads_to(submission.destination, f"{mount_url(submission.environ)}/complete"):
        # It would lead to itself. And the user was about to log in to an account that exists.
        return _wait(arrival._replace(submission=replace(submission, destination="")))
    return _register(arrival)


def _register(arrival: _Arrival) -> Response:
    """Create a user at once, if the entry and the site permit it; otherwise by a page."""
    submission, account = arrival.submission, arrival.account
    try:
        user = register_at_once(submission, arrival.provider, account)
    except ValidationError as error:
        identity = identities.find(account.issuer, account.subject)
        if identity is not None:  # another tab was first
            return _start_session(submission, identity, account)
        return _wait(arrival, Refusal(errors=error.errors).text)
    except ApplicationError as error:
        return _wait(arrival, error.detail)
    if user is None:
        return _wait(arrival)
    path = f"{mount_url(submission.environ)}/account"  # whose notice names the new account
    submission = replace(submission, destination=submission.destination or path)
    response = log_new_user_in(submission, account, user)
    cookie = created_cookie(submission.environ, submission.site, user)
    return replace(response, headers=(*response.headers, cookie))


def _wait(arrival: _Arrival, refusal: str = "") -> Response:
    """Keep the account for its user, and lead to the page that asks for more."""
    submission, site = arrival.submission, arrival.submission.site
    cookie = unclaimed.start(
        arrival.account,
        destination=submission.destination,
        remember=arrival.begun.errand.remember,
        now=site.tokens.now(),
    )
    cookies = site.identifier.one_more_cookie(submission.environ, UNCLAIMED, cookie)
    page = tabs.path_of("complete", cookie.tag, done=REFUSED if refusal else "")
    message = site.pages.readers.language(submission.environ).say(refusal)
    return see_other(submission, page, *cookies, name=message[:_MAX_MESSAGE])


def _start_session(
    submission: Submission, identity: Identity, account: ProviderAccount
) -> Response:
    """Start the session of the user of an identity, or ask for the second factor first."""
    site, user = submission.site, identity.user
    _require_active(user)
    site.throttle.login_without_password(user).begin()
    identities.record_login(identity, account, site.tokens.now())
    login = ProviderLogin.of(account)
    if _needs_second_step(submission, user, account):
        return ask_for_second_step(submission, user, methods=account.methods, federated_login=login)
    issued = start_browser_session(submission, user, methods=account.methods, federated_login=login)
    if issued is None:
        events.emit(kinds.LOGIN_FAILED, user_id=user.id, reason="changed meanwhile")
        detail = _("Your account has just changed. Log in again.")
        raise ProviderError(HTTPStatus.BAD_REQUEST, "changed meanwhile", detail)
    return hand_over(submission, issued)


def _needs_second_step(submission: Submission, user: User, account: ProviderAccount) -> bool:
    is_proven = has_second_factor(account.methods)
    return not is_proven and submission.site.factors.is_needed_by(user)


def _require_active(user: User) -> None:
    """Refuse a deactivated user, and say so, because the provider has proven their identity."""
    if user.is_active:
        return
    events.emit(kinds.LOGIN_FAILED, user_id=user.id, reason="inactive")
    raise RequestError(
        HTTPStatus.FORBIDDEN,
        "inactive",
        _("This account is deactivated. Ask the administrators of this site for help."),
    )


def _link_verified(arrival: _Arrival) -> Identity | None:
    """Connect the account to the user with its address, if the entry has `link=verified`.

    Both sides must have verified the address, and it must be the same mailbox. If a provider with
    `link=ask` has verified it for a stranger, they would share the account.
    """
    site, account = arrival.submission.site, arrival.account
    email = verified_address(account)
    if arrival.provider.entry.link != "verified" or not email:
        return None
    found = find_user(email)
    if not _has_proven(found, email, site.settings):
        return None
    _require_active(found)
    with database.atomic():
        user = lock_user(found.id)  # the address could change meanwhile
        if not _has_proven(user, email, site.settings):
            return None
        return identities.connect(user, account, site.tokens.now())


def _has_proven(user: User | None, email: str, settings: Settings) -> TypeGuard[User]:
    return (
        user is not None and is_proven(user, settings) and names.is_same_mailbox(user.email, email)
    )


def _connect(arrival: _Arrival) -> Response:
    """Connect the account to the user who began the errand."""
    submission, site = arrival.submission, arrival.submission.site
    found = site.identifier.identify(submission.environ)
    session = _require_same_user(arrival, found.session)
    identities.connect(session.user, arrival.account, site.tokens.now())
    return see_other(submission, "identities?done=connected", name=arrival.provider.entry.title)


def _confirm(arrival: _Arrival) -> Response:
    """Renew the session of the user who began the errand."""
    submission, account, title = arrival.submission, arrival.account, arrival.provider.entry.title
    found = submission.site.identifier.identify(submission.environ)
    session = _require_same_user(arrival, found.any_session)
    identity = identities.find(account.issuer, account.subject)
    if identity is None or identity.user_id != session.user.id:
        detail = _(
            "This account of %(title)s is not connected to your account. Try again with the one"
            " that is, or confirm in another way.",
            title=title,
        )
        raise arrival.refusal("another account", detail)
    if _needs_second_step(submission, session.user, account):
        detail = _("%(title)s cannot replace your two-step verification.", title=title)
        raise arrival.refusal("one factor", detail)
    issued = freshness.confirm(
        session.session_id,
        session.user,
        submission.site.tokens,
        methods=account.methods,
        federated_login=ProviderLogin.of(account),
    )
    if issued is None:
        raise _failures(arrival.provider).callback("session ended")
    member = MemberSubmission(**vars(submission), member=session)
    return hand_over_renewed(member, issued, _("Confirmed."))


def _require_same_user(arrival: _Arrival, session: UserSession | None) -> UserSession:
    if session is None or session.user.id != arrival.begun.errand.user_id:
        detail = _("You are not logged in to the account from which you began. Log in to it first.")
        raise arrival.refusal("another user", detail)
    actors.identify(session.user.id)
    return session


_ERRANDS: Mapping[str, Callable[[_Arrival], Response]] = {
    LOG_IN: _log_in,
    CONNECT: _connect,
    CONFIRM: _confirm,
}
