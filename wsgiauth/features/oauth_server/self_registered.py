"""The apps that registered themselves, for operators: how many users they have, and a search."""

from fnmatch import fnmatchcase
from typing import Any

import peewee

from wsgiauth.authentication.lifetimes import DAY
from wsgiauth.features.oauth_server.clients import host_of_app
from wsgiauth.features.oauth_server.redirect_uris import host_of, uris_of
from wsgiauth.features.oauth_server.registration import UNUSED_DAYS
from wsgiauth.features.oauth_server.tables import Client, Consent

IS_SELF_REGISTERED = Client.expires_at.is_null(False) | Client.document_url.is_null(False)


def find_matching(pattern: str, unused_days: int, now: float) -> list[Client]:
    """Return the apps that registered themselves and match a pattern, by name.

    Args:
        pattern: Of the name, a host or the `client_id`, in any letter case; see `fnmatch`.
        unused_days: Only apps that got no tokens for so many days; 0: all apps.
    """
    rows = Client.select().where(IS_SELF_REGISTERED).order_by(Client.name_key, Client.id)
    end = int(now) - unused_days * DAY
    return [each for each in rows if _matches(each, pattern) and _last_known_use(each) <= end]


def count_all_users() -> dict[str, int]:
    """Return how many users have allowed each app that registered itself, if any have."""
    counted: Any = Consent.select(Consent.client, peewee.fn.COUNT(Consent.user)).join(Client)
    return dict(counted.where(IS_SELF_REGISTERED).group_by(Consent.client).tuples())


def _matches(client: Client, pattern: str) -> bool:
    hosts = [host_of_app(client), *map(host_of, uris_of(client.redirect_uris))]
    wanted = pattern.casefold()
    return any(
        fnmatchcase(each.casefold(), wanted) for each in (client.name, client.client_id, *hosts)
    )


def _last_known_use(client: Client) -> int:
    """Return when a client was used at last, or registered.

    A former version did not record the last use, but moved the end.
    """
    moved = (client.expires_at or 0) - UNUSED_DAYS * DAY
    return max(client.created_at, client.last_used_at or 0, moved)
