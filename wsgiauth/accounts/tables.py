"""The tables of rows that belong to a user or a group.

The methods of `User` and `Group` read and delete these rows. Therefore the tables come first, with
foreign keys that Peewee resolves when it meets classes of these names.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Any

import peewee

from wsgiauth import events
from wsgiauth.accounts import names
from wsgiauth.storage import database
from wsgiauth.storage.models import Model, UTCDateTimeField, utc_now

if TYPE_CHECKING:
    from wsgiauth.accounts.models import User

METHODS_MAX_LENGTH = 64  # characters

# The purposes of secrets that were sent to an email address.
ADDRESS = "address"
RESET = "reset"


def _belongs_to(model: str, **options: Any) -> Any:
    return peewee.DeferredForeignKey(model, backref="+", on_delete="CASCADE", **options)


class Permission(Model):
    """A permission, `<app>.<action>`, that is granted to one user."""

    user_id: int
    user: Any = _belongs_to("User")
    name = peewee.CharField(max_length=names.PERMISSION_MAX_LENGTH)

    class Meta:
        table_name = "wsgiauth_permission"
        primary_key = peewee.CompositeKey("user", "name")


class GroupPermission(Model):
    """A permission, `<app>.<action>`, that is granted to the members of a group."""

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
    """What a login starts. Its token is valid while the row exists and has the user's stamp.

    Times are in seconds since the epoch, except `created_at`.

    Attributes:
        id: Random; the token's `jti` claim (RFC 7519 section 4.1.7).
        stamp: The user's `security_stamp` at the last proof.
        created_at: When the session began (UTC).
        expires_at: When it ends if it is not used.
        last_seen_at: When it was last used, as far as is known: it moves with `expires_at`.
        ends_at: When it ends whatever happens.
        idle: By how many seconds use moves `expires_at`; 0: use does not move it.
        authenticated_at: When the user last proved who they are.
        methods: By what, separated by spaces: names of RFC 8176 section 2, such as `pwd`.
        generation: The number of the current refresh token; 0: the session has none.
        refreshed_at: When that refresh token was issued.
        address: The client's address when the session began; can be empty.
        agent: The client's User-Agent then, cut and with printable ASCII only; can be empty.
    """

    id: "peewee.CharField[str]" = peewee.CharField(max_length=43, primary_key=True)
    user_id: int
    user: "peewee.ForeignKeyField[User]" = _belongs_to("User")
    stamp: "peewee.IntegerField[int]" = peewee.IntegerField()
    created_at: "peewee.DateTimeField[datetime]" = UTCDateTimeField(default=utc_now)
    expires_at: "peewee.BigIntegerField[int]" = peewee.BigIntegerField(index=True)
    last_seen_at: "peewee.BigIntegerField[int]" = peewee.BigIntegerField(default=0)
    ends_at: "peewee.BigIntegerField[int]" = peewee.BigIntegerField(default=0)
    idle: "peewee.IntegerField[int]" = peewee.IntegerField(default=0)
    authenticated_at: "peewee.BigIntegerField[int]" = peewee.BigIntegerField(default=0)
    methods: "peewee.CharField[str]" = peewee.CharField(max_length=METHODS_MAX_LENGTH, default="")
    generation: "peewee.IntegerField[int]" = peewee.IntegerField(default=0)
    refreshed_at: "peewee.BigIntegerField[int]" = peewee.BigIntegerField(default=0)
    address: "peewee.CharField[str]" = peewee.CharField(max_length=64, default="")
    agent: "peewee.CharField[str]" = peewee.CharField(max_length=255, default="")

    class Meta:
        table_name = "wsgiauth_session"


class Key(Model):
    """An API key. Times are in seconds since the epoch."""

    # Names the key in the key itself, in lists and events; no credential.
    id: "peewee.CharField[str]" = peewee.CharField(max_length=12, primary_key=True)
    user_id: int
    user: "peewee.ForeignKeyField[User]" = _belongs_to("User")
    name: "peewee.CharField[str]" = peewee.CharField(max_length=names.KEY_NAME_MAX_LENGTH)
    # The SHA-256 digest of the whole key, in hexadecimal digits.
    digest: "peewee.CharField[str]" = peewee.CharField(max_length=64)
    # Sorted, between spaces.
    permissions: "peewee.TextField[str]" = peewee.TextField()
    created_at: "peewee.BigIntegerField[int]" = peewee.BigIntegerField()
    expires_at: "peewee.BigIntegerField[int]" = peewee.BigIntegerField(index=True)
    # To the hour; None: never, as far as is known.
    last_used_at: "peewee.BigIntegerField[int | None]" = peewee.BigIntegerField(null=True)

    class Meta:
        table_name = "wsgiauth_key"

    def __repr__(self) -> str:
        return f"<Key {self.id}>"


class OneTimeSecret(Model):
    """A secret that was handed out and not used yet."""

    # The digest of the secret.
    id: "peewee.CharField[str]" = peewee.CharField(max_length=64, primary_key=True)
    # What it permits; it permits nothing else.
    purpose: "peewee.CharField[str]" = peewee.CharField(max_length=32)
    # None: the secret is for a client without an account.
    user_id: int | None
    user: "peewee.ForeignKeyField[User | None]" = _belongs_to("User", null=True)
    # The user's `security_stamp` when the secret was issued.
    stamp: "peewee.IntegerField[int]" = peewee.IntegerField(default=0)
    # The digest of an email address that the secret depends on, or None.
    subject: "peewee.CharField[str | None]" = peewee.CharField(max_length=64, null=True, index=True)
    # As the purpose demands; can be empty.
    data: "peewee.TextField[str]" = peewee.TextField(default="")
    # Seconds since the epoch.
    expires_at: "peewee.BigIntegerField[int]" = peewee.BigIntegerField(index=True)

    class Meta:
        table_name = "wsgiauth_one_time"


def revoke_keys(user_id: int) -> int:
    """Revoke all API keys of a user, and return how many there were."""
    with database.atomic():
        revoked: int = Key.delete().where(Key.user == user_id).execute()
        if revoked:
            events.emit("key_ended", user_id=user_id, reason="all keys")
    return revoked


def end_secrets(user_id: int, *purposes: str) -> None:
    """Delete the secrets of a user for some purposes."""
    with database.atomic():
        of_user = OneTimeSecret.delete().where(OneTimeSecret.user == user_id)
        of_user.where(OneTimeSecret.purpose.in_(purposes)).execute()
