"""Users and groups of the application that is tested, and accounts at other providers."""

from collections.abc import Iterable, Mapping
from typing import Any

from wsgiauth.accounts import find_user, update_user
from wsgiauth.accounts.former import FormerHash, store
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import PROVEN_BY_OPERATOR, User
from wsgiauth.accounts.passwords import hash_password
from wsgiauth.accounts.tables import Session
from wsgiauth.features.former_passwords.people import read_hash
from wsgiauth.features.providers.identities import add
from wsgiauth.features.providers.oidc import Provider, Providers
from wsgiauth.features.providers.oidc.accounts import ProviderAccount
from wsgiauth.logins import check_user
from wsgiauth.middleware import AuthMiddleware
from wsgiauth.storage import context, database
from wsgiauth.storage.models import NO_PASSWORD, utc_now
from wsgiauth.testing.settings import ROUNDS

_LACKS = "_lacks"  # an attribute of a user

# The hash of a random password that was not kept.
_UNKNOWN_PASSWORD = "$2b$04$/iia7kV1vLTIpNQ3P/W99OrZR1wXHo5Ij1l7BdPbLwjQLL3WDrYqy"  # noqa: S105


def make_user(
    application: AuthMiddleware,
    username: str = "ada",
    *,
    password: str | None = None,
    former_hash: str | None = None,
    permissions: Iterable[str] = (),
    groups: Iterable[str] = (),
    identities: Iterable[tuple[str, str]] = (),
    is_verified: bool = False,
    **fields: Any,
) -> User:
    """Create a user of `application` and return it.

    Args:
        username: The email address is this name at example.org, unless `fields` has one. With
            USERNAMES=off, it has no other use: wsgiauth makes the username.
        password: For tests that log in with it. None: unknown; with `identities`, no password.
        permissions: The permissions to grant.
        groups: The names of the groups to join; missing groups are created.
        identities: The accounts at other providers: the name of a provider in `OIDC_PROVIDERS`, and
            the subject.
        is_verified: Whether an operator has proven the email address, so that it gets codes, and
            apps get `email_verified`.
        former_hash: The hash that other software made of the password, instead of `password`.
        fields: Other fields of `User`, such as `is_staff=True`; or what the user lacks of that
            which the site demands, such as `terms=False`.

    Raises:
        ValidationError, TakenError: See `User.save`; or `former_hash` cannot be used.
        ValueError: bcrypt cannot represent the password, a permission is malformed, the site has no
            such provider, or another user has the account there.
    """
    accounts = list(identities)
    keywords = [each.keyword for each in require_middleware(application).site.admission.demands]
    demands = {each: fields.pop(each) for each in keywords if each in fields}
    hashed = NO_PASSWORD if accounts else _UNKNOWN_PASSWORD
    if password is not None:
        hashed = hash_password(password, rounds=ROUNDS)
    former = FormerHash(hashed)
    if former_hash is not None:
        former = read_hash(former_hash, settings=require_middleware(application).site.settings)
    with context.using(require_middleware(application).database):
        user = User.objects.create(
            **{"email": f"{username}@example.org", **fields},
            username=username if application.site.settings.USERNAMES else None,
            hashed_password=former.hashed_password,
        )
        store(former, user)
        if is_verified:
            update_user(user, email_verified_at=utc_now(), email_verified_by=PROVEN_BY_OPERATOR)
        user.grant(*permissions)
        for name in groups:
            user.join(make_group(application, name))
        for provider, subject in accounts:
            connect(application, user, provider, subject)
        arrange(application, user, None, demands)
    return user


def arrange(
    application: AuthMiddleware,
    user: User,
    session: Session | None,
    demands: Mapping[str, bool | None],
) -> None:
    """Let a user or a session meet the demands of the site, but for those that are False here.

    Args:
        user: Remembers what it lacks by the arguments of `make_user`.
        demands: By keyword; None: as the user remembers.
    """
    lacks: dict[str, bool] = user.__dict__.setdefault(_LACKS, {})
    known = {each.keyword: each for each in application.site.admission.demands}
    unknown = set(demands) - {*known, "second_factor"}
    if unknown:
        raise TypeError(f"The site does not demand {', '.join(sorted(unknown))} of users.")
    for keyword, demand in known.items():
        is_met = demands.get(keyword)
        if session is None:
            lacks[keyword] = is_met is False
        if is_met is None:
            is_met = not lacks.get(keyword, False)
        demand.arrange(user, session, is_met=is_met)


def make_group(application: AuthMiddleware, name: str, permissions: Iterable[str] = ()) -> Group:
    """Return the group of this name, created if missing, and grant it the permissions.

    Raises:
        ValidationError: See `Group.save`.
        ValueError: A permission is malformed.
    """
    with context.using(require_middleware(application).database):
        group = Group.objects.find(name) or Group.objects.create(name=name)
        group.grant(*permissions)
    return group


def provider_account(
    application: AuthMiddleware,
    provider: str,
    *,
    subject: str = "test",
    email: str = "",
    email_verified: bool = False,
    username: str = "",
    groups: Iterable[str] = (),
    second_factor: bool = False,
) -> None:
    """Make every further login at a provider use this account, without a network.

    A POST to /auth/oidc/NAME then leads directly to the callback, as if a person had logged in at
    the provider. Everything else is as with the provider itself: the cookie, `state`, the page for
    an account that no user has, the second step. Another call replaces the account.

    Args:
        provider: The name of the provider in `OIDC_PROVIDERS`.
        subject: The claim `sub`: 1 to 255 printable ASCII characters.
        email, email_verified: The claims of these names.
        username: The claim `preferred_username`.
        groups: The claim that the entry names by `groups=`; without it, they have no effect.
        second_factor: Whether the provider says that it asked for a second factor; this has an
            effect with `second_factor=trusted`.

    Raises:
        ValueError: The site has no provider of this name.
    """
    from wsgiauth.testing.stand_in import StandIn

    found = require_provider(application, provider)
    claims: dict[str, Any] = {
        "sub": subject,
        "email": email,
        "email_verified": email_verified,
        "preferred_username": username,
        "amr": ["mfa"] if second_factor else [],
    }
    if found.entry.groups:
        claims[found.entry.groups] = list(groups)
    found.use_client(StandIn(found.entry, application.site.tokens.now, claims))


def connect(application: AuthMiddleware, user: User, provider: str, subject: str) -> None:
    """Connect the account of a provider with this subject to a user, without a notice."""
    entry = require_provider(application, provider).entry
    account = ProviderAccount(entry.name, entry.issuer, subject, name=subject[:100])
    with database.atomic():
        if not add(user, account, application.site.tokens.now(), is_new_user=True):
            raise ValueError(f"Another user has the account {subject!r} of {provider}.")


def require_provider(application: AuthMiddleware, name: str) -> Provider:
    """Return a provider of the site, or raise ValueError."""
    providers = require_middleware(application).site.part(Providers)
    found = None if providers is None else providers.find(name)
    if found is None:
        raise ValueError(
            f"The site has no provider {name!r}: make_settings(OIDC_PROVIDERS=...) sets it up."
        )
    return found


def present_user(application: AuthMiddleware, user: User | None) -> User | None:
    """Return the user as stored, because the application may have changed them, or None."""
    if user is None:
        name = "ada" if application.site.settings.USERNAMES else "ada@example.org"
        user = find_user(name) or make_user(application)
    check_user(user)
    return User.find_by_id(user.id)


def require_middleware(application: object) -> AuthMiddleware:
    """Return `application`, or raise a TypeError that says what to pass."""
    if not isinstance(application, AuthMiddleware):
        raise TypeError(
            "application must be the AuthMiddleware itself, not the application in it or a wrapper"
            f' around it; it is {application!r}. With Flask, use app.extensions["wsgiauth"].'
        )
    return application
