"""Pages of the list of clients, and of the users who have allowed one, for the staff.

There can be thousands of clients, because apps can register themselves, and millions of users. So
each page is a range of an index, and numbers are counted up to a limit.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import peewee

from wsgiauth.accounts import names
from wsgiauth.accounts.models import User, label_column
from wsgiauth.features.oauth_server.clients import kind_of
from wsgiauth.features.oauth_server.document_urls import host_in
from wsgiauth.features.oauth_server.redirect_uris import host_of, uris_of
from wsgiauth.features.oauth_server.scopes import unbound
from wsgiauth.features.oauth_server.self_registered import IS_SELF_REGISTERED
from wsgiauth.features.oauth_server.tables import (
    CLIENT_NAME_MAX_LENGTH,
    Client,
    Consent,
)
from wsgiauth.storage import database
from wsgiauth.storage.models import from_timestamp, json_fields
from wsgiauth.storage.searches import contains

PAGE = 50  # clients or users
COUNTED = 1000  # users of a client, at most


class FoundClient(NamedTuple):
    """A client in a list; times are in UTC."""

    id: str  # the `client_id`
    key: str  # the id of the row: names it in paths
    name: str
    kind: str  # see `clients.kind_of`
    is_trusted: bool
    host: str  # of its document or its first redirect URI, or the scheme of an app; "": a service
    created_at: datetime
    registered_itself: bool
    registered_by: str | None  # see `Client.registered_by`
    last_used_at: datetime | None  # see `Client.last_used_at`
    user_count: int  # see `user_counts`

    def document(self) -> dict[str, object]:
        """Return the client, ready for JSON."""
        return json_fields(self._asdict())


class ClientUser(NamedTuple):
    """A user who has allowed a client something."""

    id: int
    username: str
    label: str
    scopes: tuple[str, ...]
    allowed_at: datetime

    def document(self) -> dict[str, object]:
        """Return the user, ready for JSON."""
        return json_fields(self._asdict())


def find_clients(
    search: str = "", after: str = "", *, is_self_registered: bool = False
) -> tuple[list[FoundClient], str]:
    """Return a page of clients by name, and where the next one begins; "" if there is none.

    Args:
        search: A part of the name, in any letter case.
        after: Where the page begins, as returned for the previous one.
        is_self_registered: Whether to return only apps that registered themselves.
    """
    query: Any = Client.select().order_by(Client.name_key, Client.id)
    if is_self_registered:
        query = query.where(IS_SELF_REGISTERED)
    if search:
        if not search.isprintable():
            return [], ""  # no name has such a part
        query = query.where(contains(Client.name_key, names.key(search)))
    rows: list[Client] = []
    for condition in _ranges_after(after):
        if len(rows) <= PAGE:
            rows.extend(query.where(condition).limit(PAGE + 1 - len(rows)))
    shown = rows[:PAGE]
    counts = user_counts([each.id for each in shown])
    found = [_found(*each) for each in zip(shown, counts, strict=True)]
    return found, f"{shown[-1].id}.{shown[-1].name_key}" if len(rows) > PAGE else ""


def users_of(client: Client, after: int = 0) -> tuple[list[ClientUser], int]:
    """Return users who have allowed a client, the oldest account first.

    Args:
        after: The number of the last user of the previous page.

    Returns:
        A page, and the number of its last user if there is another page, or 0.
    """
    columns = (Consent.user, User.username, label_column(), Consent.scopes, Consent.created_at)
    query: Any = Consent.select(*columns)
    of_client = query.join(User).where(Consent.client == client.id, Consent.user > after)
    rows = of_client.order_by(Consent.client, Consent.user).limit(PAGE + 1).tuples()
    users = [
        ClientUser(number, username, label, tuple(unbound(scopes.split())), from_timestamp(since))
        for number, username, label, scopes, since in rows
    ]
    return users[:PAGE], users[PAGE - 1].id if len(users) > PAGE else 0


def user_counts(ids: Sequence[str]) -> list[int]:
    """Return how many users have allowed each client, with one query.

    `COUNTED + 1` stands for more.
    """
    if not ids:
        return []
    row = database.execute(peewee.Select(columns=list(map(_counted, ids)))).fetchone()
    return list(row)


def _ranges_after(position: str) -> list[Any]:
    """Return conditions for all clients after a position; each is a range of the index."""
    client_id, _dot, key = position.partition(".")
    if names.is_handle(client_id) and key.isprintable() and len(key) <= CLIENT_NAME_MAX_LENGTH:
        return [(Client.name_key == key) & (Client.id > client_id), Client.name_key > key]
    return [peewee.SQL("1 = 1")]


def _found(row: Client, user_count: int) -> FoundClient:
    uris = uris_of(row.redirect_uris)
    host = host_of(uris[0]) if uris else ""
    if row.document_url is not None:
        host = host_in(row.document_url)
    return FoundClient(
        row.client_id,
        row.id,
        row.name,
        kind_of(row),
        row.is_trusted,
        host,
        from_timestamp(row.created_at),
        row.registered_by is not None,
        row.registered_by,
        None if row.last_used_at is None else from_timestamp(row.last_used_at),
        user_count,
    )


def _counted(client_id: str) -> Any:
    rows: Any = Consent.select(peewee.SQL("1")).where(Consent.client == client_id)
    # In the order of the index: see `accounts.listing`.
    rows = rows.order_by(Consent.client, Consent.user).limit(COUNTED + 1)
    return peewee.Select([rows.alias("counted")], [peewee.fn.COUNT(peewee.SQL("*"))])
