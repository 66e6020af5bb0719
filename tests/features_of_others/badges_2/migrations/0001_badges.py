"""The table of badges."""

import peewee


def up(migrator, db):
    class User(peewee.Model):  # only its key
        id = peewee.BigAutoField()

        class Meta:
            database = db
            table_name = "wsgiauth_user"

    class Badge(peewee.Model):
        user = peewee.ForeignKeyField(User, on_delete="CASCADE")
        name = peewee.CharField(max_length=20)
        expires_at = peewee.BigIntegerField(index=True)

        class Meta:
            database = db
            table_name = "badges_badge"

    db.create_tables([Badge])
