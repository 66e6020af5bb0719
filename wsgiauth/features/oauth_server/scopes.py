"""The scopes of the provider: those of OpenID Connect, and permissions of the site."""

import re
from collections.abc import Collection, Iterable

from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import is_permission
from wsgiauth.authentication.scopes import (
    EMAIL,
    OFFLINE,
    OPENID,
    PROFILE,
    STANDARD,
    with_resource,
)
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.settings import Settings

MAX_SCOPE = 1500  # characters
MOST_COMBINATIONS = 20  # of scopes that a user has allowed one app; then the oldest falls out

DEFAULT = (OPENID, PROFILE, EMAIL)  # of a client that is created without any


_NOT_GRANTED = "!"  # before a scope in a record; no scope of this site begins with it
_SHORT = re.compile("[A-Za-z._-]{1,40}")
_TOKEN = re.compile(r"[!#-\[\]-~]+")  # RFC 6749 section 3.3


def is_scope(name: str) -> bool:
    """Return whether a client can be given this scope."""
    return name in STANDARD or is_permission(name)


def possible(client: Client, asked: Iterable[str], resource: str) -> list[str]:
    """Return the scopes among those that were asked for which a client can ask for.

    An app that registered itself without scopes can ask for the standard ones and, for a service,
    for permissions, but for none of this site's own.
    """
    chosen = list(dict.fromkeys(asked))
    if client.expires_at is None:
        return [each for each in chosen if each in client.scopes.split()]
    foreign = [each for each in chosen if not each.startswith("wsgiauth.")]
    if client.scopes:
        return [each for each in foreign if each in client.scopes.split()]
    return [each for each in foreign if each in STANDARD or (resource and is_permission(each))]


def offered(
    client: Client, asked: Iterable[str], user: User, settings: Settings, *, resource: str
) -> list[str]:
    """Return the scopes among those that were asked for which the client and the user have.

    Others are left out, as OpenID Connect Core 1.0, section 3.1.2.1 demands.

    Args:
        resource: The service that they are for, or "".
    """
    of_client = set(possible(client, asked, resource))
    if not settings.REMEMBER_DAYS:  # nothing outlives the browser
        of_client.discard(OFFLINE)
    chosen = [each for each in dict.fromkeys(asked) if each in of_client]
    if user.is_superuser or set(chosen).issubset(STANDARD):
        return chosen
    granted = user.permissions
    return [each for each in chosen if each in STANDARD or each in granted]


def lacking(
    client: Client, asked: Iterable[str], offered: Collection[str], *, resource: str
) -> tuple[str, ...]:
    """Return the permissions that the client asks for and the user cannot give.

    An app that registered itself could write a sentence in a long name, which is left out.

    Args:
        offered: See the function of this name.
    """
    wanted = [each for each in possible(client, asked, resource) if each not in STANDARD]
    if client.expires_at is not None:
        wanted = [each for each in wanted if _SHORT.fullmatch(each)]
    return tuple(each for each in wanted if each not in offered)


def recorded(granted: Collection[str], asked: Iterable[str]) -> str:
    """Return scopes as codes and grants have them: also those that were asked for in vain.

    An app can name these again when it refreshes its tokens (RFC 6749 section 6).
    """
    text = " ".join(granted)
    for each in dict.fromkeys(asked):
        if each not in granted and _TOKEN.fullmatch(each) and len(text) + len(each) < 2 * MAX_SCOPE:
            text = f"{text} {_NOT_GRANTED}{each}"
    return text


def granted_in(record: str) -> list[str]:
    """Return the scopes in a record that were granted."""
    return [each for each in record.split() if not each.startswith(_NOT_GRANTED)]


def asked_in(record: str) -> list[str]:
    """Return the scopes in a record, granted or not."""
    return [each.removeprefix(_NOT_GRANTED) for each in record.split()]


def bound(scopes: Iterable[str], resource: str) -> list[str]:
    """Return scopes as consents store them: each with the service that it is for, if any.

    What a user has allowed for one service is not allowed for another one.
    """
    return [f"{each}@{resource}" for each in ("", *scopes)] if resource else list(scopes)


def combinations_of(scopes: str, combinations: str | None) -> list[frozenset[str]]:
    """Return the sets of bound scopes that a user has allowed together, the oldest first.

    Args:
        scopes: The column of a consent.
        combinations: The other column, with a line for each set. None: a version without this
            column has written the consent, so all of its scopes count as allowed together.
    """
    lines = [scopes] if combinations is None else combinations.split("\n")
    return [frozenset(each.split()) for each in lines]


def with_combination(former: Iterable[frozenset[str]], new: frozenset[str]) -> list[frozenset[str]]:
    """Return what a user has allowed together after a new consent."""
    others = [each for each in former if not each <= new]
    return [*others, new][-MOST_COMBINATIONS:]


def unbound(stored: Iterable[str]) -> list[str]:
    """Return the scopes of a consent, and then its services, as `with_resource` does."""
    pairs = [each.partition("@") for each in stored]
    listed = [scope for scope, _, _ in pairs if scope]
    for service in (service for _, _, service in pairs if service):
        listed = with_resource(listed, service)
    return list(dict.fromkeys(listed))
