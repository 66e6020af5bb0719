"""The Peewee model of the audit trail."""

import peewee

from wsgiauth.storage.models import Model


class RecordedEvent(Model):
    """A change of an account, written in the transaction of the change.

    Users are plain numbers, without a foreign key, because the trail outlives them.

    Attributes:
        id: Never used twice. Of concurrent changes, a lower one can be committed later.
        time: When it happened, in seconds since the epoch.
        name: Which event it is: one of `events.CHANGES`.
        user_id: The account, or None for an event of all accounts.
        actor: Who did it: `user 7`, `command line` or `code`.
        system_user: The user of the operating system who ran the command line, or as `key 4fD8…`
            the API key by which the user acted.
        address: The client's address, or None.
        reason: The cause or the detail, or None.
    """

    id: "peewee.BigAutoField[int]" = peewee.BigAutoField()
    time: "peewee.BigIntegerField[int]" = peewee.BigIntegerField()
    name: "peewee.CharField[str]" = peewee.CharField(max_length=32)
    user_id: "peewee.BigIntegerField[int | None]" = peewee.BigIntegerField(null=True)
    actor: "peewee.CharField[str]" = peewee.CharField(max_length=32)
    system_user: "peewee.CharField[str | None]" = peewee.CharField(max_length=64, null=True)
    address: "peewee.CharField[str | None]" = peewee.CharField(max_length=64, null=True)
    reason: "peewee.TextField[str | None]" = peewee.TextField(null=True)

    class Meta:
        table_name = "wsgiauth_event"
        # Each ends with the order of the pages.
        indexes = (
            (("time", "id"), False),
            (("user_id", "time", "id"), False),
            (("actor", "time", "id"), False),
            (("name", "time", "id"), False),
        )


def printable(text: str | None) -> str | None:
    """Return a short string that every database can store; `?` replaces control characters."""
    if text is None:
        return None
    return "".join(each if each.isprintable() else "?" for each in text[:64])
