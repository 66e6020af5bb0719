"""Accounts of providers that no user has yet: the account of the site that is made for one."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from http import HTTPStatus
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import NewAccount, lock_user, names
from wsgiauth.accounts.models import PROVEN_BY_LINK, User
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication import one_time
from wsgiauth.authentication.tokens import IssuedTokens
from wsgiauth.exceptions import ClaimsError, RequestError
from wsgiauth.features.providers import identities, unclaimed
from wsgiauth.features.providers.oidc import Provider, Providers
from wsgiauth.features.providers.oidc.accounts import ProviderAccount
from wsgiauth.features.providers.provider_sessions import ProviderLogin
from wsgiauth.features.providers.unclaimed import UNCLAIMED, Unclaimed
from wsgiauth.forms import Submission, tabs
from wsgiauth.forms.handover import REMEMBER, account_created, start_browser_session
from wsgiauth.forms.registration import read_answers
from wsgiauth.messages import _
from wsgiauth.site import Site
from wsgiauth.storage import database
from wsgiauth.web.cookies import TaggedCookie
from wsgiauth.web.responses import Header, Response


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


def list_unclaimed(
    site: Site, cookies: Iterable[TaggedCookie]
) -> Iterator[tuple[Unclaimed, Provider]]:
    """Yield the accounts of these cookies that wait, and their providers, if the site has them."""
    now, providers = site.tokens.now(), site.part(Providers)
    for cookie in cookies:
        waiting = unclaimed.find(cookie, now)
        if waiting is None or providers is None:
            continue
        provider = providers.find(waiting.account.provider)
        if provider is not None and provider.entry.issuer == waiting.account.issuer:
            yield waiting, provider


def require_unclaimed(environ: WSGIEnvironment, site: Site) -> tuple[Unclaimed, Provider]:
    """Return the account that waits in this tab of the browser, and its provider.

    Raises:
        ProviderAccountExpiredError: None waits, or the site no longer has the provider.
    """
    found = next(list_unclaimed(site, tabs.sent_cookies(environ, site, UNCLAIMED)), None)
    if found is None:
        raise ProviderAccountExpiredError
    return found


def is_creation_open(site: Site, provider: Provider) -> bool:
    """Return whether accounts of a provider can get an account of the site."""
    create = provider.entry.create
    return site.settings.REGISTRATION if create is None else create


def verified_address(account: ProviderAccount) -> str:
    """Return the email address that the provider has verified; empty if there is none to use."""
    is_usable = account.email_verified and names.email_problem(account.email) is None
    return account.email if is_usable else ""


def resumed(submission: Submission, waiting: Unclaimed) -> Submission:
    """Return the submission with the fields of the form that started the provider login."""
    flags = submission.flags | ({REMEMBER} if waiting.remember else set())
    return replace(submission, destination=waiting.destination, flags=flags)


def create_account(
    submission: Submission,
    waiting: Unclaimed,
    account: ProviderAccount,
    username: str,
    email: str,
    *,
    link: OneTimeSecret | None = None,
) -> User:
    """Create the account of the user who has an account of a provider.

    Args:
        submission: Has the fields of the application.
        waiting: Is used up.
        account: As `waiting` has it, or with an address that a link has proven.
        username: As typed.
        email: As typed, or as the provider has verified it.
        link: The secret of that link, which is used up, too.

    Raises:
        ValidationError, TakenError: See `NewAccount.check`, or the application refused an answer.
        ProviderAccountExpiredError: Another request was first.
        RequestError: 409 `identity_taken`.
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
            attempt.begin()  # or what the answer says could be asked without end
        new.check()
    attempt.begin()  # even if a name is taken, as above
    now = site.tokens.now()
    with database.atomic():
        if link is not None and not one_time.use(link):
            raise ProviderAccountExpiredError
        if not unclaimed.finish(waiting, now):
            raise ProviderAccountExpiredError
        proven_by = "" if link is None else PROVEN_BY_LINK
        return identities.register(new, account, now, proven_by=proven_by)


def connect_waiting(user: User, waiting: Unclaimed, now: float) -> None:
    """Connect an account of a provider to a user who is logged in; `waiting` is used up.

    Raises:
        ProviderAccountExpiredError: Another request was first.
        RequestError, UnauthenticatedError: See `identities.connect`.
    """
    with database.atomic():
        lock_user(user.id)  # before the secret is read, so that no later read is outdated
        if not unclaimed.finish(waiting, now):
            raise ProviderAccountExpiredError
        identities.connect(user, waiting.account, now)


def answer_created(submission: Submission, waiting: Unclaimed, user: User) -> Response:
    """Log a new user in, unless the browser has a session, and end the wait."""
    submission = resumed(submission, waiting)
    is_guest = submission.site.identifier.identify(submission.environ).any_session is None
    issued = _start_session(submission, user, waiting.account) if is_guest else None
    response = account_created(submission, user, issued)
    return replace(response, headers=(*response.headers, expired_cookie(submission, waiting)))


def expired_cookie(submission: Submission, waiting: Unclaimed) -> Header:
    """Return the header that deletes the cookie of the account that waited."""
    return submission.site.identifier.own_cookie(submission.environ, UNCLAIMED, "", waiting.tag)


def _start_session(
    submission: Submission, user: User, account: ProviderAccount
) -> IssuedTokens | None:
    """Start a session as after a login; None if the user has to log in: see `handover`."""
    login = ProviderLogin.of(account)
    try:
        return start_browser_session(submission, user, methods=account.methods, origin=login)
    except ClaimsError:
        return None
