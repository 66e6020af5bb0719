"""A table for the last failed logins of each name, which the staff panel shows.

The model is a copy, frozen as it was when this migration was written.
"""

import peewee

MYSQL_TABLE = ["ENGINE=InnoDB", "DEFAULT CHARSET=utf8mb4", "COLLATE=utf8mb4_bin"]


def up(migrator, db):
    class FailedLogins(peewee.Model):
        id = peewee.CharField(max_length=64, primary_key=True)
        lines = peewee.CharField(max_length=1000)
        expires_at = peewee.BigIntegerField(index=True)

        class Meta:
            database = db
            legacy_table_names = False  # indexes begin with the name of the table, too
            table_settings = MYSQL_TABLE if isinstance(db, peewee.MySQLDatabase) else None
            table_name = "wsgiauth_failed_logins"

    db.create_tables([FailedLogins])
