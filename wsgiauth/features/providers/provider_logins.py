"""Logins with other providers: what the kernel knows as `authentication.federated_logins`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from wsgiauth.accounts import lock_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication.federated_logins import Connected, FederatedLogins
from wsgiauth.authentication.session_list import handle_of
from wsgiauth.authentication.ways_in import WaysIn
from wsgiauth.exceptions import ValidationError
from wsgiauth.features.providers import identities, provider_sessions, unclaimed
from wsgiauth.features.providers.identities import ListedIdentity, list_identities
from wsgiauth.features.providers.oidc import Providers
from wsgiauth.features.providers.provider_sessions import ProviderLogin, identities_by_session
from wsgiauth.features.providers.unclaimed import UNCLAIMED
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.settings.oidc import OPENID, parse_entries
from wsgiauth.storage import database
from wsgiauth.web.cookies import TaggedCookie
from wsgiauth.web.pages import ProviderButton


class ProviderLogins(FederatedLogins):
    """Logins with the providers of a site."""

    waiting = UNCLAIMED

    def __init__(self, providers: Providers) -> None:
        self._providers = providers
        self._entries = [each.entry for each in providers]
        self._issuers = {each.issuer for each in self._entries}

    def restore(self, values: Iterable[Any]) -> ProviderLogin:
        """Return the login that a pending login has stored."""
        return ProviderLogin(*values)._replace(authenticated_at=None)

    def buttons(self, mount: str) -> tuple[ProviderButton, ...]:
        """Return a button for each provider."""
        url = f"{mount}/oidc"
        return tuple(
            ProviderButton(each.name, each.title, f"{url}/{each.name}", each.icon)
            for each in self._entries
        )

    def buttons_of(self, user: User, url: str = "") -> tuple[ProviderButton, ...]:
        """Return a button for each provider at which a user can confirm their identity.

        A provider without OpenID Connect never says when the user logged in there.
        """
        issuers = {each.issuer for each in list_identities(user)}
        return tuple(
            ProviderButton(each.name, each.title, url, each.icon)
            for each in self._entries
            if each.issuer in issuers and each.kind == OPENID
        )

    def connected(self, user: User) -> list[Connected]:
        """Return the accounts of providers that a user has connected, the oldest first."""
        return [
            Connected(
                each.id,
                each.title(self._entries),
                each.name,
                each.connected_at,
                each.last_used_at,
                each.issuer in self._issuers,
            )
            for each in list_identities(user)
        ]

    def titles(self, user: User) -> Mapping[str, str]:
        """Return the titles of the providers at which sessions of a user began, by handle."""
        return {
            handle_of(session_id): ListedIdentity.of(began).title(self._entries)
            for session_id, began in identities_by_session(user).items()
        }

    def has_proven(self, session_id: str, now: float, max_age: int) -> bool:
        """Return whether the provider says that the user logged in there recently."""
        return provider_sessions.was_proven_at_provider(session_id, now, max_age)

    def logout_of(self, session_id: str) -> Callable[[str], str | None] | None:
        """Return the function that makes the URL of the logout at the provider, if it has one."""
        offered = [each for each in self._providers if each.entry.logout == "provider"]
        began = provider_sessions.provider_of(session_id) if offered else None
        if began is None:
            return None
        names = {(each.entry.name, each.entry.issuer): each for each in offered}
        provider = names.get((began.provider, began.issuer))
        return None if provider is None else provider.logout_url

    def forget(self, cookies: Iterable[TaggedCookie], now: float) -> None:
        """End the wait of the accounts of these cookies."""
        for cookie in cookies:
            waiting = unclaimed.find(cookie, now)
            if waiting is not None:
                unclaimed.finish(waiting, now)


def can_log_in(user: User, settings: Settings) -> bool:
    """Return whether a user has connected an account of a provider of these settings."""
    issuers = {each.issuer for each in parse_entries(settings.OIDC_PROVIDERS)}
    return any(row.issuer in issuers for row in identities.rows_of(user))


def disconnect(
    user: User, handle: str, ways_in: WaysIn, *, except_session: str | None = None
) -> str:
    """Disconnect an account of a provider from a user, revoke its sessions, and return its name.

    Args:
        handle: Names the account in the list of the user.
        ways_in: The ways into accounts, of which the user must keep one.
        except_session: The session that is not revoked.

    Raises:
        ValidationError: The user has no such account of a provider.
        RequestError: 409 `last_way_in`; nothing has changed.
    """
    with database.atomic():
        owner = lock_user(user.id)
        rows = [] if owner is None else identities.rows_of(owner)
        row = next((each for each in rows if each.handle == handle), None)
        if owner is None or row is None:
            raise ValidationError({"disconnect": [_("This account is no longer connected.")]})
        provider_sessions.revoke_by(row, except_id=except_session)
        identities.remove(row)
        ways_in.require_one(owner)
    return row.name
