"""The scopes of the provider: those of OpenID Connect, and permissions of the site."""

from collections.abc import Iterable
from typing import NamedTuple

from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import is_permission
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.messages import _
from wsgiauth.settings import Settings

OPENID = "openid"  # OpenID Connect Core 1.0, section 3.1.2.1
PROFILE, EMAIL, OFFLINE = "profile", "email", "offline_access"  # sections 5.4 and 11
GROUPS = "groups"

MAX_SCOPE = 1500  # characters

_WORDS = {
    OPENID: _("Recognize you, by a number"),
    PROFILE: _("See your username and your language"),
    EMAIL: _("See your email address"),
    GROUPS: _("See which groups you are in"),
    OFFLINE: _("Keep this access after you log out here"),
}

STANDARD = tuple(_WORDS)
DEFAULT = (OPENID, PROFILE, EMAIL)  # of a client that is created without any


class ScopeInWords(NamedTuple):
    """A scope on a page."""

    name: str
    text: str


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


def in_words(scopes: Iterable[str]) -> tuple[ScopeInWords, ...]:
    """Return scopes as sentences about what the app can do, the usual ones first."""
    chosen = list(scopes)
    ordered = [each for each in STANDARD if each in chosen]
    ordered += sorted(each for each in chosen if each not in STANDARD)
    return tuple(
        ScopeInWords(
            each, _WORDS.get(each) or _("Use your permission %(permission)s", permission=each)
        )
        for each in ordered
    )
