"""The throttle's table.

The model is a copy, frozen as it was when this migration was written.
"""

import peewee

MYSQL_TABLE = ["ENGINE=InnoDB", "DEFAULT CHARSET=utf8mb4", "COLLATE=utf8mb4_bin"]


def up(migrator, db):
    class AttemptCount(peewee.Model):
        id = peewee.CharField(max_length=64, primary_key=True)
        retry_at = peewee.BigIntegerField()
        count = peewee.IntegerField()
        expires_at = peewee.BigIntegerField(index=True)

        class Meta:
            database = db
            table_name = "wsgiauth_attempt_count"
            table_settings = MYSQL_TABLE if isinstance(db, peewee.MySQLDatabase) else None

    db.create_tables([AttemptCount])


def down(migrator, db):
    migrator.migrate(migrator.drop_table("wsgiauth_attempt_count"))
