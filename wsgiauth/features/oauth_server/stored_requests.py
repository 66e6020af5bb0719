"""Authorization requests in the database: too long for our URLs, or pushed by a client (RFC 9126).

The browser gets a `request_uri` instead. It is worth as much as any link to /auth/authorize: it
begins a request, and whoever opens it still logs in and consents. So it is valid for an hour and
not only once, which lets a browser open each page of the login again.

Anyone can send long requests, so their number is bounded. Those that a client has pushed are
counted apart: no flood of others can remove them.
"""

import re
import secrets
from collections.abc import Collection
from urllib.parse import urlencode

import peewee

from wsgiauth.authentication.lifetimes import HOUR
from wsgiauth.features.oauth_server.authorization import ASKED, MEANT, pairs_in
from wsgiauth.features.oauth_server.tables import StoredRequest
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.statements import Statement, given, insert_row, is_given
from wsgiauth.storage.upkeep import purge_some

PREFIX = "urn:ietf:params:oauth:request_uri:"
LIFETIME = HOUR
MOST = 10_000  # of browsers, in all
MOST_OF_NETWORK = 1000  # of browsers
MOST_OF_CLIENT = 10_000  # pushed

_SOME = 100  # rows that one request deletes at most
_ID = re.compile("[A-Za-z0-9_-]{43}")
_CLIENT = "client:"  # begins what stands for a network in the rows that a client has pushed

_of_browsers = ~StoredRequest.network.startswith(_CLIENT)

_QUERY = Statement(
    lambda: StoredRequest.select(StoredRequest.query).where(
        is_given(StoredRequest.id),
        StoredRequest.expires_at > given(StoredRequest.expires_at, "now"),
    )
)
_BEYOND = Statement(
    lambda: (
        StoredRequest.select(StoredRequest.id)
        .where(is_given(StoredRequest.network))
        .order_by(StoredRequest.created_at.desc())
        .limit(_SOME)
        .offset(given(StoredRequest.created_at, "number"))
    )
)
_NUMBER = Statement(
    lambda: StoredRequest.select(peewee.fn.COUNT(peewee.SQL("*"))).where(_of_browsers)
)


def new_uri() -> str:
    """Return a `request_uri` that no row has yet."""
    return f"{PREFIX}{secrets.token_urlsafe(32)}"


def keep(request_uri: str, query: str, client_id: str, network: str, now: float) -> None:
    """Store the request of a browser.

    The oldest row of its network gives way if that has too many, or the oldest row of the network
    with the most rows if there are too many in all.

    Args:
        client_id: See `Client.id`.
        network: The widest of the browser.
    """
    purge_some(StoredRequest, now)
    _insert(request_uri, query, client_id, network[:64], now, is_pushed=False)


def keep_pushed(request_uri: str, query: str, client_id: str, now: float) -> None:
    """Store the request that a client has pushed; its oldest row gives way if it has too many."""
    purge_some(StoredRequest, now)
    _insert(request_uri, query, client_id, f"{_CLIENT}{client_id}", now, is_pushed=True)


def expanded(query: str, now: float) -> tuple[str, str]:
    """Return a request with the parameters of its row, and its `request_uri`.

    Without a `request_uri` of this site, return the same request, and "". Otherwise only the row
    and our own parameters count (RFC 9126 section 4).

    Raises:
        UnknownRequestError: There is no such row of this client, or it has expired.
    """
    sent = pairs_in(query)
    uris = [value for name, value in sent if name == "request_uri"]
    if len(uris) != 1 or not uris[0].startswith(PREFIX):
        return query, ""
    stored = _parameters_of(uris[0].removeprefix(PREFIX), now)
    ids = [value for name, value in sent if name == "client_id"]
    if not stored or ids != [stored["client_id"]]:
        raise UnknownRequestError
    own = {name: value for name, value in sent if name in (ASKED, MEANT)}
    return urlencode(own | stored), uris[0]


class UnknownRequestError(Exception):
    """No row of this client has this `request_uri`, or it has expired."""


def _parameters_of(row_id: str, now: float) -> dict[str, str]:
    if not _ID.fullmatch(row_id):
        return {}
    row = _QUERY.fetchone(id=row_id, now=int(now))
    return {} if row is None else dict(pairs_in(row[0]))


@repeated_after_conflict
def _insert(
    request_uri: str, query: str, client_id: str, network: str, now: float, *, is_pushed: bool
) -> None:
    with database.atomic():
        _make_room_of(network, MOST_OF_CLIENT if is_pushed else MOST_OF_NETWORK)
        if not is_pushed:
            _make_room()
        insert_row(
            StoredRequest,
            id=request_uri.removeprefix(PREFIX),
            client_id=client_id,
            query=query,
            network=network,
            is_pushed=is_pushed,
            created_at=int(now),
            expires_at=int(now) + LIFETIME,
        )


def _make_room_of(network: str, most: int) -> None:
    """Delete the oldest rows of a network, so that it can have one more."""
    _delete([each for (each,) in _BEYOND.fetchall(network=network, number=most - 1)])


def _make_room() -> None:
    """Delete the oldest rows of the network with the most rows, so that there can be one more."""
    ((present,),) = _NUMBER.fetchall()
    surplus = present - MOST + 1
    if surplus <= 0:
        return
    number, oldest = peewee.fn.COUNT(peewee.SQL("*")), peewee.fn.MIN(StoredRequest.created_at)
    networks = StoredRequest.select(StoredRequest.network).where(_of_browsers)
    largest = networks.group_by(StoredRequest.network).order_by(number.desc(), oldest).limit(1)
    rows = StoredRequest.select(StoredRequest.id).where(StoredRequest.network == largest.scalar())
    doomed = rows.order_by(StoredRequest.created_at).limit(min(surplus, _SOME))
    _delete([each.id for each in doomed])


def _delete(ids: Collection[str]) -> None:
    if ids:
        StoredRequest.delete().where(StoredRequest.id.in_(ids)).execute()
