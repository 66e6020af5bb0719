"""Logins that move, are refreshed, and say where and how they began.

Only constants are added, which no database rewrites the table for. The logins that exist keep their
end; they count as not recently proven.
"""

import peewee

COLUMNS = (
    "last_seen_at {time} NOT NULL DEFAULT 0",
    "ends_at {time} NOT NULL DEFAULT 0",
    "idle INTEGER NOT NULL DEFAULT 0",
    "authenticated_at {time} NOT NULL DEFAULT 0",
    "methods VARCHAR(64) NOT NULL DEFAULT ''",
    "generation INTEGER NOT NULL DEFAULT 0",
    "refreshed_at {time} NOT NULL DEFAULT 0",
    "address VARCHAR(64) NOT NULL DEFAULT ''",
    "agent VARCHAR(255) NOT NULL DEFAULT ''",
)


def up(migrator, db):
    time = "INTEGER" if isinstance(db, peewee.SqliteDatabase) else "BIGINT"
    for column in COLUMNS:
        db.execute_sql(f"ALTER TABLE wsgiauth_session ADD COLUMN {column.format(time=time)}")
    db.execute_sql("UPDATE wsgiauth_session SET ends_at = expires_at")


def down(migrator, db):
    for column in COLUMNS:
        name, _, _ = column.partition(" ")
        migrator.migrate(migrator.drop_column("wsgiauth_session", name))
