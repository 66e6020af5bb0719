"""The rules of clients: how one is created, changed, authenticated and removed.

A client has one secret, or two for a change: its program then gets the new one without a gap.
"""

import hmac
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from wsgiauth import events
from wsgiauth.accounts import names
from wsgiauth.accounts.groups import Group
from wsgiauth.authentication.one_time import digest
from wsgiauth.exceptions import ValidationError
from wsgiauth.features.oauth_server import redirect_uris
from wsgiauth.features.oauth_server.scopes import DEFAULT, MAX_SCOPE, is_scope
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.messages import _
from wsgiauth.storage import Statement, database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.models import from_timestamp, json_fields

MOST_URIS = 20  # of a client
MAX_SECRET = 200  # characters that a client sends

_ID_BYTES = 10
_SECRET_PREFIX = "wsgiauth-client_"  # noqa: S105 - secret scanners find secrets by it


_FIND = Statement(lambda: Client.select().where(Client.id == ""))


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
    kind: str  # `public` or `confidential`
    is_trusted: bool
    redirect_uris: tuple[str, ...]
    scopes: tuple[str, ...]
    group: str | None  # the name; None: everyone
    secrets: int  # how many are valid
    algorithm: str | None
    created_at: datetime

    @classmethod
    def of(cls, row: Client) -> "ListedClient":
        """Return the entry of a client in the list."""
        return cls(
            row.id,
            row.name,
            "public" if row.is_public else "confidential",
            row.is_trusted,
            tuple(row.redirect_uris.split("\n")),
            tuple(row.scopes.split()),
            _group_name(row.group_id),
            sum(map(bool, (row.digest, row.former_digest))),
            row.algorithm or None,
            from_timestamp(row.created_at),
        )

    def document(self) -> dict[str, object]:
        """Return the client, ready for JSON."""
        return json_fields(self._asdict())


def create(
    name: str,
    uris: Sequence[str],
    *,
    scopes: Sequence[str] = (),
    group: Group | None = None,
    is_public: bool = False,
    is_trusted: bool = False,
    algorithm: str = "",
    now: float,
) -> MadeClient:
    """Create a client.

    Args:
        uris: Its redirect URIs.
        scopes: What it can ask for; by default, what a login needs.
        group: Lets only its members in.
        algorithm: See `Client`; the caller checks that the site has a key for it.

    Raises:
        ValidationError: An argument is invalid; `errors` has the messages by argument.
    """
    _check(name, uris, scopes, is_public=is_public)
    secret = "" if is_public else _new_secret()
    row = Client(
        id=secrets.token_hex(_ID_BYTES),
        name=name,
        digest=digest(secret) if secret else "",
        redirect_uris="\n".join(dict.fromkeys(uris)),
        scopes=" ".join(dict.fromkeys(scopes or DEFAULT)),
        group_id=None if group is None else group.id,
        is_public=is_public,
        is_trusted=is_trusted,
        algorithm=algorithm,
        created_at=int(now),
    )
    with database.atomic():
        row.save(force_insert=True)
        events.emit("client_created", reason=row.id)
    return MadeClient(row, secret)


def find(client_id: str) -> Client | None:
    """Return the client with this id, or None."""
    row = _FIND.fetchone(client_id) if names.is_handle(client_id) else None
    return None if row is None else Client.of_row(row)


def list_clients() -> list[ListedClient]:
    """Return all clients by name."""
    return [ListedClient.of(each) for each in Client.select().order_by(Client.name, Client.id)]


def has_secret(client: Client, secret: str) -> bool:
    """Return whether a secret is one of a confidential client."""
    presented = digest(secret[: MAX_SECRET + 1])
    stored = [each for each in (client.digest, client.former_digest) if each]
    return True in [hmac.compare_digest(each, presented) for each in stored]


@repeated_after_conflict
def renew_secret(client: Client) -> str:
    """Return a new secret of a confidential client. The last one stays valid until `end_former`."""
    secret = _new_secret()
    with database.atomic():
        Client.update(former_digest=Client.digest, digest=digest(secret)).where(
            Client.id == client.id
        ).execute()
        events.emit("client_changed", reason=client.id)
    return secret


@repeated_after_conflict
def end_former(client: Client) -> bool:
    """Let only the newest secret be valid; return whether there was another one."""
    has_former = (Client.id == client.id) & (Client.former_digest != "")
    with database.atomic():
        is_ended = bool(Client.update(former_digest="").where(has_former).execute())
        if is_ended:
            events.emit("client_changed", reason=client.id)
    return is_ended


@repeated_after_conflict
def remove(client: Client) -> bool:
    """Remove a client, and all that users have allowed it; return whether it was there."""
    with database.atomic():
        is_removed = bool(Client.delete().where(Client.id == client.id).execute())
        if is_removed:
            events.emit("client_removed", reason=client.id)
    return is_removed


def _check(name: str, uris: Sequence[str], scopes: Sequence[str], *, is_public: bool) -> None:
    errors: dict[str, list[str]] = {}
    problem = names.key_name_problem(name)
    if problem is not None:
        errors["name"] = [problem]
    found = [redirect_uris.problem_of(each, is_public=is_public) for each in uris]
    problems = list(dict.fromkeys(filter(None, found)))
    if not uris or len(uris) > MOST_URIS:
        problems.append(_("Give one to %(num)s redirect URIs.", num=MOST_URIS))
    if problems:
        errors["redirect_uris"] = problems
    unknown = [each for each in scopes if not is_scope(each)]
    if unknown or len(" ".join(scopes)) > MAX_SCOPE:
        errors["scopes"] = [
            _(
                "The scopes must be openid, profile, email, groups, offline_access or permissions"
                " of the form <app>.<action>."
            )
        ]
    if errors:
        raise ValidationError(errors)


def _new_secret() -> str:
    return _SECRET_PREFIX + secrets.token_urlsafe(32)


def _group_name(group_id: int | None) -> str | None:
    if group_id is None:
        return None
    found: Any = Group.get_or_none(Group.id == group_id)
    return "a group that was deleted" if found is None else str(found.name)
