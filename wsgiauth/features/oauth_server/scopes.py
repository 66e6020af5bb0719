"""The scopes of the provider: those of OpenID Connect, and permissions of the site."""

from collections.abc import Iterable

from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import is_permission
from wsgiauth.authentication.scopes import EMAIL, OFFLINE, OPENID, PROFILE, STANDARD
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.settings import Settings

MAX_SCOPE = 1500  # characters

DEFAULT = (OPENID, PROFILE, EMAIL)  # of a client that is created without any


def is_scope(name: str) -> bool:
    """Return whether a client can be given this scope."""
    return name in STANDARD or is_permission(name)


def offered(client: Client, asked: Iterable[str], user: User, settings: Settings) -> list[str]:
    """Return the scopes among those that were asked for which the client and the user have.

    Others are left out, as OpenID Connect Core 1.0, section 3.1.2.1 demands.
    """
    of_client = set(client.scopes.split())
    if not settings.REMEMBER_DAYS:  # nothing outlives the browser
        of_client.discard(OFFLINE)
    chosen = [each for each in dict.fromkeys(asked) if each in of_client]
    if user.is_superuser or set(chosen).issubset(STANDARD):
        return chosen
    granted = user.permissions
    return [each for each in chosen if each in STANDARD or each in granted]
