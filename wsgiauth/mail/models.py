"""The Peewee model of a mail that is to be sent."""

import peewee

from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import EMAIL_MAX_LENGTH
from wsgiauth.storage.models import Model


class Mail(Model):
    """A mail that is to be sent. Times are in seconds since the epoch.

    Attributes:
        id: Random, so that no number is used twice.
        kind: Which mail it is.
        name: The name that was typed, if no account has been looked up for it.
        user: The user it is for, or None.
        data: What else its text needs, and the digest of its last secret; JSON.
        due_at: When to send it, or to try again. A process that is sending it has set this to the
            time after which another process may send it.
        attempts: How often a process has begun to send it.
        expires_at: When it is not worth sending any more.
    """

    id: "peewee.CharField[str]" = peewee.CharField(max_length=32, primary_key=True)
    kind: "peewee.CharField[str]" = peewee.CharField(max_length=32)
    name: "peewee.CharField[str]" = peewee.CharField(max_length=EMAIL_MAX_LENGTH, default="")
    user_id: int | None
    user: "peewee.ForeignKeyField[User | None]" = peewee.ForeignKeyField(
        User, null=True, backref="+", on_delete="CASCADE"
    )
    data: "peewee.TextField[str]" = peewee.TextField()
    due_at: "peewee.BigIntegerField[int]" = peewee.BigIntegerField(index=True)
    attempts: "peewee.IntegerField[int]" = peewee.IntegerField(default=0)
    expires_at: "peewee.BigIntegerField[int]" = peewee.BigIntegerField()

    class Meta:
        table_name = "wsgiauth_mail"
