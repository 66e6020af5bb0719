"""Columns for the language of a user, and of an email; they have a default for older processes."""


def up(migrator, db):
    for table in ("wsgiauth_user", "wsgiauth_mail"):
        column = "ADD COLUMN language VARCHAR(35) NOT NULL DEFAULT ''"
        db.execute_sql(f"ALTER TABLE {table} {column}")
