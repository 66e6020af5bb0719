"""API keys.

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

    class User(Table):  # exists; the foreign key refers to it
        id = number()

        class Meta:
            table_name = "wsgiauth_user"

    class Key(Table):
        id = peewee.CharField(max_length=12, primary_key=True)
        user = peewee.ForeignKeyField(User, on_delete="CASCADE")
        name = peewee.CharField(max_length=100)
        digest = peewee.CharField(max_length=64)
        permissions = peewee.TextField()
        created_at = peewee.BigIntegerField()
        expires_at = peewee.BigIntegerField(index=True)
        last_used_at = peewee.BigIntegerField(null=True)

        class Meta:
            table_name = "wsgiauth_key"

    db.create_tables([Key])


def down(migrator, db):
    migrator.migrate(migrator.drop_table("wsgiauth_key"))
