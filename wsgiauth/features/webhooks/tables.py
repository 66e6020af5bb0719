"""The table of webhooks that wait, or that no receiver has accepted."""

from __future__ import annotations

import peewee

from wsgiauth.storage.models import Model


class Webhook(Model):
    """An event for one URL. Times are in seconds since the epoch.

    Attributes:
        id: The header `webhook-id`. Ids of one process are in the order of its events.
        destination: The digest of the URL.
        event: The name of the event.
        body: What is sent, in ASCII.
        due_at: When to send it, or to try again; after a claim, the end of the lease. None: no
            receiver has accepted it.
        attempts: How many tries have failed.
        failure: Why the last one failed, in fixed words.
        expires_at: When the row can be deleted.
    """

    id: peewee.CharField[str] = peewee.CharField(max_length=40, primary_key=True)
    destination: peewee.CharField[str] = peewee.CharField(max_length=32)
    event: peewee.CharField[str] = peewee.CharField(max_length=32)
    body: peewee.TextField[str] = peewee.TextField()
    created_at: peewee.BigIntegerField[int] = peewee.BigIntegerField()
    due_at: peewee.BigIntegerField[int | None] = peewee.BigIntegerField(null=True, index=True)
    attempts: peewee.IntegerField[int] = peewee.IntegerField()
    failure: peewee.CharField[str] = peewee.CharField(max_length=100)
    expires_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(index=True)

    class Meta:
        table_name = "wsgiauth_webhook"
        indexes = ((("destination", "due_at"), False),)
