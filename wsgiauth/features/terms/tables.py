"""The table of acceptances."""

from __future__ import annotations

import peewee

from wsgiauth.extend import Model, User

VERSION_LENGTH = 10  # of a date such as 2026-11-28


class Acceptance(Model):
    """That a user accepted a version of the terms; all of them are kept as long as the user is.

    Attributes:
        version: The value of TERMS_VERSION then. Later versions are greater as text.
        accepted_at: In seconds since the epoch.
    """

    user_id: int
    user: peewee.ForeignKeyField[User] = peewee.ForeignKeyField(
        User, backref="+", on_delete="CASCADE", index=False
    )
    version: peewee.CharField[str] = peewee.CharField(max_length=VERSION_LENGTH)
    accepted_at: peewee.BigIntegerField[int] = peewee.BigIntegerField()

    class Meta:
        table_name = "wsgiauth_terms_acceptance"
        primary_key = peewee.CompositeKey("user", "version")
