"""Accounts of providers that no user has yet, while their owner creates or connects an account.

The account waits in a one-time secret, whose cookie proves that the provider has just logged its
owner in, in this browser. Nothing treats the cookie as a user.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import NewAccount, lock_user, names
from wsgiauth.accounts.models import PROVEN_BY_LINK, User
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication import one_time, pending
from wsgiauth.exceptions import ClaimsError, RequestError
from wsgiauth.features.providers import identities
from wsgiauth.features.providers.oidc import Provider, Providers
from wsgiauth.features.providers.oidc.accounts import ProviderAccount
from wsgiauth.features.providers.provider_sessions import REMEMBERED, ProviderLogin
from wsgiauth.forms import Submission, tabs
from wsgiauth.forms.handover import REMEMBER, account_created, start_browser_session
from wsgiauth.forms.registration import read_answers
from wsgiauth.messages import _
from wsgiauth.site import Site
from wsgiauth.storage import database
from wsgiauth.web.cookies import OwnCookie, TaggedCookie, new_tag
from wsgiauth.web.responses import Header, Response
from wsgiauth.web.urls import PATHS_ALONE, Destinations

LIFETIME = REMEMBERED  # seconds
UNCLAIMED = OwnCookie("-provider-", LIFETIME)

REFUSED = "refused"  # `done` in the query of the page: no account could be created at once
_PURPOSE = "provider account"
_MAX_GROUPS = 100  # that fit into a column of MariaDB; the next login brings the others


class Unclaimed(NamedTuple):
    """An account of a provider that waits for its user."""

    tag: str  # of the cookie
    secret: str  # in the cookie
    account: ProviderAccount
    destination: str  # where the browser goes afterwards: a safe `next`, or empty
    remember: bool  # whether the session outlives the browser window

    def __repr__(self) -> str:
        return f"<Unclaimed account of {self.account.provider}>"  # without the secret


class ProviderAccountExpiredError(RequestError):
    """The account of a provider no longer waits in this browser."""

    def __init__(self) -> None:
        super().__init__(
            HTTPStatus.GONE,
            "provider_login_expired",
            _(
                "Your login with the other provider was too long ago, or has been used. Log in with"
                " it again."
            ),
        )
        self.pages = {"login": _("Go to the login page")}


def start(
    account: ProviderAccount, *, destination: str, remember: bool, now: float
) -> TaggedCookie:
    """Return the cookie of an account of a provider that no user has."""
    # Not in ASCII: a column of MariaDB has room for the longest claims, but not escaped.
    kept = account._replace(groups=(account.groups or ())[:_MAX_GROUPS])._asdict()
    del kept["is_partial"]  # unknown to a process of the version before
    data = json.dumps({"account": kept, "remember": remember}, ensure_ascii=False)
    secret = one_time.issue(_PURPOSE, None, now=now, lifetime=LIFETIME, data=data)
    return TaggedCookie(new_tag(now), pending.with_destination(secret, destination))


def find(
    cookie: TaggedCookie, now: float, destinations: Destinations = PATHS_ALONE
) -> Unclaimed | None:
    """Return the account that waits for a cookie, unless its login has ended at the provider."""
    secret, destination = pending.split(cookie.value, destinations)
    row = one_time.find(secret, _PURPOSE, now=now)
    if row is None:
        return None
    data = json.loads(row.data)
    groups = tuple(data["account"].pop("groups"))
    account = ProviderAccount(**data["account"], groups=groups)
    if ProviderLogin.of(account).has_ended():
        return None
    return Unclaimed(cookie.tag, secret, account, destination, data["remember"])


def finish(unclaimed: Unclaimed, now: float) -> bool:
    """Use the secret; return False if another request did so first.

    Call this in the transaction of the change that it permits.
    """
    return one_time.redeem(unclaimed.secret, _PURPOSE, now=now) is not None


def list_unclaimed(
    site: Site, cookies: Iterable[TaggedCookie]
) -> Iterator[tuple[Unclaimed, Provider]]:
    """Yield the accounts that wait for these cookies, if the site still has their provider."""
    now, providers = site.tokens.now(), site.part(Providers)
    for cookie in cookies:
        waiting = find(cookie, now, site.destinations)
        if waiting is None or providers is None:
            continue
        provider = providers.find(waiting.account.provider)
        if provider is not None and provider.entry.issuer == waiting.account.issuer:
            yield waiting, provider


def require_unclaimed(environ: WSGIEnvironment, site: Site) -> tuple[Unclaimed, Provider]:
    """Return the account that waits in this tab, and its provider, or refuse the request."""
    found = next(list_unclaimed(site, tabs.sent_cookies(environ, site, UNCLAIMED)), None)
    if found is None:
        raise ProviderAccountExpiredError
    return found


def is_creation_open(site: Site, provider: Provider) -> bool:
    """Return whether users of a provider can create an account of the site."""
    create = provider.entry.create
    return site.settings.REGISTRATION if create is None else create


def verified_address(account: ProviderAccount) -> str:
    """Return the email address that the provider has verified; empty if there is no usable one."""
    is_usable = account.email_verified and names.email_problem(account.email) is None
    return account.email if is_usable else ""


def proposed_username(account: ProviderAccount) -> str:
    """Return a username made of what the provider says, or an empty string.

    The name can be taken: a check here would reveal taken names, without a limit. Of an email
    address, the part before the `@` counts.
    """
    return next(filter(None, map(_as_username, (account.username, account.email))), "")


def _as_username(text: str) -> str:
    local = text.partition("@")[0].partition("+")[0].lstrip("-")
    name = "".join(each for each in local if not names.is_invisible(each))
    return name if names.new_username_problem(name) is None else ""


def create_account(
    submission: Submission,
    waiting: Unclaimed | None,
    account: ProviderAccount,
    username: str | None,
    email: str,
    *,
    link: OneTimeSecret | None = None,
) -> User:
    """Create a user for an account of a provider, which then waits no longer.

    Args:
        submission: Has the fields of the application.
        waiting: None if the browser has just come from the provider.
        account: The account that waits, perhaps with an address that a link has proven.
        link: The secret of this link, which is used up, too.

    Raises:
        ValidationError, TakenError: See `NewAccount.check`, or the application refused an answer.
        ProviderAccountExpiredError: Another request was first.
        RequestError: 409 `identity_taken`.
        ApplicationError: A function of the application failed.
    """
    site = submission.site
    attempt = site.throttle.registration(submission.networks)
    answers = read_answers(submission, attempt)
    new = NewAccount(
        username,
        email,
        None,
        settings=site.settings,
        answers=answers,
        language=site.pages.readers.name_asked_for(submission.environ),
    )
    if new.errors:
        if new.is_telling:
            attempt.begin()  # or a client could find out names without limit
        new.check()
    attempt.begin()  # even if a name is taken, as above
    now = site.tokens.now()
    with database.atomic():
        if link is not None and not one_time.use(link):
            raise ProviderAccountExpiredError
        if waiting is not None and not finish(waiting, now):
            raise ProviderAccountExpiredError
        proven_by = "" if link is None else PROVEN_BY_LINK
        return identities.register(new, account, now, proven_by=proven_by)


def connect_waiting(user: User, waiting: Unclaimed, now: float) -> None:
    """Connect the account that waits to a user who is logged in; see `identities.connect`."""
    with database.atomic():
        lock_user(user.id)  # before the secret is read, so that no later read is outdated
        if not finish(waiting, now):
            raise ProviderAccountExpiredError
        identities.connect(user, waiting.account, now)


def answer_created(submission: Submission, waiting: Unclaimed, user: User) -> Response:
    """Log a new user in, unless the browser has a session, and delete the cookie."""
    # As in the form that began the login at the provider.
    flags = submission.flags | ({REMEMBER} if waiting.remember else set())
    submission = replace(submission, destination=waiting.destination, flags=flags)
    response = log_new_user_in(submission, waiting.account, user)
    return replace(response, headers=(*response.headers, expired_cookie(submission, waiting)))


def log_new_user_in(submission: Submission, account: ProviderAccount, user: User) -> Response:
    """Log a new user in, unless the browser has a session."""
    issued = None
    if submission.site.identifier.identify_anyway(submission.environ).any_session is None:
        login = ProviderLogin.of(account)
        with suppress(ClaimsError):  # the user has to log in: see `handover`
            issued = start_browser_session(
                submission, user, methods=account.methods, federated_login=login
            )
    return account_created(submission, user, issued)


def expired_cookie(submission: Submission, waiting: Unclaimed) -> Header:
    """Return the header that deletes the cookie of the account that waited."""
    return submission.site.identifier.own_cookie(submission.environ, UNCLAIMED, "", waiting.tag)
