"""A column that a lock of a user changes on MariaDB; it has a default for older processes."""


def up(migrator, db):
    db.execute_sql("ALTER TABLE wsgiauth_user ADD COLUMN locks INTEGER NOT NULL DEFAULT 0")
