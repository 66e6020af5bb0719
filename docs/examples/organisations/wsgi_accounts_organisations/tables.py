"""The tables; times are in seconds since the epoch."""

from __future__ import annotations

import peewee

from wsgiauth.extend import Model, User


class Organisation(Model):
    """An organisation, which has at least one owner; `members` increments `locks` to lock it."""

    id: peewee.BigAutoField[int] = peewee.BigAutoField()
    slug: peewee.CharField[str] = peewee.CharField(max_length=40, unique=True)
    name: peewee.CharField[str] = peewee.CharField(max_length=60)
    founded_at: peewee.BigIntegerField[int] = peewee.BigIntegerField()
    locks: peewee.IntegerField[int] = peewee.IntegerField(default=0)

    class Meta:
        table_name = "organisations_organisation"


class Member(Model):
    """A user in an organisation; None is one who has just been deleted: see `consequences`."""

    id: peewee.BigAutoField[int] = peewee.BigAutoField()
    organisation = peewee.ForeignKeyField(Organisation, backref="+", on_delete="CASCADE")
    user = peewee.ForeignKeyField(User, null=True, backref="+", on_delete="SET NULL", index=False)
    role: peewee.CharField[str] = peewee.CharField(max_length=6)
    joined_at: peewee.BigIntegerField[int] = peewee.BigIntegerField()

    class Meta:
        table_name = "organisations_member"
        indexes = ((("user", "organisation"), True),)


class Invitation(Model):
    """An open invitation, whose link is a one-time secret with the id."""

    id: peewee.CharField[str] = peewee.CharField(max_length=16, primary_key=True)
    organisation = peewee.ForeignKeyField(Organisation, backref="+", on_delete="CASCADE")
    email: peewee.CharField[str] = peewee.CharField(max_length=254)
    role: peewee.CharField[str] = peewee.CharField(max_length=6)
    inviter = peewee.ForeignKeyField(User, backref="+", on_delete="CASCADE")
    expires_at: peewee.BigIntegerField[int] = peewee.BigIntegerField(index=True)

    class Meta:
        table_name = "organisations_invitation"
