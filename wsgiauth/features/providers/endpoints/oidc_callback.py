"""GET /auth/oidc/{provider}/callback: a browser comes back from a provider.

What it brings counts only in the browser that went there, once, and for that provider. No database
transaction is open while the provider is asked.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import NamedTuple, TypeGuard
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import find_user, lock_user, names
from wsgiauth.accounts.models import PROVEN_HERE, User
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication import freshness, one_time
from wsgiauth.authentication.identity import UserSession
from wsgiauth.authentication.lifetimes import CLOCK_SKEW
from wsgiauth.events import actors
from wsgiauth.exceptions import (
    ProviderError,
    RequestError,
    UnauthenticatedError,
    ValidationError,
)
from wsgiauth.features.providers import identities, unclaimed
from wsgiauth.features.providers.identities import Identity
from wsgiauth.features.providers.oidc import Provider, Providers
from wsgiauth.features.providers.oidc.accounts import ProviderAccount
from wsgiauth.features.providers.oidc.errands import (
    CONFIRM,
    CONNECT,
    ERRAND,
    LOG_IN,
    BegunErrand,
    tag_of,
)
from wsgiauth.features.providers.oidc.failures import Failures
from wsgiauth.features.providers.provider_logins import log_in, needs_second_step, require_active
from wsgiauth.features.providers.provider_sessions import ProviderLogin
from wsgiauth.features.providers.redirects import (
    PAGES,
    beginning_again,
    callback_url,
    leading_back,
    reporting,
    require_provider,
)
from wsgiauth.features.providers.unclaimed import UNCLAIMED, verified_address
from wsgiauth.forms import MemberSubmission, Submission, see_other, tabs
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.forms.handover import REMEMBER, hand_over_renewed
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.storage import database
from wsgiauth.storage.upkeep import purge_some
from wsgiauth.web.cookies import is_tag
from wsgiauth.web.request import query_fields
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import leads_to, mount_url

# RFC 6749 section 4.1.2, RFC 9207 section 2; others are ignored (RFC 6749 section 3.1).
_PARAMETERS = ("state", "code", "error", "error_description", "iss")

_TRY_AGAIN = HTTPStatus.SERVICE_UNAVAILABLE


class _Arrival(NamedTuple):
    """A browser that came back, and what the provider has said."""

    submission: Submission  # as if its form had been sent now
    begun: BegunErrand
    provider: Provider
    account: ProviderAccount

    @property
    def now(self) -> float:
        """The time, in seconds since the epoch."""
        return self.submission.site.tokens.now()

    def refusal(self, reason: str, detail: str) -> ProviderError:
        """Return the error for an account that is not the right one."""
        return ProviderError(HTTPStatus.FORBIDDEN, reason, detail)


class ProviderCallback(Endpoint):
    """Does what the browser went to the provider for; every failure is a page and an event."""

    hides_address = True  # it has the code
    answers_head = False

    def is_offered(self, settings: Settings) -> bool:
        """Return whether there are providers."""
        return bool(settings.OIDC_PROVIDERS)

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Let the provider say who the user is, do the errand, and delete its cookie.

        A `state` that is not this browser's ends none of its errands.
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
            except UnauthenticatedError:  # which would put this URL into that of the login page
                raise _session_ended(provider) from None


def _pages_of(environ: WSGIEnvironment, site: Site) -> Mapping[str, str]:
    """Return where a browser can try again; one that is logged in already need not."""
    is_logged_in = site.identifier.identify(environ).any_session is not None
    return {} if is_logged_in else PAGES[LOG_IN]


def _read_query(environ: WSGIEnvironment, provider: Provider) -> Mapping[str, str]:
    try:
        found = query_fields(environ, _PARAMETERS)
    except ValidationError:
        raise Failures(provider.entry.title).callback("query") from None
    return {name: value for name, value in found.items() if value}


def _read_errand(
    environ: WSGIEnvironment, site: Site, provider: Provider, state: str
) -> BegunErrand:
    tag = tag_of(state)
    cookie = site.identifier.sent_cookie(environ, ERRAND, tag)
    errands = site.require(Providers).errands
    begun = errands.find(cookie, provider.entry.name, state)
    if begun is None:
        raise Failures(provider.entry.title).callback(
            "no cookie" if is_tag(tag) and not cookie else "state"
        )
    return begun


def _ask(
    environ: WSGIEnvironment,
    site: Site,
    provider: Provider,
    begun: BegunErrand,
    query: Mapping[str, str],
) -> ProviderAccount:
    """Return the account that the code stands for; a failure counts for the client."""
    if site.tokens.now() >= begun.expires_at:
        raise Failures(provider.entry.title).callback("state")
    attempt = site.throttle.provider(site.clients.networks(environ))
    attempt.begin()
    ends_at = begun.expires_at + CLOCK_SKEW  # a slow clock accepts the errand for longer
    if not one_time.record(begun.state, "used state", expires_at=ends_at):
        raise Failures(provider.entry.title).callback("state used")
    purge_some(OneTimeSecret, site.tokens.now())

    def is_known(subject: str) -> bool:
        return identities.find(provider.entry.issuer, subject) is not None

    uri = callback_url(site, provider)
    try:
        account = provider.finish(query, begun, redirect_uri=uri, is_known=is_known)
    except ProviderError as error:
        if error.status is _TRY_AGAIN:  # not a failure of the client
            attempt.succeeded()
        raise
    attempt.succeeded()
    return account


def _log_in(arrival: _Arrival) -> Response:
    """Log in the user of the account; if there is none, the account waits for one."""
    account = arrival.account
    identity = identities.find(account.issuer, account.subject) or _link_verified(arrival)
    if identity is not None:
        return log_in(arrival.submission, identity, account)
    environ, site = arrival.submission.environ, arrival.submission.site
    destination = arrival.submission.destination
    if leads_to(destination, f"{mount_url(environ)}/complete"):  # from there, it would lead back
        destination = ""
    remember = arrival.begun.errand.remember
    cookie = unclaimed.start(account, destination=destination, remember=remember, now=arrival.now)
    cookies = site.identifier.one_more_cookie(environ, UNCLAIMED, cookie)
    return see_other(arrival.submission, tabs.path_of("complete", cookie.tag), *cookies)


def _link_verified(arrival: _Arrival) -> Identity | None:
    """Connect the account to the user whose address it has, if the operator has said so.

    Both sides must have verified the address, and it must be the same mailbox. Here, that is a
    link, an operator, or a provider that the operator trusts in the same way: another one could
    have verified the address for a stranger, who would then share the account.
    """
    account = arrival.account
    entries = [each.entry for each in arrival.submission.site.require(Providers)]
    trusted = {*PROVEN_HERE, *(each.issuer for each in entries if each.link == "verified")}
    email = verified_address(account)
    if arrival.provider.entry.link != "verified" or not email:
        return None
    found = find_user(email)
    if not _has_verified(found, email, trusted):
        return None
    require_active(found)
    with database.atomic():
        user = lock_user(found.id)  # the address could change meanwhile
        if not _has_verified(user, email, trusted):
            return None
        return identities.connect(user, account, arrival.now)


def _has_verified(user: User | None, email: str, trusted: Collection[str]) -> TypeGuard[User]:
    return (
        user is not None
        and user.email_verified_at is not None
        and user.email_verified_by in trusted
        and names.is_same_mailbox(user.email, email)
    )


def _connect(arrival: _Arrival) -> Response:
    """Connect the account to the user who began."""
    found = arrival.submission.site.identifier.identify(arrival.submission.environ)
    complete = found.any_session if found.incomplete is None else None
    session = _require_same_user(arrival, complete)
    identities.connect(session.user, arrival.account, arrival.now)
    title = arrival.provider.entry.title
    return see_other(arrival.submission, "identities?done=connected", name=title)


def _confirm(arrival: _Arrival) -> Response:
    """Renew the session of the user who began, who has just logged in at the provider."""
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
    if needs_second_step(submission, session.user, account):
        detail = _("%(title)s cannot replace your two-step verification.", title=title)
        raise arrival.refusal("one factor", detail)
    issued = freshness.confirm(
        session.session_id,
        session.user,
        submission.site.tokens,
        methods=account.methods,
        origin=ProviderLogin.of(account),
    )
    if issued is None:
        raise _session_ended(arrival.provider)
    member = MemberSubmission(**vars(submission), member=session)
    return hand_over_renewed(member, issued, _("Confirmed."))


def _require_same_user(arrival: _Arrival, session: UserSession | None) -> UserSession:
    if session is None or session.user.id != arrival.begun.errand.user_id:
        detail = _("You are not logged in to the account from which you began. Log in to it first.")
        raise arrival.refusal("another user", detail)
    actors.identify(session.user.id)
    return session


def _session_ended(provider: Provider) -> ProviderError:
    return Failures(provider.entry.title).callback("session ended")


_ERRANDS: Mapping[str, Callable[[_Arrival], Response]] = {
    LOG_IN: _log_in,
    CONNECT: _connect,
    CONFIRM: _confirm,
}
