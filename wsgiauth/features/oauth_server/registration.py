"""Apps that describe themselves: public, never trusted, and gone when unused.

They register themselves (RFC 7591), or have a document: see `documents`.

Everyone can register any name. So each login to such an app asks for the consent of the user, and
nothing that the app names, such as a logo, is fetched or shown. Its name is that of a stranger, so
a sentence, or a name like that of this site, is replaced by its host.
"""

import secrets
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import peewee

from wsgiauth import events
from wsgiauth.accounts import names
from wsgiauth.accounts.tables import insert_new
from wsgiauth.authentication.lifetimes import DAY
from wsgiauth.events import actors
from wsgiauth.features.oauth_server.clients import MOST_URIS
from wsgiauth.features.oauth_server.event_kinds import CLIENT_CHANGED, CLIENT_CREATED
from wsgiauth.features.oauth_server.oauth_errors import OAuthError
from wsgiauth.features.oauth_server.origins import record
from wsgiauth.features.oauth_server.redirect_uris import (
    has_own_scheme,
    host_of,
    known_host,
    problem_of,
)
from wsgiauth.features.oauth_server.scopes import MAX_SCOPE, is_scope
from wsgiauth.features.oauth_server.tables import Client, Consent
from wsgiauth.storage import database
from wsgiauth.storage.statements import Statement, given, insert_row, is_given
from wsgiauth.storage.upkeep import OptionalWrites, purge_some

NEW_DAYS = 1  # before it gets tokens for the first time, so that a flood blocks others for a day
UNUSED_DAYS = 30  # after it got tokens
MOST_CLIENTS = 10_000  # that have registered themselves
MOST_KEPT = 100  # of them beyond their first day, by the use of one account

_ID_BYTES = 10
_METADATA = "invalid_client_metadata"  # section 3.2.2

_PUNCTUATION = " ,'\N{RIGHT SINGLE QUOTATION MARK}-()&+_"
# Of European languages, beyond ASCII and accents; "ss" is the sharp s in lower case.
_LATIN = frozenset(("æ", "œ", "ø", "ð", "đ", "ħ", "ł", "ŋ", "þ", "\u0131", "ß", "ss"))
_MOST_WORDS = 5
_MOST_DIGITS = 4
# Lower-case letters of Cyrillic and Greek, others of Latin, and digits, that look like others.
_LOOK_ALIKES = str.maketrans(
    "\u0430\u0432\u0435\u0456\u0458\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455\u04bb\u0501"
    "\u03b1\u03b2\u03b5\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7"
    "\u0131l105",
    "abeijkmhopctyxshdabehikmvoptyxiiios",
)

_OF_DESCRIPTION = ("name", "name_key", "redirect_uris", "scopes", "is_public")

_IS_OURS = is_given(Client.id) & is_given(Client.document_url)
_DELETE_EXPIRED = Statement(
    lambda: Client.delete().where(_IS_OURS, Client.expires_at <= given(Client.expires_at, "now"))
)
_DESCRIPTION = {name: given(getattr(Client, name)) for name in _OF_DESCRIPTION}
_IS_OTHER = reduce(or_, [getattr(Client, name) != value for name, value in _DESCRIPTION.items()])
_DESCRIBE = Statement(lambda: Client.update(_DESCRIPTION).where(_IS_OURS, _IS_OTHER))
_EXISTS = Statement(lambda: Client.select(Client.id).where(_IS_OURS))
_OTHERS = Statement(
    lambda: (
        Consent.select(Consent.client)
        .join(Client)
        .where(
            is_given(Consent.user),
            Client.id != given(Client.id),
            Client.expires_at > given(Client.expires_at, "until"),
        )
        .limit(given(Client.expires_at, "most"))
    )
)
_KEEP = Statement(
    lambda: Client.update(expires_at=given(Client.expires_at, "end")).where(
        is_given(Client.id), Client.expires_at <= given(Client.expires_at, "due")
    )
)
_KEEP_NO_LONGER = Statement(
    lambda: Client.update(expires_at=given(Client.expires_at)).where(
        is_given(Client.id),
        Client.expires_at > given(Client.expires_at),
        ~peewee.fn.EXISTS(Consent.select(peewee.SQL("1")).where(is_given(Consent.client, "id"))),
    )
)
_LAST = Statement(
    lambda: (
        Client.select(Client.id)
        .where(Client.expires_at > given(Client.expires_at, "now"), Client.document_url.is_null())
        .order_by(Client.expires_at)  # along the index
        .limit(1)
        .offset(given(Client.expires_at, "number"))
    )
)

_writes = OptionalWrites("the use of apps that have registered themselves is not recorded for now")


class Described(NamedTuple):
    """What an app says about itself, with our values instead of unknown ones."""

    name: str
    redirect_uris: list[str]
    scopes: str  # separated by spaces

    def columns(self) -> dict[str, object]:
        """Return the values of the row of its client: `_OF_DESCRIPTION`."""
        return {
            "name": self.name,
            "name_key": names.key(self.name),
            "redirect_uris": "\n".join(dict.fromkeys(self.redirect_uris)),
            "scopes": self.scopes,
            "is_public": True,
        }


def described(
    metadata: Mapping[str, object], schemes: Collection[str], *, site_name: str = "", host: str = ""
) -> Described:
    """Return an app as it describes itself (section 2).

    Args:
        schemes: Those without a dot that its redirect URIs can have.
        site_name: The name of this site, which no app can have in its own.
        host: Which serves the description, and which its https redirect URIs must have; without
            one, they need only have one host in common.

    Raises:
        OAuthError: A redirect URI or another value cannot be accepted.
    """
    uris = _uris(metadata, schemes, host)
    known = host or known_host(uris)
    name = _string(metadata, "client_name") or known
    if names.key_name_problem(name) is not None:
        raise OAuthError(_METADATA, "client_name must be a name of at most 100 characters")
    if not _is_plain(name) or _looks_like(name, site_name):
        name = known
    _string(metadata, "token_endpoint_auth_method")  # it becomes none: section 3.2.1
    asked = _string(metadata, "scope").split()
    scopes = " ".join(dict.fromkeys(filter(is_scope, asked)))
    if len(scopes) > MAX_SCOPE:
        raise OAuthError(_METADATA, "scope is too long")
    return Described(name, uris, scopes)


def registered(app: Described, now: float) -> Client:
    """Return the client of an app that registers itself now, not stored yet.

    Raises:
        OAuthError: There are too many.
    """
    purge_some(Client, now)
    if _are_too_many(now):
        raise OAuthError(_METADATA, "too many apps have registered themselves: try again later")
    return Client(
        id=secrets.token_hex(_ID_BYTES),
        created_at=int(now),
        expires_at=int(now) + NEW_DAYS * DAY,
        **app.columns(),
    )


def register(row: Client) -> None:
    """Store a client that has described itself."""
    with database.atomic(), actors.acting(actors.APP):
        insert_row(Client, **row.__data__)
        record(row)
        events.emit(CLIENT_CREATED, reason=row.id)


def store_described(client: Client, now: float) -> bool:
    """Store the client of a document as the document describes it now, because a user allows it.

    One that has expired ends first, with all that users had allowed it. Return False, and store
    nothing, if the row of another client has the same key, as only an operator can choose it.
    """
    own = {"id": client.id, "document_url": client.document_url}
    columns = {name: getattr(client, name) for name in _OF_DESCRIPTION}
    times = {"created_at": int(now), "expires_at": int(now) + NEW_DAYS * DAY}
    purge_some(Client, now)
    with actors.acting(actors.APP):
        _DELETE_EXPIRED.execute(**own, now=int(now))
        if insert_new(Client, **own, **columns, **times):
            record(client)
            events.emit(CLIENT_CREATED, reason=client.id)
            return True
        # Without reading the row first: another transaction may have inserted it just now.
        if _DESCRIBE.execute(**own, **columns):
            record(client)
            events.emit(CLIENT_CHANGED, reason=client.id)
    return _EXISTS.fetchone(**own) is not None


def keep_client(client: Client, user_id: int, now: float) -> None:
    """Let a client that has registered itself stay, because a user lets it get tokens; once a day.

    A user who keeps `MOST_KEPT` others keeps no further one: each account could use up
    `MOST_CLIENTS` otherwise.
    """
    end = int(now) + UNUSED_DAYS * DAY
    if client.expires_at is None or client.expires_at > end - DAY:
        return
    kept_until = int(now) + NEW_DAYS * DAY
    others = _OTHERS.fetchall(id=client.id, user=user_id, until=kept_until, most=MOST_KEPT)
    if len(others) >= MOST_KEPT:
        return
    _writes.execute(lambda: _KEEP.execute(id=client.id, due=end - DAY, end=end), int(now))


def keep_no_longer(client_id: str, now: float) -> None:
    """Let a client that has registered itself end in a day, if no user allows it any more.

    So that a user who revokes apps cannot keep others in their place.
    """
    _KEEP_NO_LONGER.execute(id=client_id, expires_at=int(now) + NEW_DAYS * DAY)


def _is_plain(name: str) -> bool:
    """Return whether a name has a few words, and is no sentence, address or telephone number."""
    kinds = [unicodedata.category(each)[0] for each in name]
    if any(map(_is_odd_latin, name)):
        return False
    has_words = all(
        kind in "LMN" or each in _PUNCTUATION for each, kind in zip(name, kinds, strict=True)
    )
    return has_words and len(name.split()) <= _MOST_WORDS and kinds.count("N") <= _MOST_DIGITS


def _is_odd_latin(letter: str) -> bool:
    """Return whether a letter is of no usual alphabet, such as a small capital of phonetics."""
    base = unicodedata.normalize("NFKD", letter)[:1]
    is_latin = unicodedata.name(base, "").startswith("LATIN")
    return is_latin and not base.isascii() and base.casefold() not in _LATIN


def _looks_like(name: str, site_name: str) -> bool:
    """Return whether a reader could take a name for this site's, as in "Home (verified)"."""
    own = _outline(site_name)
    return bool(own) and own in _outline(name)


def _outline(name: str) -> str:
    """Return the letters of a name, with one for all that look like it."""
    letters = unicodedata.normalize("NFKD", names.key(name)).translate(_LOOK_ALIKES)
    return "".join(filter(str.isalnum, letters))


def _are_too_many(now: float) -> bool:
    return _LAST.fetchone(now=int(now), number=MOST_CLIENTS - 1) is not None


def _uris(metadata: Mapping[str, object], schemes: Collection[str], host: str) -> list[str]:
    uris: Any = metadata.get("redirect_uris")
    if not (isinstance(uris, list) and 0 < len(uris) <= MOST_URIS):
        raise OAuthError("invalid_redirect_uri", f"redirect_uris must list 1 to {MOST_URIS} URIs")
    for each in uris:
        is_valid = isinstance(each, str) and problem_of(each, is_public=True) is None
        if not (is_valid and has_own_scheme(each, schemes)):
            description = (
                "a redirect URI must be https, of localhost, or have the scheme of an app, with a"
                " dot in it"
            )
            raise OAuthError("invalid_redirect_uri", description)
    web = [each for each in uris if each.startswith("https:")]
    if host and any(urlsplit(each).hostname != host for each in web):
        description = "the https redirect URIs must have the host of the document"
        raise OAuthError("invalid_redirect_uri", description)
    if not _belong_together({host_of(each) for each in web}):
        description = "the https redirect URIs must have one host, or hosts below each other"
        raise OAuthError("invalid_redirect_uri", description)
    return uris


def _belong_together(hosts: Iterable[str]) -> bool:
    """Return whether hosts are below each other, as vscode.dev and insiders.vscode.dev are.

    Otherwise, the list of a user's apps would show the host of another app beside its own.
    """
    by_length = sorted(hosts, key=len)
    return all(longer.endswith(f".{shorter}") for shorter, longer in pairwise(by_length))


def _string(metadata: Mapping[str, object], name: str) -> str:
    value = metadata.get(name)
    if value is not None and not isinstance(value, str):
        raise OAuthError(_METADATA, f"{name} must be a string")
    return value or ""
