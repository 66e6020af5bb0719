"""The audit trail.

The model is a copy, frozen as it was when this migration was written.
"""

import peewee
from playhouse.sqlite_ext import AutoIncrementField

MYSQL_TABLE = ["ENGINE=InnoDB", "DEFAULT CHARSET=utf8mb4", "COLLATE=utf8mb4_bin"]


def up(migrator, db):
    is_sqlite = isinstance(db, peewee.SqliteDatabase)

    class RecordedEvent(peewee.Model):
        id = (AutoIncrementField if is_sqlite else peewee.BigAutoField)()
        time = peewee.BigIntegerField()
        name = peewee.CharField(max_length=32)
        user_id = peewee.BigIntegerField(null=True)
        actor = peewee.CharField(max_length=32)
        system_user = peewee.CharField(max_length=64, null=True)
        address = peewee.CharField(max_length=64, null=True)
        reason = peewee.TextField(null=True)

        class Meta:
            database = db
            table_name = "wsgiauth_event"
            table_settings = MYSQL_TABLE if isinstance(db, peewee.MySQLDatabase) else None
            # Each ends with the order of the pages.
            indexes = (
                (("time", "id"), False),
                (("user_id", "time", "id"), False),
                (("actor", "time", "id"), False),
                (("name", "time", "id"), False),
            )

    db.create_tables([RecordedEvent])


def down(migrator, db):
    migrator.migrate(migrator.drop_table("wsgiauth_event"))
