"""A table for trusted browsers, in which logins skip the second step.

The models are copies, frozen as they were when this migration was written.
"""

import peewee

MYSQL_TABLE = ["ENGINE=InnoDB", "DEFAULT CHARSET=utf8mb4", "COLLATE=utf8mb4_bin"]


def up(migrator, db):
    class Table(peewee.Model):
        class Meta:
            database = db
            legacy_table_names = False  # indexes begin with the name of the table, too
            table_settings = MYSQL_TABLE if isinstance(db, peewee.MySQLDatabase) else None

    class User(Table):
        id = peewee.BigAutoField()

        class Meta:
            table_name = "wsgiauth_user"

    class TrustedBrowser(Table):
        id = peewee.CharField(max_length=16, primary_key=True)
        user = peewee.ForeignKeyField(User, on_delete="CASCADE")
        digest = peewee.CharField(max_length=64, unique=True)
        stamp = peewee.IntegerField()
        factors = peewee.CharField(max_length=64)
        created_at = peewee.BigIntegerField()
        last_used_at = peewee.BigIntegerField(null=True)
        expires_at = peewee.BigIntegerField(index=True)
        address = peewee.CharField(max_length=64)
        agent = peewee.CharField(max_length=255)

        class Meta:
            table_name = "wsgiauth_trusted_browser"

    db.create_tables([TrustedBrowser])
