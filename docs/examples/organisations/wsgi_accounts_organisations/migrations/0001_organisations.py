"""The first tables; the models are copies, which stay as they are."""

import peewee
from playhouse.sqlite_ext import AutoIncrementField

from wsgiauth.extend import FrozenModels


def up(migrator, db):
    is_sqlite = isinstance(db, peewee.SqliteDatabase)
    # SQLite would give the number of a deleted organisation to the next one.
    number = AutoIncrementField if is_sqlite else peewee.BigAutoField

    frozen = FrozenModels(db)

    class Organisation(frozen.Table):
        id = number()
        slug = peewee.CharField(max_length=40, unique=True)
        name = peewee.CharField(max_length=60)
        founded_at = peewee.BigIntegerField()
        locks = peewee.IntegerField(constraints=[peewee.SQL("DEFAULT 0")])

        class Meta:
            table_name = "organisations_organisation"

    class Member(frozen.Table):
        id = number()
        organisation = peewee.ForeignKeyField(Organisation, on_delete="CASCADE")
        user = peewee.ForeignKeyField(frozen.User, null=True, on_delete="SET NULL", index=False)
        role = peewee.CharField(max_length=6)
        joined_at = peewee.BigIntegerField()

        class Meta:
            table_name = "organisations_member"
            indexes = ((("user", "organisation"), True),)

    class Invitation(frozen.Table):
        id = peewee.CharField(max_length=16, primary_key=True)
        organisation = peewee.ForeignKeyField(Organisation, on_delete="CASCADE")
        email = peewee.CharField(max_length=254)
        role = peewee.CharField(max_length=6)
        inviter = peewee.ForeignKeyField(frozen.User, on_delete="CASCADE")
        expires_at = peewee.BigIntegerField(index=True)

        class Meta:
            table_name = "organisations_invitation"

    db.create_tables([Organisation, Member, Invitation])
