"""The base classes of `User` and `Group`, and the tables whose rows belong to them.

The methods of `User` and `Group` use these tables, so they are defined first. Peewee resolves their
deferred foreign keys when it meets classes of these names.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import peewee

from wsgiauth import events
from wsgiauth.accounts import names
from wsgiauth.events import kinds
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.models import BoundModel, Model, UTCDateTimeField, utc_now
from wsgiauth.storage.statements import Statement, insert_row, is_given

if TYPE_CHECKING:
    from wsgiauth.accounts.models import User

METHODS_MAX_LENGTH = 64  # characters

# The purposes of secrets that were sent to an email address.
ADDRESS = "address"
INVITATION = "invitation"
RESET = "reset"
RESTORE = "restore"

CODE = "login code"  # of the secret of a client that has asked for a code in an email
RECOVERY = "recovery"  # of the codes that replace a lost device, which outlive new passwords
REGISTRATION = "registration"  # of emails with a link and a code

_Row = TypeVar("_Row", bound=peewee.Model)


class Objects(Generic[_Row]):
    """Find users as `User.objects`, and groups as `Group.objects`."""

    def __init__(self, model: type[_Row]) -> None:
        self._model = model

    def get(self, *query: Any, **filters: Any) -> _Row:
        """Return the first match.

        Raises:
            User.DoesNotExist, Group.DoesNotExist: There is no match.
        """
        return self._model.get(*query, **filters)

    def get_or_none(self, *query: Any, **filters: Any) -> _Row | None:
        """Return the first match, or None."""
        return self._model.get_or_none(*query, **filters)

    def filter(self, *query: Any, **filters: Any) -> peewee.ModelSelect[_Row]:
        """Return all matches: `filter(is_staff=True)`, `filter(User.id > 7)`."""
        return self._model.select().filter(*query, **filters)

    def all(self) -> peewee.ModelSelect[_Row]:
        """Return all, the oldest first."""
        return self._model.select().order_by(self._model._meta.primary_key)

    def count(self) -> int:
        """Return how many there are."""
        return self._model.select().count()


class UserObjects(Objects["User"]):
    """Create and find users, as `User.objects`."""

    def create(
        self,
        *,
        username: str | None = None,
        email: str,
        hashed_password: str,
        is_active: bool = True,
        is_staff: bool = False,
        is_superuser: bool = False,
    ) -> User:
        """Insert a user and return it.

        Args:
            username, email: As typed; unique without regard to letter case. A username is needed
                unless USERNAMES is off.
            hashed_password: A hash that `hash_password` returned; empty for no password.
            is_active, is_staff, is_superuser: See `User`.

        Raises:
            ValidationError: A name breaks a rule; `errors` holds the messages by field.
            TakenError: Another user has the name.
            ValueError: `hashed_password` is neither a bcrypt hash nor empty.
        """
        return self._model.create(
            username=username,
            email=email,
            hashed_password=hashed_password,
            is_active=is_active,
            is_staff=is_staff,
            is_superuser=is_superuser,
        )


class RightsHolder(BoundModel):
    """A user or a group, to which permissions are granted."""

    id: peewee.BigAutoField[int]

    def grant(self, *permissions: str) -> bool:
        """Grant all given permissions or none, and return whether anything changed.

        Raises:
            ValueError: A permission does not have the form `<app>.<action>`.
            User.DoesNotExist, Group.DoesNotExist: The user or group is not in the database.
        """
        wanted = [names.check_permission(permission) for permission in permissions]
        with self._using_database():
            return self._grant(wanted)

    def revoke(self, *permissions: str) -> bool:
        """Revoke all given permissions or none, and return whether anything changed.

        A user keeps the permissions of their groups.

        Raises:
            ValueError: A permission does not have the form `<app>.<action>`.
        """
        unwanted = [names.check_permission(permission) for permission in permissions]
        with self._using_database():
            return self._revoke(unwanted)

    @repeated_after_conflict
    def _grant(self, wanted: Sequence[str]) -> bool:
        holder = self._grants_of()
        with database.atomic():
            self._lock()
            type(self).get_by_id(self.id)
            row = {holder.name: self.id}
            granted = [n for n in wanted if insert_new(holder.model, **row, name=n)]
            for name in granted:
                self._report_rights("granted", name)
        return bool(granted)

    @repeated_after_conflict
    def _revoke(self, unwanted: Sequence[str]) -> bool:
        holder = self._grants_of()
        with database.atomic():
            self._lock()
            row = {holder.name: self.id}
            revocation = _revocation(holder.model, holder.name)
            revoked = [n for n in unwanted if revocation.execute(**row, name=n)]
            for name in revoked:
                self._report_rights("revoked", name)
        return bool(revoked)

    def _lock(self) -> None:
        """Lock the row, if it is stored, before its rows in other tables, to prevent deadlocks."""

    def _grants_of(self) -> Any:
        """Return the column of the table of permissions that names the holder."""

    def _report_rights(self, change: str, what: str) -> None:
        """Emit an event, such as `granted` and a permission."""


@cache
def _revocation(model: Any, holder: str) -> Statement:
    is_own = is_given(getattr(model, holder))
    return Statement(lambda: model.delete().where(is_own, is_given(model.name)))


def _belongs_to(model: str, **options: Any) -> Any:
    return peewee.DeferredForeignKey(model, backref="+", on_delete="CASCADE", **options)


class Permission(Model):
    """A permission that is granted to one user."""

    user_id: int
    user: Any = _belongs_to("User")
    name = peewee.CharField(max_length=names.PERMISSION_MAX_LENGTH)

    class Meta:
        table_name = "wsgiauth_permission"
        primary_key = peewee.CompositeKey("user", "name")


class GroupPermission(Model):
    """A permission that is granted to the members of a group."""

    group_id: int
    group: Any = _belongs_to("Group", index=False)
    name = peewee.CharField(max_length=names.PERMISSION_MAX_LENGTH)

    class Meta:
        table_name = "wsgiauth_group_permission"
        primary_key = peewee.CompositeKey("group", "name")


class Membership(Model):
    """A user in a group."""

    group_id: int
    group: Any = _belongs_to("Group", index=False)
    user_id: int
    user: Any = _belongs_to("User", index=False)

    class Meta:
        table_name = "wsgiauth_membership"
        primary_key = peewee.CompositeKey("group", "user")
        indexes = ((("user", "group"), False),)


class Session(Model):
    """A session of a user. Its token is valid while the row exists and has the user's stamp.

    Times are in seconds since the epoch, except `created_at`.

    Attributes:
        id: Random; the token's `jti` claim (RFC 7519 section 4.1.7).
        stamp: The user's `security_stamp` at the last proof.
        created_at: When the session began (UTC).
        expires_at: When the session ends without further use.
        last_seen_at: When use last moved `expires_at`.
        ends_at: When the session ends in any case.
        idle: By how many seconds use moves `expires_at`; 0: use does not move it.
        authenticated_at: When the user last proved their identity.
        methods: How they proved it: names of RFC 8176 section 2, such as `pwd`, space-separated.
        generation: The number of the current pair of tokens; 0: the session has no refresh token.
        refreshed_at: When the current pair was issued.
        unused: `generation` while no client has presented a token of the current pair. Any other
            number: a client has, or that is unknown.
        reissued: The number of the last pair that replaced one whose answer seems lost; 0: none.
            Access tokens with a lower number are refused.
        reissued_for: The number of the refresh token for which that pair was issued.
        address: The client's address when the session began; can be empty.
        agent: The client's User-Agent then, cut and with printable ASCII only; can be empty.
    """

    id: peewee.CharField[str] = peewee.CharField(max_length=43, primary_key=True)
    user_id: int
    user: peewee.ForeignKeyField[User] = _belongs_to("User")
    stamp: peewee.IntegerField[int] = peewee.IntegerField()
    created_at: peewee.DateTimeField[datetime] = UTCDateTimeField(default=utc_now)
    expires_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(index=True)
    last_seen_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(default=0)
    ends_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(default=0)
    idle: peewee.IntegerField[int] = peewee.IntegerField(default=0)
    authenticated_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(default=0)
    methods: peewee.CharField[str] = peewee.CharField(max_length=METHODS_MAX_LENGTH, default="")
    generation: peewee.IntegerField[int] = peewee.IntegerField(default=0)
    refreshed_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(default=0)
    unused: peewee.IntegerField[int] = peewee.IntegerField(default=0)
    reissued: peewee.IntegerField[int] = peewee.IntegerField(default=0)
    reissued_for: peewee.IntegerField[int] = peewee.IntegerField(default=0)
    address: peewee.CharField[str] = peewee.CharField(max_length=64, default="")
    agent: peewee.CharField[str] = peewee.CharField(max_length=255, default="")

    class Meta:
        table_name = "wsgiauth_session"


class Key(Model):
    """An API key. Times are in seconds since the epoch.

    Attributes:
        id: Names the key in the key itself, in lists and in events; no credential.
        digest: The SHA-256 digest of the whole key, in hexadecimal digits.
        permissions: Sorted, separated by spaces.
        last_used_at: To the hour; None: never, as far as is known.
    """

    id: peewee.CharField[str] = peewee.CharField(max_length=12, primary_key=True)
    user_id: int
    user: peewee.ForeignKeyField[User] = _belongs_to("User")
    name: peewee.CharField[str] = peewee.CharField(max_length=names.KEY_NAME_MAX_LENGTH)
    digest: peewee.CharField[str] = peewee.CharField(max_length=64)
    permissions: peewee.TextField[str] = peewee.TextField()
    created_at: peewee.BigIntegerField[int] = peewee.BigIntegerField()
    expires_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(index=True)
    last_used_at: peewee.BigIntegerField[int | None] = peewee.BigIntegerField(null=True)

    class Meta:
        table_name = "wsgiauth_key"


class TrustedBrowser(Model):
    """A browser in which logins of a user skip the second step.

    It counts while the row has the user's stamp, and the state of the user's second factors.
    Times are in seconds since the epoch.

    Attributes:
        id: Names the browser in the list of its user; no credential.
        digest: The SHA-256 digest of the secret in the browser's cookie, in hexadecimal digits.
        stamp: The user's `security_stamp` at the first step of the login that made it trusted.
        factors: The user's second factors then; see `SecondFactors.state`.
        last_used_at: When a login last skipped the second step; None: never.
        address: The client's address when the browser became trusted; can be empty.
        agent: The client's User-Agent then, cut and with printable ASCII only; can be empty.

    Example:
        number = TrustedBrowser.select().where(TrustedBrowser.user == user.id).count()
    """

    id: peewee.CharField[str] = peewee.CharField(max_length=16, primary_key=True)
    user_id: int
    user: peewee.ForeignKeyField[User] = _belongs_to("User")
    digest: peewee.CharField[str] = peewee.CharField(max_length=64, unique=True)
    stamp: peewee.IntegerField[int] = peewee.IntegerField()
    factors: peewee.CharField[str] = peewee.CharField(max_length=64)
    created_at: peewee.BigIntegerField[int] = peewee.BigIntegerField()
    last_used_at: peewee.BigIntegerField[int | None] = peewee.BigIntegerField(null=True)
    expires_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(index=True)
    address: peewee.CharField[str] = peewee.CharField(max_length=64)
    agent: peewee.CharField[str] = peewee.CharField(max_length=255)

    class Meta:
        table_name = "wsgiauth_trusted_browser"


class OneTimeSecret(Model):
    """A secret that was handed out and not used yet.

    Attributes:
        id: The digest of the secret.
        purpose: The only purpose for which the secret can be used.
        user: None: the secret is for a client without an account.
        stamp: The user's `security_stamp` when the secret was issued.
        subject: The digest of an email address that the secret depends on, or None.
        data: Depends on the purpose; can be empty.
        expires_at: In seconds since the epoch.

    Example:
        number = OneTimeSecret.select().where(OneTimeSecret.purpose == "badges").count()
    """

    id: peewee.CharField[str] = peewee.CharField(max_length=64, primary_key=True)
    purpose: peewee.CharField[str] = peewee.CharField(max_length=32)
    user_id: int | None
    user: peewee.ForeignKeyField[User | None] = _belongs_to("User", null=True)
    stamp: peewee.IntegerField[int] = peewee.IntegerField(default=0)
    subject: peewee.CharField[str | None] = peewee.CharField(max_length=64, null=True, index=True)
    data: peewee.TextField[str] = peewee.TextField(default="")
    expires_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(index=True)

    class Meta:
        table_name = "wsgiauth_one_time"


class FormerPassword(Model):
    """How other software hashed the password of a user who has not logged in since the import.

    Attributes:
        scheme: The name of the scheme, such as `scrypt`.
        parameters: The costs and the length of the digest, such as `n=16384,r=8,p=1,l=64`.
        salt: In base64.
        hash_start: The beginning of `User.hashed_password`, with its salt. A row with another
            beginning is outdated: its user has a new password.
    """

    user_id: int
    user: peewee.ForeignKeyField[User] = _belongs_to("User", primary_key=True)
    scheme: peewee.CharField[str] = peewee.CharField(max_length=32)
    parameters: peewee.CharField[str] = peewee.CharField(max_length=64)
    salt: peewee.CharField[str] = peewee.CharField(max_length=255)
    hash_start: peewee.CharField[str] = peewee.CharField(max_length=29)

    class Meta:
        table_name = "wsgiauth_former_password"


_DELETE_KEYS = Statement(lambda: Key.delete().where(is_given(Key.user)))
_DELETE_TRUSTED_BROWSERS = Statement(
    lambda: TrustedBrowser.delete().where(is_given(TrustedBrowser.user))
)
_DELETE_FORMER_PASSWORD = Statement(
    lambda: FormerPassword.delete().where(is_given(FormerPassword.user))
)


def insert_new(model: type[Model], **row: object) -> bool:
    """Insert a row in a transaction; return False if it exists, or if a foreign key refuses it.

    MariaDB's INSERT IGNORE would not report the foreign key.

    Example:
        if not insert_new(Badge, user=user.id, name="first"):
            print("The user has it already.")
    """
    try:
        with database.atomic():
            insert_row(model, **row)
    except peewee.IntegrityError:
        return False
    return True


def has_keys(user_id: int, now: float) -> bool:
    """Return whether a user has an API key that has not expired."""
    return bool(Key.select().where(Key.user == user_id, Key.expires_at > int(now)).exists())


def revoke_keys(user_id: int) -> int:
    """Revoke all API keys of a user, and return how many there were."""
    with database.atomic():
        revoked = _DELETE_KEYS.execute(user=user_id)
        if revoked:
            events.emit(kinds.KEY_ENDED, user_id=user_id, reason="all keys")
    return revoked


def end_trust(user_id: int) -> None:
    """Let no browser skip the second step of a user's logins any more.

    Call this in the transaction of each change that must end the trust, with the user locked.
    """
    with database.atomic():
        # Not by listed ids: a snapshot of MariaDB can hide rows.
        if _DELETE_TRUSTED_BROWSERS.execute(user=user_id):
            events.emit(kinds.TRUST_ENDED, user_id=user_id, reason="all browsers")


def forget_former_password(user_id: int) -> None:
    """Delete the parameters of a former password, whose hash has just been replaced."""
    _DELETE_FORMER_PASSWORD.execute(user=user_id)


def end_secrets(user_id: int, *purposes: str, keep: Collection[str] = ()) -> None:
    """Delete the secrets of a user for some purposes, except the ids in `keep`.

    Example:
        end_secrets(user.id, "badges")
    """
    with database.atomic():
        of_user = OneTimeSecret.delete().where(OneTimeSecret.user == user_id)
        if keep:
            of_user = of_user.where(OneTimeSecret.id.not_in(keep))
        of_user.where(OneTimeSecret.purpose.in_(purposes)).execute()
