"""When a user last logged in, and the indexes of the staff panel's lists.

PostgreSQL's own order of strings is that of a language, in which the names that begin alike are not
always together. The keys of names get the order of their bytes, as in SQLite and MariaDB.
"""

import peewee

INDEXED = ("is_active", "is_staff", "is_superuser", "email_verified_at", "last_login_at")
KEYS = {"username_key": 150, "email_key": 254}


def up(migrator, db):
    is_postgresql = isinstance(db, peewee.PostgresqlDatabase)
    time = "TIMESTAMP" if is_postgresql else "DATETIME"
    db.execute_sql(f"ALTER TABLE wsgiauth_user ADD COLUMN last_login_at {time}")
    if is_postgresql:
        _collate(db, "C")
    for column in INDEXED:
        db.execute_sql(f"CREATE INDEX {_name(column)} ON wsgiauth_user ({column}, id)")


def down(migrator, db):
    for column in INDEXED:
        migrator.migrate(migrator.drop_index("wsgiauth_user", _name(column)))
    if isinstance(db, peewee.PostgresqlDatabase):
        _collate(db, "default")
    migrator.migrate(migrator.drop_column("wsgiauth_user", "last_login_at"))


def _name(column):
    return f"wsgiauth_user_{column}_id"


def _collate(db, collation):
    changes = (
        f'ALTER COLUMN {column} TYPE VARCHAR({length}) COLLATE "{collation}"'
        for column, length in KEYS.items()
    )
    db.execute_sql(f"ALTER TABLE wsgiauth_user {', '.join(changes)}")
