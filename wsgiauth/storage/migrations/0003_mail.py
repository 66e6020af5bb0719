"""The outbox, and the secrets of links that work once.

The models are copies, frozen as they were when this migration was written.
"""

import peewee
from playhouse.sqlite_ext import AutoIncrementField

MYSQL_TABLE = ["ENGINE=InnoDB", "DEFAULT CHARSET=utf8mb4", "COLLATE=utf8mb4_bin"]


def up(migrator, db):
    is_sqlite = isinstance(db, peewee.SqliteDatabase)
    number = AutoIncrementField if is_sqlite else peewee.BigAutoField

    class Table(peewee.Model):
        class Meta:
            database = db
            table_settings = MYSQL_TABLE if isinstance(db, peewee.MySQLDatabase) else None

    class User(Table):  # exists; the foreign keys refer to it
        id = number()

        class Meta:
            table_name = "wsgiauth_user"

    class Mail(Table):
        id = peewee.CharField(max_length=32, primary_key=True)
        kind = peewee.CharField(max_length=32)
        name = peewee.CharField(max_length=254)
        user = peewee.ForeignKeyField(User, null=True, on_delete="CASCADE")
        data = peewee.TextField()
        due_at = peewee.BigIntegerField(index=True)
        attempts = peewee.IntegerField()
        expires_at = peewee.BigIntegerField()

        class Meta:
            table_name = "wsgiauth_mail"

    class OneTimeSecret(Table):
        id = peewee.CharField(max_length=64, primary_key=True)
        purpose = peewee.CharField(max_length=32)
        user = peewee.ForeignKeyField(User, null=True, on_delete="CASCADE")
        stamp = peewee.IntegerField()
        data = peewee.TextField()
        expires_at = peewee.BigIntegerField(index=True)

        class Meta:
            table_name = "wsgiauth_one_time"

    db.create_tables([Mail, OneTimeSecret])


def down(migrator, db):
    for table in ("wsgiauth_one_time", "wsgiauth_mail"):
        migrator.migrate(migrator.drop_table(table))
