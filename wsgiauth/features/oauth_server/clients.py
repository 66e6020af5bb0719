"""The rules of clients: how one is created, changed, authenticated and removed.

A client has one secret, or two for a change: its program then gets the new one without a gap.
"""

import secrets
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import peewee

from wsgiauth import events
from wsgiauth.accounts import names
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.names import is_permission
from wsgiauth.authentication.one_time import digest
from wsgiauth.authentication.scopes import OPENID
from wsgiauth.exceptions import ValidationError
from wsgiauth.features.oauth_server.document_urls import host_in, id_of
from wsgiauth.features.oauth_server.event_kinds import (
    CLIENT_CHANGED,
    CLIENT_CREATED,
    CLIENT_REMOVED,
)
from wsgiauth.features.oauth_server.origins import record
from wsgiauth.features.oauth_server.redirect_uris import (
    can_be_opened,
    can_receive_logouts,
    is_of_this_computer,
    known_host,
    problem_of,
    uris_of,
)
from wsgiauth.features.oauth_server.scopes import DEFAULT, MAX_SCOPE, is_scope
from wsgiauth.features.oauth_server.tables import Client, Consent
from wsgiauth.messages import _
from wsgiauth.settings.checks import is_audience
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.models import from_timestamp, json_fields
from wsgiauth.storage.statements import ModelStatement, Statement, insert_row, is_given

MOST_URIS = 20  # of a client, and most services whose tokens it can ask about
PUBLIC, CONFIDENTIAL, SERVICE = "public", "confidential", "service"
ALGORITHMS = ("RS256", "ES256", "EdDSA")  # of the keys that `features.services.signing` reads

_ID_BYTES = 10
_SECRET_PREFIX = "wsgiauth-client_"  # noqa: S105 - secret scanners find secrets by it

_NOT_OF_SERVICES = {  # fields that only a client of users can have
    "redirect_uris": "have redirect URIs",
    "group_id": "be for a group",
    "is_public": "be public",
    "is_trusted": "be trusted",
    "algorithm": "have an algorithm for ID tokens",
    "logout_uri": "have a logout URI",
    "logout_redirects": "have logout redirect URIs",
    "launch_url": "have a URL where users open it",
    "is_without_pkce": "send requests without PKCE",
}

_FIND = Statement(lambda: Client.select().where(is_given(Client.id)))


def _rows() -> Any:
    return (
        Client.select(Client, Group.name.alias("group_name"))
        .join(Group, peewee.JOIN.LEFT_OUTER, on=(Client.group_id == Group.id))
        .order_by(Client.name, Client.id)
        .objects()
    )


_ROWS = ModelStatement(_rows)
_ROW = ModelStatement(lambda: _rows().where(is_given(Client.id)))


class ClientFields(NamedTuple):
    """What an operator decides about a client; see `Client` for each field."""

    name: str
    redirect_uris: tuple[str, ...]
    scopes: tuple[str, ...]
    group_id: int | None = None
    is_public: bool = False
    is_service: bool = False
    is_trusted: bool = False
    algorithm: str = ""
    logout_uri: str = ""
    logout_redirects: tuple[str, ...] = ()
    launch_url: str = ""
    is_without_pkce: bool = False
    audiences: tuple[str, ...] = ()

    @classmethod
    def of(cls, row: Client) -> "ClientFields":
        """Return the fields of a client."""
        return cls(
            row.name,
            uris_of(row.redirect_uris),
            tuple(row.scopes.split()),
            row.group_id,
            row.is_public,
            row.is_service,
            row.is_trusted,
            row.algorithm,
            row.logout_uri,
            uris_of(row.logout_redirects),
            row.launch_url or "",
            bool(row.is_without_pkce),
            uris_of(row.audiences or ""),
        )

    def columns(self) -> dict[str, object]:
        """Return the values of the row."""
        return {
            **self._asdict(),
            "name_key": names.key(self.name),
            "redirect_uris": "\n".join(dict.fromkeys(self.redirect_uris)),
            "scopes": " ".join(dict.fromkeys(self.scopes)),
            "logout_redirects": "\n".join(dict.fromkeys(self.logout_redirects)),
            "launch_url": self.launch_url or None,
            "is_without_pkce": self.is_without_pkce or None,
            "audiences": "\n".join(dict.fromkeys(self.audiences)) or None,
        }

    def check(self, *, needs_scopes: bool = True) -> None:
        """Raise ValidationError if a field breaks a rule; its `errors` are by field.

        Args:
            needs_scopes: False for a client that registered itself: without scopes, it can ask for
                the usual ones.
        """
        has_scopes = bool(self.scopes) or needs_scopes
        problems = {
            "name": names.key_name_problem(self.name),
            "redirect_uris": self._problem_of_uris("redirect URI", self.redirect_uris, 1),
            "logout_redirects": self._problem_of_uris(
                "logout redirect URI", self.logout_redirects, 0
            ),
            "logout_uri": self._problem_of_logout_uri(),
            "scopes": _problem_of_scopes(self.scopes) if has_scopes else None,
            "is_trusted": self._problem_of_trust(),
            "algorithm": _problem_of_algorithm(self.algorithm),
            "launch_url": self._problem_of_launch_url(),
            "is_without_pkce": self._problem_without_pkce(),
            "audiences": self._problem_of_audiences(),
        }
        if self.is_service:
            problems |= self._problems_of_service()
        errors = {field: [problem] for field, problem in problems.items() if problem is not None}
        if errors:
            raise ValidationError(errors)

    def _problem_of_uris(self, kind: str, uris: Sequence[str], least: int) -> str | None:
        if not least <= len(uris) <= MOST_URIS:
            return _("Give one to %(num)s redirect URIs.", num=MOST_URIS)
        for each in uris:
            problem = problem_of(each, is_public=self.is_public)
            if problem is not None:
                return f"{kind} {each[:100]!r}: {problem}"
        return None

    def _problem_of_logout_uri(self) -> str | None:
        if not self.logout_uri or can_receive_logouts(self.logout_uri):
            return None
        return _(
            "The logout URI must be a valid https:// URI without a fragment;"
            " http:// is only for localhost, 127.0.0.1 and [::1]."
        )

    def _problem_of_launch_url(self) -> str | None:
        if not self.launch_url or can_be_opened(self.launch_url):
            return None
        return _(
            "The URL must be a valid https:// or http:// URL in ASCII, with its host in lower case,"
            " and without a username and a fragment."
        )

    def _problem_without_pkce(self) -> str | None:
        """Refuse a client whose codes nothing would bind to its requests."""
        if not self.is_without_pkce:
            return None
        if self.is_public:
            return _("A public client needs PKCE.")
        if OPENID not in self.scopes:
            return _("A client without PKCE needs the scope openid.")
        return None

    def _problem_of_audiences(self) -> str | None:
        if not self.audiences:
            return None
        if not self.is_service:
            return _("Only a service can ask about the tokens of a service.")
        if len(self.audiences) > MOST_URIS or not all(map(is_audience, self.audiences)):
            return _("Name at most %(num)s services, each as SERVICES does.", num=MOST_URIS)
        return None

    def _problems_of_service(self) -> dict[str, str | None]:
        """Refuse what only logins of users need, and scopes that are no permissions."""
        problems = {
            field: f"A service cannot {what}: no user logs in to it."
            if getattr(self, field)
            else None
            for field, what in _NOT_OF_SERVICES.items()
        }
        others = [each for each in self.scopes if not is_permission(each)]
        if others or not self.scopes:
            needs = "A service needs permissions as scopes, such as reports.read, and no others."
            problems["scopes"] = f"{others[0][:100]}: {needs}" if others else needs
        return problems

    def _problem_of_trust(self) -> str | None:
        """Refuse trust in an app that any other program can imitate (RFC 8252 section 8.6)."""
        if not (self.is_trusted and self.is_public):
            return None
        if not any(map(is_of_this_computer, self.redirect_uris)):
            return None
        return _("A public client on the computer of a user cannot be trusted.")


class MadeClient(NamedTuple):
    """A new client."""

    row: Client
    secret: str  # which is not stored; "" for a public client

    def __repr__(self) -> str:
        return f"<MadeClient {self.row.id}>"


class ListedClient(NamedTuple):
    """A client for operators; times are in UTC."""

    id: str
    name: str
    kind: str  # `PUBLIC`, `CONFIDENTIAL` or `SERVICE`
    is_trusted: bool
    redirect_uris: tuple[str, ...]
    scopes: tuple[str, ...]
    group: str | None  # the name; None: everyone; "": it was deleted, so no user gets in
    secrets: int  # how many are valid
    algorithm: str | None
    logout_uri: str | None
    logout_redirects: tuple[str, ...]
    launch_url: str | None
    is_without_pkce: bool
    audiences: tuple[str, ...]
    created_at: datetime
    registered_itself: bool
    registered_by: str | None  # `tables.REQUEST` or `tables.DOCUMENT`, if it registered itself
    expires_at: datetime | None  # when it ends without further use, if it registered itself
    last_used_at: datetime | None  # see `Client.last_used_at`

    @classmethod
    def of(cls, row: Client, group: str | None) -> "ListedClient":
        """Return the entry of a client in the list.

        Args:
            group: The name of its group, if that exists.
        """
        return cls(
            row.client_id,
            row.name,
            kind_of(row),
            row.is_trusted,
            uris_of(row.redirect_uris),
            tuple(row.scopes.split()),
            None if row.group_id is None else group or "",
            len(digests_of(row)),
            row.algorithm or None,
            row.logout_uri or None,
            uris_of(row.logout_redirects),
            row.launch_url,
            bool(row.is_without_pkce),
            uris_of(row.audiences or ""),
            from_timestamp(row.created_at),
            row.registered_by is not None,
            row.registered_by,
            None if row.expires_at is None else from_timestamp(row.expires_at),
            None if row.last_used_at is None else from_timestamp(row.last_used_at),
        )

    def document(self) -> dict[str, object]:
        """Return the client, ready for JSON."""
        return json_fields(self._asdict())


def kind_of(row: Client) -> str:
    """Return the kind of a client: `PUBLIC`, `CONFIDENTIAL` or `SERVICE`."""
    if row.is_service:
        return SERVICE
    return PUBLIC if row.is_public else CONFIDENTIAL


def create(
    name: str,
    uris: Sequence[str] = (),
    *,
    scopes: Sequence[str] = (),
    group: Group | None = None,
    logout_redirects: Sequence[str] = (),
    now: float,
    **fields: Any,
) -> MadeClient:
    """Create a client.

    Args:
        uris: Its redirect URIs.
        scopes: What it can ask for; by default, what a login needs.
        group: Lets only its members in.
        fields: Further ones of `ClientFields`; the caller checks that the site has a key for the
            algorithm.

    Raises:
        ValidationError: An argument is invalid; `errors` has the messages by argument.
    """
    of_login = () if fields.get("is_service") else DEFAULT
    checked = ClientFields(
        name,
        tuple(uris),
        tuple(scopes) or of_login,
        None if group is None else group.id,
        logout_redirects=tuple(logout_redirects),
        **fields,
    )
    checked.check()
    secret = "" if checked.is_public else _new_secret()
    row = Client(
        id=secrets.token_hex(_ID_BYTES),
        digest=digest(secret) if secret else "",
        created_at=int(now),
        **checked.columns(),
    )
    with database.atomic():
        insert_row(Client, **row.__data__)
        record(row)
        events.emit(CLIENT_CREATED, reason=row.id)
    return MadeClient(row, secret)


def find(client_id: str, now: float) -> Client | None:
    """Return the client with this `client_id`, or None. One that has expired is not found."""
    key = id_of(client_id)
    row = _FIND.fetchone(id=key) if names.is_handle(key) else None
    client = None if row is None else Client.of_row(row)
    if client is None or client.client_id != client_id:
        return None
    return None if client.has_expired(now) else client


def list_clients() -> list[ListedClient]:
    """Return all clients by name."""
    return [listed for _row, listed in rows_of_clients()]


def rows_of_clients(key: str | None = None) -> list[tuple[Client, ListedClient]]:
    """Return the row of each client, or of one, by name, beside its entry in the list."""
    found = _ROWS.all() if key is None else _ROW.all(id=key)
    return [(row, ListedClient.of(row, row.group_name)) for row in found]


def find_listed(client_id: str) -> tuple[Client, ListedClient] | None:
    """Return the row of a client and its entry in the list, or None.

    Args:
        client_id: Its `client_id`, or the key of its row, which URLs of the panel have.
    """
    key = id_of(client_id)
    return next(iter(rows_of_clients(key)), None) if names.is_handle(key) else None


def shown_name(client: Client) -> str:
    """Return how a page names a client: one that registered itself by its host."""
    return client.name if client.expires_at is None else host_of_app(client)


def host_of_app(client: Client) -> str:
    """Return what a person can know a client by: the host of its document or of a redirect URI."""
    if client.document_url is not None:
        return host_in(client.document_url)
    return known_host(uris_of(client.redirect_uris))


def names_of(client_ids: Collection[str]) -> dict[str, str]:
    """Return the names of clients by id."""
    rows: Any = Client.select(Client.id, Client.name).where(Client.id.in_(sorted(client_ids)))
    return dict(rows.tuples())


def count_users(client: Client) -> int:
    """Return how many users have allowed a client anything."""
    number: int = Consent.select().where(Consent.client == client.id).count()
    return number


def digests_of(client: Client) -> list[str]:
    """Return the digests of its valid secrets, the newest first."""
    return [each for each in (client.digest, client.former_digest) if each]


def has_secret(client: Client, secret: str) -> bool:
    """Return whether a secret is one of a confidential client."""
    presented = digest(secret)
    return True in [secrets.compare_digest(each, presented) for each in digests_of(client)]


@repeated_after_conflict
def change(client: Client, fields: ClientFields) -> bool:
    """Change what differs from the fields of a client; return whether anything does.

    What the client got before is valid as far as it could get it now; see `grants.Grants`.

    Raises:
        ValidationError: A field is invalid, or the client was removed meanwhile.
    """
    fields.check(needs_scopes=client.expires_at is None)
    return write(client, fields.columns())


def write(client: Client, columns: Mapping[str, object]) -> bool:
    """Write the columns that differ from a row that was read before; return whether any does."""
    changes = {name: each for name, each in columns.items() if getattr(client, name) != each}
    if not changes:
        return False
    with database.atomic():
        if not Client.update(changes).where(Client.id == client.id).execute():
            raise ValidationError({"client": [_("The client was removed meanwhile.")]})
        record(Client.get_by_id(client.id))
        events.emit(CLIENT_CHANGED, reason=client.id)
    return True


@repeated_after_conflict
def renew_secret(client: Client) -> str:
    """Return a new secret of a client. The former one stays valid until `end_former`.

    Raises:
        ValidationError: It is public; or it has two secrets: a program may use the older one, which
            a third one would end.
    """
    secret = _new_secret()
    # Not `Client.digest` as the new value: MariaDB would read the digest that it has just set.
    is_same = (Client.id == client.id) & (Client.digest == client.digest)
    with database.atomic():
        new = {"former_digest": client.digest, "digest": digest(secret)}
        has_one = (Client.digest != "") & (Client.former_digest == "")
        if not Client.update(new).where(is_same & has_one).execute():
            problem = _("Only a client with one secret can get another one.")
            raise ValidationError({"secret": [problem]})
        events.emit(CLIENT_CHANGED, reason=client.id)
    return secret


@repeated_after_conflict
def end_former(client: Client) -> bool:
    """Let only the newest secret be valid; return whether there was another one."""
    has_former = (Client.id == client.id) & (Client.former_digest != "")
    with database.atomic():
        is_ended = bool(Client.update(former_digest="").where(has_former).execute())
        if is_ended:
            events.emit(CLIENT_CHANGED, reason=client.id)
    return is_ended


@repeated_after_conflict
def remove(client: Client) -> bool:
    """Remove a client, and all that users have allowed it; return whether it was there."""
    with database.atomic():
        is_removed = bool(Client.delete().where(Client.id == client.id).execute())
        if is_removed:
            events.emit(CLIENT_REMOVED, reason=client.id)
    return is_removed


def _problem_of_scopes(scopes: Sequence[str]) -> str | None:
    unknown = next((each for each in scopes if not is_scope(each)), None)
    if scopes and unknown is None and len(" ".join(scopes)) <= MAX_SCOPE:
        return None
    problem = _(
        "The scopes must be openid, profile, email, groups, offline_access or permissions"
        " of the form <app>.<action>."
    )
    return problem if unknown is None else f"{unknown[:100]}: {problem}"


def _problem_of_algorithm(algorithm: str) -> str | None:
    if algorithm in ("", *ALGORITHMS):
        return None
    return _("The algorithm must be one of %(algorithms)s.", algorithms=", ".join(ALGORITHMS))


def _new_secret() -> str:
    return _SECRET_PREFIX + secrets.token_urlsafe(32)
