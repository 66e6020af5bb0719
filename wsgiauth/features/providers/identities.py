"""Accounts of other providers (OpenID Connect) that users have connected to theirs.

An account is its issuer and its subject (OpenID Connect Core 1.0, section 2), compared exactly; no
name and no email address identifies it. A digest of both finds its row, because MariaDB ignores
spaces at the end of a string.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import peewee

from wsgiauth import events
from wsgiauth.accounts import NewAccount, lock_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import insert_new
from wsgiauth.authentication.one_time import digest
from wsgiauth.exceptions import RequestError, UnauthenticatedError
from wsgiauth.features.providers.event_kinds import IDENTITY_CONNECTED, IDENTITY_DISCONNECTED
from wsgiauth.messages import _, ngettext
from wsgiauth.settings import Settings
from wsgiauth.settings.oidc import ProviderEntry
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.models import Model, from_timestamp, json_fields, utc_now
from wsgiauth.storage.statements import ModelStatement, Statement, given, is_given

if TYPE_CHECKING:
    from wsgiauth.features.providers.oidc.accounts import ProviderAccount

MOST_IDENTITIES = 10  # of a user
HANDLE_LENGTH = 12  # characters


class Identity(Model):
    """An account of a provider, and its user; times are in seconds since the epoch."""

    # The digest of issuer and subject.
    id: peewee.CharField[str] = peewee.CharField(max_length=64, primary_key=True)
    user_id: int
    user: peewee.ForeignKeyField[User] = peewee.ForeignKeyField(
        User, backref="+", on_delete="CASCADE"
    )
    # The name of its entry in OIDC_PROVIDERS at the last login.
    provider: peewee.CharField[str] = peewee.CharField(max_length=32)
    issuer: peewee.CharField[str] = peewee.CharField(max_length=255)
    subject: peewee.CharField[str] = peewee.CharField(max_length=255)
    # For lists of accounts; it proves nothing.
    name: peewee.CharField[str] = peewee.CharField(max_length=100)
    # The ids of the groups that its logins have joined, as JSON.
    joined: peewee.TextField[str] = peewee.TextField(default="[]")
    created_at: peewee.BigIntegerField[int] = peewee.BigIntegerField()
    last_used_at: peewee.BigIntegerField[int] = peewee.BigIntegerField()

    class Meta:
        table_name = "wsgiauth_identity"

    @property
    def handle(self) -> str:
        """Names the account in lists and forms of its user; not secret."""
        return self.id[:HANDLE_LENGTH]


class ListedIdentity(NamedTuple):
    """An account of a provider in the list of its owner; times are in UTC."""

    id: str  # its handle
    provider: str
    issuer: str
    subject: str
    name: str
    connected_at: datetime
    last_used_at: datetime

    @classmethod
    def of(cls, row: Identity) -> ListedIdentity:
        """Return the entry of an account in the list."""
        return cls(
            row.handle,
            row.provider,
            row.issuer,
            row.subject,
            row.name,
            from_timestamp(row.created_at),
            from_timestamp(row.last_used_at),
        )

    def title(self, entries: Iterable[ProviderEntry]) -> str:
        """Return the title of the provider, or its host if no entry has its issuer any more."""
        of_issuer = [each for each in entries if each.issuer == self.issuer]
        of_issuer.sort(key=lambda entry: entry.name != self.provider)
        return of_issuer[0].title if of_issuer else urlsplit(self.issuer).netloc

    def document(self) -> dict[str, object]:
        """Return the account, ready for JSON."""
        return json_fields(self._asdict())


_WITH_USER = ModelStatement(
    lambda: Identity.select(Identity, User).join(User).where(is_given(Identity.id))
)
_OF_USER = ModelStatement(
    lambda: (
        Identity.select().where(is_given(Identity.user)).order_by(Identity.created_at, Identity.id)
    )
)


def find(issuer: str, subject: str) -> Identity | None:
    """Return the row of an account of a provider, with its user, or None."""
    return _WITH_USER.first(id=identity_id(issuer, subject))


def rows_of(user: User) -> list[Identity]:
    """Return the rows of a user, the oldest first."""
    return _OF_USER.all(user=user.id)


def list_identities(user: User) -> list[ListedIdentity]:
    """Return the accounts of providers that a user has connected, the oldest first."""
    return [ListedIdentity.of(row) for row in rows_of(user)]


def own_identities(user: User, settings: Settings) -> Iterator[object]:
    """Yield the accounts of providers for the file of a person's own data."""
    for row in rows_of(user):
        joined = Group.select().where(Group.id.in_(json.loads(row.joined))).order_by(Group.id)
        listed = ListedIdentity.of(row)
        yield json_fields(
            {
                "iss": row.issuer,
                "sub": row.subject,
                "name": row.name,
                "provider": row.provider,
                "groups": [each.name for each in joined],
                "connected_at": listed.connected_at,
                "last_used_at": listed.last_used_at,
            }
        )


@repeated_after_conflict
def connect(user: User, account: ProviderAccount, now: float) -> Identity:
    """Connect an account of a provider to a user, and join its groups.

    Args:
        user: As read before the request to the provider.
        account: The account that the provider has proven to this client.

    Raises:
        RequestError: 409 `identity_taken`: another user has it. 409 `too_many_identities`.
        UnauthenticatedError: The user was deactivated or deleted, or the password changed.
    """
    with database.atomic():
        owner = lock_user(user.id)
        if owner is None or not owner.is_active or owner.security_stamp != user.security_stamp:
            raise UnauthenticatedError("invalid_token")
        if len(rows_of(owner)) >= MOST_IDENTITIES and _of(account) is None:
            raise RequestError(
                HTTPStatus.CONFLICT,
                "too_many_identities",
                ngettext(
                    "You can connect %(num)s account. Disconnect it first.",
                    "You can connect %(num)s accounts. Disconnect one first.",
                    MOST_IDENTITIES,
                ),
            )
        is_new = add(owner, account, now)
        found = _of(account)
        if found is None or found.user_id != owner.id:
            raise _taken()
        if not is_new:
            record_login(found, account, now)
        return found


def add(user: User, account: ProviderAccount, now: float, *, is_new_user: bool = False) -> bool:
    """Insert the row of an account of a provider; return False if there is one already.

    Call this in the transaction that creates the user (`is_new_user`) or has locked their row.
    """
    is_new = insert_new(
        Identity,
        id=identity_id(account.issuer, account.subject),
        user=user.id,
        provider=account.provider,
        issuer=account.issuer,
        subject=account.subject,
        name=account.name,
        created_at=int(now),
        last_used_at=int(now),
    )
    if is_new:
        details = {"is_new_user": "yes"} if is_new_user else None  # a new user needs no notice
        events.emit(IDENTITY_CONNECTED, user_id=user.id, reason=account.provider, details=details)
        added = _of(account)
        if added is not None and account.groups:
            _follow_groups(added, account.groups)
    return is_new


def register(new: NewAccount, account: ProviderAccount, now: float, *, proven_by: str = "") -> User:
    """Create a user without a password, for an account of a provider, with its groups.

    The user's address counts as proven if it is the verified address of the account.

    Args:
        proven_by: See `User.email_verified_by`; the issuer if it is empty.
    """
    hashed_password = new.hash_password()
    with database.atomic():
        is_proven = account.email_verified and new.has_email(account.email)
        user = new.insert(
            hashed_password,
            reason=account.provider,
            email_verified_at=utc_now() if is_proven else None,
            email_verified_by=(proven_by or account.issuer) if is_proven else "",
        )
        if not add(user, account, now, is_new_user=True):
            raise _taken()
        new.answers.pass_on(user)
    return user


_RECORD_LOGIN = Statement(
    lambda: Identity.update(
        provider=given(Identity.provider),
        name=given(Identity.name),
        last_used_at=given(Identity.last_used_at),
    ).where(is_given(Identity.id))
)


@repeated_after_conflict
def record_login(identity: Identity, account: ProviderAccount, now: float) -> None:
    """Record a login by an account of a provider, and let the user's groups follow it."""
    with database.atomic():
        if lock_user(identity.user_id) is None:
            return
        stored = Identity.find_by_id(identity.id)
        if stored is None:  # disconnected at the same moment
            return
        name = stored.name if account.is_partial else account.name
        _RECORD_LOGIN.execute(
            id=stored.id, provider=account.provider, name=name, last_used_at=int(now)
        )
        if account.groups is not None:
            _follow_groups(stored, account.groups)


_KEEP_JOINED = Statement(
    lambda: Identity.update(joined=given(Identity.joined)).where(is_given(Identity.id))
)


def _follow_groups(identity: Identity, wanted: Iterable[str]) -> None:
    """Let the user join the groups with these names, and leave the groups of earlier logins.

    A group that the user has joined in another way stays. Names are compared exactly, because a
    provider can distinguish names that this site treats as equal.
    """
    user = identity.user
    joined: set[int] = set(json.loads(identity.joined))
    wanted = list(wanted)
    found = Group.select().where(Group.name.in_(wanted))
    named = {each.id: each for each in found if each.name in wanted}  # MariaDB ignores last spaces
    for group in Group.select().where(Group.id.in_(list(joined - named.keys()))):
        user.leave(group)
    now_joined = {each.id for each in named.values() if _joins(user, each) or each.id in joined}
    if now_joined != joined:
        _KEEP_JOINED.execute(id=identity.id, joined=json.dumps(sorted(now_joined)))


def _joins(user: User, group: Group) -> bool:
    """Let a user join a group that could just have been deleted; return whether they joined."""
    try:
        return user.join(group)
    except Group.DoesNotExist:
        return False


_DELETE = Statement(lambda: Identity.delete().where(is_given(Identity.id)))


def remove(row: Identity) -> None:
    """Delete a row, and the memberships of its logins; the user must be locked."""
    with database.atomic():
        _follow_groups(row, ())
        _DELETE.execute(id=row.id)
        events.emit(IDENTITY_DISCONNECTED, user_id=row.user_id, reason=row.provider)


def remove_all(user: User) -> int:
    """Delete all rows of a user, who must be locked; return how many there were."""
    rows = rows_of(user)
    for row in rows:
        remove(row)
    return len(rows)


def _taken() -> RequestError:
    return RequestError(
        HTTPStatus.CONFLICT,
        "identity_taken",
        _(
            "This account is connected to another account of this site. Log in to that one and"
            " disconnect it first."
        ),
    )


def _of(account: ProviderAccount) -> Identity | None:
    return find(account.issuer, account.subject)


def identity_id(issuer: str, subject: str) -> str:
    """Return the id of the row of an account of a provider."""
    return digest(json.dumps([issuer, subject]))
